r"""Risks: of a sample, of a known distribution, and the least that any rule can have.

A known distribution on finitely many inputs is a pair of vectors: ``weights``, the probabilities of
the inputs, and ``eta``, the probabilities :math:`\eta(x) = P(Y = +1 | X = x)`.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bayeskern.checks import as_array, as_labels, as_matrix, whole
from bayeskern.classic.losses import ZeroOneLoss, as_probability

Rule = Callable[[Any], Any]


def empirical_risk(loss: Callable, f: Rule, X: Any, y: Any) -> float:
    r"""Return the mean loss on a sample, :math:`\frac1n \sum_i \ell(f(x_i), y_i)`.

    >>> empirical_risk(ZeroOneLoss(), lambda x: x, np.array([1.0, -2.0]), [1, 1])
    0.5
    """
    return float(np.mean(loss(f(X), y)))


def leave_one_out_risk(
    fit: Callable[[Any, Any], Rule], X: Any, y: Any, loss: Callable = ZeroOneLoss()
) -> float:
    r"""Return the mean loss of each example under a rule fitted to the others.

    Over samples of size n its mean is exactly the mean risk of the learner on n - 1 examples; of
    its variance that says nothing. Settings that depend on the sample must be fixed, not refitted.

    Parameters
    ----------
    fit : callable
        ``fit(X, y)`` returns a rule, itself a function from inputs to outputs.
    X : array of shape (n, ...)
        Inputs, at least two.
    y : array of shape (n,)
        Labels or targets.
    loss : callable
        ``loss(outputs, targets)``, elementwise.

    Examples
    --------
    >>> def majority(X, y):
    ...     return lambda Z: np.full(len(Z), 1.0 if np.sum(y) >= 0 else -1.0)
    >>> leave_one_out_risk(majority, np.zeros(3), [1, 1, -1])
    0.3333333333333333
    """
    X, y = np.asarray(X), np.asarray(y)
    if len(X) != len(y) or len(y) < 2:
        raise ValueError(f"X and y must hold at least two examples each, got {len(X)} and {len(y)}")
    losses = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        losses.append(loss(fit(X[rest], y[rest])(X[i : i + 1]), y[i : i + 1]))
    return float(np.mean(losses))


class EmpiricalMinimum(NamedTuple):
    """The best of finitely many rules: the first minimiser, all of them, and every risk."""

    chosen: int
    minimisers: np.ndarray
    risks: np.ndarray


def minimise_risk(
    candidates: Sequence[Rule], X: Any, y: Any, loss: Callable = ZeroOneLoss()
) -> EmpiricalMinimum:
    """Choose the rule of least empirical risk; the first one, if several share it.

    >>> minimise_risk([lambda x: -x, lambda x: x], np.array([1.0, -2.0]), [1, -1]).chosen
    1
    """
    if not candidates:
        raise ValueError("candidates must hold at least one rule, got none")
    risks = np.array([empirical_risk(loss, f, X, y) for f in candidates])
    minimisers = np.flatnonzero(risks == risks.min())
    return EmpiricalMinimum(int(minimisers[0]), minimisers, risks)


def bayes_rule(eta: Any) -> np.ndarray:
    r"""Return the likelier label, +1 where :math:`\eta > 1/2` and -1 elsewhere.

    >>> bayes_rule([0.2, 0.5, 0.9])
    array([-1., -1.,  1.])
    """
    return np.where(as_probability(eta) > 0.5, 1.0, -1.0)


def plug_in(eta_hat: Callable[[Any], Any]) -> Rule:
    r"""Turn an estimate of :math:`\eta` into a rule.

    Its excess risk is at most :math:`2 E |\eta - \hat\eta|`, and depends on the estimate only
    through the set where it exceeds one half.

    >>> plug_in(lambda x: x / (x + 1))(np.array([0.5, 2.0]))
    array([-1.,  1.])
    """
    return lambda X: bayes_rule(eta_hat(X))


def true_risk(eta: Any, labels: Any, weights: Any) -> float:
    """Return the probability that a rule errs, from its labels on every input.

    Parameters
    ----------
    eta : array of shape (m,)
        Probability of +1 at each input.
    labels : array of shape (m,)
        What the rule answers there, -1 or +1.
    weights : array of shape (m,)
        Probabilities of the inputs.

    Examples
    --------
    >>> true_risk([0.2, 0.9], [1, 1], [0.5, 0.5])
    0.45
    """
    eta, weights = _distribution(eta, weights)
    labels = as_labels(labels, len(eta), "labels")
    return float(weights @ np.where(labels > 0, 1 - eta, eta))


def bayes_risk(eta: Any, weights: Any) -> float:
    r"""Return the least risk of all rules, :math:`E \min(\eta, 1 - \eta)`.

    >>> bayes_risk([0.2, 0.9], [0.5, 0.5])
    0.15
    """
    eta, weights = _distribution(eta, weights)
    return float(weights @ np.minimum(eta, 1 - eta))


def excess_risk(eta: Any, labels: Any, weights: Any) -> float:
    r"""Return what a rule loses to the Bayes rule, :math:`E |2\eta - 1| 1_{f \ne f^*}`.

    >>> round(excess_risk([0.2, 0.9], [1, 1], [0.5, 0.5]), 12)
    0.3
    """
    eta, weights = _distribution(eta, weights)
    labels = as_labels(labels, len(eta), "labels")
    return float(weights @ (np.abs(2 * eta - 1) * (labels != bayes_rule(eta))))


def integrate_bayes_risk(
    eta: Callable[[float], float], density: Callable[[float], float], support: tuple[float, float]
) -> float:
    r"""Return :math:`E \min(\eta, 1 - \eta)` for an input on an interval, by quadrature.

    The integrand has a kink wherever :math:`\eta` crosses one half; crossings are looked for on a
    grid of 512 cells and given to the quadrature.

    Parameters
    ----------
    eta, density : callable
        Probability of +1, and density of the input, at a number.
    support : tuple of float
        The interval that carries the density; both ends finite.

    Examples
    --------
    >>> round(integrate_bayes_risk(lambda x: x / (x + 1), lambda x: 1 / 4, (0, 4)), 10)
    0.3057858878
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq

    low, high = as_array(support, "support", ndim=1)
    grid = np.linspace(low, high, 513)
    values = as_probability([eta(x) for x in grid]) - 0.5
    cells = np.flatnonzero(values[:-1] * values[1:] < 0)
    kinks = [brentq(lambda x: eta(x) - 0.5, grid[i], grid[i + 1]) for i in cells]
    edges = sorted([low, *kinks, *grid[1:-1][values[1:-1] == 0], high])
    mass, value = 0.0, 0.0
    for a, b in pairwise(edges):
        mass += quad(density, a, b)[0]
        value += quad(lambda x: density(x) * min(eta(x), 1 - eta(x)), a, b)[0]
    if abs(mass - 1) > 1e-6:
        raise ValueError(f"density must integrate to 1 over the support, got {mass:.6g}")
    return value


