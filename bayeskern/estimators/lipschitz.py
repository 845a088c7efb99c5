"""The Lipschitz classifier with scikit-learn's manners, on anything that has distances."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.checks import positive, within
from bayeskern.classic.graph import distance_matrix
from bayeskern.classic.lipschitz import lipschitz_hard, lipschitz_norm, lipschitz_soft


class LipschitzClassifier(ClassifierMixin, BaseEstimator):
    """Large-margin classification in a metric space (von Luxburg and Bousquet 2004).

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        A name scikit-learn knows, "precomputed", or ``metric(x, z) -> float`` on objects of any
        kind, such as strings.
    C : float or None, default=1.0
        Price of a violation of the margin; None asks for a hard margin, which is the nearest
        neighbour rule with a confidence.
    alpha : float in [0, 1], default=0.5
        Which of the extensions to use; one half stays within the values of the sample.

    Attributes
    ----------
    classes_ : array of shape (2,)
    result_ : LipschitzSolution
        Values on the sample, Lipschitz constant, gap.
    lipschitz_constant_ : float

    Examples
    --------
    >>> def edits(s, t):
    ...     return float(sum(a != b for a, b in zip(s, t)) + abs(len(s) - len(t)))
    >>> words = ["aab", "aba", "bba", "ccd", "cdc", "ddc"]
    >>> model = LipschitzClassifier(edits).fit(words, ["ab"] * 3 + ["cd"] * 3)
    >>> model.predict(["abb", "dcd"])
    array(['ab', 'cd'], dtype='<U2')
    """

    def __init__(self, metric="euclidean", *, C=1.0, alpha=0.5):
        self.metric = metric
        self.C = C
        self.alpha = alpha

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from points, objects or (precomputed) distances and two labels."""
        if callable(self.metric):
            y = np.asarray(y)
            if len(y) != len(X):
                raise ValueError(f"y must have one entry per point, got {len(y)} for {len(X)}")
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
        within(self.alpha, "alpha", 0, 1)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported: y must hold two classes,"
                f" got {len(self.classes_)} class{'es' if len(self.classes_) != 1 else ''}"
            )
        D = distance_matrix(X, metric=self.metric)
        signs = np.where(index == 1, 1.0, -1.0)
        if self.C is None:
            self.result_ = lipschitz_hard(D, signs)
        else:
            self.result_ = lipschitz_soft(D, signs, positive(self.C, "C"))
        self.lipschitz_constant_ = self.result_.constant
        self.X_, self._distances = X, D
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Value of the extended function, at least 1 in modulus well inside a class."""
        check_is_fitted(self)
        if callable(self.metric):
            cross = distance_matrix(X, self.X_, self.metric)
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64)
            cross = X if self.metric == "precomputed" else distance_matrix(X, self.X_, self.metric)
        return self.result_.decision(cross, alpha=self.alpha)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class by the sign of the decision function, the second one at zero."""
        positive_side = self.decision_function(X) >= 0
        return self.classes_[positive_side.astype(int)]

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what risk bounds need to know about the fit.

        Parameters
        ----------
        X, y
            The training set, as given to `fit`.

        Returns
        -------
        dict
            ``kind`` "lipschitz", ``n``, ``margins`` :math:`y_i f(x_i)`, ``lipschitz_constant``,
            ``lipschitz_norm``, ``diameter`` of the sample, ``training_error`` and ``distances``.
        """
        check_is_fitted(self)
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        margins = signs * self.decision_function(X)
        diameter = float(self._distances.max())
        return {
            "kind": "lipschitz",
            "n": len(signs),
            "margins": margins,
            "lipschitz_constant": self.result_.constant,
            "lipschitz_norm": lipschitz_norm(self._distances, self.result_.values),
            "diameter": diameter,
            "training_error": float(np.mean((margins < 0) | ((margins == 0) & (signs < 0)))),
            "distances": self._distances,
        }
