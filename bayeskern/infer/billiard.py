r"""Billiards in version space: a ball that flies on great circles and is reflected by the walls.

The plain billiard is deterministic and not ergodic in general: on three points it may lock on a
periodic orbit. Two remedies are here. The geodesic billiard redraws its direction at some bounces
by the cosine law (Knudsen), under which the uniform law stays invariant; a direction uniform over
the half space would favour flat angles too little and bias the centre. The kernel billiard of
Herbrich, Graepel and Campbell (2001) redraws it when a flight grows too long, and is biased.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.bayes.cone import Cone
from bayeskern.checks import one_of, positive, within
from bayeskern.infer._cone_sampler import ConeSampler, gather, gaussian_length


@dataclass(frozen=True)
class Billiard(ConeSampler):
    r"""Draws at equal arc lengths along the path of a billiard ball.

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded draws of each chain, and how many chains. One trajectory proves nothing:
        R-hat across chains is the diagnostic.
    law : {"cosine", "kernel", "plain"}
        Geodesic flights with a direction redrawn by the cosine law; the kernel billiard in dual
        variables, with straight flights; or geodesic flights that are never disturbed, which show
        why the others exist.
    refresh : float, default=0.1
        Probability of redrawing the direction at a bounce (cosine law).
    arc : float, default=1.0
        Arc length travelled for each draw.

    Notes
    -----
    Group ``fit`` holds, for each chain, ``alpha_line``: the coefficients of the mean direction
    along the whole path, an exact line integral, since an arc with chord :math:`\xi` and unit
    midpoint :math:`m` has :math:`\int b = \xi m`. The kernel billiard adds ``alpha_oplus``, the
    running mean of its authors, which depends on the order of the flights.
    """

    law: str = "cosine"
    refresh: float = 0.1
    arc: float = 1.0

    least_rank: ClassVar[int] = 2

    def __post_init__(self):
        super().__post_init__()
        one_of(self.law, "law", ("cosine", "kernel", "plain"))
        within(self.refresh, "refresh", 0, 1, closed="right")
        positive(self.arc, "arc")

    def _chain(self, problem: BayesPoint, rng: np.random.Generator):
        raise TypeError("a billiard makes its chains in _run")

    def _run(self, problem: BayesPoint, random_seed: Any) -> Any:
        cone = problem.cone
        rngs = np.random.default_rng(random_seed).spawn(self.chains)
        n = self.tune + self.draws
        margins, counts, lines = [], [], []
        pluses: list[Any] = []
        for rng in rngs:
            if self.law == "kernel":
                path = kernel_billiard(cone, rng, draws=n, arc=self.arc, skip=self.tune)
                pluses.append(path.alpha_oplus)
            else:
                refresh = self.refresh if self.law == "cosine" else 0.0
                path = geodesic_billiard(
                    cone, rng, draws=n, arc=self.arc, refresh=refresh, skip=self.tune
                )
            margins.append(gaussian_length(rng, cone, path.margins[self.tune :]))
            counts.append(path.n_bounces[self.tune :])
            lines.append(path.alpha_line)
        fit = {"alpha_line": np.stack(lines)}
        if pluses:
            fit["alpha_oplus"] = np.stack(pluses)
        return gather(
            problem,
            self,
            np.stack(margins),
            rngs[0],
            random_seed=random_seed,
            sample_stats={"n_bounces": np.stack(counts)},
            fit=fit,
            dims={name: ["chain", "obs"] for name in fit},
        )


@dataclass(frozen=True, eq=False)
class Path:
    """Where a billiard ball went.

    Attributes
    ----------
    margins : ndarray of shape (draws, m)
        Normalised margins at equal arc lengths, of points of the unit sphere.
    n_bounces : ndarray of shape (draws,)
        Bounces since the draw before.
    alpha_line : ndarray of shape (m,)
        Coefficients of the mean direction along the path.
    alpha_oplus : ndarray of shape (m,) or None
        Coefficients of the running mean of the kernel billiard, of unit length.
    n_refreshes : int
        How often the direction was redrawn.
    """

    margins: np.ndarray
    n_bounces: np.ndarray
    alpha_line: np.ndarray
    alpha_oplus: np.ndarray | None
    n_refreshes: int


def geodesic_billiard(
    cone: Cone,
    rng: np.random.Generator,
    *,
    draws: int,
    arc: float = 1.0,
    refresh: float = 0.1,
    skip: int = 0,
) -> Path:
    """Fly on great circles; the path's mean leaves out the first ``skip`` draws."""
    b = cone.coordinates(cone.start)
    b /= np.linalg.norm(b)
    A, S = np.ascontiguousarray(cone.A), np.ascontiguousarray(cone.S)
    margins, counts, total, refreshes = _geodesic(A, S, b, rng, draws, arc, refresh, skip)
    mean = total / (arc * (draws - skip))
    line = cone.dual_of_coordinates(mean[None])[0]
    return Path(margins, counts, line, None, refreshes)


