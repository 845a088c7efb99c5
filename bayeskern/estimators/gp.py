"""Gaussian processes with scikit-learn's manners."""

from typing import Any, Self

import numpy as np
from scipy.special import logit, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.bayes.gp import GaussianProcess
from bayeskern.checks import as_targets
from bayeskern.estimators.inputs import Given, is_text, read_inputs
from bayeskern.infer.base import Inference
from bayeskern.infer.evidence import EvidenceMax
from bayeskern.infer.exact import Exact
from bayeskern.infer.laplace import Laplace
from bayeskern.infer.predict import Predictive, predict, restore
from bayeskern.kernels.base import Kernel
from bayeskern.kernels.stationary import RBF
from bayeskern.likelihoods import Gaussian, Likelihood, Logit
from bayeskern.priors import Prior


def default_kernel(n_features: int) -> Kernel:
    """Amplitude times a Gaussian kernel with one length scale per feature, for unit-scale inputs.

    The length scales start at the square root of the number of features, where points at random
    are about one length scale apart.
    """
    scale = Prior("LogNormal", mu=float(np.log(n_features) / 2 + 0.25), sigma=1.0, size=n_features)
    return Prior("LogNormal", mu=1.0, sigma=1.5) * RBF(scale)  # type: ignore[operator]


class _GP(BaseEstimator):
    """What both share: inputs, kernel, and predictions from the fitted posterior."""

    kernel: Any
    random_state: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _prepare(self, X: Any) -> tuple[Any, Kernel]:
        """Return training inputs and kernel, scaled by the data where no kernel was given."""
        self._centre: Any = 0.0
        self._scale: Any = 1.0
        if self.kernel is None:
            self._centre, spread = X.mean(axis=0), X.std(axis=0)
            self._scale = np.where(spread > 0, spread, 1.0)
            return (X - self._centre) / self._scale, default_kernel(X.shape[1])
        if isinstance(self.kernel, str):
            if self.kernel != "precomputed":
                raise ValueError(
                    f"kernel must be a Kernel, 'precomputed' or None, got {self.kernel!r}"
                )
            given = Given.read_gram(X)
            return given.inputs(), Prior("LogNormal", mu=1.0, sigma=1.5) * given  # type: ignore[operator]
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a Kernel, 'precomputed' or None, got {self.kernel!r}")
        return X, self.kernel

    def _new(self, X: Any, diag: Any = None) -> Any:
        check_is_fitted(self)
        X = read_inputs(self, X, reset=False)
        if isinstance(self.kernel, str):
            return self.problem_.kernel.right.rows(X, diag)  # type: ignore[attr-defined]
        return X if isinstance(X, list) else (X - self._centre) / self._scale

    def _fit(self, X: Any, y: np.ndarray, likelihood: Likelihood, method: Inference) -> None:
        inputs, kernel = self._prepare(X)
        self.problem_ = GaussianProcess(inputs, y, kernel, likelihood)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.idata_ = method.run(self.problem_, random_seed=seed)

    def predictive(self, X: Any, *, diag: Any = None) -> Predictive:
        """Everything the posterior says about ``f`` and ``y`` at new inputs."""
        new = self._new(X, diag)
        return predict(self.problem_, self.idata_, new)

    def latent_gaussian(self, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Joint mean and covariance of the latent function; None if the fit is not Gaussian."""
        new = self._new(X)
        if "fit" not in self.idata_.children or "alpha" not in self.idata_["fit"]:
            return None
        state, theta = restore(self.problem_, self.idata_)
        return state.predict(self.problem_.cross_cov(theta, new), self.problem_.new_cov(theta, new))

    @property
    def model_(self) -> Any:
        """The fitted posterior as a PyMC model."""
        check_is_fitted(self)
        return self.problem_.model

    @property
    def log_evidence_(self) -> float:
        """Log evidence of the fit; its kind is in ``idata_.attrs["evidence_kind"]``."""
        check_is_fitted(self)
        return float(self.idata_.attrs.get("log_evidence", np.nan))

    @property
    def theta_(self) -> dict[str, Any]:
        """Posterior mean, or the maximiser, of each hyperparameter."""
        check_is_fitted(self)
        posterior = self.idata_["posterior"]
        return {
            name: posterior[name].mean(("chain", "draw")).values for name in self.problem_.free()
        }


class GPRegressor(RegressorMixin, _GP):
    """Gaussian-process regression: a `GaussianProcess` and a method to fit it.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        None takes an amplitude times a Gaussian kernel with one length scale per feature, on
        inputs and targets scaled to unit variance; a kernel given is used on the data as they are.
    noise : float or Prior or None
        Standard deviation of the noise; None infers it.
    inference : Inference, optional
        ``EvidenceMax(Exact(), prior=True)`` by default; ``HyperNUTS(Exact())`` for full Bayes.
    random_state : int, RandomState or None

    Attributes
    ----------
    problem_, model_, idata_ :
        What was asked, the same as a PyMC model, and what came out.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 3, 12)[:, None]
    >>> gp = GPRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> abs(gp.predict([[1.5]]) - np.sin(1.5)) < 0.01
    array([ True])
    """

    def __init__(self, kernel=None, *, noise=None, inference=None, random_state=None):
        self.kernel = kernel
        self.noise = noise
        self.inference = inference
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Infer the function and the hyperparameters."""
        if isinstance(self.kernel, Kernel) and is_text(X):
            X, y = list(X), as_targets(y, len(X))
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=float)
        self._mean, self._spread = 0.0, 1.0
        if self.kernel is None:
            self._mean, self._spread = y.mean(), y.std() or 1.0
        noise = self.noise if self.noise is not None else Prior("LogNormal", mu=-2.0, sigma=1.5)
        if isinstance(noise, int | float):
            noise = noise / self._spread
        method = self.inference or EvidenceMax(Exact(), prior=True)
        self._fit(X, (y - self._mean) / self._spread, Gaussian(noise), method)
        return self

    def predict(
        self,
        X: Any,
        *,
        return_std: bool = False,
        include_noise: bool = True,
        diag: Any = None,
    ) -> Any:
        """Predictive mean and, if asked, standard deviation of the noisy target.

        ``include_noise=False`` gives the standard deviation of the function instead.
        """
        predictive = self.predictive(X, diag=diag)
        mean = self._mean + self._spread * predictive.mean
        if not return_std:
            return mean
        return mean, self._spread * np.sqrt(predictive.var(noise=include_noise))

    def sample_y(self, X: Any, draws: int = 1, *, random_state: Any = None) -> np.ndarray:
        """Draw noisy targets at each input, ``(draws, m)``, from the predictive distribution."""
        rng = np.random.default_rng(random_state)
        return self._mean + self._spread * self.predictive(X).sample(rng, draws)[1]


