"""Nearest-neighbour rules in the space of a kernel, and the errors they tend to."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from bayeskern.checks import as_array, as_gram, one_of, whole, within
from bayeskern.classic.risk import bayes_risk
from bayeskern.errors import NotPSDError

TIES = ("nearest", "lowest")


def kernel_distances(K: Any, left: Any = None, right: Any = None) -> np.ndarray:
    r"""Return distances in feature space, :math:`d^2 = k(x, x) + k(z, z) - 2 k(x, z)`.

    Parameters
    ----------
    K : array of shape (m, n)
        Kernel between the points; square and symmetric if the diagonals are left out.
    left, right : array of shape (m,) and (n,), optional
        The values :math:`k(x, x)` and :math:`k(z, z)`; by default the diagonal of ``K``.

    Returns
    -------
    ndarray of shape (m, n)
        Distances. Negative squares of rounding size become 0; larger ones are refused, since no
        feature space has them.

    Examples
    --------
    >>> kernel_distances([[1.0, 0.5], [0.5, 1.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if left is None or right is None:
        K = as_gram(K)
        left = right = K.diagonal()
    K, left, right = as_array(K, "K", ndim=2), as_array(left, "left"), as_array(right, "right")
    if K.shape != (left.size, right.size):
        raise ValueError(
            f"K must be of shape {(left.size, right.size)}, by its diagonals, got {K.shape}"
        )
    squares = left[:, None] + right - 2 * K
    scale = max(np.abs(left).max(), np.abs(right).max(), np.finfo(float).tiny)
    if squares.min() < -1e-8 * scale:
        raise NotPSDError(
            f"K must be positive semidefinite, got a squared distance of {squares.min():.3g}"
        )
    return np.sqrt(np.maximum(squares, 0.0))


class Votes(NamedTuple):
    """Labels chosen by the neighbours, and the share of each class, in the order of ``classes``."""

    labels: np.ndarray
    shares: np.ndarray
    classes: np.ndarray


def neighbor_votes(
    D: Any, labels: Any, k: int = 1, *, tie: str = "nearest", leave_one_out: bool = False
) -> Votes:
    """Let the ``k`` nearest sample points vote; points at one distance rank by index.

    On points themselves, rather than distances, ``sklearn.neighbors.KNeighborsClassifier`` is
    faster.

    Parameters
    ----------
    D : array of shape (m, n)
        Distances from the new points to the sample, for example by `kernel_distances`.
    labels : array of shape (n,)
        Labels of the sample, of any kind.
    k : int, default=1
        Neighbours that vote; even numbers warn if there are two classes.
    tie : {"nearest", "lowest"}, default="nearest"
        Which class wins among those with equally many votes: the one of the nearer voter, or the
        one whose label sorts first.
    leave_one_out : bool, default=False
        The new points are the sample, and none votes for itself.

    Returns
    -------
    Votes
        The winners and the shares, which estimate class probabilities.

    Examples
    --------
    >>> neighbor_votes([[0.1, 0.2, 0.9]], ["b", "a", "a"], 3).labels
    array(['a'], dtype='<U1')
    """
    D = as_array(D, "D", ndim=2)
    n = D.shape[1]
    classes, index = np.unique(np.asarray(labels), return_inverse=True)
    if len(index) != n:
        raise ValueError(f"labels must have one entry per column of D, got {len(index)} for {n}")
    if leave_one_out:
        if D.shape[0] != n:
            raise ValueError(f"D must be square to leave one out, got shape {D.shape}")
        D = D + np.diag(np.full(n, np.inf))
    one_of(tie, "tie", TIES)
    voters = n - leave_one_out
    if whole(k, "k", least=1) > voters:
        raise ValueError(f"k must be at most the {voters} points that can vote, got {k}")
    if k % 2 == 0 and len(classes) == 2:
        warnings.warn(f"k = {k} neighbours of two classes can tie; use an odd k", stacklevel=2)
    nearest = index[np.argsort(D, axis=1, kind="stable")[:, :k]]
    hits = nearest[:, :, None] == np.arange(len(classes))
    counts = hits.sum(axis=1)
    winners = counts == counts.max(axis=1, keepdims=True)
    if tie == "nearest":
        first = np.where(winners, np.where(hits.any(axis=1), hits.argmax(axis=1), k), k)
        chosen = first.argmin(axis=1)
    else:
        chosen = winners.argmax(axis=1)
    return Votes(classes[chosen], counts / k, classes)


def asymptotic_error(eta: Any, weights: Any, k: int = 1) -> float:
    r"""Return the limit of the error of the k-nearest-neighbour rule as the sample grows.

    .. math:: L_k = E \big[ \eta \, P(B < k / 2) + (1 - \eta) \, P(B > k / 2) \big], \qquad
        B \sim \mathrm{Bin}(k, \eta) ,

    which is :math:`2 E \eta (1 - \eta)` for one neighbour. The rule is consistent only if ``k``
    grows with the sample and k / n tends to 0.

    Parameters
    ----------
    eta : array of shape (m,)
        Probability of +1 at each input.
    weights : array of shape (m,)
        Probabilities of the inputs.
    k : int, default=1
        Neighbours, an odd number.

    Examples
    --------
    >>> round(asymptotic_error([0.2, 0.9], [0.5, 0.5]), 12)
    0.25
    """
    from scipy.stats import binom

    if whole(k, "k", least=1) % 2 == 0:
        raise ValueError(f"k must be odd, so that votes cannot tie, got {k}")
    bayes_risk(eta, weights)  # refuses what is no distribution
    eta, weights = np.asarray(eta, dtype=float), np.asarray(weights, dtype=float)
    minority = binom.cdf((k - 1) / 2, k, eta)
    return float(weights @ (eta * minority + (1 - eta) * (1 - minority)))


class AsymptoticBounds(NamedTuple):
    """What the Bayes risk says about the limits of nearest-neighbour errors."""

    lower: float
    one_neighbor: float
    k_neighbors: float


def asymptotic_bounds(bayes: float, k: int = 1) -> AsymptoticBounds:
    r"""Bound nearest-neighbour limits by the Bayes risk (Cover and Hart 1967).

    :math:`L^* \le L_1 \le 2 L^* (1 - L^*)`, and :math:`L_k \le L^* + \sqrt{2 L_1 / k}` for odd k,
    here with the upper bound of :math:`L_1`.

    Parameters
    ----------
    bayes : float
        The Bayes risk, at most one half.
    k : int, default=1
        Neighbours, an odd number.

    Examples
    --------
    >>> asymptotic_bounds(0.25).one_neighbor
    0.375
    """
    bayes = within(bayes, "bayes", 0, 0.5)
    one = 2 * bayes * (1 - bayes)
    return AsymptoticBounds(bayes, one, bayes + (2 * one / whole(k, "k", least=1)) ** 0.5)
