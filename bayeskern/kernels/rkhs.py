"""Functions of a reproducing kernel Hilbert space, as finite kernel expansions."""

from typing import Any

import numpy as np

from bayeskern.checks import as_targets
from bayeskern.kernels.base import Kernel
from bayeskern.linalg import cholesky


class RKHSFunction:
    r"""The function :math:`f = \sum_i \alpha_i\, k(x_i, \cdot)` with its norm and inner products.

    Coefficients are not unique where the Gram matrix is singular; compare functions by
    :math:`\|f - g\|`, never by coefficients.

    Parameters
    ----------
    kernel : Kernel
        The kernel :math:`k`, without free parameters.
    X : inputs
        The centres :math:`x_i`.
    alpha : array of shape (n,)
        The coefficients.

    Examples
    --------
    >>> from bayeskern.kernels import Linear
    >>> f = RKHSFunction(Linear(), [[1.0], [2.0]], [1.0, 1.0])
    >>> f([[2.0]]), f.norm()
    (array([6.]), 3.0)
    """

    def __init__(self, kernel: Kernel, X: Any, alpha: Any):
        self.kernel, self.X = kernel, kernel.read(X)
        self.alpha = as_targets(alpha, len(self.X), "alpha")

    @classmethod
    def interpolate(cls, kernel: Kernel, X: Any, t: Any) -> "RKHSFunction":
        """The function of least norm with values ``t`` at ``X``."""
        X = kernel.read(X)
        return cls(kernel, X, cholesky(kernel(X)).solve(as_targets(t, len(X), "t")))

    def __call__(self, Z: Any) -> np.ndarray:
        """Values at the inputs ``Z``."""
        return self.kernel(Z, self.X) @ self.alpha

    def inner(self, other: "RKHSFunction") -> float:
        """Inner product with another function of the same space."""
        if other.kernel != self.kernel:
            raise ValueError(
                f"functions must belong to one kernel, got {self.kernel!r} and {other.kernel!r}"
            )
        return float(self.alpha @ self.kernel(self.X, other.X) @ other.alpha)

    def norm(self) -> float:
        """The norm; rounding below 0 counts as 0."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def project(self, X: Any) -> "RKHSFunction":
        """The nearest function with centres ``X``, which has the same values there."""
        return RKHSFunction.interpolate(self.kernel, X, self(X))

    def __add__(self, other: "RKHSFunction") -> "RKHSFunction":
        self.inner(other)  # refuses another kernel
        both: Any = [*self.X, *other.X]
        return RKHSFunction(self.kernel, both, np.concatenate([self.alpha, other.alpha]))

    def __mul__(self, factor: float) -> "RKHSFunction":
        return RKHSFunction(self.kernel, self.X, factor * self.alpha)

    __rmul__ = __mul__

    def __sub__(self, other: "RKHSFunction") -> "RKHSFunction":
        return self + (-1.0) * other
