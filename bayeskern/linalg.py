"""Cholesky with a reported jitter, log determinants, low-rank updates.

All factors are lower triangular. Nothing here inverts a matrix in order to solve with it.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs, lapack, solve_triangular

from bayeskern.errors import NotPSDError

JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6)


class Factor(NamedTuple):
    """A Cholesky factor ``L`` of ``K + jitter * mean(diag K) * I``."""

    L: np.ndarray
    jitter: float

    @property
    def logdet(self) -> float:
        """Log determinant of the factored matrix."""
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solve ``(L L') x = b``."""
        return cho_solve(self.L, b)

    def half_solve(self, b: np.ndarray) -> np.ndarray:
        """Solve ``L x = b``."""
        return solve_triangular(self.L, b, lower=True, check_finite=False)


def cholesky(K: np.ndarray, *, name: str = "K", jitters: tuple[float, ...] = JITTERS) -> Factor:
    """Factor a positive semidefinite matrix, with the least jitter of the ladder that works.

    >>> cholesky(np.ones((2, 2))).jitter
    1e-12
    """
    scale = float(np.diagonal(K).mean())
    for jitter in jitters:
        A = np.array(K, order="F")
        if jitter:
            A.flat[:: len(A) + 1] += jitter * scale
        L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(L[-1, -1]):
            return Factor(L, jitter)
    raise NotPSDError(
        f"{name} could not be factored even with a jitter of {jitters[-1]:g} times its mean"
        f" diagonal {scale:.3g}: it is not positive semidefinite"
    )


def cho_solve(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve ``(L L') x = b`` for a vector or a matrix ``b``."""
    half = solve_triangular(L, b, lower=True, check_finite=False)
    return solve_triangular(L, half, lower=True, trans="T", check_finite=False)


def cho_inverse(L: np.ndarray) -> np.ndarray:
    """Return the full symmetric inverse of ``L L'`` (for traces and gradients, not for solving)."""
    (potri,) = get_lapack_funcs(("potri",), (L,))
    inverse, info = potri(L, lower=1)
    if info:
        raise NotPSDError(f"the Cholesky factor has a zero on its diagonal at {info - 1}")
    lower = np.tril(inverse)
    return lower + np.tril(lower, -1).T


def logdet(K: np.ndarray) -> float:
    """Log determinant of a positive definite matrix."""
    return cholesky(K).logdet


def rank_one_update(L: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the factor of ``L L' + x x'`` in O(n^2)."""
    L, x = L.copy(), np.array(x, dtype=float)
    for k in range(len(x)):
        r = np.hypot(L[k, k], x[k])
        c, s = r / L[k, k], x[k] / L[k, k]
        L[k, k] = r
        L[k + 1 :, k] = (L[k + 1 :, k] + s * x[k + 1 :]) / c
        x[k + 1 :] = c * x[k + 1 :] - s * L[k + 1 :, k]
    return L


class LowRankPlusDiagonal:
    """The matrix ``V V' + diag(d)`` with solves and log determinant in O(n r^2)."""

    def __init__(self, V: np.ndarray, d: np.ndarray):
        self.V, self.d = V, d
        self._scaled = V / np.sqrt(d)[:, None]
        self._inner = cholesky(np.eye(V.shape[1]) + self._scaled.T @ self._scaled)

    @property
    def logdet(self) -> float:
        """Log determinant."""
        return self._inner.logdet + float(np.log(self.d).sum())

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Solve with a vector or matrix, by the Woodbury identity."""
        d = self.d if b.ndim == 1 else self.d[:, None]
        return b / d - (self.V @ self._inner.solve(self.V.T @ (b / d))) / d

    def matmul(self, b: np.ndarray) -> np.ndarray:
        """Multiply with a vector or matrix."""
        return self.V @ (self.V.T @ b) + (self.d * b if b.ndim == 1 else self.d[:, None] * b)
