"""A kernel known only through its matrix on finitely many objects."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_array, as_gram
from bayeskern.kernels._array import FrozenArray
from bayeskern.kernels.base import Kernel
from bayeskern.kernels.mercer import mercer_map


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    r"""A Gram matrix as a kernel on indices, :math:`k(i, j) = K_{ij}`.

    The inputs are whole numbers that count the objects from 0, as a vector or as a matrix with
    one column. A matrix that is not symmetric and positive semidefinite is refused.

    Parameters
    ----------
    matrix : array of shape (n, n)
        The Gram matrix :math:`K`.

    Examples
    --------
    >>> kernel = Precomputed([[2.0, 1.0], [1.0, 2.0]])
    >>> kernel([0, 1, 1])
    array([[2., 1., 1.],
           [1., 2., 2.],
           [1., 2., 2.]])
    """

    matrix: Any

    def __post_init__(self):
        if not isinstance(self.matrix, FrozenArray):
            matrix = FrozenArray(as_gram(self.matrix, "matrix", psd=True))
            object.__setattr__(self, "matrix", matrix)

    @property
    def inputs(self) -> np.ndarray:
        """All objects, as inputs: a column of indices."""
        return np.arange(len(self.matrix.array), dtype=float)[:, None]

    def read(self, X: Any) -> np.ndarray:
        """Read indices, as a vector or a column."""
        array = as_array(X, "X")
        if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1) or array.ndim == 0:
            raise ValueError(f"X must be a vector or a column of indices, got shape {array.shape}")
        array = array.reshape(-1)
        index, n = array.astype(int), len(self.matrix.array)
        odd = array[(index != array) | (index < 0) | (index >= n)]
        if odd.size:
            raise ValueError(f"X must hold indices from 0 to {n - 1}, got {odd[0]:g}")
        return array

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Entries of the matrix."""
        return self.matrix.array[np.ix_(X.astype(int), Z.astype(int))]

    def diag(self, X: Any) -> np.ndarray:
        """Diagonal entries of the matrix."""
        return np.diagonal(self.matrix.array)[self.read(X).astype(int)]

    def features(self, X: Any) -> np.ndarray:
        """Rows of the Mercer map of the matrix."""
        return mercer_map(self.matrix.array)[self.read(X).astype(int)]
