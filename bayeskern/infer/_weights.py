r"""Weights of a basis given their prior variances: Gaussian posterior, Laplace mode, evidence.

Everything is scaled by the square root of :math:`\theta`, so that a variance may fall to zero.
"""

from typing import Any, NamedTuple

import numpy as np

from bayeskern.linalg import cho_inverse, cholesky

_LOG_2PI = float(np.log(2 * np.pi))


class Weights(NamedTuple):
    r"""Gaussian posterior of weights with ``zeta`` :math:`= \theta_i S_i`, their determinacy."""

    mean: np.ndarray
    var: np.ndarray
    zeta: np.ndarray
    logdet: float  # of I + theta^1/2 X'WX theta^1/2
    cov: np.ndarray | None  # only when there are no more weights than observations


def weights_given(
    X: np.ndarray,
    theta: np.ndarray,
    W: np.ndarray,
    Wt: np.ndarray,
    gram: np.ndarray | None = None,
) -> Weights:
    r"""Posterior of ``w ~ N(0, diag(theta))`` from targets with precisions ``W``.

    .. math:: \Sigma = (X' W X + \Theta^{-1})^{-1}, \qquad \mu = \Sigma X' W t .

    ``Wt`` is the product of precisions and targets; ``gram`` is :math:`X' W X` where known.
    """
    m, n = X.shape
    if not n:
        return Weights(np.zeros(0), np.zeros(0), np.zeros(0), 0.0, np.zeros((0, 0)))
    root = np.sqrt(theta)
    if n > m:
        half = np.sqrt(W)[:, None] * X * root
        factor = cholesky(np.eye(m) + half @ half.T)
        V = factor.half_solve(half)
        zeta = np.einsum("ij,ij->j", V, V)
        mean = root * (half.T @ (factor.solve(_over_root(Wt, W))))
        return Weights(mean, theta * np.maximum(1 - zeta, 0.0), zeta, factor.logdet, None)
    gram = X.T @ (W[:, None] * X) if gram is None else gram
    T = gram * np.outer(root, root)
    B = T.copy()
    B.flat[:: n + 1] += 1.0
    factor = cholesky(B)
    inverse = cho_inverse(factor.L)
    diagonal = inverse.diagonal()
    # 1 - diagonal would cancel for a small theta, and a weight then bounces back from zero
    zeta = np.where(diagonal < 0.9, 1 - diagonal, np.einsum("ij,ij->i", inverse, T))
    cov = inverse * np.outer(root, root)
    mean = root * factor.solve(root * (X.T @ Wt))
    return Weights(mean, cov.diagonal(), np.clip(zeta, 0.0, 1.0), factor.logdet, cov)


def full_cov(X: np.ndarray, theta: np.ndarray, W: np.ndarray, state: Weights) -> np.ndarray:
    """Posterior covariance of the weights, also where there are more than observations."""
    if state.cov is not None:
        return state.cov
    half = np.sqrt(W)[:, None] * X * np.sqrt(theta)
    V = cholesky(np.eye(len(X)) + half @ half.T).half_solve(half * np.sqrt(theta))
    return np.diag(theta) - V.T @ V


def _over_root(Wt: np.ndarray, W: np.ndarray) -> np.ndarray:
    return Wt / np.sqrt(np.maximum(W, np.finfo(float).tiny))


def gaussian_log_evidence(
    X: np.ndarray, t: np.ndarray, theta: np.ndarray, sigma2: float, state: Weights
) -> float:
    r""":math:`\log N(t; 0, \sigma^2 I + X \Theta X')`, from the posterior of the weights.

    Herbrich (2002), eqs. 3.25 and B.18.
    """
    residual = t - X @ state.mean
    kept = theta > 0
    fit = residual @ residual / sigma2 + (state.mean[kept] ** 2 / theta[kept]).sum()
    return float(-0.5 * (len(t) * (_LOG_2PI + np.log(sigma2)) + state.logdet + fit))


