import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression

from bayeskern.classic.logistic import kernel_logistic, kernel_softmax
from bayeskern.errors import ConvergenceWarning, NotPSDError

D2 = np.array([[2, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1], [-1, 1], [1, 0.5]])
Y2 = np.array([1, 1, 1, -1, -1, -1, 1, -1])
F2 = [0.4050269810, 0.5266808771, 0.6320644172, -0.6285667542, -0.3827358737, -0.6761531219,
      0.2657815683, -0.2621425700]  # fmt: skip
ALPHA2 = [0.5001314439, 0.4641141911, 0.4338032312, 0.4347944912, 0.5068340093, 0.4214005325,
          0.5424287569, 0.5435463627]  # fmt: skip
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.where(X[:, 0] + 0.8 * RNG.normal(size=30) > 0, 1, -1)
LABELS = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=30), [-0.5, 0.5])


def rbf(X, Z, scale=1.0):
    return np.exp(-((X[:, None] - Z) ** 2).sum(-1) / (2 * scale**2))


def test_printed_solution():
    found = kernel_logistic(rbf(D2, D2), Y2, 2 * 0.05 * 8)  # 1 / C, with C = 1 / (2 lambda m)
    np.testing.assert_allclose(found.fitted, F2, atol=1e-9)
    np.testing.assert_allclose(found.coefficients, Y2 * ALPHA2, atol=1e-9)


@pytest.mark.parametrize("lam", [1e-3, 0.1, 1.0, 100.0])
def test_stationary_point_and_gap(lam):
    found = kernel_logistic(rbf(X, X), Y, lam)
    assert found.converged
    assert found.gap <= 1e-10
    np.testing.assert_allclose(
        found.coefficients, Y * expit(-Y * found.fitted) / lam, atol=1e-5 / lam
    )
    assert (found.coefficients * Y > 0).all()
    assert (found.coefficients * Y < 1 / lam).all()
    np.testing.assert_allclose(rbf(X, X) @ found.coefficients, found.fitted, rtol=1e-8, atol=1e-12)
    value = np.logaddexp(0, -Y * found.fitted).sum() + lam / 2 * found.norm**2
    assert found.objective == pytest.approx(value)


@pytest.mark.parametrize(("lam", "beta"), [(0.1, 2.1280345), (1, 0.6748316), (2, 0.4010581)])
def test_two_points_in_closed_form(lam, beta):
    found = kernel_logistic([[1, -1], [-1, 1]], [1, -1], lam)
    assert found.fitted == pytest.approx([beta, -beta], abs=1e-6)


def test_linear_kernel_is_ridge_logistic():
    found = kernel_logistic(X @ X.T, Y, 0.7)
    peer = LogisticRegression(C=1 / 0.7, fit_intercept=False, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(X.T @ found.coefficients, peer.coef_[0], atol=1e-5)


def test_mode_of_gaussian_process_classification():
    lam = 0.4
    gp = GaussianProcessClassifier(ConstantKernel(1 / lam) * RBF(1.0), optimizer=None).fit(X, Y)
    found = kernel_logistic(rbf(X, X), Y, lam)
    new = RNG.normal(size=(6, 3))
    latent = gp.base_estimator_.kernel_(new, X) @ (
        gp.base_estimator_.y_train_ - gp.base_estimator_.pi_
    )
    np.testing.assert_allclose(found(rbf(new, X)), latent, atol=1e-6)


def test_flat_start_label_flip_and_probabilities():
    K = rbf(X, X)
    found = kernel_logistic(K, Y, 1.0)
    np.testing.assert_allclose(kernel_logistic(K, -Y, 1.0).fitted, -found.fitted, atol=1e-12)
    p = found.predict_proba(K)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p[:, 1], expit(found.fitted))
    assert kernel_logistic(K, Y, 1e9).objective == pytest.approx(30 * np.log(2), rel=1e-6)


