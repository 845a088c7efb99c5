r"""How rich is the unit ball of Lipschitz functions? Covering numbers and entropy bounds.

The ball :math:`B = \{f : \|f\|_L \le 1\}` of a space of diameter :math:`\Delta` is covered by
:math:`N(B, \epsilon)` functions. By Dudley's integral that bounds its Rademacher average, whose
exact value on a sample is `lipschitz_rademacher`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bayeskern.checks import as_array, positive, whole
from bayeskern.classic.dissimilarity import as_distances
from bayeskern.classic.transport import RademacherAverage

GRID = 40_000  # nodes of the entropy integral, equally spaced in log u


def interval_cover(eps: Any, length: float = 1.0) -> Any:
    r"""Covering number :math:`\lceil \ell / 2\epsilon \rceil` of an interval of length ``ell``.

    >>> int(interval_cover(0.1))
    5
    """
    return np.maximum(np.ceil(positive(length, "length") / (2 * np.asarray(eps)) - 1e-12), 1.0)


def greedy_cover(D: Any, eps: float) -> int:
    """Count the balls of a greedy cover of finitely many points, an upper bound on the least.

    >>> greedy_cover([[0, 1, 9], [1, 0, 8], [9, 8, 0]], 2.0)
    2
    """
    near = as_distances(D) <= positive(eps, "eps")
    open_points = np.ones(len(near), dtype=bool)
    count = 0
    while open_points.any():
        best = int((near & open_points).sum(axis=1).argmax())
        open_points &= ~near[best]
        count += 1
    return count


def lipschitz_ball_cover(
    cover: Callable[[float], float], eps: float, diameter: float, *, centred: bool = False
) -> tuple[float, float]:
    r"""Lower and upper bound on :math:`\ln N(B, \epsilon, \|\cdot\|_\infty)` (natural logarithm).

    .. math:: 2^{N(X, 4\epsilon)} \le N(B, \epsilon)
       \le (2 \lceil 2 \Delta / \epsilon \rceil + 1)^{N(X, \epsilon / 4)} ,

    and with :math:`N(X, 2\epsilon)` below and
    :math:`(2 \lceil 2 \Delta / \epsilon \rceil + 1) 2^{N(X, \epsilon / 2)}` above for a connected
    and centred space (Kolmogorov and Tihomirov 1961). From the diameter on one function suffices.

    Parameters
    ----------
    cover : callable
        Covering numbers of the space, such as `interval_cover`.
    eps, diameter : float
    centred : bool
        Whether the space is connected and every set of diameter 2r lies in a ball of radius r.

    Examples
    --------
    >>> low, high = lipschitz_ball_cover(interval_cover, 0.1, 1.0, centred=True)
    >>> round(low / math.log(2), 6), round(high, 4)
    (3.0, 10.645)
    """
    eps, diameter = positive(eps, "eps"), positive(diameter, "diameter")
    if eps >= diameter:
        return 0.0, 0.0
    levels = math.log(2 * math.ceil(2 * diameter / eps) + 1)
    if centred:
        upper = levels + float(cover(eps / 2)) * math.log(2)
    else:
        upper = float(cover(eps / 4)) * levels
    return math.log(2) * float(cover((2 if centred else 4) * eps)), upper


def lipschitz_rademacher_bound(
    cover: Callable[[Any], Any],
    n: int,
    diameter: float,
    *,
    centred: bool = False,
    sharp: bool = True,
) -> float:
    r"""Bound the Rademacher average of the Lipschitz unit ball by Dudley's entropy integral.

    .. math:: R_n(B) \le \inf_\epsilon 2\epsilon + \frac{4\sqrt2}{\sqrt n}
       \int_{\epsilon / 4}^{\Delta} \sqrt{\ln N(B, u)} \, du

    Parameters
    ----------
    cover : callable
        Covering numbers of the space for an array of radii.
    n : int
        Sample size.
    diameter : float
        :math:`\Delta`.
    centred : bool
        See `lipschitz_ball_cover`.
    sharp : bool
        Stop the integral at the diameter, where one function covers the ball; von Luxburg and
        Bousquet (2004) go on to twice (centred) or four times it.

    Examples
    --------
    >>> round(lipschitz_rademacher_bound(interval_cover, 100, 1.0, centred=True), 2)
    1.37
    """
    n, diameter = whole(n, "n", least=1), positive(diameter, "diameter")
    limit = diameter * (1 if sharp else 2 if centred else 4)

    def entropy(u: np.ndarray) -> np.ndarray:
        levels = np.log(2 * np.ceil(2 * diameter / u - 1e-12) + 1)
        if centred:
            return np.asarray(cover(u / 2)) * math.log(2) + levels
        return np.asarray(cover(u / 4)) * levels

    return _dudley(entropy, n, 2.5e-6 * diameter, limit)


def _dudley(
    entropy: Callable[[np.ndarray], np.ndarray], n: int, least: float, limit: float
) -> float:
    r"""Smallest entropy bound over :math:`\epsilon \ge 4` ``least``, integrated up to ``limit``."""
    edges = np.geomspace(least, limit, GRID)
    u = np.sqrt(edges[1:] * edges[:-1])
    tail = (np.sqrt(entropy(u)) * np.diff(edges))[::-1].cumsum()[::-1]
    return float((2 * 4 * edges[:-1] + 4 * math.sqrt(2 / n) * tail).min())


def rbf_rademacher_bound(
    cover: Callable[[Any], Any],
    n: int,
    diameter: float,
    *,
    profiles: Callable[[Any], Any] | None = None,
    profile_diameter: float = 0.0,
    offset: float = 0.0,
) -> float:
    r"""Bound the Rademacher average of combinations of functions of distances by their entropy.

    For :math:`f = \sum_k a_k g_k(d(p_k, \cdot))` with :math:`\sum_k |a_k| L(g_k) \le 1` and the
    profiles :math:`G_1 = \{g / L(g)\}`

    .. math:: R_n \le \inf_\epsilon 2\epsilon + \frac{4\sqrt2}{\sqrt n} \int_{\epsilon / 4}^{2w}
       \sqrt{\ln N(X, u / 2) + \ln N(G_1, u / 2, \|\cdot\|_\infty)} \, du, \qquad
       w = \max\{\mathrm{diam}\, X, \mathrm{diam}\, G_1\} .

    Von Luxburg and Bousquet (2004) stop at ``w``, but one ball is sure to cover only from ``2w``
    on; where it does before, the integrand is zero. `rbf_rademacher` estimates the average itself.

    Parameters
    ----------
    cover : callable
        Covering numbers of the space for an array of radii, such as `interval_cover`.
    n : int
        Sample size.
    diameter : float
        Of the space.
    profiles : callable, optional
        Covering numbers of :math:`G_1` in the supremum norm for an array of radii; by default
        there is one profile, such as the distance itself in `lp_machine`. They are finite only if
        :math:`L(g)` is bounded below: for :math:`e^{-x^2 / \sigma^2}`, where it is
        :math:`\sqrt{2 / e} / \sigma`, widths must be bounded above.
    profile_diameter : float
        Diameter of :math:`G_1`.
    offset : float
        Largest :math:`|b|` of an offset; it adds :math:`b / \sqrt n`.

    Examples
    --------
    >>> round(100 * rbf_rademacher_bound(interval_cover, 10_000, 1.0), 3)
    6.077
    """
    n, diameter = whole(n, "n", least=1), positive(diameter, "diameter")
    offset = positive(offset, "offset", zero=True)
    width = max(diameter, positive(profile_diameter, "profile_diameter", zero=True))

    def entropy(u: np.ndarray) -> np.ndarray:
        of_profiles = 0.0 if profiles is None else np.log(profiles(u / 2))
        return np.log(cover(u / 2)) + of_profiles

    return _dudley(entropy, n, 1e-12 * width, 2 * width) + offset / math.sqrt(n)


def rbf_rademacher(
    functions: Any, *, draws: int = 1000, random_state: int | None = 0
) -> RademacherAverage:
    r"""Rademacher average of combinations of Lipschitz functions.

    For :math:`\sum_k |a_k| L(g_k) \le 1` it is that of the extreme points alone,
    :math:`\tfrac1n E_\sigma \max_k |\sum_i \sigma_i g_k(x_i)|`, for functions scaled to constant
    one, such as the distances to all points.

    Parameters
    ----------
    functions : array of shape (n, m)
        Values of the ``m`` scaled functions at the ``n`` sample points.

    Examples
    --------
    >>> rbf_rademacher(np.ones((1, 1))).value
    1.0
    """
    G = as_array(functions, "functions", ndim=2)
    rng = np.random.default_rng(random_state)
    signs = rng.choice([-1.0, 1.0], (whole(draws, "draws", least=2), len(G)))
    tops = np.abs(signs @ G).max(axis=1) / len(G)
    return RademacherAverage(float(tops.mean()), float(tops.std(ddof=1) / math.sqrt(draws)))
