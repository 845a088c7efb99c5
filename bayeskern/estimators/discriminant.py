"""Fisher discriminants with scikit-learn's manners."""

from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.classic.fisher import (
    fisher_discriminant,
    fisher_scores,
    kernel_fisher,
    kernel_fisher_scores,
)
from bayeskern.estimators.expansion import KernelExpansion


class _Discriminant(ClassifierMixin, BaseEstimator):
    """Scores to labels and probabilities, which both forms share."""

    def _classes(self, y: Any) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes, got one class: {self.classes_[0]!r}"
            )
        return label

    def _features(self, X: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say its features")

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds of the second class; or one score per class."""
        check_is_fitted(self)
        return self.solution_(self._features(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the class probabilities of the Gaussian model."""
        f = self.decision_function(X)
        return np.column_stack([expit(-f), expit(f)]) if f.ndim == 1 else softmax(f, axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label; a tie of two classes goes to the second."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def _margins(self, X: Any, y: Any) -> np.ndarray:
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(f"the bounds are for two classes, got {len(self.classes_)}")
        return np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0) * self.decision_function(X)


class FisherClassifier(_Discriminant):
    """Gaussian classes with one covariance: Fisher's linear discriminant.

    Parameters
    ----------
    prior : {"empirical", "equal"}, float or array, default="empirical"
        Class probabilities; a number is that of the second class of two.
    weighting : {"pooled", "equal"}, default="pooled"
        Whether points or classes count equally in the covariance.
    ridge : float, default=1e-9
        Added to the covariance, in units of the mean variance within classes, so that a few
        collinear or constant features do no harm. With 0 a singular covariance is an error.

    Attributes
    ----------
    classes_ : array
    solution_ : FisherSolution
    coef_ : array of shape (p,), or (p, classes) for more than two
    intercept_ : float, or array of shape (classes,)

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0], [2.5, 0.5]]
    >>> FisherClassifier().fit(X, [0, 0, 1, 1, 1]).predict([[0.0, 0.0], [3.0, 1.0]])
    array([0, 1])
    """

    def __init__(self, prior="empirical", *, weighting="pooled", ridge=1e-9):
        self.prior = prior
        self.weighting = weighting
        self.ridge = ridge

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and labels of two or more classes."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        label = self._classes(y)
        spread = np.mean([X[label == c].var(axis=0).mean() for c in np.unique(label)])
        settings = {
            "prior": self.prior,
            "weighting": self.weighting,
            "ridge": self.ridge * (float(spread) or 1.0) if self.ridge else 0.0,
        }
        if len(self.classes_) == 2:
            self.solution_ = fisher_discriminant(X, np.where(label == 1, 1, -1), **settings)
        else:
            self.solution_ = fisher_scores(X, label, **settings)
        self.coef_, self.intercept_ = self.solution_.coefficients, self.solution_.bias
        return self

    def _features(self, X: Any) -> np.ndarray:
        return validate_data(self, X, reset=False, dtype=np.float64)

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk needs, measured on the training sample (X, y)."""
        margins = self._margins(X, y)
        squares = (self._features(X) ** 2).sum(axis=1)
        return {
            "kind": "fisher",
            "margins": margins,
            "norm": float(np.linalg.norm(self.coef_)),
            "radius": float(np.sqrt(squares.max())),
            "radius_from_sample": True,
            "kernel_trace": float(squares.sum()),
            "n_support": len(margins),
            "offset": True,
            "vc_dim": self.n_features_in_ + 1,
        }


class KernelFisherClassifier(_Discriminant, KernelExpansion):
    """Fisher's discriminant on the empirical kernel map, regularised.

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs.
    lam : float, default=1e-3
        Added to the covariance within classes; positive.
    prior : {"empirical", "equal"}, float or array, default="empirical"
        Class probabilities; a number is that of the second class of two.

    Attributes
    ----------
    classes_ : array
    solution_ : FisherSolution
    dual_coef_ : array of shape (n,), or (n, classes) for more than two
    intercept_ : float, or array of shape (classes,)
    kernel_ : kernel

    Examples
    --------
    >>> X = [[1, 1], [-1, -1], [1, -1], [-1, 1]]
    >>> model = KernelFisherClassifier().fit(X, ["same", "same", "not", "not"])
    >>> model.predict([[2, 2]])
    array(['same'], dtype='<U4')
    """

    def __init__(self, kernel=None, *, lam=1e-3, prior="empirical"):
        self.kernel = kernel
        self.lam = lam
        self.prior = prior

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and labels of two or more classes."""
        X, y = self._read_both(X, y)
        label = self._classes(y)
        K = self._gram(X)
        if len(self.classes_) == 2:
            signs = np.where(label == 1, 1, -1)
            self.solution_ = kernel_fisher(K, signs, self.lam, prior=self.prior)
        else:
            self.solution_ = kernel_fisher_scores(K, label, self.lam, prior=self.prior)
        self.dual_coef_, self.intercept_ = self.solution_.coefficients, self.solution_.bias
        norms = np.einsum("i...,ij,j...->...", self.dual_coef_, K, self.dual_coef_)
        self.norm_ = np.sqrt(np.maximum(norms, 0.0))
        return self

    def _features(self, X: Any) -> np.ndarray:
        return self._cross(X)

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk needs, measured on the training sample (X, y)."""
        margins = self._margins(X, y)
        return {
            "kind": "fisher",
            "margins": margins,
            "norm": float(self.norm_),
            "n_support": len(margins),
            "offset": True,
            **self._size(X),
        }
