"""Is one classifier better than another? Bayesian answers from paired results."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_array, positive, whole, within


@dataclass(frozen=True)
class PairedDifference:
    """Posterior of a difference: how likely it lies below, within or above what matters.

    Attributes
    ----------
    mean : float
        Posterior mean of the difference, first minus second.
    interval : tuple of float
        Central 90 % interval.
    lower, equivalent, higher : float
        Probabilities of a difference below ``-rope``, within, and above ``rope``.
    """

    mean: float
    interval: tuple[float, float]
    lower: float
    equivalent: float
    higher: float


def correlated_t_test(differences: Any, rho: float, *, rope: float = 0.0) -> PairedDifference:
    r"""Bayesian t-test for differences measured on overlapping training sets.

    The results of cross-validation are correlated, by about the share :math:`\rho` of the data in
    a test fold. With that the posterior of the mean difference is Student's t,

    .. math:: t_{n-1}\Big(\bar d,\; \big(\tfrac1n + \tfrac{\rho}{1-\rho}\big) s^2\Big).

    Parameters
    ----------
    differences : array of shape (n,)
        Results of the first minus results of the second, fold by fold.
    rho : float
        Correlation, ``1 / folds``.
    rope : float
        Half width of the region of practical equivalence.

    Examples
    --------
    >>> test = correlated_t_test([0.02, 0.03, 0.01, 0.03, 0.02], 0.2, rope=0.01)
    >>> round(test.higher, 2)
    0.95

    References
    ----------
    Nadeau and Bengio (2003); Corani and Benavoli (2015).
    """
    from scipy.stats import t as student

    d = as_array(differences, "differences", ndim=1)
    within(rho, "rho", 0, 1, closed="left")
    positive(rope, "rope", zero=True)
    n, mean = len(d), float(d.mean())
    scale = float(np.sqrt((1 / n + rho / (1 - rho)) * d.var(ddof=1))) if n > 1 else 0.0
    if scale == 0.0:  # no spread: the posterior is a point
        low, high = float(mean < -rope), float(mean > rope)
        return PairedDifference(mean, (mean, mean), low, 1 - low - high, high)
    posterior = student(n - 1, loc=mean, scale=scale)
    lower, higher = float(posterior.cdf(-rope)), float(posterior.sf(rope))
    ends = (float(posterior.ppf(0.05)), float(posterior.ppf(0.95)))
    return PairedDifference(mean, ends, lower, 1 - lower - higher, higher)


def signed_rank_test(
    differences: Any, *, rope: float = 0.0, draws: int = 20_000, random_seed: int = 0
) -> PairedDifference:
    r"""Bayesian signed-rank test for differences on several data sets.

    A Dirichlet process with one half of a pseudo-observation at zero gives each draw weights
    :math:`w`; the answer is where :math:`\sum_{ij} w_i w_j 1[d_i + d_j > 2 r]` beats its rivals.

    Parameters
    ----------
    differences : array of shape (data sets,)
        Mean result of the first minus that of the second on each data set.
    rope : float
        Half width of the region of practical equivalence.
    draws, random_seed : int
        Of the Dirichlet weights.

    References
    ----------
    Benavoli, Corani, Mangili, Zaffalon and Ruggeri (2014).
    """
    d = np.append(0.0, as_array(differences, "differences", ndim=1))
    positive(rope, "rope", zero=True)
    whole(draws, "draws", least=1)
    rng = np.random.default_rng(random_seed)
    weights = rng.dirichlet([0.5, *np.ones(len(d) - 1)], size=draws)
    sums = d[:, None] + d
    masks = (sums < -2 * rope, np.abs(sums) <= 2 * rope, sums > 2 * rope)
    shares = np.stack([np.einsum("si,ij,sj->s", weights, m.astype(float), weights) for m in masks])
    winners = np.bincount(shares.argmax(axis=0), minlength=3) / draws
    means = weights @ d
    ends = (float(np.quantile(means, 0.05)), float(np.quantile(means, 0.95)))
    lower, equivalent, higher = (float(w) for w in winners)
    return PairedDifference(float(means.mean()), ends, lower, equivalent, higher)
