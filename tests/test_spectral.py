import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import iv

from bayeskern.classic.graph import degrees, laplacian, neighbour_graph
from bayeskern.classic.spectral import (
    degree_deviation,
    extend_normalised,
    extend_unnormalised,
    leading_eigenpairs,
    projection_bound,
    spectral_distance,
    spectrum,
)

FOUR = np.array([0.0, 1, 3, 4])


def gauss(x, z, t=1.0):
    return np.exp(-((np.asarray(x)[:, None] - np.asarray(z)) ** 2) / t)


def cloud(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 2))


class TestSolver:
    @pytest.mark.parametrize("n", [40, 700])
    @pytest.mark.parametrize("kind", ["sym", "rw", "unnormalised"])
    @pytest.mark.parametrize("graph", ["full", "knn"])
    def test_agrees_with_lapack(self, n, kind, graph):
        X = cloud(n)
        W = (
            np.exp(-(cdist(X, X) ** 2))
            if graph == "full"
            else neighbour_graph(X, k=12, weight="unit")
        )
        spec = spectrum(W, 5, kind)
        dense = W if graph == "full" else W.toarray()
        symmetric = "sym" if kind == "rw" else kind
        values = np.linalg.eigvalsh(laplacian(dense, symmetric))[:5]
        scale = degrees(W).max() if kind == "unnormalised" else 1
        np.testing.assert_allclose(spec.eigenvalues, values, atol=1e-11 * scale)
        L = laplacian(dense, kind)
        np.testing.assert_allclose(
            L @ spec.vectors, spec.vectors * spec.eigenvalues, atol=1e-9 * scale
        )
        gram = spec.vectors.T * (spec.degrees if kind == "rw" else 1) @ spec.vectors
        np.testing.assert_allclose(gram, np.eye(5), atol=1e-9)
        assert spec.residual < 1e-9

    @pytest.mark.parametrize("kind", ["sym", "unnormalised"])
    def test_expanding_neighbourhood_graphs(self, kind):
        X = np.random.default_rng(1).standard_normal((600, 12))
        W = neighbour_graph(X, k=15, weight="unit")
        spec = spectrum(W, 4, kind)
        values = np.linalg.eigvalsh(laplacian(W.toarray(), kind))[:4]
        np.testing.assert_allclose(spec.eigenvalues, values, atol=1e-9)
        assert spec.residual < 1e-8

    def test_repeated_eigenvalues_of_a_circle(self):
        angle = 2 * np.pi * np.arange(600) / 600
        W = np.exp(2 * np.cos(angle[:, None] - angle))
        mu = 1 - spectrum(W, 7, "sym").eigenvalues
        bessel = iv(np.arange(4), 2) / iv(0, 2)
        np.testing.assert_allclose(mu, bessel[[0, 1, 1, 2, 2, 3, 3]], atol=1e-10)
        np.testing.assert_allclose(bessel, [1, 0.697775, 0.302225, 0.093324], atol=1e-6)
        unnormalised = spectrum(W, 3, "unnormalised").eigenvalues / 600
        np.testing.assert_allclose(unnormalised, iv(0, 2) - iv([0, 1, 1], 2), atol=1e-10)

    def test_low_rank_matrices_do_not_break_the_iteration(self):
        rng = np.random.default_rng(0)
        A = rng.standard_normal((500, 3))
        values, vectors = leading_eigenpairs(lambda V: A @ (A.T @ V), 500, 4)
        expected = np.r_[np.linalg.eigvalsh(A.T @ A)[::-1], 0]
        np.testing.assert_allclose(values, expected, atol=1e-8)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-10)

    def test_min_kernel_has_the_spectrum_of_brownian_motion(self):
        x = (np.arange(400) + 0.5) / 400
        K = np.minimum.outer(x, x) / 400
        values, _ = leading_eigenpairs(lambda V: K @ V, 400, 3)
        expected = 4 / ((2 * np.arange(1, 4) - 1) ** 2 * np.pi**2)
        np.testing.assert_allclose(values, expected, rtol=1e-4)

    def test_components_are_named_not_mixed(self):
        x = np.r_[np.linspace(-1, 1, 20), np.linspace(7, 9, 30)]
        W = gauss(x, x, 0.05)
        for kind in ("sym", "unnormalised"):
            spec = spectrum(W, 3, kind)
            assert spec.n_components == 2
            np.testing.assert_array_equal(spec.vectors[20:, 0], 0)
            np.testing.assert_array_equal(spec.vectors[:20, 1], 0)
            assert spec.eigenvalues[1] == 0 < spec.eigenvalues[2]

    def test_bad_size(self):
        with pytest.raises(ValueError, match="m must be between 1 and 4"):
            spectrum(gauss(FOUR, FOUR), 5)


