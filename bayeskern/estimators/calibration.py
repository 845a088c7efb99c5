"""Probabilities for machines that only have scores.

The map from score to probability is learnt on scores of points left out in cross-validation, never
on the training scores, which are pushed to the margin. It always gives the predicted class the
largest probability: a score of zero is an even chance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from bayeskern.checks import one_of, whole

METHODS = ("platt", "isotonic")
_LEAN = 1e-9  # how far a probability is kept from an even chance


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""A monotone map from scores to probabilities that agrees with the sign of the score.

    ``"platt"`` is :math:`p = \sigma(a_\pm f)` with one slope for each sign of :math:`f`: Platt's
    sigmoid with its offset given up, so that :math:`p > 1/2` where :math:`f > 0`. ``"isotonic"`` is
    the monotone step function of least squares, kept on the side of one half where the score is.
    Several scores per point (one per class) go through a softmax of one temperature.

    Parameters
    ----------
    method : {"platt", "isotonic"}
        The form of the map.
    knots : ndarray
        Slopes for negative and positive scores; or the temperature; or scores of the steps.
    levels : ndarray
        Probabilities of the steps; empty for the other forms.
    """

    method: str
    knots: np.ndarray
    levels: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return probabilities of shape (n, 2), or (n, k) for k scores per point."""
        scores = np.asarray(scores, dtype=float)
        if scores.ndim == 2:
            return softmax(self.knots[0] * scores, axis=1)
        if self.method == "platt":
            p = expit(np.where(scores < 0, self.knots[0], self.knots[1]) * scores)
        else:
            p = np.interp(scores, self.knots, self.levels)
        p = np.where(scores < 0, np.minimum(p, 0.5 - _LEAN), np.maximum(p, 0.5 + _LEAN))
        return np.column_stack([1 - p, p])


def calibrate(scores: np.ndarray, labels: np.ndarray, method: str = "platt") -> Calibration:
    """Learn the map from scores of points that were left out.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, k)
        Out-of-sample scores, positive for the second class, or one per class.
    labels : ndarray of shape (n,)
        Class indices 0 .. k-1.
    method : {"platt", "isotonic"}
        Isotonic is for two classes only.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> fair = calibrate(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 1, 1, 1]))
    >>> bool(fair(np.array([3.0]))[0, 1] > 0.8)
    True
    """
    one_of(method, "method", METHODS)
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels)
    if scores.ndim == 2:
        if method == "isotonic":
            raise ValueError(
                f"method must be 'platt' for {scores.shape[1]} classes, got 'isotonic'"
            )
        here = np.arange(len(labels)), labels
        slope = _slope(lambda a: -log_softmax(a * scores, axis=1)[here].mean())
        return Calibration(method, np.array([slope]), np.empty(0))
    positive = labels == 1
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        steps = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, positive)
        return Calibration(method, steps.X_thresholds_, steps.y_thresholds_)
    slopes = []
    for side in (scores < 0, scores >= 0):
        right = int((positive[side] == (scores[side] >= 0)).sum())
        wrong = int(side.sum()) - right
        # Platt's targets: one imaginary point of each kind keeps a perfect split finite
        hit, miss = (right + 1) / (right + 2), 1 / (wrong + 2)
        sure = np.where(positive[side] == (scores[side] >= 0), hit, miss)
        size = np.abs(scores[side])
        slopes.append(_slope(lambda a, s=sure, f=size: _cross_entropy(s, a * f)))
    return Calibration(method, np.array(slopes), np.empty(0))


def held_out_scores(
    estimator: Any, X: Any, y: np.ndarray, *, folds: int = 5, random_state: Any = None
) -> np.ndarray:
    """Return the ``decision_function`` of every point from a fit that did not see it.

    Parameters
    ----------
    estimator : estimator
        Cloned for each fold; a precomputed Gram matrix is cut on both sides.
    X, y
        The training set; ``y`` holds class labels.
    folds : int, default=5
        Fewer are taken when a class has fewer points.
    random_state : int or Generator, optional
        Of the shuffle into folds.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    least = int(np.unique(y, return_counts=True)[1].min())
    if least < 2:
        raise ValueError("a probability needs at least two points in every class, got one")
    seed = random_state
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**31))
    splits = StratifiedKFold(
        min(whole(folds, "folds", least=2), least), shuffle=True, random_state=seed
    )
    return cross_val_predict(estimator, X, y, cv=splits, method="decision_function")


def _cross_entropy(sure: np.ndarray, f: np.ndarray) -> float:
    return float(np.mean(np.logaddexp(0, f) - sure * f)) if len(f) else 0.0


def _slope(loss: Any) -> float:
    """Minimise a convex loss over positive slopes, on a logarithmic scale."""
    return float(
        np.exp(minimize_scalar(lambda u: loss(np.exp(u)), bounds=(-7, 7), method="bounded").x)
    )
