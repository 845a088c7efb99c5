"""The perceptron in its three forms, with the trace of its mistakes and Novikoff's bound."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.checks import as_array, as_gram, as_labels, as_matrix, one_of, positive, whole
from bayeskern.classic.result import Solution
from bayeskern.errors import ConvergenceWarning, NotSeparableError

TIES = ("error", "positive")


@dataclass(frozen=True, eq=False, kw_only=True)
class PerceptronSolution(Solution):
    r"""What a perceptron learnt, and the run that led there.

    ``objective`` is the training error, a tie counting as an error; ``n_iter`` counts passes over
    the sample, with the last, clean one.

    Attributes
    ----------
    mistakes : ndarray of int
        The examples on which it erred, in order.
    steps : ndarray of int
        How many examples it had seen at each mistake, the mistaken one included.
    n_seen : int
        How many examples it saw in all.
    labels : ndarray
        The labels -1 and +1.
    radius : float
        The largest norm of a point, :math:`\varsigma`; the ball is about the origin.
    margin : float
        The geometrical margin :math:`\min_i y_i f(x_i) / \|w\|`, negative if some point is wrong.
    norm : float
        The norm of the weight vector.
    """

    mistakes: np.ndarray
    steps: np.ndarray
    n_seen: int
    labels: np.ndarray
    radius: float
    margin: float
    norm: float

    @property
    def n_mistakes(self) -> int:
        """Number of updates."""
        return len(self.mistakes)

    @property
    def novikoff(self) -> float:
        r"""The bound :math:`(\varsigma / \gamma)^2` on the mistakes, from the margin attained.

        Infinite if the solution does not separate; stated for a run that started at 0.
        """
        return novikoff_bound(self.radius, self.margin) if self.margin > 0 else float("inf")

    def averaged(self) -> np.ndarray:
        """Return the expansion coefficients of the mean of all weight vectors held in the run.

        The mean is over examples seen (Freund and Schapire 1999), so a vector that survived long
        counts much. For the kernel form; start at 0.
        """
        stay = (self.n_seen - self.steps + 1) / self.n_seen
        signs = self.labels[self.mistakes]
        return np.bincount(self.mistakes, signs * stay, minlength=len(self.labels))

    def vote(self, K: Any) -> np.ndarray:
        r"""Return the vote :math:`\sum_k c_k \operatorname{sign} f_k(x) / \sum_k c_k` in [-1, 1].

        Parameters
        ----------
        K : array of shape (m, n)
            Kernel between new points and the sample.

        Returns
        -------
        ndarray of shape (m,)
            Each weight vector of the run votes with the number of examples that it survived.
        """
        K = as_array(K, "K", ndim=2)
        stay = np.diff(np.append(self.steps, self.n_seen + 1))
        outputs = np.cumsum(K[:, self.mistakes] * self.labels[self.mistakes], axis=1)
        return np.sign(outputs) @ stay / max(stay.sum(), 1)


def novikoff_bound(
    radius: float, margin: float, *, start_norm: float = 0.0, start_inner: float = 0.0
) -> float:
    r"""Bound the mistakes of a perceptron on separable data (Novikoff 1962).

    From a start at 0 there are at most :math:`(\varsigma / \gamma)^2`, for the margin of *any*
    separating unit vector :math:`w^*`; the maximum margin gives the least bound. From a start
    :math:`w_0` the count is at most the larger root of
    :math:`\gamma^2 t^2 + (2 a \gamma - \varsigma^2) t + a^2 - \|w_0\|^2`.

    Parameters
    ----------
    radius : float
        Largest norm of a point.
    margin : float
        Geometrical margin of the unit vector.
    start_norm, start_inner : float
        The norm of the start and its inner product :math:`a` with the unit vector.

    Examples
    --------
    >>> novikoff_bound(2.0, 2**0.5)
    2.0
    """
    square, gamma = positive(radius, "radius") ** 2, positive(margin, "margin")
    a, start = float(start_inner), positive(start_norm, "start_norm", zero=True)
    half = square / 2 - a * gamma
    discriminant = max(half**2 + gamma**2 * (start**2 - a**2), 0.0)
    bound = (half + discriminant**0.5) / gamma**2
    return max(round(bound, 12), 0.0)  # a tight bound must not fall below its integer by rounding


def primal_perceptron(
    X: Any,
    y: Any,
    *,
    start: Any = None,
    max_epochs: int = 1000,
    shuffle: bool = False,
    random_seed: int | None = None,
    tie: str = "error",
) -> PerceptronSolution:
    r"""Add each misclassified :math:`y_i x_i` to the weight vector, until none is left.

    Parameters
    ----------
    X : array of shape (n, p)
        Points, none of them 0; append a column of ones for an offset.
    y : array of shape (n,)
        Labels -1 and +1.
    start : array of shape (p,), optional
        First weight vector, 0 by default.
    max_epochs : int, default=1000
        Passes after which to give up, with a warning: without a separating vector there is no end.
    shuffle : bool, default=False
        Visit the examples in a new random order on each pass; the result depends on the order.
    random_seed : int, optional
        Seed of the orders.
    tie : {"error", "positive"}, default="error"
        Whether an output of exactly 0 is a mistake, or stands for +1. The path depends on it.

    Returns
    -------
    PerceptronSolution
        Its ``coefficients`` are the weights: call it with features.

    Examples
    --------
    >>> run = primal_perceptron([[10.0, 0.0], [1.0, -1.0]], [1, -1])
    >>> run.coefficients, run.mistakes, run.n_iter
    (array([4., 6.]), array([0, 1, 1, 1, 1, 1, 1]), 7)
    """
    X = as_matrix(X)
    y = as_labels(y, len(X))
    w = np.zeros(X.shape[1]) if start is None else as_array(start, "start", ndim=1).copy()
    if w.shape != (X.shape[1],):
        raise ValueError(f"start must have {X.shape[1]} entries, got {len(w)}")
    squares = (X**2).sum(axis=1)

    def outputs(chosen: np.ndarray) -> np.ndarray:
        return X[chosen] @ w

    def learn(j: int) -> None:
        nonlocal w
        w = w + y[j] * X[j]

    run = _run(outputs, learn, y, squares, max_epochs, shuffle, random_seed, tie)
    return _solution(w, X @ w, float(w @ w), y, squares, run)


def kernel_perceptron(
    K: Any,
    y: Any,
    *,
    cached: bool = True,
    max_epochs: int = 1000,
    shuffle: bool = False,
    random_seed: int | None = None,
    tie: str = "error",
) -> PerceptronSolution:
    r"""Run the perceptron on expansion coefficients: a mistake on ``j`` adds :math:`y_j` there.

    Parameters
    ----------
    K : array of shape (n, n)
        Gram matrix with a positive diagonal.
    y : array of shape (n,)
        Labels -1 and +1.
    cached : bool, default=True
        Keep all outputs and update them at a mistake, which costs O(n) a mistake and nothing for
        an example that is right; without it every visit costs O(n). The answer is the same.
    max_epochs, shuffle, random_seed, tie
        As for `primal_perceptron`.

    Returns
    -------
    PerceptronSolution
        With the sign inside the coefficients: ``f(x) = sum(coefficients * k(x_i, x))``.

    Examples
    --------
    >>> X = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    >>> run = kernel_perceptron((X @ X.T) ** 2, [1, 1, -1, -1])
    >>> run.coefficients, run.n_mistakes, run.novikoff
    (array([ 1.,  0., -1.,  0.]), 2, 2.0)
    """
    K = as_gram(K)
    y = as_labels(y, len(K))
    alpha, o = np.zeros(len(y)), np.zeros(len(y))

    def outputs(chosen: np.ndarray) -> np.ndarray:
        return o[chosen] if cached else K[chosen] @ alpha

    def learn(j: int) -> None:
        nonlocal o
        alpha[j] += y[j]
        if cached:
            o += y[j] * K[j]

    run = _run(outputs, learn, y, K.diagonal(), max_epochs, shuffle, random_seed, tie)
    f = o if cached else K @ alpha
    return _solution(alpha, f, float(alpha @ f), y, K.diagonal(), run)


def _run(
    outputs: Callable[[np.ndarray], np.ndarray],
    learn: Callable[[int], None],
    y: np.ndarray,
    squares: np.ndarray,
    max_epochs: int,
    shuffle: bool,
    random_seed: int | None,
    tie: str,
) -> tuple[list[int], list[int], int, int, bool]:
    """Visit, err and learn; return mistakes, their times, examples seen, passes, clean or not."""
    if (squares <= 0).any():
        raise NotSeparableError(
            f"point {int(np.argmax(squares <= 0))} has norm 0, so no classifier gets it right"
        )
    one_of(tie, "tie", TIES)
    n, rng = len(y), np.random.default_rng(random_seed)
    mistakes: list[int] = []
    steps: list[int] = []
    for epoch in range(whole(max_epochs, "max_epochs", least=1)):
        order = rng.permutation(n) if shuffle else np.arange(n)
        before, position, reach = len(mistakes), 0, 16
        while position < n:  # the outputs stay valid until the next mistake
            chosen = order[position : position + reach]
            signed = y[chosen] * outputs(chosen)
            wrong = signed < 0
            wrong |= (signed == 0) & ((y[chosen] < 0) | (tie == "error"))
            first = int(wrong.argmax())
            if wrong[first]:
                j, position, reach = int(chosen[first]), position + first + 1, 16
                learn(j)
                mistakes.append(j)
                steps.append(epoch * n + position)
            else:
                position, reach = position + len(chosen), 4 * reach
        if len(mistakes) == before:
            return mistakes, steps, (epoch + 1) * n, epoch + 1, True
    warnings.warn(
        f"the perceptron still errs after {max_epochs} passes; raise max_epochs, or use a soft"
        " margin if the sample is not separable",
        ConvergenceWarning,
        stacklevel=3,
    )
    return mistakes, steps, max_epochs * n, max_epochs, False


def _solution(
    coefficients: np.ndarray,
    f: np.ndarray,
    norm2: float,
    y: np.ndarray,
    squares: np.ndarray,
    run: tuple[list[int], list[int], int, int, bool],
) -> PerceptronSolution:
    mistakes, steps, n_seen, epochs, clean = run
    norm = max(norm2, 0.0) ** 0.5
    error = float(np.mean(y * f <= 0))
    return PerceptronSolution(
        coefficients,
        objective=error,
        gap=error,  # no error at all is the least there can be
        n_iter=epochs,
        converged=clean,
        mistakes=np.array(mistakes, dtype=int),
        steps=np.array(steps, dtype=int),
        n_seen=n_seen,
        labels=y,
        radius=float(squares.max()) ** 0.5,
        margin=float((y * f).min()) / norm if norm > 0 else -np.inf,
        norm=norm,
    )
