"""The evidence as a function of the logarithms of the hyperparameters."""

from typing import Any

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.errors import NotPSDError
from bayeskern.infer.base import Conditional, GaussianState
from bayeskern.infer.cached import cached

SERIAL = 700  # below so many points, one thread is faster


class LogTheta:
    """Positive hyperparameters as one vector of logarithms, and back."""

    def __init__(self, problem: LatentGaussian):
        self.priors = problem.free()
        self.sizes = {name: prior.size or 1 for name, prior in self.priors.items()}
        self.names = [
            name if prior.size is None else f"{name}[{k}]"
            for name, prior in self.priors.items()
            for k in range(prior.size or 1)
        ]
        self.size = len(self.names)

    def values(self, x: np.ndarray) -> dict[str, Any]:
        """Hyperparameters by name; a vector parameter is an array."""
        theta, place = {}, 0
        for name, prior in self.priors.items():
            part = np.exp(x[place : place + self.sizes[name]])
            theta[name] = part if prior.size is not None else float(part[0])
            place += self.sizes[name]
        return theta

    def vector(self, theta: Theta) -> np.ndarray:
        """Logarithms as one vector."""
        if not self.priors:
            return np.zeros(0)
        return np.log(np.concatenate([np.atleast_1d(theta[name]) for name in self.priors]))

    def vector_shift(self) -> np.ndarray:
        """Half the log number of entries, for each entry of a vector parameter."""
        return np.concatenate([np.full(k, 0.5 * np.log(k)) for k in self.sizes.values()])

    def gradient(self, theta: Theta, slopes: dict[str, Any]) -> np.ndarray:
        """Derivatives for the logarithms from those for the parameters."""
        parts = [np.atleast_1d(theta[name] * slopes[name]) for name in self.priors]
        return np.concatenate(parts) if parts else np.zeros(0)

    def log_prior(self, theta: Theta) -> tuple[float, np.ndarray]:
        """Log prior density of the parameters and its gradient for their logarithms."""
        value = sum(float(prior.logp(theta[name])) for name, prior in self.priors.items())
        return value, self.gradient(theta, {k: p.slope(theta[k]) for k, p in self.priors.items()})


class LogEvidence:
    """Log evidence and gradient at log hyperparameters, each call starting from the last state.

    Parameters
    ----------
    problem, inner
        What is to be inferred, and the conditional method.
    prior : bool
        Add the log prior density of the hyperparameters.
    jacobian : bool
        Make that the density of their logarithms.
    """

    def __init__(
        self,
        problem: LatentGaussian,
        inner: Conditional,
        *,
        prior: bool = False,
        jacobian: bool = False,
    ):
        self.problem, self.inner = cached(problem), inner
        self.prior, self.jacobian = prior, jacobian
        self.log_theta = LogTheta(problem)
        self.state: GaussianState | None = None
        self.last_x: np.ndarray | None = None
        self.n_eval = 0

    def at(self, x: np.ndarray) -> tuple[dict[str, Any], GaussianState | None]:
        """Hyperparameters and state; None where the covariance cannot be factored."""
        theta = self.log_theta.values(x)
        self.n_eval += 1
        try:
            state = self.inner.at(self.problem, theta, self.state)
            if not state.converged and self.state is not None:
                state = self.inner.at(self.problem, theta)
        except NotPSDError:
            return theta, None
        if not np.isfinite(state.log_evidence):
            return theta, None
        self.state, self.last_x = state, np.array(x)
        return theta, state

    def value(self, x: np.ndarray) -> float:
        """Log density alone."""
        theta, state = self.at(x)
        if state is None:
            return -np.inf
        total = state.log_evidence
        if self.prior:
            total += self.log_theta.log_prior(theta)[0]
        return total + x.sum() if self.jacobian else total

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density and gradient."""
        theta, state = self.at(x)
        if state is None:
            return -np.inf, np.zeros(len(x))
        total = state.log_evidence
        slope = self.log_theta.gradient(theta, self.problem.pullback(theta, state.grad_prior_cov))
        if self.prior:
            value, more = self.log_theta.log_prior(theta)
            total, slope = total + value, slope + more
        if self.jacobian:
            total, slope = total + x.sum(), slope + 1.0
        return total, slope


def few_threads(problem: LatentGaussian) -> Any:
    """Keep BLAS to one thread for small problems, where threads cost more than they give."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1 if len(problem.y) < SERIAL else None, user_api="blas")


def curvature(f: LogEvidence, x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Minus the Hessian by central differences of the gradient."""
    H = np.empty((len(x), len(x)))
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = step
        H[k] = (f(x - e)[1] - f(x + e)[1]) / (2 * step)
    return (H + H.T) / 2


def positive_part(H: np.ndarray, floor: float) -> np.ndarray:
    """Raise the eigenvalues of a symmetric matrix to at least ``floor``."""
    values, vectors = np.linalg.eigh(H)
    return (vectors * np.maximum(values, floor)) @ vectors.T
