"""Kernels as values: what every kernel offers, and the algebra that makes new ones.

A kernel is a function of two inputs whose Gram matrices are positive semidefinite. Here it is a
frozen value: ``kernel(X, Z)`` is its Gram matrix, in NumPy or, when an input or a parameter is a
tensor, in PyTensor. ``pullback`` turns the gradient of anything with respect to the Gram matrix
into the gradient with respect to the parameters, without ever forming an n x n x p array.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from bayeskern.checks import as_matrix, whole
from bayeskern.kernels._array import apart, namespace
from bayeskern.priors import HasPriors, Prior, is_tensor, parameter, read_parameter

Gradients = dict[str, Any]


class Kernel(HasPriors):
    """A positive semidefinite function of two inputs.

    Subclasses are frozen dataclasses. They implement `gram`, `diag` and, if they have parameters,
    `pullback`; addition, multiplication and powers come with the class.
    """

    __array_ufunc__ = None  # so that a NumPy number times a kernel reaches __rmul__

    # -- what a kernel implements ------------------------------------------------------------

    def gram(self, X: Any, Z: Any) -> Any:
        """Gram matrix of inputs that have been read; ``Z is X`` when one set was given."""
        raise TypeError(f"{type(self).__name__} does not say how to compute its Gram matrix")

    def diag(self, X: Any) -> Any:
        """Values ``k(x, x)``, without the rest of the Gram matrix."""
        raise TypeError(f"{type(self).__name__} does not say how to compute its diagonal")

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Gradient of ``sum(G * kernel(X, Z))`` with respect to every parameter.

        Parameters
        ----------
        X, Z : inputs
            As in the call; ``Z`` defaults to ``X``.
        G : ndarray of shape (len(X), len(Z))
            The gradient of some number with respect to the Gram matrix.

        Returns
        -------
        dict
            Variable name to derivative, for the parameters themselves (not their logarithms).
        """
        return {}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Gradient of ``sum(g * kernel.diag(X))`` with respect to every parameter."""
        return {}

    def read(self, X: Any) -> Any:
        """Check one set of inputs and return it as the kernel wants it."""
        return X if is_tensor(X) else as_matrix(X)

    # -- what every kernel has ----------------------------------------------------------------

    def __call__(self, X: Any, Z: Any = None) -> Any:
        """Gram matrix of shape ``(len(X), len(Z))``; without ``Z``, of ``X`` with itself."""
        X, Z = self.read_both(X, Z)
        return self.gram(X, X if Z is None else Z)

    def read_both(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """Read one or two sets of inputs; a second set is never the same object as the first."""
        X = self.read(X)
        if Z is None:
            return X, None
        Z = self.read(Z)
        if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.shape[1:] != Z.shape[1:]:
            raise ValueError(
                f"both sets of inputs must have as many features, got {X.shape[1]} and {Z.shape[1]}"
            )
        return X, apart(Z) if Z is X else Z

    def features(self, X: Any) -> np.ndarray:
        """Explicit features, one row per input, whose inner products are the kernel.

        Only for kernels with finitely many features; `Nystroem` and `RandomFourier` approximate
        the others.
        """
        raise ValueError(
            f"{type(self).__name__} has no finite feature map; see Nystroem and RandomFourier"
        )

    # -- new kernels from this one --------------------------------------------------------------

    def exp(self, scale: Any = 1.0) -> "Kernel":
        """The kernel ``exp(k / scale**2)``."""
        from bayeskern.kernels.algebra import Exp

        return Exp(self, scale)

    def normalise(self) -> "Kernel":
        """The kernel ``k(x, z) / sqrt(k(x, x) k(z, z))``."""
        from bayeskern.kernels.algebra import Normalised

        return Normalised(self)

    def centre(self, X: Any) -> "Kernel":
        """The kernel after subtracting the mean of the features of ``X``."""
        from bayeskern.kernels.algebra import Centred

        return Centred(self, X)

    def on(self, columns: Any) -> "Kernel":
        """The kernel of some columns of the inputs."""
        from bayeskern.kernels.views import Columns

        return Columns(self, columns)

    def through(self, function: Any) -> "Kernel":
        """The kernel of ``function(X)``."""
        from bayeskern.kernels.views import Mapped

        return Mapped(self, function)

    def __add__(self, other: Any) -> "Kernel":
        kernel = as_kernel(other)
        return NotImplemented if kernel is None else Sum(self, kernel)

    def __radd__(self, other: Any) -> "Kernel":
        kernel = as_kernel(other)
        return NotImplemented if kernel is None else Sum(kernel, self)

    def __mul__(self, other: Any) -> "Kernel":
        kernel = as_kernel(other)
        return NotImplemented if kernel is None else Product(self, kernel)

    def __rmul__(self, other: Any) -> "Kernel":
        kernel = as_kernel(other)
        return NotImplemented if kernel is None else Product(kernel, self)

    def __pow__(self, exponent: int) -> "Kernel":
        return Power(self, exponent)

    def __repr__(self) -> str:
        shown: list[str] = []
        for place, f in enumerate(dataclasses.fields(self)):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if f.default is dataclasses.MISSING or value != f.default:
                shown.append(show(value) if place == 0 else f"{f.name}={show(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def as_kernel(value: Any) -> Kernel | None:
    """Return a kernel as it is, a number or a prior as a constant kernel, anything else as None."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Prior):
        return Constant(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return Constant(float(value), name="factor")  # apart from the one that is inferred
    return None


def add_gradients(parts: Iterable[Gradients]) -> Gradients:
    """Add gradients by variable name."""
    total: Gradients = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total[name] + value if name in total else value
    return total


def row_products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Products of every column of ``A`` with every column of ``B``."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)


class Composite(Kernel):
    """A kernel made of other kernels; its parameters are theirs."""

    parts: ClassVar[tuple[str, ...]] = ("left", "right")

    def _kernels(self) -> list[Kernel]:
        return [getattr(self, part) for part in self.parts]

    def _owned(self) -> dict[str, Any]:
        merged = super()._owned()
        for kernel in self._kernels():
            for name, value in kernel._owned().items():
                if name in merged and isinstance(merged[name], Prior) | isinstance(value, Prior):
                    raise ValueError(
                        f"Two kernels would both own the variable {name!r}; name one of them"
                    )
                merged[name] = value
        return merged

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Replace parameters, its own and those of every part."""
        changed = {part: getattr(self, part).with_values(values) for part in self.parts}
        own = dict(zip(super()._owned(), self._fields(), strict=True))
        changed |= {own[name]: value for name, value in values.items() if name in own}
        return dataclasses.replace(self, **changed)  # type: ignore[type-var]

    def read(self, X: Any) -> Any:
        """Read the inputs as every part does, which fails if they want different kinds."""
        for kernel in self._kernels():
            X = kernel.read(X)
        return X


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    r"""The kernel :math:`k(x, z) = c`, most often the amplitude in ``2.0 * RBF()``.

    Parameters
    ----------
    value : float or Prior, default=1.0
        The constant :math:`c > 0`, a variance.
    name : str, default="constant"
        Its variable is ``<name>_value``.
    """

    value: float | Prior = parameter(1.0)
    name: str = "constant"

    def __post_init__(self):
        object.__setattr__(self, "value", read_parameter(self.value, "value"))

    def read(self, X: Any) -> Any:
        """Accept any inputs, of which only their number matters."""
        return nonempty(X)

    def gram(self, X: Any, Z: Any) -> Any:
        """Matrix filled with the constant."""
        return self.value * namespace(self.value, X, Z).ones((size(X), size(Z)))

    def diag(self, X: Any) -> Any:
        """Vector filled with the constant."""
        return self.value * namespace(self.value, X).ones(size(self.read(X)))

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Sum of ``G``."""
        return {f"{self.name}_value": G.sum()}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Sum of ``g``."""
        return {f"{self.name}_value": g.sum()}

    def features(self, X: Any) -> np.ndarray:
        """One constant feature."""
        return np.full((size(self.read(X)), 1), np.sqrt(self.value))  # type: ignore[arg-type]


@dataclass(frozen=True, repr=False)
class White(Kernel):
    r"""Independent noise, :math:`k(x_i, x_j) = s` if :math:`i = j` and 0 otherwise.

    It belongs to the observation, not to the input: two observations at one place have
    independent noise, and there is none between two sets of inputs.

    Parameters
    ----------
    variance : float or Prior, default=1.0
        The noise variance :math:`s > 0`.
    name : str, default="white"
        Its variable is ``<name>_variance``.
    """

    variance: float | Prior = parameter(1.0)
    name: str = "white"

    def __post_init__(self):
        object.__setattr__(self, "variance", read_parameter(self.variance, "variance"))

    def read(self, X: Any) -> Any:
        """Accept any inputs, of which only their number matters."""
        return nonempty(X)

    def gram(self, X: Any, Z: Any) -> Any:
        """Scaled identity, or zeros between two sets."""
        xp = namespace(self.variance, X, Z)
        return self.variance * xp.eye(size(X)) if Z is X else xp.zeros((size(X), size(Z)))

    def diag(self, X: Any) -> Any:
        """Vector filled with the variance."""
        return self.variance * namespace(self.variance, X).ones(size(self.read(X)))

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Trace of ``G``, or zero between two sets."""
        return {f"{self.name}_variance": np.trace(G) if Z is None else 0.0}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Sum of ``g``."""
        return {f"{self.name}_variance": g.sum()}


@dataclass(frozen=True, repr=False)
class Sum(Composite):
    """The kernel ``left + right``; its features are those of both."""

    left: Kernel
    right: Kernel

    def gram(self, X: Any, Z: Any) -> Any:
        """Sum of the Gram matrices."""
        return self.left.gram(X, Z) + self.right.gram(X, Z)

    def diag(self, X: Any) -> Any:
        """Sum of the diagonals."""
        return self.left.diag(X) + self.right.diag(X)

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Pull ``G`` back through both terms."""
        return add_gradients(k.pullback(X, G, Z) for k in self._kernels())

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Pull ``g`` back through both terms."""
        return add_gradients(k.pullback_diag(X, g) for k in self._kernels())

    def features(self, X: Any) -> np.ndarray:
        """Features of both terms, side by side."""
        return np.hstack([k.features(X) for k in self._kernels()])

    def __repr__(self) -> str:
        return f"{self.left!r} + {_in_brackets(self.right, Sum)}"


@dataclass(frozen=True, repr=False)
class Product(Composite):
    """The kernel ``left * right``; its features are all products of theirs."""

    left: Kernel
    right: Kernel

    def gram(self, X: Any, Z: Any) -> Any:
        """Elementwise product of the Gram matrices."""
        if isinstance(self.left, Constant):
            return self.left.value * self.right.gram(X, Z)
        return self.left.gram(X, Z) * self.right.gram(X, Z)

    def diag(self, X: Any) -> Any:
        """Product of the diagonals."""
        return self.left.diag(X) * self.right.diag(X)

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Pull ``G * right`` back through the left factor, and the other way round."""
        X, Z = self.read_both(X, Z)
        other = X if Z is None else Z
        if isinstance(self.left, Constant):
            c: Any = self.left.value
            namespace(c)
            right = self.right.pullback(X, c * G, Z)
            amplitude = {f"{self.left.name}_value": np.vdot(G, self.right.gram(X, other))}
            return add_gradients([amplitude, right])
        K, M = self.left.gram(X, other), self.right.gram(X, other)
        return add_gradients([self.left.pullback(X, G * M, Z), self.right.pullback(X, G * K, Z)])

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Pull ``g`` times the other diagonal back through each factor."""
        X = self.read(X)
        left = self.left.pullback_diag(X, g * self.right.diag(X))
        return add_gradients([left, self.right.pullback_diag(X, g * self.left.diag(X))])

    def features(self, X: Any) -> np.ndarray:
        """All products of a feature of the left with one of the right."""
        return row_products(self.left.features(X), self.right.features(X))

    def __repr__(self) -> str:
        left = self.left
        inferred = isinstance(left, Constant) and isinstance(left.value, Prior)
        plain = "constant" if inferred else "factor"
        bare = isinstance(left, Constant) and left.name == plain and not is_tensor(left.value)
        shown = repr(left.value) if bare else _in_brackets(left, Sum)  # type: ignore[attr-defined]
        if bare and isinstance(self.right, Constant):  # a number times a number is not a kernel
            shown = repr(left)
        return f"{shown} * {_in_brackets(self.right, Sum, Product)}"


@dataclass(frozen=True, repr=False)
class Power(Composite):
    """The kernel ``kernel ** exponent`` with a whole exponent of at least 1."""

    kernel: Kernel
    exponent: int
    parts: ClassVar[tuple[str, ...]] = ("kernel",)

    def __post_init__(self):
        exponent = whole(self.exponent, "the exponent of a kernel", least=1)
        object.__setattr__(self, "exponent", exponent)

    def gram(self, X: Any, Z: Any) -> Any:
        """Elementwise power of the Gram matrix."""
        return self.kernel.gram(X, Z) ** self.exponent

    def diag(self, X: Any) -> Any:
        """Elementwise power of the diagonal."""
        return self.kernel.diag(X) ** self.exponent

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Pull ``p k^(p-1) G`` back through the kernel."""
        X, Z = self.read_both(X, Z)
        K = self.kernel.gram(X, X if Z is None else Z)
        return self.kernel.pullback(X, self.exponent * K ** (self.exponent - 1) * G, Z)

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Pull ``p k^(p-1) g`` back through the diagonal."""
        X = self.read(X)
        d = self.kernel.diag(X)
        return self.kernel.pullback_diag(X, self.exponent * d ** (self.exponent - 1) * g)

    def features(self, X: Any) -> np.ndarray:
        """All products of as many features as the exponent, in every order."""
        first = result = self.kernel.features(X)
        for _ in range(self.exponent - 1):
            result = row_products(result, first)
        return result

    def __repr__(self) -> str:
        return f"{_in_brackets(self.kernel, Sum, Product, Power)} ** {self.exponent}"


def _in_brackets(kernel: Kernel, *kinds: type) -> str:
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)


def show(value: Any) -> str:
    """Show a value so that it evaluates back; a function by its name."""
    return value.__qualname__ if callable(value) and hasattr(value, "__qualname__") else repr(value)


def nonempty(X: Any) -> Any:
    """Return any inputs at all, if there are some."""
    if not is_tensor(X) and (not hasattr(X, "__len__") or isinstance(X, str) or len(X) == 0):
        raise ValueError(f"X must be a non-empty set of inputs, got {X!r}")
    return X


def size(X: Any) -> Any:
    """Number of inputs."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
