import numpy as np
import pytest
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from bayeskern.classic import cluster
from bayeskern.classic.cluster import (
    continuous_lloyd,
    diffusion_clustering,
    kernel_kmeans,
    kmeans,
    kmeans_energy,
    kmeans_plus_plus,
    linkage,
    sanity,
    spectral_bipartition,
    spectral_clustering,
)
from bayeskern.classic.graph import neighbour_graph
from bayeskern.classic.sanity import diffusion_norms, leaving_probabilities
from bayeskern.classic.spectral import spectrum

KINDS = ("sym", "rw", "unnormalised")
IRIS = load_iris().data


def gauss(X, Z=None, t=1.0):
    return np.exp(-cdist(X, X if Z is None else Z, "sqeuclidean") / t)


def same(labels, truth):
    return adjusted_rand_score(truth, labels) == 1.0


def block_graph(m=50, b=0.3, o=0.1):
    """Two groups of m, and one point weakly tied to all."""
    W = np.kron([[1, b], [b, 1]], np.ones((m, m)))
    return np.block([[W, np.full((2 * m, 1), o)], [np.full((1, 2 * m), o), np.ones((1, 1))]])


class TestMeans:
    def test_iris(self):
        best = kmeans(IRIS, 3)
        assert best.energy == pytest.approx(78.851441, abs=1e-5)
        assert sorted(np.bincount(best.labels)) == [38, 50, 62]
        assert adjusted_rand_score(load_iris().target, best.labels) == pytest.approx(
            0.7302, abs=1e-4
        )
        assert kmeans(IRIS, 2).energy == pytest.approx(152.347952, abs=1e-5)
        assert kmeans(IRIS, 1).energy == pytest.approx(681.3706, abs=1e-4)

    def test_the_energy_never_rises(self):
        rng = np.random.default_rng(0)
        for _ in range(20):
            run = kmeans(IRIS, 4, start=kmeans_plus_plus(IRIS, 4, rng))
            assert (np.diff(run.trace) <= 1e-9 * run.trace[0]).all()
            assert run.energy == pytest.approx(kmeans_energy(IRIS, run.labels))
            own = cdist(IRIS, run.centres)
            np.testing.assert_array_equal(own.argmin(axis=1), run.labels)
            np.testing.assert_array_equal(run.predict(IRIS), run.labels)

    def test_rectangle_has_a_bad_fixed_point(self):
        a = 3.0
        X = np.array([[0, 0], [0, 1], [a, 0], [a, 1]])
        assert kmeans(X, 2).energy == 1
        assert kmeans(X, 2, start=[[a / 2, 0], [a / 2, 1]]).energy == a**2

    def test_far_data_lose_no_digits(self):
        far = kmeans(IRIS + 1e6, 3, start=IRIS[[0, 60, 110]] + 1e6)
        np.testing.assert_array_equal(far.labels, kmeans(IRIS, 3, start=IRIS[[0, 60, 110]]).labels)

    def test_expected_energy_of_the_seeding(self):
        a = 3.0
        X = np.array([[0, 0], [0, 1], [a, 0], [a, 1]])
        rng = np.random.default_rng(0)
        energies = [
            cdist(X, kmeans_plus_plus(X, 2, rng), "sqeuclidean").min(axis=1).sum()
            for _ in range(4000)
        ]
        expected = (3 * a**2 + 1) / (a**2 + 1)
        error = np.std(energies) / np.sqrt(len(energies))
        assert abs(np.mean(energies) - expected) < 4 * error

    def test_empty_clusters_are_filled(self):
        X = np.array([[0.0], [1.0], [10.0]])
        run = kmeans(X, 3, start=[[0.0], [500.0], [600.0]])
        assert run.energy == 0 and len(np.unique(run.labels)) == 3

    @pytest.mark.parametrize("k", [0, 5, 2.5])
    def test_bad_k(self, k):
        with pytest.raises(ValueError, match="k must be"):
            kmeans([[0.0], [1.0], [2.0], [3.0]], k)

    def test_more_clusters_than_distinct_points(self):
        X = np.zeros((5, 2))
        for call in (
            lambda: kmeans(X, 2),
            lambda: kmeans_plus_plus(X, 2, np.random.default_rng(0)),
            lambda: kernel_kmeans(np.ones((5, 5)), 2),
        ):
            with pytest.raises(ValueError, match="1 distinct points"):
                call()


