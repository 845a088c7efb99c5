"""Kernels on vectors, their algebra and approximations: closed forms and other libraries."""

import numpy as np
import pytest
from scipy.special import comb

from bayeskern import kernels as k
from bayeskern.datasets import load
from bayeskern.errors import NotPSDError

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


class TestAgainstOtherLibraries:
    @pytest.mark.parametrize(
        "ours, theirs",
        [
            (k.RBF(0.7), ("RBF", {"length_scale": 0.7})),
            (k.ARD((0.7, 1.0, 2.0)), ("RBF", {"length_scale": [0.7, 1.0, 2.0]})),
            (k.Matern(0.7, nu=0.5), ("Matern", {"length_scale": 0.7, "nu": 0.5})),
            (k.Laplacian(0.7), ("Matern", {"length_scale": 0.7, "nu": 0.5})),
            (k.Matern(0.7, nu=1.5), ("Matern", {"length_scale": 0.7, "nu": 1.5})),
            (k.Matern(0.7, nu=2.5), ("Matern", {"length_scale": 0.7, "nu": 2.5})),
            (
                k.RationalQuadratic(0.7, 1.3),
                ("RationalQuadratic", {"length_scale": 0.7, "alpha": 1.3}),
            ),
        ],
        ids=lambda v: str(v)[:30],
    )
    def test_scikit_learn(self, ours, theirs):
        from sklearn.gaussian_process import kernels

        peer = getattr(kernels, theirs[0])(**theirs[1])
        np.testing.assert_allclose(ours(X), peer(X), rtol=1e-10)
        np.testing.assert_allclose(ours(X, Z), peer(X, Z), rtol=1e-10)

    def test_scikit_learn_periodic_on_a_line(self):
        from sklearn.gaussian_process.kernels import ExpSineSquared

        x = X[:, :1]
        peer = ExpSineSquared(length_scale=0.8, periodicity=1.7)
        np.testing.assert_allclose(k.Periodic(0.8, period=1.7)(x), peer(x), rtol=1e-10)

    def test_mean_of_gaussians_is_a_density_estimate(self):
        from scipy.stats import multivariate_normal

        sigma = 0.6
        ours = k.RBF(sigma)(Z, X).mean(axis=1) / (2 * np.pi * sigma**2) ** 1.5
        density = [
            np.mean([multivariate_normal.pdf(z, x, sigma**2 * np.eye(3)) for x in X]) for z in Z
        ]
        np.testing.assert_allclose(ours, density, rtol=1e-12)


