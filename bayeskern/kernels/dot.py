"""Kernels of the inner product: linear and polynomial, with their explicit features."""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial
from typing import Any

import numpy as np

from bayeskern.checks import whole
from bayeskern.kernels._array import namespace, vector
from bayeskern.kernels.base import Gradients, Kernel
from bayeskern.priors import Prior, parameter, read_parameter


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    r"""Inner product, :math:`k(x, z) = \sum_k s_k x_k z_k`.

    There is no offset; ``Linear() + 1.0`` has one. On indicator vectors of sets, :math:`s` is a
    measure and the kernel that of the intersection.

    Parameters
    ----------
    variance : float, sequence of float or Prior, default=1.0
        The prior variance :math:`s > 0` of the weights, one for all inputs or one each.
    name : str, default="linear"
        Its variable is ``<name>_variance``.

    Examples
    --------
    >>> Linear()([[1.0, 2.0], [3.0, -1.0]])
    array([[ 5.,  1.],
           [ 1., 10.]])
    """

    variance: float | tuple[float, ...] | Prior = parameter(1.0)
    name: str = "linear"

    def __post_init__(self):
        value = read_parameter(self.variance, "variance", vector=True)
        object.__setattr__(self, "variance", value)

    def _weights(self, X: Any) -> Any:
        weights = vector(self.variance)
        if isinstance(weights, np.ndarray) and isinstance(X, np.ndarray):
            if len(weights) != X.shape[1]:
                raise ValueError(
                    f"variance must have one entry per feature,"
                    f" got {len(weights)} for {X.shape[1]} features"
                )
        return weights

    def gram(self, X: Any, Z: Any) -> Any:
        """Weighted inner products."""
        sqrt = namespace(self.variance).sqrt
        A = X * sqrt(self._weights(X))
        return A @ (A if Z is X else Z * sqrt(self._weights(Z))).T

    def diag(self, X: Any) -> Any:
        """Weighted squared lengths."""
        namespace(self.variance)
        X = self.read(X)
        return (self._weights(X) * X**2).sum(axis=1)

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Weighted inner products of the columns."""
        X, Z = self.read_both(X, Z)
        each = np.einsum("ik,ik->k", X, G @ (X if Z is None else Z))
        return {f"{self.name}_variance": self._each_or_all(each)}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Weighted squared columns."""
        return {f"{self.name}_variance": self._each_or_all(g @ self.read(X) ** 2)}

    def _each_or_all(self, each: np.ndarray) -> Any:
        return each if isinstance(self.variance, tuple) else each.sum()

    def features(self, X: Any) -> np.ndarray:
        """The inputs themselves, weighted."""
        namespace(self.variance)
        X = self.read(X)
        return X * np.sqrt(self._weights(X))


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    r"""Polynomial kernel, :math:`k(x, z) = (\langle x, z\rangle + c)^p`.

    Without an offset it is homogeneous: its features are all :math:`\binom{N+p-1}{p}` monomials of
    degree :math:`p` of :math:`N` inputs. With an offset it is the complete polynomial kernel: all
    :math:`\binom{N+p}{p}` monomials of degree up to :math:`p`.

    Parameters
    ----------
    degree : int, default=2
        The degree :math:`p \ge 1`.
    offset : float or Prior, default=0.0
        The offset :math:`c \ge 0`, which weighs the lower degrees.
    name : str, default="polynomial"
        Its variable is ``<name>_offset``.

    Examples
    --------
    >>> Polynomial(2, offset=1.0)([[1.0, 1.0], [-1.0, 1.0]])
    array([[9., 1.],
           [1., 9.]])
    """

    degree: int = 2
    offset: float | Prior = parameter(0.0)
    name: str = "polynomial"

    def __post_init__(self):
        object.__setattr__(self, "degree", whole(self.degree, "degree", least=1))
        object.__setattr__(self, "offset", read_parameter(self.offset, "offset", zero=True))

    def _power(self, inner: Any, degree: int) -> Any:
        namespace(self.offset)
        with np.errstate(over="ignore"):
            K = (inner + self.offset) ** degree
        if isinstance(K, np.ndarray) and not np.isfinite(K).all():
            raise ValueError(
                f"degree {degree} overflows on inner products up to {np.abs(inner).max():.3g};"
                " scale the inputs down"
            )
        return K

    def gram(self, X: Any, Z: Any) -> Any:
        """Powers of the inner products."""
        return self._power(X @ Z.T, self.degree)

    def diag(self, X: Any) -> Any:
        """Powers of the squared lengths."""
        return self._power((self.read(X) ** 2).sum(axis=1), self.degree)

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Sum of ``p (x'z + c)^(p-1) G``."""
        X, Z = self.read_both(X, Z)
        lower = self._power(X @ (X if Z is None else Z).T, self.degree - 1)
        return {f"{self.name}_offset": self.degree * np.vdot(G, lower)}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Sum of ``p (x'x + c)^(p-1) g``."""
        lower = self._power((self.read(X) ** 2).sum(axis=1), self.degree - 1)
        return {f"{self.name}_offset": self.degree * np.vdot(g, lower)}

    def features(self, X: Any) -> np.ndarray:
        r"""Monomials :math:`\sqrt{p! / r_1! \cdots r_N!}\, x_1^{r_1} \cdots x_N^{r_N}`."""
        namespace(self.offset)
        X = self.read(X)
        offset: Any = self.offset
        if offset:
            X = np.column_stack([X, np.full(len(X), np.sqrt(offset))])
        columns = []
        for chosen in combinations_with_replacement(range(X.shape[1]), self.degree):
            orders = np.prod([factorial(chosen.count(k)) for k in set(chosen)], dtype=float)
            weight = np.sqrt(factorial(self.degree) / orders)
            columns.append(weight * X[:, chosen].prod(axis=1))
        return np.column_stack(columns)
