"""What estimators read: numbers, strings for a string kernel, or a precomputed Gram matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from bayeskern.checks import as_array, as_gram
from bayeskern.kernels.base import Kernel


def is_text(X: Any) -> bool:
    """Tell a list of strings or of token sequences from a table of numbers."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "UO" and len(X) > 0 and isinstance(X[0], str)
    if not isinstance(X, list | tuple) or not X:
        return False
    first = X[0]
    return isinstance(first, str) or (
        isinstance(first, list | tuple) and len(first) > 0 and isinstance(first[0], str)
    )


def read_inputs(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check inputs as scikit-learn would, and leave strings to a kernel that reads them."""
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, Kernel) and is_text(X):
        return list(X)
    return validate_data(estimator, X, reset=reset, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """New objects known by their kernel with the training objects, and with themselves."""

    cross: np.ndarray
    diag: np.ndarray

    def __len__(self) -> int:
        return len(self.cross)


@dataclass(frozen=True, eq=False, repr=False)
class Given(Kernel):
    """A Gram matrix as a kernel: ``None`` stands for the training objects, `Rows` for new ones."""

    matrix: np.ndarray

    @classmethod
    def read_gram(cls, K: Any) -> "Given":
        """Check a precomputed Gram matrix."""
        return cls(as_gram(K, "the precomputed X", psd=True))

    def read(self, X: Any) -> Any:
        """Accept what `inputs` or `rows` made."""
        return X

    def inputs(self) -> range:
        """The training objects."""
        return range(len(self.matrix))

    def rows(self, K_cross: Any, diag: Any = None) -> Rows:
        """Check the kernel of new objects with the training objects, ``(m, n)``.

        Their own ``diag`` may be left out if the training objects all have the same.
        """
        cross = as_array(K_cross, "the precomputed X", ndim=2)
        if cross.shape[1] != len(self.matrix):
            raise ValueError(
                f"the precomputed X must have one column per training object, got"
                f" {cross.shape[1]} for {len(self.matrix)}"
            )
        if diag is None:
            own = np.diagonal(self.matrix)
            if np.ptp(own) > 1e-8 * own.max():
                raise ValueError(
                    "a precomputed kernel needs diag=, its values k(x, x) at the new objects, since"
                    f" those of the training objects differ (from {own.min():.3g} to"
                    f" {own.max():.3g})"
                )
            diag = np.full(len(cross), own.mean())
        return Rows(cross, as_array(diag, "diag", ndim=1))

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Given entries."""
        if isinstance(Z, Rows):
            return Z.cross[:, list(X)].T
        return self.matrix[np.ix_(list(X), list(Z))]

    def diag(self, X: Any) -> np.ndarray:
        """Given diagonal."""
        return X.diag if isinstance(X, Rows) else np.diagonal(self.matrix)[list(X)]

    def __repr__(self) -> str:
        return f"Given(<{len(self.matrix)} objects>)"