class RiskDecomposition(NamedTuple):
    """A risk as the sum of three parts: noise, poverty of the class, and choice from the sample."""

    bayes: float
    approximation: float
    estimation: float


def risk_decomposition(
    eta: Any, weights: Any, chosen: Any, candidates: Sequence[Any]
) -> RiskDecomposition:
    r"""Split the risk of a chosen rule: :math:`L^*`, then :math:`\inf_C L - L^*`, then the rest.

    Parameters
    ----------
    eta, weights : array of shape (m,)
        The distribution.
    chosen : array of shape (m,)
        Labels of the chosen rule, one of the candidates.
    candidates : sequence of arrays of shape (m,)
        Labels of every rule of the class.

    Examples
    --------
    >>> parts = risk_decomposition([0.2, 0.9], [0.5, 0.5], [1, 1], [[1, 1], [-1, -1]])
    >>> round(parts.approximation, 12), parts.estimation
    (0.3, 0.0)
    """
    least = min(true_risk(eta, labels, weights) for labels in candidates)
    noise = bayes_risk(eta, weights)
    return RiskDecomposition(noise, least - noise, true_risk(eta, chosen, weights) - least)


def bayes_regressor(joint: Any, values: Any, loss: Callable | None = None) -> np.ndarray:
    r"""Return the best real output at each input, from a table of joint probabilities.

    Parameters
    ----------
    joint : array of shape (m, k)
        Probability of input ``i`` together with target ``values[j]``.
    values : array of shape (k,)
        The targets.
    loss : callable, optional
        ``loss(output, target)``, elementwise; outputs are then sought among ``values``, which is
        where the absolute, pinball and 0-1 losses have a minimiser. Without it the loss is the
        square and the answer the conditional mean.

    Returns
    -------
    ndarray of shape (m,)
        The outputs; NaN at an input of probability 0, where any would do.

    Examples
    --------
    >>> bayes_regressor([[0.1, 0.3], [0.4, 0.2]], [0, 1]).round(4)
    array([0.75  , 0.3333])
    """
    joint, values = as_array(joint, "joint", ndim=2), as_array(values, "values", ndim=1)
    if (joint < 0).any() or abs(joint.sum() - 1) > 1e-8 or joint.shape[1] != len(values):
        raise ValueError(
            "joint must hold probabilities that sum to 1, one column per value,"
            f" got shape {joint.shape} and sum {joint.sum():.6g} for {len(values)} values"
        )
    marginal = joint.sum(axis=1)
    if loss is None:
        best = np.divide(joint @ values, marginal, out=np.zeros(len(joint)), where=marginal > 0)
    else:
        best = values[(joint @ loss(values[None, :], values[:, None])).argmin(axis=1)]
    return np.where(marginal > 0, best, np.nan)


