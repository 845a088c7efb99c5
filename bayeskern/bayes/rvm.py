"""Relevance vector machines: a sparse prior over the weights of any basis."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.checks import as_array, as_matrix, one_of, positive
from bayeskern.kernels.base import Kernel
from bayeskern.likelihoods import Gaussian, Likelihood
from bayeskern.linalg import cholesky
from bayeskern.priors import Prior

PROPER = Prior("InverseGamma", alpha=0.5, beta=0.5)
FORMS = ("marginal", "student", "noncentred")


@dataclass(frozen=True, eq=False)
class RelevanceVector(LatentGaussian):
    r"""Posterior over the weights of a basis, each with a prior variance of its own.

    .. math:: f(x) = \sum_i w_i \phi_i(x), \qquad w_i \sim N(0, \theta_i), \qquad
              \theta_i^{-1} \sim \mathrm{Gamma}(a, \text{scale } b) .

    Herbrich (2002), eq. 3.24; :math:`\theta_i` is a variance. The basis functions are
    :math:`k(x, x_i)`, one for each training point, and a constant. Nothing asks :math:`k` to be
    positive semidefinite. At fixed :math:`\theta` this is a Gaussian process with the kernel
    :math:`\sum_i \theta_i \phi_i(x) \phi_i(z)`.

    Parameters
    ----------
    X : array of shape (n, d), or a list of what the kernel reads
        Inputs, or the basis itself when ``kernel`` is None.
    y : array of shape (n,)
        Labels -1 and +1, or targets, as the likelihood wants them.
    kernel : Kernel, callable or None
        A `Kernel`, whose `Prior` parameters are inferred; any function ``k(X, Z)`` that returns
        the matrix of shape ``(len(X), len(Z))``; or None, and each column of ``X`` is a basis
        function.
    likelihood : Likelihood
        How an observation follows from the function.
    bias : bool, default=True
        Put a constant column before the others.
    theta : Prior, float or array of shape (n_basis,), default=InverseGamma(0.5, 0.5)
        Prior variance of the weights: fixed, or inferred with the same prior for each. With
        ``InverseGamma(alpha=a, beta=1/b)`` a weight is Student-t with :math:`2a` degrees of
        freedom and scale :math:`1/\sqrt{ab}` a priori; the default is Cauchy. The limit
        :math:`a \to 0` is what `SparseBayes` and `SparseSequential` maximise, but it is no
        posterior: its mass escapes to zero weights, so the PyMC models refuse :math:`a < 0.01`.

    Examples
    --------
    >>> import numpy as np
    >>> import bayeskern as bk
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> rvm = RelevanceVector(X, [0.0, 1.0, 0.5], bk.RBF(), bk.Gaussian(0.1), theta=2.0)
    >>> rvm.columns().shape
    (3, 4)
    >>> rvm.prior_cov({}).diagonal().round(3)
    array([4.772, 5.472, 4.772])

    References
    ----------
    Tipping (2001), Sparse Bayesian learning and the relevance vector machine.
    """

    X: Any
    y: Any
    kernel: Kernel | Callable | None
    likelihood: Likelihood
    bias: bool = True
    theta: Any = PROPER

    def __post_init__(self):
        X = self.X
        if isinstance(self.kernel, Kernel):
            X = self.kernel.read(X)
        elif self.kernel is None:
            X = as_matrix(X)
        elif not callable(self.kernel):
            raise ValueError(f"kernel must be a Kernel, a function or None, got {self.kernel!r}")
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", self.likelihood.read(self.y, len(X)))
        object.__setattr__(self, "theta", self._read_theta())
        free = self.likelihood.free()
        if free and self.likelihood.classifies and isinstance(self.theta, Prior):
            raise ValueError(
                f"only the ratio of theta and {min(free)} can be learned from labels;"
                " fix one of them"
            )
        clash = self._kernel_free().keys() & (free.keys() | {"theta"})
        if clash:
            raise ValueError(f"two parts would both own the variable {min(clash)!r}; name one")

    def _read_theta(self) -> Any:
        if isinstance(self.theta, Prior):
            if self.theta.size not in (None, self.n_basis):
                raise ValueError(
                    f"theta must have one entry per basis function, got a Prior of size"
                    f" {self.theta.size} for {self.n_basis}"
                )
            return dataclasses.replace(self.theta) if self.theta.size else self._sized(self.theta)
        if self.theta is None:
            raise ValueError(
                "theta must be a number, a vector or a proper Prior, got None: the improper limit"
                " has no posterior; SparseBayes() and SparseSequential() maximise its evidence"
                " whatever the Prior"
            )
        if np.ndim(self.theta) == 0:
            return np.full(self.n_basis, positive(self.theta, "theta", zero=True))
        theta = as_array(self.theta, "theta", ndim=1)
        if len(theta) != self.n_basis or (theta < 0).any():
            raise ValueError(
                f"theta must hold {self.n_basis} non-negative variances, one per basis function,"
                f" got {len(theta)} with the least {theta.min():g}"
            )
        return theta

    def _sized(self, prior: Prior) -> Prior:
        return Prior(prior.distribution, size=self.n_basis, **dict(prior.parameters))

    # -- the basis -----------------------------------------------------------------------------

    @property
    def n_basis(self) -> int:
        """Number of basis functions, the constant included."""
        return (self.X.shape[1] if self.kernel is None else len(self.X)) + self.bias

    def kernel_at(self, theta: Theta) -> Any:
        """Return the kernel with its parameters in place."""
        return self.kernel.with_values(theta) if isinstance(self.kernel, Kernel) else self.kernel

    def columns(self, index: Any = None, X_new: Any = None, theta: Theta | None = None) -> Any:
        """Basis functions of the given indices, at the training or at new inputs.

        No others are computed. Returns an array of shape ``(len(X), len(index))``.
        """
        kernel = self.kernel_at(theta or {})
        X = self.X if X_new is None else self._read_new(X_new)
        if index is None:
            body = X if kernel is None else _matrix(kernel, X, self.X)
            return np.column_stack([np.ones(len(X)), body]) if self.bias else body
        index = np.asarray(index, dtype=int)
        out = np.ones((len(X), len(index)))
        rest = np.flatnonzero(index >= self.bias)
        if rest.size:
            which = index[rest] - self.bias
            centres = self.X[which] if isinstance(self.X, np.ndarray) else None
            if kernel is None:
                out[:, rest] = X[:, which]
            else:
                chosen = [self.X[i] for i in which] if centres is None else centres
                body = _matrix(kernel, X, chosen)
                if rest.size == len(index):
                    return body
                out[:, rest] = body
        return out

    def _read_new(self, X_new: Any) -> Any:
        X = self.kernel.read(X_new) if isinstance(self.kernel, Kernel) else X_new
        if self.kernel is None:
            X = as_matrix(X_new, "X_new")
            if X.shape[1] != self.X.shape[1]:
                raise ValueError(
                    f"X_new must have {self.X.shape[1]} columns as in training, got {X.shape[1]}"
                )
        return X

    @cached_property
    def _fixed_basis(self) -> np.ndarray:
        return self.columns()

    def design(self, theta: Theta) -> np.ndarray:
        """The matrix ``A`` of all basis functions at the training inputs, ``(n, n_basis)``."""
        return self.columns(theta=theta) if self._kernel_free() else self._fixed_basis

    # -- a latent Gaussian ---------------------------------------------------------------------

    def _kernel_free(self) -> dict[str, Prior]:
        return self.kernel.free() if isinstance(self.kernel, Kernel) else {}

    def free(self) -> dict[str, Prior]:
        """The variances of the weights, then parameters of the kernel and of the likelihood."""
        theta = {"theta": self.theta} if isinstance(self.theta, Prior) else {}
        return theta | self._kernel_free() | self.likelihood.free()

    def variances(self, theta: Theta) -> np.ndarray:
        """Prior variances of the weights."""
        if isinstance(self.theta, Prior):
            return np.asarray(theta["theta"], dtype=float)
        return self.theta

    def prior_cov(self, theta: Theta) -> np.ndarray:
        r""":math:`A \,\mathrm{diag}(\theta)\, A'`."""
        half = self.design(theta) * np.sqrt(self.variances(theta))
        return half @ half.T

    def cross_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Covariance of old with new function values."""
        A_new = self.columns(X_new=X_new, theta=theta)
        return (self.design(theta) * self.variances(theta)) @ A_new.T

    def prior_var(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Variance at new inputs; it vanishes far from every localised basis function."""
        return self.columns(X_new=X_new, theta=theta) ** 2 @ self.variances(theta)

    def new_cov(self, theta: Theta, X_new: Any) -> np.ndarray:
        """Covariance of new function values."""
        half = self.columns(X_new=X_new, theta=theta) * np.sqrt(self.variances(theta))
        return half @ half.T

    def pullback(self, theta: Theta, G: np.ndarray) -> dict[str, Any]:
        r"""Gradient :math:`a_i' G a_i` for each :math:`\theta_i`, and that of the other parts."""
        A, variances = self.design(theta), self.variances(theta)
        GA = G @ A
        gradients: dict[str, Any] = {}
        if isinstance(self.theta, Prior):
            gradients["theta"] = np.einsum("ij,ij->j", A, GA)
        if self._kernel_free():
            slope = ((GA + G.T @ A) * variances)[:, self.bias :]
            gradients |= self.kernel_at(theta).pullback(self.X, slope, _apart(self.X))
        if self.likelihood.free():
            gradients |= self.likelihood_at(theta).pullback(self.prior_cov(theta), G)
        return {name: gradients[name] for name in self.free()}

    def coords(self) -> dict[str, Any]:
        """One entry per observation and per basis function."""
        return super().coords() | {"basis": np.arange(self.n_basis)}

    def dims(self) -> dict[str, list[str]]:
        """``w`` and ``theta`` belong to the basis."""
        return super().dims() | {"w": ["basis"], "theta": ["basis"], "X": ["obs", "feature"]}

    def constant_data(self) -> dict[str, Any]:
        """The inputs, if they are numbers."""
        return {"X": self.X} if isinstance(self.X, np.ndarray) and self.X.ndim == 2 else {}

    # -- PyMC ------------------------------------------------------------------------------------

    def build(self, form: str | None = None) -> Any:
        """Write the posterior as a PyMC model, in one of three equivalent forms.

        Parameters
        ----------
        form : {"marginal", "student", "noncentred"}, optional
            ``marginal`` has the weights integrated out, which suits NUTS best and needs Gaussian
            noise; it is the default there. ``student`` has the variances integrated out.
            ``noncentred``, the default for labels, has ``w = sqrt(theta) v``. The centred form
            is a funnel, and is not offered. `complete` draws what a form left out.
        """
        if form is None:
            form = "noncentred" if self.likelihood.classifies else "marginal"
        one_of(form, "form", FORMS)
        self._check_proper()
        if form == "marginal" and not isinstance(self.likelihood, Gaussian):
            raise ValueError(
                f"the marginal form needs a Gaussian likelihood, got {self.likelihood!r}"
            )
        if form == "student" and not (
            isinstance(self.theta, Prior) and self.theta.distribution == "InverseGamma"
        ):
            raise ValueError(f"the Student form needs an InverseGamma theta, got {self.theta!r}")
        import pymc as pm

        with pm.Model(coords=self.coords()) as model:
            getattr(self, f"_{form}")()
        return model

    def build_whitened(self) -> Any:
        """The same as the model, whose default form suits NUTS."""
        return self.build()

    def _check_proper(self) -> None:
        if not isinstance(self.theta, Prior):
            return
        shape = dict(self.theta.parameters).get("alpha")
        if self.theta.distribution in ("InverseGamma", "Gamma") and shape is not None:
            if shape < 0.01:
                raise ValueError(
                    f"theta must have a proper prior, alpha at least 0.01, got alpha={shape!r}:"
                    " as alpha falls to 0 the posterior loses its mass to zero weights"
                )
            if shape < 0.1:
                warnings.warn(
                    f"theta's prior with alpha={shape!r} is nearly improper: expect slow mixing"
                    " near zero weights; 0.1 or more is safe",
                    UserWarning,
                    stacklevel=4,
                )

    def _basis_in_model(self) -> Any:
        import pytensor.tensor as pt

        if not self._kernel_free():
            return pt.as_tensor_variable(self._fixed_basis)
        K = self.kernel.in_model()(self.X, _apart(self.X))  # type: ignore[union-attr]
        return pt.concatenate([pt.ones((len(self.y), 1)), K], axis=1) if self.bias else K

    def _variances_in_model(self) -> Any:
        return self.theta.rv("theta") if isinstance(self.theta, Prior) else self.theta

    def _marginal(self) -> None:
        import pymc as pm
        import pytensor.tensor as pt

        A, n = self._basis_in_model(), len(self.y)
        likelihood = self.likelihood.in_model()
        cov = (A * self._variances_in_model()) @ A.T + pt.eye(n) * likelihood.sigma**2  # type: ignore[attr-defined]
        pm.MvNormal("y", mu=np.zeros(n), cov=cov, observed=self.y, dims="obs")

    def _student(self) -> None:
        import pymc as pm

        A = self._basis_in_model()
        parameters = self.theta._full()
        a, b = parameters["alpha"], 1 / parameters["beta"]
        w = pm.StudentT("w", nu=2 * a, mu=0.0, sigma=1 / np.sqrt(a * b), dims="basis")
        f = pm.Deterministic("f", A @ w, dims="obs")
        self.likelihood.in_model().observe("y", f, self.y, dims="obs")

    def _noncentred(self) -> None:
        import pymc as pm
        import pytensor.tensor as pt

        A = self._basis_in_model()
        v = pm.Normal("v", 0.0, 1.0, dims="basis")
        w = pm.Deterministic("w", pt.sqrt(self._variances_in_model()) * v, dims="basis")
        f = pm.Deterministic("f", A @ w, dims="obs")
        self.likelihood.in_model().observe("y", f, self.y, dims="obs")

    def complete(
        self, posterior: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Add draws of ``w`` and ``f`` given those of the hyperparameters.

        Parameters
        ----------
        posterior : mapping
            Variable name to draws of shape ``(chain, draw, ...)``.
        rng : Generator
            Source of randomness.
        """
        posterior = dict(posterior)
        if "w" in posterior or not posterior:
            return posterior
        if "f" not in posterior and not isinstance(self.likelihood, Gaussian):
            raise ValueError("drawing w needs draws of f unless the likelihood is Gaussian")
        shape = next(iter(posterior.values())).shape[:2]
        w = np.empty((*shape, self.n_basis))
        f = np.empty((*shape, len(self.y)))
        for at in np.ndindex(shape):
            theta = {name: values[at] for name, values in posterior.items()}
            A, variances = self.design(theta), self.variances(theta)
            # a draw from the prior, moved by what the data say of it: no inverse of theta
            prior = np.sqrt(variances) * rng.standard_normal(self.n_basis)
            target, C = theta.get("f"), (A * variances) @ A.T
            if target is None:
                sigma = float(self.likelihood_at(theta).sigma)  # type: ignore[attr-defined]
                target = self.y - sigma * rng.standard_normal(len(self.y))
                C.flat[:: len(C) + 1] += sigma**2
            w[at] = prior + variances * (A.T @ cholesky(C).solve(target - A @ prior))
            f[at] = A @ w[at]
        return {**posterior, "w": w, "f": posterior.get("f", f)}


def weight_log_density(w: Any, a: float, b: float) -> np.ndarray:
    r"""Prior density of one weight after its variance is integrated out.

    .. math:: f(w) = \frac{\Gamma(a + 1/2)}{\Gamma(a)} \sqrt{\frac{b}{2\pi}}
              \Big(1 + \frac{b w^2}{2}\Big)^{-a - 1/2},

    Student's t with :math:`2a` degrees of freedom and scale :math:`1/\sqrt{ab}`; ``b`` is the
    scale of the Gamma prior of the precision (Herbrich 2002, remark 3.14).

    >>> weight_log_density(0.0, 1.0, 1.0).round(5)
    np.float64(-1.03972)
    """
    a, b = positive(a, "a"), positive(b, "b")
    w = np.asarray(w, dtype=float)
    constant = gammaln(a + 0.5) - gammaln(a) + 0.5 * np.log(b / (2 * np.pi))
    return constant - (a + 0.5) * np.log1p(b * w**2 / 2)


def _matrix(kernel: Callable, X: Any, Z: Any) -> np.ndarray:
    """Call a kernel or a user's function, and hold the latter to its shape."""
    if isinstance(kernel, Kernel):
        return kernel(X, _apart(Z) if Z is X else Z)
    K = as_array(kernel(X, Z), "the matrix of the kernel function", ndim=2)
    if K.shape != (len(X), len(Z)):
        raise ValueError(
            f"the kernel function must return a matrix of shape {(len(X), len(Z))}, got {K.shape}"
        )
    return K


def _apart(X: Any) -> Any:
    return X.view() if isinstance(X, np.ndarray) else X