class TestVectorKernels:
    def test_mahalanobis_lacks_the_half(self):
        np.testing.assert_allclose(k.Mahalanobis(1.4)(X), k.RBF(1.4 / np.sqrt(2))(X), rtol=1e-12)
        scales = np.array([0.5, 1.0, 3.0])
        direct = np.exp(-(((X[:, None] - X) / scales) ** 2).sum(axis=-1))
        np.testing.assert_allclose(k.Mahalanobis(scales)(X), direct, rtol=1e-10)
        np.testing.assert_allclose(k.ARD(scales / np.sqrt(2))(X), direct, rtol=1e-10)

    def test_large_scale_removes_an_input(self):
        np.testing.assert_allclose(k.ARD((0.7, 1e9, 0.7))(X), k.RBF(0.7)(X[:, [0, 2]]), rtol=1e-10)

    def test_gram_of_eight_points_has_its_known_spectrum(self):
        spectrum = np.linalg.eigvalsh(k.RBF()(load("overlap8").X))
        assert spectrum[0] == pytest.approx(0.341013, abs=1e-6)
        assert spectrum[-1] == pytest.approx(1.750701, abs=1e-6)

    def test_complete_quadratic_on_the_corners_of_a_square(self):
        K = k.Polynomial(2, offset=1.0)(load("xor").X)
        np.testing.assert_allclose(K, 8 * np.eye(4) + 1)

    @pytest.mark.parametrize("N, p", [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2)])
    def test_rank_of_polynomial_kernels_is_a_binomial(self, N, p):
        points = np.random.default_rng(N + p).normal(size=(40, N))
        for kernel, rank in (
            (k.Polynomial(p), comb(N + p - 1, p, exact=True)),
            (k.Polynomial(p, offset=1.0), comb(N + p, p, exact=True)),
        ):
            assert np.linalg.matrix_rank(kernel(points)) == rank
            assert kernel.features(points).shape[1] == rank

    def test_complete_polynomial_is_homogeneous_with_a_constant_input(self):
        wide = np.column_stack([X, np.full(len(X), np.sqrt(1.7))])
        np.testing.assert_allclose(k.Polynomial(3, offset=1.7)(X), k.Polynomial(3)(wide))

    def test_quadratic_features_are_those_of_the_books(self):
        x1, x2 = X[:, 0], X[:, 1]
        F = k.Polynomial(2).features(X[:, :2])
        np.testing.assert_allclose(F, np.column_stack([x1**2, np.sqrt(2) * x1 * x2, x2**2]))

    def test_far_from_the_origin_no_digit_is_lost(self):
        kernel = k.RBF((0.5, 1.0, 2.0))
        G = np.random.default_rng(1).normal(size=(7, 7))
        moved = X + 2.0**20  # exactly representable, so that only the algorithm can lose digits
        near = moved - 2.0**20
        np.testing.assert_allclose(kernel(moved), kernel(near), rtol=1e-9)
        np.testing.assert_allclose(
            kernel.pullback(moved, G)["rbf_lengthscale"],
            kernel.pullback(near, G)["rbf_lengthscale"],
            rtol=1e-7,
        )

    def test_set_kernel_spectrum(self):
        sets = [{1, 2}, {3}, {1, 2, 3}]
        spectrum = np.linalg.eigvalsh(k.Intersection()(sets))
        np.testing.assert_allclose(spectrum, [0, 3 - np.sqrt(3), 3 + np.sqrt(3)], atol=1e-12)
        indicators = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1.0]])
        weights = {1: 0.5, 2: 1.0, 3: 2.0}
        np.testing.assert_allclose(
            k.Intersection(weights)(sets), k.Linear((0.5, 1.0, 2.0))(indicators)
        )

    def test_white_noise_belongs_to_the_observation(self):
        same = X[[0, 0, 1]]
        assert np.array_equal(k.White(0.3)(same), 0.3 * np.eye(3))
        assert not k.White(0.3)(same, same).any()
        assert not k.White(0.3).pullback(same, np.ones((3, 3)), same)["white_variance"]

    @pytest.mark.parametrize("kernel", [k.ARD((0.7, 1.0, 2.0)), k.Laplacian((0.7, 1.0, 2.0))])
    def test_gram_and_pullback_in_blocks_are_the_direct_sums(self, kernel):
        local = np.random.default_rng(3)
        A, B = local.normal(size=(600, 3)), local.normal(size=(400, 3))  # several blocks each
        scale = np.array([0.7, 1.0, 2.0])
        for other in (None, B):
            right = A if other is None else other
            d2 = ((A[:, None] - right) / scale) ** 2
            D = d2.sum(axis=-1)
            if isinstance(kernel, k.ARD):
                K, slope = np.exp(-D / 2), np.exp(-D / 2)
            else:
                K = np.exp(-np.sqrt(D))
                slope = np.divide(K, np.sqrt(D), out=np.zeros_like(D), where=D > 0)
            G = local.normal(size=K.shape)
            np.testing.assert_allclose(kernel(A, other), K, rtol=1e-9)
            direct = np.einsum("ij,ij,ijk->k", G, slope, d2) / scale
            pulled = kernel.pullback(A, G, other)[f"{kernel.name}_lengthscale"]
            np.testing.assert_allclose(pulled, direct, rtol=1e-9)
        K = kernel(A)
        assert np.array_equal(K, K.T) and np.array_equal(np.diagonal(K), np.ones(600))

    def test_pullback_needs_no_tensor(self):
        import tracemalloc

        points = np.random.default_rng(2).normal(size=(300, 50))
        kernel, G = k.ARD(np.ones(50)), np.ones((300, 300))
        tracemalloc.start()
        kernel.pullback(points, G)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * 300 * 300 * 8  # the tensor alone would be 50 such matrices


