r"""Clustering of points, Gram matrices and graphs; every result can be asked how far to trust it.

k-means and its kernel form minimise :math:`\sum_i \|x_i - c_{y_i}\|^2`; spectral clustering runs
k-means on the smallest eigenvectors of a graph's Laplacian; linkage merges the closest clusters
step by step. `sanity` checks a spectral result against what the theory needs.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from bayeskern.checks import one_of, positive, whole
from bayeskern.classic.dissimilarity import as_distances
from bayeskern.classic.graph import as_affinity, components
from bayeskern.classic.means import (
    KernelMeans,
    Lloyd,
    Means,
    cluster_count,
    continuous_lloyd,
    kernel_kmeans,
    kmeans,
    kmeans_energy,
    kmeans_plus_plus,
    squared_distances,
)
from bayeskern.classic.sanity import SanityReport, sanity
from bayeskern.classic.spectral import (
    Spectrum,
    embedding_rows,
    extend_normalised,
    extend_unnormalised,
    spectrum_of,
)

__all__ = [
    "KernelMeans",
    "Linkage",
    "Lloyd",
    "Means",
    "SanityReport",
    "SpectralResult",
    "continuous_lloyd",
    "diffusion_clustering",
    "kernel_kmeans",
    "kmeans",
    "kmeans_energy",
    "kmeans_plus_plus",
    "linkage",
    "sanity",
    "spectral_bipartition",
    "spectral_clustering",
]


@dataclass(frozen=True)
class SpectralResult:
    """A spectral clustering, with what `sanity` and `predict` need.

    ``spectrum`` holds one eigenvalue more than was used, so that the gap is known. ``note`` says
    what was done about a graph that falls into components.
    """

    labels: np.ndarray = field(repr=False)
    n_clusters: int
    kind: str
    spectrum: Spectrum = field(repr=False)
    centres: np.ndarray = field(repr=False)
    W: Any = field(repr=False)
    note: str = ""

    def predict(self, cross: Any) -> np.ndarray:
        """Cluster new points by extending the eigenvectors to them.

        ``cross`` holds similarities to the training points, shape (q, n). A point that no
        training point resembles, or that lies beyond the pole of the unnormalised extension, gets
        the label -1.
        """
        if self.n_clusters == 1:
            return np.zeros(cross.shape[0], dtype=int)
        used = _used(self.spectrum, self.n_clusters)
        extend = extend_unnormalised if self.kind == "unnormalised" else extend_normalised
        rows = embedding_rows(extend(cross, used), self.kind)
        good = np.isfinite(rows).all(axis=1)
        labels = np.full(len(rows), -1)
        if good.any():
            labels[good] = squared_distances(rows[good], self.centres).argmin(axis=1)
        return labels


def _used(spec: Spectrum, k: int) -> Spectrum:
    return Spectrum(
        spec.kind,
        spec.eigenvalues[:k],
        spec.vectors[:, :k],
        spec.degrees,
        spec.n_components,
        spec.residual,
    )


def _not_too_many_components(spec: Spectrum, k: int) -> None:
    if spec.n_components > k:
        raise ValueError(
            f"the graph falls into {spec.n_components} components, more than the {k} clusters"
            " asked for: connect it (more neighbours, a wider kernel) or ask for more clusters"
        )


def spectral_clustering(
    W: Any, k: int, kind: str = "sym", *, restarts: int = 10, random_state: int | None = 0
) -> SpectralResult:
    """Cluster a graph by k-means on the first eigenvectors of its Laplacian.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric non-negative weights, the diagonal kept as it is.
    k : int
        Number of clusters, at least the number of connected components.
    kind : "sym", "rw" or "unnormalised"
        The Laplacian. "sym" scales the rows to unit length (Ng, Jordan and Weiss 2002). Prefer a
        normalised one unless `sanity` is content with the unnormalised (von Luxburg 2004).

    Returns
    -------
    SpectralResult

    Examples
    --------
    >>> W = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> spectral_clustering(W, 2).labels
    array([0, 0, 0, 1, 1, 1])
    """
    one_of(kind, "kind", ("sym", "rw", "unnormalised"))
    W = as_affinity(W)
    n = W.shape[0]
    k = cluster_count(k, n)
    spec = spectrum_of(W, min(k + 1, n), kind)
    _not_too_many_components(spec, k)
    rows = embedding_rows(spec.vectors[:, :k], kind)
    labels, centres = _embedded_means(rows, k, restarts, random_state)
    note = ""
    if spec.n_components > 1:
        note = f"the graph has {spec.n_components} components, which the labels respect"
    return SpectralResult(labels, k, kind, spec, centres, W, note)


def _embedded_means(
    rows: np.ndarray, k: int, restarts: int, random_state: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """K-means labels in the order of first appearance, with their centres."""
    if k == 1:
        return np.zeros(len(rows), dtype=int), rows.mean(axis=0, keepdims=True)
    from sklearn.cluster import KMeans

    fit = KMeans(k, n_init=restarts, random_state=random_state).fit(rows)
    found, first, labels = np.unique(fit.labels_, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    centres = np.empty((k, rows.shape[1]))
    centres[: len(found)] = fit.cluster_centers_[found[np.argsort(first)]]
    centres[len(found) :] = np.inf  # no point chose them
    return rank[labels], centres


def spectral_bipartition(W: Any, kind: str = "sym") -> SpectralResult:
    """Cut a graph in two by the sign of the second eigenvector, 1 where it is positive.

    Entries of zero go to cluster 0; the sign is fixed so that the largest entry is positive. A
    graph of two components, exactly or up to rounding, is cut into these; the sign rule would
    see an arbitrary rotation of them.

    Examples
    --------
    >>> W = np.kron(np.eye(2), np.ones((2, 2))) + 0.1
    >>> spectral_bipartition(W).labels
    array([1, 1, 0, 0])
    """
    W = as_affinity(W)
    if W.shape[0] < 2:
        raise ValueError("W must have at least two points to be cut, got one")
    spec = spectrum_of(W, min(3, W.shape[0]), kind)
    _not_too_many_components(spec, 2)
    second, note = spec.vectors[:, 1], ""
    if spec.n_components == 2:
        note = "the graph has 2 components, and they are the clusters"
    noise = 1e-10 * float(np.abs(second).max())
    labels = (second > noise).astype(int)
    rows = embedding_rows(spec.vectors[:, :2], kind)
    centres = np.array([rows[labels == c].mean(axis=0) for c in (0, 1)])
    return SpectralResult(labels, 2, kind, spec, centres, W, note)


def diffusion_clustering(
    W: Any,
    k: int,
    *,
    t: float = 1.0,
    n_coordinates: int | None = None,
    restarts: int = 10,
    random_state: int | None = 0,
) -> SpectralResult:
    r"""Run k-means on the diffusion coordinates :math:`\lambda_j^t \psi_j`.

    By default there are ``k - 1`` of them. For several components the constant on each is among
    the coordinates, as eigenvectors of eigenvalue one.

    Examples
    --------
    >>> W = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> diffusion_clustering(W, 2).labels
    array([0, 0, 0, 1, 1, 1])
    """
    W = as_affinity(W)
    n = W.shape[0]
    if whole(k, "k", least=2) > n:
        raise ValueError(f"k must be between 2 and the number of points {n}, got {k}")
    s = k - 1 if n_coordinates is None else whole(n_coordinates, "n_coordinates", least=1)
    if s > n - 1:
        raise ValueError(f"n_coordinates must be at most {n - 1} for {n} points, got {s}")
    spec = spectrum_of(W, min(max(s + 1, k) + 1, n), "rw")
    _not_too_many_components(spec, k)
    mu = np.maximum(1 - spec.eigenvalues[: s + 1], 0.0)
    coordinates = spec.vectors[:, : s + 1] * np.sqrt(spec.degrees.sum()) * mu**t
    labels, _ = _embedded_means(coordinates, k, restarts, random_state)
    rows = spec.vectors[:, :k]
    present = [rows[labels == c].mean(axis=0) for c in range(labels.max() + 1)]
    return SpectralResult(labels, k, "rw", spec, np.array(present), W)


@dataclass(frozen=True)
class Linkage:
    """A hierarchy of clusters, from single points to all of them.

    Row ``i`` of ``merges`` holds the two clusters that became cluster ``n + i`` (points are the
    clusters below ``n``), their distance and the new size, as in `scipy.cluster.hierarchy`, whose
    ``dendrogram`` draws it.
    """

    merges: np.ndarray = field(repr=False)
    method: str

    @property
    def heights(self) -> np.ndarray:
        """Distances at which clusters merged, in increasing order."""
        return self.merges[:, 2]

    def labels(self, k: int) -> np.ndarray:
        """Cut the hierarchy into exactly ``k`` clusters, numbered by first appearance."""
        n = len(self.merges) + 1
        return self._after(n - cluster_count(k, n))

    def labels_at(self, height: float) -> np.ndarray:
        """Clusters once all merges up to this height are done, numbered by first appearance."""
        height = positive(height, "height", zero=True)
        return self._after(int(np.searchsorted(self.heights, height, side="right")))

    def _after(self, steps: int) -> np.ndarray:
        n = len(self.merges) + 1
        joined = self.merges[:steps, :2].astype(int).ravel()
        parents = n + np.repeat(np.arange(steps), 2)
        size = (n + steps, n + steps)
        tree = sparse.coo_array((np.ones(len(joined)), (joined, parents)), shape=size)
        return components(tree)[:n]

    def ultrametric(self) -> np.ndarray:
        r"""Matrix of the heights at which two points first share a cluster.

        It satisfies :math:`u_{ik} \le \max(u_{ij}, u_{jk})`. For single linkage it is the largest
        ultrametric below the distances, the least longest step of a path between the points.
        """
        from scipy.cluster.hierarchy import cophenet
        from scipy.spatial.distance import squareform

        return squareform(cophenet(self.merges)) if len(self.merges) else np.zeros((1, 1))


def linkage(D: Any, method: str = "single") -> Linkage:
    """Merge the closest two clusters, from single points on until one is left.

    Parameters
    ----------
    D : array of shape (n, n)
        Symmetric distances with a zero diagonal; the triangle inequality is not needed.
    method : "single", "complete" or "average"
        The distance of clusters: the least, largest or mean distance of their points. Cuts of
        single linkage are the components of the graph of points within a distance, and the only
        ones of the three that follow the density as samples grow (Hartigan 1981); the others
        follow the range of the data.

    Returns
    -------
    Linkage

    Examples
    --------
    >>> x = np.array([0.0, 1, 3, 7])
    >>> tree = linkage(np.abs(x[:, None] - x))
    >>> tree.heights, tree.labels(2)
    (array([1., 2., 4.]), array([0, 0, 0, 1]))
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    one_of(method, "method", ("single", "complete", "average"))
    D = as_distances(D)
    if len(D) == 1:
        return Linkage(np.empty((0, 4)), method)
    return Linkage(hierarchy.linkage(squareform(D, checks=False), method), method)
