"""Which labellings a class realises on given points: counting and shattering checks."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

from bayeskern.classic.bounds import _domain as domain

LIMIT = 20  # at most 2**20 labellings are enumerated


class Shattering(NamedTuple):
    """Answer of a shattering check; ``labelling`` is one that cannot be realised."""

    shattered: bool
    labelling: np.ndarray | None

    def __bool__(self) -> bool:
        return self.shattered


def _enumerable(m: int) -> None:
    if m > LIMIT:
        raise ValueError(f"enumeration over 2**{m} labellings refused for m > {LIMIT}")


def _points(X: Any) -> np.ndarray:
    X = domain.numbers(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have one row per point, got shape {X.shape}")
    return X


def _patterns(patterns: Any) -> np.ndarray:
    patterns = np.asarray(patterns)
    if patterns.ndim != 2:
        raise ValueError(
            f"patterns must have one row per hypothesis and one column per point,"
            f" got shape {patterns.shape}"
        )
    return patterns > 0


def _labellings(m: int):
    """All labellings with y_1 = +1; the others are their negatives."""
    for rest in itertools.product((1.0, -1.0), repeat=m - 1):
        yield np.array((1.0, *rest))


def count_dichotomies(patterns: Any) -> int:
    """Count the distinct rows of an (n_hypotheses, m) matrix of signs.

    Examples
    --------
    >>> count_dichotomies([[1, -1], [1, 1], [1, -1]])
    2
    """
    return len(np.unique(_patterns(patterns), axis=0))


def is_shattered(patterns: Any) -> bool:
    """Whether all labellings of the points occur among the rows of a sign matrix.

    Examples
    --------
    >>> is_shattered([[1, -1], [1, 1], [-1, -1], [-1, 1]])
    True
    """
    patterns = _patterns(patterns)
    n, m = patterns.shape
    return m <= n.bit_length() and n >= 2**m and count_dichotomies(patterns) == 2**m


def is_shattered_linear(X: Any = None, offset: bool = True, *, gram: Any = None) -> Shattering:
    r"""Exact test whether hyperplanes shatter the points, by rank.

    Points are shattered if and only if their vectors (with a constant appended when there is
    an ``offset``) are linearly independent. If :math:`\sum a_ix_i=0`, the labelling
    :math:`y_i=\mathrm{sign}\,a_i` cannot be realised, and is returned.

    Parameters
    ----------
    X : array of shape (m, d), optional
        Points; or pass ``gram`` for a homogeneous kernel classifier.
    offset : bool
        Whether hyperplanes may miss the origin (ignored with ``gram``).
    gram : array of shape (m, m), optional
        Gram matrix.

    Examples
    --------
    >>> bool(is_shattered_linear([[0, 0], [1, 0], [0, 1]]))
    True
    >>> is_shattered_linear([[0.0], [1.0], [2.0]]).labelling
    array([ 1., -1.,  1.])
    """
    if (X is None) == (gram is None):
        raise ValueError("pass exactly one of X and gram")
    if gram is not None:
        A = domain.square(gram)
    else:
        A = _points(X)
        if offset:
            A = np.column_stack([A, np.ones(len(A))])
    if np.linalg.matrix_rank(A) == len(A):
        return Shattering(True, None)
    null = np.linalg.svd(A.T)[2][-1]
    null = null * np.sign(null[np.argmax(np.abs(null) > 1e-9)])
    return Shattering(False, np.where(null >= -1e-9, 1.0, -1.0))


def is_shattered_boxes(X: Any) -> bool:
    """Whether axis-parallel boxes shatter the points: no bounding box holds a stranger.

    Examples
    --------
    >>> is_shattered_boxes([[0, 1], [0, -1], [1, 0], [-1, 0]])
    True
    """
    X = _points(X)
    _enumerable(len(X))
    for chosen in itertools.product((False, True), repeat=len(X)):
        inside = np.array(chosen)
        if inside.any() and not inside.all():
            low, high = X[inside].min(0), X[inside].max(0)
            if ((X[~inside] >= low) & (X[~inside] <= high)).all(1).any():
                return False
    return True


def is_shattered_by(X: Any, realisable: Callable[[Any, np.ndarray], bool]) -> Shattering:
    """Ask an exact oracle about every labelling of the points.

    Parameters
    ----------
    X : sequence
        Points of any kind.
    realisable : callable
        ``realisable(X, y)`` tells whether some hypothesis labels X by y.

    Examples
    --------
    >>> bool(is_shattered_by([0.0, 1.0], lambda x, y: list(y) == sorted(y)))
    False
    """
    _enumerable(len(X))
    for y in itertools.product((1.0, -1.0), repeat=len(X)):
        labelling = np.array(y)
        if not realisable(X, labelling):
            return Shattering(False, labelling)
    return Shattering(True, None)


def count_linear_dichotomies(X: Any, offset: bool = False) -> int:
    r"""Count the labellings realised by hyperplanes, by one linear program each.

    A labelling counts if :math:`y_i\langle w,x_i\rangle\ge1` is feasible.

    Examples
    --------
    >>> count_linear_dichotomies([[1, 0], [0, 1], [1, 1], [1, -2]])
    8
    """
    X = _points(X)
    _enumerable(len(X))
    if offset:
        X = np.column_stack([X, np.ones(len(X))])
    free = [(None, None)] * X.shape[1]
    found = 0
    for y in _labellings(len(X)):
        program = linprog(
            np.zeros(X.shape[1]), A_ub=-y[:, None] * X, b_ub=-np.ones(len(X)), bounds=free
        )
        found += 2 * (program.status == 0)
    return found


def empirical_vc_dimension(patterns: Any) -> int:
    """Size of the largest shattered subset of the sample, from an (n_hypotheses, m) sign matrix.

    Subsets of shattered sets are shattered, so candidates grow point by point. For homogeneous
    kernel classifiers it is the rank of the Gram matrix.

    Examples
    --------
    >>> empirical_vc_dimension([[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [-1, -1, -1]])
    1
    """
    distinct = np.unique(_patterns(patterns), axis=0)
    m, size = distinct.shape[1], 0
    most = len(distinct).bit_length() - 1
    shattered: list[tuple[int, ...]] = [()]
    while shattered and size < most:
        known = set(shattered)
        shattered = [
            (*subset, j)
            for subset in shattered
            for j in range(subset[-1] + 1 if subset else 0, m)
            if all((*subset[:i], *subset[i + 1 :], j) in known for i in range(len(subset)))
            and len(np.unique(distinct[:, [*subset, j]], axis=0)) == 2 ** (size + 1)
        ]
        size += bool(shattered)
    return size


def is_gamma_shattered_linear(X: Any, gamma: float, norm_bound: float = 1.0) -> bool:
    r"""Whether linear functions of norm at most B shatter the points at scale gamma around 0.

    True iff :math:`B\cdot\mathrm{dist}(0,\mathrm{conv}\{y_ix_i\})\ge\gamma` for every labelling;
    sufficient for gamma-shattering with other witnesses.

    Examples
    --------
    >>> is_gamma_shattered_linear(np.eye(4), 0.499), is_gamma_shattered_linear(np.eye(4), 0.501)
    (True, False)
    """
    X = _points(X)
    _enumerable(len(X))
    gamma, B = (
        float(domain.positive(gamma, "gamma")),
        float(domain.positive(norm_bound, "norm_bound")),
    )
    return all(
        B * _distance_to_hull(y[:, None] * X) >= gamma * (1 - 1e-9) for y in _labellings(len(X))
    )


def _distance_to_hull(Z: np.ndarray) -> float:
    """Distance of the origin from the convex hull of the rows, by non-negative least squares."""
    scale = max(float(np.abs(Z).max()), 1e-300)
    # the minimiser of |Z'a|^2 + (1'a - 1)^2 over a >= 0 is the nearest point's, rescaled
    A = np.vstack([Z.T / scale, np.ones(len(Z))])
    a, _ = nnls(A, np.append(np.zeros(Z.shape[1]), 1.0))
    return float(np.linalg.norm(Z.T @ (a / a.sum())))
