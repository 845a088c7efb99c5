r"""Support vector regression on a Gram matrix: a tube of given width, or of given content.

The solver takes the kink of :math:`\varepsilon\|d\|_1` as it is, so that the tube of given width
has n variables, not 2n.
"""

from dataclasses import dataclass

import numpy as np

from bayeskern import checks
from bayeskern.classic._dual import MAX_ITER, Optimum, Rows, maximise
from bayeskern.classic.margin import bias_interval, relative_gap
from bayeskern.classic.result import Solution
from bayeskern.classic.support import Bias, as_rows, read_bias


@dataclass(frozen=True, eq=False, kw_only=True)
class SVRSolution(Solution):
    r"""A support vector regression and the proof that it is one.

    Parameters
    ----------
    dual : float
        Value of the dual objective; ``objective`` is the primal one, ``gap`` relative.
    residuals : ndarray of shape (n,)
        :math:`t_i - f(x_i)`.
    slacks : ndarray of shape (n,)
        :math:`\max(|t_i - f(x_i)| - \varepsilon, 0)`.
    epsilon : float
        Half the width of the tube, given or found.
    norm : float
        :math:`\|w\|`.
    kkt : float
        Largest violation of the optimality conditions, in units of the target.
    const : float, default=0.0
        What a penalised bias adds to the kernel.
    """

    dual: float
    residuals: np.ndarray
    slacks: np.ndarray
    epsilon: float
    norm: float
    kkt: float
    const: float = 0.0

    @property
    def primal(self) -> float:
        """Value of the primal objective."""
        return self.objective

    @property
    def support(self) -> np.ndarray:
        """Indices of the support vectors, the points on or outside the tube."""
        return np.flatnonzero(self.coefficients)


