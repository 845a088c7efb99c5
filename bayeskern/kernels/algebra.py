"""New kernels from old: exponential, normalised, centred.

Sums, products and powers are in `bayeskern.kernels.base`. With them these are the closure rules
of Herbrich (2002), theorem 2.20 and corollary 2.21; differences, negative multiples and
fractional powers of kernels are no kernels and are refused.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.kernels._array import FrozenArray, namespace
from bayeskern.kernels.base import Composite, Gradients, Kernel, add_gradients
from bayeskern.priors import Prior, parameter, read_parameter


class OfOne(Composite):
    """A kernel made of one other."""

    kernel: Kernel
    parts: ClassVar[tuple[str, ...]] = ("kernel",)


@dataclass(frozen=True, repr=False)
class Exp(OfOne):
    r"""The kernel :math:`\exp(k(x, z) / \sigma^2)`.

    Its normalised form is `FeatureRBF`, which cannot overflow.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    scale : float or Prior, default=1.0
        The scale :math:`\sigma > 0`.
    name : str, default="exp"
        Its variable is ``<name>_scale``.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> Linear().exp()([[0.0], [1.0]]).round(3)
    array([[1.   , 1.   ],
           [1.   , 2.718]])
    """

    kernel: Kernel
    scale: float | Prior = parameter(1.0)
    name: str = "exp"

    def __post_init__(self):
        object.__setattr__(self, "scale", read_parameter(self.scale, "scale"))

    def _exp(self, K: Any) -> Any:
        xp, scale = namespace(K, self.scale), self.scale
        with np.errstate(over="ignore"):
            E = xp.exp(K / scale**2)  # type: ignore[operator]
        if xp is np and not np.isfinite(E).all():
            raise ValueError(
                f"exp(k / scale**2) overflows at k = {K.max():.3g} with scale {scale:g};"
                " raise the scale or use FeatureRBF, its normalised form"
            )
        return E

    def gram(self, X: Any, Z: Any) -> Any:
        """Exponential of the Gram matrix."""
        return self._exp(self.kernel.gram(X, Z))

    def diag(self, X: Any) -> Any:
        """Exponential of the diagonal."""
        return self._exp(self.kernel.diag(X))

    def _pull(self, K: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, Gradients]:
        scale: Any = self.scale
        inner = G * self._exp(K) / scale**2
        return inner, {f"{self.name}_scale": -2.0 * np.vdot(inner, K) / scale}

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Pull ``G exp(k / s^2) / s^2`` back through the kernel."""
        X, Z = self.read_both(X, Z)
        inner, own = self._pull(self.kernel.gram(X, X if Z is None else Z), G)
        return add_gradients([own, self.kernel.pullback(X, inner, Z)])

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Pull ``g exp(k / s^2) / s^2`` back through the diagonal."""
        inner, own = self._pull(self.kernel.diag(X), g)
        return add_gradients([own, self.kernel.pullback_diag(X, inner)])


class _OfDiagonal(OfOne):
    """A kernel of ``k(x, z)``, ``k(x, x)`` and ``k(z, z)`` that is 1 on the diagonal."""

    def _diagonals(self, X: Any, Z: Any) -> tuple[Any, Any]:
        left = self.kernel.diag(X)
        return left, left if Z is X else self.kernel.diag(Z)

    def diag(self, X: Any) -> Any:
        """Ones."""
        d = self.kernel.diag(X)
        return namespace(d).ones(d.shape[0])

    def _push(self, X: Any, Z: Any, inner: np.ndarray, left: np.ndarray, right: np.ndarray):
        """Pull back through the three places where the kernel appears."""
        parts = [self.kernel.pullback(X, inner, Z), self.kernel.pullback_diag(X, left)]
        return [*parts, self.kernel.pullback_diag(X if Z is None else Z, right)]


def _unit_diagonal(K: Any, same: bool) -> Any:
    if same and isinstance(K, np.ndarray):
        np.fill_diagonal(K, 1.0)
    return K


@dataclass(frozen=True, repr=False)
class FeatureRBF(_OfDiagonal):
    r"""Gaussian kernel of distances in the feature space of another kernel.

    :math:`\exp(-(k(x, x) - 2 k(x, z) + k(z, z)) / 2\ell^2)`; on `Linear` this is `RBF`.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    lengthscale : float or Prior, default=1.0
        The scale :math:`\ell > 0`, in units of feature space.
    name : str, default="feature_rbf"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> FeatureRBF(Linear(), 2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    kernel: Kernel
    lengthscale: float | Prior = parameter(1.0)
    name: str = "feature_rbf"

    def __post_init__(self):
        object.__setattr__(self, "lengthscale", read_parameter(self.lengthscale, "lengthscale"))

    def _sqdist(self, X: Any, Z: Any) -> Any:
        left, right = self._diagonals(X, Z)
        D = left[:, None] + right[None, :] - 2.0 * self.kernel.gram(X, Z)
        return namespace(D).maximum(D, 0.0)

    def gram(self, X: Any, Z: Any) -> Any:
        """Gaussian of the distances in feature space."""
        D, ell = self._sqdist(X, Z), self.lengthscale
        xp = namespace(D, ell)
        return _unit_diagonal(xp.exp(-0.5 * D / ell**2), Z is X)  # type: ignore[operator]

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Through the kernel and its two diagonals."""
        X, Z = self.read_both(X, Z)
        D, ell = self._sqdist(X, X if Z is None else Z), self.lengthscale
        inner = G * np.exp(-0.5 * D / ell**2) / ell**2  # type: ignore[operator]
        own = {f"{self.name}_lengthscale": np.vdot(inner, D) / ell}
        sides = -0.5 * inner.sum(axis=1), -0.5 * inner.sum(axis=0)
        return add_gradients([own, *self._push(X, Z, inner, *sides)])

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Zeros: the diagonal is constant."""
        own = {f"{self.name}_lengthscale": 0.0}
        return add_gradients([own, self.kernel.pullback_diag(X, np.zeros(len(g)))])


@dataclass(frozen=True, repr=False)
class Normalised(_OfDiagonal):
    r"""The cosine in feature space, :math:`k(x, z) / \sqrt{k(x, x)\,k(z, z)}`.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`; an input with :math:`k(x, x) = 0` is refused.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> Linear().normalise()([[3.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    kernel: Kernel

    def _lengths(self, d: Any) -> Any:
        if isinstance(d, np.ndarray) and not (d > 0).all():
            i = int(np.argmax(~(d > 0)))
            raise ValueError(
                f"an input with k(x, x) = 0 cannot be normalised, got {d[i]:g} at index {i}"
            )
        return namespace(d).sqrt(d)

    def _sides(self, X: Any, Z: Any) -> tuple[Any, Any]:
        left, right = self._diagonals(X, Z)
        lengths = self._lengths(left)
        return lengths, lengths if right is left else self._lengths(right)

    def gram(self, X: Any, Z: Any) -> Any:
        """Gram matrix over the lengths of its rows and columns."""
        left, right = self._sides(X, Z)
        K = self.kernel.gram(X, Z) / (left[:, None] * right[None, :])
        K = namespace(K).clip(K, -1.0, 1.0)
        return _unit_diagonal(K, Z is X)

    def diag(self, X: Any) -> Any:
        """Ones, once all lengths are positive."""
        self._lengths(self.kernel.diag(X))
        return super().diag(X)

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Through the kernel and its two diagonals."""
        X, Z = self.read_both(X, Z)
        other = X if Z is None else Z
        left, right = self._sides(X, other)
        inner = G / (left[:, None] * right)
        M = inner * self.kernel.gram(X, other)
        sides = -0.5 * M.sum(axis=1) / left**2, -0.5 * M.sum(axis=0) / right**2
        return add_gradients(self._push(X, Z, inner, *sides))

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Zeros: the diagonal is constant."""
        return self.kernel.pullback_diag(X, np.zeros(len(g)))

    def features(self, X: Any) -> np.ndarray:
        """Features of length 1."""
        F = self.kernel.features(X)
        return F / self._lengths((F**2).sum(axis=1))[:, None]


@dataclass(frozen=True, repr=False)
class Centred(OfOne):
    r"""The kernel of features minus their mean over given inputs.

    :math:`k(x, z) - \bar k(x) - \bar k(z) + \bar{\bar k}`, where :math:`\bar k(x)` is the mean of
    :math:`k(x, t)` over the inputs :math:`t` it was centred on, so that new points are centred as
    the training points were.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    inputs : inputs
        The points whose mean feature is subtracted.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> Linear().centre([[1.0], [3.0]])([[1.0], [2.0], [3.0]])
    array([[ 1.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  1.]])
    """

    kernel: Kernel
    inputs: Any

    def __post_init__(self):
        inputs = self.inputs.array if isinstance(self.inputs, FrozenArray) else self.inputs
        inputs = self.kernel.read(inputs)
        kept = FrozenArray(inputs) if isinstance(inputs, np.ndarray) else tuple(inputs)
        object.__setattr__(self, "inputs", kept)

    def _reference(self) -> Any:
        return self.inputs.array if isinstance(self.inputs, FrozenArray) else self.inputs

    def _mean(self, X: Any) -> Any:
        return self.kernel(X, self._reference()).mean(axis=1)

    def gram(self, X: Any, Z: Any) -> Any:
        """Doubly centred Gram matrix."""
        left = self._mean(X)
        right = left if Z is X else self._mean(Z)
        shift = left[:, None] + right[None, :]
        return self.kernel.gram(X, Z) - (shift - self._mean(self._reference()).mean())

    def diag(self, X: Any) -> Any:
        """Squared distances from the mean feature."""
        middle = self._mean(self._reference()).mean()
        return self.kernel.diag(X) - 2.0 * self._mean(X) + middle

    def _pull_means(self, X: Any, weights: np.ndarray, total: float) -> list[Gradients]:
        T = self._reference()
        n = len(T)
        spread = np.repeat(weights[:, None] / n, n, axis=1)
        middle = self.kernel.pullback(T, np.full((n, n), total / n**2), T)
        return [self.kernel.pullback(X, spread, T), middle]

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Through the kernel, the two means and the mean of all."""
        X, Z = self.read_both(X, Z)
        if Z is None:
            parts = self._pull_means(X, -G.sum(axis=1) - G.sum(axis=0), G.sum())
        else:
            parts = self._pull_means(X, -G.sum(axis=1), G.sum())
            parts += self._pull_means(Z, -G.sum(axis=0), 0.0)
        return add_gradients([self.kernel.pullback(X, G, Z), *parts])

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Through the diagonal, the mean and the mean of all."""
        parts = self._pull_means(self.read(X), -2.0 * g, g.sum())
        return add_gradients([self.kernel.pullback_diag(X, g), *parts])

    def features(self, X: Any) -> np.ndarray:
        """Features minus their mean."""
        return self.kernel.features(X) - self.kernel.features(self._reference()).mean(axis=0)