class TestAlgebra:
    def test_sums_and_products_are_elementwise(self):
        a, b = k.RBF(0.7), k.Linear()
        np.testing.assert_allclose((a + b)(X, Z), a(X, Z) + b(X, Z))
        np.testing.assert_allclose((a * b)(X, Z), a(X, Z) * b(X, Z))
        np.testing.assert_allclose((b**3)(X, Z), b(X, Z) ** 3)
        np.testing.assert_allclose((2.0 * a + 3.0)(X), 2 * a(X) + 3)
        np.testing.assert_allclose((np.float64(2.0) * a)(X), 2 * a(X))

    def test_normalised_exponential_is_the_gaussian(self):
        gaussian = k.RBF(0.9)(X)
        np.testing.assert_allclose(k.Linear().exp(0.9).normalise()(X), gaussian, rtol=1e-10)
        np.testing.assert_allclose(k.FeatureRBF(k.Linear(), 0.9)(X), gaussian, rtol=1e-10)
        assert np.isfinite(k.FeatureRBF(k.Linear(), 0.9)(1e3 * X)).all()

    def test_normalised_has_unit_diagonal_and_forgets_scale(self):
        kernel = (k.Linear() + 1.0).normalise()
        K = kernel(X)
        assert np.array_equal(np.diagonal(K), np.ones(7)) and np.abs(K).max() <= 1
        np.testing.assert_allclose(kernel.normalise()(X), K, rtol=1e-12)
        np.testing.assert_allclose((5.0 * (k.Linear() + 1.0)).normalise()(X), K, rtol=1e-12)

    def test_centred_gram_has_zero_row_sums_on_its_own_inputs(self):
        K = k.RBF().centre(X)(X)
        np.testing.assert_allclose(K.sum(axis=0), 0, atol=1e-12)
        H = np.eye(7) - 1 / 7
        np.testing.assert_allclose(K, H @ k.RBF()(X) @ H, atol=1e-12)

    def test_centred_new_points_agree_with_scikit_learn(self):
        from sklearn.preprocessing import KernelCenterer

        centerer = KernelCenterer().fit(k.RBF()(X))
        np.testing.assert_allclose(
            k.RBF().centre(X)(Z, X), centerer.transform(k.RBF()(Z, X)), atol=1e-12
        )

    def test_columns_and_additive(self):
        np.testing.assert_allclose(k.RBF().on([0, 2])(X, Z), k.RBF()(X[:, [0, 2]], Z[:, [0, 2]]))
        parts = k.RBF(0.5, name="a").on(0) + k.RBF(0.5, name="b").on([1, 2])
        np.testing.assert_allclose(k.Additive(k.RBF(0.5), ([0], [1, 2]))(X), parts(X))

    def test_pull_back_through_the_map_of_the_book(self):
        def phi(X):
            return np.column_stack([X[:, 0], X[:, 1] ** 2, X[:, 0] * X[:, 1]])

        K = k.Linear().through(phi)(X)
        direct = np.outer(X[:, 0], X[:, 0]) + np.outer(X[:, 1], X[:, 1]) ** 2
        np.testing.assert_allclose(K, direct + np.outer(X[:, 0] * X[:, 1], X[:, 0] * X[:, 1]))

    def test_map_may_read_strings_and_must_keep_the_rows(self):
        def count(texts):
            return np.array([[len(t), t.count("a")] for t in texts], dtype=float)

        K = k.Linear().through(count)(["aab", "b"])
        np.testing.assert_allclose(K, [[13, 3], [3, 1]])
        with pytest.raises(ValueError, match="one row per input, got 1 for 7"):
            k.Linear().through(lambda X: X[:1])(X)

    def test_precomputed_is_the_matrix(self):
        K = k.RBF()(X)
        kernel = k.Precomputed(K)
        assert np.array_equal(kernel(kernel.inputs), K)
        assert np.array_equal(kernel([2, 0], [1]), K[[2, 0]][:, [1]])


class TestMercer:
    def test_indefinite_matrix_with_good_diagonal_is_rejected(self):
        bad = [[1.0, 2.0], [2.0, 1.0]]
        assert not k.is_psd(bad)
        with pytest.raises(NotPSDError, match="smallest eigenvalue -1"):
            k.mercer_map(bad)

    def test_is_psd_on_both_sides_of_its_threshold(self):
        assert k.is_psd(np.diag([1.0, -0.9e-8])) and not k.is_psd(np.diag([1.0, -1.1e-8]))
        assert not k.is_psd([[1.0, 0.5], [0.4, 1.0]])
        assert k.is_psd(np.zeros((2, 2)))
        with pytest.raises(ValueError, match="square"):
            k.is_psd(np.ones((2, 3)))

    def test_sigmoid_and_truncated_gaussian_are_no_kernels(self):
        x = np.arange(3.0)
        spectrum = np.linalg.eigvalsh(np.tanh(np.outer(x, x) - 1))
        np.testing.assert_allclose(spectrum, [-1.2698, -0.3227, 1.8259], atol=1e-4)
        points = np.random.default_rng(0).uniform(0, 6, 60)
        D = np.subtract.outer(points, points) ** 2
        assert not k.is_psd(np.exp(-D) * (D <= 2))

    def test_mercer_map_has_rank_many_features(self):
        K = k.Linear()(X)
        F = k.mercer_map(K)
        assert F.shape == (7, 3)
        np.testing.assert_allclose(F @ F.T, K, atol=1e-12)

    def test_spectrum_of_brownian_motion(self):
        n = 800
        x = (np.arange(n) + 0.5) / n
        values, functions = k.mercer_spectrum(lambda x: np.minimum.outer(x, x), x, 1 / n)
        order = np.arange(1, 5) - 0.5
        np.testing.assert_allclose(values[:3], [0.4052849, 0.0450318, 0.0162115], atol=1e-7)
        np.testing.assert_allclose(values[:4], 1 / (order * np.pi) ** 2, rtol=3e-5)
        assert values.sum() == pytest.approx(0.5, abs=1e-12)
        exact = np.sqrt(2) * np.sin(np.pi * np.outer(x, order))
        overlap = np.abs(functions[:, :4].T @ exact) / n
        np.testing.assert_allclose(overlap, np.eye(4), atol=1e-5)

    def test_diagonal_dominance(self):
        assert k.diagonal_dominance(np.eye(3)) == 0
        assert k.diagonal_dominance(np.ones((3, 3))) == 1
        with pytest.raises(ValueError, match="positive diagonal"):
            k.diagonal_dominance([[0.0, 0.0], [0.0, 1.0]])


