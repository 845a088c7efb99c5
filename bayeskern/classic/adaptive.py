"""The leave-one-out machine and the adaptive margin machine, as linear programs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_gram, as_labels, positive
from bayeskern.classic.result import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveMarginSolution(Solution):
    r"""An adaptive margin machine; ``coefficients`` are :math:`\alpha_i y_i`.

    ``objective`` is the sum of the slacks, computed from the coefficients; ``gap`` compares it with
    the value of the dual program at ``dual``, and adds by how much that point is infeasible.

    Attributes
    ----------
    alpha : ndarray
        The non-negative weights of the points. They are not unique in general.
    slacks : ndarray
        The slacks :math:`\xi_i`.
    dual : ndarray
        A solution of the dual program, in [0, 1].
    lam : float
        The strength of the leave-one-out correction.
    threshold : float
        The value :math:`\lambda^*` from which on the machine is the zero function.
    loo_margins : ndarray
        :math:`s_i = y_i \sum_{j \ne i} \alpha_j y_j k(x_i, x_j)`, each point judged by the others.
    """

    alpha: np.ndarray
    slacks: np.ndarray
    dual: np.ndarray
    lam: float
    threshold: float
    loo_margins: np.ndarray


def adaptive_margin(K: Any, y: Any, lam: float = 1.0) -> AdaptiveMarginSolution:
    r"""Ask of each point a margin that grows with its own weight.

    .. math:: \min_{\alpha, \xi \ge 0} \mathbf 1' \xi \quad\text{subject to}\quad
        y_i f(x_i) \ge 1 - \xi_i + \lambda \alpha_i k(x_i, x_i) .

    With :math:`\lambda = 1` a point must be right without its own help: the leave-one-out machine.
    With :math:`\lambda = 0` the program only asks for separation, with no control of the margin.
    The correction is :math:`\lambda k(x_i, x_i)` (Herbrich 2002, eq. 2.58); the pseudocode in its
    appendix subtracts :math:`\lambda`, which is the same for kernels with unit diagonal alone.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix with a positive diagonal.
    y : array of shape (n,)
        Labels -1 and +1.
    lam : float, default=1.0
        Strength of the correction; from ``threshold`` on, every weight is 0.

    Returns
    -------
    AdaptiveMarginSolution
        With the dual point that proves it optimal.

    Examples
    --------
    >>> adaptive_margin([[1, 0.5], [0.5, 1]], [1, 1], lam=0.5).objective
    0.0
    >>> adaptive_margin([[4, 1], [1, 4]], [1, -1]).objective
    2.0
    """
    from scipy.optimize import linprog

    K = as_gram(K)
    y = as_labels(y, len(K))
    lam = positive(lam, "lam", zero=True)
    diagonal = K.diagonal()
    if (diagonal <= 0).any():
        i = int(np.argmin(diagonal))
        raise ValueError(f"K must have a positive diagonal, got {diagonal[i]:g} at {i}")
    n, scale = len(y), float(diagonal.max())  # weights scale as 1 / scale, slacks not at all
    signed = y[:, None] * K * y / scale
    Q = signed - lam * np.diag(diagonal) / scale
    program = linprog(
        np.append(np.zeros(n), np.ones(n)),
        A_ub=np.hstack([-Q, -np.eye(n)]),
        b_ub=-np.ones(n),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if program.status != 0:
        raise RuntimeError(f"HiGHS failed on a program that has a solution: {program.message}")
    alpha = np.maximum(program.x[:n], 0.0)
    slacks = np.maximum(1 - Q @ alpha, 0.0)
    dual = np.clip(-program.ineqlin.marginals, 0.0, 1.0)
    value = float(slacks.sum())
    violation = max(float((Q @ dual).max()), 0.0)
    gap = abs(value - float(dual.sum())) / max(value, 1.0) + violation
    return AdaptiveMarginSolution(
        alpha * y / scale,
        objective=value,
        gap=gap,
        n_iter=int(program.nit),
        converged=gap < 1e-6,
        alpha=alpha / scale,
        slacks=slacks,
        dual=dual,
        lam=lam,
        threshold=float((signed.sum(axis=1) * scale / diagonal).max()),
        loo_margins=signed @ alpha - diagonal / scale * alpha,
    )


def leave_one_out_machine(K: Any, y: Any) -> AdaptiveMarginSolution:
    r"""Minimise a bound on the leave-one-out errors: the adaptive margin machine at 1.

    The number of points with :math:`s_i \le 0` is at most the objective. That is no bound on the
    leave-one-out error of this machine itself, which does not belong to the class of machines for
    which such a count is one.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix with a positive diagonal.
    y : array of shape (n,)
        Labels -1 and +1.

    Examples
    --------
    >>> leave_one_out_machine([[1, 0.5], [0.5, 1]], [1, 1]).slacks
    array([0., 0.])
    """
    return adaptive_margin(K, y, 1.0)
