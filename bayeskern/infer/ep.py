"""Expectation propagation: Gaussian sites that match the moments of the likelihood terms."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.checks import one_of, positive, whole
from bayeskern.covariance import as_prior
from bayeskern.errors import NotPSDError
from bayeskern.infer._logit import logit_moments
from bayeskern.infer.base import Conditional, GaussianState
from bayeskern.likelihoods import Likelihood, Logit


class _Sweep(NamedTuple):
    """Everything that follows from the sites."""

    posterior: Any
    alpha: np.ndarray
    mean: np.ndarray
    cavity_mean: np.ndarray
    cavity_var: np.ndarray
    log_tilted: np.ndarray
    tau: np.ndarray  # the sites that would match the moments
    nu: np.ndarray
    mismatch: float


def _look(prior, likelihood: Likelihood, y: np.ndarray, tau, nu, restricted=False) -> _Sweep | None:
    """Compare every marginal with its tilted moments; None if a marginal or cavity is improper."""
    try:
        posterior = prior.meet(tau)
    except NotPSDError:
        return None
    alpha = nu - posterior.shrink(prior.times(nu))
    mean, var = prior.times(alpha), posterior.var
    if not (var > 0).all():
        return None
    cavity_tau, cavity_nu = 1.0 / var - tau, mean / var - nu
    if not (cavity_tau > 0).all():
        return None
    cavity_mean, cavity_var = cavity_nu / cavity_tau, 1.0 / cavity_tau
    log_tilted, m, v = _tilted(likelihood, y, cavity_mean, cavity_var)
    v = np.maximum(v, 1e-300)
    tau2, nu2 = _match(cavity_tau, cavity_nu, m, v)
    if restricted:
        wider = tau2 < 0  # the term wants more variance than its cavity has: match the mean alone
        tau2[wider], nu2[wider] = 0.0, (m - cavity_mean)[wider] * cavity_tau[wider]
        v = np.where(wider, 1.0 / (cavity_tau + tau2), v)
    gap = np.maximum(np.abs(m - mean) / np.sqrt(var), np.abs(v / var - 1.0))
    return _Sweep(
        posterior, alpha, mean, cavity_mean, cavity_var, log_tilted, tau2, nu2, float(gap.max())
    )


def _tilted(likelihood, y, mean, var):
    """Tilted moments, compiled for the logistic link where its Gaussian is not too wide."""
    if type(likelihood) is not Logit:
        return likelihood.tilted(y, mean, var)
    c = 2.0 / likelihood.beta
    s = c * np.sqrt(var)
    if s.max() > 6.0:
        return likelihood.tilted(y, mean, var)
    log_z, centre, spread = np.empty((3, len(y)))
    logit_moments(c * y * mean, s, log_z, centre, spread)
    return log_z, y * centre / c, spread / c**2


def _match(cavity_tau, cavity_nu, m, v):
    """Sites that give the tilted moments; tiny negative precisions are rounding."""
    tau = 1.0 / v - cavity_tau
    tau = np.where(np.abs(tau) < 1e-10 * cavity_tau, 0.0, tau)
    return tau, m / v - cavity_nu


def _log_evidence(s: _Sweep, tau: np.ndarray, nu: np.ndarray) -> float:
    cavity_tau = 1.0 / s.cavity_var
    total = cavity_tau + tau
    m = s.cavity_mean
    parts = s.log_tilted + 0.5 * np.log1p(tau * s.cavity_var) - 0.5 * nu**2 / total
    parts += 0.5 * m * cavity_tau * (tau * m - 2.0 * nu) / total
    return float(parts.sum() - 0.5 * s.posterior.logdet + 0.5 * nu @ s.mean)


def parallel(prior, likelihood, y, tau, nu, *, tol: float, max_sweeps: int, restricted=False):
    """Move all sites at once, by less whenever the mismatch of the moments grows."""
    now = _look(prior, likelihood, y, tau, nu, restricted)
    if now is None:
        tau, nu = np.zeros(len(y)), np.zeros(len(y))
        now = _look(prior, likelihood, y, tau, nu, restricted)
        assert now is not None  # without sites the marginals are those of the prior
    damping, sweeps = 1.0, 1
    while now.mismatch > tol and sweeps < max_sweeps:
        rate = damping
        while True:
            tau2, nu2 = tau + rate * (now.tau - tau), nu + rate * (now.nu - nu)
            then = _look(prior, likelihood, y, tau2, nu2, restricted)
            sweeps += 1
            if then is not None:
                break
            rate /= 2
            if rate < 1e-6 or sweeps >= max_sweeps:
                return now, tau, nu, sweeps
        if then.mismatch > now.mismatch:
            damping = max(0.7 * rate, 0.3 if sweeps < 60 else 0.05)
        now, tau, nu = then, tau2, nu2
    return now, tau, nu, sweeps


def sequential(prior, likelihood, y, tau, nu, *, tol: float, max_sweeps: int, damping=1.0):
    """Move one site after the other, updating the covariance each time."""
    tau, nu = tau.copy(), nu.copy()
    now = _look(prior, likelihood, y, tau, nu)
    if now is None:
        tau[:], nu[:] = 0.0, 0.0
        now = _look(prior, likelihood, y, tau, nu)
        assert now is not None  # without sites the marginals are those of the prior
    sweeps = 0
    while now.mismatch > tol and sweeps < max_sweeps:
        sweeps += 1
        Sigma, mean, before = now.posterior.cov.copy(), now.mean.copy(), (tau.copy(), nu.copy())
        for i in range(len(y)):
            cavity_tau, cavity_nu = 1.0 / Sigma[i, i] - tau[i], mean[i] / Sigma[i, i] - nu[i]
            if not cavity_tau > 0:
                continue
            _, m, v = likelihood.tilted(y[i : i + 1], cavity_nu / cavity_tau, 1.0 / cavity_tau)
            tau2, nu2 = _match(cavity_tau, cavity_nu, m[0], max(v[0], 1e-300))
            d_tau, d_nu = damping * (tau2 - tau[i]), damping * (nu2 - nu[i])
            if 1.0 + d_tau * Sigma[i, i] <= 0:
                continue
            column = Sigma[:, i].copy()
            scale = 1.0 / (1.0 + d_tau * column[i])
            mean += scale * (d_nu - d_tau * mean[i]) * column
            Sigma -= np.outer(d_tau * scale * column, column)
            tau[i] += d_tau
            nu[i] += d_nu
        then = _look(prior, likelihood, y, tau, nu)
        if then is None:
            return now, *before, sweeps
        if then.mismatch > now.mismatch:
            damping = max(0.7 * damping, 0.1)
        now = then
    return now, tau, nu, sweeps


@dataclass(frozen=True)
class EP(Conditional):
    r"""Expectation propagation: a Gaussian whose marginals match the tilted moments.

    Each likelihood term is replaced by a Gaussian site with natural parameters
    :math:`(\tau_i, \nu_i)`, chosen so that the marginal of ``f_i`` has the mean and the variance
    of the cavity (the marginal without the site) times the true term. Exact for a Gaussian
    likelihood and for independent points; not exact where labels constrain one another, as with
    `Step` and nearly collinear inputs.

    Sites of `LabelFlip` and `Hinge`, which are not log-concave, may have negative precision. Where
    these drive the posterior improper, as for rare label flips among strongly correlated points,
    the sites are restricted to non-negative precision, matching the mean alone where the variance
    would have to grow; the state then says ``extra["restricted"]`` and its gradient is
    approximate.

    Parameters
    ----------
    tol : float, default=1e-6
        Largest mismatch of a mean (in standard deviations) or of a variance (relative). The
        error of the log evidence is quadratic in it.
    max_sweeps : int, default=500
        Sweeps over the sites at most.
    schedule : {"parallel", "sequential"}, default="parallel"
        Move all sites at once, or one after the other. The fixed points are the same.

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[-1.0], [0.0], [1.0]], [-1, 1, 1], bk.RBF(), bk.Probit())
    >>> round(EP().at(gp, {}).log_evidence, 4)
    -2.1236

    References
    ----------
    Minka (2001); Rasmussen and Williams (2006), 3.6.
    """

    tol: float = 1e-6
    max_sweeps: int = 500
    schedule: str = "parallel"
    evidence_kind: ClassVar[str] = "ep"
    needs: ClassVar[tuple[str, ...]] = ("tilted",)

    def __post_init__(self):
        positive(self.tol, "tol")
        whole(self.max_sweeps, "max_sweeps", least=1)
        one_of(self.schedule, "schedule", ("parallel", "sequential"))

    def at(
        self, problem: LatentGaussian, theta: Theta, warm: GaussianState | None = None
    ) -> GaussianState:
        """Return the approximate posterior at fixed hyperparameters."""
        prior = as_prior(problem.prior_cov(theta))
        likelihood, n = problem.likelihood_at(theta), len(problem.y)
        tau, nu = np.zeros(n), np.zeros(n)
        if warm is not None:
            tau, nu = warm.W, warm.extra["nu"]
        run = parallel if self.schedule == "parallel" else sequential
        limits: dict[str, Any] = {"tol": self.tol, "max_sweeps": self.max_sweeps}
        last, tau, nu, sweeps = run(prior, likelihood, problem.y, tau, nu, **limits)
        restricted = last.mismatch > self.tol and bool((last.tau < 0).any())
        if restricted:
            zero = np.zeros(n)
            last, tau, nu, more = parallel(
                prior, likelihood, problem.y, zero, zero, restricted=True, **limits
            )
            sweeps += more
        return GaussianState(
            last.posterior,
            last.alpha,
            last.mean,
            _log_evidence(last, tau, nu),
            last.mismatch <= self.tol,
            sweeps,
            extra={
                "nu": nu,
                "cavity_mean": last.cavity_mean,
                "cavity_var": last.cavity_var,
                "log_tilted": last.log_tilted,
                "mismatch": last.mismatch,
                "restricted": restricted,
            },
        )
