"""Kernels with few features that stand in for those with many, when there are many inputs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from bayeskern.checks import whole
from bayeskern.kernels._array import FrozenArray, namespace
from bayeskern.kernels.algebra import OfOne
from bayeskern.kernels.base import Gradients, Kernel, add_gradients
from bayeskern.kernels.stationary import Stationary
from bayeskern.priors import Prior

JITTER = 1e-10


@dataclass(frozen=True, repr=False)
class Nystroem(OfOne):
    r"""Low-rank kernel through landmarks, :math:`k(x, L)\,k(L, L)^{-1}\,k(L, z)`.

    It is exact between landmarks, and never larger than the kernel itself on the diagonal. A
    jitter of 1e-10 times the mean of the diagonal of :math:`k(L, L)` keeps the inverse stable.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    landmarks : inputs
        The points :math:`L`, few and spread out, such as a random part of the data.

    Examples
    --------
    >>> from bayeskern.kernels import RBF
    >>> kernel = Nystroem(RBF(), [[0.0], [1.0], [2.0]])
    >>> kernel.features([[0.5], [1.0]]).shape
    (2, 3)
    >>> kernel([[1.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    kernel: Kernel
    landmarks: Any

    def __post_init__(self):
        landmarks = self.landmarks
        landmarks = landmarks.array if isinstance(landmarks, FrozenArray) else landmarks
        landmarks = self.kernel.read(landmarks)
        kept = FrozenArray(landmarks) if isinstance(landmarks, np.ndarray) else tuple(landmarks)
        object.__setattr__(self, "landmarks", kept)

    def _points(self) -> Any:
        return self.landmarks.array if isinstance(self.landmarks, FrozenArray) else self.landmarks

    def _root(self) -> Any:
        """Lower Cholesky factor of the Gram matrix of the landmarks."""
        K = self.kernel(self._points())
        m = len(self._points())
        xp = namespace(K)
        K = K + (JITTER * xp.diag(K).mean()) * np.eye(m)
        if xp is np:
            return np.linalg.cholesky(K)
        return xp.linalg.cholesky(K)

    def _features(self, X: Any, root: Any) -> Any:
        K = self.kernel(X, self._points())
        if namespace(K, root) is np:
            return solve_triangular(root, K.T, lower=True).T
        import pytensor.tensor as pt

        return pt.linalg.solve_triangular(root, pt.as_tensor(K).T, lower=True).T

    def features(self, X: Any) -> np.ndarray:
        """One feature per landmark."""
        return self._features(self.read(X), self._root())

    def gram(self, X: Any, Z: Any) -> Any:
        """Inner products of the features."""
        root = self._root()
        F = self._features(X, root)
        return F @ (F if Z is X else self._features(Z, root)).T

    def diag(self, X: Any) -> Any:
        """Squared lengths of the features."""
        return (self.features(X) ** 2).sum(axis=1)

    def _pull(self, X: Any, Z: Any, weigh: Any) -> Gradients:
        """Gradient of the sum of ``G * A B^-1 C'``, where ``weigh(M)`` is ``G M``."""
        L, root = self._points(), self._root()
        A = self._solve(root, X)
        C = A if Z is None else self._solve(root, Z)
        GC, GA = weigh(C, A)
        parts = [self.kernel.pullback(X, GC, L)]
        parts.append(self.kernel.pullback(X if Z is None else Z, GA, L))
        middle = A.T @ GC
        parts.append(self.kernel.pullback(L, -0.5 * (middle + middle.T)))
        return add_gradients(parts)

    def _solve(self, root: np.ndarray, X: Any) -> np.ndarray:
        """k(X, L) k(L, L)^-1."""
        return solve_triangular(root, self._features(X, root).T, lower=True, trans="T").T

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Through both outer factors and the inverse between them."""
        X, Z = self.read_both(X, Z)
        return self._pull(X, Z, lambda C, A: (G @ C, G.T @ A))

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """The same with a diagonal ``G``."""
        return self._pull(self.read(X), None, lambda C, A: (g[:, None] * C, g[:, None] * A))


@dataclass(frozen=True, repr=False)
class RandomFourier(OfOne):
    r"""Random cosines in place of a stationary kernel (Rahimi and Recht 2007).

    :math:`k(x, z) \approx \tfrac 1D \sum_j \cos(\omega_j^\top (x - z))` with frequencies drawn
    from the spectral density of the kernel; the error falls as :math:`1 / \sqrt D`.

    Parameters
    ----------
    kernel : RBF, ARD, Mahalanobis, Laplacian or Matern
        The kernel; its length scales may be inferred.
    draws : int, default=200
        The number :math:`D` of frequencies; there are twice as many features.
    seed : int, default=0
        Seed of the frequencies.

    Examples
    --------
    >>> from bayeskern.kernels import RBF
    >>> kernel = RandomFourier(RBF(), draws=5000)
    >>> kernel([[0.0], [1.0]]).round(1)
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    kernel: Stationary
    draws: int = 200
    seed: int = 0

    def __post_init__(self):
        if not isinstance(self.kernel, Stationary):
            raise ValueError(f"kernel must be a stationary kernel, got {self.kernel!r}")
        object.__setattr__(self, "draws", whole(self.draws, "draws", least=1))
        object.__setattr__(self, "seed", whole(self.seed, "seed"))
        self._frequencies(1)

    def _frequencies(self, d: int) -> np.ndarray:
        return self.kernel.frequencies(np.random.default_rng(self.seed), self.draws, d)

    def _dimension(self, X: Any) -> int:
        d = X.shape[1] if isinstance(X, np.ndarray) else X.type.shape[1]
        if d is None:
            raise ValueError("RandomFourier must know the number of features of a tensor")
        return d

    def _angles(self, X: Any) -> Any:
        return self.kernel.scaled(X) @ self._frequencies(self._dimension(X)).T

    def _features(self, X: Any) -> Any:
        scale: Any = self.kernel._scale()
        xp = namespace(X, scale)
        angles = self._angles(X)
        return xp.concatenate([xp.cos(angles), xp.sin(angles)], axis=1) / np.sqrt(self.draws)

    def features(self, X: Any) -> np.ndarray:
        """Cosines, then sines."""
        return self._features(self.read(X))

    def gram(self, X: Any, Z: Any) -> Any:
        """Inner products of the features."""
        F = self._features(X)
        return F @ (F if Z is X else self._features(Z)).T

    def diag(self, X: Any) -> Any:
        """Ones."""
        return self.kernel.diag(X)

    def _pull(self, X: np.ndarray, dF: np.ndarray) -> np.ndarray:
        """Gradient for the scales, by feature of the inputs."""
        W, angles = self._frequencies(X.shape[1]), self._angles(X)
        D = self.draws
        dA = np.cos(angles) * dF[:, D:] - np.sin(angles) * dF[:, :D]
        scale = np.asarray(self.kernel._scale())
        each = np.einsum("ik,ik->k", self.kernel.scaled(X), dA @ W) / (-scale * np.sqrt(D))
        return each if scale.ndim else each.sum()

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Through the angles of both sides."""
        if isinstance(self.kernel._scale(), Prior):
            namespace(self.kernel._scale())
        X, Z = self.read_both(X, Z)
        F = self._features(X)
        left = G @ (F if Z is None else self._features(Z))
        total = self._pull(X, left) + self._pull(X if Z is None else Z, G.T @ F)
        return {f"{self.kernel.name}_{self.kernel.scale_name}": total}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Zeros: the diagonal is constant."""
        return self.kernel.pullback_diag(X, g)
