"""Kernels of a part or an image of the inputs: some columns, sums over them, a map."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_matrix, whole
from bayeskern.kernels.algebra import OfOne
from bayeskern.kernels.base import Gradients, Kernel, add_gradients, nonempty
from bayeskern.priors import is_tensor


def _read_columns(columns: Any, name: str = "columns") -> tuple[int, ...]:
    values = columns if isinstance(columns, list | tuple | range | np.ndarray) else (columns,)
    if len(values) == 0 or len(set(values)) < len(values):
        raise ValueError(f"{name} must be distinct and at least one, got {columns!r}")
    return tuple(whole(c, f"an entry of {name}") for c in values)


def _check_columns(X: Any, columns: tuple[int, ...]) -> Any:
    if is_tensor(X):
        return X
    X = as_matrix(X)
    if max(columns) >= X.shape[1]:
        raise ValueError(f"columns must exist, got {max(columns)} of {X.shape[1]} (counted from 0)")
    return X


class _OfColumns(OfOne):
    """A kernel added up over subsets of the columns."""

    def _subsets(self) -> tuple[tuple[int, ...], ...]:
        raise TypeError(f"{type(self).__name__} does not say its columns")

    def read(self, X: Any) -> Any:
        """Check that the inputs have the columns."""
        return _check_columns(X, tuple(c for s in self._subsets() for c in s))

    def gram(self, X: Any, Z: Any) -> Any:
        """Sum of the Gram matrices of the subsets."""
        total: Any = 0.0
        for columns in self._subsets():
            A = X[:, columns]
            total = total + self.kernel.gram(A, A if Z is X else Z[:, columns])
        return total

    def diag(self, X: Any) -> Any:
        """Sum of the diagonals of the subsets."""
        X = self.read(X)
        total: Any = 0.0
        for columns in self._subsets():
            total = total + self.kernel.diag(X[:, columns])
        return total

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Add the gradients of the subsets."""
        X, Z = self.read_both(X, Z)
        return add_gradients(
            self.kernel.pullback(X[:, s], G, None if Z is None else Z[:, s])
            for s in self._subsets()
        )

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Add the gradients of the subsets."""
        X = self.read(X)
        return add_gradients(self.kernel.pullback_diag(X[:, s], g) for s in self._subsets())

    def features(self, X: Any) -> np.ndarray:
        """Features of all subsets, side by side."""
        X = self.read(X)
        return np.hstack([self.kernel.features(X[:, s]) for s in self._subsets()])


@dataclass(frozen=True, repr=False)
class Additive(_OfColumns):
    r"""Sum of one kernel over subsets of the features, :math:`\sum_S k(x_S, z_S)`.

    The parameters are shared; for own parameters add kernels on columns,
    ``RBF(name="a").on(0) + RBF(name="b").on([1, 2])``.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    subsets : sequence of sequences of int
        The columns of each subset, counted from 0.

    Examples
    --------
    >>> from bayeskern.kernels import RBF
    >>> Additive(RBF(), ([0], [1]))([[0.0, 0.0], [0.0, 9.0]]).round(4)
    array([[2., 1.],
           [1., 2.]])
    """

    kernel: Kernel
    subsets: tuple[tuple[int, ...], ...]

    def __post_init__(self):
        if not isinstance(self.subsets, list | tuple) or not self.subsets:
            raise ValueError(f"subsets must be a sequence of columns, got {self.subsets!r}")
        subsets = tuple(_read_columns(s, "a subset") for s in self.subsets)
        object.__setattr__(self, "subsets", subsets)

    def _subsets(self) -> tuple[tuple[int, ...], ...]:
        return self.subsets


@dataclass(frozen=True, repr=False)
class Columns(_OfColumns):
    """A kernel of some columns of the inputs, most often made by ``kernel.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
        A kernel on vectors.
    columns : int or sequence of int
        The columns, counted from 0.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> Linear().on(1)([[5.0, 1.0], [7.0, 2.0]])
    array([[1., 2.],
           [2., 4.]])
    """

    kernel: Kernel
    columns: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "columns", _read_columns(self.columns))

    def _subsets(self) -> tuple[tuple[int, ...], ...]:
        return (self.columns,)


@dataclass(frozen=True, repr=False)
class Mapped(OfOne):
    r"""A kernel pulled back through a map, :math:`k(\phi(x), \phi(z))`.

    With `Linear` the map is an explicit feature map; a single real feature :math:`f` gives the
    kernel :math:`f(x) f(z)`.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    function : callable
        Takes all inputs at once and returns what the kernel reads, one row for each.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> Linear().through(np.square)([[1.0], [2.0]])
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    kernel: Kernel
    function: Callable[[Any], Any]

    def __post_init__(self):
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}")

    def read(self, X: Any) -> Any:
        """Read vectors as a matrix; leave strings and other objects to the map."""
        X = nonempty(X)
        if is_tensor(X) or isinstance(X[0], str) or np.asarray(X[0]).dtype == np.object_:
            return X
        return as_matrix(X)

    def _map(self, X: Any) -> Any:
        mapped = self.kernel.read(self.function(self.read(X)))
        if not is_tensor(mapped) and len(mapped) != len(X):
            raise ValueError(
                f"function must return one row per input, got {len(mapped)} for {len(X)} inputs"
            )
        return mapped

    def gram(self, X: Any, Z: Any) -> Any:
        """Gram matrix of the images."""
        A = self._map(X)
        return self.kernel.gram(A, A) if Z is X else self.kernel(A, self._map(Z))

    def diag(self, X: Any) -> Any:
        """Diagonal at the images."""
        return self.kernel.diag(self._map(X))

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Pull ``G`` back at the images."""
        return self.kernel.pullback(self._map(X), G, None if Z is None else self._map(Z))

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Pull ``g`` back at the images."""
        return self.kernel.pullback_diag(self._map(X), g)

    def features(self, X: Any) -> np.ndarray:
        """Features of the images."""
        return self.kernel.features(self._map(X))
