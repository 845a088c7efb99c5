r"""Kernel logistic regression, for two classes and for more.

The objective is :math:`\sum_i \ell(y_i, f(x_i)) + \frac\lambda2 \|f\|^2`. Without a kernel use
``sklearn.linear_model.LogisticRegression(C=1 / lam)``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import entr, expit, logsumexp, softmax

from bayeskern.checks import as_gram, as_labels, positive, whole
from bayeskern.classic._classes import one_hot
from bayeskern.classic.result import Solution
from bayeskern.errors import ConvergenceWarning
from bayeskern.linalg import cholesky


@dataclass(frozen=True, eq=False, kw_only=True)
class LogisticSolution(Solution):
    r"""A kernel logistic classifier, certified by the gap to its concave dual.

    The ``coefficients`` are the canonical ones, :math:`c_i = y_i \sigma(-y_i f(x_i)) / \lambda`, so
    that :math:`0 < y_i c_i < 1 / \lambda`; with several classes they are a matrix, one column each.

    Attributes
    ----------
    fitted : ndarray
        The outputs at the sample.
    norm : float
        The norm of the function.
    lam : float
        The penalty.
    """

    fitted: np.ndarray
    norm: float
    lam: float

    def predict_proba(self, K: Any) -> np.ndarray:
        """Return class probabilities at new points: of -1 and +1, or of class 0, 1, 2 and so on.

        Parameters
        ----------
        K : array of shape (m, n)
            Kernel between new points and the sample.
        """
        f = self(K)
        return np.column_stack([expit(-f), expit(f)]) if f.ndim == 1 else softmax(f, axis=1)


def kernel_logistic(
    K: Any, y: Any, lam: float, *, tol: float = 1e-10, max_iter: int = 100
) -> LogisticSolution:
    r"""Minimise :math:`\sum_i \log(1 + e^{-y_i f(x_i)}) + \frac\lambda2 \|f\|^2` by Newton steps.

    The minimiser is the mode of Gaussian-process classification with the logit link and prior
    covariance :math:`K / \lambda`. There is no offset; add a constant to the kernel for one.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix, positive semidefinite; it may be singular.
    y : array of shape (n,)
        Labels -1 and +1.
    lam : float
        Penalty, positive.
    tol : float, default=1e-10
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Newton steps after which to stop with a warning.

    Returns
    -------
    LogisticSolution
        With one coefficient per point.

    Examples
    --------
    >>> kernel_logistic([[1, -1], [-1, 1]], [1, -1], 1.0).fitted.round(7)
    array([ 0.6748316, -0.6748316])
    """
    K = as_gram(K, psd=True)
    y = as_labels(y, len(K))
    lam = positive(lam, "lam")
    prior = K / lam

    def step(f: np.ndarray) -> np.ndarray:
        p = expit(f)
        root = np.sqrt(p * (1 - p))
        b = root**2 * f + (y + 1) / 2 - p
        B = cholesky(np.eye(len(y)) + root[:, None] * prior * root, name="the Newton matrix")
        return b - root * B.solve(root * (prior @ b))

    def loss(f: np.ndarray) -> float:
        return float(np.logaddexp(0, -y * f).sum())

    def dual(f: np.ndarray) -> tuple[np.ndarray, float]:
        q = expit(-y * f)
        return y * q, float((entr(q) + entr(1 - q)).sum())

    return _newton(prior, step, loss, dual, np.zeros(len(y)), lam, tol, max_iter)


def kernel_softmax(
    K: Any, labels: Any, lam: float, *, tol: float = 1e-10, max_iter: int = 100
) -> LogisticSolution:
    r"""Minimise :math:`-\sum_i \log p_{y_i}(x_i) + \frac\lambda2 \sum_\ell \|f_\ell\|^2`.

    The probabilities are the softmax of one function per class; the penalty makes the functions sum
    to 0. With two classes this is `kernel_logistic` with half the penalty. A Newton step costs one
    factorisation per class (Rasmussen and Williams 2006, algorithm 3.3).

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix, positive semidefinite.
    labels : array of int of shape (n,)
        Classes 0, 1, ..., each with at least one member.
    lam, tol, max_iter
        As for `kernel_logistic`.

    Returns
    -------
    LogisticSolution
        With ``coefficients`` of shape (n, classes).

    Examples
    --------
    >>> kernel_softmax(np.eye(3), [0, 1, 2], 1.0).predict_proba(np.eye(3)).argmax(axis=1)
    array([0, 1, 2])
    """
    K = as_gram(K, psd=True)
    lam = positive(lam, "lam")
    prior, D = K / lam, one_hot(labels, len(K))
    n, k = D.shape

    def step(F: np.ndarray) -> np.ndarray:
        P = softmax(F, axis=1)
        E = np.empty((k, n, n))
        for column in range(k):
            root = np.sqrt(P[:, column])
            B = cholesky(np.eye(n) + root[:, None] * prior * root, name="the Newton matrix")
            half = B.half_solve(np.diag(root))
            E[column] = half.T @ half
        M = cholesky(E.sum(axis=0), name="the Newton matrix")
        b = P * F - P * (P * F).sum(axis=1, keepdims=True) + D - P
        c = np.einsum("lij,jl->il", E, prior @ b)
        shared = M.solve(c.sum(axis=1))
        return b - c + np.einsum("lij,j->il", E, shared)

    def loss(F: np.ndarray) -> float:
        return float(logsumexp(F, axis=1).sum() - (F * D).sum())

    def dual(F: np.ndarray) -> tuple[np.ndarray, float]:
        P = softmax(F, axis=1)
        return D - P, float(entr(P).sum())

    return _newton(prior, step, loss, dual, np.zeros((n, k)), lam, tol, max_iter)


def _newton(
    prior: np.ndarray,
    step: Callable[[np.ndarray], np.ndarray],
    loss: Callable[[np.ndarray], float],
    dual: Callable[[np.ndarray], tuple[np.ndarray, float]],
    a: np.ndarray,
    lam: float,
    tol: float,
    max_iter: int,
) -> LogisticSolution:
    """Move ``a``, with ``f = prior a``, by Newton steps that are halved until they descend."""
    tol, max_iter = positive(tol, "tol"), whole(max_iter, "max_iter", least=1)
    f, value = prior @ a, loss(prior @ a)
    n_iter, near = 0, False
    while True:
        c, entropy = dual(f)  # the slope of the loss: at the minimum, a itself
        g = prior @ c
        norm2 = float((c * g).sum())
        primal = loss(g) + norm2 / 2
        gap = (primal - (entropy - norm2 / 2)) / max(abs(primal), np.finfo(float).tiny)
        if n_iter == max_iter or near:
            break
        near = gap <= tol  # one more step, for the gap is only the square of the error
        n_iter += 1
        target = step(f)
        for halving in range(30):
            new = a + 0.5**halving * (target - a)
            h = prior @ new
            descended = loss(h) + float((new * h).sum()) / 2
            if descended <= value + 1e-12 * abs(value):
                break
        a, f, value = new, h, descended
    if gap > tol:
        warnings.warn(
            f"kernel logistic regression stopped after {n_iter} steps at a relative gap of"
            f" {gap:.2g}; raise max_iter or lam",
            ConvergenceWarning,
            stacklevel=3,
        )
    return LogisticSolution(
        c / lam,
        objective=primal,
        gap=max(gap, 0.0),
        n_iter=n_iter,
        converged=gap <= tol,
        fitted=g,
        norm=(max(norm2, 0.0) / lam) ** 0.5,
        lam=lam,
    )
