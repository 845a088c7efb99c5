"""Covering, packing and fat-shattering: capacity of real-valued functions at a scale."""

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import ld
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded


class NumberRange(NamedTuple):
    """A number known only between two limits."""

    lower: int
    upper: int


def _cloud(points: Any) -> np.ndarray:
    points = domain.numbers(points, "points")
    if points.ndim != 2:
        raise ValueError(f"points must have one row per point, got shape {points.shape}")
    return points


def packing_number_greedy(points: Any, eps: float, metric: str = "euclidean") -> np.ndarray:
    """Return indices of a maximal set of points more than ``eps`` apart, in the given order.

    Such a set is an eps-packing and, being maximal, also an eps-cover.

    Examples
    --------
    >>> packing_number_greedy([[0.0], [0.5], [1.0], [2.0]], 0.6)
    array([0, 2, 3])
    """
    points, eps = _cloud(points), float(domain.positive(eps, "eps", zero=True))
    nearest = np.full(len(points), np.inf)
    chosen = []
    for i in range(len(points)):
        if nearest[i] > eps:
            chosen.append(i)
            nearest = np.minimum(nearest, cdist(points[i : i + 1], points, metric)[0])
    return np.array(chosen)


def covering_number_bounds(points: Any, eps: float, metric: str = "euclidean") -> NumberRange:
    r"""Bracket the eps-covering number of a point set, centres taken from the set.

    .. math:: \mathcal M(2\varepsilon)\le\mathcal N(\varepsilon)\le\mathcal M(\varepsilon)

    A greedy packing at :math:`2\varepsilon` bounds it from below, one at :math:`\varepsilon`
    from above.

    Examples
    --------
    >>> covering_number_bounds([[0.0], [1.0], [2.0], [3.0]], 1.0)
    NumberRange(lower=2, upper=2)
    """
    domain.positive(eps, "eps")
    lower = len(packing_number_greedy(points, 2 * eps, metric))
    return NumberRange(lower, len(packing_number_greedy(points, eps, metric)))


def entropy_number(points: Any, n: int, metric: str = "euclidean") -> tuple[float, float]:
    r"""Bracket the n-th entropy number, the smallest scale at which n centres cover the set.

    Farthest-first traversal gives n centres of covering radius r and n + 1 points that are at
    least r apart, hence :math:`r/2\le\epsilon(n)\le r` for
    :math:`\epsilon(n)=\inf\{\varepsilon:\mathcal N(\varepsilon)\le n\}`. The inner entropy
    number :math:`\varphi(n)=\sup\{\varepsilon:\mathcal M(\varepsilon)>n\}` satisfies
    :math:`\epsilon(n)\le\varphi(n)\le2\epsilon(n)`, also seen in print reversed.

    Returns
    -------
    (float, float)
        Lower and upper limit of :math:`\epsilon(n)`.

    Examples
    --------
    >>> entropy_number([[0.0], [1.0], [2.0], [3.0]], 2)
    (0.5, 1.0)
    """
    points, n = _cloud(points), int(domain.count(n, "n", least=1))
    centre = points.mean(0, keepdims=True)
    start = int(cdist(centre, points, metric)[0].argmin())
    nearest = cdist(points[start : start + 1], points, metric)[0]
    for _ in range(min(n, len(points)) - 1):
        far = int(nearest.argmax())
        nearest = np.minimum(nearest, cdist(points[far : far + 1], points, metric)[0])
    radius = float(nearest.max()) if n < len(points) else 0.0
    return radius / 2, radius


def function_cover(F: Any, gamma: float) -> np.ndarray:
    """Return rows of an (n_functions, m) output matrix that cover it in the largest deviation.

    Examples
    --------
    >>> function_cover([[0.0, 0.0], [0.1, 0.0], [1.0, 0.0]], 0.2)
    array([0, 2])
    """
    return packing_number_greedy(F, float(domain.positive(gamma, "gamma")), "chebyshev")


@recorded()
def covering_bound(
    m: Any, delta: Any, log2_cover: Any, training_error: Any = 0.0, *, empirical: bool = False
) -> Bound:
    r"""Margin bound from a covering number at half the margin, for double samples.

    .. math:: \frac2m\Big(\max(1,\lceil\mathrm{ld}\,\mathcal N\rceil)+\mathrm{ld}\,m
              +\mathrm{ld}\frac1\delta\Big),\qquad \mathcal N\le2^{m/2} .

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    log2_cover : float
        Binary log of :math:`\mathcal N^\infty(\tilde\gamma/2,2m)`, the worst case over samples.
    empirical : bool
        Say so if the cover was computed on the training sample: the theorem does not admit
        that, and the result is marked as not rigorous.

    Examples
    --------
    >>> round(covering_bound(1000, 0.05, 10).value, 11)
    0.04857542476
    """
    m, delta = domain.size(m), domain.failure(delta)
    _zero_error(training_error, "covering_bound")
    cover = domain.positive(log2_cover, "log2_cover", zero=True)
    return assemble(
        "covering-number bound",
        {
            "capacity": 2 * np.maximum(1, np.ceil(cover)) / m,
            "level": 2 * ld(m) / m,
            "confidence": -2 * ld(delta) / m,
        },
        delta=delta,
        rigorous=not empirical,
        statement="With probability at least 1 - delta every function that classifies the sample"
        " with this margin has at most this risk.",
        reference="Herbrich (2002), Corollary 4.26",
        assumptions=(IID, ZERO_ERROR, "the cover is for any 2 m points, at half the margin"),
        conditions={"cover of at most 2^(m/2) functions": cover <= m / 2},
    )


