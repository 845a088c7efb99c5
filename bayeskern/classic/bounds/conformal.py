"""Split conformal prediction: sets with a guaranteed coverage."""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from bayeskern.classic.bounds import _domain as domain


def _rank(n: Any, alpha: Any) -> np.ndarray:
    """Rank of the threshold, ceil((n + 1)(1 - alpha)), safe against rounding."""
    return np.ceil(np.round((n + 1) * (1 - alpha), 9))


def conformal_quantile(scores: Any, alpha: float) -> float:
    r"""Threshold of the score that new examples stay below with probability :math:`1-\alpha`.

    The :math:`\lceil(n+1)(1-\alpha)\rceil`-th smallest calibration score, infinite if that
    exceeds n. Only exchangeability is needed.

    Parameters
    ----------
    scores : array of shape (n,)
        Nonconformity scores of calibration examples, large for odd ones.
    alpha : float
        Miscoverage in (0, 1).

    Examples
    --------
    >>> conformal_quantile(np.arange(1, 100), 0.1)
    90.0
    """
    scores = np.sort(np.atleast_1d(domain.numbers(scores, "scores", infinite=True)))
    rank = int(_rank(len(scores), _level(alpha)))
    return float(scores[rank - 1]) if rank <= len(scores) else np.inf


class Coverage(NamedTuple):
    """Coverage of a conformal set: marginal, and given the calibration sample."""

    marginal: float
    lower: float
    upper: float
    conditional: Any


def conformal_coverage(n: int, alpha: float) -> Coverage:
    r"""Exact coverage for continuous scores, its limits in general, and its distribution.

    Marginally :math:`\lceil(n+1)(1-\alpha)\rceil/(n+1)`; given the calibration sample
    :math:`\mathrm{Beta}(n+1-l,l)` with :math:`l=\lfloor(n+1)\alpha\rfloor`, a frozen SciPy
    distribution (None if the threshold is infinite and everything is covered).

    Examples
    --------
    >>> round(float(conformal_coverage(1000, 0.1).conditional.ppf(0.05)), 10)
    0.8840754886
    """
    n = int(domain.size(n, "n"))
    alpha = _level(alpha)
    rank = int(_rank(n, alpha))
    if rank > n:
        return Coverage(1.0, 1 - alpha, 1.0, None)
    return Coverage(rank / (n + 1), 1 - alpha, 1 - alpha + 1 / (n + 1), beta(rank, n + 1 - rank))


def _level(alpha: Any) -> float:
    alpha = float(domain.numbers(alpha, "alpha"))
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha!r}")
    return alpha