class TestConvergence:
    """The sample eigenvalues approach those of the limit operator at the rate n^(-1/2)."""

    def test_rate_of_the_second_eigenvalue(self):
        limit = 0.726395  # of k = exp(-(x-y)^2/0.1) on U[0, 1], by a 2000-point rule
        rng = np.random.default_rng(0)
        errors = []
        for n in (50, 200):
            mu = []
            for _ in range(120):
                x = rng.random(n)
                mu.append(1 - spectrum(gauss(x, x, 0.1), 2).eigenvalues[1])
            errors.append(np.sqrt(np.mean((np.array(mu) - limit) ** 2)))
        np.testing.assert_allclose(errors, [0.057, 0.027], rtol=0.25)


class TestExtension:
    def test_unnormalised_has_a_pole(self):
        spec = spectrum(gauss(FOUR, FOUR), 2, "unnormalised")
        np.testing.assert_allclose(spec.eigenvalues[1], 0.018107, atol=1e-6)
        v = np.array([-0.512285, -0.487406, 0.487406, 0.512285])
        sign = np.sign(spec.vectors[3, 1])
        np.testing.assert_allclose(sign * spec.vectors[:, 1], v, atol=1e-6)
        at = np.array([5, 5.5, 6, 6.0045, 6.0046, 7])
        f = sign * extend_unnormalised(gauss(at, FOUR), spec)[:, 1]
        np.testing.assert_allclose(f[:3], [0.536246, 0.615709, 28.42], rtol=1e-4)
        assert f[3] > 1000 and np.isnan(f[4:]).all()  # the pole is at 6.004526

    def test_both_reproduce_the_sample(self):
        X = cloud(30)
        W = np.exp(-(cdist(X, X) ** 2))
        spec = spectrum(W, 3, "unnormalised")
        np.testing.assert_allclose(extend_unnormalised(W, spec), spec.vectors, atol=1e-12)
        spec = spectrum(W, 3, "sym")
        w = spec.vectors / np.sqrt(spec.degrees)[:, None]
        np.testing.assert_allclose(extend_normalised(W, spec), w, atol=1e-12)

    def test_normalised_values_and_bound(self):
        spec = spectrum(gauss(FOUR, FOUR), 2, "rw")
        np.testing.assert_allclose(spec.eigenvalues[1], 0.013152, atol=1e-6)
        at = np.array([-3.0, 0, 2, 3, 7])
        f = np.sign(spec.vectors[3, 1]) * extend_normalised(gauss(at, FOUR), spec)[:, 1]
        expected = np.array([-0.884675, -0.873077, 0, 0.830949, 0.884675])
        np.testing.assert_allclose(np.sqrt(4) * f, expected, atol=1e-6)  # degrees over n
        far = np.linspace(-20, 20, 401)
        bound = np.abs(spec.vectors[:, 1]).max() / (1 - spec.eigenvalues[1])
        values = extend_normalised(gauss(far, FOUR), spec)[:, 1]
        assert np.nanmax(np.abs(values)) <= bound * (1 + 1e-9)

    def test_a_point_without_similarity_is_nan(self):
        spec = spectrum(gauss(FOUR, FOUR), 2, "rw")
        assert np.isnan(extend_normalised(np.zeros((1, 4)), spec)).all()

    def test_eigenvalue_within_the_degrees_is_refused(self):
        x = np.array([1, 1.25, 1.75, 2])
        W = np.outer(x, x)
        spec = spectrum(W, 2, "unnormalised")
        assert spec.eigenvalues[1] == pytest.approx(6.490685, abs=1e-6)
        with pytest.raises(ValueError, match="within the degrees from 6 to 12"):
            extend_unnormalised(W, spec)
        np.testing.assert_allclose(
            extend_unnormalised(W, spec, force=True)[1:, 1], spec.vectors[1:, 1], atol=1e-10
        )

    def test_the_wrong_kind_is_refused(self):
        W = gauss(FOUR, FOUR)
        with pytest.raises(ValueError, match="got 'unnormalised'"):
            extend_normalised(W, spectrum(W, 2, "unnormalised"))
        with pytest.raises(ValueError, match="got 'sym'"):
            extend_unnormalised(W, spectrum(W, 2, "sym"))
        with pytest.raises(ValueError, match="all noise"):
            extend_normalised(np.ones((3, 3)), spectrum(np.ones((3, 3)), 2, "sym"))


