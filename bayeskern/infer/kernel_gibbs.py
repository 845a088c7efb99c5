"""The kernel Gibbs sampler: hit and run on great circles, with label noise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import whole
from bayeskern.infer._cone_sampler import ConeSampler, gaussian_length


@dataclass(frozen=True)
class KernelGibbs(ConeSampler):
    r"""A point of a random great circle through the present one, drawn from the posterior there.

    On the circle :math:`w \cos\varphi + v \sin\varphi` point ``i`` is right on a half circle
    centred at :math:`\psi_i`, so :math:`2m` angles cut the circle into segments with a constant
    number :math:`e` of training errors, and the posterior with flip rate :math:`q` gives a segment
    its length times :math:`(q / (1 - q))^e` (Graepel and Herbrich 2001). It is the only sampler
    here that treats `LabelFlip`. Each move costs O(m log m).

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded draws of each chain, and how many chains.
    thin : int, default=1
        Moves for each kept draw.

    Notes
    -----
    Statistic ``n_errors`` counts the training errors of each draw.
    """

    tune: int = 200
    thin: int = 1

    label_noise: ClassVar[bool] = True
    least_rank: ClassVar[int] = 2

    def __post_init__(self):
        super().__post_init__()
        whole(self.thin, "thin", least=1)

    def _chain(self, problem: BayesPoint, rng: np.random.Generator):
        cone, q = problem.cone, problem.flip_rate
        if q == 0:
            z = cone.coordinates(cone.start)
        else:
            z = rng.standard_normal(cone.rank)
        z /= np.linalg.norm(z)
        A = np.ascontiguousarray(cone.A)
        with np.errstate(divide="ignore"):
            log_odds = float(np.log(q / (1 - q)))
        out = np.empty((self.draws, len(A)))
        errors = np.empty(self.draws, np.int64)
        n = self.tune + self.draws
        for start in range(0, n, 256):
            stop = min(start + 256, n)
            E = rng.standard_normal(((stop - start) * self.thin, cone.rank))
            uniforms = rng.random((len(E), 2))
            kept, wrong = circle_moves(z, A, E, E @ A.T, uniforms, log_odds, self.thin)
            skip = max(self.tune - start, 0)
            if skip < stop - start:
                part = slice(start + skip - self.tune, stop - self.tune)
                out[part], errors[part] = kept[skip:], wrong[skip:]
        return gaussian_length(rng, cone, out), {"n_errors": errors}


@njit(cache=True)
def circle_moves(z, A, E, V, uniforms, log_odds, thin):
    """Move ``z`` in place along circles through rows of ``E``; keep every ``thin``.

    ``V = E A'``. Returns the margins kept and their numbers of errors.
    """
    n, m = V.shape
    u = A @ z
    kept, wrong = np.empty((n // thin, m)), np.empty(n // thin, np.int64)
    for k in range(n):
        along = E[k] @ z
        length = np.sqrt(max(E[k] @ E[k] - along * along, 1e-300))
        e, v = (E[k] - along * z) / length, (V[k] - along * u) / length
        low, width, errors = choose_segment(u, v, uniforms[k, 0], log_odds)
        angle = low + width * uniforms[k, 1]
        cos, sin = np.cos(angle), np.sin(angle)
        z[:] = z * cos + e * sin
        z /= np.sqrt(z @ z)
        u = A @ z  # rounding errors of u cos + v sin would grow from move to move
        if (k + 1) % thin == 0:
            kept[k // thin], wrong[k // thin] = u, errors
    return kept, wrong


@njit(cache=True)
def choose_segment(u, v, uniform, log_odds):
    """Choose a segment of the circle by its weight; return its start, width and errors."""
    m = len(u)
    angles, steps = np.empty(2 * m), np.empty(2 * m, np.int64)
    for i in range(m):
        centre = np.arctan2(v[i], u[i])
        angles[2 * i] = (centre - np.pi / 2) % (2 * np.pi)  # point i becomes right
        angles[2 * i + 1] = (centre + np.pi / 2) % (2 * np.pi)  # point i becomes wrong
        steps[2 * i], steps[2 * i + 1] = -1, 1
    order = np.argsort(angles)
    starts, widths = angles[order], np.empty(2 * m)
    widths[:-1] = np.diff(starts)
    widths[-1] = starts[0] + 2 * np.pi - starts[-1]
    widest = int(np.argmax(widths))  # where rounding cannot spoil the count of errors
    middle = starts[widest] + 0.5 * widths[widest]
    errors = 0
    for i in range(m):
        if u[i] * np.cos(middle) + v[i] * np.sin(middle) <= 0:
            errors += 1
    counts = np.empty(2 * m, np.int64)
    counts[widest] = errors
    for step in range(1, 2 * m):
        k = (widest + step) % (2 * m)
        errors += steps[order[k]]
        counts[k] = errors
    least = counts[widths > 0].min()
    total = 0.0
    weights = np.empty(2 * m)
    for k in range(2 * m):
        if counts[k] == least:
            weights[k] = widths[k]
        else:
            weights[k] = widths[k] * np.exp(log_odds * (counts[k] - least))
        total += weights[k]
    level, k = uniform * total, 0
    while k < 2 * m - 1 and level >= weights[k]:
        level -= weights[k]
        k += 1
    while weights[k] == 0.0:
        k = (k + 2 * m - 1) % (2 * m)
    return starts[k], widths[k], counts[k]