class TestContinuousLloyd:
    def test_uniform(self):
        answer = continuous_lloyd(np.ones_like, 0.0, 1.0, 4)
        np.testing.assert_allclose(answer.centres, [0.125, 0.375, 0.625, 0.875], atol=1e-9)
        assert answer.energy == pytest.approx(1 / 192)

    def test_linear_density_cuts_at_the_golden_ratio(self):
        answer = continuous_lloyd(lambda x: 2 * x, 0.0, 1.0, 2)
        golden = (np.sqrt(5) - 1) / 2
        np.testing.assert_allclose(answer.boundaries, [golden], atol=1e-10)
        np.testing.assert_allclose(answer.centres, [2 / 3 * golden, 0.824045], atol=1e-6)

    def test_no_mass(self):
        with pytest.raises(ValueError, match="positive mass"):
            continuous_lloyd(np.zeros_like, 0.0, 1.0, 2)


class TestKernelMeans:
    def test_linear_kernel_is_lloyd(self):
        start = np.random.default_rng(0).integers(0, 3, len(IRIS))
        kernel = kernel_kmeans(IRIS @ IRIS.T, 3, start=start)
        centres = np.array([IRIS[start == c].mean(axis=0) for c in range(3)])
        plain = kmeans(IRIS, 3, start=centres)
        np.testing.assert_array_equal(kernel.labels, plain.labels)
        np.testing.assert_allclose(kernel.trace[1:], plain.trace, rtol=1e-8)

    def test_energy_and_offset(self):
        K = gauss(IRIS, t=4)
        run = kernel_kmeans(K, 3)
        assert run.converged and (np.diff(run.trace) <= 1e-9).all()
        start = np.arange(len(K)) % 3
        np.testing.assert_array_equal(
            kernel_kmeans(K, 3, start=start).labels, kernel_kmeans(K + 5, 3, start=start).labels
        )
        np.testing.assert_array_equal(run.predict(K), run.labels)

    def test_circles_need_the_kernel(self):
        X, y = make_circles(200, factor=0.2, noise=0.03, random_state=0)
        assert adjusted_rand_score(y, kmeans(X, 2).labels) < 0.1
        radius = (X**2).sum(axis=1)
        K = np.outer(radius, radius)
        assert same(kernel_kmeans(K, 2).labels, y)

    def test_indefinite_kernels_are_refused(self):
        with pytest.raises(ValueError, match="positive semidefinite"):
            kernel_kmeans([[0.0, 1.0], [1.0, 0.0]], 2)


