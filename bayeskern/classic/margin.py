r"""Margin machines after they are solved: the certificate, and the many names of one constant.

A machine minimises :math:`\frac12\|w\|^2 + C\sum_i \xi_i` (linear) or
:math:`\frac12\|w\|^2 + C\sum_i \xi_i^2` (quadratic). Other texts write the same with
:math:`\lambda` against the mean loss, or with :math:`\nu`, the fraction of margin errors.
"""

from dataclasses import dataclass

import numpy as np

from bayeskern.checks import positive, whole, within
from bayeskern.classic.result import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class SVMSolution(Solution):
    r"""A support vector machine and the proof that it is one.

    ``objective`` is the primal value, ``gap`` is ``(primal - dual) / max(|primal|, |dual|)``; both
    are computed in double precision from the coefficients alone.

    Parameters
    ----------
    dual : float
        Value of the dual objective.
    margins : ndarray of shape (n,)
        Functional margins :math:`y_i f(x_i)`.
    slacks : ndarray of shape (n,)
        :math:`\xi_i = \max(\rho - y_i f(x_i), 0)`.
    upper : ndarray of shape (n,)
        Upper bounds of :math:`\alpha_i`, infinite for the hard and the quadratic margin.
    norm : float
        :math:`\|w\|`, of the augmented vector when the bias is penalised.
    kkt : float
        Largest violation of the optimality conditions, in units of the functional margin.
    rho : float, default=1.0
        The functional margin asked for; one, except for :math:`\nu`-machines.
    ridge : float, default=0.0
        What the quadratic margin adds to the diagonal of the Gram matrix.
    const : float, default=0.0
        What a penalised bias adds to the kernel; the bias is ``const * sum(coefficients)``.
    bias_unique : bool, default=True
        Whether the bias is determined; if not, it is the middle of the optimal interval.
    ordinary : bool, default=False
        Whether the machine has an ordinary bias.
    """

    dual: float
    margins: np.ndarray
    slacks: np.ndarray
    upper: np.ndarray
    norm: float
    kkt: float
    rho: float = 1.0
    ridge: float | np.ndarray = 0.0
    const: float = 0.0
    bias_unique: bool = True
    ordinary: bool = False

    @property
    def primal(self) -> float:
        """Value of the primal objective."""
        return self.objective

    @property
    def alpha(self) -> np.ndarray:
        """The multipliers, without the signs of the labels."""
        return np.abs(self.coefficients)

    @property
    def support(self) -> np.ndarray:
        """Indices of the support vectors."""
        return np.flatnonzero(self.coefficients)

    @property
    def bounded(self) -> np.ndarray:
        """Whether each multiplier is at its upper bound."""
        return self.alpha >= self.upper * (1 - 1e-12)

    @property
    def margin(self) -> float:
        """Geometrical margin, half the width of the slab: ``rho / norm``."""
        return self.rho / self.norm if self.norm > 0 else np.inf


def bias_interval(
    F: np.ndarray, beta: np.ndarray, A: np.ndarray, B: np.ndarray, eps: float = 0.0
) -> tuple[float, bool]:
    """Return the bias of residuals ``F = t - K beta``, and whether it is the only one.

    It is the mean over the free points; without any, the middle of the interval that the
    conditions of Karush, Kuhn and Tucker leave.
    """
    free = (beta > A) & (beta < B) & ((beta != 0) | (eps == 0))
    if free.any():
        return float(np.mean(F[free] - eps * np.sign(beta[free]))), True
    up = np.where(beta >= B, -np.inf, F + np.where(beta >= 0, -eps, eps)).max()
    low = np.where(beta <= A, np.inf, F + np.where(beta > 0, -eps, eps)).min()
    if np.isinf(up) or np.isinf(low):
        return float(low if np.isinf(up) else up), False
    return float(up + low) / 2, bool(abs(up - low) <= 1e-12 * max(1.0, abs(up)))


def bias_of(
    F: np.ndarray, y: np.ndarray, beta: np.ndarray, upper: np.ndarray, ordinary: bool, const: float
) -> tuple[float, bool]:
    """Return the bias of a machine with residuals ``F = y - (K + D) beta``, and its uniqueness."""
    if not ordinary:
        return const * float(beta.sum()), True
    if np.isinf(upper).any():  # zero is a bound, nothing else is
        support = beta != 0
        return (float(np.mean(F[support])) if support.any() else 0.0), True
    return bias_interval(F, beta, np.minimum(y * upper, 0.0), np.maximum(y * upper, 0.0))