class GPClassifier(ClassifierMixin, _GP):
    """Gaussian-process classification: a `GaussianProcess` and a method to fit it.

    Two classes are one problem; several are one against the rest, with probabilities scaled to
    add up to one.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        None takes an amplitude times a Gaussian kernel with one length scale per feature, on
        inputs scaled to unit variance; a kernel given is used on the inputs as they are. Strings
        work with a string kernel, and a Gram matrix with "precomputed".
    likelihood : Likelihood, optional
        ``Logit()`` by default.
    inference : Inference, optional
        ``EvidenceMax(Laplace(), prior=True)`` by default.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
    problem_, model_, idata_ :
        What was asked, the same as a PyMC model, and what came out (two classes).
    estimators_ : list of GPClassifier
        One per class, if there are more than two.

    Examples
    --------
    >>> gp = GPClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> gp.predict([[0.2], [2.8]]).tolist()
    ['a', 'b']
    """

    def __init__(self, kernel=None, *, likelihood=None, inference=None, random_state=None):
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Infer the latent function and the hyperparameters."""
        if isinstance(self.kernel, Kernel) and is_text(X):
            X, y = list(X), np.asarray(y)
            if len(X) != len(y):
                raise ValueError(f"y must have one label per input, got {len(y)} for {len(X)}")
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"GPClassifier needs two or more classes, got one class: {self.classes_[0]!r}"
            )
        if len(self.classes_) > 2:
            self.estimators_ = [clone(self).fit(X, y == c) for c in self.classes_]
            self.problem_ = self.estimators_[0].problem_
            return self
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        method = self.inference or EvidenceMax(Laplace(), prior=True)
        self._fit(X, signs, self.likelihood or Logit(), method)
        return self

    def predict_proba(self, X: Any, *, diag: Any = None) -> np.ndarray:
        """Class probabilities, averaged over the posterior, in the order of ``classes_``."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            X = read_inputs(self, X, reset=False)
            columns = [e.predict_proba(X, diag=diag)[:, 1] for e in self.estimators_]
            scores = np.stack(columns, axis=1)
            return scores / scores.sum(axis=1, keepdims=True)
        p = self.predictive(X, diag=diag).response()
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any, *, diag: Any = None) -> np.ndarray:
        """The most probable class."""
        best = self.predict_proba(X, diag=diag).argmax(axis=1)
        return self.classes_[best]

    def decision_function(self, X: Any, *, diag: Any = None) -> np.ndarray:
        """Log odds of the averaged probability; one column per class if there are several."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            X = read_inputs(self, X, reset=False)
            columns = [e.decision_function(X, diag=diag) for e in self.estimators_]
            return np.stack(columns, axis=1)
        p = self.predictive(X, diag=diag).response()
        return logit(np.clip(p, 1e-300, 1 - 1e-16))

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """What generalisation bounds need to know of this fit, measured on ``X`` and ``y``."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError("bounds are for two classes; certify the machines in estimators_")
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        predictive = self.predictive(X)
        sd = np.sqrt(np.maximum(predictive.var(), 1e-300))
        found: dict[str, Any] = {
            "kind": "gp",
            "margins": signs * predictive.mean,
            "gibbs_risk": float(np.mean(ndtr(-signs * predictive.mean / sd))),
            "prior_depends_on_data": bool(self.problem_.free()) or self.kernel is None,
        }
        if "log_evidence" in self.idata_.attrs:
            found["log_evidence"] = self.log_evidence_
            found["evidence_kind"] = self.idata_.attrs["evidence_kind"]
        if "fit" in self.idata_.children and "alpha" in self.idata_["fit"]:
            state, _ = restore(self.problem_, self.idata_)
            K = np.asarray(state.K)
            found["kl"] = gaussian_kl(state)
            found["norm"] = float(np.sqrt(max(state.alpha @ state.mean, 0.0)))
            found["radius"] = float(np.sqrt(np.diagonal(K).max()))
            found["kernel_trace"] = float(np.trace(K))
        return found


def gaussian_kl(state: Any) -> float:
    r"""Divergence of a Gaussian state from its prior.

    .. math:: \mathrm{KL} = \tfrac12 [\operatorname{tr} B^{-1} - n + \alpha' f + \log |B|]
    """
    trace = len(state.mean) - float(np.sum(state.W * state.var))  # tr B^-1 = n - tr(W Sigma)
    shift = float(state.alpha @ state.mean)
    return 0.5 * (trace - len(state.mean) + shift + float(state.posterior.logdet))
