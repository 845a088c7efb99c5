"""Is there a linear classifier without error? A linear program answers, with a proof either way."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_labels, as_matrix

THRESHOLD = 1e-9
"""A sample is separable if its best margin exceeds this part of the largest entry."""


@dataclass(frozen=True, eq=False)
class Separability:
    r"""The answer of `is_separable`, which is true or false as the sample is separable or not.

    Attributes
    ----------
    separable : bool
        Whether ``epsilon`` exceeds ``1e-9`` times the largest absolute entry of the matrix.
    epsilon : float
        The margin :math:`\min_i y_i (A w)_i` that the witness attains, recomputed from it.
    witness : ndarray
        The vector :math:`w` with :math:`\|w\|_\infty \le 1`: weights of the features, or expansion
        coefficients :math:`\alpha` when the matrix was a Gram matrix.
    upper : float
        No such vector attains more than this, :math:`\|A' (y \circ \beta)\|_1` with ``beta``.
    beta : ndarray
        Convex weights of the points. With ``upper`` near 0 they prove that the sample is not
        separable, since then :math:`\sum_i \beta_i y_i x_i = 0` (Gordan).
    """

    separable: bool
    epsilon: float
    witness: np.ndarray
    upper: float
    beta: np.ndarray

    def __bool__(self) -> bool:
        return self.separable


def is_separable(A: Any, y: Any, *, intercept: bool = False) -> Separability:
    r"""Decide whether some vector classifies every point correctly.

    .. math:: \epsilon^* = \max_w \min_i \, y_i (A w)_i
        \quad\text{subject to}\quad \|w\|_\infty \le 1 .

    Parameters
    ----------
    A : array of shape (n, p)
        A Gram matrix (the witness is then :math:`\alpha`, with :math:`f = K \alpha`) or a matrix of
        features (the witness is then :math:`w`).
    y : array of shape (n,)
        Labels -1 and +1; a single class is legal.
    intercept : bool, default=False
        Append a column of ones, so that the last entry of the witness is an offset.

    Returns
    -------
    Separability
        True or false, with the witness, the margin it attains and the proof that no vector
        attains more. On a numerically singular Gram matrix the program is solved in the basis of
        its larger singular vectors, and ``upper`` may then stay away from ``epsilon``: false then
        means "not separable in double precision".

    Examples
    --------
    >>> X = [[1, 1], [-1, -1], [1, -1], [-1, 1]]
    >>> bool(is_separable(X, [1, 1, -1, -1], intercept=True))
    False
    >>> bool(is_separable(np.square(np.array(X) @ np.transpose(X)), [1, 1, -1, -1]))
    True
    """
    A = as_matrix(A, "A")
    y = as_labels(y, len(A))
    if intercept:
        A = np.column_stack([A, np.ones(len(A))])
    scale = np.abs(A).max()
    signed = y[:, None] * A / scale if scale > 0 else np.zeros_like(A)
    witness, beta = _solve(signed) or _solve_in_basis(signed)
    epsilon = float((signed @ witness).min())
    upper = float(np.abs(signed.T @ beta).sum())
    return Separability(epsilon > THRESHOLD, epsilon * scale, witness, upper * scale, beta)


def in_version_space(A: Any, y: Any, w: Any) -> bool:
    """Whether ``w`` classifies every point correctly, a tie counting as an error.

    Parameters
    ----------
    A : array of shape (n, p)
        Features, or a Gram matrix if ``w`` holds expansion coefficients.
    y : array of shape (n,)
        Labels -1 and +1.
    w : array of shape (p,)
        The vector in question.

    Examples
    --------
    >>> in_version_space([[1.0], [-2.0]], [1, -1], [0.5])
    True
    """
    A = as_matrix(A, "A")
    return bool((as_labels(y, len(A)) * (A @ np.asarray(w, dtype=float)) > 0).all())


def _solve(signed: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the best ``w`` and the dual weights, or None where HiGHS gives up."""
    from scipy.optimize import linprog

    n, p = signed.shape
    program = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=np.column_stack([-signed, np.ones(n)]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * p + [(None, None)],
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
            "maxiter": 5 * (n + p),
        },
    )
    if program.status != 0:
        return None
    beta = np.maximum(-program.ineqlin.marginals, 0.0)
    total = beta.sum()
    return np.clip(program.x[:-1], -1, 1), beta / total if total > 0 else np.full(n, 1 / n)


def _solve_in_basis(signed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Answer for a matrix of numerically low rank, on which the simplex method stalls."""
    U, s, Vt = np.linalg.svd(signed, full_matrices=False)
    keep = s > THRESHOLD / 10  # the other directions cannot lift a margin above the threshold
    U, s, Vt = U[:, keep], s[keep], Vt[keep]
    even = np.full(len(signed), 1 / len(signed))

    def witness(v: np.ndarray) -> np.ndarray:
        w = Vt.T @ (v / s)
        return w / max(np.abs(w).max(), np.finfo(float).tiny)

    interpolant = witness(U.sum(axis=0))  # all margins equal, if that can be had
    if (signed @ interpolant).min() > THRESHOLD:
        return interpolant, even
    found = _solve(U)
    return (witness(found[0]), found[1]) if found else (interpolant, even)
