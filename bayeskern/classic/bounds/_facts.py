"""What a fitted classifier tells about itself, by duck typing."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

LABELS = {
    "gp": "a Gaussian process",
    "rvm": "the relevance vector machine",
    "bayes_point": "the Bayes point machine",
    "lipschitz": "a Lipschitz classifier",
    "fisher": "the Fisher discriminant",
    "bayes_fisher": "the Bayesian discriminant",
    "svm": "the support vector machine",
    "perceptron": "the perceptron",
}


@dataclass(frozen=True, eq=False)
class Facts:
    """Sample size, training mistakes, and the dictionary of ``certificate_inputs``."""

    kind: str
    m: int
    mistakes: int
    known: Mapping[str, Any]

    @classmethod
    def read(cls, fitted: Any, X: Any, y: Any) -> "Facts":
        """Ask the estimator; what it does not tell is taken from its predictions."""
        y = np.asarray(y)
        if y.ndim != 1 or not len(y):
            raise ValueError(f"y must be a vector of labels, got shape {y.shape}")
        if not hasattr(fitted, "predict"):
            raise ValueError(f"fitted must have predict, got {type(fitted).__name__}")
        wrong = np.asarray(fitted.predict(X)) != y
        if hasattr(fitted, "certificate_inputs"):
            known = dict(fitted.certificate_inputs(X, y))
        elif hasattr(fitted, "steps"):
            known = {"kind": "a pipeline fitted on the sample", "prior_depends_on_data": True}
        else:
            known = _guess(fitted)
        margins = known.get("margins")
        if margins is not None:  # an output of exactly 0 counts as a mistake
            wrong = wrong | (np.asarray(margins) <= 0)
        support = known.get("support")
        if support is not None:
            outside = np.setdiff1d(np.arange(len(y)), np.asarray(support))
            known.setdefault("mistakes_outside", int(wrong[outside].sum()))
        kind = str(known.get("kind") or type(fitted).__name__)
        return cls(kind, len(y), int(wrong.sum()), known)

    @property
    def label(self) -> str:
        """How to speak of the estimator."""
        return LABELS.get(self.kind, self.kind)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a fact, or the default if it is not known."""
        return self.known.get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self.known[key]


def _guess(fitted: Any) -> dict[str, Any]:
    """Read the attributes of scikit-learn's support vector classifier and its like."""
    support = getattr(fitted, "support_", None)
    if support is None or not hasattr(fitted, "dual_coef_"):
        return {}
    offset = bool(np.any(np.asarray(getattr(fitted, "intercept_", 0.0)) != 0))
    return {
        "kind": "svm",
        "support": np.asarray(support),
        "n_support": len(support),
        "offset": offset,
        "C": getattr(fitted, "C", math.inf),
        # the default width of scikit-learn's kernels is read off the sample
        "prior_depends_on_data": getattr(fitted, "class_weight", None) == "balanced"
        or (getattr(fitted, "kernel", "") != "linear" and getattr(fitted, "gamma", 0) == "scale"),
    }


def split(n: int, fraction: float, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut a random permutation in two; labels play no part, so both parts stay random samples."""
    first = round(n * fraction)
    if not 0 < first < n:
        raise ValueError(f"prior_fraction leaves an empty part of {n} examples, got {fraction!r}")
    order = np.random.default_rng(random_state).permutation(n)
    return np.sort(order[:first]), np.sort(order[first:])


def refit(fitted: Any, X: Any, y: Any) -> Any:
    """Fit an estimator with the same parameters, and no memory of its fit, on other data."""
    if not hasattr(fitted, "get_params"):
        raise ValueError(f"prior_fraction needs get_params to refit a {type(fitted).__name__}")
    # copies of the parameters, since the steps of a pipeline are fitted in place
    return type(fitted)(**copy.deepcopy(fitted.get_params(deep=False))).fit(X, y)


def signs(fitted: Any, y: np.ndarray) -> np.ndarray:
    """Labels as -1 and +1, the second class of the estimator being +1."""
    positive = fitted.classes_[1] if hasattr(fitted, "classes_") else 1
    return np.where(np.asarray(y) == positive, 1.0, -1.0)


def latent_gaussian(fitted: Any, X: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Joint mean and covariance of the latent values at new inputs, if they are Gaussian.

    Asks the method ``latent_gaussian(X)``, which may answer None.
    """
    if hasattr(fitted, "steps"):  # a pipeline: what its last step says of what the others make
        return latent_gaussian(fitted[-1], fitted[:-1].transform(X) if len(fitted) > 1 else X)
    found = fitted.latent_gaussian(X) if hasattr(fitted, "latent_gaussian") else None
    return None if found is None else (np.asarray(found[0], float), np.asarray(found[1], float))
