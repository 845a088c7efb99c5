import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF as SkRBF
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.linear_model import LogisticRegression

import bayeskern as bk
from bayeskern.covariance import Dense
from bayeskern.infer.laplace import Laplace, newton, newton_cg
from bayeskern.kernels.stationary import RBF
from tests.latent import D2_X, D2_Y, GramProblem, gp_labels, slope_along, thirty_points


@pytest.mark.parametrize(
    ("beta", "f", "alpha", "log_evidence", "new"),
    [
        (
            1.0,
            (-0.29314815, 0.41870506, 0.67888648),
            (-0.71497022, 0.60416105, 0.40920498),
            -2.20694718,
            (0.66217554, 0.46791143, 0.72856687),
        ),
        (
            2.0,
            (-0.16050633, 0.35474446, 0.55296064),
            (-0.45995934, 0.41223238, 0.36517779),
            -2.12253451,
            (0.53673513, 0.72363028, 0.61404984),
        ),
    ],
)
def test_reference_numbers(beta, f, alpha, log_evidence, new):
    gp = bk.GaussianProcess(D2_X, D2_Y, RBF(1.0), bk.Logit(beta=beta))
    state = Laplace().at(gp, {})
    assert state.converged
    assert state.mean == pytest.approx(f, abs=1e-8)
    assert state.alpha == pytest.approx(alpha, abs=1e-8)
    assert state.log_evidence == pytest.approx(log_evidence, abs=1e-8)
    x = np.array([[0.5]])
    mean, var = state.predict(gp.cross_cov({}, x), gp.prior_var({}, x))
    assert (mean[0], var[0]) == pytest.approx(new[:2], abs=1e-8)
    assert gp.likelihood.predict(mean, var)[0] == pytest.approx(new[2], abs=1e-7)


def test_works_on_a_singular_gram_matrix():
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    state = Laplace().at(bk.GaussianProcess(X, [1, -1, 1, -1], RBF(1.0), bk.Logit()), {})
    expected = [0.14673188, 0.14673188, 0.14402251, -0.18285896]
    assert state.mean == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("amplitude", "scale"), [(1.0, 1.0), (7.0, 0.4), (30.0, 2.0)])
def test_mode_evidence_and_gradient_equal_scikit_learn(amplitude, scale):
    X, y = gp_labels(60, seed=5)
    kernel = ConstantKernel(amplitude) * SkRBF(scale)
    peer = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    value, slope = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    prior = bk.Prior("LogNormal")
    gp = bk.GaussianProcess(X, y, prior * RBF(prior), bk.Logit())
    theta = {"constant_value": amplitude, "rbf_lengthscale": scale}
    state = Laplace().at(gp, theta)
    assert state.log_evidence == pytest.approx(value, abs=1e-6)
    pulled = gp.pullback(theta, state.grad_prior_cov)
    ours = [theta[name] * pulled[name] for name in theta]
    assert ours == pytest.approx(slope, abs=1e-6)
    mean = peer.latent_mean_and_variance(X)[0] if hasattr(peer, "latent_mean_and_variance") else 0
    if hasattr(peer, "latent_mean_and_variance"):
        assert state.mean == pytest.approx(mean, abs=1e-5)


def test_thirty_points():
    X, y = thirty_points()
    gp = bk.GaussianProcess(X, y, RBF(1.0), bk.Logit())
    assert Laplace().at(gp, {}).log_evidence == pytest.approx(-18.031978230, abs=1e-8)
    flat = bk.GaussianProcess(X, y, RBF(1.0), bk.Logit(beta=1e3))
    assert Laplace().at(flat, {}).log_evidence == pytest.approx(-20.794387, abs=1e-6)