class Mode(NamedTuple):
    """Laplace approximation of the weights at fixed variances."""

    w: np.ndarray
    f: np.ndarray
    slope: np.ndarray
    W: np.ndarray
    state: Weights
    log_evidence: float
    converged: bool


def laplace_mode(
    X: np.ndarray,
    theta: np.ndarray,
    y: np.ndarray,
    likelihood: Any,
    w: np.ndarray | None = None,
    *,
    max_iter: int = 100,
    tol: float = 1e-12,
) -> Mode:
    r"""Maximise :math:`J(w) = \sum_i \log p(y_i | x_i' w) - \frac12 w' \Theta^{-1} w` by Newton.

    The evidence is :math:`J(\mu) - \frac12 \log|I + \Theta^{1/2} X' W X \Theta^{1/2}|`. Steps are
    halved until they gain; the search stops when a step promises less than ``tol``.
    """
    w = np.zeros(X.shape[1]) if w is None else w
    inverse = 1.0 / np.maximum(theta, np.finfo(float).tiny)

    def objective(w, f):
        return likelihood.logp(y, f).sum() - 0.5 * (inverse * w) @ w

    f = X @ w
    value = objective(w, f)
    if not value >= (nothing := likelihood.logp(y, np.zeros(len(y))).sum()):
        w, f, value = np.zeros_like(w), np.zeros(len(y)), nothing
    converged = False
    for _ in range(max_iter):
        slope, W = likelihood.slope(y, f), likelihood.curvature(y, f)
        state = weights_given(X, theta, W, W * f + slope)
        step = state.mean - w
        promise = step @ (X.T @ slope - inverse * w)
        if promise <= tol * (1 + abs(value)):
            # the last step is free, and small weights need it
            w, f, converged = state.mean, X @ state.mean, True
            value = objective(w, f)
            break
        f_step, size = X @ step, 1.0
        for _ in range(30):
            w_new, f_new = w + size * step, f + size * f_step
            new = objective(w_new, f_new)
            if new >= value + 1e-4 * size * promise:
                break
            size /= 2
        else:
            converged = promise < 1e-6 * (1 + abs(value))  # rounding, not a failure
            break
        w, f, value = w_new, f_new, new
    slope, W = likelihood.slope(y, f), likelihood.curvature(y, f)
    return Mode(w, f, slope, W, state, float(value - 0.5 * state.logdet), converged)


def evidence_slopes(
    X: np.ndarray, mode: Mode, y: np.ndarray, likelihood: Any
) -> tuple[np.ndarray, np.ndarray]:
    r"""Total derivative of the Laplace evidence for :math:`\log\theta` and for the basis ``X``.

    It includes the movement of the mode, which the fixed-point updates leave out:

    .. math:: \frac{d \log q}{d \log \theta_i} = -\tfrac12 (\zeta_i - \mu_i^2 / \theta_i)
              + g_i \mu_i / \theta_i, \qquad g = \tfrac12 \Sigma X' (h \circ \ell'''),

    with :math:`h` the posterior variances of the latent values. Exact for Gaussian noise, where
    the third derivative vanishes. Needs no more weights than observations.
    """
    state = mode.state
    if state.cov is None:
        raise ValueError(
            f"the gradient needs no more weights than observations, got {X.shape[1]} for {len(X)}"
        )
    XS = X @ state.cov
    s = 0.5 * np.einsum("ij,ij->i", XS, X) * likelihood.third(y, mode.f)
    g = XS.T @ s
    pull = X.T @ mode.slope  # = mu / theta at the mode, and finite where theta is tiny
    log_theta = -0.5 * (state.zeta - mode.w * pull) + g * pull
    basis = np.outer(mode.slope + s - mode.W * (X @ g), mode.w)
    basis += np.outer(mode.slope, g) - mode.W[:, None] * XS
    return log_theta, basis
