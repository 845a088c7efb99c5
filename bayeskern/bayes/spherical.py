r"""Volume and centre of version space where they have a closed form.

One to three points have their orthant probability; points that span a plane or a space have an arc
or a spherical polygon.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from bayeskern.errors import NotSeparableError


@dataclass(frozen=True, eq=False)
class Region:
    r"""A convex region of the unit sphere in two or three dimensions.

    Attributes
    ----------
    prior_mass : float
        Its part of the sphere.
    mean : ndarray of shape (r,)
        Mean of a uniform point, not of unit length.
    edges : ndarray of shape (m,)
        Length of the facet that each constraint contributes, 0 if it is redundant. For an arc,
        whose facets are points, 1 or 0.
    """

    prior_mass: float
    mean: np.ndarray
    edges: np.ndarray


def chi_mean(r: int) -> float:
    r"""Mean length of a standard normal vector in ``r`` dimensions.

    It is :math:`\sqrt2\, \Gamma(\frac{r+1}2) / \Gamma(\frac r2)`.

    >>> round(chi_mean(3), 7)
    1.5957691
    """
    return float(np.sqrt(2) * np.exp(gammaln((r + 1) / 2) - gammaln(r / 2)))


def orthant_probability(S: np.ndarray) -> float:
    r"""Probability that one to three standard normals with correlations ``S`` are all positive.

    .. math:: \tfrac12, \qquad \tfrac14 + \frac{\arcsin\rho}{2\pi}, \qquad
              \tfrac18 + \frac1{4\pi} \sum_{i<j} \arcsin \rho_{ij}.

    >>> round(orthant_probability(np.array([[1.0, 0.5], [0.5, 1.0]])), 12)
    0.333333333333
    """
    m = len(S)
    if m > 3:
        raise ValueError(f"the orthant probability has no closed form for {m} > 3 points")
    upper = S[np.triu_indices(m, 1)]
    return float(0.5**m + np.arcsin(np.clip(upper, -1, 1)).sum() * 2.0 ** (1 - m) / np.pi)


def dual_coefficients(S: np.ndarray) -> np.ndarray:
    r"""Non-negative weights of two or three unit points in the mean of the Gaussian on their cone.

    .. math:: E[w | V] = \sum_i F_i a_i, \qquad
              F_i = \frac{P(u_{-i} > 0 \mid u_i = 0)}{\sqrt{2\pi}\, P(u > 0)} .

    >>> dual_coefficients(np.array([[1.0, 0.5], [0.5, 1.0]])).round(8)
    array([0.59841342, 0.59841342])
    """
    m = len(S)
    facets = np.empty(m)
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        partial = S[np.ix_(rest, rest)] - np.outer(S[rest, i], S[rest, i])
        scale = np.sqrt(np.diagonal(partial))
        facets[i] = orthant_probability(partial / np.outer(scale, scale)) if m > 1 else 1.0
    return facets / (np.sqrt(2 * np.pi) * orthant_probability(S))


def exact_region(A: np.ndarray) -> Region:
    r"""Return the region :math:`\{z : A z > 0\}` of the unit circle or sphere.

    On the sphere, with inward unit normals :math:`n_k` and edges of length :math:`\ell_k`, the mean
    of a uniform point is :math:`\frac{1}{2 \cdot \text{area}} \sum_k \ell_k n_k`.

    Parameters
    ----------
    A : ndarray of shape (m, 2) or (m, 3)
        Inward normals of any length, of full column rank.

    Examples
    --------
    >>> octant = exact_region(np.eye(3))
    >>> round(octant.prior_mass, 12), octant.mean.round(12).tolist()
    (0.125, [0.5, 0.5, 0.5])
    """
    normals = A / np.linalg.norm(A, axis=1, keepdims=True)
    region = _arc(normals) if A.shape[1] == 2 else _polygon(normals)
    if region.prior_mass <= 0:
        raise NotSeparableError("the region is empty: no point satisfies all constraints")
    return region


def _arc(normals: np.ndarray) -> Region:
    """Return the common arc of half circles."""
    low, width, first, last = _common_arc(np.arctan2(normals[:, 1], normals[:, 0]))
    middle = low + width / 2
    edges = np.zeros(len(normals))
    edges[[first, last]] = 1.0
    length = np.sin(width / 2) / (width / 2) if width > 0 else 0.0
    mean = length * np.array([np.cos(middle), np.sin(middle)])
    return Region(width / (2 * np.pi), mean, edges)


def _polygon(normals: np.ndarray) -> Region:
    """Find each edge as an arc of its own great circle, then the area from the edges."""
    m = len(normals)
    edges, ends = np.zeros(m), np.zeros((m, 2, 3))
    for i, n in enumerate(normals):
        frame = np.linalg.svd(n[None])[2][1:]
        others = normals @ frame.T
        parallel = np.hypot(*others.T) < 1e-14
        if (parallel & (normals @ n < 0)).any() or parallel[:i].any():
            continue  # the region is empty, or the same wall was met before
        low, width, *_ = _common_arc(np.arctan2(others[~parallel, 1], others[~parallel, 0]))
        edges[i] = width
        turns = np.array([low, low + width])
        ends[i] = np.column_stack([np.cos(turns), np.sin(turns)]) @ frame
    total = edges @ normals
    if not total.any():
        return Region(0.0, total, edges)
    inside = total / np.linalg.norm(total)
    area = sum(_triangle(inside, *ends[i]) for i in np.flatnonzero(edges))
    return Region(area / (4 * np.pi), total / (2 * area), edges)


def _common_arc(centres: np.ndarray) -> tuple[float, float, int, int]:
    """Return start and width of the arc common to half circles, and the two that end it."""
    order = np.argsort(centres)
    around = np.append(centres[order], centres[order[0]] + 2 * np.pi)
    k = int(np.diff(around).argmax())
    # the centres occupy everything but this gap; half circles overlap if it exceeds half a turn
    last, first = order[k], order[(k + 1) % len(order)]
    width = float(around[k + 1] - around[k] - np.pi)
    return float(centres[last] - np.pi / 2), max(width, 0.0), int(first), int(last)


def _triangle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Area of a spherical triangle (Eriksson 1990)."""
    return float(2 * np.arctan2(abs(a @ np.cross(b, c)), 1 + a @ b + b @ c + c @ a))
