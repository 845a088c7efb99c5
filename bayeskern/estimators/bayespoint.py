"""Bayes point machines with scikit-learn's manners."""

import dataclasses
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import one_of, positive
from bayeskern.estimators.inputs import Given, is_text, read_inputs
from bayeskern.infer.cone_hmc import ConeHMC
from bayeskern.infer.strategies import (
    STRATEGIES,
    centre_of_mass,
    class_probability,
    decide,
    predict_latent,
)
from bayeskern.infer.volume import LogVolume, log_volume
from bayeskern.kernels.base import Kernel
from bayeskern.kernels.stationary import Matern
from bayeskern.likelihoods import LabelFlip, Step


class BayesPointClassifier(ClassifierMixin, BaseEstimator):
    """Bayes point machine: the posterior over all classifiers without training error.

    Two classes are one problem; several are one against the rest, with probabilities scaled to
    add up to one. There is no offset: add a constant to the kernel for one.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        A kernel with fixed parameters. None takes the exponential kernel, ``Matern(nu=0.5)``, with
        a length scale of the square root of the number of features, on inputs scaled to unit
        variance. It is rough, as suits labels without noise: under a smooth kernel two classes
        that overlap leave a version space too thin to explore.
    inference : Inference, optional
        ``ConeHMC()`` by default; ``EP()`` is faster and approximate.
    slack : float, "evidence" or None
        Variance of noise on the latent values, with which every sample is separable. "evidence"
        takes the value of largest EP evidence; None has none, and refuses data that are not
        separable.
    flip_rate : float, default=0.0
        Probability that a label was flipped; instead of slack, with ``KernelGibbs()``.
    strategy : {"bayes", "centre", "gibbs", "map"}
        How `predict` decides: by the vote of the posterior, its centre of mass, a fresh draw for
        each input, or the draw of largest margin.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
    lam_ : float
        Slack in use.
    problem_, model_, idata_ :
        What was asked, the same as a PyMC model, and what came out (two classes).
    alpha_ : ndarray
        Coefficients of the centre of mass, of unit length (two classes).
    estimators_ : list of BayesPointClassifier
        One per class, if there are more than two.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]], ["a", "a", "b", "b"]
    >>> machine = BayesPointClassifier(random_state=0).fit(X, y)
    >>> machine.predict([[0.2, 1.0], [2.8, 1.0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        kernel=None,
        *,
        inference=None,
        slack=None,
        flip_rate=0.0,
        strategy="bayes",
        random_state=None,
    ):
        self.kernel = kernel
        self.inference = inference
        self.slack = slack
        self.flip_rate = flip_rate
        self.strategy = strategy
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.non_deterministic = isinstance(self.strategy, str) and self.strategy == "gibbs"
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Explore version space."""
        one_of(self.strategy, "strategy", STRATEGIES)
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
                "BayesPointClassifier needs two or more classes, got one class:"
                f" {self.classes_.tolist()[0]!r}"
            )
        if len(self.classes_) > 2:
            self.estimators_ = [clone(self).fit(X, y == c) for c in self.classes_]
            self.problem_ = self.estimators_[0].problem_
            return self
        inputs, kernel = self._prepare(X)
        signs = np.where(y == self.classes_[1], 1.0, -1.0)
        noise = LabelFlip(self.flip_rate) if self.flip_rate else Step()
        problem = BayesPoint(inputs, signs, kernel, noise)
        self.lam_ = self._slack(problem)
        self.problem_ = dataclasses.replace(problem, lam=self.lam_) if self.lam_ else problem
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.idata_ = (self.inference or ConeHMC()).run(self.problem_, random_seed=seed)
        self.alpha_ = centre_of_mass(self.problem_, self.idata_)
        self._volume: LogVolume | None = None
        return self

    def _slack(self, problem: BayesPoint) -> float:
        if self.slack is None:
            return 0.0
        if isinstance(self.slack, str):
            one_of(self.slack, "slack", ("evidence",))
            return best_slack(problem)
        return positive(self.slack, "slack", zero=True)

    def _prepare(self, X: Any) -> tuple[Any, Kernel]:
        self._centre: Any = 0.0
        self._scale: Any = 1.0
        if self.kernel is None:
            self._centre, spread = X.mean(axis=0), X.std(axis=0)
            self._scale = np.where(spread > 0, spread, 1.0)
            return (X - self._centre) / self._scale, Matern(float(np.sqrt(X.shape[1])), nu=0.5)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            given = Given.read_gram(X)
            return given.inputs(), given
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a Kernel, 'precomputed' or None, got {self.kernel!r}")
        return X, self.kernel

    def _new(self, X: Any, diag: Any = None) -> Any:
        check_is_fitted(self)
        X = read_inputs(self, X, reset=False)
        if isinstance(self.kernel, str):
            return self.problem_.kernel.rows(X, diag)
        return X if isinstance(X, list) else (X - self._centre) / self._scale

    @property
    def model_(self) -> Any:
        """The fitted posterior as a PyMC model."""
        check_is_fitted(self)
        return self.problem_.model

    @property
    def log_volume_(self) -> LogVolume:
        """Log prior mass of version space; estimated on first use, and left on ``idata_``."""
        check_is_fitted(self)
        if self._volume is None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            self._volume = log_volume(self.problem_, random_seed=seed)
            self.idata_.attrs |= {
                "log_volume": self._volume.value,
                "log_volume_se": self._volume.se,
                "log_volume_kind": self._volume.kind,
            }
        return self._volume

    def predict_proba(self, X: Any, *, diag: Any = None) -> np.ndarray:
        """Class probabilities, averaged over version space, in the order of ``classes_``.

        They include the part of the weight vector outside the span of the data, on which the data
        are silent.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            X = read_inputs(self, X, reset=False)
            scores = np.stack(
                [e.predict_proba(X, diag=diag)[:, 1] for e in self.estimators_], axis=1
            )
            total = scores.sum(axis=1, keepdims=True)
            return np.where(total > 0, scores, 1.0) / np.where(total > 0, total, len(scores[0]))
        p = class_probability(self.problem_, self.idata_, self._new(X, diag))
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any, *, diag: Any = None) -> np.ndarray:
        """Class by the strategy chosen; of several classes the most probable."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return self.classes_[self.predict_proba(X, diag=diag).argmax(axis=1)]
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        signs = decide(self.problem_, self.idata_, self._new(X, diag), self.strategy, rng)
        return self.classes_[(signs > 0).astype(int)]

    def decision_function(self, X: Any, *, diag: Any = None) -> np.ndarray:
        r"""Vote of version space as :math:`\Phi^{-1}(p)`; a column per class if there are several.

        Positive where the Bayes strategy says the second class.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            X = read_inputs(self, X, reset=False)
            columns = [e.decision_function(X, diag=diag) for e in self.estimators_]
            return np.stack(columns, axis=1)
        p = self.predict_proba(X, diag=diag)[:, 1]
        return ndtri(np.clip(p, 1e-15, 1 - 1e-15))

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """What generalisation bounds need to know of this fit, measured on ``X`` and ``y``.

        ``log_volume`` is there only without noise, since otherwise the evidence is no volume of
        consistent classifiers; ``kl``, the divergence of the posterior from the prior, holds with
        slack too.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError("bounds are for two classes; certify the machines in estimators_")
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        new = self._new(X)
        known = predict_latent(self.problem_, self.idata_, new)
        sd = np.sqrt(np.maximum(known.variances, 1e-300))
        lengths = np.sqrt(self.problem_.prior_var({}, new))
        found: dict[str, Any] = {
            "kind": "bayes_point",
            "margins": signs * (self.alpha_ @ self.problem_.cross_cov({}, new)),
            "norm": 1.0,
            "radius": float(lengths.max()),
            "gibbs_risk": float(np.mean(ndtr(-signs * known.means / sd))),
            "prior_depends_on_data": self.kernel is None or isinstance(self.slack, str),
        }
        if not self.flip_rate:
            volume = self.log_volume_
            log_likelihood = self.idata_["log_likelihood"]["y"].sum("obs").mean().item()
            found["kl"] = log_likelihood - volume.value
            if self.lam_ == 0:
                found |= {"log_volume": volume.value, "log_volume_se": volume.se}
        return found


def best_slack(problem: BayesPoint) -> float:
    """Return the slack of largest EP evidence, from 1e-6 to 100 times the mean squared length."""
    from scipy.optimize import minimize_scalar

    from bayeskern.infer.ep import EP

    if problem.flip_rate:
        raise ValueError(f"give slack or label noise, not both, got {problem.likelihood!r}")
    scale = float(np.diagonal(problem.prior_cov({})).mean())

    def loss(log_lam: float) -> float:
        return -EP().at(dataclasses.replace(problem, lam=scale * 10**log_lam), {}).log_evidence

    grid = np.linspace(-6, 2, 9)
    values = [loss(g) for g in grid]
    k = int(np.argmin(values))
    ends = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
    best = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 0.02})
    return scale * 10 ** float(best.x if best.fun < values[k] else grid[k])
