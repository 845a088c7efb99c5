"""Luckiness: bounds that reward a sample for being benign (Shawe-Taylor et al. 1998)."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import ld
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded

ZERO_ERROR = "the hypothesis makes no training error"


def _zero(training_error: Any, name: str) -> None:
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(f"{name} needs zero training error, got {training_error!r}; use vc_bound")


@recorded()
def luckiness_bound(m: Any, delta: Any, d: Any, p_d: Any = 1.0, training_error: Any = 0.0) -> Bound:
    r"""Luckiness bound, :math:`\frac2m\big(d+\mathrm{ld}\frac4{\delta p_d}\big)`.

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    d : int
        Ceiling of :math:`\mathrm{ld}\,\omega(L(z,h),\delta p_d/4)` for a luckiness L.
    p_d : float
        Weight of that level: 1 if d was fixed beforehand, else a distribution over
        :math:`1,\dots,2m`, such as :math:`1/2m`.

    Examples
    --------
    >>> round(luckiness_bound(1000, 0.05, 10).value, 6)
    0.032644
    """
    m, delta, p_d = domain.size(m), domain.failure(delta), domain.mass(p_d, "p_d")
    _zero(training_error, "luckiness_bound")
    d = domain.numbers(d, "d")
    if ((d < 1) | (d != np.floor(d))).any():
        raise ValueError("d must be a positive integer (take the ceiling of ld(omega))")
    return assemble(
        "luckiness bound",
        {"capacity": 2 * d / m, "level": -2 * ld(p_d) / m, "confidence": 2 * ld(4 / delta) / m},
        delta=delta,
        statement="With probability at least 1 - delta every consistent hypothesis as lucky as"
        " level d has at most this risk.",
        reference="Herbrich (2002), Theorem 4.19, equation 4.23",
        assumptions=(IID, ZERO_ERROR, "omega bounds the number of luckier labellings"),
    )


@recorded()
def pac_luckiness_bound(m: Any, delta: Any, vc_dim: Any, training_error: Any = 0.0) -> Bound:
    r"""Luckiness bound with the VC dimension as (constant) luckiness.

    .. math:: \frac2m\Big(\Big\lceil\vartheta\,\mathrm{ld}\frac{2em}\vartheta\Big\rceil
              +\mathrm{ld}\frac4\delta\Big),\qquad 1\le\vartheta\le2m .

    Herbrich (2002), Example 4.21 omits the ceiling, which the level needs.

    Examples
    --------
    >>> round(pac_luckiness_bound(1000, 0.05, 3).value, 11)
    0.07864385619
    """
    m, delta = domain.size(m), domain.failure(delta)
    _zero(training_error, "pac_luckiness_bound")
    v = domain.count(vc_dim, "vc_dim", infinite=True)
    inside = np.clip(v, 1, 2 * m)
    level = np.ceil(inside * ld(2 * np.e * m / inside))
    d = np.where(v > 2 * m, 2 * m, np.where(v == 0, 1, np.minimum(level, 2 * m)))
    return assemble(
        "PAC luckiness bound",
        {"capacity": 2 * d / m, "confidence": 2 * ld(4 / delta) / m},
        delta=delta,
        statement="With probability at least 1 - delta every consistent hypothesis has at most"
        " this risk.",
        reference="Herbrich (2002), Example 4.21",
        assumptions=(IID, ZERO_ERROR),
        ingredients={"d": d},
    )


@recorded()
def empirical_vc_luckiness_bound(
    m: Any, delta: Any, empirical_vc_dim: Any, training_error: Any = 0.0
) -> Bound:
    r"""Luckiness bound from the VC dimension on the sample, :math:`\vartheta(z)`.

    With :math:`p_d=1/2m` and :math:`x=4(\vartheta(z)+\ln\frac4{\delta p_d})`, the level is
    :math:`d=\lceil\min(2m,x\,\mathrm{ld}(2em/x))\rceil`, or 2m once :math:`x\ge2m`, and

    .. math:: R\le\frac2m\Big(d+\mathrm{ld}\frac4{\delta p_d}\Big) .

    Without the cap (Herbrich 2002, Example 4.22) the level falls below the true count for
    large x. For kernel classifiers without offset :math:`\vartheta(z)` is the rank of the Gram
    matrix.

    Examples
    --------
    >>> round(empirical_vc_luckiness_bound(1000, 0.05, 1).value, 10)
    0.7325754248
    """
    m, delta = domain.size(m), domain.failure(delta)
    _zero(training_error, "empirical_vc_luckiness_bound")
    v = domain.count(empirical_vc_dim, "empirical_vc_dim")
    x = 4 * (v + np.log(8 * m) - np.log(delta))
    safe = np.minimum(x, 2 * m)
    d = np.ceil(np.where(x < 2 * m, np.minimum(2 * m, safe * ld(2 * np.e * m / safe)), 2 * m))
    return assemble(
        "empirical VC luckiness bound",
        {"capacity": 2 * d / m, "level": 2 * ld(2 * m) / m, "confidence": 2 * ld(4 / delta) / m},
        delta=delta,
        statement="With probability at least 1 - delta every consistent hypothesis has at most"
        " this risk, in terms of the largest shattered part of the sample.",
        reference="Herbrich (2002), Example 4.22",
        assumptions=(IID, ZERO_ERROR),
        ingredients={"x": x, "d": d},
    )