def kernel_billiard(
    cone: Cone,
    rng: np.random.Generator,
    *,
    draws: int,
    arc: float = 1.0,
    longest: float = 1000.0,
    skip: int = 0,
) -> Path:
    r"""Fly straight in dual variables and project back to the sphere at each wall.

    Herbrich (2002), algorithm 10, with four corrections: coefficients are normalised by the square
    root of the quadratic form, new directions are isotropic in feature space and point inwards,
    the wall just left cannot be hit, and the mean is a line integral. ``longest`` is the flight
    after which the direction is redrawn.
    """
    S = np.ascontiguousarray(cone.S)
    to_unit = cone.signs / cone.scales
    directions = np.ascontiguousarray(
        (cone.dual_of_coordinates(np.eye(cone.rank)) / to_unit).T
    )  # its columns are orthonormal in feature space
    gamma = cone.dual(cone.start) / to_unit
    margins, counts, line, plus, refreshes = _straight(
        S, directions, gamma, rng, draws, arc, longest, skip
    )
    return Path(margins, counts, line * to_unit, plus * to_unit, refreshes)


@njit(cache=True)
def rho(p, mu):
    r"""Weights of :math:`s \oplus_\mu t`, the point of the arc from ``t`` to ``s`` at ``mu``.

    With :math:`p = \langle s, t \rangle`, the chord from ``t`` is the part ``mu`` of the whole.
    """
    if 1.0 + p < 1e-12:
        raise ValueError("opposite points have no arc between them")
    first = mu * np.sqrt((2.0 - mu * mu * (1.0 - p)) / (1.0 + p))
    return first, 1.0 - mu * mu * (1.0 - p) - first * p


@njit(cache=True)
def _next_wall(d, nu, left):
    """Return the wall met first on the way, which has the largest cotangent, and that number."""
    best, wall = -np.inf, -1
    for i in range(len(d)):
        if i != left:
            cot = -nu[i] / max(d[i], 1e-300)
            if cot > best:
                best, wall = cot, i
    return wall, best


@njit(cache=True)
def _cosine_law(A, b, wall, rng):
    """Draw a direction into the region at a wall: uniform ball in its plane, lifted."""
    r = len(b)
    normal = A[wall]
    v = rng.standard_normal(r)
    v -= (v @ b) * b
    v -= (v @ normal) * normal
    if r == 2:
        return normal.copy()
    radius = rng.random() ** (1.0 / (r - 2))
    v *= radius / np.sqrt(v @ v)
    return v + np.sqrt(1.0 - radius * radius) * normal


