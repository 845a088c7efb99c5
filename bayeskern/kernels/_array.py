"""NumPy or PyTensor, by what the inputs are: one formula serves both."""

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


def vector(value: Any, xp: ModuleType) -> Any:
    """Return a parameter kept as a tuple as an array; leave numbers and tensors alone."""
    return np.asarray(value) if isinstance(value, tuple) else value


def sqdist(X: Any, Z: Any, xp: ModuleType) -> Any:
    """Squared distances between rows, never negative; ``Z is X`` gives a zero diagonal."""
    if xp is np:
        centre = Z.mean(axis=0)  # large offsets would cancel digits in |x|^2 + |z|^2 - 2 x'z
        same = Z is X
        X = X - centre
        Z = X if same else Z - centre
        xx = np.einsum("ij,ij->i", X, X)
        zz = xx if same else np.einsum("ij,ij->i", Z, Z)
        D = X @ Z.T
        D *= -2.0
        D += xx[:, None]
        D += zz
        np.maximum(D, 0.0, out=D)
        if same:
            np.fill_diagonal(D, 0.0)
        return D
    D = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :] - 2.0 * X @ Z.T
    return xp.maximum(D, 0.0)


def safe_sqrt(D: Any, xp: ModuleType) -> Any:
    """Square root whose PyTensor gradient at zero is zero instead of NaN."""
    if xp is np:
        return np.sqrt(D)
    positive = xp.gt(D, 0.0)
    return xp.where(positive, xp.sqrt(xp.where(positive, D, 1.0)), 0.0)
