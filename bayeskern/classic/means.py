r"""k-means on points, in feature space, and for a density on the line.

All three minimise the energy :math:`\sum_i \|x_i - c_{y_i}\|^2` by Lloyd's iteration: assign each
point to the nearest centre, move each centre to the mean of its points.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskern.checks import as_gram, as_matrix, whole


@dataclass(frozen=True)
class Means:
    """A k-means clustering: labels, centres, energy, and the energy after every half step."""

    labels: np.ndarray = field(repr=False)
    centres: np.ndarray = field(repr=False)
    energy: float
    trace: np.ndarray = field(repr=False)
    n_iter: int

    def predict(self, X: Any) -> np.ndarray:
        """Label of the nearest centre."""
        return squared_distances(as_matrix(X), self.centres).argmin(axis=1)


def squared_distances(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances by differences, so that data far from the origin lose no digits."""
    from scipy.spatial.distance import cdist

    return cdist(X, centres, "sqeuclidean")


def kmeans_energy(X: Any, labels: Any) -> float:
    r"""Energy :math:`\sum_i \|x_i - c_{y_i}\|^2` of a partition at its barycentres.

    >>> kmeans_energy([[0.0], [2.0], [9.0]], [0, 0, 1])
    2.0
    """
    X, labels = as_matrix(X), np.asarray(labels)
    parts = (X[labels == label] for label in np.unique(labels))
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def kmeans_plus_plus(X: Any, k: int, rng: np.random.Generator) -> np.ndarray:
    r"""Draw ``k`` of the points as first centres (Arthur and Vassilvitskii 2007).

    Each is drawn with probability proportional to the squared distance to the nearest one so
    far. Before any iteration their expected energy is at most :math:`8 (2 + \log k)` times the
    least.

    >>> kmeans_plus_plus([[0.0], [0.0], [7.0]], 2, np.random.default_rng(0)).ravel()
    array([7., 0.])
    """
    X = as_matrix(X)
    chosen = [int(rng.integers(len(X)))]
    d2 = squared_distances(X, X[chosen])[:, 0]
    for _ in range(1, cluster_count(k, len(X))):
        if not d2.any():
            raise ValueError(f"k must not exceed the {len(chosen)} distinct points, got {k}")
        chosen.append(int(rng.choice(len(X), p=d2 / d2.sum())))
        d2 = np.minimum(d2, squared_distances(X, X[chosen[-1:]])[:, 0])
    return X[chosen]


def cluster_count(k: Any, n: int) -> int:
    """Return a number of clusters, refused if it exceeds the number of points."""
    if whole(k, "k", least=1) > n:
        raise ValueError(f"k must be at most the number of points, got {k} clusters for {n} points")
    return int(k)


def kmeans(
    X: Any,
    k: int,
    *,
    start: Any = None,
    restarts: int = 10,
    max_iter: int = 300,
    random_state: int | None = 0,
) -> Means:
    """Lloyd's iteration from k-means++ starts; the best of several.

    The search over restarts is scikit-learn's; its winner is then run again with the energy
    recorded after every half step, a sequence that never increases. An emptied cluster takes the
    point farthest from its centre.

    Parameters
    ----------
    X : array of shape (n, d)
    k : int
        Number of clusters, at most the number of distinct points.
    start : array of shape (k, d), optional
        First centres; then there are no restarts.

    Returns
    -------
    Means

    Examples
    --------
    >>> rectangle = [[0, 0], [0, 1], [3, 0], [3, 1]]
    >>> kmeans(rectangle, 2).energy
    1.0
    >>> kmeans(rectangle, 2, start=[[1.5, 0], [1.5, 1]]).energy
    9.0
    """
    X = as_matrix(X)
    k = cluster_count(k, len(X))
    if k > 1 and len(distinct := np.unique(X, axis=0)) < k:
        raise ValueError(f"k must not exceed the {len(distinct)} distinct points, got {k}")
    if start is None:
        from sklearn.cluster import KMeans

        whole(restarts, "restarts", least=1)
        best = KMeans(k, n_init=restarts, max_iter=max_iter, random_state=random_state).fit(X)
        centres = best.cluster_centers_
    else:
        centres = as_matrix(start, "start")
        if centres.shape != (k, X.shape[1]):
            raise ValueError(f"start must have shape {(k, X.shape[1])}, got {centres.shape}")
    trace, labels, n_iter = [], np.full(len(X), -1), 0
    while n_iter < max_iter:
        n_iter += 1
        d2 = squared_distances(X, centres)
        new = d2.argmin(axis=1)
        near = d2[np.arange(len(X)), new]
        for empty in np.setdiff1d(np.arange(k), new):
            far = int(near.argmax())
            new[far], near[far] = empty, 0.0
        trace.append(float(near.sum()))
        if (new == labels).all():
            break
        labels = new
        centres = np.array([X[labels == c].mean(axis=0) for c in range(k)])
        trace.append(kmeans_energy(X, labels))
    return Means(labels, centres, trace[-1], np.array(trace), n_iter)


@dataclass(frozen=True)
class Lloyd:
    """A quantiser of a density on the line: centres, cell boundaries and energy."""

    centres: np.ndarray
    boundaries: np.ndarray
    energy: float
    n_iter: int


