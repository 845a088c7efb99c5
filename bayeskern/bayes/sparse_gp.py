"""Gaussian processes for many points: low-rank-plus-diagonal prior covariances."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from bayeskern.bayes.gp import GaussianProcess
from bayeskern.bayes.problem import Theta
from bayeskern.checks import whole
from bayeskern.covariance import LowRank
from bayeskern.kernels.base import Constant, Gradients, Kernel, Product, add_gradients
from bayeskern.kernels.stationary import Stationary
from bayeskern.likelihoods import Gaussian
from bayeskern.linalg import cholesky

NUGGET = 1e-8  # of the mean diagonal, added to the inducing points' Gram matrix


class _LowRankGP(GaussianProcess):
    """What sparse Gaussian processes share: conditional methods see a `LowRank` covariance."""

    def subset(self, index: np.ndarray) -> GaussianProcess:  # type: ignore[override]
        """Return the full Gaussian process of some observations, for starting values."""
        whole_process = GaussianProcess(self.X, self.y, self.kernel, self.likelihood)
        return whole_process.subset(index)

    def build(self) -> Any:
        """Refuse: PyMC models are written for the full process."""
        raise ValueError(
            f"{type(self).__name__} has no PyMC model; use GaussianProcess, or pm.gp's own"
            " sparse approximations"
        )

    build_whitened = build

    def _with_likelihood(self, theta: Theta, G: Any, kernel_part: Gradients) -> Gradients:
        gradients = dict(kernel_part)
        if self.likelihood.free():
            likelihood = self.likelihood_at(theta)
            prior: Any = self.prior_cov(theta)
            if isinstance(likelihood, Gaussian):
                pair = np.ones((1, 1)), np.array([[G.diag.sum()]])
            else:  # these depend on the covariance through its amplitude
                product = np.vdot(prior.V, G.times(prior.V)) + G.diag @ prior.d
                pair = np.array([[product]]), np.ones((1, 1))
            gradients |= likelihood.pullback(*pair)
        return {name: gradients[name] for name in self.free()}


@dataclass(frozen=True, eq=False)
class SparseGP(_LowRankGP):
    r"""A Gaussian process seen through inducing inputs (FITC).

    With :math:`Q = K_{nm} K_{mm}^{-1} K_{mn}` the prior covariance is
    :math:`Q + \operatorname{diag}(K - Q)`, exact when the inducing inputs are the inputs. `Exact`,
    `Laplace`, `EP` and `EvidenceMax` take O(n m^2) time and O(n m) memory.

    Parameters
    ----------
    X, y, kernel, likelihood
        As for `GaussianProcess`.
    inducing : int or array, default=200
        The inducing inputs, or their number: centres of k-means, or for inputs that are not
        numbers, some of the inputs.

    Examples
    --------
    >>> import bayeskern as bk
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> gp = SparseGP(X, np.sin(6 * X[:, 0]), bk.RBF(0.3), bk.Gaussian(0.1), inducing=10)
    >>> bk.Exact().at(gp, {}).mean.shape
    (50,)

    References
    ----------
    Snelson and Ghahramani (2006); Quiñonero-Candela and Rasmussen (2005).
    """

    inducing: Any = 200

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.inducing, int | np.integer):
            whole(self.inducing, "inducing", least=1)
        else:
            object.__setattr__(self, "inducing", self.kernel.read(self.inducing))

    @cached_property
    def Z(self) -> Any:
        """The inducing inputs."""
        if not isinstance(self.inducing, int | np.integer):
            return self.inducing
        number = min(self.inducing, len(self.y))
        if number == len(self.y):
            return self.X
        if not isinstance(self.X, np.ndarray):
            chosen = np.random.default_rng(0).choice(len(self.y), number, replace=False)
            return [self.X[i] for i in np.sort(chosen)]
        from sklearn.cluster import KMeans

        distinct = np.unique(self.X, axis=0)
        if len(distinct) <= number:
            return distinct
        return KMeans(number, n_init=1, max_iter=20, random_state=0).fit(self.X).cluster_centers_

    def _parts(self, theta: Theta) -> tuple[Kernel, np.ndarray, np.ndarray]:
        """Kernel, Cholesky factor of ``K_mm`` and ``V`` with ``Q = V V'``."""
        kernel = self.kernel_at(theta)
        Kmm = kernel(self.Z)
        Kmm.flat[:: len(Kmm) + 1] += NUGGET * np.diagonal(Kmm).mean()
        L = cholesky(Kmm, name="the Gram matrix of the inducing inputs").L
        Knm = kernel(self.X, self.Z)
        return kernel, L, solve_triangular(L, Knm.T, lower=True, check_finite=False).T

    def prior_cov(self, theta: Theta) -> LowRank:  # type: ignore[override]
        """Low-rank-plus-diagonal covariance."""
        kernel, _, V = self._parts(theta)
        d = np.maximum(kernel.diag(self.X) - np.einsum("ij,ij->i", V, V), 0.0)
        return LowRank(V, d)

    def cross_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Covariance with new inputs, through the inducing ones."""
        kernel, L, V = self._parts(theta)
        return V @ solve_triangular(L, kernel(self.Z, X_new), lower=True, check_finite=False)

    def pullback(self, theta: Theta, G: Any) -> Gradients:  # type: ignore[override]
        """Chain through ``K_nm``, ``K_mm`` and the diagonal, in O(n m^2)."""
        kernel, L, V = self._parts(theta)
        off = G.times(V) - G.diag[:, None] * V  # the diagonal of Q is corrected away
        half = solve_triangular(L, off.T, lower=True, trans="T", check_finite=False)
        inner = V.T @ off
        outer = solve_triangular(L, inner, lower=True, trans="T", check_finite=False)
        Gmm = -solve_triangular(L, outer.T, lower=True, trans="T", check_finite=False)
        Gmm = (Gmm + Gmm.T) / 2
        Gmm.flat[:: len(Gmm) + 1] += NUGGET * np.trace(Gmm) / len(Gmm)
        parts = [
            kernel.pullback(self.X, 2.0 * half.T, self.Z),
            kernel.pullback(self.Z, Gmm),
            kernel.pullback_diag(self.X, G.diag),
        ]
        return self._with_likelihood(theta, G, add_gradients(parts))


@dataclass(frozen=True, eq=False)
class FourierGP(_LowRankGP):
    r"""A linear model in random Fourier features that stands for a stationary kernel.

    With frequencies :math:`\omega_j` from the kernel's spectral density, the features
    :math:`\cos(\omega_j'x/\ell), \sin(\omega_j'x/\ell)` over :math:`\sqrt m` have inner products
    that tend to the kernel (Bochner; Rahimi and Recht 2007). The frequencies stay while the length
    scales move, so that the evidence is smooth.

    Parameters
    ----------
    X, y, kernel, likelihood
        As for `GaussianProcess`; the kernel is stationary with a spectral density, or an amplitude
        times one.
    frequencies : int, default=200
        Number of frequencies; there are twice as many features.
    seed : int, default=0
        Of the frequencies.

    Examples
    --------
    >>> import bayeskern as bk
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> gp = FourierGP(X, np.sin(6 * X[:, 0]), bk.RBF(0.3), bk.Gaussian(0.1), frequencies=20)
    >>> gp.prior_cov({}).V.shape
    (50, 40)
    """

    frequencies: int = 200
    seed: int = 0

    def __post_init__(self):
        super().__post_init__()
        whole(self.frequencies, "frequencies", least=1)
        kernel = self.kernel
        amplitude = kernel.left if isinstance(kernel, Product) else None
        shape = kernel.right if isinstance(kernel, Product) else kernel
        scaled = amplitude is None or isinstance(amplitude, Constant)
        if not (scaled and isinstance(shape, Stationary)):
            raise ValueError(
                "FourierGP needs a stationary kernel, or an amplitude times one, got"
                f" {self.kernel!r}"
            )
        self._omega  # noqa: B018  so that a kernel without a spectral density is refused here

    @cached_property
    def _omega(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        shape = self.kernel.right if isinstance(self.kernel, Product) else self.kernel
        return shape.frequencies(rng, self.frequencies, self.X.shape[1])  # type: ignore[attr-defined]

    def _shape_and_value(self, theta: Theta) -> tuple[Any, float, str | None]:
        kernel = self.kernel_at(theta)
        if isinstance(kernel, Product):
            return kernel.right, float(kernel.left.value), f"{kernel.left.name}_value"  # type: ignore[attr-defined]
        return kernel, 1.0, None

    def _features(self, theta: Theta, X: np.ndarray) -> np.ndarray:
        shape, value, _ = self._shape_and_value(theta)
        angle = shape.scaled(X) @ self._omega.T
        return np.sqrt(value / self.frequencies) * np.hstack([np.cos(angle), np.sin(angle)])

    def prior_cov(self, theta: Theta) -> LowRank:  # type: ignore[override]
        """Inner products of the features."""
        return LowRank(self._features(theta, self.X), np.zeros(len(self.y)))

    def cross_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Inner products with the features of new inputs."""
        return self._features(theta, self.X) @ self._features(theta, self.kernel.read(X_new)).T

    def new_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Inner products of the features of new inputs."""
        F = self._features(theta, self.kernel.read(X_new))
        return F @ F.T

    def pullback(self, theta: Theta, G: Any) -> Gradients:  # type: ignore[override]
        """Chain through the angles of the features."""
        shape, value, amplitude = self._shape_and_value(theta)
        V, m = self._features(theta, self.X), self.frequencies
        GV = G.times(V)
        slope = 2.0 * (GV[:, m:] * V[:, :m] - GV[:, :m] * V[:, m:])  # for the angles
        scale = np.asarray(shape._scale(), dtype=float)
        each = -np.einsum("ik,ik->k", shape.scaled(self.X), slope @ self._omega)
        by_scale = each / scale if scale.ndim else each.sum() / scale
        gradients: Gradients = {f"{shape.name}_{shape.scale_name}": by_scale}
        if amplitude is not None:
            gradients[amplitude] = np.vdot(V, GV) / value
        missing = set(self.kernel.free()) - set(gradients)
        if missing:
            raise ValueError(f"FourierGP cannot infer {min(missing)}; give it a value")
        return self._with_likelihood(theta, G, gradients)