@pytest.mark.parametrize("likelihood", [bk.Logit(), bk.Logit(beta=0.5), bk.Probit(0.7)])
def test_gradient_has_the_implicit_term(likelihood):
    X, y = thirty_points()
    K = 4.0 * RBF(0.8)(X)

    def evidence(M):
        return Laplace().at(GramProblem(M, y, likelihood), {}).log_evidence

    state = Laplace().at(GramProblem(K, y, likelihood), {})
    E, slope = slope_along(evidence, K, np.random.default_rng(2))
    explicit = state.posterior.gradient(state.alpha)
    assert np.vdot(state.grad_prior_cov, E) == pytest.approx(slope, rel=1e-6)
    assert abs(np.vdot(explicit, E) - slope) > 1e-3 * abs(slope)
    assert state.grad_prior_cov == pytest.approx(state.grad_prior_cov.T)


def test_gradient_of_beta_is_minus_twice_that_of_the_amplitude():
    X, y = thirty_points()
    prior = bk.Prior("LogNormal")
    noisy = bk.GaussianProcess(X, y, 1.3 * RBF(1.0), bk.Logit(prior))
    loud = bk.GaussianProcess(X, y, prior * RBF(1.0), bk.Logit(0.7))
    one = Laplace().at(noisy, {"logit_beta": 0.7})
    two = Laplace().at(loud, {"constant_value": 1.3})
    by_beta = 0.7 * noisy.pullback({"logit_beta": 0.7}, one.grad_prior_cov)["logit_beta"]
    by_value = 1.3 * loud.pullback({"constant_value": 1.3}, two.grad_prior_cov)["constant_value"]
    assert by_beta == pytest.approx(-2 * by_value, rel=1e-9)


def test_stationarity_and_signs():
    X, y = gp_labels(80, seed=1)
    for beta in (0.2, 2.0):
        gp = bk.GaussianProcess(X, y, 9.0 * RBF(0.7), bk.Logit(beta=beta))
        state = Laplace().at(gp, {})
        c = 2 / beta
        assert state.alpha == pytest.approx(c * y * expit(-c * y * state.mean), abs=1e-8)
        assert (y * state.alpha > -1e-8 * c).all()
        assert (y * state.alpha < c).all()


def test_scaling_of_link_and_gram_matrix():
    X, y = thirty_points()
    K, c = RBF(1.0)(X), 3.0
    one = Laplace().at(GramProblem(K, y, bk.Logit(slope=c)), {})
    two = Laplace().at(GramProblem(c**2 * K, y, bk.Logit()), {})
    assert two.mean == pytest.approx(c * one.mean, abs=1e-9)
    assert two.alpha == pytest.approx(one.alpha / c, abs=1e-9)
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-10)


def test_linear_kernel_is_logistic_regression():
    X, y = thirty_points()
    state = Laplace().at(GramProblem(X @ X.T, y, bk.Logit()), {})
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=1000).fit(X, y)
    assert X.T @ state.alpha == pytest.approx(peer.coef_[0], abs=1e-6)


@pytest.mark.parametrize(
    ("variance", "value"), [(1, 0.49626), (10, 0.47592), (100, 0.44324), (10000, 0.34750)]
)
def test_known_bias_for_one_point(variance, value):
    state = Laplace().at(GramProblem([[variance]], [1.0], bk.Logit()), {})
    assert np.exp(state.log_evidence) == pytest.approx(value, abs=5e-6)


def test_known_bias_for_two_points():
    K = [[4.0, 2.0], [2.0, 4.0]]
    for c, value in ((0.5, 0.267968), (1, 0.283838), (2, 0.292558), (8, 0.254444)):
        state = Laplace().at(GramProblem(K, [1.0, 1.0], bk.Logit(slope=c)), {})
        assert np.exp(state.log_evidence) == pytest.approx(value, abs=1e-6)


def test_ill_scaled_problems_converge_from_any_start():
    rng = np.random.default_rng(0)
    for trial in range(150):
        n = int(rng.integers(2, 20))
        A = rng.normal(size=(n, int(rng.integers(1, n + 1))))
        K = 10 ** rng.uniform(-8, 7) * (A @ A.T)
        y = rng.choice([-1.0, 1.0], n)
        mode = newton(Dense(K), bk.Logit(), y)
        assert mode.converged, trial
        assert mode.objective >= -n * np.log(2)
        other = newton(Dense(K), bk.Logit(), y, rng.normal(size=n))
        assert other.objective == pytest.approx(mode.objective, rel=1e-8, abs=1e-9)