class TestSpectral:
    @pytest.mark.parametrize("kind", KINDS)
    def test_ideal_graph(self, kind):
        W = np.kron(np.diag([1.0, 2.0, 0.5]), np.ones((4, 4)))
        result = spectral_clustering(W, 3, kind)
        assert same(result.labels, np.repeat([0, 1, 2], 4))
        assert "3 components" in result.note
        rows = result.spectrum.vectors[:, :3]
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(rows @ rows.T, np.kron(np.eye(3), np.ones((4, 4))), atol=1e-12)

    def test_one_weak_point_fools_the_unnormalised_cut(self):
        m, b, o = 50, 0.3, 0.1
        W = block_graph(m, b, o)
        groups = np.repeat([0, 1], m)
        plain, normalised = spectral_bipartition(W, "unnormalised"), spectral_bipartition(W)
        np.testing.assert_allclose(plain.spectrum.eigenvalues[1:], [(2 * m + 1) * o, 2 * m * b + o])
        expected = [
            1 - (m - m * b) / (m + m * b + o),
            1 - (1 / (1 + 2 * m * o) - o / (m + m * b + o)),
        ]
        np.testing.assert_allclose(normalised.spectrum.eigenvalues[1:], expected)
        np.testing.assert_allclose(expected, [0.462366, 0.910627], atol=1e-6)
        assert same(plain.labels, [0] * 100 + [1])
        assert same(normalised.labels[:-1], groups)
        strong = spectral_bipartition(block_graph(m, b, 0.5), "unnormalised")
        assert same(strong.labels[:-1], groups)

        report = sanity(plain)
        assert report.ratios[0] == pytest.approx(10.1 / 11)
        assert report.verdict == "not trustworthy"
        assert "within the essential spectrum" in str(report)
        assert "Dirac function: point 100 holds" in str(report)
        assert sanity(strong, n_subsamples=0).ratios[0] == pytest.approx(30.5 / 51, abs=1e-3)
        assert sanity(normalised, n_subsamples=0).ratios[0] < 0.5

    @pytest.mark.parametrize("n", [4, 20, 350])
    def test_product_kernel_isolates_the_smallest_point(self, n):
        x = np.linspace(1, 2, n) ** 1.5
        result = spectral_bipartition(np.outer(x, x), "unnormalised")
        alone = np.zeros(n, dtype=int)
        alone[0] = 1
        assert same(result.labels, alone)
        report = sanity(result, n_subsamples=0)
        assert report.ratios[0] > 1 and report.verdict == "not trustworthy"

    def test_bipartition_agrees_across_the_normalised_kinds(self):
        X = np.random.default_rng(0).standard_normal((40, 2))
        W = gauss(X)
        np.testing.assert_array_equal(
            spectral_bipartition(W, "sym").labels, spectral_bipartition(W, "rw").labels
        )

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("t", [0.05, 0.25])
    def test_numerically_disconnected_graph(self, kind, t):
        from scipy.stats import norm

        q = 0.5 * norm.ppf((np.arange(20) + 0.5) / 20)
        x = np.r_[q, 4 + q][:, None]
        result = spectral_bipartition(gauss(x, t=t), kind)
        assert same(result.labels, np.repeat([0, 1], 20))
        assert ("2 components" in result.note) == (t == 0.05)

    @pytest.mark.parametrize("kind", KINDS)
    def test_moons(self, kind):
        X, y = make_moons(200, noise=0.05, random_state=0)
        result = spectral_clustering(gauss(X, t=0.04), 2, kind)
        assert same(result.labels, y)
        report = cluster.sanity(result)
        assert report.verdict == "trustworthy" and report.reasons == ()
        assert report.ratios.max() < 0.05 and report.stability == 1

    def test_equivariance(self):
        X, _ = make_moons(80, noise=0.05, random_state=1)
        W = gauss(X, t=0.04)
        order = np.random.default_rng(0).permutation(80)
        base = spectral_clustering(W, 2).labels
        assert same(spectral_clustering(7 * W[np.ix_(order, order)], 2).labels, base[order])

    @pytest.mark.parametrize("graph", ["full", "knn"])
    def test_agrees_with_scikit_learn_on_a_zero_diagonal(self, graph):
        X, _ = make_moons(400, noise=0.07, random_state=3)
        if graph == "full":
            W = gauss(X, t=0.04)
            np.fill_diagonal(W, 0)
        else:
            W = neighbour_graph(X, k=14, weight="unit")
        peer = SpectralClustering(2, affinity="precomputed", random_state=0)
        labels = peer.fit(W).labels_
        assert adjusted_rand_score(labels, spectral_clustering(W, 2, "rw").labels) > 0.98

    @pytest.mark.parametrize("kind", KINDS)
    def test_predict_extends_the_labels(self, kind):
        X, _ = make_moons(200, noise=0.05, random_state=0)
        Z, truth = make_moons(100, noise=0.05, random_state=1)
        result = spectral_clustering(gauss(X, t=0.04), 2, kind)
        np.testing.assert_array_equal(result.predict(gauss(X, t=0.04)), result.labels)
        assert adjusted_rand_score(truth, result.predict(gauss(Z, X, t=0.04))) > 0.95
        assert result.predict(np.zeros((1, 200))) == -1

    def test_a_point_beyond_the_pole_has_no_label(self):
        x = np.array([[0.0], [1], [3], [4]])
        result = spectral_clustering(gauss(x), 2, "unnormalised")
        labels = result.predict(gauss(np.array([[5.0], [6.0], [6.01]]), x))
        assert labels[0] == labels[1] == result.labels[3] and labels[2] == -1

    def test_too_many_components(self):
        with pytest.raises(ValueError, match="3 components, more than the 2 clusters"):
            spectral_clustering(np.eye(3), 2)
        with pytest.raises(ValueError, match="3 components, more than the 2 clusters"):
            spectral_bipartition(np.eye(3))

    @pytest.mark.parametrize("k", [0, 4, 1.5])
    def test_bad_k(self, k):
        with pytest.raises(ValueError, match="k must be"):
            spectral_clustering(np.ones((3, 3)), k)

    def test_isolated_vertex(self):
        W = np.zeros((3, 3))
        W[0, 1] = W[1, 0] = 1
        with pytest.raises(ValueError, match="1 isolated vertices"):
            spectral_clustering(W, 2)
        assert same(spectral_clustering(W, 2, "unnormalised").labels, [0, 0, 1])

    def test_one_cluster(self):
        result = spectral_clustering(np.ones((3, 3)), 1)
        np.testing.assert_array_equal(result.labels, 0)
        np.testing.assert_array_equal(result.predict(np.ones((2, 3))), 0)

    def test_two_points_only(self):
        with pytest.raises(ValueError, match="at least two points"):
            spectral_bipartition(np.ones((1, 1)))


