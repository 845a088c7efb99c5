"""Kernels of the distance between inputs: RBF, ARD, Matérn, rational quadratic, periodic."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.kernels._array import namespace, sqdist, vector
from bayeskern.kernels.base import Gradients, Kernel
from bayeskern.priors import Prior, parameter, read_parameter


class Stationary(Kernel):
    r"""A kernel :math:`g(d^2)` of the distance :math:`d^2 = \sum_k (x_k - z_k)^2 / \ell_k^2`.

    Subclasses have a field ``lengthscale`` (one for all inputs, or one each) and say the profile
    :math:`g` and its derivative.
    """

    lengthscale: Any
    scale_name: ClassVar[str] = "lengthscale"

    def profile(self, D: Any, xp: Any) -> Any:
        """The kernel as a function of the squared scaled distance."""
        raise TypeError(f"{type(self).__name__} does not say its profile")

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """Derivative of the profile; where it is infinite at zero, anything finite will do."""
        raise TypeError(f"{type(self).__name__} does not say the derivative of its profile")

    def shape_pullback(self, D: np.ndarray, G: np.ndarray) -> Gradients:
        """Gradient for parameters of the profile itself."""
        return {}

    def _scale(self) -> Any:
        return getattr(self, self.scale_name)

    def _parameters(self) -> list[Any]:
        return [getattr(self, field) for field in self._fields()]

    def _scaled(self, X: Any, xp: Any) -> Any:
        scale = vector(self._scale(), xp)
        if isinstance(scale, np.ndarray) and isinstance(X, np.ndarray) and len(scale) != X.shape[1]:
            raise ValueError(
                f"{self.scale_name} must have one entry per feature,"
                f" got {len(scale)} for {X.shape[1]} features"
            )
        return X / scale

    def gram(self, X: Any, Z: Any) -> Any:
        """Profile of the pairwise squared distances."""
        xp = namespace(X, Z, *self._parameters())
        A = self._scaled(X, xp)
        return self.profile(sqdist(A, A if Z is X else self._scaled(Z, xp), xp), xp)

    def diag(self, X: Any) -> Any:
        """Ones."""
        return namespace(X, *self._parameters()).ones(X.shape[0])

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """One weighted pass over the distances, whatever the number of length scales."""
        X = self.read(X)
        A = self._scaled(X, np)
        B = A if Z is None or Z is X else self._scaled(self.read(Z), np)
        D = sqdist(A, B, np)
        M = self.profile_slope(D)
        M *= G
        scale = np.asarray(self._scale(), dtype=float)
        if scale.ndim == 0:
            moments = np.vdot(M, D)
        else:
            moments = (A**2).T @ M.sum(axis=1) + (B**2).T @ M.sum(axis=0)
            moments -= 2.0 * np.einsum("ik,ik->k", A, M @ B)
        gradients = {f"{self.name}_{self.scale_name}": -2.0 * moments / scale}  # type: ignore[attr-defined]
        return gradients | self.shape_pullback(D, G)


@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    r"""Gaussian kernel, :math:`k(x, z) = \exp(-\|x - z\|^2 / 2\ell^2)`.

    Parameters
    ----------
    lengthscale : float, sequence of float or Prior, default=1.0
        The scale :math:`\ell > 0`, in the units of the inputs; several make an `ARD` kernel.
    name : str, default="rbf"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> RBF(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    lengthscale: float | tuple[float, ...] | Prior = parameter(1.0)
    name: str = "rbf"

    def __post_init__(self):
        value = read_parameter(self.lengthscale, "lengthscale", vector=True)
        object.__setattr__(self, "lengthscale", value)

    def profile(self, D: Any, xp: Any) -> Any:
        """exp(-d^2 / 2)."""
        if xp is not np:
            return xp.exp(-0.5 * D)
        D *= -0.5
        return np.exp(D, out=D)

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """-exp(-d^2 / 2) / 2."""
        return -0.5 * np.exp(-0.5 * D)
