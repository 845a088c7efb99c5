"""How estimators turn inputs into similarities, for the points they saw and for new ones."""

from typing import Any

import numpy as np
from scipy import sparse

from bayeskern.classic.graph import nearest, neighbour_graph, similarity_graph


def local_lengthscale(X: np.ndarray) -> float:
    """Mean distance of a point to its (log n + 1)-th neighbour, a scale that sees clusters.

    >>> local_lengthscale(np.array([[0.0], [1.0], [2.0]]))
    1.6666666666666667
    """
    if len(X) < 2:
        return 1.0
    k = min(int(np.log(len(X))) + 1, len(X) - 1)
    scale = float(nearest(X, k)[0][:, -1].mean())
    return scale if scale > 0 else 1.0


class Affinity:
    """Similarities by a kernel, of all points or of neighbours only.

    Parameters
    ----------
    kernel : callable, "precomputed" or None
        ``kernel(X, Z=None)`` gives a Gram matrix. None is a Gaussian kernel with the local length
        scale of the data; "precomputed" takes the inputs themselves for similarities.
    n_neighbors : int or None
        None keeps all pairs. Otherwise only pairs where one is among the other's nearest.
    weight : "unit" or "gauss"
        Weights of neighbours without a kernel; the Gaussian scale is half the median edge length.
    """

    def __init__(self, kernel: Any, n_neighbors: int | None, weight: str = "unit"):
        if not (kernel is None or kernel == "precomputed" or callable(kernel)):
            raise ValueError(f"kernel must be callable, 'precomputed' or None, got {kernel!r}")
        self.kernel, self.n_neighbors, self.weight = kernel, n_neighbors, weight
        self.scale = 1.0

    def fit(self, X: np.ndarray) -> Any:
        """Return the graph of the points and remember them."""
        if isinstance(self.kernel, str):
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"precomputed similarities must be square, got shape {X.shape}")
            return similarity_graph(X, k=self.n_neighbors)
        self.X = X
        if self.kernel is not None:
            K = self.kernel(X)
            return K if self.n_neighbors is None else similarity_graph(K, k=self.n_neighbors)
        if self.n_neighbors is None:
            from bayeskern.kernels.stationary import RBF

            self.kernel = RBF(local_lengthscale(X))
            return self.kernel(X)
        if self.weight == "unit":
            return neighbour_graph(X, k=self.n_neighbors, weight="unit")
        graph = neighbour_graph(X, k=self.n_neighbors)
        self.scale = float(np.median(graph.data)) / 2 or 1.0  # so that edges end where it has faded
        graph.data = self._profile(graph.data)
        return sparse.csr_array(graph + sparse.eye_array(len(X)))  # k(x, x) = 1, as for a kernel

    def _profile(self, d: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * (d / self.scale) ** 2) if self.weight == "gauss" else np.ones_like(d)

    def cross(self, Z: np.ndarray) -> Any:
        """Return the similarities of new points to the remembered ones."""
        if isinstance(self.kernel, str):
            return Z
        if self.kernel is not None:
            K = self.kernel(Z, self.X)
            if self.n_neighbors is None:
                return K
            drop = np.argpartition(K, -self.n_neighbors, axis=1)[:, : -self.n_neighbors]
            np.put_along_axis(K, drop, 0.0, axis=1)
            return K
        assert self.n_neighbors is not None
        if self.weight == "gauss":
            return self._as_in_graph(Z, self.n_neighbors)
        d, j = nearest(self.X, self.n_neighbors, queries=Z)
        start = np.arange(0, d.size + 1, self.n_neighbors)
        values = self._profile(d.ravel())
        return sparse.csr_array((values, j.ravel(), start), shape=(len(Z), len(self.X)))

    def _as_in_graph(self, Z: np.ndarray, k: int) -> sparse.csr_array:
        """Join new points by the rule of the graph: a remembered one has its old row, up to ties.

        That row holds the point itself, its ``k`` nearest, and those it is among the ``k`` nearest
        of: the points whose own ``k``-th neighbour is no closer.
        """
        from scipy.spatial import cKDTree

        n, q = len(self.X), len(Z)
        reach = nearest(self.X, k)[0][:, -1] * (1 + 1e-9)
        found = cKDTree(Z).query_ball_point(self.X, reach)
        back = np.repeat(np.arange(n), [len(rows) for rows in found])
        rows = np.concatenate([np.repeat(np.arange(q), k + 1), np.concatenate(found).astype(int)])
        columns = np.concatenate([nearest(self.X, k + 1, queries=Z)[1].ravel(), back])
        rows, columns = np.divmod(np.unique(rows * n + columns), n)
        lengths = np.linalg.norm(Z[rows] - self.X[columns], axis=1)
        return sparse.csr_array((self._profile(lengths), (rows, columns)), shape=(q, n))
