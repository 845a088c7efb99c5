"""Methods as values: check what is needed of a problem, then run.

*Conditional* methods treat the latent vector given the hyperparameters and estimate
``log p(y | theta)``; *joint* ones treat the hyperparameters too. A conditional method owes one
function, `Conditional.at`, and gets evidence maximisation and hyperparameter sampling for nothing.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Problem, Theta
from bayeskern.covariance import DensePosterior

if TYPE_CHECKING:
    from xarray import DataTree


class Inference(ABC):
    """A way to treat a posterior; a frozen value that holds its settings."""

    solves: ClassVar[type] = Problem
    needs: ClassVar[tuple[str, ...]] = ()

    def run(self, problem: Problem, *, random_seed: Any = None) -> "DataTree":
        """Treat ``problem`` and return the result as a DataTree.

        Parameters
        ----------
        problem : Problem
            What is to be inferred.
        random_seed : int, optional
            The same seed gives the same draws.
        """
        self.check(problem)
        start = time.process_time()
        tree = self._run(problem, random_seed)
        tree.attrs["cpu_seconds"] = time.process_time() - start
        return tree

    def check(self, problem: Problem) -> None:
        """Raise a ``ValueError`` that says what this method needs and the problem lacks."""
        if not isinstance(problem, self.solves):
            raise ValueError(
                f"{type(self).__name__} is for a {self.solves.__name__},"
                f" got a {type(problem).__name__}"
            )
        likelihood = getattr(problem, "likelihood", None)
        missing = [part for part in self.needs if not hasattr(likelihood, part)]
        if missing:
            raise ValueError(
                f"{type(self).__name__} needs {' and '.join(missing)} of the likelihood,"
                f" which {type(likelihood).__name__} does not have"
            )

    @abstractmethod
    def _run(self, problem: Any, random_seed: Any) -> "DataTree": ...


class Conditional(Inference):
    """A method for the latent vector given the hyperparameters."""

    solves: ClassVar[type] = LatentGaussian
    evidence_kind: ClassVar[str] = "unknown"

    @abstractmethod
    def at(self, problem: LatentGaussian, theta: Theta, warm: Any = None) -> "GaussianState":
        """Return the Gaussian (approximate) posterior of ``f`` at fixed hyperparameters.

        ``warm`` is the state of a nearby ``theta``, to start from.
        """

    def _run(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        from bayeskern.infer.gaussian import from_gaussian

        return from_gaussian(problem, self, self.at(problem, {}), {}, random_seed)

    def serve(self, problem: Problem) -> None:
        """Raise unless this method can treat ``problem`` once its hyperparameters have values."""
        super().check(problem)

    def check(self, problem: Problem) -> None:
        """Refuse free hyperparameters, besides what every method checks."""
        self.serve(problem)
        free = problem.free()
        if free:
            raise ValueError(
                f"{type(self).__name__} treats f at fixed hyperparameters, but"
                f" {', '.join(free)} {'is' if len(free) == 1 else 'are'} free;"
                f" use EvidenceMax({self!r}) or HyperNUTS({self!r})"
            )


@dataclass(frozen=True, eq=False)
class GaussianState:
    r"""A Gaussian posterior of ``f``: its mean is :math:`K \alpha`, its precision adds ``W``.

    .. math:: \Sigma = (K^{-1} + W)^{-1} = K - K R K, \quad R = W^{1/2} B^{-1} W^{1/2},
              \quad B = I + W^{1/2} K W^{1/2} = L L' .

    ``W`` is diagonal: the curvature of the likelihood for Laplace, the site precisions for EP, the
    inverse noise for an exact fit. ``K`` is never inverted.

    Attributes
    ----------
    posterior : DensePosterior or LowRankPosterior
        The covariance in factored form.
    alpha, mean : ndarray of shape (n,)
        The mean and its coefficients.
    log_evidence : float
        The estimate of ``log p(y | theta)``.
    converged : bool
        Whether the method met its tolerance.
    n_iter : int
        Newton steps or sweeps.
    third : ndarray, optional
        Third derivatives of the log likelihood at the mode, when the evidence depends on them.
    extra : mapping
        What else the method found.
    """

    posterior: Any
    alpha: np.ndarray
    mean: np.ndarray
    log_evidence: float
    converged: bool
    n_iter: int = 0
    third: np.ndarray | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def K(self) -> np.ndarray:
        """Prior covariance."""
        return self.posterior.prior.K

    @property
    def W(self) -> np.ndarray:
        """Precisions of the sites."""
        return self.posterior.W

    @property
    def L(self) -> np.ndarray:
        """Lower Cholesky factor of ``B``."""
        return self.posterior.L

    @property
    def cov(self) -> np.ndarray:
        """Posterior covariance."""
        return self.posterior.cov

    @property
    def var(self) -> np.ndarray:
        """Posterior variances."""
        return self.posterior.var

    @cached_property
    def grad_prior_cov(self) -> Any:
        """Gradient of the log evidence with respect to the prior covariance, symmetric.

        A matrix, or for a low-rank prior an object with ``times`` and ``diag``.
        """
        implicit = None
        if self.third is not None:
            if isinstance(self.posterior, DensePosterior):
                _ = self.posterior.inverse  # so that the variances come from it
            # the mode moves with the covariance, and the curvature with the mode
            s = 0.5 * self.var * self.third
            implicit = s - self.posterior.shrink(self.posterior.prior.times(s))
        return self.posterior.gradient(self.alpha, implicit)

    def predict(self, K_cross: np.ndarray, k_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at new inputs.

        ``K_cross`` is the prior covariance of old with new, ``(n, m)``; ``k_new`` the prior
        variance, ``(m,)``, or covariance, ``(m, m)``, and then a covariance is returned.
        """
        mean = K_cross.T @ self.alpha
        if k_new.ndim == 2:
            return mean, k_new - self.posterior.reduction(K_cross, full=True)
        return mean, np.maximum(k_new - self.posterior.reduction(K_cross, full=False), 0.0)

    def sample(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw ``f``, ``(draws, n)``."""
        return self.mean + self.posterior.sample(rng, draws)

    def sample_quickly(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw ``f`` a few times, cheaply; with a jitter that `sample` does without."""
        return self.mean + self.posterior.sample_quickly(rng, draws)
