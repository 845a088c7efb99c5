"""Variational Bayes for relevance vector machines: a factorised posterior, and its bound."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, log_expit

from bayeskern.bayes.problem import Problem
from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.checks import positive, whole
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer._weights import full_cov, weights_given
from bayeskern.infer.base import Inference
from bayeskern.infer.result import as_datatree
from bayeskern.infer.sparse_fit import kernel_start, noise_name
from bayeskern.likelihoods import Gaussian, Logit
from bayeskern.linalg import cholesky
from bayeskern.priors import _DENSITIES, Prior


@dataclass(frozen=True)
class SparseVariational(Inference):
    r"""Variational posterior :math:`q(w)\, q(\theta)\, q(\sigma)` of a relevance vector machine.

    With :math:`\theta_i^{-1} \sim \mathrm{Gamma}(a, \text{scale } b)` each sweep sets

    .. math:: q(w) = N(\mu, \Sigma), \qquad
              q(\theta_i^{-1}) = \mathrm{Gamma}\big(a + \tfrac12,\
              \text{rate } 1/b + \tfrac12(\mu_i^2 + \Sigma_{ii})\big),

    where :math:`\Sigma` has the mean precisions in place of :math:`\Theta^{-1}`. The noise level
    may have any `Prior`: its factor is one-dimensional and is integrated numerically. Labels take
    the quadratic bound of Jaakkola and Jordan for the logit. The bound on the log evidence rises
    with each sweep; it integrates over the variances and so is not the evidence that
    `SparseBayes` maximises. In the limit :math:`a \to 0, b \to \infty` the sweep is EM's. No
    weight becomes exactly zero.

    Parameters
    ----------
    max_iter : int, default=1000
        Most sweeps.
    tol : float, default=1e-6
        Stop when a sweep raises the bound by less, in nats.
    draws : int, default=500
        Independent draws of the weights and variances in the result.

    References
    ----------
    Bishop and Tipping (2000), Variational relevance vector machines; Jaakkola and Jordan (2000).
    """

    max_iter: int = 1000
    tol: float = 1e-6
    draws: int = 500

    solves: ClassVar[type] = RelevanceVector

    def __post_init__(self):
        whole(self.max_iter, "max_iter", least=1)
        whole(self.draws, "draws", least=1)
        positive(self.tol, "tol")

    def check(self, problem: Problem) -> None:
        """Refuse what has no closed update."""
        super().check(problem)
        assert isinstance(problem, RelevanceVector)
        if not isinstance(problem.theta, Prior) or problem.theta.distribution != "InverseGamma":
            raise ValueError(
                f"SparseVariational needs an InverseGamma prior of theta, got {problem.theta!r}"
            )
        if not isinstance(problem.likelihood, Gaussian | Logit):
            raise ValueError(
                f"SparseVariational is for Gaussian and Logit, got {problem.likelihood!r}"
            )
        if kernel_start(problem):
            raise ValueError(
                f"SparseVariational needs a kernel without free parameters, got {problem.kernel!r}"
            )

    def _run(self, problem: Any, random_seed: Any) -> Any:
        problem._check_proper()
        X, y = problem.design({}), problem.y
        parameters = problem.theta._full()
        a, rate0 = parameters["alpha"], parameters["beta"]
        gaussian = isinstance(problem.likelihood, Gaussian)
        data: Any = _Noise(problem) if gaussian else _Labels(problem)
        squares = np.maximum(np.mean(X**2, axis=0), np.finfo(float).tiny)
        theta = ((np.mean(y**2) or 1.0) if gaussian else 1.0) / squares
        trace: list[float] = []
        for _ in range(self.max_iter):
            state = weights_given(X, theta, data.W, data.Wt)
            cov = full_cov(X, theta, data.W, state)
            entropy = 0.5 * (len(theta) + np.log(theta).sum() - state.logdet)
            rate = rate0 + (state.mean**2 + state.var) / 2
            theta = rate / (a + 0.5)
            logs = a * np.log(rate0) - gammaln(a) + gammaln(a + 0.5) - (a + 0.5) * np.log(rate)
            f, var = X @ state.mean, np.einsum("ij,ij->i", X @ cov, X)
            trace.append(float(data.update(y, f, var) + logs.sum() + entropy))
            if len(trace) > 1 and trace[-1] - trace[-2] < self.tol:
                break
        else:
            warnings.warn(
                f"SparseVariational stopped after {self.max_iter} sweeps; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        rng = np.random.default_rng(random_seed)
        L = cholesky(cov, name="the posterior covariance").L
        w = state.mean + rng.standard_normal((self.draws, len(theta))) @ L.T
        posterior = {
            "w": w[None],
            "f": (w @ X.T)[None],
            "theta": (rate / rng.gamma(a + 0.5, size=(self.draws, len(rate))))[None],
        }
        name = noise_name(problem)
        if name:
            posterior[name] = data.sample(rng, self.draws)[None]
        numbers = {
            "weights": state.mean,
            "theta": theta,
            "mean_vector": state.mean,
            "covariance_matrix": cov,
            "trace": np.array(trace),
        }
        dims = {
            "weights": ["basis"],
            "mean_vector": ["basis"],
            "covariance_matrix": ["basis", "basis_other"],
            "trace": ["sweep"],
        }
        return as_datatree(
            problem,
            self,
            posterior,
            random_seed=random_seed,
            independent=True,
            fit=numbers,
            log_evidence=trace[-1],
            evidence_kind="variational bound",
            converged=len(trace) < self.max_iter,
            dims=dims,
        )


class _Noise:
    r"""The factor of the noise level.

    :math:`q(\sigma) \propto p(\sigma) \sigma^{-n} e^{-R/2\sigma^2}`,
    where :math:`R` is the expected squared residual.
    """

    def __init__(self, problem: RelevanceVector):
        self.name, self.t = noise_name(problem), problem.y
        self.prior = problem.likelihood.free().get(self.name or "")
        n = len(self.t)
        self.tau = 10.0 / max(float(self.t.var()), 1e-12 * float(np.mean(self.t**2)), 1e-300)
        if self.prior is None:
            self.tau = float(problem.likelihood.sigma) ** -2  # type: ignore[attr-defined]
        self.ones = np.ones(n)
        self._set()

    def _set(self) -> None:
        self.W, self.Wt = self.tau * self.ones, self.tau * self.t

    def update(self, y: np.ndarray, f: np.ndarray, var: np.ndarray) -> float:
        n = len(y)
        R = float(((y - f) ** 2).sum() + var.sum())
        if self.prior is None:
            return float(-0.5 * (n * np.log(2 * np.pi / self.tau) + self.tau * R))
        centre = 0.5 * np.log(R / n)
        u = np.linspace(centre - 20, centre + 20, 8001)
        g = self._log_density(u, n, R)
        inside = u[g > g.max() - 45]
        step = u[1] - u[0]
        u = np.linspace(inside[0] - step, inside[-1] + step, 2001)
        g = self._log_density(u, n, R)
        weights = np.exp(g - g.max())
        self.grid, self.chance = u, weights / weights.sum()
        self.tau = float(self.chance @ np.exp(-2 * u))
        self._set()
        return float(g.max() + np.log(weights.sum() * (u[1] - u[0])))

    def _log_density(self, u: np.ndarray, n: int, R: float) -> np.ndarray:
        """Log density of log sigma, and the likelihood with it."""
        assert self.prior is not None
        one = _DENSITIES[self.prior.distribution].logpdf(np.exp(u), **self.prior._full())
        return one + u - n * (u + 0.5 * np.log(2 * np.pi)) - 0.5 * R * np.exp(-2 * u)

    def sample(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        u = rng.choice(self.grid, size=draws, p=self.chance)
        return np.exp(u + (self.grid[1] - self.grid[0]) * (rng.random(draws) - 0.5))


class _Labels:
    r"""The bound on the logit.

    :math:`\log\sigma(z) \ge \log\sigma(\xi) + (z - \xi)/2 - \lambda(\xi)(z^2 - \xi^2)`.
    """

    def __init__(self, problem: RelevanceVector):
        self.c = 2.0 / float(problem.likelihood.beta)  # type: ignore[attr-defined]
        self.Wt = 0.5 * self.c * problem.y
        self.W = np.full(len(problem.y), self.c**2 / 4)

    def update(self, y: np.ndarray, f: np.ndarray, var: np.ndarray) -> float:
        xi = np.maximum(self.c * np.sqrt(f**2 + var), 1e-8)
        self.W = self.c**2 * np.tanh(xi / 2) / (2 * xi)
        return float((log_expit(xi) + (self.c * y * f - xi) / 2).sum())
