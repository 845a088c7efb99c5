r"""Neighbourhood graphs of points, distances or similarities, and their Laplacians.

A graph is its symmetric matrix of non-negative weights ``W``: dense for full graphs, CSR for
neighbourhood graphs. Degrees :math:`d_i = \sum_j W_{ij}` include the diagonal.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from bayeskern.checks import as_array, as_gram, as_matrix, one_of, positive, whole
from bayeskern.classic.dissimilarity import as_distances

LAPLACIANS = ("unnormalised", "sym", "rw")
TREE_DIMENSIONS = 15  # beyond it a k-d tree looks at nearly every point


def distance_matrix(X: Any, Z: Any = None, metric: str | Callable = "euclidean") -> np.ndarray:
    """Return all distances between the objects of two lists, under any metric.

    Parameters
    ----------
    X, Z : arrays of points, or lists of anything a callable metric understands
        ``Z`` defaults to ``X``. With ``metric="precomputed"`` ``X`` is the matrix itself.
    metric : str or callable
        A name scikit-learn's ``pairwise_distances`` knows, or ``metric(x, z) -> float``, assumed
        symmetric with ``metric(x, x) == 0``.

    Examples
    --------
    >>> distance_matrix(["ab", "abc"], metric=lambda s, t: abs(len(s) - len(t)))
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(metric, str):
        if metric == "precomputed":
            return as_array(X, "X", ndim=2)
        X = as_matrix(X)
        Z = X if Z is None else as_matrix(Z, "Z")
        if metric == "euclidean":
            from scipy.spatial.distance import cdist

            return cdist(X, Z)  # by differences, so that duplicates are at distance zero
        from sklearn.metrics import pairwise_distances

        return pairwise_distances(X, Z, metric=metric)
    if Z is not None:
        return as_array([[metric(x, z) for z in Z] for x in X], "metric(x, z)", ndim=2)
    D = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(i):
            D[i, j] = D[j, i] = metric(X[i], X[j])
    return as_array(D, "metric(x, z)")


