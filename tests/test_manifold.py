import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris, make_swiss_roll
from sklearn.manifold import Isomap

from bayeskern.classic.manifold import (
    classical_mds,
    isomap,
    kernel_pca,
    laplacian_eigenmap,
    local_weights,
    locally_linear,
    pca,
    stress_mds,
)

IRIS = load_iris().data
CLOUD = np.random.default_rng(0).standard_normal((20, 3))


def cycle(n):
    hop = np.abs(np.arange(n)[:, None] - np.arange(n))
    return np.minimum(hop, n - hop).astype(float)


class TestPCA:
    def test_iris(self):
        fit = pca(IRIS, 4)
        np.testing.assert_allclose(fit.mean, [5.843333, 3.057333, 3.758, 1.199333], atol=1e-6)
        np.testing.assert_allclose(
            fit.deviations, [2.0494032, 0.4909714, 0.2787259, 0.1538707], atol=1e-7
        )
        np.testing.assert_allclose(
            fit.ratios, [0.9246187, 0.0530665, 0.0171026, 0.0052122], atol=1e-7
        )
        np.testing.assert_allclose(
            fit.directions[:, 0], [0.3613866, -0.0845225, 0.8566706, 0.3582892], atol=1e-7
        )

    @pytest.mark.parametrize(("k", "error"), [(1, 51.362586), (2, 15.204644), (3, 3.551429)])
    def test_reconstruction(self, k, error):
        fit = pca(IRIS, k)
        rebuilt = fit.reconstruct(fit.transform(IRIS))
        assert ((IRIS - rebuilt) ** 2).sum() == pytest.approx(error, abs=1e-5)

    def test_digits(self):
        fit = pca(load_digits().data, 3)
        np.testing.assert_allclose(fit.deviations**2, [178.90732, 163.62664, 141.70954], rtol=1e-6)

    def test_scores_are_uncorrelated(self):
        fit = pca(CLOUD, 3)
        np.testing.assert_allclose(
            fit.scores.T @ fit.scores / 20, np.diag(fit.deviations**2), atol=1e-12
        )

    def test_parabola_needs_its_width(self):
        t = np.linspace(-1.5, 1.5, 201)
        fit = pca(np.column_stack([t**2, t]), 2)
        np.testing.assert_allclose(fit.deviations**2, [0.7575, 0.4590], atol=1e-4)
        assert np.abs(fit.directions[1, 0]) == pytest.approx(1)
        t = np.linspace(-2.2, 2.2, 201)
        assert np.abs(pca(np.column_stack([t**2, t]), 1).directions[0, 0]) == pytest.approx(1)

    def test_too_many(self):
        with pytest.raises(ValueError, match="between 1 and 3"):
            pca(CLOUD, 4)


class TestKernelPCA:
    def test_linear_kernel_is_pca(self):
        fit, plain = kernel_pca(CLOUD @ CLOUD.T, 3), pca(CLOUD, 3)
        np.testing.assert_allclose(np.abs(fit.scores), np.abs(plain.scores), atol=1e-10)
        np.testing.assert_allclose(fit.eigenvalues / 20, plain.deviations**2)

    def test_training_points_keep_their_scores(self):
        K = np.exp(-cdist(CLOUD, CLOUD, "sqeuclidean"))
        fit = kernel_pca(K, 4)
        np.testing.assert_allclose(fit.transform(K), fit.scores, atol=1e-10)
        J = np.eye(20) - 1 / 20
        expected = np.linalg.eigvalsh(J @ K @ J)[::-1][:4]
        np.testing.assert_allclose(fit.eigenvalues, expected)

    def test_too_many(self):
        with pytest.raises(ValueError, match="between 1 and 20"):
            kernel_pca(CLOUD @ CLOUD.T, 21)