def log2_cover_from_fat(m: Any, fat: Any, width: Any, gamma: Any) -> Any:
    r"""Covering number from the fat-shattering dimension (Alon et al. 1997).

    .. math:: \mathrm{ld}\,\mathcal N^\infty(\gamma,m)\le1+d\,\mathrm{ld}\frac{2em(b-a)}{d\gamma}
              \,\mathrm{ld}\frac{4m(b-a)^2}{\gamma^2},\qquad d=\mathrm{fat}(\gamma/4)\le m .

    Parameters
    ----------
    m : int
        Number of points covered.
    fat : float
        Fat-shattering dimension at scale :math:`\gamma/4`.
    width, gamma : float
        Length of the range of the functions, and the scale, :math:`0<\gamma<b-a`.

    Returns
    -------
    float
        The bound, or infinity if ``fat > m``.

    Examples
    --------
    >>> round(log2_cover_from_fat(1000, 5, 2.0, 0.1), 6)
    1485.767893
    """
    m, d = domain.size(m), domain.positive(fat, "fat", zero=True)
    width, gamma = domain.positive(width, "width"), domain.positive(gamma, "gamma")
    if (gamma >= width).any():
        raise ValueError(f"gamma must lie in (0, width), got {gamma!r} with width {width!r}")
    safe = np.where(d > 0, d, 1.0)
    out = 1 + d * ld(2 * np.e * m * width / (safe * gamma)) * ld(4 * m * width**2 / gamma**2)
    out = np.where(d <= m, out, np.inf)
    return out.item() if out.ndim == 0 else out


def fat_shattering_linear(gamma: Any, radius: Any, norm_bound: Any = 1.0) -> Any:
    r"""Fat-shattering dimension of linear functions, at most :math:`(B\varsigma/\gamma)^2`.

    Attained by an orthonormal set. As gamma vanishes the dimension tends to the
    pseudo-dimension.

    Examples
    --------
    >>> fat_shattering_linear(0.5, 1.0)
    4.0
    """
    gamma, radius = domain.positive(gamma, "gamma"), domain.positive(radius, "radius")
    out = (domain.positive(norm_bound, "norm_bound") * radius / gamma) ** 2
    return out.item() if np.ndim(out) == 0 else out


def fat_terms(m: Any, d_eff: Any) -> Any:
    r"""Capacity term :math:`\frac2m\lceil d\,\mathrm{ld}\frac{8em}d\,\mathrm{ld}(32m)\rceil`."""
    safe = np.where(d_eff > 0, d_eff, 1.0)
    level = np.ceil(safe * (ld(8 * np.e * m) - ld(safe)) * ld(32 * m))
    return np.where(d_eff > 0, 2 / m * level, 0.0)


@recorded()
def fat_shattering_bound(m: Any, delta: Any, fat: Any, training_error: Any = 0.0) -> Bound:
    r"""Margin bound from the fat-shattering dimension at an eighth of the margin.

    .. math:: \frac2m\Big(\Big\lceil\vartheta\,\mathrm{ld}\frac{8em}\vartheta\,\mathrm{ld}(32m)
              \Big\rceil+\mathrm{ld}\,m+\mathrm{ld}\frac2\delta\Big),\qquad
              \vartheta=\mathrm{fat}(\tilde\gamma/8)\le2m .

    Examples
    --------
    >>> round(fat_shattering_bound(10**6, 0.05, 100).value, 11)
    0.08846050699
    """
    m, delta = domain.size(m), domain.failure(delta)
    _zero_error(training_error, "fat_shattering_bound")
    fat = domain.positive(fat, "fat", zero=True)
    return assemble(
        "fat-shattering bound",
        {
            "capacity": fat_terms(m, fat),
            "level": 2 * ld(m) / m,
            "confidence": 2 * ld(2 / delta) / m,
        },
        delta=delta,
        statement="With probability at least 1 - delta every function that classifies the sample"
        " with this margin has at most this risk.",
        reference="Herbrich (2002), Theorem 4.30",
        assumptions=(IID, ZERO_ERROR),
        conditions={"fat-shattering dimension of at most 2 m": fat <= 2 * m},
    )


def _zero_error(training_error: Any, name: str) -> None:
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"{name} needs zero training error, got {training_error!r}; use robust_margin_bound"
        )
