"""The adaptive margin machine and the leave-one-out machine with scikit-learn's manners."""

from typing import Any

import numpy as np

from bayeskern.classic.adaptive import AdaptiveMarginSolution, adaptive_margin
from bayeskern.estimators.expansion import BinaryMachine


class AdaptiveMarginClassifier(BinaryMachine):
    """Margins that grow with the weight of their own point: a linear program.

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs.
    lam : float, default=1.0
        Strength of the correction; from ``solution_.threshold`` on, the function is 0.
    probability : {"platt", "isotonic"} or None
        How to make probabilities; they cost five more fits and agree with ``predict``.
    random_state : int, optional
        Of the folds for the probabilities.

    Attributes
    ----------
    classes_ : array of shape (2,)
    solution_ : AdaptiveMarginSolution
        With the dual point that proves it.
    dual_coef_ : array of shape (n,)
    norm_ : float
    kernel_ : kernel

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 2.0]]
    >>> AdaptiveMarginClassifier(lam=0.5).fit(X, [0, 0, 1, 1]).predict([[0.5, 0.5]])
    array([0])
    """

    def __init__(self, kernel=None, *, lam=1.0, probability=None, random_state=None):
        self.kernel = kernel
        self.lam = lam
        self.probability = probability
        self.random_state = random_state

    def _solve(self, K: np.ndarray, signs: np.ndarray) -> AdaptiveMarginSolution:
        return adaptive_margin(K, signs, self.lam)

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk needs, measured on the training sample (X, y)."""
        return {
            "kind": "the adaptive margin machine",
            "margins": self._margins(X, y),
            "norm": self.norm_,
            "n_support": int((self.dual_coef_ != 0).sum()),
            **self._size(X),
        }


class LeaveOneOutMachineClassifier(AdaptiveMarginClassifier):
    """The machine that asks each point to be right without its own help.

    Parameters
    ----------
    kernel, probability, random_state
        As for `AdaptiveMarginClassifier`, whose ``lam`` is 1 here.

    Attributes
    ----------
    classes_, solution_, dual_coef_, norm_, kernel_
        As for `AdaptiveMarginClassifier`.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 2.0]]
    >>> LeaveOneOutMachineClassifier().fit(X, [0, 0, 1, 1]).predict([[0.5, 0.5]])
    array([0])
    """

    def __init__(self, kernel=None, *, probability=None, random_state=None):
        self.kernel = kernel
        self.probability = probability
        self.random_state = random_state

    def _solve(self, K: np.ndarray, signs: np.ndarray) -> AdaptiveMarginSolution:
        return adaptive_margin(K, signs, 1.0)