class TestScaling:
    def test_euclidean_distances_are_recovered(self):
        D = cdist(CLOUD, CLOUD)
        flat = classical_mds(D, 3)
        np.testing.assert_allclose(cdist(flat.coordinates, flat.coordinates), D, atol=1e-12)
        np.testing.assert_allclose(flat.coordinates.sum(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(
            np.abs(flat.coordinates), np.abs(pca(CLOUD, 3).scores), atol=1e-10
        )
        assert flat.negative_mass == 0

    @pytest.mark.parametrize(
        ("D", "spectrum"),
        [
            (cycle(4), [2, 2, 0, -1]),
            (cycle(5), [2.927051, 2.927051, 0, -0.427051, -0.427051]),
            (cycle(6), [6, 6, 1.5, 0, -2, -2]),
            (1 - np.eye(5), [0.5, 0.5, 0.5, 0.5, 0]),
        ],
    )
    def test_closed_forms(self, D, spectrum):
        np.testing.assert_allclose(classical_mds(D, 1).eigenvalues, spectrum, atol=1e-6)

    def test_negative_eigenvalues(self):
        D = cycle(6)
        assert classical_mds(D, 3).negative_mass == pytest.approx(4 / 17.5)
        with pytest.raises(ValueError, match=r"not Euclidean: .* eigenvalue -2"):
            classical_mds(D, 2, negative="raise")
        with pytest.raises(ValueError, match="at most 3"):
            classical_mds(D, 4)
        pseudo = classical_mds(D, 5, negative="pseudo")
        assert pseudo.signature == (3, 2)
        inner = pseudo.coordinates * [1, 1, -1, -1, 1] @ pseudo.coordinates.T
        square = np.add.outer(inner.diagonal(), inner.diagonal()) - 2 * inner
        np.testing.assert_allclose(square, D**2, atol=1e-12)

    def test_stress_falls_and_beats_classical_scaling(self):
        D = cdist(CLOUD, CLOUD)
        fit = stress_mds(D, 2)
        assert (np.diff(fit.trace) <= 1e-9).all() and fit.converged
        assert fit.stress < 0.9 * fit.trace[0]
        np.testing.assert_allclose(stress_mds(D, 3).stress, 0, atol=1e-10)

    @pytest.mark.parametrize("call", [classical_mds, stress_mds])
    @pytest.mark.parametrize(
        "D", [[[0, 1], [2, 0]], [[1, 1], [1, 1]], [[0, -1], [-1, 0]], [[0, np.inf], [np.inf, 0]]]
    )
    def test_bad_distances(self, call, D):
        with pytest.raises(ValueError, match="D must"):
            call(D, 1)


class TestIsomap:
    def test_chain_unrolls_to_its_length(self):
        t = np.linspace(0, 3, 30)
        X = np.column_stack([np.cos(t), np.sin(t)])
        chord = np.linalg.norm(X[1] - X[0])
        flat = isomap(X, 1, radius=1.5 * chord)
        length = chord * (np.arange(30) - 14.5)
        np.testing.assert_allclose(np.abs(flat.coordinates[:, 0]), np.abs(length), atol=1e-10)
        assert np.abs(flat.eigenvalues[1:]).max() < 1e-10
        np.testing.assert_allclose(flat.transform(flat.graph_distances), flat.coordinates)

    def test_agrees_with_scikit_learn(self):
        X, t = make_swiss_roll(600, random_state=0)
        peer = Isomap(n_neighbors=10, n_components=2).fit(X)
        flat = isomap(X, 2, k=10)
        np.testing.assert_allclose(flat.graph_distances, peer.dist_matrix_, rtol=1e-10)
        np.testing.assert_allclose(
            np.abs(flat.coordinates), np.abs(peer.embedding_), rtol=1e-7, atol=1e-8
        )
        assert flat.negative_mass == pytest.approx(0.226, abs=0.002)  # a short circuit
        X, t = make_swiss_roll(1000, random_state=0)
        arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
        flat = isomap(X, 2, k=7)
        assert abs(np.corrcoef(flat.coordinates[:, 0], arc)[0, 1]) > 0.999
        assert abs(np.corrcoef(flat.coordinates[:, 1], X[:, 1])[0, 1]) > 0.98

    def test_complete_graph_is_pca(self):
        flat = isomap(CLOUD, 2, k=19)
        np.testing.assert_allclose(
            np.abs(flat.coordinates), np.abs(pca(CLOUD, 2).scores), atol=1e-10
        )

    def test_more_edges_shorten_paths(self):
        few, many = isomap(CLOUD, 1, k=8).graph_distances, isomap(CLOUD, 1, k=12).graph_distances
        assert (many <= few + 1e-12).all() and (cdist(CLOUD, CLOUD) <= many + 1e-12).all()

    def test_duplicates_do_not_break_the_graph(self):
        x = np.array([0.0, 0, 1, 1, 2])[:, None]
        flat = isomap(x, 1, k=3)
        np.testing.assert_allclose(np.abs(flat.coordinates[:, 0]), np.abs(x[:, 0] - 0.8), atol=1e-7)

    def test_disconnected_graph_is_refused(self):
        X = np.r_[CLOUD, CLOUD[:7] + 100]
        for call in (lambda: isomap(X, 1, k=3), lambda: locally_linear(X, 1, 3)):
            with pytest.raises(ValueError, match=r"2 components, of sizes \[20, 7\]"):
                call()
        with pytest.raises(ValueError, match="2 components"):
            laplacian_eigenmap(np.eye(2), 1)

    def test_hops_follow_the_density(self):
        n, k = 2000, 40
        x = np.sqrt((np.arange(n) + 0.5) / n)[:, None]  # density 2x
        near, far = np.abs(x - 0.2).argmin(), np.abs(x - 0.9).argmin()
        from scipy.sparse.csgraph import dijkstra

        from bayeskern.classic.graph import neighbour_graph

        hops = dijkstra(neighbour_graph(x, k=k, weight="unit"), indices=near, unweighted=True)
        assert hops[far] * k / (2 * n) == pytest.approx(0.77, abs=0.04)


class TestLocal:
    def test_weights_of_an_interior_point(self):
        W = local_weights(np.arange(8.0)[:, None], 2).toarray()
        np.testing.assert_allclose(W[3, [2, 4]], 0.5, atol=1e-12)
        np.testing.assert_allclose(W.sum(axis=1), 1)

    def test_locally_linear_unrolls_an_arc(self):
        t = np.linspace(0, 3, 60)
        X = np.column_stack([np.cos(t), np.sin(t)])
        assert abs(np.corrcoef(locally_linear(X, 1, 4)[:, 0], t)[0, 1]) > 0.99

    def test_eigenmap_solves_the_generalised_problem(self):
        W = np.exp(-cdist(CLOUD, CLOUD, "sqeuclidean"))
        Y = laplacian_eigenmap(W, 2)
        d = W.sum(axis=1)
        LY = d[:, None] * Y - W @ Y
        ratio = (Y * LY).sum(axis=0) / (Y * d[:, None] * Y).sum(axis=0)
        np.testing.assert_allclose(LY, d[:, None] * Y * ratio, atol=1e-10)
