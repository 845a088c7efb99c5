"""What estimators with one weight per training point share: inputs, Gram matrices, labels."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.checks import as_array, as_gram, one_of


class KernelExpansion(BaseEstimator):
    """Inputs as numbers, as objects that the kernel reads, or as a precomputed Gram matrix."""

    kernel: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _read(self, X: Any, *, reset: bool = False) -> Any:
        """Check inputs: numbers as scikit-learn does, other objects as they come."""
        if isinstance(self.kernel, str) and not self._precomputed:
            raise ValueError(f"kernel must be a kernel or 'precomputed', got {self.kernel!r}")
        if callable(self.kernel) and _holds_objects(X):
            return list(X)
        return validate_data(self, X, reset=reset, dtype=np.float64)

    def _read_both(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check a training set."""
        if isinstance(inputs := self._read(X, reset=True), list):
            check_consistent_length(inputs, y)
            return inputs, np.asarray(y)
        numeric = isinstance(self, RegressorMixin)
        return validate_data(self, X, y, dtype=np.float64, y_numeric=numeric)

    def _gram(self, X: Any) -> np.ndarray:
        """Return the Gram matrix of the training points, and keep what prediction needs."""
        if self._precomputed:
            return as_gram(X, "X")
        self.kernel_ = default_kernel(X) if self.kernel is None else self.kernel
        self.X_fit_ = X
        return as_gram(self.kernel_(X))

    def _cross(self, X: Any) -> np.ndarray:
        """Return the kernel between new points and the training points."""
        check_is_fitted(self)
        X = self._read(X)
        return X if self._precomputed else as_array(self.kernel_(X, self.X_fit_), "K")

    def _size(self, X: Any) -> dict[str, Any]:
        """Return radius and trace of a sample, for bounds.

        The scale of the default kernel is set by the sample, and so is the radius of a kernel whose
        diagonal varies; both are told, since bounds assume otherwise.
        """
        if self._precomputed:
            diagonal = as_gram(X, "X").diagonal()
        else:
            X = self._read(X)
            if hasattr(self.kernel_, "diag"):
                diagonal = np.asarray(self.kernel_.diag(X))
            else:
                diagonal = np.array([self.kernel_(X[i : i + 1])[0, 0] for i in range(len(X))])
        return {
            "radius": float(np.sqrt(diagonal.max())),
            "radius_from_sample": bool(np.ptp(diagonal) > 1e-9 * diagonal.max()),
            "kernel_trace": float(diagonal.sum()),
            "prior_depends_on_data": self.kernel is None,
        }


class BinaryMachine(ClassifierMixin, KernelExpansion):
    """Two classes, a score, and probabilities by calibration on points left out."""

    probability: Any
    random_state: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _solve(self, K: np.ndarray, signs: np.ndarray) -> Any:
        raise TypeError(f"{type(self).__name__} does not say how it is solved")

    def _coefficients(self, solution: Any) -> np.ndarray:
        return solution.coefficients

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and two labels."""
        X, y = self._read_both(X, y)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: y must hold two classes, got"
                f" {len(self.classes_)} class{'es' if len(self.classes_) != 1 else ''}"
            )
        K = self._gram(X)
        self.solution_ = self._solve(K, np.where(label == 1, 1.0, -1.0))
        self.dual_coef_ = self._coefficients(self.solution_)
        self.norm_ = float(np.sqrt(max(self.dual_coef_ @ K @ self.dual_coef_, 0.0)))
        self.n_iter_ = self.solution_.n_iter
        if self.probability is not None:
            from bayeskern.estimators.calibration import METHODS, calibrate, held_out_scores

            one_of(self.probability, "probability", METHODS)
            plain = clone(self).set_params(probability=None)
            scores = held_out_scores(plain, X, y, random_state=self.random_state)
            self.calibration_ = calibrate(scores, label, self.probability)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x), positive for the second class."""
        K = self._cross(X)
        return K @ self.dual_coef_

    def predict(self, X: Any) -> np.ndarray:
        """Return a label for each point; a tie goes to the second class."""
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int)]

    @available_if(lambda self: self.probability is not None)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, calibrated on points left out; they agree with predict."""
        check_is_fitted(self)
        return self.calibration_(self.decision_function(X))

    def _margins(self, X: Any, y: Any) -> np.ndarray:
        return np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0) * self.decision_function(X)


def default_kernel(X: np.ndarray) -> Any:
    """Return an RBF kernel whose squared length scale is half the total variance of the inputs."""
    from bayeskern.kernels import RBF

    spread = float(X.var()) * X.shape[1]
    return RBF(float(np.sqrt(spread / 2)) if spread > 0 else 1.0)


def _holds_objects(X: Any) -> bool:
    """Whether the inputs are strings, token sequences or sets, and not rows of numbers."""
    if not isinstance(X, list | tuple | np.ndarray) or np.size(X) == 0:
        return False
    first = X[0]
    if isinstance(first, list | tuple):
        return len(first) > 0 and isinstance(first[0], str)
    return isinstance(first, str | bytes | set | frozenset)
