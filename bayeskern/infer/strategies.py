r"""From draws of version space to one decision: centre of mass, Bayes point, Bayes, Gibbs, MAP."""

from typing import Any, NamedTuple

import numpy as np

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import as_array, one_of
from bayeskern.infer.predict import Predictive, predict

STRATEGIES = ("bayes", "centre", "gibbs", "map")


def predict_latent(problem: BayesPoint, tree: Any, X_new: Any) -> Predictive:
    r"""Return what the posterior says at new inputs, with the part outside the span of the data.

    .. math:: f(x) | \alpha \sim N(k' \alpha,\; k_{**} - k' G^+ k)

    Only the projection of :math:`w` on the span is constrained; the rest keeps its prior. To leave
    it out is to be badly over-confident.

    Parameters
    ----------
    problem : BayesPoint
        The problem that was fitted.
    tree : DataTree
        What a method returned for it.
    X_new : inputs
        As the kernel reads them.
    """
    if "alpha" not in tree["posterior"]:
        return predict(problem, tree, X_new)
    K = problem.cross_cov({}, X_new)
    means = dual_draws(tree) @ K
    left = problem.cone.left_over(K, problem.prior_var({}, X_new))
    variances = np.broadcast_to(left, means.shape)
    return Predictive(means, variances, [problem.likelihood] * len(means))


def class_probability(problem: BayesPoint, tree: Any, X_new: Any) -> np.ndarray:
    """Return the probability of +1 at new inputs, averaged over the posterior."""
    known = predict_latent(problem, tree, X_new)
    return problem.likelihood.predict(known.means, known.variances).mean(axis=0)


def dual_draws(tree: Any) -> np.ndarray:
    """Return the coefficients of all draws, ``(draws, m)``."""
    alpha = tree["posterior"]["alpha"].transpose("chain", "draw", ...).values
    return alpha.reshape(-1, alpha.shape[-1])


def centre_of_mass(problem: BayesPoint, tree: Any) -> np.ndarray:
    r"""Coefficients of the posterior mean of :math:`w`, scaled to unit length.

    It classifies as the Bayes strategy does wherever version space looks symmetric from the new
    point, and always lies in version space, which spans a convex cone.
    """
    if "alpha" in tree["posterior"]:
        alpha = dual_draws(tree).mean(axis=0)
    else:
        alpha = tree["fit"]["alpha"].values
    return alpha / np.sqrt(alpha @ problem.prior_cov({}) @ alpha)


def most_probable(problem: BayesPoint, tree: Any) -> np.ndarray:
    """Coefficients of the draw of highest likelihood, the one with the largest margin among equals.

    Without noise the posterior is flat and all of version space is equally probable, so that the
    margin decides; with noise it does so among the draws with fewest errors.
    """
    alpha = dual_draws(tree)
    t = alpha @ problem.prior_cov({})
    length = np.sqrt(np.einsum("ij,ij->i", alpha, t))
    margins = (problem.y * t / problem.cone.scales / length[:, None]).min(axis=1)
    score = problem.likelihood.logp(problem.y, t).sum(axis=1)
    return alpha[np.lexsort((margins, score.round(9)))[-1]]


class EmpiricalBayesPoint(NamedTuple):
    """The candidate that best agrees with the vote, and how often it does not."""

    alpha: np.ndarray
    disagreement: float


def bayes_point_empirical(
    problem: BayesPoint, tree: Any, X_new: Any, candidates: Any = None
) -> EmpiricalBayesPoint:
    r"""Choose the single classifier that agrees most often with the Bayes strategy.

    .. math:: w_{bp} = \arg\min_w P_X[\operatorname{sign} \langle \phi(X), w \rangle
        \ne Bayes(X)],

    with the distribution of :math:`X` replaced by unlabelled inputs and the minimum by that over
    candidates (Herbrich 2002, definition 3.15).

    Parameters
    ----------
    problem, tree
        What was asked, and a method's answer with draws.
    X_new : inputs
        Unlabelled objects.
    candidates : array of shape (c, m), optional
        Coefficients; by default the centre of mass and 200 draws.
    """
    if candidates is None:
        draws = dual_draws(tree)
        few = draws[np.linspace(0, len(draws) - 1, min(200, len(draws))).astype(int)]
        candidates = np.vstack([centre_of_mass(problem, tree), few])
    candidates = as_array(candidates, "candidates", ndim=2)
    vote = class_probability(problem, tree, X_new) > 0.5
    wrong = ((candidates @ problem.cross_cov({}, X_new) > 0) != vote).mean(axis=1)
    best = int(wrong.argmin())  # the first among equals, which is the centre of mass by default
    return EmpiricalBayesPoint(candidates[best], float(wrong[best]))


def decide(
    problem: BayesPoint,
    tree: Any,
    X_new: Any,
    strategy: str = "bayes",
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Classify new inputs as -1 or +1.

    Parameters
    ----------
    problem, tree, X_new
        As in `predict_latent`.
    strategy : {"bayes", "centre", "gibbs", "map"}
        The vote of the posterior; its centre of mass; a fresh draw for every input; or the most
        probable draw.
    rng : numpy Generator
        For the Gibbs strategy.
    """
    one_of(strategy, "strategy", STRATEGIES)
    if strategy == "bayes":
        score = class_probability(problem, tree, X_new) - 0.5
    elif strategy == "gibbs":
        rng = rng or np.random.default_rng()
        known = predict_latent(problem, tree, X_new)
        n = known.means.shape[1]
        which = rng.integers(len(known.means), size=n), np.arange(n)
        score = known.means[which] + np.sqrt(known.variances[which]) * rng.standard_normal(n)
    else:
        one = centre_of_mass if strategy == "centre" else most_probable
        score = one(problem, tree) @ problem.cross_cov({}, X_new)
    return np.where(score >= 0, 1.0, -1.0)
