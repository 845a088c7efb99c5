"""What a posterior is: `Problem`, and the shape most kernel models share, `LatentGaussian`.

A problem knows its data, its prior and its likelihood, in parts and as one PyMC model; it never
imports a method.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from bayeskern.likelihoods import Likelihood
from bayeskern.priors import Prior

Theta = Mapping[str, Any]


class Problem:
    """A posterior as a value: data, prior and likelihood.

    Subclasses are dataclasses with ``frozen=True, eq=False``. PyMC models do not pickle, so
    ``model`` is built on first use and left out of pickles.
    """

    def free(self) -> dict[str, Prior]:
        """Return the hyperparameters to infer: variable name to prior."""
        return {}

    def build(self) -> Any:
        """Write the posterior as a PyMC model."""
        raise TypeError(f"{type(self).__name__} does not say its PyMC model")

    @cached_property
    def model(self) -> Any:
        """The posterior as a PyMC model, centred."""
        return self.build()

    def coords(self) -> dict[str, Any]:
        """Return the coordinates of the result's dimensions."""
        return {}

    def dims(self) -> dict[str, list[str]]:
        """Return the dimensions of the result's variables, besides chain and draw."""
        return {}

    def observed_data(self) -> dict[str, Any]:
        """Return what was observed."""
        return {}

    def constant_data(self) -> dict[str, Any]:
        """Return what the model conditions on."""
        return {}

    def log_likelihood(self, posterior: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return log probabilities of the observations for draws of shape (chain, draw, ...)."""
        return {}

    def log_prior(self, theta: Theta) -> float:
        """Log prior density of the hyperparameters."""
        return float(sum(prior.logp(theta[name]) for name, prior in self.free().items()))

    def sample_theta(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the hyperparameters from their prior."""
        return {name: prior.sample(rng) for name, prior in self.free().items()}

    def __getstate__(self) -> dict[str, Any]:
        # cached properties (models, Gram matrices) are made again after unpickling
        cached = {
            name
            for cls in type(self).__mro__
            for name, value in vars(cls).items()
            if isinstance(value, cached_property)
        }
        return {k: v for k, v in self.__dict__.items() if k not in cached}


class LatentGaussian(Problem):
    r"""Hyperparameters :math:`\theta`, a Gaussian vector :math:`f`, and one observation of each.

    .. math:: f \sim N(0, K_\theta), \qquad y_i \sim p(y_i | f_i).

    A Gaussian process has the Gram matrix for :math:`K_\theta`; a relevance vector machine has
    :math:`f = A w` with independent weights, so :math:`K_\theta = A S_\theta A'`. Conditional
    methods see only what is here.
    """

    X: Any
    y: np.ndarray
    likelihood: Likelihood

    def prior_cov(self, theta: Theta) -> np.ndarray:
        """Prior covariance of ``f`` at the observations, ``(n, n)``."""
        raise TypeError(f"{type(self).__name__} does not say its prior covariance")

    def cross_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Prior covariance between ``f`` at the observations and at new inputs, ``(n, m)``."""
        raise TypeError(f"{type(self).__name__} does not say its covariance with new inputs")

    def prior_var(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Prior variance of ``f`` at new inputs, ``(m,)``."""
        raise TypeError(f"{type(self).__name__} does not say its variance at new inputs")

    def new_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Prior covariance of ``f`` at new inputs, ``(m, m)``."""
        raise TypeError(f"{type(self).__name__} does not say its covariance at new inputs")

    def pullback(self, theta: Theta, G: np.ndarray) -> dict[str, Any]:
        """Gradient for the free hyperparameters from the gradient ``G`` for ``prior_cov``."""
        raise TypeError(f"{type(self).__name__} does not say how its covariance varies")

    def likelihood_at(self, theta: Theta) -> Likelihood:
        """Return the likelihood with its parameters in place."""
        return self.likelihood.with_values(theta)

    def build_whitened(self) -> Any:
        """Write the posterior as a PyMC model of independent standard normals."""
        raise TypeError(f"{type(self).__name__} does not say its whitened PyMC model")

    @cached_property
    def whitened(self) -> Any:
        """The posterior as a PyMC model with ``f = L v``, whose geometry suits NUTS."""
        return self.build_whitened()

    def coords(self) -> dict[str, Any]:
        """One entry per observation."""
        return {"obs": np.arange(len(self.y))}

    def dims(self) -> dict[str, list[str]]:
        """``f`` and ``y`` belong to the observations."""
        return {"f": ["obs"], "y": ["obs"]}

    def observed_data(self) -> dict[str, Any]:
        """The labels or targets."""
        return {"y": self.y}

    def log_likelihood(self, posterior: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Log probability of each observation under each draw of ``f`` and of ``theta``."""
        f = posterior["f"]
        owned = [name for name in self.likelihood.free() if name in posterior]
        if not owned:
            return {"y": self.likelihood.logp(self.y, f)}
        out = np.empty(f.shape)
        for index in np.ndindex(f.shape[:2]):
            theta = {name: posterior[name][index] for name in owned}
            out[index] = self.likelihood_at(theta).logp(self.y, f[index])
        return {"y": out}
