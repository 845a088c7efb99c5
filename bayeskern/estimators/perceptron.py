"""The perceptron with scikit-learn's manners."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayeskern.checks import one_of
from bayeskern.classic.perceptron import PerceptronSolution, kernel_perceptron
from bayeskern.estimators.expansion import BinaryMachine

COMBINES = ("last", "averaged", "voted")


class PerceptronClassifier(BinaryMachine):
    """The kernel perceptron, by its last weight vector, their average or their vote.

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs.
    combine : {"last", "averaged", "voted"}
        What predicts: the last weight vector, the mean of all, or all by vote (Freund and Schapire
        1999). The vote scores in [-1, 1].
    max_epochs : int, default=1000
        Passes after which to give up on a sample that is not separable, with a warning.
    shuffle : bool, default=False
        A new random order for each pass.
    probability : {"platt", "isotonic"} or None
        How to make probabilities; they cost five more fits and agree with ``predict``.
    random_state : int, optional
        Of the orders and of the folds.

    Attributes
    ----------
    classes_ : array of shape (2,)
    solution_ : PerceptronSolution
        With the trace of the mistakes and Novikoff's bound.
    dual_coef_ : array of shape (n,)
    norm_ : float
    kernel_ : kernel

    Examples
    --------
    >>> from bayeskern.kernels import Polynomial
    >>> X = [[1, 1], [-1, -1], [1, -1], [-1, 1]]
    >>> model = PerceptronClassifier(Polynomial(2)).fit(X, ["same", "same", "not", "not"])
    >>> model.predict([[2, 3]])
    array(['same'], dtype='<U4')
    """

    def __init__(
        self,
        kernel=None,
        *,
        combine="last",
        max_epochs=1000,
        shuffle=False,
        probability=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.combine = combine
        self.max_epochs = max_epochs
        self.shuffle = shuffle
        self.probability = probability
        self.random_state = random_state

    def _solve(self, K: np.ndarray, signs: np.ndarray) -> PerceptronSolution:
        one_of(self.combine, "combine", COMBINES)
        return kernel_perceptron(
            K,
            signs,
            max_epochs=self.max_epochs,
            shuffle=self.shuffle,
            random_seed=self.random_state,
        )

    def _coefficients(self, solution: PerceptronSolution) -> np.ndarray:
        return solution.averaged() if self.combine == "averaged" else solution.coefficients

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x), or the vote, positive for the second class."""
        check_is_fitted(self)
        if self.combine == "voted":
            return self.solution_.vote(self._cross(X))
        return super().decision_function(X)

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk needs, measured on the training sample (X, y).

        Only the last weight vector is determined by the mistakes, so only it is a "perceptron" to
        the bounds that count them; the vote has no norm.
        """
        facts = {
            "kind": "perceptron" if self.combine == "last" else f"{self.combine} perceptron",
            "margins": self._margins(X, y),
            "n_support": len(np.unique(self.solution_.mistakes)),
            "n_mistakes": self.solution_.n_mistakes,
            **self._size(X),
        }
        return facts if self.combine == "voted" else {**facts, "norm": self.norm_}
