"""The linear classifier of least training error, exactly, in low dimension."""

from collections.abc import Iterator
from itertools import combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np

from bayeskern.checks import as_labels, as_matrix, whole
from bayeskern.classic.separability import is_separable


class LinearMinimum(NamedTuple):
    """A hyperplane ``X @ w + b`` with the fewest errors that any hyperplane makes on the sample."""

    w: np.ndarray
    b: float
    n_errors: int
    risk: float


def linear_erm(X: Any, y: Any, *, max_candidates: int = 1_000_000) -> LinearMinimum:
    r"""Minimise the 0-1 training error over all hyperplanes, exactly.

    Every way in which a hyperplane splits points in general position is had, up to a small
    movement, from a hyperplane through ``p`` of the points; those ``p`` can then be given any
    labels. So the least number of errors is the least number among the other points, over the
    :math:`2 \binom np` oriented hyperplanes through ``p`` points, and costs :math:`O(n^{p+1})`.

    Parameters
    ----------
    X : array of shape (n, p)
        Points in general position: no ``p + 1`` of them on one hyperplane.
    y : array of shape (n,)
        Labels -1 and +1.
    max_candidates : int, default=1_000_000
        Refuse problems with more oriented hyperplanes than this.

    Returns
    -------
    LinearMinimum
        The moved hyperplane: no point lies on it.

    Examples
    --------
    >>> linear_erm([[0.0, 0.0], [1.0, 1.1], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]).n_errors
    1
    """
    X = as_matrix(X)
    n, p = X.shape
    y = as_labels(y, n)
    separable = is_separable(X, y, intercept=True)
    if separable:
        w, b = separable.witness[:-1], float(separable.witness[-1])
        return LinearMinimum(w, b, 0, 0.0)
    if n <= p:
        raise ValueError(
            f"X must be in general position, got {n} points of {p} features that depend affinely"
        )
    if 2 * comb(n, p) > whole(max_candidates, "max_candidates", least=1):
        raise ValueError(
            f"max_candidates is {max_candidates}, but {n} points in {p} dimensions have"
            f" {2 * comb(n, p)} oriented hyperplanes; raise it or use a surrogate loss"
        )
    centre, scale = X.mean(axis=0), np.abs(X - X.mean(axis=0)).max()
    Z = np.column_stack([(X - centre) / scale, np.ones(n)])
    least, best = n + 1, (np.empty(0), np.empty(0, dtype=int))
    for subsets in _batches(n, p):
        normals, margins = _through(Z, subsets)
        wrong = (y * margins < 0).sum(axis=1)
        for sign, errors in ((1, wrong), (-1, n - p - wrong)):
            i = errors.argmin()
            if errors[i] < least:
                least, best = int(errors[i]), (sign * normals[i], subsets[i])
    v, subset = best
    margins = Z @ v
    margins[subset] = 0.0
    turn = np.linalg.lstsq(Z[subset], y[subset], rcond=None)[0]  # labels of the points it touches
    others = np.setdiff1d(np.arange(n), subset)
    step = 0.5 * np.min(np.abs(margins[others]) / np.maximum(np.abs(Z[others] @ turn), 1e-300))
    v = v + min(step, 1.0) * turn
    w = v[:-1] / scale
    return LinearMinimum(w, float(v[-1] - w @ centre), least, least / n)


def _batches(n: int, p: int, size: int = 4096) -> Iterator[np.ndarray]:
    subsets = combinations(range(n), p)
    while batch := list(islice(subsets, size)):
        yield np.array(batch)


def _through(Z: np.ndarray, subsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hyperplanes through each subset and the outputs of all points, 0 on the subset."""
    _, s, Vt = np.linalg.svd(Z[subsets], full_matrices=True)
    normals = Vt[:, -1]
    margins = normals @ Z.T
    np.put_along_axis(margins, subsets, 0.0, axis=1)
    touched = (np.abs(margins) < 1e-12).sum(axis=1) > subsets.shape[1]
    degenerate = (s[:, -1] < 1e-12 * s[:, 0]) | touched
    if degenerate.any():
        subset = subsets[degenerate.argmax()].tolist()
        raise ValueError(
            f"X must be in general position, got the points {subset} on a hyperplane with another"
            " point or on several; jitter X a little"
        )
    return normals, margins
