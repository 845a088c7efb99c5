import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors, kneighbors_graph, radius_neighbors_graph

from bayeskern.classic.graph import (
    as_affinity,
    components,
    degrees,
    distance_matrix,
    laplacian,
    nearest,
    neighbour_graph,
    similarity_graph,
)

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
THREE = np.array([[1, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]])


def points(n=60, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def hamming(s, t):
    return float(sum(a != b for a, b in zip(s, t, strict=True)))


class TestNeighbours:
    @pytest.mark.parametrize("d", [2, 20])
    def test_agree_with_scikit_learn(self, d):
        X = points(80, d)
        distances, indices = nearest(X, 5)
        expected = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()
        np.testing.assert_allclose(distances, expected[0])
        np.testing.assert_array_equal(indices, expected[1])
        q_distances, _ = nearest(X, 4, queries=X[:7] + 0.1)
        wanted = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(X[:7] + 0.1)[0]
        np.testing.assert_allclose(q_distances, wanted)

    def test_every_way_to_give_the_points_agrees(self):
        X = points()
        D = cdist(X, X)
        by_points, _ = nearest(X, 4)
        by_matrix, _ = nearest(D, 4, metric="precomputed")
        by_call, _ = nearest(list(X), 4, metric=lambda a, b: float(np.linalg.norm(a - b)))
        np.testing.assert_allclose(by_matrix, by_points)
        np.testing.assert_allclose(by_call, by_points)

    def test_duplicates_are_neighbours_and_self_is_not(self):
        X = np.array([[0.0], [0.0], [0.0], [0.0], [1.0]])
        distances, indices = nearest(X, 2)
        assert (distances[:4] == 0).all()
        assert all(i not in row for i, row in enumerate(indices))

    def test_strings(self):
        D = distance_matrix(["aa", "ab", "bb"], metric=hamming)
        np.testing.assert_array_equal(D, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
        cross = distance_matrix(["aa"], ["ab", "bb"], hamming)
        np.testing.assert_array_equal(cross, [[1, 2]])

    @pytest.mark.parametrize("k", [0, 60, 2.0, True])
    def test_bad_k(self, k):
        with pytest.raises(ValueError, match="k must be"):
            nearest(points(), k)


class TestGraphs:
    def test_knn_graph_is_the_symmetrised_one(self):
        X = points()
        A = kneighbors_graph(X, 5, mode="distance").toarray()
        graph = neighbour_graph(X, k=5)
        np.testing.assert_allclose(graph.toarray(), np.maximum(A, A.T))
        assert (graph != graph.T).nnz == 0  # symmetric to the last bit
        both = neighbour_graph(X, k=5, mutual=True).toarray()
        np.testing.assert_allclose(both, np.minimum(A, A.T))

    @pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
    def test_radius_graph(self, metric):
        X = points()
        expected = radius_neighbors_graph(X, 1.0, mode="distance").toarray()
        given = X if metric == "euclidean" else cdist(X, X)
        np.testing.assert_allclose(
            neighbour_graph(given, radius=1.0, metric=metric).toarray(), expected
        )

    def test_weights(self):
        X = points()
        lengths = neighbour_graph(X, k=4)
        unit = neighbour_graph(X, k=4, weight="unit")
        gauss = neighbour_graph(X, k=4, weight=lambda d: np.exp(-(d**2)))
        assert set(unit.data) == {1.0}
        np.testing.assert_allclose(gauss.data, np.exp(-(lengths.data**2)))

    def test_zero_lengths_are_kept(self):
        graph = neighbour_graph([[0.0], [0.0], [1.0]], k=1)
        assert graph.nnz == 4 and graph[0, 1] == 0

    def test_similarity_graph_of_a_gaussian_is_the_knn_graph(self):
        X = points()
        K = np.exp(-(cdist(X, X) ** 2))
        for mutual in (False, True):
            graph = neighbour_graph(X, k=6, mutual=mutual, weight=lambda d: np.exp(-(d**2)))
            np.testing.assert_allclose(
                similarity_graph(K, k=6, mutual=mutual).toarray(), graph.toarray(), rtol=1e-12
            )

    def test_exactly_one_of_k_and_radius(self):
        for settings in ({}, {"k": 3, "radius": 1.0}):
            with pytest.raises(ValueError, match="exactly one of k and radius"):
                neighbour_graph(points(), **settings)


class TestLaplacian:
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
    @pytest.mark.parametrize(
        ("W", "kind", "expected"),
        [
            (PATH, "unnormalised", [0, 1, 3]),
            (PATH, "sym", [0, 1, 2]),
            (THREE, "unnormalised", [0, 0.439445, 1.160555]),
            (THREE, "sym", [0, 0.314628, 0.702906]),
            (THREE - np.eye(3), "unnormalised", [0, 0.439445, 1.160555]),
            (THREE - np.eye(3), "sym", [0, 1.197891, 1.802109]),
        ],
    )
    def test_spectra(self, make, W, kind, expected):
        L = laplacian(make(W), kind)
        assert sparse.issparse(L) == sparse.issparse(make(W))
        dense = L.toarray() if sparse.issparse(L) else L
        np.testing.assert_allclose(np.linalg.eigvalsh(dense), expected, atol=1e-6)

    def test_the_null_vectors_differ(self):
        d = degrees(THREE)
        np.testing.assert_allclose(laplacian(THREE, "sym") @ np.sqrt(d), 0, atol=1e-15)
        np.testing.assert_allclose(laplacian(THREE, "rw") @ np.ones(3), 0, atol=1e-15)
        assert np.abs(laplacian(THREE, "sym") @ np.ones(3)).max() > 0.01

    def test_eigenpairs_map_between_the_normalised_matrices(self):
        X = points(30)
        W = np.exp(-(cdist(X, X) ** 2))
        d = degrees(W)
        values, V = np.linalg.eigh(laplacian(W, "sym"))
        w = V / np.sqrt(d)[:, None]
        L, rw = laplacian(W, "unnormalised"), laplacian(W, "rw")
        np.testing.assert_allclose(rw @ w, w * values, atol=1e-13)
        np.testing.assert_allclose(L @ w, d[:, None] * w * values, atol=1e-12)
        np.testing.assert_allclose((W / d[:, None]) @ w, w * (1 - values), atol=1e-13)

    def test_facts_on_random_graphs(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            n = int(rng.integers(2, 12))
            W = rng.random((n, n)) ** 3
            W = W + W.T
            L, v = laplacian(W, "unnormalised"), rng.standard_normal(n)
            energy = 0.5 * (W * (v[:, None] - v) ** 2).sum()
            assert v @ L @ v == pytest.approx(energy)
            off = degrees(W) - W.diagonal()
            spectrum = np.linalg.eigvalsh(L)
            assert spectrum[1] <= n / (n - 1) * off.min() * (1 + 1e-12)
            assert spectrum[-1] <= 2 * off.max() * (1 + 1e-12)
            normalised = np.linalg.eigvalsh(laplacian(W, "sym"))
            assert normalised[0] > -1e-12 and normalised[-1] <= 2

    def test_bipartite_graph_reaches_two(self):
        B = np.array([[1.0, 2], [3, 1]])
        W = np.block([[np.zeros((2, 2)), B], [B.T, np.zeros((2, 2))]])
        expected = [0, 7 / 12, 17 / 12, 2]
        np.testing.assert_allclose(np.linalg.eigvalsh(laplacian(W)), expected, atol=1e-12)

    def test_regular_graphs_do_not_care(self):
        W = np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1)
        np.testing.assert_allclose(laplacian(W, "unnormalised"), 2 * laplacian(W, "sym"))


class TestComponents:
    def test_labels_are_ordered(self):
        W = np.kron(np.eye(3), np.ones((2, 2)))
        np.testing.assert_array_equal(components(W), [0, 0, 1, 1, 2, 2])
        np.testing.assert_array_equal(components(sparse.csr_array(W)), [0, 0, 1, 1, 2, 2])

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_edges_below_rounding_do_not_connect(self, make):
        W = make(np.kron(np.eye(2), np.ones((2, 2))) + 1e-18)
        assert components(W).max() == 0
        np.testing.assert_array_equal(components(W, numerical=True), [0, 0, 1, 1])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0.0, 1], [2, 0]], "symmetric, got 1 at"),
        ([[0.0, -1], [-1, 0]], "non-negative, got -1"),
        ([[0.0, np.nan], [np.nan, 0]], "finite"),
        ([[0.0, np.inf], [np.inf, 0]], "finite"),
        ([[0.0, 1, 2], [1, 0, 2]], "square"),
    ],
)
def test_bad_weights(make, W, message):
    with pytest.raises(ValueError, match=message):
        as_affinity(make(np.array(W)))


def test_isolated_vertices_have_no_normalised_laplacian():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 1
    with pytest.raises(ValueError, match=r"1 isolated vertices .* at \[2\]"):
        laplacian(W, "sym")
    assert laplacian(W, "unnormalised")[2, 2] == 0