class TestDiffusion:
    def test_lumpable_blocks(self):
        eps = 1e-3
        W = np.full((6, 6), eps)
        W[:2, :2], W[2:, 2:] = 1.0, 0.5
        result = diffusion_clustering(W, 2)
        expected = 1 - 4 * eps / (2 + 4 * eps) - 2 * eps / (2 + 2 * eps)
        np.testing.assert_allclose(1 - result.spectrum.eigenvalues, [1, expected, 0], atol=1e-12)
        assert expected == pytest.approx(0.997005, abs=1e-6)
        assert same(result.labels, [0, 0, 1, 1, 1, 1])

    @pytest.mark.parametrize("t", [0, 1, 7])
    def test_circles(self, t):
        X, y = make_circles(300, factor=0.4, noise=0.03, random_state=0)
        result = diffusion_clustering(gauss(X, t=0.05), 2, t=t)
        assert same(result.labels, y)
        np.testing.assert_array_equal(result.predict(gauss(X, t=0.05)), result.labels)
        mixed = diffusion_clustering(gauss(X, t=0.3), 2).labels
        assert max(np.mean(mixed == y), np.mean(mixed != y)) == pytest.approx(0.513, abs=0.01)

    def test_components_are_exact(self):
        W = np.kron(np.eye(3), np.ones((3, 3)))
        assert same(diffusion_clustering(W, 3).labels, np.repeat([0, 1, 2], 3))

    @pytest.mark.parametrize("k", [1, 7])
    def test_bad_k(self, k):
        with pytest.raises(ValueError, match="k must be"):
            diffusion_clustering(np.ones((6, 6)), k)


class TestDiffusionBetweenParts:
    A = np.array([[1, 0.5], [0.5, 1]])
    B = np.array([[1, 0.3, 0.2], [0.3, 1, 0.4], [0.2, 0.4, 1]])

    @pytest.mark.parametrize(
        ("eps", "on", "off", "second"),
        [
            (0.01, (0.980392, 0.988150), (0.016010, 0.015178), 0.031952),
            (0.05, (0.909091, 0.941620), (0.074227, 0.072294), 0.149684),
        ],
    )
    def test_block_norms(self, eps, on, off, second):
        W = np.block([[self.A, np.full((2, 3), eps)], [np.full((3, 2), eps), self.B]])
        labels = [0, 0, 1, 1, 1]
        blocks = diffusion_norms(W, labels)
        np.testing.assert_allclose(blocks.diagonal(), on, atol=1e-6)
        np.testing.assert_allclose([blocks[0, 1], blocks[1, 0]], off, atol=1e-6)
        assert spectrum(W, 2).eigenvalues[1] == pytest.approx(second, abs=1e-6)

    def test_leaving_probabilities_sum_to_the_normalised_cut(self):
        rng = np.random.default_rng(0)
        W = rng.random((7, 7))
        W = W + W.T
        labels = np.array([0, 0, 0, 1, 1, 1, 1])
        d = W.sum(axis=1)
        cut = W[:3, 3:].sum()
        leave = leaving_probabilities(W, labels)
        np.testing.assert_allclose(leave, [cut / d[:3].sum(), cut / d[3:].sum()])
        W[:3, 3:] = W[3:, :3] = 0
        np.testing.assert_allclose(leaving_probabilities(W, labels), 0, atol=1e-15)


class TestSanity:
    def test_noise_is_not_trusted(self):
        X = np.random.default_rng(0).random((150, 2))
        report = sanity(spectral_clustering(gauss(X, t=1.0), 5))
        assert report.verdict != "trustworthy" and report.reasons

    def test_no_gap(self):
        angle = 2 * np.pi * np.arange(40) / 40
        W = np.exp(2 * np.cos(angle[:, None] - angle))
        report = sanity(spectral_clustering(W, 2), n_subsamples=0)
        assert report.gap < 1e-9 and any("no gap" in reason for reason in report.reasons)
        assert np.isnan(report.stability)

    def test_one_point(self):
        with pytest.raises(ValueError, match="at least two points"):
            sanity(spectral_clustering(np.ones((1, 1)), 1))


def merge_by_definition(D, method):
    """Heights and partitions of linkage, by looking at all pairs of clusters at every step."""
    rule = {"single": np.min, "complete": np.max, "average": np.mean}[method]
    groups = [[i] for i in range(len(D))]
    heights, partitions = [], [list(groups)]
    while len(groups) > 1:
        pairs = [(a, b) for a in range(len(groups)) for b in range(a)]
        between = [rule(D[np.ix_(groups[a], groups[b])]) for a, b in pairs]
        a, b = pairs[int(np.argmin(between))]
        heights.append(min(between))
        groups = [g for i, g in enumerate(groups) if i not in (a, b)] + [groups[a] + groups[b]]
        partitions.append(list(groups))
    return np.array(heights), partitions


