"""PAC-Bayes for Gaussian posteriors: linear classifiers and Gaussian processes."""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.pac_bayes import GIBBS, kl_inverse
from bayeskern.classic.bounds.result import IID, PRIOR_FIRST, Bound, assemble, recorded, share


def gaussian_kl(mean: Any, cov: Any, prior_cov: Any, prior_mean: Any = None) -> float:
    r"""Divergence :math:`\mathrm{KL}(N(\mu,\Sigma)\,\|\,N(\mu_0,K))` of two Gaussians.

    .. math:: \tfrac12\Big(\mathrm{tr}\,K^{-1}\Sigma+(\mu-\mu_0)^\top K^{-1}(\mu-\mu_0)-n
              +\ln\frac{|K|}{|\Sigma|}\Big)

    No jitter is added: it would change the prior and can shrink the divergence by orders of
    magnitude. Both matrices must be positive definite.

    Examples
    --------
    >>> round(gaussian_kl([1.0], [[0.25]], [[1.0]]), 10)
    0.8181471806
    """
    mean = np.atleast_1d(domain.numbers(mean, "mean"))
    shift = (
        mean
        if prior_mean is None
        else mean - np.atleast_1d(domain.numbers(prior_mean, "prior_mean"))
    )
    L, S = _factor(prior_cov, "prior_cov"), _factor(cov, "cov")
    if not len(L) == len(S) == len(shift):
        raise ValueError(
            f"mean, cov and prior_cov must agree in size, got {len(shift)}, {len(S)}, {len(L)}"
        )
    ratio = solve_triangular(L, S, lower=True)
    white = solve_triangular(L, shift, lower=True)
    log_ratio = np.log(np.diag(ratio))  # the diagonal of a triangular quotient
    return float(
        (0.5 * ((ratio**2).sum() + white @ white - len(L)) - log_ratio.sum()).clip(min=0.0)
    )


def gaussian_gibbs_error(mean: Any, variance: Any, y: Any) -> float:
    r"""Gibbs training error of a Gaussian posterior, :math:`\frac1m\sum_i\Phi(-y_i\mu_i/\sigma_i)`.

    Examples
    --------
    >>> gaussian_gibbs_error([0.0], [1.0], [1])
    0.5
    """
    mean = np.atleast_1d(domain.numbers(mean, "mean"))
    variance = np.atleast_1d(domain.positive(variance, "variance"))
    return float(ndtr(-domain.labels(y, len(mean)) * mean / np.sqrt(variance)).mean())


@recorded(size="")
def pac_bayes_gp(
    mean: Any,
    cov: Any,
    gram: Any,
    y: Any,
    delta: Any = 0.05,
    *,
    prior_mean: Any = None,
    counted: Any = None,
    prior_fixed: bool = True,
) -> Bound:
    r"""PAC-Bayes-kl bound of a Gaussian-process classifier (Seeger 2002).

    The prior is :math:`N(\mu_0,K)` and the posterior :math:`N(\mu,\Sigma)` on the latent values
    of the training points; other latents follow the prior given these, so that the divergence
    of the processes is that of the training marginals. Any Gaussian posterior is admitted:
    Laplace, EP, variational or the moments of a chain.

    Parameters
    ----------
    mean, cov : arrays of shape (n,) and (n, n)
        Posterior moments.
    gram : array of shape (n, n)
        Prior covariance, with the jitter that was used in fitting and no other.
    y : array of shape (n,)
        Labels -1 and +1.
    delta : float
        Failure probability.
    prior_mean : array of shape (n,), optional
        Prior mean, zero by default.
    counted : boolean array of shape (n,), optional
        The points whose errors count. If the prior was learned on some of the points, count
        the others only.
    prior_fixed : bool
        False if hyperparameters were set on the counted points: the result is then marked as
        not rigorous.

    Examples
    --------
    >>> K = [[1.0, 0.5], [0.5, 1.0]]
    >>> bound = pac_bayes_gp([1.0, 0.5], 0.25 * np.eye(2), K, [1, -1])
    >>> round(bound.ingredients["kl"], 9), round(bound.ingredients["gibbs_training_error"], 9)
    (1.075786658, 0.432047439)
    """
    mean = np.atleast_1d(domain.numbers(mean, "mean"))
    y, cov = domain.labels(y, len(mean)), domain.square(cov, "cov")
    chosen = np.ones(len(y), bool) if counted is None else np.asarray(counted)
    if chosen.dtype != bool or chosen.shape != y.shape or not chosen.any():
        raise ValueError(
            "counted must be a boolean array with one entry per point, some of them true"
        )
    kl = gaussian_kl(mean, cov, gram, prior_mean)
    q = gaussian_gibbs_error(mean[chosen], np.diag(cov)[chosen], y[chosen])
    m, delta = int(chosen.sum()), domain.failure(delta)
    parts = {"divergence": kl / m, "confidence": (np.log(2 * np.sqrt(m)) - np.log(delta)) / m}
    value = np.asarray(kl_inverse(q, parts["divergence"] + parts["confidence"]))
    return assemble(
        "PAC-Bayes bound of a Gaussian process",
        {"Gibbs training error": q, **share(value - q, parts)},
        delta=delta,
        rigorous=prior_fixed,
        statement="With probability at least 1 - delta the classifier drawn from this posterior"
        " has at most this risk.",
        reference="Seeger (2002), Theorem 1",
        assumptions=(IID, PRIOR_FIRST, GIBBS),
        ingredients={"kl": kl, "gibbs_training_error": q, "m": m},
    )