class TestPerturbation:
    def test_projections_move_within_the_bound(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            A = rng.standard_normal((6, 6))
            A = A + A.T
            B = rng.standard_normal((6, 6)) * 1e-3
            B = B + B.T
            size = np.linalg.norm(B, 2)
            before, U = np.linalg.eigh(A)
            after, V = np.linalg.eigh(A + B)
            assert np.abs(before - after).max() <= size * (1 + 1e-9)
            bound = projection_bound(before, size, 2)
            for l in (5, 4):
                moved = np.outer(U[:, l], U[:, l]) - np.outer(V[:, l], V[:, l])
                assert np.linalg.norm(moved, 2) <= bound

    def test_no_bound_beyond_half_the_gap(self):
        assert projection_bound([1.0, 0.5, 0.0], 0.25, 1) == pytest.approx(2.0)
        assert projection_bound([1.0, 0.5, 0.0], 0.26, 1) == np.inf
        assert projection_bound([3.0, 1.0, 0.9], 0.1, 2) == np.inf

    def test_degree_deviation_has_no_unit(self):
        assert degree_deviation(100, 0.2) == pytest.approx(degree_deviation(100, 2.0, 10.0))
        assert degree_deviation(200, 0.2) < degree_deviation(100, 0.2) > degree_deviation(100, 0.3)

    def test_degree_deviation_holds(self):
        rng = np.random.default_rng(1)
        n, eps = 400, 0.1
        worst = []
        for _ in range(60):
            x = rng.random(n)
            exact = np.minimum.outer(x, [1.0])[:, 0] - x**2 / 2  # of min(x, y) under U[0, 1]
            worst.append(np.abs(np.minimum.outer(x, x).mean(axis=1) - exact).max())
        allowed = 2 / n + eps * (n - 1) / n
        assert np.mean(np.array(worst) > allowed) <= degree_deviation(n, eps)

    def test_spectral_distance_is_the_best_matching(self):
        rng = np.random.default_rng(2)
        a, b = rng.standard_normal(5), rng.standard_normal(7)
        padded = np.r_[a, 0, 0]
        cost = np.abs(padded[:, None] - b)
        rows, columns = linear_sum_assignment(cost)
        assert spectral_distance(a, b, 1) == pytest.approx(cost[rows, columns].sum())
        A, B = rng.standard_normal((2, 6, 6))
        A, B = A + A.T, B + B.T
        assert spectral_distance(np.linalg.eigvalsh(A), np.linalg.eigvalsh(B)) <= np.linalg.norm(
            A - B
        )
