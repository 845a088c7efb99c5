"""Gaussian-process regression in closed form."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Problem, Theta
from bayeskern.covariance import as_prior
from bayeskern.infer.base import Conditional, GaussianState
from bayeskern.likelihoods import Gaussian


@dataclass(frozen=True)
class Exact(Conditional):
    r"""The exact posterior of ``f`` under Gaussian noise.

    With :math:`C = K + \sigma^2 I` the coefficients are :math:`\alpha = C^{-1} y` and

    .. math:: \log p(y | \theta) = -\tfrac12 (n \log 2\pi + \log |C| + y'\alpha).

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[0.0], [1.0], [2.0]], [0, 1, 0], bk.RBF(), bk.Gaussian(0.1**0.5))
    >>> state = Exact().at(gp, {})
    >>> round(state.log_evidence, 8)
    -3.49357802
    """

    evidence_kind: ClassVar[str] = "exact"

    def serve(self, problem: Problem) -> None:
        """Refuse any likelihood but the Gaussian."""
        super().serve(problem)
        if not isinstance(problem.likelihood, Gaussian):  # type: ignore[attr-defined]
            raise ValueError(
                "Exact needs a Gaussian likelihood,"
                f" got {type(problem.likelihood).__name__}; use Laplace() or EP()"  # type: ignore[attr-defined]
            )

    def at(self, problem: LatentGaussian, theta: Theta, warm: Any = None) -> GaussianState:
        """Return the posterior at fixed hyperparameters."""
        prior = as_prior(problem.prior_cov(theta))
        y, n = problem.y, len(problem.y)
        variance = problem.likelihood_at(theta).sigma ** 2  # type: ignore[attr-defined]
        posterior = prior.meet(np.full(n, 1.0 / variance))
        alpha = posterior.shrink(y)
        logdet = posterior.logdet + n * np.log(variance)
        log_evidence = -0.5 * (n * np.log(2 * np.pi) + logdet + y @ alpha)
        return GaussianState(posterior, alpha, prior.times(alpha), float(log_evidence), True)
