"""Where kernel rows come from, and one call that solves a dual problem on them."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayeskern.classic import _smo
from bayeskern.errors import ConvergenceWarning, NotPSDError

CACHE_MB = 40.0  # a larger cache of rows made on demand costs more in fresh memory than it saves
GRAM_MB = 200.0  # below this the whole matrix of a kernel without a fast row is made at once
MAX_ITER = 10_000_000
_NOTHING = np.empty((0, 0), np.float32)


class Rows:
    """The rows of a kernel matrix, all at hand or made on demand under a memory budget.

    Parameters
    ----------
    K : ndarray of shape (n, n), optional
        The whole matrix.
    kernel : callable, optional
        ``kernel(X, Z)`` is a matrix; used with ``X`` when there is no ``K``.
    X : inputs, optional
        The points, an array or a list.
    cache_mb : float, optional
        Memory for rows made on demand, in megabytes.
    """

    def __init__(
        self,
        K: np.ndarray | None = None,
        *,
        kernel: Callable | None = None,
        X: Any = None,
        cache_mb: float = CACHE_MB,
    ):
        self.kernel, self.X, self.cache_mb = kernel, X, cache_mb
        scaled = None if K is not None else _scaled_inputs(kernel, X)
        n = len(X) if K is None else len(K)
        self.n = n
        self.S = _NOTHING
        if K is None and scaled is None and 8.0 * n * n <= GRAM_MB * 2**20:
            K = np.ascontiguousarray(kernel(X), dtype=float)  # type: ignore[misc]
        self.K = K
        if K is not None:
            self.source, self.rows = _smo.GRAM, K
            self.slot_of = np.arange(n)
            self.diagonal = np.diagonal(K).astype(float)
            slots = 0
        else:
            slots = int(min(n, max(2, cache_mb * 2**20 / (4 * n))))
            self.rows = np.empty((slots, n), np.float32)
            self.slot_of = np.full(n, -1)
            if scaled is None:
                self.source, self.diagonal = _smo.ASK, _diagonal(kernel, X)
            else:
                self.source, self.S, self.diagonal = _smo.RBF, scaled, np.ones(n)
        self.owner, self.stamp = np.full(slots, -1), np.zeros(slots, np.int64)
        self.clock = np.zeros(1, np.int64)

    def supply(self, i: int, F: np.ndarray) -> None:
        """Put row ``i`` into the cache, with the rows most likely to be asked for next."""
        others = np.flatnonzero(self.slot_of < 0)
        others = others[others != i]
        q = min(7, len(self.stamp) // 2, len(others))
        if q < len(others):
            others = others[np.argpartition(-np.abs(F[others]), q)[:q]]
        wanted = [*others, i]
        block = self.kernel(_take(self.X, wanted), self.X)  # type: ignore[misc]
        for k, row in zip(wanted, block, strict=True):
            self.rows[_smo.claim(k, self.slot_of, self.owner, self.stamp, self.clock)] = row

    def subset(self, index: np.ndarray) -> "Rows":
        """Return the rows of some of the points."""
        if self.K is not None:
            return Rows(np.ascontiguousarray(self.K[np.ix_(index, index)]))
        return Rows(kernel=self.kernel, X=_take(self.X, index), cache_mb=self.cache_mb)

    def times(self, beta: np.ndarray) -> np.ndarray:
        """Return ``K @ beta`` in double precision, whatever the solver worked with."""
        if self.K is not None:
            return self.K @ beta
        support = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        if not len(support):
            return np.zeros_like(beta)
        return expand(self.kernel, self.X, _take(self.X, support), beta[support])


class Optimum(NamedTuple):
    """Where the loop stopped: ``gradient`` is ``t - (K + c + D) beta``."""

    beta: np.ndarray
    gradient: np.ndarray
    violation: float
    n_iter: int
    converged: bool


def maximise(
    rows: Rows,
    t: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    *,
    coupled: bool,
    eps: float = 0.0,
    extra: np.ndarray | None = None,
    const: float = 0.0,
    segments: tuple[int, ...] | None = None,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    tol: float = 1e-3,
    max_iter: int = MAX_ITER,
) -> Optimum:
    """Maximise ``t'b - eps |b|_1 - b'(K + const + diag(extra)) b / 2`` over ``A <= b <= B``.

    With ``coupled``, the sum of ``b`` over each of the segments stays what it is at the start.
    """
    n = rows.n
    beta, F = (np.zeros(n), t.copy()) if start is None else (start[0].copy(), start[1].copy())
    extra = np.zeros(n) if extra is None else extra
    bounds = np.array(segments or (0, n))
    diagonal = (rows.diagonal + const + extra).astype(rows.rows.dtype)
    used = 0
    while True:
        reason, steps, violation, wanted = _smo.solve(
            F, beta, A, B, eps, diagonal, extra, const, bounds, coupled, tol, max_iter - used,
            rows.source, rows.S, rows.rows, rows.slot_of, rows.owner, rows.stamp, rows.clock,
        )  # fmt: skip
        used += steps
        if reason != _smo.WANT:
            break
        rows.supply(wanted, F)
    if reason == _smo.INDEFINITE:
        raise NotPSDError(
            f"the kernel matrix must be positive semidefinite, got a negative squared distance"
            f" from point {wanted}"
        )
    if reason == _smo.LIMIT:
        warnings.warn(
            f"stopped after max_iter={max_iter} steps with a violation of {violation:.3g},"
            f" above tol={tol:g}; raise max_iter",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Optimum(beta, F, violation, used, reason == _smo.DONE)


def expand(kernel: Any, X: Any, centres: Any, beta: np.ndarray, block: int = 256) -> np.ndarray:
    """Return ``kernel(X, centres) @ beta`` block by block, so that no large matrix is formed."""
    n = len(X)
    out = np.empty((n, *beta.shape[1:]))
    scale = _rbf_scale(kernel)
    if scale is None:
        step = max(1, block * 4096 // max(len(centres), 1))
        for s in range(0, n, step):
            out[s : s + step] = kernel(_take(X, slice(s, s + step)), centres) @ beta
        return out
    shift = centres.mean(axis=0)  # so that the squares below cancel as little as they can
    Z = ((centres - shift) / scale).T
    h = 0.5 * np.einsum("ij,ij->j", Z, Z)
    work = np.empty((block, len(beta)))
    for s in range(0, n, block):
        A = (X[s : s + block] - shift) / scale
        E = np.matmul(A, Z, out=work[: len(A)])
        E -= h
        E -= 0.5 * np.einsum("ij,ij->i", A, A)[:, None]
        np.minimum(E, 0.0, out=E)
        np.exp(E, out=E)
        out[s : s + block] = E @ beta
    return out


def _rbf_scale(kernel: Any) -> np.ndarray | None:
    """Length scales of a Gaussian kernel, or None for any other."""
    from bayeskern.kernels import RBF

    if type(kernel) is not RBF:
        return None
    scale = np.asarray(kernel.lengthscale)
    return scale if scale.dtype.kind == "f" else None


def _scaled_inputs(kernel: Any, X: Any) -> np.ndarray | None:
    scale = _rbf_scale(kernel)
    if scale is None:
        return None
    S = (X - X.mean(axis=0)) * (np.sqrt(0.5 * np.log2(np.e)) / scale)
    return np.ascontiguousarray(S.T, dtype=np.float32)


def _diagonal(kernel: Any, X: Any) -> np.ndarray:
    if hasattr(kernel, "diag"):
        return np.asarray(kernel.diag(X), dtype=float)
    points = (_take(X, [i]) for i in range(len(X)))
    return np.array([float(kernel(x, x)[0, 0]) for x in points])


def _take(X: Any, index: Any) -> Any:
    if isinstance(X, np.ndarray):
        return X[index]
    return X[index] if isinstance(index, slice) else [X[i] for i in index]
