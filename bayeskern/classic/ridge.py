r"""Ridge regression and its kernel form, with the leave-one-out residuals that come for nothing.

Everywhere the objective is :math:`\frac12 \sum_i (t_i - f(x_i))^2 + \frac\lambda2 \|f\|^2`, so that
:math:`\lambda` is the noise variance of a Gaussian process with the same kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_array, as_gram, as_matrix, as_targets, positive
from bayeskern.classic.result import Solution
from bayeskern.linalg import cho_inverse, cholesky


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeSolution(Solution):
    r"""A ridge solution: expansion coefficients in kernel form, weights in primal form.

    ``gap`` is the relative difference of the primal value and the dual value
    :math:`\frac\lambda2 t' (K + \lambda I)^{-1} t`.

    Attributes
    ----------
    fitted : ndarray
        The values :math:`f(x_i)`.
    leverages : ndarray
        The diagonal of the hat matrix :math:`H`, with :math:`f = H t`.
    loo_residuals : ndarray
        :math:`t_i - f^{(-i)}(x_i) = (t_i - f(x_i)) / (1 - H_{ii})`, exact without refitting.
    norm : float
        The norm of the function.
    lam : float
        The penalty.
    """

    fitted: np.ndarray
    leverages: np.ndarray
    loo_residuals: np.ndarray
    norm: float
    lam: float

    @property
    def degrees_of_freedom(self) -> float:
        r"""The trace of the hat matrix, :math:`\sum_j \sigma_j / (\sigma_j + \lambda)`."""
        return float(self.leverages.sum())


def kernel_ridge(K: Any, t: Any, lam: float) -> RidgeSolution:
    r"""Minimise the penalised square in the space of a kernel: :math:`c = (K + \lambda I)^{-1} t`.

    There is no offset: centre ``t``, or add a constant to the kernel (which penalises it).

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix.
    t : array of shape (n,)
        Targets; labels -1 and +1 give the least-squares classifier.
    lam : float
        Penalty, positive; the noise variance of the Gaussian process with this posterior mean.

    Returns
    -------
    RidgeSolution
        In kernel form: call it with the kernel between new points and the sample.

    Examples
    --------
    >>> kappa = np.exp(-0.5)
    >>> kernel_ridge([[1, kappa], [kappa, 1]], [1, -1], 0.1).coefficients.round(7)
    array([ 2.0264684, -2.0264684])
    """
    K = as_gram(K)
    t = as_targets(t, len(K), "t")
    lam = positive(lam, "lam")
    factor = cholesky(K + lam * np.eye(len(K)), name=f"K + {lam:g} I", jitters=(0.0,))
    c = factor.solve(t)
    inverse = cho_inverse(factor.L).diagonal()
    return _solution(c, K @ c, float(c @ K @ c), t, c / inverse, 1 - lam * inverse, lam, c)


def linear_ridge(X: Any, t: Any, lam: float) -> RidgeSolution:
    r"""Minimise the penalised square over weights: :math:`w = (X'X + \lambda I)^{-1} X' t`.

    For the weights alone ``sklearn.linear_model.Ridge`` does as well; this adds leverages, exact
    leave-one-out residuals and the certificate. The smaller of the two systems is solved.

    Parameters
    ----------
    X : array of shape (n, p)
        Features, with a column of ones if an offset (then penalised too) is wanted.
    t : array of shape (n,)
        Targets.
    lam : float
        Penalty, positive.

    Returns
    -------
    RidgeSolution
        In primal form: call it with features.

    Examples
    --------
    >>> linear_ridge([[1.0], [2.0]], [1, 2], 1.0).coefficients.round(6)
    array([0.833333])
    """
    X = as_matrix(X)
    n, p = X.shape
    t = as_targets(t, n, "t")
    lam = positive(lam, "lam")
    if n < p:
        dual = kernel_ridge(X @ X.T, t, lam)
        w, leverages = X.T @ dual.coefficients, dual.leverages
    else:
        factor = cholesky(X.T @ X + lam * np.eye(p), jitters=(0.0,))
        w, leverages = factor.solve(X.T @ t), (factor.half_solve(X.T) ** 2).sum(axis=0)
    f = X @ w
    loo = (t - f) / (1 - leverages)
    return _solution(w, f, float(w @ w), t, loo, leverages, lam, (t - f) / lam)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Kernel ridge for many penalties: one row of ``coefficients`` and of the residuals for each.

    The least ``loo_error`` is optimistic as an estimate of the error to come.
    """

    lams: np.ndarray
    coefficients: np.ndarray
    loo_residuals: np.ndarray

    @property
    def loo_error(self) -> np.ndarray:
        """Mean squared leave-one-out residual for each penalty."""
        return (self.loo_residuals**2).mean(axis=1)

    @property
    def best(self) -> float:
        """The penalty of the least leave-one-out error, the largest one if several share it."""
        error = self.loo_error
        return float(self.lams[error == error.min()].max())


def kernel_ridge_path(K: Any, t: Any, lams: Any) -> RidgePath:
    """Solve kernel ridge for many penalties with one eigendecomposition.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix, positive semidefinite.
    t : array of shape (n,)
        Targets.
    lams : array of shape (m,)
        Penalties, all positive.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> kernel_ridge_path(X @ X.T, 2 * X[:, 0], [0.01, 1.0]).best
    0.01
    """
    K = as_gram(K, psd=True)
    t = as_targets(t, len(K), "t")
    lams = as_array(lams, "lams", ndim=1)
    positive(float(lams.min()), "lams")
    spectrum, U = np.linalg.eigh(K)
    inverse = 1 / (np.maximum(spectrum, 0) + lams[:, None])
    coefficients = (inverse * (U.T @ t)) @ U.T
    return RidgePath(lams, coefficients, coefficients / (inverse @ (U**2).T))


def _solution(
    coefficients: np.ndarray,
    f: np.ndarray,
    norm2: float,
    t: np.ndarray,
    loo: np.ndarray,
    leverages: np.ndarray,
    lam: float,
    c: np.ndarray,
) -> RidgeSolution:
    primal = float(((t - f) ** 2).sum()) / 2 + lam * norm2 / 2
    dual = lam * (float(t @ c) - float(c @ (f + lam * c)) / 2)
    gap = abs(primal - dual) / max(abs(primal), np.finfo(float).tiny)
    return RidgeSolution(
        coefficients,
        objective=primal,
        gap=gap,
        n_iter=1,
        converged=gap < 1e-6,
        fitted=f,
        leverages=leverages,
        loo_residuals=loo,
        norm=max(norm2, 0.0) ** 0.5,
        lam=lam,
    )