def nearest(
    X: Any, k: int, *, queries: Any = None, metric: str | Callable = "euclidean"
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and indices of the ``k`` nearest points, each of shape (n, k), nearest first.

    Without ``queries`` the neighbours are those of the points themselves, excluding self (a
    duplicate is a neighbour at distance zero).

    >>> distances, indices = nearest([[0.0], [1.0], [3.0]], 1)
    >>> distances.ravel(), indices.ravel()
    (array([1., 1., 2.]), array([1, 0, 1]))
    """
    own = queries is None
    n = len(X)
    if not 1 <= whole(k, "k") <= n - own:
        raise ValueError(f"k must be between 1 and {n - own} for {n} points, got {k}")
    if metric == "euclidean":
        X = as_matrix(X)
        if X.shape[1] <= TREE_DIMENSIONS:
            from scipy.spatial import cKDTree

            tree = cKDTree(X)
            if not own:
                d, j = tree.query(as_matrix(queries, "queries"), k)
                return d.reshape(-1, k), j.reshape(-1, k)
            return _drop_self(*tree.query(X, k + 1))
        from sklearn.neighbors import NearestNeighbors

        return (
            NearestNeighbors(n_neighbors=k)
            .fit(X)
            .kneighbors(None if own else as_matrix(queries, "queries"))
        )
    if own and metric == "precomputed":
        D = as_distances(X, "X").copy()
    else:
        D = distance_matrix(X if own else queries, None if own else X, metric)
    if own:
        np.fill_diagonal(D, np.inf)
    j = np.argpartition(D, k - 1, axis=1)[:, :k]
    d = np.take_along_axis(D, j, axis=1)
    order = np.lexsort((j, d))
    return np.take_along_axis(d, order, axis=1), np.take_along_axis(j, order, axis=1)


def _drop_self(d: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove each row's own index, or its last entry where duplicates crowded it out."""
    n, width = j.shape
    own = j == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    keep = ~own
    return d[keep].reshape(n, width - 1), j[keep].reshape(n, width - 1)


def neighbour_graph(
    X: Any,
    *,
    k: int | None = None,
    radius: float | None = None,
    mutual: bool = False,
    weight: str | Callable = "distance",
    metric: str | Callable = "euclidean",
) -> sparse.csr_array:
    r"""Graph of near points: ``k`` nearest, mutually nearest, or within a radius.

    Parameters
    ----------
    X : array of shape (n, d), a distance matrix with ``metric="precomputed"``, or any objects
        The points.
    k, radius : exactly one of the two
        Number of neighbours (self excluded), or the largest distance of an edge.
    mutual : bool
        Keep an edge of the ``k``-nearest relation only if it holds both ways; by default one
        way suffices.
    weight : "distance", "unit" or callable
        The weight of an edge: its length, one, or a function of the array of lengths such as
        ``lambda d: np.exp(-d**2)``.
    metric : str or callable
        As in `distance_matrix`.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Exactly symmetric, empty diagonal. Edges of zero length are stored as explicit zeros.

    Examples
    --------
    >>> neighbour_graph([[0.0], [1.0], [3.0]], k=1).toarray()
    array([[0., 1., 0.],
           [1., 0., 2.],
           [0., 2., 0.]])
    """
    if (k is None) == (radius is None):
        raise ValueError(f"give exactly one of k and radius, got k={k!r} and radius={radius!r}")
    if not callable(weight):
        one_of(weight, "weight", ("distance", "unit"))
    n = len(X)
    if k is not None:
        d, j = nearest(X, k, metric=metric)
        lengths, columns, start = d.ravel(), j.ravel(), np.arange(0, n * k + 1, k)
    else:
        rows, columns, lengths = _pairs_within(X, positive(radius, "radius"), metric)
        start = np.concatenate([[0], np.bincount(rows, minlength=n).cumsum()])
    # The matrix holds positions in `lengths`, never zero, so that zero lengths survive sparse sums
    # and the two directions of an edge agree to the last bit.
    index = np.int32 if len(lengths) < 2**30 else np.int64
    place = np.arange(1, len(lengths) + 1)
    directed = sparse.csr_array((place, columns.astype(index), start.astype(index)), shape=(n, n))
    back = directed.T.tocsr()
    graph = directed.minimum(back) if mutual else directed.maximum(back)
    lengths = lengths[graph.data - 1]
    if callable(weight):
        values = as_array(weight(lengths), "weight(d)", ndim=1) if len(lengths) else lengths
    else:
        values = lengths if weight == "distance" else np.ones(len(lengths))
    return sparse.csr_array((values, graph.indices, graph.indptr), shape=(n, n))


def _pairs_within(
    X: Any, radius: float, metric: str | Callable
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, columns and lengths of all ordered pairs within a radius, sorted by row."""
    if metric == "euclidean":
        from scipy.spatial import cKDTree

        X = as_matrix(X)
        i, j = cKDTree(X).query_pairs(radius, output_type="ndarray").T
        length = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
        rows, columns, lengths = np.r_[i, j], np.r_[j, i], np.r_[length, length]
        order = np.argsort(rows, kind="stable")
        return rows[order], columns[order], lengths[order]
    D = as_distances(X, "X") if metric == "precomputed" else distance_matrix(X, metric=metric)
    rows, columns = np.nonzero((radius >= D) & ~np.eye(len(D), dtype=bool))
    return rows, columns, D[rows, columns]


def similarity_graph(K: Any, *, k: int | None = None, mutual: bool = False) -> Any:
    """Graph of a kernel matrix: all of it, or the ``k`` most similar neighbours of each point.

    >>> similarity_graph([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]], k=1).toarray()
    array([[0. , 0.9, 0. ],
           [0.9, 0. , 0.2],
           [0. , 0.2, 0. ]])
    """
    K = as_affinity(K, "K")
    if sparse.issparse(K) or k is None:
        return K
    n = len(K)
    if not 1 <= whole(k, "k") <= n - 1:
        raise ValueError(f"k must be between 1 and {n - 1} for {n} points, got {k}")
    off = K.copy()
    np.fill_diagonal(off, -np.inf)
    near = np.argpartition(off, n - k, axis=1)[:, n - k :]
    pattern = np.zeros(K.shape, dtype=bool)
    np.put_along_axis(pattern, near, True, axis=1)
    pattern = pattern & pattern.T if mutual else pattern | pattern.T
    return sparse.csr_array(np.where(pattern, K, 0.0))


def as_affinity(W: Any, name: str = "W") -> Any:
    """Return a graph's weights, refusing asymmetric, negative or non-finite ones.

    Symmetry is probed with one random vector, which an asymmetric matrix cannot pass, so that
    large matrices are not copied; a failing matrix is then searched for its worst pair.
    """
    if not sparse.issparse(W):
        W = np.asarray(W)
        if W.dtype != float or W.ndim != 2:
            W = as_array(W, name, ndim=2)
    elif W.dtype != float or not isinstance(W, sparse.csr_array):
        W = sparse.csr_array(W, dtype=float)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"{name} must be square, got shape {W.shape}")
    n = W.shape[0]
    if n == 0:
        raise ValueError(f"{name} must not be empty, got shape {W.shape}")
    values = W.data if sparse.issparse(W) else W
    if values.size == 0:
        return W
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{name} must be finite, got {low if not np.isfinite(low) else high}")
    if low < 0:
        raise ValueError(
            f"{name} must be non-negative, got {low:.6g}; shift it with nonnegative_offset or take"
            " absolute values"
        )
    probe = np.random.default_rng(0).standard_normal(n)
    if np.abs(W @ probe - W.T @ probe).max() > 1e-8 * high * np.sqrt(n):
        as_gram(W.toarray() if sparse.issparse(W) else W, name)
        raise ValueError(f"{name} must be symmetric")
    return W


def degrees(W: Any) -> np.ndarray:
    """Row sums of the weights, the diagonal included."""
    return np.asarray(W.sum(axis=1)).ravel()


def positive_degrees(W: Any) -> np.ndarray:
    """Degrees of a graph without isolated vertices; others have no normalised Laplacian."""
    d = degrees(W)
    if not (d > 0).all():
        alone = np.flatnonzero(d <= 0)
        raise ValueError(
            f"{len(alone)} isolated vertices have degree zero, the first at {alone[:5].tolist()}:"
            " drop them, widen the graph, or use the unnormalised Laplacian"
        )
    return d


def laplacian(W: Any, kind: str = "sym") -> Any:
    r"""Laplacian of a graph, sparse where the graph is.

    "unnormalised": :math:`L = D - W`; "sym": :math:`D^{-1/2} L D^{-1/2}`; "rw":
    :math:`D^{-1} L`, whose rows sum to zero. A diagonal of ``W`` cancels in the first and not in
    the other two.

    Examples
    --------
    >>> path = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> np.linalg.eigvalsh(laplacian(path, "unnormalised")).round(12) + 0.0
    array([0., 1., 3.])
    """
    one_of(kind, "kind", LAPLACIANS)
    W = as_affinity(W)
    d = degrees(W) if kind == "unnormalised" else positive_degrees(W)
    if kind == "unnormalised":
        return sparse.csr_array(sparse.diags_array(d) - W) if sparse.issparse(W) else np.diag(d) - W
    left, right = (d**-0.5, d**-0.5) if kind == "sym" else (1 / d, np.ones(len(d)))
    if sparse.issparse(W):
        scaled = sparse.diags_array(left) @ W @ sparse.diags_array(right)
        return sparse.csr_array(sparse.eye_array(len(d)) - scaled)
    return np.eye(len(d)) - left[:, None] * W * right


def components(W: Any, *, numerical: bool = False) -> np.ndarray:
    r"""Label the connected components of a graph, 0 for the component of the first point.

    With ``numerical`` an edge counts only if :math:`W_{ij} > \epsilon \sqrt{d_i d_j}`: weaker ones
    drown in rounding, and an eigensolver sees their graph as disconnected.

    >>> components(np.eye(2))
    array([0, 1])
    """
    if numerical:
        root = np.sqrt(np.maximum(degrees(W), np.finfo(float).tiny))
        eps = np.finfo(float).eps
        if sparse.issparse(W):
            coo = W.tocoo()
            strong = coo.data > eps * root[coo.row] * root[coo.col]
            ends = (coo.row[strong], coo.col[strong])
            W = sparse.coo_array((np.ones(int(strong.sum())), ends), shape=W.shape)
        else:
            W = eps * root[:, None] * root < W
    labels = csgraph.connected_components(sparse.csr_array(W), directed=False)[1]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