def test_separable_points_and_a_weak_penalty_still_converge():
    found = kernel_logistic(rbf(X, X, 0.3), Y, 1e-8)
    assert found.converged
    assert (Y * found.fitted > 5).all()


@pytest.mark.parametrize("lam", [0.05, 1.0])
def test_softmax_against_a_general_minimiser(lam):
    K = rbf(X, X) + 1e-3 * np.eye(30)
    L = np.linalg.cholesky(K)
    hot = np.eye(3)[LABELS]

    def objective(v):
        V = v.reshape(30, 3)
        P = log_softmax(L @ V, axis=1)
        slope = L.T @ (np.exp(P) - hot) + lam * V
        return -(P * hot).sum() + lam / 2 * (V**2).sum(), slope.ravel()

    best = minimize(objective, np.zeros(90), jac=True, options={"gtol": 1e-9, "maxiter": 2000})
    found = kernel_softmax(K, LABELS, lam)
    assert found.converged
    assert found.objective == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(found.fitted, L @ best.x.reshape(30, 3), atol=1e-4)
    np.testing.assert_allclose(found.fitted.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(K).sum(axis=1), 1)


def test_softmax_with_linear_kernel_is_multinomial_logistic():
    found = kernel_softmax(X @ X.T, LABELS, 0.5)
    peer = LogisticRegression(C=2, fit_intercept=False, tol=1e-10).fit(X, LABELS)
    np.testing.assert_allclose(found.coefficients.T @ X, peer.coef_, atol=1e-4)


def test_two_classes_of_softmax_are_logistic_with_half_the_penalty():
    K = rbf(X, X)
    two, one = kernel_softmax(K, (Y > 0) * 1, 0.6), kernel_logistic(K, Y, 0.3)
    np.testing.assert_allclose(two.fitted[:, 1] - two.fitted[:, 0], one.fitted, atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_leave_one_out_margins_are_bounded_from_one_fit(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(3, 13)
    A, y = rng.normal(size=(n, 2)), np.where(rng.random(n) < 0.5, 1, -1)
    K = rbf(A, A)
    found = kernel_logistic(K, y, 0.3)
    bound = y * (found.fitted - found.coefficients * K.diagonal())
    for i in range(n):
        rest = np.arange(n) != i
        without = kernel_logistic(K[np.ix_(rest, rest)], y[rest], 0.3)
        assert y[i] * without(K[i : i + 1, rest])[0] >= bound[i] - 1e-9


@pytest.mark.slow
def test_mode_of_the_pymc_model():
    import pymc as pm

    K, C = rbf(D2, D2), 1.25
    with pm.Model():
        v = pm.Normal("v", size=8)  # whitened, so that the mode in f and in v is one
        f = pm.Deterministic("f", pm.math.dot(np.linalg.cholesky(C * K), v))
        pm.Bernoulli("y", logit_p=f, observed=(Y2 > 0).astype(int))
        tree = pm.find_MAP(progressbar=False, jitter=False, return_inferencedata=True)
    mode = tree["posterior"]["f"].values.ravel()
    np.testing.assert_allclose(mode, F2, atol=1e-4)
    np.testing.assert_allclose(mode, kernel_logistic(K, Y2, 1 / C).fitted, atol=1e-4)


def test_iteration_limit_warns_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"after 1 steps at a relative gap of .* raise max"):
        found = kernel_logistic(rbf(X, X, 0.3), Y, 1e-6, max_iter=1)
    assert not found.converged


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="lam must be positive, got 0"):
        kernel_logistic(np.eye(2), [1, -1], 0)
    with pytest.raises(NotPSDError, match="positive semidefinite"):
        kernel_logistic([[0.0, 1.0], [1.0, 0.0]], [1, -1], 1.0)
    with pytest.raises(ValueError, match=r"every class present .* got \[0.0, 2.0\]"):
        kernel_softmax(np.eye(2), [0, 2], 1.0)
    with pytest.raises(ValueError, match="labels must have one entry per point, got 3 for 2"):
        kernel_softmax(np.eye(2), [0, 1, 2], 1.0)