class TestHilbertSpace:
    kernel = k.RBF(0.8)

    def test_reproducing_property_and_pointwise_bound(self):
        f = k.RKHSFunction(self.kernel, X, rng.normal(size=7))
        for z in Z:
            at = k.RKHSFunction(self.kernel, [z], [1.0])
            assert f.inner(at) == pytest.approx(f([z])[0], rel=1e-12)
            assert abs(f([z])[0]) <= f.norm()
            assert at([z])[0] == pytest.approx(at.norm())

    def test_inner_product_does_not_depend_on_the_representation(self):
        alpha = rng.normal(size=7)
        f = k.RKHSFunction(self.kernel, X, alpha)
        split = np.append(alpha, alpha[0] / 3)
        split[0] *= 2 / 3
        g = k.RKHSFunction(self.kernel, np.vstack([X, X[:1]]), split)
        assert g.norm() == pytest.approx(f.norm(), rel=1e-12)
        assert (f - g).norm() == pytest.approx(0, abs=1e-7)

    def test_interpolant_has_least_norm(self):
        t = rng.normal(size=7)
        least = k.RKHSFunction.interpolate(self.kernel, X, t)
        np.testing.assert_allclose(least(X), t, rtol=1e-8)
        other = k.RKHSFunction.interpolate(
            self.kernel, np.vstack([X, Z]), np.append(t, least(Z) + 0.1)
        )
        np.testing.assert_allclose(other(X), t, rtol=1e-8)
        assert other.norm() > least.norm()
        assert other.project(X).norm() == pytest.approx(least.norm(), rel=1e-8)

    def test_linear_norm_is_that_of_the_weights(self):
        alpha = rng.normal(size=7)
        f = k.RKHSFunction(k.Linear(), X, alpha)
        assert (2.0 * f).norm() == pytest.approx(2 * np.linalg.norm(X.T @ alpha))

    def test_other_spaces_are_refused(self):
        f, g = (k.RKHSFunction(q, X, np.ones(7)) for q in (k.RBF(), k.Linear()))
        with pytest.raises(ValueError, match="one kernel"):
            f.inner(g)


class TestApproximations:
    def test_nystroem_is_exact_on_its_landmarks_and_smaller_elsewhere(self):
        kernel = k.RBF(1.2)
        all_points = k.Nystroem(kernel, X)
        np.testing.assert_allclose(all_points(X), kernel(X), atol=1e-7)
        np.testing.assert_allclose(all_points(X, Z), kernel(X, Z), atol=1e-7)
        assert (k.Nystroem(kernel, X).diag(Z) <= 1).all()

    def test_nystroem_agrees_with_scikit_learn(self):
        from sklearn.gaussian_process.kernels import RBF
        from sklearn.kernel_approximation import Nystroem

        peer = Nystroem(lambda a, b: RBF(1.2)(a[None], b[None])[0, 0], n_components=7)
        F = peer.fit(X).transform(Z)
        np.testing.assert_allclose(k.Nystroem(k.RBF(1.2), X)(Z), F @ F.T, atol=1e-8)

    def test_nystroem_takes_strings(self):
        texts = ["abab", "ba", "aab"]
        kernel = k.Nystroem(k.Substring(2), texts)
        np.testing.assert_allclose(kernel(texts), k.Substring(2)(texts), rtol=1e-7)

    @pytest.mark.parametrize(
        "kernel",
        [k.RBF(0.8), k.ARD((0.5, 1.0, 2.0)), k.Mahalanobis(1.5), k.Laplacian(1.5), k.Matern(1.3)],
        ids=repr,
    )
    def test_random_features_have_the_kernel_as_their_mean(self, kernel):
        draws = 40_000
        error = k.RandomFourier(kernel, draws=draws, seed=1)(X) - kernel(X)
        # a cosine has variance at most 1; 21 pairs at a family level of 1e-4
        assert np.abs(error).max() < 4.6 / np.sqrt(draws)