@recorded(size="")
def pac_bayes_linear(margins_normalised: Any, delta: Any = 0.05, mu: float | None = None) -> Bound:
    r"""PAC-Bayes-kl bound of a linear classifier with posterior :math:`N(\mu w/\|w\|,I)`.

    The divergence to :math:`N(0,I)` is :math:`\mu^2/2` and the Gibbs training error
    :math:`\frac1m\sum_i\Phi(-\mu\gamma_i)`, with the normalised margins
    :math:`\gamma_i=y_i\langle w,x_i\rangle/(\|w\|\|x_i\|)`. Uniform in w and :math:`\mu`.

    Parameters
    ----------
    margins_normalised : array of shape (m,)
        Normalised margins in [-1, 1] of all training points, errors included.
    delta : float
        Failure probability.
    mu : float, optional
        Length of the posterior mean; by default the best one.

    Examples
    --------
    >>> round(pac_bayes_linear(np.full(1000, 0.5)).value, 11)
    0.03020366968
    """
    if np.size(margins_normalised) == 0:
        raise ValueError("margins must not be empty")
    gamma = np.atleast_1d(domain.numbers(margins_normalised, "margins_normalised"))
    if (np.abs(gamma) > 1 + 1e-9).any():
        raise ValueError(
            f"margins_normalised must lie in [-1, 1], got {gamma[np.abs(gamma).argmax()].item()!r}"
        )
    m, delta = len(gamma), float(domain.failure(delta))
    confidence = np.log(2 * np.sqrt(m)) - np.log(delta)

    def value(length: float) -> float:
        return float(kl_inverse(ndtr(-length * gamma).mean(), (length**2 / 2 + confidence) / m))

    if mu is None:
        top = np.sqrt(2 * m)  # beyond, the divergence alone exceeds m nats
        grid = np.concatenate([[0.0], np.geomspace(1e-2, top, 25)])
        best = int(np.argmin([value(g) for g in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        found = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-7})
        mu = float(found.x) if found.fun < value(grid[best]) else float(grid[best])
    mu = float(domain.positive(mu, "mu", zero=True))
    q = float(ndtr(-mu * gamma).mean())
    parts = {"divergence": mu**2 / 2 / m, "confidence": confidence / m}
    return assemble(
        "PAC-Bayes bound of a linear classifier",
        {"Gibbs training error": q, **share(np.asarray(value(mu) - q), parts)},
        delta=delta,
        statement="With probability at least 1 - delta, for every w and mu at once, the classifier"
        " drawn from N(mu w / |w|, I) has at most this risk.",
        reference="Langford and Shawe-Taylor (2002)",
        assumptions=(IID, "no offset", GIBBS),
        ingredients={"mu": mu, "kl": mu**2 / 2, "gibbs_training_error": q},
    )


def _factor(A: Any, name: str) -> np.ndarray:
    A = domain.square(A, name)
    try:
        return cholesky((A + A.T) / 2, lower=True)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive definite") from None