def test_warm_start_takes_fewer_steps_to_the_same_mode():
    X, y = gp_labels(80, seed=4)
    prior = bk.Prior("LogNormal")
    gp = bk.GaussianProcess(X, y, 9.0 * RBF(prior), bk.Logit())
    cold = Laplace().at(gp, {"rbf_lengthscale": 1.0})
    near = Laplace().at(gp, {"rbf_lengthscale": 1.02})
    warm = Laplace().at(gp, {"rbf_lengthscale": 1.02}, warm=cold)
    assert warm.n_iter < near.n_iter
    assert warm.log_evidence == pytest.approx(near.log_evidence, abs=1e-9)


@pytest.mark.parametrize("n", [80, 450])
@pytest.mark.parametrize("likelihood", [bk.Logit(beta=1.3), bk.Probit()])
def test_conjugate_gradients_find_the_mode_of_plain_newton(n, likelihood):
    X, y = gp_labels(n, seed=4)
    near, far = Dense(4.0 * RBF(1.0)(X)), Dense(5.0 * RBF(0.9)(X))
    before, oracle = newton(near, likelihood, y), newton(far, likelihood, y)
    found = newton_cg(far, likelihood, y, before.alpha, before.posterior.inverse, tol=1e-12)
    assert found is not None
    alpha, f, J, _ = found
    assert alpha == pytest.approx(oracle.alpha, abs=1e-8)
    assert f == pytest.approx(oracle.f, abs=1e-7)
    assert J == pytest.approx(oracle.objective, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scales_of_the_inputs_and_of_the_amplitude(scale):
    X, y = thirty_points()
    one = Laplace().at(bk.GaussianProcess(X, y, RBF(1.0), bk.Logit()), {})
    two = Laplace().at(bk.GaussianProcess(scale * X, y, RBF(scale), bk.Logit()), {})
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-10)
    loud = Laplace().at(bk.GaussianProcess(X, y, scale * RBF(1.0), bk.Logit()), {})
    assert loud.converged
    assert np.isfinite(loud.grad_prior_cov).all()


def test_a_single_class_and_a_single_point():
    X, _ = thirty_points()
    state = Laplace().at(bk.GaussianProcess(X, np.ones(30), 4.0 * RBF(1.0), bk.Logit()), {})
    assert state.converged
    assert (state.mean > 0).all()
    one = Laplace().at(bk.GaussianProcess([[3.0]], [-1], RBF(1.0), bk.Probit()), {})
    assert one.mean[0] < 0


def test_gaussian_likelihood_is_exact():
    X, _ = thirty_points()
    y = np.sin(X[:, 0])
    gp = bk.GaussianProcess(X, y, RBF(1.0), bk.Gaussian(0.3))
    one, two = Laplace().at(gp, {}), bk.Exact().at(gp, {})
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-9)
    assert one.mean == pytest.approx(two.mean, abs=1e-10)
    assert one.grad_prior_cov == pytest.approx(two.grad_prior_cov, abs=1e-7)


def test_refusals():
    for likelihood in (bk.Step(), bk.LabelFlip(0.1)):
        with pytest.raises(ValueError, match="Laplace needs slope and curvature"):
            Laplace().run(bk.GaussianProcess(D2_X, D2_Y, RBF(), likelihood))
    with pytest.raises(ValueError, match="Laplace needs curvature"):
        Laplace().run(bk.GaussianProcess(D2_X, D2_Y, RBF(), bk.Hinge()))


def test_an_unfinished_iteration_is_told():
    gp = bk.GaussianProcess(D2_X, D2_Y, 100.0 * RBF(), bk.Logit())
    with pytest.warns(bk.errors.ConvergenceWarning, match="stopped after 1 iterations"):
        tree = Laplace(max_iter=1).run(gp)
    assert tree.attrs["converged"] == 0