@njit(cache=True)
def _geodesic(A, S, b, rng, draws, arc, refresh, skip):
    m, r = A.shape
    v = rng.standard_normal(r)
    v -= (v @ b) * b
    v /= np.sqrt(v @ v)
    d, nu = A @ b, A @ v
    margins, counts = np.empty((draws, m)), np.zeros(draws, np.int64)
    total = np.zeros(r)
    k, left, to_go, refreshes = 0, -1, arc, 0
    while True:
        wall, cot = _next_wall(d, nu, left)
        flight = np.arctan2(1.0, cot)
        hit = flight < to_go
        angle = flight if hit else to_go
        cos, sin = np.cos(angle), np.sin(angle)
        if k >= skip:
            total += b * sin + v * (1.0 - cos)
        b, v = b * cos + v * sin, v * cos - b * sin
        d, nu = np.maximum(d * cos + nu * sin, 0.0), nu * cos - d * sin
        to_go -= angle
        if not hit:
            margins[k] = d
            k += 1
            to_go = arc
            if k == draws:
                return margins, counts, total, refreshes
            continue
        counts[k] += 1
        left = wall
        d[wall] = 0.0
        if refresh > 0.0 and rng.random() < refresh:
            refreshes += 1
            b -= (b @ A[wall]) * A[wall]
            b /= np.sqrt(b @ b)
            v = _cosine_law(A, b, wall, rng)
            d, nu = np.maximum(A @ b, 0.0), A @ v
            d[wall] = 0.0
        else:
            twice = 2.0 * nu[wall]
            v = v - twice * A[wall]
            nu = nu - twice * S[wall]
            along = v @ b  # rounding would let the pair drift from orthonormal
            v -= along * b
            scale, length = 1.0 / np.sqrt(v @ v), 1.0 / np.sqrt(b @ b)
            v *= scale
            nu = (nu - along * d) * scale
            b *= length
            d *= length


@njit(cache=True)
def _straight(S, directions, gamma, rng, draws, arc, longest, skip):
    m, r = directions.shape
    d = S @ gamma
    scale = 1.0 / np.sqrt(gamma @ d)
    gamma = gamma * scale
    d = d * scale
    beta = directions @ rng.standard_normal(r)
    nu = S @ beta
    beta /= np.sqrt(beta @ nu)
    nu = S @ beta
    line, plus, S_plus = np.zeros(m), np.zeros(m), np.zeros(m)
    margins, counts = np.empty((draws, m)), np.zeros(draws, np.int64)
    k, left, to_go, refreshes, chords, arcs = 0, -1, arc, 0, 0.0, 0.0
    while k < draws:
        wall, cot = _next_wall(d, nu, left)
        if cot <= 1.0 / longest:
            refreshes += 1
            d = np.maximum(S @ gamma, 0.0)  # free of the rounding errors of many flights
            if left >= 0:
                d[left] = 0.0
            beta = directions @ rng.standard_normal(r)
            nu = S @ beta
            length = np.sqrt(beta @ nu)
            if left >= 0 and nu[left] < 0:
                length = -length  # the opposite direction points inwards
            beta, nu = beta / length, nu / length
            continue
        flight = 1.0 / cot
        new, d_new = gamma + flight * beta, np.maximum(d + flight * nu, 0.0)
        d_new[wall] = 0.0
        scale = 1.0 / np.sqrt(new @ d_new)
        new, d_new = new * scale, d_new * scale
        cosine = min(max(gamma @ d_new, -1.0), 1.0)
        angle = np.arccos(cosine)
        chord = 2.0 * np.sin(angle / 2.0)
        zeta, d_zeta = gamma + new, d + d_new
        scale = 1.0 / np.sqrt(zeta @ d_zeta)
        zeta, d_zeta = zeta * scale, d_zeta * scale
        if k >= skip:
            line += chord * zeta
            arcs += angle
            first, second = 0.0, 1.0
            if chords > 0.0:
                first, second = rho(min(zeta @ S_plus, 1.0), chords / (chords + chord))
            plus, S_plus = first * plus + second * zeta, first * S_plus + second * d_zeta
            chords += chord
        done = 0.0
        while k < draws and angle - done > to_go:  # the draws on this arc
            done += to_go
            to_go = arc
            margins[k] = (np.sin(angle - done) * d + np.sin(done) * d_new) / np.sin(angle)
            k += 1
        to_go -= angle - done
        if k < draws:
            counts[k] += 1
        beta = beta.copy()
        beta[wall] -= 2.0 * nu[wall]
        nu = nu - 2.0 * nu[wall] * S[wall]
        gamma, d, left = new, d_new, wall
    return margins, counts, line / arcs, plus, refreshes
