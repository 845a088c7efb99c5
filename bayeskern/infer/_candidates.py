"""Basis functions that compete for a place, computed from the kernel when they are asked for."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.infer._sparse_moves import column_sums


class Candidates:
    """Columns ``index`` of a problem's basis, kept only if they fit in ``max_bytes``.

    Products with all columns are taken block by block otherwise, so that no more than a block is
    ever in memory.
    """

    def __init__(self, problem: RelevanceVector, hyper: Any, index: np.ndarray, max_bytes: int):
        self.problem, self.hyper, self.index = problem, hyper, index
        self.width = max(int(max_bytes) // (8 * len(problem.y)), 1)
        self.head = int(problem.bias and index[0] == 0)  # the constant, apart to save a copy
        self._ones = np.ones((len(problem.y), 1))
        self._body = None
        if len(index) <= self.width:
            self._body = self._compute(slice(self.head, len(index)))

    def __len__(self) -> int:
        return len(self.index)

    def _compute(self, part: slice) -> np.ndarray:
        B = self.problem.columns(self.index[part], theta=self.hyper)
        return np.ascontiguousarray(B)

    def column(self, k: int) -> np.ndarray:
        """Candidate ``k`` at the training inputs."""
        if self._body is not None and k >= self.head:
            return self._body[:, k - self.head].copy()
        if k < self.head:
            return self._ones[:, 0]
        return self._compute(slice(k, k + 1))[:, 0]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Go through all columns, a block at a time."""
        if self.head:
            yield slice(0, 1), self._ones
        if self._body is not None:
            yield slice(self.head, len(self)), self._body
            return
        for start in range(self.head, len(self), self.width):
            part = slice(start, min(start + self.width, len(self)))
            yield part, self._compute(part)

    def cross(self, V: np.ndarray) -> np.ndarray:
        """Products of all columns with ``V``, of shape ``(p,)`` or ``(p, M)``."""
        out = np.empty((len(self), *V.shape[1:]))
        for part, B in self.blocks():
            out[part] = B.T @ V
        return out

    def sums(self, W: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted sums of squares of all columns, and their products with ``slope``."""
        squares, products = np.empty(len(self)), np.empty(len(self))
        for part, B in self.blocks():
            squares[part], products[part] = column_sums(B, W, slope)
        return squares, products
