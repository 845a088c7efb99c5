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

    def check(self, problem: Problem) -> None:
        """Refuse free hyperparameters, besides what every method checks."""
        super().check(problem)
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
    """

    K: np.ndarray
    alpha: np.ndarray
    W: np.ndarray
    L: np.ndarray
    mean: np.ndarray
    log_evidence: float
    converged: bool
    n_iter: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def grad_prior_cov(self) -> np.ndarray:
        """Gradient of the log evidence with respect to the prior covariance, symmetric."""
        raise TypeError("this state was made without a gradient")

    @cached_property
    def _root(self) -> np.ndarray:
        return np.sqrt(self.W)

    @cached_property
    def cov(self) -> np.ndarray:
        """Posterior covariance."""
        V = self._half(self.K)
        return self.K - V.T @ V

    def _half(self, K_cross: np.ndarray) -> np.ndarray:
        from scipy.linalg import solve_triangular

        return solve_triangular(
            self.L, self._root[:, None] * K_cross, lower=True, check_finite=False
        )

    def predict(self, K_cross: np.ndarray, k_new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at new inputs.

        ``K_cross`` is the prior covariance of old with new, ``(n, m)``; ``k_new`` the prior
        variance, ``(m,)``, or covariance, ``(m, m)``, and then a covariance is returned.
        """
        V = self._half(K_cross)
        if k_new.ndim == 2:
            return K_cross.T @ self.alpha, k_new - V.T @ V
        var = k_new - np.einsum("ij,ij->j", V, V)
        return K_cross.T @ self.alpha, np.maximum(var, 0.0)

    def sample(self, rng: np.random.Generator, draws: int) -> np.ndarray:
        """Draw ``f``, ``(draws, n)``."""
        from bayeskern.linalg import cholesky

        L = cholesky(self.cov, name="the posterior covariance").L
        return self.mean + rng.standard_normal((draws, len(self.mean))) @ L.T
