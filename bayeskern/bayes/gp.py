"""Gaussian processes: the posterior over functions."""

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.checks import positive
from bayeskern.kernels.base import Constant, Kernel
from bayeskern.likelihoods import Likelihood, Logit, Probit
from bayeskern.priors import Prior


@dataclass(frozen=True, eq=False)
class GaussianProcess(LatentGaussian):
    r"""Posterior over functions: :math:`f \sim GP(0, k)` observed through a likelihood.

    Parameters
    ----------
    X : array of shape (n, d), or a list of what the kernel reads
        Inputs.
    y : array of shape (n,)
        Labels -1 and +1, or targets, as the likelihood wants them.
    kernel : Kernel
        Prior covariance of the function; its `Prior` parameters are inferred.
    likelihood : Likelihood
        How an observation follows from the function.
    jitter : float, default=1e-6
        Added to the diagonal of the PyMC models, whose Cholesky factors need it. Laplace and EP
        do without, since in classification a jitter is a change of the model.

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[0.0], [1.0]], [-1, 1], 2.0 * bk.RBF(), bk.Probit())
    >>> gp.prior_cov({}).round(3)
    array([[2.   , 1.213],
           [1.213, 2.   ]])
    """

    X: Any
    y: Any
    kernel: Kernel
    likelihood: Likelihood
    jitter: float = 1e-6

    def __post_init__(self):
        X = self.kernel.read(self.X)
        if isinstance(self.X, np.ndarray | list) and not isinstance(self.kernel, Constant):
            object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", self.likelihood.read(self.y, len(self.X)))
        positive(self.jitter, "jitter", zero=True)
        kernel_free = self.kernel.free()
        clash = kernel_free.keys() & self.likelihood.free().keys()
        if clash:
            raise ValueError(
                f"the kernel and the likelihood would both own the variable {min(clash)!r};"
                " name one of them"
            )
        if self.likelihood.free() and isinstance(self.likelihood, Logit | Probit):
            amplitudes = [k for k in kernel_free if k.endswith("_value")]
            if amplitudes:
                raise ValueError(
                    f"only the ratio of {amplitudes[0]} and {min(self.likelihood.free())} can be"
                    " learned from labels; fix one of them"
                )

    def free(self) -> dict[str, Prior]:
        """Hyperparameters of the kernel, then of the likelihood."""
        return self.kernel.free() | self.likelihood.free()

    def subset(self, index: np.ndarray) -> "GaussianProcess":
        """Return the same problem with some of its observations."""
        X = self.X[index] if isinstance(self.X, np.ndarray) else [self.X[i] for i in index]
        return dataclasses.replace(self, X=X, y=self.y[index])

    def kernel_at(self, theta: Theta) -> Kernel:
        """Return the kernel with its parameters in place."""
        return self.kernel.with_values(theta)

    def prior_cov(self, theta: Theta) -> np.ndarray:
        """Gram matrix."""
        return self.kernel_at(theta)(self.X)

    def cross_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Kernel between old and new inputs."""
        return self.kernel_at(theta)(self.X, X_new)

    def prior_var(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Diagonal of the kernel at new inputs."""
        kernel = self.kernel_at(theta)
        return kernel.diag(kernel.read(X_new))

    def new_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Gram matrix of new inputs."""
        return self.kernel_at(theta)(X_new)

    def pullback(self, theta: Theta, G: np.ndarray) -> dict[str, Any]:
        """Gradient for the kernel's and the likelihood's free parameters."""
        kernel = self.kernel_at(theta)
        gradients = kernel.pullback(self.X, G)
        if self.likelihood.free():
            gradients |= self.likelihood_at(theta).pullback(kernel(self.X), G)
        return {name: gradients[name] for name in self.free()}

    def constant_data(self) -> dict[str, Any]:
        """The inputs, if they are numbers."""
        return {"X": self.X} if isinstance(self.X, np.ndarray) else {}

    def dims(self) -> dict[str, list[str]]:
        """``f`` and ``y`` belong to the observations, ``X`` also to the features."""
        return super().dims() | {"X": ["obs", "feature"]}

    @cached_property
    def _fixed_gram(self) -> np.ndarray:
        return self.kernel(self.X)

    def _gram_in_model(self) -> Any:
        """Gram matrix as a tensor of the current model, with jitter."""
        import pymc as pm
        import pytensor.tensor as pt

        n = len(self.y)
        inputs = self.X
        if isinstance(self.X, np.ndarray) and self.X.ndim == 2:
            inputs = pm.Data("X", self.X, dims=("obs", "feature"))
        if self.kernel.free():
            K = self.kernel.in_model()(inputs)
        else:
            K = pt.as_tensor_variable(self._fixed_gram)
        return K + self.jitter * np.eye(n)

    def _model_coords(self) -> dict[str, Any]:
        coords = self.coords()
        if isinstance(self.X, np.ndarray) and self.X.ndim == 2:
            coords["feature"] = np.arange(self.X.shape[1])
        return coords

    def build(self) -> Any:
        """Centred: ``f`` is multivariate normal."""
        import pymc as pm

        with pm.Model(coords=self._model_coords()) as model:
            K = self._gram_in_model()
            f = pm.MvNormal("f", mu=np.zeros(len(self.y)), cov=K, dims="obs")
            self.likelihood.in_model().observe("y", f, self.y, dims="obs")
        return model

    def build_whitened(self) -> Any:
        """Non-centred: ``f = L v`` with independent standard normals ``v``."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model(coords=self._model_coords()) as model:
            K = self._gram_in_model()
            v = pm.Normal("v", 0.0, 1.0, dims="obs")
            L = pt.linalg.cholesky(K)
            f = pm.Deterministic("f", L @ v, dims="obs")
            self.likelihood.in_model().observe("y", f, self.y, dims="obs")
        return model