def certified(
    y: np.ndarray,
    beta: np.ndarray,
    outputs: np.ndarray,
    upper: np.ndarray,
    *,
    n_iter: int,
    converged: bool,
    ordinary: bool,
    const: float = 0.0,
    penalty: np.ndarray | None = None,
) -> SVMSolution:
    """Certify a machine from its coefficients and ``outputs = K @ beta``.

    ``penalty`` is C per point for the quadratic margin; otherwise ``upper`` is, and an infinite one
    makes it the hard margin.
    """
    alpha = y * beta
    total = float(beta.sum())
    norm2 = max(float(beta @ outputs) + const * total**2, 0.0)
    ridge = np.zeros(len(y)) if penalty is None else 0.5 / penalty
    F = y - outputs - ridge * beta
    bias, unique = bias_of(F, y, beta, upper, ordinary, const)
    margins = y * (outputs + bias)
    slacks = np.maximum(1.0 - margins, 0.0)
    dual = float(alpha.sum()) - 0.5 * (norm2 + float(ridge @ beta**2))
    if penalty is not None:
        primal = 0.5 * norm2 + float(penalty @ slacks**2)
    elif np.isinf(upper).any():
        least = float(margins.min())
        primal = 0.5 * norm2 / least**2 if least > 0 else np.inf
    else:
        primal = 0.5 * norm2 + float(upper @ slacks)
    excess = margins + ridge * alpha - 1.0
    violation = np.where(alpha <= 0, np.maximum(-excess, 0), np.abs(excess))
    violation = np.where(alpha >= upper * (1 - 1e-12), np.maximum(excess, 0), violation)
    return SVMSolution(
        beta, primal, relative_gap(primal, dual), n_iter, converged, bias,
        dual=dual, margins=margins, slacks=slacks, upper=upper, norm=float(np.sqrt(norm2)),
        kkt=float(violation.max()), ridge=ridge if penalty is not None else 0.0, const=const,
        bias_unique=unique, ordinary=ordinary,
    )  # fmt: skip


def relative_gap(primal: float, dual: float) -> float:
    """Return ``(primal - dual) / max(|primal|, |dual|)``, not below zero."""
    scale = max(abs(primal), abs(dual), np.finfo(float).tiny)
    return max(primal - dual, 0.0) / scale if np.isfinite(primal) else np.inf


def C_of_lambda(lam: float, n: int) -> float:
    r"""Return :math:`C = 1 / 2\lambda n`, for :math:`\lambda\|w\|^2` against the mean loss.

    The text of Herbrich (2002), D.2.1, has :math:`1 / 2\lambda`; its program has the factor n.

    >>> C_of_lambda(0.05, 8)
    1.25
    """
    return 1.0 / (2.0 * positive(lam, "lam") * whole(n, "n", least=1))


def lambda_of_C(C: float, n: int) -> float:
    r"""Return :math:`\lambda = 1 / 2Cn`, the weight of :math:`\|w\|^2` against the mean loss.

    >>> lambda_of_C(1.25, 8)
    0.05
    """
    return 1.0 / (2.0 * positive(C, "C") * whole(n, "n", least=1))


def nu_of_C(solution: SVMSolution, C: float) -> float:
    r"""Return the :math:`\nu = \sum_i\alpha_i / Cn` whose machine is this linear soft margin.

    Parameters
    ----------
    solution : SVMSolution
        A linear soft margin solved with ``C``.
    C : float
        Its constant.
    """
    alpha = solution.alpha
    return within(float(alpha.sum()) / (positive(C, "C") * len(alpha)), "nu", 0.0, 1.0 + 1e-9)


def C_of_nu(solution: SVMSolution) -> float:
    r"""Return the :math:`C = 1 / \rho n` whose linear soft margin is this :math:`\nu`-machine.

    Its function is that of the :math:`\nu`-machine over :math:`\rho`, so
    :math:`\lambda = \rho / 2`.
    """
    return 1.0 / (positive(solution.rho, "rho") * len(solution.coefficients))
