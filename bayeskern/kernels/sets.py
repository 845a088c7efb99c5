"""Kernels on finite objects: equal or not, and the common part of two sets."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import positive
from bayeskern.kernels.base import Kernel, nonempty


@dataclass(frozen=True, repr=False)
class Matching(Kernel):
    """1 if two objects are equal and 0 otherwise: nothing carries over to another object.

    The objects may be anything hashable, such as strings.

    Examples
    --------
    >>> Matching()(["a", "b", "a"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def read(self, X: Any) -> tuple:
        """Read a list of hashable objects, rows of a matrix as tuples."""
        items = tuple(tuple(x.tolist()) if isinstance(x, np.ndarray) else x for x in nonempty(X))
        for item in items:
            if not isinstance(item, Hashable) or isinstance(item, list):
                raise ValueError(f"X must hold hashable objects, got {item!r}")
        return items

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Indicators of equality."""
        codes: dict[Hashable, int] = {}
        a = np.array([codes.setdefault(x, len(codes)) for x in X])
        b = np.array([codes.setdefault(z, len(codes)) for z in Z])
        return np.equal.outer(a, b).astype(float)

    def diag(self, X: Any) -> np.ndarray:
        """Ones."""
        return np.ones(len(self.read(X)))


@dataclass(frozen=True, repr=False)
class Intersection(Kernel):
    r"""Measure of the common part of two sets, :math:`k(A, B) = \mu(A \cap B)`.

    Its features are the indicators of the elements.

    Parameters
    ----------
    measure : mapping or sequence of (element, weight), optional
        The weight :math:`\mu \ge 0` of each element that may occur; without it elements are
        counted.

    Examples
    --------
    >>> Intersection()([{1, 2}, {3}, {1, 2, 3}])
    array([[2., 0., 2.],
           [0., 1., 1.],
           [2., 1., 3.]])
    """

    measure: Any = None

    def __post_init__(self):
        if self.measure is not None:
            pairs = self.measure.items() if isinstance(self.measure, Mapping) else self.measure
            kept = tuple((element, positive(w, "a weight", zero=True)) for element, w in pairs)
            object.__setattr__(self, "measure", kept)

    def read(self, X: Any) -> tuple:
        """Read a list of sets."""
        items = tuple(nonempty(X))
        for item in items:
            if not isinstance(item, set | frozenset):
                raise ValueError(f"X must hold sets, got {item!r}")
            if self.measure is not None and (extra := item - {e for e, _ in self.measure}):
                raise ValueError(f"every element must have a measure, got {next(iter(extra))!r}")
        return tuple(frozenset(item) for item in items)

    def _indicators(self, X: tuple, elements: list[Hashable]) -> np.ndarray:
        place = {e: k for k, e in enumerate(elements)}
        F = np.zeros((len(X), len(elements)))
        for row, item in zip(F, X, strict=True):
            row[[place[e] for e in item]] = 1.0
        return F

    def features(self, X: Any) -> np.ndarray:
        """Indicators times roots of the weights, which must have been given."""
        if self.measure is None:
            raise ValueError("Intersection has a finite feature map only with a measure")
        X = self.read(X)
        roots = np.sqrt([w for _, w in self.measure])
        return self._indicators(X, [e for e, _ in self.measure]) * roots

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Measures of the intersections."""
        if self.measure is not None:
            F = self.features(X)
            return F @ (F if Z is X else self.features(Z)).T
        elements = list(dict.fromkeys(e for item in (*X, *Z) for e in item))
        F = self._indicators(X, elements)
        return F @ (F if Z is X else self._indicators(Z, elements)).T

    def diag(self, X: Any) -> np.ndarray:
        """Measures of the sets."""
        X = self.read(X)
        if self.measure is None:
            return np.array([float(len(item)) for item in X])
        return (self.features(X) ** 2).sum(axis=1)
