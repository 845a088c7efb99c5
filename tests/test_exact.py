import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bayeskern as bk
from bayeskern.infer.exact import Exact
from bayeskern.kernels.stationary import RBF
from tests.latent import D1_T, D1_X, GramProblem, slope_along

X = np.array([[0.0], [1.0], [2.0]])
Y = np.array([0.0, 1.0, 0.0])


def test_reference_numbers():
    gp = bk.GaussianProcess(X, Y, RBF(1.0), bk.Gaussian(0.1**0.5))
    state = Exact().at(gp, {})
    assert state.alpha == pytest.approx([-0.97339271, 1.98253185, -0.97339271], abs=1e-8)
    new = np.array([[0.5], [1.0], [5.0]])
    mean, var = state.predict(gp.cross_cov({}, new), gp.prior_var({}, new))
    assert mean == pytest.approx([0.57454783, 0.80174681, -0.01015198], abs=1e-8)
    assert var + 0.1 == pytest.approx([0.18239524, 0.18017468, 1.09983411], abs=1e-8)
    assert state.log_evidence == pytest.approx(-3.49357802, abs=1e-8)
    mean2, cov = state.predict(gp.cross_cov({}, new), gp.new_cov({}, new))
    assert mean2 == pytest.approx(mean)
    assert np.diagonal(cov) == pytest.approx(var)


def test_weight_space_and_function_space_agree():
    rng = np.random.default_rng(3)
    A, y, noise = rng.normal(size=(12, 4)), rng.normal(size=12), 0.3
    state = Exact().at(GramProblem(A @ A.T, y, bk.Gaussian(noise)), {})
    Sigma = np.linalg.inv(A.T @ A / noise**2 + np.eye(4))
    w = Sigma @ A.T @ y / noise**2
    assert state.mean == pytest.approx(A @ w, abs=1e-11)
    assert state.cov == pytest.approx(A @ Sigma @ A.T, abs=1e-11)
    assert state.var == pytest.approx(np.diagonal(A @ Sigma @ A.T), abs=1e-11)
    exact = multivariate_normal(np.zeros(12), A @ A.T + noise**2 * np.eye(12)).logpdf(y)
    assert state.log_evidence == pytest.approx(exact, abs=1e-10)


def test_covariance_from_the_inverse_of_b():
    problem = GramProblem(RBF(1.5)(D1_X), D1_T, bk.Gaussian(0.4))
    one, two = Exact().at(problem, {}), Exact().at(problem, {})
    _ = two.grad_prior_cov  # leaves the inverse behind
    assert two.cov == pytest.approx(one.cov, abs=1e-13)


def test_gradient_equals_finite_differences():
    rng = np.random.default_rng(1)
    K = RBF(1.5)(D1_X)
    problem = GramProblem(K, D1_T, bk.Gaussian(0.4))

    def evidence(M):
        return Exact().at(GramProblem(M, D1_T, bk.Gaussian(0.4)), {}).log_evidence

    E, slope = slope_along(evidence, K, rng)
    assert np.vdot(Exact().at(problem, {}).grad_prior_cov, E) == pytest.approx(slope, rel=1e-7)


def test_gradient_of_the_noise():
    def at(s):
        gp = bk.GaussianProcess(D1_X, D1_T, RBF(1.2), bk.Gaussian(bk.Prior("HalfNormal")))
        theta = {"noise_sigma": s}
        return gp, theta, Exact().at(gp, theta)

    gp, theta, state = at(0.3)
    slope = (at(0.3 + 1e-6)[2].log_evidence - at(0.3 - 1e-6)[2].log_evidence) / 2e-6
    assert gp.pullback(theta, state.grad_prior_cov)["noise_sigma"] == pytest.approx(slope, rel=1e-7)


def test_limits_of_the_noise():
    gp = bk.GaussianProcess(X, Y, RBF(1.0), bk.Gaussian(1e-5))
    state = Exact().at(gp, {})
    assert state.mean == pytest.approx(Y, abs=1e-8)
    assert state.predict(gp.cross_cov({}, X), gp.prior_var({}, X))[1] == pytest.approx(
        np.zeros(3), abs=1e-8
    )
    far = Exact().at(bk.GaussianProcess(X, Y, RBF(1.0), bk.Gaussian(1e5)), {})
    assert far.mean == pytest.approx(np.zeros(3), abs=1e-8)
    assert far.var == pytest.approx(np.ones(3), abs=1e-8)


def test_result_form():
    gp = bk.GaussianProcess(X, Y, RBF(1.0), bk.Gaussian(0.1**0.5))
    tree = Exact().run(gp, random_seed=3)
    assert tree.posterior["f"].dims == ("chain", "draw", "obs")
    assert "independent" in tree.attrs["draws"]
    assert tree.attrs["evidence_kind"] == "exact"
    state = Exact().at(gp, {})
    f = tree.posterior["f"].values[0]
    z = (f.mean(axis=0) - state.mean) / np.sqrt(state.var / len(f))
    assert np.abs(z).max() < 4.5
    assert np.cov(f.T) == pytest.approx(state.cov, abs=6 * np.sqrt(2 / len(f)) * state.var.max())
    assert tree.fit["covariance_matrix"].values == pytest.approx(state.cov)
    assert tree.fit["alpha"].values == pytest.approx(state.alpha)
    again = Exact().run(gp, random_seed=3)
    assert np.array_equal(again.posterior["f"], tree.posterior["f"])


def test_refusals():
    with pytest.raises(ValueError, match="Exact needs a Gaussian likelihood, got Probit"):
        Exact().run(bk.GaussianProcess(X, [1, -1, 1], RBF(), bk.Probit()))
    free = bk.GaussianProcess(X, Y, RBF(bk.Prior("LogNormal")), bk.Gaussian(0.1))
    with pytest.raises(ValueError, match=r"rbf_lengthscale is free;\s+use EvidenceMax"):
        Exact().run(free)
