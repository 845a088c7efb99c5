import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import iv
from sklearn.manifold import spectral_embedding

from bayeskern.classic.diffusion import (
    alpha_normalise,
    diffusion_distances,
    diffusion_map,
    generator,
    suggest_dimension,
    weighted_mds,
)

CLOUD = np.random.default_rng(0).standard_normal((25, 2))
W = np.exp(-cdist(CLOUD, CLOUD, "sqeuclidean"))
PATH = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
ALPHAS = (0.0, 0.5, 1.0)


def circle(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("alpha", ALPHAS)
class TestIdentities:
    def test_walk(self, alpha):
        fit = diffusion_map(W, 24, alpha=alpha)
        A = alpha_normalise(W, alpha)
        P = A / A.sum(axis=1, keepdims=True)
        pi, psi = fit.stationary, fit.functions
        np.testing.assert_allclose(pi @ P, pi)
        np.testing.assert_allclose(P @ psi, psi * fit.eigenvalues, atol=1e-11)
        np.testing.assert_allclose(psi.T * pi @ psi, np.eye(24), atol=1e-10)
        rebuilt = np.outer(np.ones(25), pi) + psi * fit.eigenvalues @ (psi * pi[:, None]).T
        np.testing.assert_allclose(rebuilt, P, atol=1e-11)
        assert np.trace(P) == pytest.approx(1 + fit.eigenvalues.sum())
        np.testing.assert_allclose(pi @ fit.coordinates, 0, atol=1e-12)

    @pytest.mark.parametrize("t", [1, 3])
    def test_distances(self, alpha, t):
        fit = diffusion_map(W, 24, t=t, alpha=alpha)
        D = diffusion_distances(W, t, alpha=alpha)
        np.testing.assert_allclose(cdist(fit.coordinates, fit.coordinates), D, atol=1e-10)
        pi = fit.stationary
        assert 0.5 * pi @ D**2 @ pi == pytest.approx((fit.eigenvalues ** (2 * t)).sum())
        assert (diffusion_distances(W, t + 1, alpha=alpha) <= D + 1e-12).all()

    def test_weighted_scaling(self, alpha):
        t, s = 2, 3
        fit = diffusion_map(W, s, t=t, alpha=alpha)
        pi = fit.stationary
        J = np.eye(25) - np.outer(np.ones(25), pi)
        B = -0.5 * J @ diffusion_distances(W, t, alpha=alpha) ** 2 @ J.T
        root = np.sqrt(pi)
        values, V = np.linalg.eigh(root[:, None] * B * root)
        np.testing.assert_allclose(values[::-1][:s], fit.eigenvalues ** (2 * t))
        scaled = (V[:, ::-1][:, :s] * np.sqrt(values[::-1][:s])) / root[:, None]
        np.testing.assert_allclose(np.abs(scaled), np.abs(fit.coordinates), atol=1e-9)
        ours = weighted_mds(diffusion_distances(W, t, alpha=alpha), pi, s)
        np.testing.assert_allclose(np.abs(ours), np.abs(fit.coordinates), atol=1e-9)

    def test_nystrom(self, alpha):
        fit = diffusion_map(W, 3, t=2, alpha=alpha)
        np.testing.assert_allclose(fit.transform(W), fit.coordinates, atol=1e-10)
        np.testing.assert_allclose(fit.transform(sparse.csr_array(W)), fit.coordinates, atol=1e-10)
        near = np.exp(-cdist(CLOUD[:3] + 1e-6, CLOUD, "sqeuclidean"))
        np.testing.assert_allclose(fit.transform(near), fit.coordinates[:3], atol=1e-4)

    def test_scale_free(self, alpha):
        one, many = diffusion_map(W, 2, alpha=alpha), diffusion_map(50 * W, 2, alpha=alpha)
        np.testing.assert_allclose(one.coordinates, many.coordinates, atol=1e-10)

    def test_sparse_and_dense_agree(self, alpha):
        dense = diffusion_map(W, 2, alpha=alpha)
        thin = diffusion_map(sparse.csr_array(W), 2, alpha=alpha)
        np.testing.assert_allclose(thin.coordinates, dense.coordinates, atol=1e-9)


def test_closed_forms():
    a = np.exp(-1.0)
    two = diffusion_map(np.array([[1, a], [a, 1]]), 1, alpha=0)
    assert two.eigenvalues[0] == pytest.approx(np.tanh(0.5))
    np.testing.assert_allclose(np.abs(two.functions[:, 0]), 1)
    three = diffusion_map(PATH, 2, alpha=0)
    np.testing.assert_allclose(three.eigenvalues, [2 / 3, 1 / 6])
    np.testing.assert_allclose(three.stationary, [0.3, 0.4, 0.3])
    np.testing.assert_allclose(
        np.abs(three.functions),
        np.sqrt([[5 / 3, 2 / 3], [0, 3 / 2], [5 / 3, 2 / 3]]),
        atol=1e-9,
    )
    zero = diffusion_distances(PATH, 0, alpha=0)
    assert zero[0, 1] ** 2 == pytest.approx(1 / 0.3 + 1 / 0.4)


def test_circle_has_bessel_eigenvalues():
    X = circle(2 * np.pi * np.arange(500) / 500)
    K = np.exp(-cdist(X, X, "sqeuclidean") / 0.05)
    expected = iv([1, 1, 2, 2, 3, 3], 40) / iv(0, 40)
    np.testing.assert_allclose(expected[::2], [0.9874198, 0.9506290, 0.8923569], atol=1e-7)
    for alpha in ALPHAS:  # all points are alike, so the density makes no difference
        fit = diffusion_map(K, 6, alpha=alpha)
        np.testing.assert_allclose(fit.eigenvalues, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("alpha", "errors"), [(0, (0.0107, 0.0053)), (0.5, (0.0043, 0.0021)), (1, (0.0042, 0.0021))]
)
def test_generator_tends_to_the_laplacian_with_its_drift(alpha, errors):
    n = 1500
    fine = np.linspace(0, 2 * np.pi, 20001)
    angle = np.interp((np.arange(n) + 0.5) / n, (fine + 0.5 * np.sin(fine)) / (2 * np.pi), fine)
    f = np.sin(angle) + 0.3 * np.cos(2 * angle)
    slope = np.cos(angle) - 0.6 * np.sin(2 * angle)
    curve = -np.sin(angle) - 1.2 * np.cos(2 * angle)
    drift = -0.5 * np.sin(angle) / (1 + 0.5 * np.cos(angle))
    exact = curve + (2 - 2 * alpha) * slope * drift
    squares = cdist(circle(angle), circle(angle), "sqeuclidean")
    for sigma, error in zip((0.02, 0.01), errors, strict=True):
        G = generator(np.exp(-squares / sigma), sigma, alpha=alpha)
        found = np.abs(G @ f - exact).max() / np.abs(exact).max()
        assert found == pytest.approx(error, rel=0.1)


def test_agrees_with_scikit_learn_on_a_zero_diagonal():
    A = W - np.diag(W.diagonal())
    peer = spectral_embedding(A, n_components=3, drop_first=True)
    fit = diffusion_map(A, 3, alpha=0)
    np.testing.assert_allclose(np.abs(peer), np.abs(fit.functions) / np.sqrt(A.sum()), atol=1e-8)


def test_suggested_dimension():
    assert suggest_dimension([0.9, 0.89, 0.88, 0.1, 0.05]) == 3
    assert suggest_dimension([0.9, 0.1, -0.2]) == 1
    assert suggest_dimension([0.5]) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.5}, r"alpha must be in \[0, 1\]"),
        ({"t": -1}, "t must be non-negative"),
        ({"n_components": 25}, "n_components must be between 1 and 24"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        diffusion_map(W, **{"n_components": 2, **settings})


def test_fractional_time_needs_positive_eigenvalues():
    flip = np.array([[0.0, 1], [1, 0]])
    with pytest.raises(ValueError, match="eigenvalue -1 is negative, got 0"):
        diffusion_map(flip, 1, t=0.5)
    assert diffusion_map(flip, 1, t=1).eigenvalues[0] == pytest.approx(-1)


def test_bad_weights():
    with pytest.raises(ValueError, match="non-negative"):
        diffusion_map(-W, 1)
    with pytest.raises(ValueError, match="isolated"):
        diffusion_map(np.diag([1.0, 0.0]), 1)
    apart = diffusion_map(np.kron(np.eye(2), np.ones((2, 2))), 1)
    assert apart.n_components == 2 and apart.eigenvalues[0] == 1


def test_weighted_scaling_with_equal_weights_is_classical():
    from bayeskern.classic.manifold import classical_mds

    D = cdist(CLOUD, CLOUD)
    ours = weighted_mds(D, np.ones(25), 2)
    np.testing.assert_allclose(np.abs(ours), np.abs(classical_mds(D, 2).coordinates), atol=1e-9)
    with pytest.raises(ValueError, match="25 positive numbers"):
        weighted_mds(D, np.zeros(25), 1)
    with pytest.raises(ValueError, match="between 1 and 2"):
        weighted_mds(D, np.ones(25), 3)
