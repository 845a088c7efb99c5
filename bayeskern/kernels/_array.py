"""NumPy or PyTensor, by what the inputs are: one formula serves both."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from bayeskern.priors import Prior, is_tensor


def namespace(*values: Any) -> ModuleType:
    """Return ``pytensor.tensor`` if any value is a tensor, else ``numpy``."""
    for value in values:
        if isinstance(value, Prior):
            raise ValueError(
                f"a kernel with a free parameter has no numbers yet: give {value!r} a value"
                " with with_values, or sampled in a model with in_model"
            )
    if any(is_tensor(value) for value in values):
        import pytensor.tensor as pt

        return pt
    return np


def vector(value: Any) -> Any:
    """Return a parameter kept as a tuple as an array; leave numbers and tensors alone."""
    return np.asarray(value) if isinstance(value, tuple) else value


def apart(X: Any) -> Any:
    """Return the same inputs as another object: given twice, they are two sets."""
    if isinstance(X, np.ndarray):
        return X.view()
    return X.copy() if is_tensor(X) else tuple([*X])


def sqdist(X: Any, Z: Any, xp: ModuleType) -> Any:
    """Squared distances between rows, never negative; ``Z is X`` gives a zero diagonal."""
    centre = Z.mean(axis=0)  # large offsets would cancel digits in |x|^2 + |z|^2 - 2 x'z
    same = Z is X
    X = X - centre
    Z = X if same else Z - centre
    if xp is np:
        D = X @ Z.T  # of one matrix with itself, symmetric to the last bit
        xx = np.einsum("ij,ij->i", X, X)
        zz = xx if same else np.einsum("ij,ij->i", Z, Z)
        for rows in row_blocks(*D.shape):
            _finish_sqdist(D[rows], xx[rows], zz, rows.start if same else None)
        return D
    D = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :] - 2.0 * X @ Z.T
    D = xp.maximum(D, 0.0)
    return D * (1.0 - xp.eye(X.shape[0])) if same else D


def sqdist_blocks(
    X: np.ndarray, Z: np.ndarray, G: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Squared distances of centred inputs, some rows at a time, so that they stay in cache.

    Each block comes with its rows of ``X`` and of ``Z`` and its weights. If ``Z is X`` the pairs
    below the diagonal are left out and their weights added to those above.
    """
    xx, zz = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Z, Z)
    for rows in row_blocks(len(X), len(Z)):
        A, first = X[rows], rows.start if Z is X else 0
        D = A @ Z[first:].T
        _finish_sqdist(D, xx[rows], zz[first:], 0 if Z is X else None)
        weights = G[rows, first:]
        if Z is X:
            weights = weights + G[first:, rows].T
            weights[:, : len(A)] *= 0.5  # pairs within the block come twice
        yield A, Z[first:], D, weights


def row_blocks(n: int, m: int) -> Iterator[slice]:
    """Cut the rows of an n x m matrix into blocks of about half a megabyte."""
    step = max(1, 65536 // m)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _finish_sqdist(D: np.ndarray, xx: np.ndarray, zz: np.ndarray, diagonal: int | None) -> None:
    """Turn inner products into squared distances, in place."""
    D *= -2.0
    D += np.add.outer(xx, zz)  # in one step, so that D stays symmetric to the last bit
    np.maximum(D, 0.0, out=D)
    if diagonal is not None:
        np.fill_diagonal(D[:, diagonal:], 0.0)


def safe_sqrt(D: Any, xp: ModuleType) -> Any:
    """Square root whose PyTensor gradient at zero is zero instead of NaN."""
    if xp is np:
        return np.sqrt(D)
    positive = xp.gt(D, 0.0)
    return xp.where(positive, xp.sqrt(xp.where(positive, D, 1.0)), 0.0)


class FrozenArray:
    """An array inside a kernel: it compares by value, hashes, and prints as nested lists."""

    __slots__ = ("array",)

    def __init__(self, array: np.ndarray):
        array = np.array(array)
        array.setflags(write=False)
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    def __repr__(self) -> str:
        return repr(self.array.tolist())

    def __reduce__(self) -> tuple:
        return FrozenArray, (np.asarray(self.array),)