def svr(
    K: np.ndarray | Rows,
    t: np.ndarray,
    C: float = 1.0,
    *,
    epsilon: float = 0.1,
    bias: Bias = "none",
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> SVRSolution:
    r"""Fit a function by the :math:`\varepsilon`-insensitive loss.

    .. math:: \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_i \max(|t_i - f(x_i)| - \varepsilon, 0)

    Parameters
    ----------
    K : ndarray of shape (n, n), or Rows
        Gram matrix, or a source of its rows.
    t : ndarray of shape (n,)
        Targets.
    C : float, default=1.0
        Weight of the summed loss.
    epsilon : float, default=0.1
        Half the width of the tube, in units of the target; zero is the absolute error.
    bias : {"none", "ordinary"} or float
        As for `svm`.
    tol : float, default=1e-6
        Largest violation of the optimality conditions, in units of the target.
    max_iter : int
        Limit on two-variable steps.

    Returns
    -------
    SVRSolution

    Examples
    --------
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> fit = svr(x @ x.T, [-1.0, 0.0, 1.0], 10.0, epsilon=0.1)
    >>> (x.T @ fit.coefficients).round(6)
    array([0.9])
    """
    rows = as_rows(K)
    t = checks.as_targets(t, rows.n, "t")
    C, eps = checks.positive(C, "C"), checks.positive(epsilon, "epsilon", zero=True)
    const, ordinary = read_bias(bias)
    optimum = tube_optimum(rows, t, C, eps, const, ordinary, tol, max_iter)
    return certified_tube(rows, t, C, eps, const, ordinary, optimum.beta, optimum)


def tube_optimum(
    rows: Rows,
    t: np.ndarray,
    C: float,
    eps: float,
    const: float,
    ordinary: bool,
    tol: float,
    max_iter: int,
) -> Optimum:
    """Solve the dual of the tube of given width, without a certificate."""
    box = np.full(rows.n, C)
    return maximise(
        rows, t, -box, box, eps=eps, coupled=ordinary, const=const, tol=tol, max_iter=max_iter
    )


def nu_svr(
    K: np.ndarray | Rows,
    t: np.ndarray,
    C: float = 1.0,
    *,
    nu: float = 0.5,
    bias: Bias = "none",
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> SVRSolution:
    r"""Fit a function with a tube that leaves out a given fraction of the points.

    .. math:: \min_{w, b, \varepsilon \ge 0}\ \tfrac12\|w\|^2
        + C\Big(n\nu\varepsilon + \sum_i \max(|t_i - f(x_i)| - \varepsilon, 0)\Big)

    The answer is that of `svr` at the :math:`\varepsilon` found. A fraction of at most
    :math:`\nu` lies outside the tube and at least :math:`\nu` are support vectors.

    Parameters
    ----------
    K, t, C, bias, tol, max_iter
        As for `svr`.
    nu : float, default=0.5
        In (0, 1].

    Returns
    -------
    SVRSolution
        ``epsilon`` is half the width of the tube found.
    """
    rows = as_rows(K)
    if rows.K is None:
        raise ValueError("nu_svr needs the whole Gram matrix, got a source of rows")
    n = rows.n
    t = checks.as_targets(t, n, "t")
    C, nu = checks.positive(C, "C"), checks.within(nu, "nu", 0.0, 1.0, closed="right")
    const, ordinary = read_bias(bias)
    # 2n multipliers a >= 0: above the tube with sign +, below it with sign -
    sign = np.repeat([1.0, -1.0], n)
    Q = np.outer(sign, sign) * np.tile(rows.K + const, (2, 2))
    target = np.tile(t, 2) * sign
    half = np.clip(C * (nu * n / 2 - np.arange(n)), 0.0, C)
    start = np.concatenate([half, half])
    optimum = maximise(
        Rows(Q), target, np.zeros(2 * n), np.full(2 * n, C), coupled=True,
        segments=(0, n, 2 * n) if ordinary else (0, 2 * n), start=(start, target - Q @ start),
        tol=tol, max_iter=max_iter,
    )  # fmt: skip
    a, F = optimum.beta, optimum.gradient
    halves = (slice(0, n), slice(n, 2 * n)) if ordinary else (slice(0, 2 * n),)
    levels = [
        bias_interval(F[h], a[h], np.zeros_like(a[h]), np.full_like(a[h], C))[0] for h in halves
    ]
    eps = max(float(np.mean(levels)), 0.0)
    both = np.minimum(a[:n], a[n:])  # a pair that does nothing but fill the budget
    beta = (a[:n] - both) - (a[n:] - both)
    return certified_tube(rows, t, C, eps, const, ordinary, beta, optimum, budget=C * n * nu)


def certified_tube(
    rows: Rows,
    t: np.ndarray,
    C: float,
    eps: float,
    const: float,
    ordinary: bool,
    beta: np.ndarray,
    optimum: Optimum,
    budget: float | None = None,
) -> SVRSolution:
    """Certify a regression; with a ``budget`` the width of the tube was part of the problem."""
    outputs = rows.times(beta)
    total = float(beta.sum())
    norm2 = max(float(beta @ outputs) + const * total**2, 0.0)
    box = np.full(len(t), C)
    bias = const * total
    if ordinary:
        bias = bias_interval(t - outputs, beta, -box, box, eps)[0]
    residuals = t - outputs - bias
    slacks = np.maximum(np.abs(residuals) - eps, 0.0)
    primal = 0.5 * norm2 + C * float(slacks.sum())
    dual = float(t @ beta) - 0.5 * norm2
    if budget is None:
        dual -= eps * float(np.abs(beta).sum())
    else:
        primal += budget * eps
    sign = np.sign(beta)
    excess = sign * residuals - eps  # zero on the edge of the tube
    free = np.where(sign == 0, slacks, np.abs(excess))
    violation = np.where(np.abs(beta) >= C, np.maximum(-excess, 0.0), free)
    return SVRSolution(
        beta, primal, relative_gap(primal, dual), optimum.n_iter, optimum.converged, bias,
        dual=dual, residuals=residuals, slacks=slacks, epsilon=eps, norm=float(np.sqrt(norm2)),
        kkt=float(violation.max()), const=const,
    )  # fmt: skip
