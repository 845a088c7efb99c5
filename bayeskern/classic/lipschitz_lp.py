r"""Linear programs of Lipschitz classifiers, solved by HiGHS with constraints made on demand."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from bayeskern.checks import as_array, as_labels, as_matrix, positive
from bayeskern.classic.dissimilarity import as_distances
from bayeskern.classic.lipschitz import LipschitzSolution

START_NEIGHBOURS = 3  # of the other class, per point
MAX_ROUNDS = 200


def _solve(what: str, **program: Any) -> Any:
    answer = linprog(method="highs", **program)
    if answer.status == 2:
        raise ValueError(f"the {what} has no solution: its constraints contradict each other")
    if not answer.success:
        raise RuntimeError(f"the {what} failed: {answer.message}")
    return answer


def solve_soft(D: np.ndarray, y: np.ndarray, C: float, tol: float) -> LipschitzSolution:
    """Solve the soft-margin program of `lipschitz_soft` on checked inputs."""
    n = len(y)
    plus, minus = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    between = D[np.ix_(plus, minus)]
    seen = _nearest_pairs(between, START_NEIGHBOURS)
    same = np.zeros((0, 2), dtype=int)  # ordered pairs of one class, for distances that need them
    cost = np.append(np.full(n, C), 1.0)
    bounds = [(0.0, 2.0)] * n + [(0.0, None)]
    for _ in range(MAX_ROUNDS):
        i, j = np.nonzero(seen)
        pairs = np.vstack([np.column_stack([plus[i], minus[j]]), same])
        answer = _solve("soft Lipschitz program", c=cost, bounds=bounds, **_rows(D, y, pairs))
        xi, rho = answer.x[:n], float(answer.x[n])
        # xi_i + xi_j + rho d_ij >= 2 is a_i - a_j <= rho d_ij for opposite labels
        lack = 2.0 - xi[plus, None] - xi[minus] - rho * between
        if lack.max() > tol * max(1.0, rho * float(between.max())):
            seen |= _nearest_pairs(-lack, 6) & (lack > tol)
            continue
        values = _metric_repair(D, y, xi, rho)
        steep = _steepest_pairs(D, values, rho, tol)
        if not len(steep):
            break
        new = {(int(a), int(b)) for a, b in steep} - {(int(a), int(b)) for a, b in same}
        if not new:
            break
        same = np.vstack([same, np.array(sorted(new))])
    else:
        raise RuntimeError(f"the soft Lipschitz program took more than {MAX_ROUNDS} rounds")
    constant = _constant(D, values)
    slack = np.maximum(0.0, 1.0 - y * values)
    objective = constant + C * float(slack.sum())
    gap = max(0.0, objective - float(answer.fun))
    return LipschitzSolution(values, constant, objective, slack, gap, len(pairs))


def _nearest_pairs(A: np.ndarray, k: int) -> np.ndarray:
    """Mask the ``k`` smallest entries of every row and every column."""
    mask = np.zeros(A.shape, dtype=bool)
    for axis in (0, 1):
        count = min(k, A.shape[axis])
        smallest = np.argpartition(A, count - 1, axis=axis).take(range(count), axis=axis)
        np.put_along_axis(mask, smallest, True, axis=axis)
    return mask


def _rows(D: np.ndarray, y: np.ndarray, pairs: np.ndarray) -> dict[str, Any]:
    """Constraints a_i - a_j <= rho d_ij with a = y (1 - xi), in the variables (xi, rho)."""
    i, j = pairs.T
    m, n = len(pairs), len(y)
    entries = np.column_stack([-y[i], y[j], -D[i, j]]).ravel()
    columns = np.column_stack([i, j, np.full(m, n)]).ravel()
    A = sparse.csr_array((entries, columns, np.arange(0, 3 * m + 1, 3)), shape=(m, n + 1))
    return {"A_ub": A, "b_ub": y[j] - y[i]}


def _metric_repair(D: np.ndarray, y: np.ndarray, xi: np.ndarray, rho: float) -> np.ndarray:
    """Make the values Lipschitz within the classes too, at no cost if the distances are a metric.

    The largest extension from the negative points is no smaller on the positive ones and no
    larger on the negative ones.
    """
    minus = y < 0
    raised = (xi[minus] - 1.0 + rho * D[:, minus]).min(axis=1)
    return np.clip(raised, -1.0, 1.0)


def _steepest_pairs(D: np.ndarray, a: np.ndarray, rho: float, tol: float) -> np.ndarray:
    """Ordered pairs that rise faster than ``rho``: for each point the worst one."""
    rise = a[:, None] - a - rho * D
    worst = rise.argmax(axis=1)
    excess = rise[np.arange(len(a)), worst]
    bad = np.flatnonzero(excess > 10 * tol * max(1.0, rho * float(D.max())))
    return np.column_stack([bad, worst[bad]])


def _constant(D: np.ndarray, a: np.ndarray) -> float:
    worst = 0.0
    for i in range(len(a)):
        rise, near = np.abs(a[i] - a), D[i] > 0
        if near.any():
            worst = max(worst, float((rise[near] / D[i, near]).max()))
    return worst


@dataclass(frozen=True)
class SpanSolution:
    """A classifier ``Phi @ coefficients + intercept``, with its objective and slacks."""

    coefficients: np.ndarray = field(repr=False)
    intercept: float
    objective: float
    slack: np.ndarray = field(repr=False)
    constant: float

    def decision(self, Phi: Any) -> np.ndarray:
        """Values at points whose basis functions are given."""
        return np.asarray(Phi) @ self.coefficients + self.intercept


def lp_machine(D: Any, y: Any, C: float | None = None) -> SpanSolution:
    r"""Find a sparse combination of distances, :math:`f(x) = \sum_i a_i d(x, x_i) + b`.

    .. math:: \min \sum_i |a_i| \; (+\, C \sum_j \xi_j) \quad \text{s.t. } y_j f(x_j) \ge 1
       \; (-\, \xi_j)

    Only a dissimilarity is needed. For a metric :math:`\sum |a_i|` bounds the Lipschitz constant,
    often loosely; ``constant`` is the exact one on the sample.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities, ``D[j, i]`` of points j and i.
    y : array of shape (n,)
        Labels -1 and +1.
    C : float, optional
        Price of a violation; none are allowed by default.

    Examples
    --------
    >>> x = np.array([0.0, 1, 3, 4])
    >>> lp_machine(np.abs(x[:, None] - x), [-1, -1, 1, 1]).objective
    1.0
    """
    D = as_array(D, "D", ndim=2)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"D must be square, got shape {D.shape}")
    n = len(D)
    y = as_labels(y, n)
    signed = y[:, None] * D
    A = np.hstack([-signed, signed, -y[:, None], -np.eye(n)])
    price = np.full(n, 0.0 if C is None else positive(C, "C"))
    limit = 0.0 if C is None else None
    try:
        answer = _solve(
            "program of distances",
            c=np.concatenate([np.ones(2 * n), [0.0], price]),
            A_ub=A,
            b_ub=-np.ones(n),
            bounds=[(0, None)] * (2 * n) + [(None, None)] + [(0, limit)] * n,
        )
    except ValueError:
        raise ValueError(
            "the classes are not separable in the span of the distance functions; give a C"
        ) from None
    a, b = answer.x[:n] - answer.x[n : 2 * n], float(answer.x[2 * n])
    return SpanSolution(a, b, float(answer.fun), answer.x[2 * n + 1 :], _constant(D, D @ a + b))


def lipschitz_subspace(
    Phi: Any, D: Any, y: Any, C: float | None = None, *, tol: float = 1e-9
) -> SpanSolution:
    r"""Lipschitz classifier among combinations of given functions, with the exact constant.

    .. math:: \min \rho \; (+\, C \sum_i \xi_i) \quad \text{s.t. } y_i f(x_i) \ge 1 \; (-\, \xi_i),
       \; |f(z) - f(z')| \le \rho \, d(z, z'), \qquad f = \sum_k a_k \phi_k + b

    Parameters
    ----------
    Phi : array of shape (m, p)
        Values of the functions at ``m`` points, the labelled ones first.
    D : array of shape (m, m)
        Distances of all ``m`` points. Unlabelled points matter: without them the constant may be
        larger off the sample.
    y : array of shape (n,), n <= m
        Labels of the first ``n`` points.
    C : float, optional
        Price of a violation; none are allowed by default.

    Examples
    --------
    >>> x = np.array([0.0, 1, 3, 4])
    >>> D = np.abs(x[:, None] - x)
    >>> round(lipschitz_subspace(x[:, None], D, [-1, -1, 1, 1]).objective, 9)
    1.0
    """
    Phi, D = as_matrix(Phi, "Phi"), as_distances(D)
    (m, p), y = Phi.shape, as_labels(y)
    n = len(y)
    if len(D) != m or n > m:
        raise ValueError(f"Phi, D and y must agree, got {m} rows, {len(D)} points and {n} labels")
    price = np.full(n, 0.0 if C is None else positive(C, "C"))
    cost = np.concatenate([np.zeros(p + 1), [1.0], price])
    bounds = [(None, None)] * (p + 1) + [(0, None)] + [(0, 0.0 if C is None else None)] * n
    labels = np.hstack([-y[:, None] * Phi[:n], -y[:, None], np.zeros((n, 1)), -np.eye(n)])
    seen = np.zeros((m, m), dtype=bool)
    seen[:n, :n] = _nearest_pairs(D[:n, :n] + 1e9 * np.equal.outer(y, y), START_NEIGHBOURS)
    np.fill_diagonal(seen, False)
    for _ in range(MAX_ROUNDS):
        i, j = np.nonzero(seen)
        slopes = np.hstack([Phi[i] - Phi[j], np.zeros((len(i), 1)), -D[i, j][:, None]])
        A = np.vstack([labels, np.hstack([slopes, np.zeros((len(i), n))])])
        b = np.concatenate([-np.ones(n), np.zeros(len(i))])
        answer = _solve("Lipschitz program of the span", c=cost, A_ub=A, b_ub=b, bounds=bounds)
        a, intercept, rho = answer.x[:p], float(answer.x[p]), float(answer.x[p + 1])
        f = Phi @ a
        steep = f[:, None] - f - rho * D
        bad = _nearest_pairs(-steep, 2) & (steep > tol * max(1.0, rho * float(D.max()))) & ~seen
        if not bad.any():
            break
        seen |= bad
    else:
        raise RuntimeError(f"the Lipschitz program of the span took more than {MAX_ROUNDS} rounds")
    return SpanSolution(a, intercept, float(answer.fun), answer.x[p + 2 :], rho)
