"""Bayes risk, the risk of nearest neighbours in the limit, and of plug-in rules."""

from typing import Any

import numpy as np
from scipy.special import bdtr

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.result import Bound, assemble, recorded


def _average(values: np.ndarray, weights: Any) -> float:
    if weights is None:
        return float(values.mean())
    weights = np.atleast_1d(domain.positive(weights, "weights", zero=True))
    if weights.shape != values.shape or not weights.sum() > 0:
        raise ValueError("weights must match eta and have a positive sum")
    return float(values @ weights / weights.sum())


def bayes_risk(eta: Any, weights: Any = None) -> float:
    r"""Smallest possible risk, :math:`L^*=\mathbf E\min(\eta,1-\eta)`.

    Parameters
    ----------
    eta : array
        :math:`P(Y=1|X=x)` at points x.
    weights : array, optional
        Probability of each point (or quadrature weight); uniform by default.

    Examples
    --------
    >>> bayes_risk([0.25, 0.5], [0.5, 0.5])
    0.375
    """
    eta = np.atleast_1d(domain.unit(eta, "eta"))
    return _average(np.minimum(eta, 1 - eta), weights)


def nn_asymptotic_risk(eta: Any, weights: Any = None, k: int = 1) -> float:
    r"""Limit of the risk of k nearest neighbours for large samples, k odd, two classes.

    .. math:: L_{kNN}=\mathbf E\big[\eta P(B<\tfrac k2)+(1-\eta)P(B>\tfrac k2)\big],\quad
              B\sim\mathrm{Bin}(k,\eta);\qquad L_{NN}=\mathbf E[2\eta(1-\eta)]

    Examples
    --------
    >>> round(nn_asymptotic_risk([0.1]), 12)
    0.18
    """
    eta, votes = np.atleast_1d(domain.unit(eta, "eta")), int(_odd(k))
    fewer = bdtr(votes // 2, votes, eta)
    return _average(eta * fewer + (1 - eta) * (1 - fewer), weights)


def cover_hart_bounds(bayes_risk: Any, n_classes: int = 2) -> tuple[Any, Any]:
    r"""Range of the asymptotic nearest-neighbour risk for a given Bayes risk.

    .. math:: L^*\le L_{NN}\le L^*\Big(2-\frac M{M-1}L^*\Big),

    for two classes :math:`2L^*(1-L^*)`; attained when :math:`\eta` is constant.

    Examples
    --------
    >>> lower, upper = cover_hart_bounds(0.1)
    >>> lower, round(upper, 12)
    (0.1, 0.18)
    """
    M = float(domain.count(n_classes, "n_classes", least=2))
    low = _bayes(bayes_risk, M)
    high = low * (2 - M / (M - 1) * low)
    return (low.item(), high.item()) if low.ndim == 0 else (low, high)


def bayes_risk_from_nn(nn_risk: Any) -> Any:
    r"""Smallest Bayes risk compatible with an asymptotic nearest-neighbour risk of at most 1/2.

    .. math:: L^*\ge\tfrac12\big(1-\sqrt{1-2L_{NN}}\big)

    Examples
    --------
    >>> round(bayes_risk_from_nn(0.18), 12)
    0.1
    """
    risk = domain.unit(nn_risk, "nn_risk")
    if (risk > 0.5).any():
        raise ValueError(f"nn_risk must lie in [0, 0.5], got {risk.max().item()!r}")
    out = risk / (1 + np.sqrt(1 - 2 * risk))
    return out.item() if np.ndim(out) == 0 else out


@recorded(size="k")
def knn_risk_bound(bayes_risk: Any, nn_risk: Any, k: Any) -> Bound:
    r"""Asymptotic risk of k nearest neighbours, :math:`L^*+\min(\sqrt{2L_{NN}/k},1/\sqrt{ke})`.

    Examples
    --------
    >>> round(knn_risk_bound(0.1, 0.18, 51).value, 6)
    0.184017
    """
    low, k = _bayes(bayes_risk, 2.0), _odd(k)
    risk = domain.unit(nn_risk, "nn_risk")
    if (risk < low - 1e-12).any():
        raise ValueError("nn_risk must be at least bayes_risk")
    terms = np.sqrt(2 * risk / k), 1 / np.sqrt(k * np.e)
    return assemble(
        "k-nearest-neighbour bound",
        {"Bayes risk": low, "neighbours": np.minimum(*terms)},
        delta=np.nan,
        kind="asymptotic",
        statement="As the sample grows the risk of k nearest neighbours tends to at most this.",
        reference="Devroye, Gyorfi and Lugosi (1996), Theorems 5.5 and 5.6",
        assumptions=("independent and identically distributed examples, k fixed, two classes",),
        ingredients={"from_nn_risk": terms[0], "free_of_distribution": terms[1]},
    )


@recorded(size="")
def plug_in_excess(l1_distance: Any) -> Bound:
    r"""Excess risk of the rule built from a density estimate, :math:`\|f-\hat f\|_1`.

    The distance is over inputs and labels jointly; it is twice the total variation.

    Examples
    --------
    >>> plug_in_excess(0.3).value
    0.3
    """
    return assemble(
        "plug-in bound",
        {"distance": domain.positive(l1_distance, "l1_distance", zero=True)},
        delta=np.nan,
        kind="excess",
        statement="The classifier built from an estimate of the joint density exceeds the Bayes"
        " risk by at most the L1 distance of the two.",
        reference="Herbrich (2002), Example 4.3",
        assumptions=("the distance is between joint densities of inputs and labels",),
    )


def _bayes(risk: Any, M: float) -> np.ndarray:
    risk = domain.numbers(risk, "bayes_risk")
    top = 1 - 1 / M
    if ((risk < 0) | (risk > top + 1e-12)).any():
        raise ValueError(f"bayes_risk must lie in [0, {top:g}], got {risk.max().item()!r}")
    return risk


def _odd(k: Any) -> np.ndarray:
    k = domain.count(k, "k", least=1)
    if (k % 2 == 0).any():
        raise ValueError("k must be odd (ties are not specified)")
    return k
