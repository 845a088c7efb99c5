"""Move a Gaussian prior over latent values towards labels: posteriors for PAC-Bayes."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr, ndtr

from bayeskern.classic.bounds import _domain as domain


class Updated(NamedTuple):
    """A Gaussian posterior by its sites: mean ``m0 + C a``, covariance ``(C^-1 + W)^-1``."""

    mean: np.ndarray
    variance: np.ndarray
    kl: float
    gibbs_error: float
    temperature: float


def site_kl(cov: Any, coefficients: Any, W: Any) -> tuple[float, np.ndarray]:
    r"""Divergence of :math:`N(m_0+Ca,(C^{-1}+W)^{-1})` from :math:`N(m_0,C)`, and its variances.

    .. math:: \tfrac12\Big(a^\top Ca-\sum_iW_i\Sigma_{ii}+\ln|I+W^{1/2}CW^{1/2}|\Big)

    C is never inverted, so it may be singular and needs no jitter.

    Examples
    --------
    >>> kl, variance = site_kl([[1.0]], [1.0], [3.0])
    >>> round(kl, 10), variance.round(10).tolist()
    (0.8181471806, [0.25])
    """
    C = domain.square(cov, "cov")
    a = np.atleast_1d(domain.numbers(coefficients, "coefficients"))
    W = np.atleast_1d(domain.positive(W, "W", zero=True))
    root = np.sqrt(W)
    L = cholesky(np.eye(len(C)) + root[:, None] * C * root, lower=True)
    half = solve_triangular(L, root[:, None] * C, lower=True)
    variance = np.maximum(np.diag(C) - (half**2).sum(0), 0.0)
    kl = 0.5 * (a @ C @ a - W @ variance) + np.log(np.diag(L)).sum()
    return max(float(kl), 0.0), variance


def gaussian_update(
    mean: Any, cov: Any, y: Any, temperature: float = 1.0, *, max_iter: int = 50
) -> Updated:
    r"""Laplace posterior of a probit model with weight t on its likelihood.

    Maximises :math:`t\sum_i\ln\Phi(y_if_i)-\frac12(f-m_0)^\top C^{-1}(f-m_0)` by Newton's method
    in :math:`a=C^{-1}(f-m_0)`. At t = 0 the prior itself is returned. PAC-Bayes bounds hold for
    every posterior at once, so the best of several weights may be chosen freely.

    Parameters
    ----------
    mean, cov : arrays of shape (m,) and (m, m)
        Prior moments :math:`m_0, C` of the latent values.
    y : array of shape (m,)
        Labels -1 and +1.
    temperature : float
        The weight t.

    Examples
    --------
    >>> before, after = (gaussian_update([0.0], [[4.0]], [1], t) for t in (0.0, 1.0))
    >>> before.kl, before.gibbs_error, after.gibbs_error < 0.4
    (0.0, 0.5, True)
    """
    m0, C = np.atleast_1d(domain.numbers(mean, "mean")), domain.square(cov, "cov")
    y = domain.labels(y, len(m0))
    t = float(domain.positive(temperature, "temperature", zero=True))
    C = (C + C.T) / 2

    def objective(a: np.ndarray) -> float:
        Ca = C @ a
        return float(t * log_ndtr(y * (m0 + Ca)).sum() - 0.5 * a @ Ca)

    a, best = np.zeros(len(m0)), objective(np.zeros(len(m0)))
    W = np.zeros(len(m0))
    for _ in range(max_iter):
        f = m0 + C @ a
        ratio = np.exp(-0.5 * f**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(y * f))
        slope, W = t * y * ratio, t * ratio * (ratio + y * f)
        W = np.maximum(W, 0.0)
        root = np.sqrt(W)
        L = cholesky(np.eye(len(C)) + root[:, None] * C * root, lower=True)
        r = slope - a
        inner = solve_triangular(L, root * (C @ r), lower=True)
        step = r - root * solve_triangular(L, inner, lower=True, trans="T")
        decrement, eta = float(r @ (C @ step)), 1.0
        while objective(a + eta * step) < best and eta > 1e-8:
            eta /= 2
        if decrement < 1e-12 * (1 + abs(best)) or eta <= 1e-8:
            break
        a = a + eta * step
        best = objective(a)
    kl, variance = site_kl(C, a, W)
    f = m0 + C @ a
    spread = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return Updated(f, variance, kl, float(ndtr(-y * f / spread).mean()), t)