class TestLinkage:
    METHODS = ("single", "complete", "average")

    def distances(self, n=25, seed=0):
        X = np.random.default_rng(seed).normal(size=(n, 2))
        return cdist(X, X)

    @pytest.mark.parametrize("method", METHODS)
    def test_is_the_definition(self, method):
        D = self.distances()
        tree = linkage(D, method)
        heights, partitions = merge_by_definition(D, method)
        np.testing.assert_allclose(tree.heights, heights, rtol=1e-12)
        truth = np.zeros(len(D))
        meeting = np.full_like(D, np.inf)
        for height, groups in zip([0.0, *heights], partitions, strict=True):
            apart = np.ones_like(D, dtype=bool)
            for c, group in enumerate(groups):
                truth[group] = c
                apart[np.ix_(group, group)] = False
            labels = tree.labels(len(groups))
            assert same(labels, truth) and labels.max() == len(groups) - 1
            assert same(tree.labels_at(height * (1 + 1e-9)), truth)
            meeting[~apart] = np.minimum(meeting[~apart], height)
        np.testing.assert_allclose(tree.ultrametric(), meeting, rtol=1e-12)

    @pytest.mark.parametrize("method", METHODS)
    def test_agrees_with_scikit_learn(self, method):
        D = self.distances(80, seed=1)
        for k in (2, 5, 20):
            peer = AgglomerativeClustering(k, metric="precomputed", linkage=method).fit(D)
            assert same(linkage(D, method).labels(k), peer.labels_)

    def test_single_linkage_is_the_threshold_graph_and_the_spanning_tree(self):
        D = self.distances(60, seed=2)
        tree = linkage(D)
        spanning = csgraph.minimum_spanning_tree(D).toarray()
        np.testing.assert_allclose(tree.heights, np.sort(spanning[spanning > 0]))
        for k in (2, 3, 10, 59):
            height = tree.heights[len(D) - k - 1]
            threshold = csgraph.connected_components(height >= D)[1]
            longest = np.sort(spanning[spanning > 0])[-(k - 1)]
            forest = csgraph.connected_components((spanning > 0) & (spanning < longest))[1]
            assert same(tree.labels(k), threshold) and same(tree.labels(k), forest)

    def test_single_linkage_gives_the_largest_ultrametric_below(self):
        D = self.distances(30, seed=3)
        least = D.copy()
        for j in range(len(D)):  # least longest step over all paths
            least = np.minimum(least, np.maximum(least[:, j, None], least[j]))
        np.testing.assert_array_equal(linkage(D).ultrametric(), least)

    @pytest.mark.parametrize("method", METHODS)
    def test_ultrametric_inequality(self, method):
        u = linkage(self.distances(seed=4), method).ultrametric()
        assert (u[:, None, :] <= np.maximum(u[:, :, None], u[None]) + 1e-12).all()

    @pytest.mark.parametrize("method", METHODS)
    def test_scale_does_not_matter(self, method):
        D = self.distances(seed=5)
        for k in (2, 4):
            np.testing.assert_array_equal(
                linkage(D, method).labels(k), linkage(1024 * D, method).labels(k)
            )

    def test_ties_duplicates_and_one_point(self):
        tree = linkage(cdist([[0.0], [0], [1], [2]], [[0.0], [0], [1], [2]]))
        np.testing.assert_array_equal(tree.heights, [0, 1, 1])
        assert [tree.labels(k).max() + 1 for k in (1, 2, 3, 4)] == [1, 2, 3, 4]
        np.testing.assert_array_equal(tree.labels(3), [0, 0, 1, 2])
        np.testing.assert_array_equal(tree.labels_at(0), [0, 0, 1, 2])
        np.testing.assert_array_equal(tree.labels_at(1), [0, 0, 0, 0])
        single = linkage([[0.0]])
        assert single.labels(1) == [0] and single.ultrametric() == [[0]]

    def test_bad_input(self):
        with pytest.raises(ValueError, match="method"):
            linkage(np.zeros((2, 2)), "ward")
        with pytest.raises(ValueError, match="zero diagonal"):
            linkage(np.ones((2, 2)))
        with pytest.raises(ValueError, match="k must be at most"):
            linkage(np.zeros((2, 2))).labels(3)
        with pytest.raises(ValueError, match="height"):
            linkage(np.zeros((2, 2))).labels_at(-1.0)