def continuous_lloyd(
    density: Callable[[np.ndarray], np.ndarray],
    low: float,
    high: float,
    k: int,
    *,
    tol: float = 1e-12,
    max_iter: int = 20_000,
) -> Lloyd:
    r"""Lloyd's iteration for a density on an interval.

    Cells are bounded by the midpoints of neighbouring centres, and each centre moves to
    :math:`\int_V x \, q(x) dx / \int_V q(x) dx`, with integrals by Gauss-Legendre quadrature.

    Examples
    --------
    >>> answer = continuous_lloyd(lambda x: 2 * x, 0.0, 1.0, 2)
    >>> answer.boundaries.round(6)  # the golden ratio
    array([0.618034])
    """
    if not low < high:
        raise ValueError(f"the interval must have low < high, got {low!r} and {high!r}")
    whole(k, "k", least=1)
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def moments(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        half = np.diff(edges)[:, None] / 2
        x = (edges[:-1] + edges[1:])[:, None] / 2 + half * nodes
        mass = half * weights * density(x)
        return mass.sum(axis=1), (mass * x).sum(axis=1), (mass * x**2).sum(axis=1)

    fine = np.linspace(low, high, 10 * k + 1)
    mass = moments(fine)[0]
    if not (mass >= 0).all() or mass.sum() <= 0:
        raise ValueError(f"the density must be non-negative with positive mass, got {mass.sum():g}")
    cumulative = np.concatenate([[0], mass.cumsum()]) / mass.sum()
    centres = np.interp((np.arange(k) + 0.5) / k, cumulative, fine)
    n_iter, moved = 0, np.inf
    while moved > tol * (high - low) and n_iter < max_iter:
        n_iter += 1
        edges = np.concatenate([[low], (centres[1:] + centres[:-1]) / 2, [high]])
        zeroth, first, second = moments(edges)
        if zeroth.min() <= 0:
            raise ValueError(f"cell {int(zeroth.argmin())} has no mass; ask for fewer than {k}")
        new = first / zeroth
        moved = float(np.abs(new - centres).max())
        centres = new
    energy = float((second - 2 * centres * first + centres**2 * zeroth).sum() / zeroth.sum())
    return Lloyd(centres, edges[1:-1], energy, n_iter)


@dataclass(frozen=True)
class KernelMeans:
    """A k-means clustering in feature space; ``weights`` are the centres' coefficients."""

    labels: np.ndarray = field(repr=False)
    energy: float
    trace: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)
    n_iter: int
    converged: bool

    def predict(self, cross: Any) -> np.ndarray:
        """Label of the nearest centre, from the kernel values of new and training points."""
        return (self.squares - 2 * np.asarray(cross) @ self.weights).argmin(axis=1)


def kernel_kmeans(
    K: Any, k: int, *, start: Any = None, restarts: int = 10, max_iter: int = 300, random_state=0
) -> KernelMeans:
    r"""k-means in the feature space of a kernel.

    .. math:: \|\phi(x) - m_l\|^2 = k(x, x) - \frac{2}{|S_l|} \sum_{j \in S_l} k(x, x_j)
       + \frac{1}{|S_l|^2} \sum_{j, j' \in S_l} k(x_j, x_{j'})

    Parameters
    ----------
    K : array of shape (n, n)
        A positive semidefinite Gram matrix; with others the energy need not fall.
    k : int
        Number of clusters.
    start : array of shape (n,), optional
        First labels in 0..k-1; otherwise the best of several k-means++ starts is returned.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [9.0]])
    >>> kernel_kmeans(x @ x.T, 2).energy
    0.5
    """
    K = as_gram(K, psd=True)
    n = len(K)
    k = cluster_count(k, n)
    if start is not None:
        labels = np.asarray(start)
        if labels.shape != (n,) or not np.isin(labels, np.arange(k)).all():
            raise ValueError(f"start must hold {n} labels in 0..{k - 1}, got {labels!r}")
        return _kernel_lloyd(K, labels.astype(int), k, max_iter)
    rng = np.random.default_rng(random_state)
    runs = (
        _kernel_lloyd(K, _kernel_start(K, k, rng), k, max_iter)
        for _ in range(whole(restarts, "restarts", least=1))
    )
    return min(runs, key=lambda run: run.energy)


def _kernel_start(K: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels of the nearest of ``k`` points drawn as by k-means++."""
    diagonal = K.diagonal()
    chosen: list[int] = []
    d2 = np.full((len(K), k), np.inf)
    p = np.full(len(K), 1 / len(K))
    for c in range(k):
        chosen.append(int(rng.choice(len(K), p=p)))
        d2[:, c] = np.maximum(diagonal + diagonal[chosen[c]] - 2 * K[chosen[c]], 0)
        d2[chosen, c] = np.where(np.array(chosen) == chosen[c], 0, d2[chosen, c])
        best = d2.min(axis=1)
        if c < k - 1 and best.max() <= 1e-12 * max(float(diagonal.max()), 1e-300):
            raise ValueError(f"k must not exceed the {c + 1} distinct points, got {k}")
        p = best / best.sum() if best.any() else p
    return d2.argmin(axis=1)


def _kernel_lloyd(K: np.ndarray, labels: np.ndarray, k: int, max_iter: int) -> KernelMeans:
    n, diagonal = len(K), K.diagonal()
    trace: list[float] = []
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        n_iter += 1
        weights = np.zeros((n, k))
        weights[np.arange(n), labels] = 1.0
        weights /= np.maximum(weights.sum(axis=0), 1)
        cross = K @ weights
        squares = (weights * cross).sum(axis=0)
        d2 = diagonal[:, None] - 2 * cross + squares
        d2[:, ~weights.any(axis=0)] = np.inf
        trace.append(float(d2[np.arange(n), labels].sum()))
        new = d2.argmin(axis=1)
        near = d2[np.arange(n), new].copy()
        for empty in np.setdiff1d(np.arange(k), new):
            far = int(near.argmax())
            new[far], near[far] = empty, 0.0
        trace.append(float(near.sum()))
        converged = bool((new == labels).all())
        labels = new
    return KernelMeans(labels, trace[-1], np.array(trace), weights, squares, n_iter, converged)