def lookup_classifier(X: Any, y: Any) -> Rule:
    """Memorise the sample: the majority label of an input seen before, 0 for any other.

    A negative example: no training error on distinct inputs, and nothing learnt.

    >>> lookup_classifier([[1.0], [2.0]], [1, -1])([[2.0], [3.0]])
    array([-1.,  0.])
    """
    X = as_matrix(X)
    votes: dict[bytes, float] = {}
    for x, label in zip(X + 0.0, as_labels(y, len(X)), strict=True):  # + 0.0 turns -0 into 0
        votes[x.tobytes()] = votes.get(x.tobytes(), 0.0) + label
    return lambda Z: np.sign([votes.get(z.tobytes(), 0.0) for z in as_matrix(Z) + 0.0])


class LearningCurve(NamedTuple):
    """Mean excess risk for each sample size, with its standard error."""

    sizes: np.ndarray
    mean: np.ndarray
    error: np.ndarray


def learning_curve(
    rule: Callable[[Any, Any], Rule],
    sampler: Callable[[np.random.Generator, int], Any],
    eta: Callable[[Any], Any],
    sizes: Sequence[int],
    *,
    repeats: int = 20,
    n_test: int = 10_000,
    random_seed: int | None = None,
) -> LearningCurve:
    """Simulate the excess risk of a learner, which tends to 0 if it is consistent.

    Parameters
    ----------
    rule : callable
        ``rule(X, y)`` returns a fitted rule, itself a function from inputs to labels -1 and +1.
    sampler : callable
        ``sampler(rng, n)`` returns ``n`` inputs.
    eta : callable
        ``eta(X)`` returns the probabilities of +1.
    sizes : sequence of int
        Sample sizes.
    repeats, n_test : int
        Samples per size, and fresh inputs on which the excess risk of each is averaged.
    random_seed : int, optional
        Seed of the simulation.

    Examples
    --------
    >>> def best(X, y):
    ...     return lambda Z: np.where(Z > 0, 1, -1)
    >>> def normal(rng, n):
    ...     return rng.normal(size=n)
    >>> learning_curve(best, normal, lambda x: np.where(x > 0, 0.8, 0.3), [5]).mean
    array([0.])
    """
    rng = np.random.default_rng(random_seed)
    repeats = whole(repeats, "repeats", least=2)
    excess = np.empty((len(sizes), repeats))
    for row, n in zip(excess, sizes, strict=True):
        for r in range(repeats):
            X = sampler(rng, whole(n, "sizes", least=1))
            y = np.where(rng.random(n) < eta(X), 1, -1)
            Z = sampler(rng, n_test)
            p = as_probability(eta(Z))
            row[r] = np.mean(np.abs(2 * p - 1) * (np.asarray(rule(X, y)(Z)) != bayes_rule(p)))
    return LearningCurve(
        np.array(sizes), excess.mean(axis=1), excess.std(axis=1, ddof=1) / repeats**0.5
    )


def _distribution(eta: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    eta, weights = as_probability(eta), as_probability(weights, "weights")
    if eta.shape != weights.shape or eta.ndim != 1:
        raise ValueError(
            f"eta and weights must be vectors of one length, got {eta.shape} and {weights.shape}"
        )
    if abs(weights.sum() - 1) > 1e-8:
        raise ValueError(f"weights must sum to 1, got {weights.sum():.10g}")
    return eta, weights
