r"""Coordinates from points, kernels or distances: PCA, kernel PCA, scaling, Isomap, local maps."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from bayeskern.checks import as_array, as_gram, as_matrix, one_of, whole
from bayeskern.classic.dissimilarity import as_distances, gram_from_distances
from bayeskern.classic.graph import components, nearest, neighbour_graph
from bayeskern.classic.spectral import spectrum


def _fix_signs(V: np.ndarray) -> np.ndarray:
    """Signs that make the largest entry of each column positive."""
    return np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)


@dataclass(frozen=True)
class Principal:
    """Principal components: mean, directions (columns), standard deviations and scores."""

    mean: np.ndarray = field(repr=False)
    directions: np.ndarray = field(repr=False)
    deviations: np.ndarray
    ratios: np.ndarray
    scores: np.ndarray = field(repr=False)

    def transform(self, X: Any) -> np.ndarray:
        """Scores of new points."""
        return (as_matrix(X) - self.mean) @ self.directions

    def reconstruct(self, scores: Any) -> np.ndarray:
        """Points of the principal subspace with the given scores."""
        return self.mean + np.asarray(scores) @ self.directions.T


def pca(X: Any, n_components: int) -> Principal:
    r"""Principal component analysis by a singular value decomposition of the centred data.

    Variances :math:`\sigma_k^2` are those of :math:`\hat C = \tfrac1n \tilde X^\top \tilde X`,
    with ``1/n``; the largest entry of each direction is positive.

    Examples
    --------
    >>> pca([[2, 0], [-2, 0], [0, 1], [0, -1]], 2).deviations ** 2
    array([2. , 0.5])
    """
    X = as_matrix(X)
    limit = min(len(X) - 1, X.shape[1])
    if not 1 <= whole(n_components, "n_components") <= limit:
        raise ValueError(
            f"n_components must be between 1 and {limit} for shape {X.shape}, got {n_components}"
        )
    mean = X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X - mean, full_matrices=False)
    V = Vt[:n_components].T
    V = V * _fix_signs(V)
    variances = s**2 / len(X)
    total = float(variances.sum())
    ratios = variances[:n_components] / total if total > 0 else np.zeros(n_components)
    return Principal(mean, V, np.sqrt(variances[:n_components]), ratios, (X - mean) @ V)


@dataclass(frozen=True)
class KernelPrincipal:
    """Kernel principal components: eigenvalues of the centred Gram matrix, and scores."""

    eigenvalues: np.ndarray
    scores: np.ndarray = field(repr=False)
    model: Any = field(repr=False)

    def transform(self, cross: Any) -> np.ndarray:
        """Scores of new points from their kernel values to the training points."""
        return self.model.transform(as_array(cross, "cross", ndim=2)) * self._signs

    @property
    def _signs(self) -> np.ndarray:
        return _fix_signs(self.model.eigenvectors_)


def kernel_pca(K: Any, n_components: int) -> KernelPrincipal:
    r"""Principal components in feature space, from a Gram matrix.

    The centred :math:`J K J = Q \Lambda Q^\top` gives the scores :math:`Q \Lambda^{1/2}`; the
    decomposition is scikit-learn's.

    Examples
    --------
    >>> x = np.array([[-1.0], [0.0], [1.0]])
    >>> kernel_pca(x @ x.T, 1).eigenvalues
    array([2.])
    """
    from sklearn.decomposition import KernelPCA

    K = as_gram(K, psd=True)
    if not 1 <= whole(n_components, "n_components") <= len(K):
        raise ValueError(f"n_components must be between 1 and {len(K)} points, got {n_components}")
    model = KernelPCA(n_components, kernel="precomputed", eigen_solver="dense").fit(K)
    scores = model.eigenvectors_ * np.sqrt(model.eigenvalues_)
    return KernelPrincipal(model.eigenvalues_, scores * _fix_signs(model.eigenvectors_), model)


@dataclass(frozen=True)
class Embedding:
    """Coordinates and the whole spectrum they were chosen from, largest eigenvalue first.

    ``negative_mass`` is the share of negative eigenvalues, zero for Euclidean distances;
    ``signature`` counts the positive and negative axes kept.
    """

    coordinates: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray = field(repr=False)
    negative_mass: float
    signature: tuple[int, int]


def classical_mds(D: Any, n_components: int, *, negative: str = "drop") -> Embedding:
    r"""Coordinates whose inner products best fit :math:`B = -\tfrac12 J D^{\circ 2} J`.

    The result minimises the strain :math:`\|B - \Phi \Phi^\top\|_F`, not the stress of
    `stress_mds`.

    Parameters
    ----------
    D : array of shape (n, n)
        Distances.
    n_components : int
    negative : "drop", "raise" or "pseudo"
        What to do about negative eigenvalues: leave their axes out, refuse distances that are not
        Euclidean, or keep the axes of largest modulus (a pseudo-Euclidean space).

    Examples
    --------
    >>> triangle = [[0, 3, 4], [3, 0, 5], [4, 5, 0]]
    >>> classical_mds(triangle, 2).eigenvalues[:2].round(7)
    array([12.964148 ,  3.7025187])
    """
    one_of(negative, "negative", ("drop", "raise", "pseudo"))
    D = as_distances(D)
    whole(n_components, "n_components", least=1)
    values, V = np.linalg.eigh(gram_from_distances(D))
    values, V = values[::-1], V[:, ::-1]
    eps = 10 * len(D) * np.finfo(float).eps * float(np.abs(values).max())
    if negative == "raise" and values[-1] < -eps:
        raise ValueError(
            f"D is not Euclidean: its Gram matrix has the eigenvalue {values[-1]:.4g};"
            " see euclidean_by_squares"
        )
    keep = np.argsort(-np.abs(values) if negative == "pseudo" else -values, kind="stable")
    keep = keep[:n_components]
    usable = int((np.abs(values) > eps).sum() if negative == "pseudo" else (values > eps).sum())
    if usable < n_components:
        raise ValueError(
            f"n_components must be at most {usable}, the number of usable eigenvalues,"
            f" got {n_components}"
        )
    vectors = V[:, keep] * _fix_signs(V[:, keep])
    mass = float(-values[values < -eps].sum() / np.abs(values).sum())
    axes = values[keep]
    signature = (int((axes > 0).sum()), int((axes < 0).sum()))
    return Embedding(vectors * np.sqrt(np.abs(axes)), values, mass, signature)


@dataclass(frozen=True)
class StressEmbedding:
    """Coordinates, their stress, and the stress after every step."""

    coordinates: np.ndarray = field(repr=False)
    stress: float
    trace: np.ndarray = field(repr=False)
    converged: bool


def stress_mds(
    D: Any, n_components: int, *, start: Any = None, max_iter: int = 3000, tol: float = 1e-10
) -> StressEmbedding:
    r"""Minimise the stress :math:`\sum_{ij} (d_{ij} - \|\Phi_i - \Phi_j\|)^2` by majorisation.

    Each step :math:`\Phi \leftarrow \tfrac1n B(\Phi) \Phi` cannot raise it (de Leeuw 1977). The
    minimum found is a local one; the start is classical scaling.

    Examples
    --------
    >>> square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> D = np.sqrt(((square[:, None] - square) ** 2).sum(axis=2))
    >>> stress_mds(D, 2).stress < 1e-12
    True
    """
    from scipy.spatial.distance import cdist

    D = as_distances(D)
    n = len(D)
    if start is None:
        points = classical_mds(D, n_components).coordinates
    else:
        points = as_matrix(start, "start")
        if points.shape != (n, n_components):
            raise ValueError(f"start must have shape {(n, n_components)}, got {points.shape}")
    distances = cdist(points, points)
    trace = [float(((D - distances) ** 2).sum())]
    floor = np.finfo(float).eps * float((D**2).sum())
    converged = False
    for _ in range(max_iter):
        B = -np.divide(D, distances, out=np.zeros_like(D), where=distances > 0)
        np.fill_diagonal(B, 0.0)
        np.fill_diagonal(B, -B.sum(axis=1))
        points = B @ points / n
        distances = cdist(points, points)
        trace.append(float(((D - distances) ** 2).sum()))
        if trace[-2] - trace[-1] <= tol * trace[-2] + floor:
            converged = True
            break
    return StressEmbedding(points, trace[-1], np.array(trace), converged)


@dataclass(frozen=True)
class Unrolled(Embedding):
    """An Isomap embedding, with the graph distances it reproduces."""

    graph_distances: np.ndarray = field(repr=False)

    def transform(self, distances: Any) -> np.ndarray:
        """Coordinates of new points from their graph distances to the training points."""
        d2 = as_array(distances, "distances", ndim=2) ** 2
        mean = (self.graph_distances**2).mean(axis=0)
        axes = self.eigenvalues[: self.coordinates.shape[1]]
        return 0.5 * (mean - d2) @ (self.coordinates / axes)


def isomap(
    X: Any,
    n_components: int,
    *,
    k: int | None = None,
    radius: float | None = None,
    weight: str = "distance",
    metric: Any = "euclidean",
) -> Unrolled:
    """Classical scaling of the shortest paths through a neighbourhood graph (Tenenbaum 2000).

    A graph that falls apart is refused with the sizes of its components, never bridged.

    Parameters
    ----------
    X : points, or a distance matrix with ``metric="precomputed"``
    n_components : int
    k, radius, weight, metric
        The graph, see `neighbour_graph`; ``weight`` is "distance" or "unit" (hops).

    Examples
    --------
    >>> line = np.arange(5.0)[:, None]
    >>> isomap(line, 1, radius=1.5).coordinates.ravel().round(9) + 0.0
    array([-2., -1.,  0.,  1.,  2.])
    """
    graph = neighbour_graph(X, k=k, radius=radius, weight=weight, metric=metric)
    _connected(graph)
    paths = csgraph.shortest_path(graph, method="D", directed=False)
    flat = classical_mds((paths + paths.T) / 2, n_components)
    return Unrolled(flat.coordinates, flat.eigenvalues, flat.negative_mass, flat.signature, paths)


def _connected(graph: Any) -> None:
    pattern = sparse.csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), graph.shape)
    sizes = np.sort(np.bincount(components(pattern)))[::-1]
    if len(sizes) > 1:
        raise ValueError(
            f"the neighbourhood graph falls into {len(sizes)} components, of sizes"
            f" {sizes[:5].tolist()}: take more neighbours or a larger radius"
        )


def laplacian_eigenmap(W: Any, n_components: int) -> np.ndarray:
    r"""Coordinates by the generalised eigenvectors :math:`L w = \lambda D w`, less the constant.

    >>> path = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> laplacian_eigenmap(path, 1).round(12).ravel() + 0.0
    array([ 0.70710678,  0.        , -0.70710678])
    """
    spec = spectrum(W, whole(n_components, "n_components", least=1) + 1, "rw")
    if spec.n_components > 1:
        raise ValueError(
            f"the graph falls into {spec.n_components} components: embed each of them, or connect"
        )
    return spec.vectors[:, 1:]


def local_weights(X: Any, k: int, *, ridge: float = 1e-3) -> sparse.csr_array:
    r"""Weights that rebuild each point from its ``k`` neighbours, each row summing to one.

    They minimise :math:`\|x_i - \sum_j w_{ij} x_j\|^2` subject to :math:`\sum_j w_{ij} = 1`; a
    ridge, relative to the trace, decides among equals when ``k`` exceeds the dimension.

    >>> local_weights(np.arange(4.0)[:, None], 2).toarray()[1]
    array([0.5, 0. , 0.5, 0. ])
    """
    X = as_matrix(X)
    _, neighbours = nearest(X, k)
    Z = X[neighbours] - X[:, None]
    G = Z @ Z.transpose(0, 2, 1)
    trace = np.trace(G, axis1=1, axis2=2)
    G += (ridge * np.where(trace > 0, trace, 1.0))[:, None, None] * np.eye(k)
    w = np.linalg.solve(G, np.ones((len(X), k, 1)))[:, :, 0]
    w /= w.sum(axis=1, keepdims=True)
    start = np.arange(0, len(X) * k + 1, k)
    return sparse.csr_array((w.ravel(), neighbours.ravel(), start), shape=(len(X), len(X)))


def locally_linear(X: Any, n_components: int, k: int, *, ridge: float = 1e-3) -> np.ndarray:
    r"""Coordinates that the local weights rebuild as well (Roweis and Saul 2000).

    They are the bottom eigenvectors of :math:`(I - W)^\top (I - W)`, less the constant.

    >>> x = np.arange(6.0)[:, None]
    >>> np.abs(np.corrcoef(locally_linear(x, 1, 2).ravel(), x.ravel())[0, 1]) > 0.99
    np.True_
    """
    X = as_matrix(X)
    whole(n_components, "n_components", least=1)
    _connected(neighbour_graph(X, k=k))
    A = (sparse.eye_array(len(X)) - local_weights(X, k, ridge=ridge)).toarray()
    from scipy.linalg import eigh

    V = eigh(A.T @ A, subset_by_index=(0, n_components))[1][:, 1:]
    return V * _fix_signs(V)
