import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from bayeskern.classic.ridge import kernel_ridge, kernel_ridge_path, linear_ridge
from bayeskern.errors import NotPSDError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3))
T = np.sin(X[:, 0]) + X[:, 1] + 0.2 * RNG.normal(size=25)


def rbf(X, Z, scale=1.0):
    return np.exp(-((X[:, None] - Z) ** 2).sum(-1) / (2 * scale**2))


@pytest.mark.parametrize("shape", [(25, 3), (5, 9)])
def test_primal_dual_and_scikit_learn_agree(shape):
    A, t = RNG.normal(size=shape), RNG.normal(size=shape[0])
    primal, dual = linear_ridge(A, t, 0.7), kernel_ridge(A @ A.T, t, 0.7)
    peer = Ridge(alpha=0.7, fit_intercept=False).fit(A, t)
    np.testing.assert_allclose(primal.coefficients, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(A.T @ dual.coefficients, primal.coefficients, rtol=1e-9)
    for name in ("fitted", "leverages", "loo_residuals", "norm", "objective"):
        np.testing.assert_allclose(getattr(primal, name), getattr(dual, name), rtol=1e-8)
    assert primal.objective == pytest.approx(0.35 * t @ dual.coefficients)
    assert max(primal.gap, dual.gap) < 1e-12


def test_augmented_least_squares_and_limits():
    aug = np.vstack([X, np.sqrt(0.3) * np.eye(3)])
    w = np.linalg.lstsq(aug, np.append(T, np.zeros(3)), rcond=None)[0]
    np.testing.assert_allclose(linear_ridge(X, T, 0.3).coefficients, w)
    np.testing.assert_allclose(linear_ridge(X, T, 1e-10).coefficients, np.linalg.pinv(X) @ T)
    np.testing.assert_allclose(1e9 * linear_ridge(X, T, 1e9).coefficients, X.T @ T, rtol=1e-6)


def test_tiny_closed_forms():
    found = kernel_ridge(np.array([[1, 2], [2, 4]]), [1, 2], 1)
    np.testing.assert_allclose(found.coefficients, [1 / 6, 1 / 3])
    assert linear_ridge([[1.0], [2.0]], [1, 2], 1).coefficients == pytest.approx([5 / 6])
    kappa = np.exp(-0.5)
    c = kernel_ridge([[1, kappa], [kappa, 1]], [1, -1], 0.1).coefficients
    assert c == pytest.approx([2.0264684, -2.0264684], abs=1e-7)


def test_posterior_mean_of_a_gaussian_process_and_peer():
    new = RNG.normal(size=(7, 3))
    ours = kernel_ridge(rbf(X, X), T, 0.2)(rbf(new, X))
    gp = GaussianProcessRegressor(RBF(1.0), alpha=0.2, optimizer=None).fit(X, T)
    peer = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.5).fit(X, T)
    np.testing.assert_allclose(ours, gp.predict(new), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours, peer.predict(new), rtol=1e-9, atol=1e-12)


def test_leave_one_out_equals_refitting():
    K = rbf(X, X)
    found = kernel_ridge(K, T, 0.1)
    for i in range(len(T)):
        rest = np.arange(len(T)) != i
        without = kernel_ridge(K[np.ix_(rest, rest)], T[rest], 0.1)
        assert found.loo_residuals[i] == pytest.approx(T[i] - without(K[i : i + 1, rest])[0])
    np.testing.assert_allclose(T - found.fitted, 0.1 * found.coefficients, atol=1e-12)
    spectrum = np.linalg.eigvalsh(K)
    assert found.degrees_of_freedom == pytest.approx((spectrum / (spectrum + 0.1)).sum())


def test_path_equals_single_fits_and_picks_the_least():
    K, lams = rbf(X, X), np.array([0.01, 0.1, 1.0, 10.0])
    path = kernel_ridge_path(K, T, lams)
    for lam, c, loo in zip(lams, path.coefficients, path.loo_residuals, strict=True):
        single = kernel_ridge(K, T, lam)
        np.testing.assert_allclose(c, single.coefficients, rtol=1e-7)
        np.testing.assert_allclose(loo, single.loo_residuals, rtol=1e-7)
    assert path.best == lams[path.loo_error.argmin()]


def test_invariances():
    K, order = rbf(X, X), RNG.permutation(25)
    c = kernel_ridge(K, T, 0.1).coefficients
    np.testing.assert_allclose(
        kernel_ridge(K[np.ix_(order, order)], T[order], 0.1).coefficients, c[order], rtol=1e-8
    )
    np.testing.assert_allclose(kernel_ridge(5 * K, T, 0.5).fitted, K @ c, rtol=1e-8)
    np.testing.assert_allclose(kernel_ridge(K, T, 1e-10).fitted, T, atol=1e-6)
    assert np.abs(kernel_ridge(K, T, 1e9).fitted).max() < 1e-6


def test_repeated_points_are_harmless():
    found = kernel_ridge(np.ones((3, 3)), [1.0, 2.0, 3.0], 0.5)
    np.testing.assert_allclose(found.fitted, 6 / 3.5)


def test_bad_input_is_refused():
    for lam in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="lam must be"):
            kernel_ridge(np.eye(2), [1, 2], lam)
    with pytest.raises(NotPSDError, match="could not be factored"):
        kernel_ridge(np.array([[0.0, 1.0], [1.0, 0.0]]), [1, 2], 0.5)
    with pytest.raises(ValueError, match="t must have one entry per point, got 3 for 2"):
        kernel_ridge(np.eye(2), [1, 2, 3], 1.0)
