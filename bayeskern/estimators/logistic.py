"""Kernel logistic regression with scikit-learn's manners."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from bayeskern.classic.logistic import kernel_logistic, kernel_softmax
from bayeskern.estimators.expansion import KernelExpansion


class KernelLogisticClassifier(ClassifierMixin, KernelExpansion):
    r"""Classification by :math:`-\sum_i \log p(y_i | x_i) + \frac\lambda2 \|f\|^2`.

    Two classes have one function and the logistic link, more have one each and the softmax.

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs. Add a constant to it for an offset.
    lam : float, default=1.0
        Penalty, positive.
    tol : float, default=1e-10
        Relative duality gap.
    max_iter : int, default=100
        Newton steps.

    Attributes
    ----------
    classes_ : array
    solution_ : LogisticSolution
        With its duality gap.
    dual_coef_ : array of shape (n,), or (n, classes) for more than two
    n_iter_ : int
    kernel_ : kernel

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 2.0]]
    >>> model = KernelLogisticClassifier(lam=0.1).fit(X, ["low", "low", "high", "high"])
    >>> model.predict_proba([[0.5, 0.5]]).round(1)
    array([[0.1, 0.9]])
    """

    def __init__(self, kernel=None, *, lam=1.0, tol=1e-10, max_iter=100):
        self.kernel = kernel
        self.lam = lam
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and labels of two or more classes."""
        X, y = self._read_both(X, y)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes, got one class: {self.classes_[0]!r}"
            )
        K = self._gram(X)
        settings = {"tol": self.tol, "max_iter": self.max_iter}
        if len(self.classes_) == 2:
            signs = np.where(label == 1, 1.0, -1.0)
            self.solution_ = kernel_logistic(K, signs, self.lam, **settings)
        else:
            self.solution_ = kernel_softmax(K, label, self.lam, **settings)
        self.dual_coef_ = self.solution_.coefficients
        self.n_iter_ = self.solution_.n_iter
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log odds of the second class; or one score per class."""
        K = self._cross(X)
        return self.solution_(K)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities."""
        K = self._cross(X)
        return self.solution_.predict_proba(K)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label; a tie of two classes goes to the second."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk needs, measured on the training sample (X, y)."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(f"the bounds are for two classes, got {len(self.classes_)}")
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        return {
            "kind": "kernel logistic regression",
            "margins": signs * self.decision_function(X),
            "norm": self.solution_.norm,
            "n_support": len(self.dual_coef_),
            **self._size(X),
        }
