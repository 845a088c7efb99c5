r"""Moving mass in a metric space: the dual side of Lipschitz functions.

By duality the largest :math:`\sum_x m(x) f(x)` over functions of Lipschitz constant one is the
least cost of moving the positive part of ``m`` onto the negative one (Kantorovich and Rubinstein).
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog

from bayeskern.checks import as_array, positive, whole
from bayeskern.classic.dissimilarity import as_distances

ENUMERATE = 12  # points up to which all sign vectors are visited


def matching_cost(cross: Any) -> float:
    """Return the least cost of matching the smaller of two point sets into the larger.

    >>> matching_cost([[1.0, 2.0], [2.0, 5.0]])
    4.0
    """
    cross = as_array(cross, "cross", ndim=2)
    return float(cross[linear_sum_assignment(cross)].sum())


def arens_eells(D: Any, mass: Any, *, diameter: float | None = None) -> float:
    r"""Arens-Eells norm of a signed mass: what it costs to move the positive part to the negative.

    Parameters
    ----------
    D : array of shape (n, n)
        Distances.
    mass : array of shape (n,)
        Signed masses. They must sum to zero unless ``diameter`` is given.
    diameter : float, optional
        Adds a base point at this distance from all others, which takes up what is left over; the
        dual norm is then :math:`\|f\|_L \le 1`.

    Examples
    --------
    >>> arens_eells([[0, 3], [3, 0]], [2.0, -2.0])
    6.0
    """
    D, m = as_distances(D), as_array(mass, "mass", ndim=1)
    if len(m) != len(D):
        raise ValueError(f"mass must have one entry per point, got {len(m)} for {len(D)} points")
    if diameter is not None:
        m = np.append(m, -m.sum())
        D = np.pad(D, (0, 1), constant_values=positive(diameter, "diameter"))
        D[-1, -1] = 0.0
    elif abs(m.sum()) > 1e-9 * max(1.0, float(np.abs(m).max())):
        raise ValueError(f"mass must sum to zero, got {m.sum():.6g}; or give a diameter")
    give, take = np.flatnonzero(m > 0), np.flatnonzero(m < 0)
    if not len(give) or not len(take):
        return 0.0
    rows = np.kron(np.eye(len(give)), np.ones(len(take)))
    columns = np.kron(np.ones(len(give)), np.eye(len(take)))
    answer = linprog(
        D[np.ix_(give, take)].ravel(),
        A_eq=np.vstack([rows, columns[:-1]]),  # one equation follows from the others
        b_eq=np.concatenate([m[give], -m[take][:-1]]),
    )
    if not answer.success:
        raise RuntimeError(f"the transport program failed: {answer.message}")
    return float(answer.fun)


@dataclass(frozen=True)
class RademacherAverage:
    """An average over random signs and its Monte Carlo error, zero if all signs were visited."""

    value: float
    error: float


def lipschitz_rademacher(
    D: Any,
    *,
    diameter: float | None = None,
    draws: int = 200,
    random_state: int | None = 0,
) -> RademacherAverage:
    r"""Empirical Rademacher average of the unit ball :math:`\|f\|_L \le 1`.

    .. math:: \hat R_n = \frac1n E_\sigma \sup_{\|f\|_L \le 1} \Bigl|\sum_i \sigma_i f(x_i)\Bigr|

    For given signs the supremum is the least cost of matching the points of sign +1 to those of
    sign -1, each one left over paying the diameter: an assignment problem. All signs are visited
    for up to 12 points.

    Examples
    --------
    >>> x = np.array([0.0, 1, 3])
    >>> round(lipschitz_rademacher(np.abs(x[:, None] - x)).value, 6)  # 11/6
    1.833333
    """
    D = as_distances(D)
    n = len(D)
    diam = float(D.max()) if diameter is None else positive(diameter, "diameter")
    if n <= ENUMERATE:
        signs: Any = (np.array((1, *rest)) for rest in product((1, -1), repeat=n - 1))
    else:
        rng = np.random.default_rng(random_state)
        signs = rng.choice([-1, 1], (whole(draws, "draws", least=2), n))
    costs = np.array([_signed_cost(D, sigma, diam) for sigma in signs]) / n
    error = 0.0 if n <= ENUMERATE else float(costs.std(ddof=1) / np.sqrt(len(costs)))
    return RademacherAverage(float(costs.mean()), error)


def _signed_cost(D: np.ndarray, sigma: np.ndarray, diam: float) -> float:
    plus, minus = sigma > 0, sigma < 0
    alone = abs(int(plus.sum()) - int(minus.sum())) * diam
    return alone + (matching_cost(D[np.ix_(plus, minus)]) if plus.any() and minus.any() else 0.0)
