r"""Gaussian vectors before and after Gaussian sites: the linear algebra of Laplace and EP.

A prior :math:`f \sim N(0, K)` meets sites of precision ``W`` (diagonal). All that follows is
written with

.. math:: B = I + W^{1/2} K W^{1/2}, \quad R = W^{1/2} B^{-1} W^{1/2} = (K + W^{-1})^{-1}, \quad
          \Sigma = (K^{-1} + W)^{-1} = K - K R K,

so ``K`` is never inverted and may be singular. `Dense` and `LowRank` are the two forms of a prior;
``prior.meet(W)`` is the posterior covariance in the same form.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas, get_lapack_funcs, lapack, solve_triangular

from bayeskern._symmetric import b_matrix, evidence_gradient, mirror
from bayeskern.errors import NotPSDError
from bayeskern.linalg import cho_solve, cholesky

STRONG = 1e-3  # above this value of W * K, dividing by W loses no more than three digits
SMALL = 1e-6  # below this value of W * K, posterior variances are computed from K directly


def as_prior(K: Any) -> Any:
    """Return a prior covariance as an object with ``times``, ``diag`` and ``meet``."""
    return Dense(K) if isinstance(K, np.ndarray) else K


class Dense:
    """A prior covariance held as a matrix."""

    def __init__(self, K: np.ndarray):
        self.K = np.ascontiguousarray(K)
        self.diag = np.diagonal(K)

    def times(self, v: np.ndarray) -> np.ndarray:
        """Multiply with a vector."""
        return blas.dsymv(1.0, self.K.T, v, lower=1)  # the transpose is a Fortran array

    def meet(self, W: np.ndarray) -> "DensePosterior":
        """Add sites of precision ``W``, some of which may be negative."""
        return IndefinitePosterior(self, W) if (W < 0).any() else DensePosterior(self, W)


class DensePosterior:
    """The covariance ``(K^-1 + W)^-1`` for non-negative ``W``."""

    def __init__(self, prior: Dense, W: np.ndarray):
        self.prior, self.W = prior, W
        self.root = np.sqrt(W)
        L, info = lapack.dpotrf(b_matrix(prior.K, self.root), lower=1, clean=0, overwrite_a=1)
        if info or not np.isfinite(L[-1, -1]):
            L = cholesky(mirror(b_matrix(prior.K, self.root)), name="I + W^1/2 K W^1/2").L
        self.L = L

    @property
    def logdet(self) -> float:
        """Log determinant of ``B``."""
        return 2.0 * float(np.log(np.diagonal(self.L)).sum())

    def shrink(self, v: np.ndarray) -> np.ndarray:
        """Multiply with ``R``."""
        z = blas.dtrsv(self.L, self.root * v, lower=1)
        return self.root * blas.dtrsv(self.L, z, lower=1, trans=1, overwrite_x=1)

    @cached_property
    def inverse(self) -> np.ndarray:
        """The lower triangle of the inverse of ``B``, in Fortran order."""
        inverse, _ = lapack.dpotri(self.L, lower=1)
        return inverse

    @property
    def R(self) -> np.ndarray:
        """The matrix ``(K + W^-1)^-1``."""
        return mirror(self.inverse) * self.root * self.root[:, None]

    @cached_property
    def var(self) -> np.ndarray:
        """Posterior variances, without the cancellation of ``K - K R K``."""
        if "inverse" in self.__dict__:
            shrunk = np.diagonal(self.inverse)
        else:
            inverse, _ = lapack.dtrtri(self.L, lower=1)
            shrunk = np.einsum("ij,ij->j", inverse, inverse)
        weak = np.flatnonzero(self.W * self.prior.diag < SMALL)
        with np.errstate(divide="ignore", invalid="ignore"):
            var = (1.0 - shrunk) / self.W
        if weak.size:
            V = self.half(self.prior.K[:, weak])
            var[weak] = self.prior.diag[weak] - np.einsum("ij,ij->j", V, V)
        return np.maximum(var, 0.0)

    def half(self, K_cross: np.ndarray) -> np.ndarray:
        """Return ``V`` with ``V'V = K_cross' R K_cross``."""
        scaled = self.root[:, None] * K_cross
        return solve_triangular(self.L, scaled, lower=True, check_finite=False)

    def reduction(self, K_cross: np.ndarray, *, full: bool) -> np.ndarray:
        """Return ``K_cross' R K_cross``, or its diagonal."""
        V = self.half(K_cross)
        return V.T @ V if full else np.einsum("ij,ij->j", V, V)

    @cached_property
    def cov(self) -> np.ndarray:
        """Posterior covariance."""
        if "inverse" in self.__dict__ and (self.W * self.prior.diag).min() > STRONG:
            # (W^-1/2 (I - B^-1) W^-1/2), without another product of matrices
            cov = mirror(self.inverse)
            cov *= -1.0 / self.root
            cov /= self.root[:, None]
            cov.flat[:: len(cov) + 1] += 1.0 / self.W
            return cov
        return self.prior.K - self.reduction(self.prior.K, full=True)

    def sample(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw vectors of mean zero, ``(draws, n)``."""
        return rng.standard_normal((draws, len(self.W))) @ self.sampler.T

    def sample_quickly(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw from the prior and correct it by a made-up observation (Matheron's rule)."""
        LK = cholesky(self.prior.K, name="the prior covariance").L
        u = LK @ rng.standard_normal((len(self.W), draws))
        seen = self.root[:, None] * u + rng.standard_normal(u.shape)
        z = cho_solve(self.L, seen)
        return (u - self.prior.K @ (self.root[:, None] * z)).T

    @cached_property
    def sampler(self) -> np.ndarray:
        """A factor of the posterior covariance."""
        try:
            return cholesky(self.cov, name="the posterior covariance").L
        except NotPSDError:  # nearly certain: what is left of K after K R K is rounding error
            values, vectors = np.linalg.eigh(self.cov)
            return vectors * np.sqrt(np.maximum(values, 0.0))

    def gradient(self, alpha: np.ndarray, implicit: np.ndarray | None = None) -> np.ndarray:
        """Return ``(alpha alpha' - R) / 2 + (u alpha' + alpha u') / 2`` with ``u = implicit``."""
        left = alpha if implicit is None else alpha + 2.0 * implicit
        return evidence_gradient(self.inverse, self.root, alpha, left)


class IndefinitePosterior(DensePosterior):
    """The same where some sites have negative precision, by an unsymmetric factorisation."""

    def __init__(self, prior: Dense, W: np.ndarray):
        self.prior, self.W = prior, W
        minus = np.flatnonzero(W < 0)
        root = np.sqrt(-W[minus])
        before = DensePosterior(prior, np.maximum(W, 0.0))
        cov = prior.K[np.ix_(minus, minus)] - before.reduction(prior.K[:, minus], full=True)
        _, info = lapack.dpotrf(np.eye(len(minus)) - cov * root * root[:, None], lower=1)
        if info:
            raise NotPSDError("sites of negative precision make the posterior improper")
        M = prior.K * W
        M.flat[:: len(W) + 1] += 1.0
        (getrf, getrs) = get_lapack_funcs(("getrf", "getrs"), (M,))
        lu, pivots, _ = getrf(M)
        self._logdet = float(np.log(np.abs(np.diagonal(lu))).sum())
        self.inverse, _ = getrs(lu, pivots, np.eye(len(W)))  # (I + K W)^-1

    def gradient(self, alpha: np.ndarray, implicit: np.ndarray | None = None) -> np.ndarray:
        """Return ``(alpha alpha' - R) / 2``, and the implicit part."""
        left = alpha if implicit is None else alpha + 2.0 * implicit
        return 0.25 * (np.outer(left, alpha) + np.outer(alpha, left)) - 0.5 * self.R

    @property
    def L(self) -> np.ndarray:  # type: ignore[override]
        """There is none."""
        raise ValueError("sites of negative precision have no Cholesky factor")

    @property
    def logdet(self) -> float:
        """Log determinant of ``I + K W``."""
        return self._logdet

    def shrink(self, v: np.ndarray) -> np.ndarray:
        """Multiply with ``R``."""
        return self.W * (self.inverse @ v)

    @property
    def R(self) -> np.ndarray:
        """The matrix ``W (I + K W)^-1``."""
        R = self.W[:, None] * self.inverse
        return (R + R.T) / 2

    @cached_property
    def var(self) -> np.ndarray:
        """Posterior variances."""
        return np.einsum("ij,ji->i", self.inverse, self.prior.K)

    def sample_quickly(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw as ever: there is no short cut."""
        return self.sample(rng, draws)

    def reduction(self, K_cross: np.ndarray, *, full: bool) -> np.ndarray:
        """Return ``K_cross' R K_cross``, or its diagonal."""
        RK = self.R @ K_cross
        return K_cross.T @ RK if full else np.einsum("ij,ij->j", K_cross, RK)


class LowRank:
    r"""The prior covariance :math:`V V' + \operatorname{diag}(d)`, in O(n r^2)."""

    def __init__(self, V: np.ndarray, d: np.ndarray):
        self.V, self.d = V, d
        self.diag = np.einsum("ij,ij->i", V, V) + d

    def times(self, v: np.ndarray) -> np.ndarray:
        """Multiply with a vector."""
        return self.V @ (self.V.T @ v) + self.d * v

    def meet(self, W: np.ndarray) -> "LowRankPosterior":
        """Add sites of non-negative precision ``W``."""
        return LowRankPosterior(self, W)


class LowRankPosterior:
    r"""The posterior covariance of `LowRank`.

    With :math:`E = W / (1 + W d)` it is :math:`R = E - E V (I + V' E V)^{-1} V' E`.
    """

    def __init__(self, prior: LowRank, W: np.ndarray):
        if (W < 0).any():
            raise NotPSDError("a low-rank prior needs sites of non-negative precision")
        self.prior, self.W = prior, W
        self.E = W / (1.0 + W * prior.d)
        EV = self.E[:, None] * prior.V
        inner = prior.V.T @ EV
        inner.flat[:: len(inner) + 1] += 1.0
        self.inner = cholesky(inner)

    @property
    def logdet(self) -> float:
        """Log determinant of ``B``."""
        return self.inner.logdet + float(np.log1p(self.W * self.prior.d).sum())

    @cached_property
    def half_rows(self) -> np.ndarray:
        """``S`` with ``R = E - S'S``, of shape (r, n)."""
        return self.inner.half_solve((self.E[:, None] * self.prior.V).T)

    def shrink(self, v: np.ndarray) -> np.ndarray:
        """Multiply with ``R``, a vector or a matrix."""
        if v.ndim == 1:
            return self.E * v - self.half_rows.T @ (self.half_rows @ v)
        return self.E[:, None] * v - self.half_rows.T @ (self.half_rows @ v)

    @cached_property
    def var(self) -> np.ndarray:
        """Posterior variances."""
        # Sigma = D/(1+WD) + P (I + V'EV)^-1 P' with P = V / (1 + W d)
        keep = 1.0 / (1.0 + self.W * self.prior.d)
        P = self.inner.half_solve((keep[:, None] * self.prior.V).T)
        return keep * self.prior.d + np.einsum("ij,ij->j", P, P)

    def reduction(self, K_cross: np.ndarray, *, full: bool) -> np.ndarray:
        """Return ``K_cross' R K_cross``, or its diagonal."""
        RK = self.shrink(K_cross)
        return K_cross.T @ RK if full else np.einsum("ij,ij->j", K_cross, RK)

    def sample(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw vectors of mean zero, ``(draws, n)``."""
        keep = 1.0 / (1.0 + self.W * self.prior.d)
        z = rng.standard_normal((draws, self.prior.V.shape[1]))
        low = solve_triangular(self.inner.L, z.T, lower=True, trans="T", check_finite=False)
        wide = rng.standard_normal((draws, len(self.W))) * np.sqrt(keep * self.prior.d)
        return (keep[:, None] * (self.prior.V @ low)).T + wide

    sample_quickly = sample

    @property
    def cov(self) -> np.ndarray:
        """Posterior covariance, as a full matrix."""
        K = self.prior.V @ self.prior.V.T
        K.flat[:: len(K) + 1] += self.prior.d
        return K - self.reduction(K, full=True)

    def gradient(self, alpha: np.ndarray, implicit: np.ndarray | None = None) -> "LowRankGradient":
        """Gradient of the log evidence with respect to the prior covariance."""
        return LowRankGradient(self, alpha, implicit)


class LowRankGradient:
    """The matrix ``(alpha alpha' - R + u alpha' + alpha u') / 2``, kept in parts."""

    def __init__(self, post: LowRankPosterior, alpha: np.ndarray, implicit: np.ndarray | None):
        self._post, self._alpha = post, alpha
        self._left = alpha if implicit is None else alpha + 2.0 * implicit

    @cached_property
    def diag(self) -> np.ndarray:
        """Diagonal."""
        S = self._post.half_rows
        R = self._post.E - np.einsum("ij,ij->j", S, S)
        return 0.5 * (self._left * self._alpha - R)

    def times(self, M: np.ndarray) -> np.ndarray:
        """Multiply with a matrix of n rows."""
        a, b = self._alpha, 0.5 * self._left
        product = np.outer(b, a @ M) + np.outer(a, b @ M)
        return 0.5 * (product - self._post.shrink(M))
