import itertools

import numpy as np
import pytest

import bayeskern as bk
from bayeskern.infer._logit import logit_moments
from bayeskern.infer.ep import EP
from bayeskern.kernels.stationary import RBF
from tests.latent import D2_X, D2_Y, D4_K, D4_Y, GramProblem, gp_labels, slope_along, thirty_points

SHARP = EP(tol=1e-10)


@pytest.mark.parametrize(
    ("rho", "evidence", "alpha"),
    [(0.0, 0.25, 0.79788456), (0.5, 0.3327286, 0.597939), (0.9, 0.415363, None)],
)
def test_two_points(rho, evidence, alpha):
    state = SHARP.at(GramProblem([[1, rho], [rho, 1]], [1, 1], bk.Step()), {})
    assert np.exp(state.log_evidence) == pytest.approx(evidence, abs=1e-6)
    if alpha is not None:
        assert state.alpha == pytest.approx([alpha, alpha], abs=1e-6)


def test_three_points():
    state = SHARP.at(GramProblem(D4_K, D4_Y, bk.Step()), {})
    assert np.exp(state.log_evidence) == pytest.approx(0.174292, abs=1e-6)
    assert D4_Y * state.alpha == pytest.approx([0.747853, 0.411036, 0.803656], abs=1e-6)
    mean, var = state.predict(np.array([[0.6], [0.3], [0.1]]), np.array([1.0]))
    assert bk.Step().predict(mean, var)[0] == pytest.approx(0.7133, abs=1e-4)


@pytest.mark.parametrize(("lam", "value"), [(0.1, 0.169604), (1.0, 0.149085), (10.0, 0.129342)])
def test_slack_is_probit(lam, value):
    probit = SHARP.at(GramProblem(D4_K, D4_Y, bk.Probit(lam**0.5)), {})
    step = SHARP.at(GramProblem(D4_K + lam * np.eye(3), D4_Y, bk.Step()), {})
    assert np.exp(probit.log_evidence) == pytest.approx(value, abs=1e-6)
    assert step.log_evidence == pytest.approx(probit.log_evidence, abs=1e-9)
    assert step.alpha == pytest.approx(probit.alpha, abs=1e-8)


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_near_the_exact_evidence(beta):
    exact = {1.0: -2.13042593, 2.0: -2.10283044}[beta]
    gp = bk.GaussianProcess(D2_X, D2_Y, RBF(), bk.Logit(beta=beta))
    ep, laplace = SHARP.at(gp, {}), bk.Laplace().at(gp, {})
    assert abs(ep.log_evidence - exact) < 3e-4
    assert abs(laplace.log_evidence - exact) > 20 * abs(ep.log_evidence - exact)


def enumerate_flips(q):
    """Evidence of D4 with flipped labels: a mixture over the eight sign patterns."""
    R = D4_K
    total = 0.0
    for signs in itertools.product([1, -1], repeat=3):
        s = np.array(signs)
        rho = [s[i] * s[j] * R[i, j] for i, j in ((0, 1), (0, 2), (1, 2))]
        orthant = 1 / 8 + np.arcsin(rho).sum() / (4 * np.pi)
        wrong = (s * D4_Y < 0).sum()
        total += orthant * q**wrong * (1 - q) ** (3 - wrong)
    return total


@pytest.mark.parametrize("q", [0.05, 0.2, 0.4])
def test_label_flips(q):
    state = SHARP.at(GramProblem(D4_K, D4_Y, bk.LabelFlip(q)), {})
    assert np.exp(state.log_evidence) == pytest.approx(enumerate_flips(q), rel=3e-3)


LIKELIHOODS = [bk.Probit(), bk.Logit(), bk.Step(), bk.Hinge(2.0), bk.LabelFlip(0.25)]


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda v: type(v).__name__)
def test_moments_match_and_schedules_agree(likelihood):
    X, y = thirty_points()
    problem = GramProblem(2.0 * RBF(1.0)(X) + 0.3 * np.eye(30), y, likelihood)
    one = EP(tol=1e-8).at(problem, {})
    two = EP(tol=1e-8, schedule="sequential").at(problem, {})
    assert one.converged
    assert two.converged
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-8)
    assert two.mean == pytest.approx(one.mean, abs=1e-6)
    order = np.random.default_rng(1).permutation(30)
    K = problem.K[np.ix_(order, order)]
    three = EP(tol=1e-8, schedule="sequential").at(GramProblem(K, y[order], likelihood), {})
    assert three.mean == pytest.approx(one.mean[order], abs=1e-6)
    _, m, v = likelihood.tilted(y, one.extra["cavity_mean"], one.extra["cavity_var"])
    assert m == pytest.approx(one.mean, abs=1e-7)
    assert v == pytest.approx(one.var, abs=1e-7)
    precision = np.linalg.inv(problem.K) + np.diag(one.W)
    assert one.cov == pytest.approx(np.linalg.inv(precision), abs=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda v: type(v).__name__)
def test_gradient_equals_finite_differences(likelihood):
    X, y = thirty_points()
    X, y = X[:10], y[:10]
    K = 2.0 * RBF(1.0)(X) + 0.1 * np.eye(10)

    def evidence(M):
        return SHARP.at(GramProblem(M, y, likelihood), {}).log_evidence

    E, slope = slope_along(evidence, K, np.random.default_rng(2))
    G = SHARP.at(GramProblem(K, y, likelihood), {}).grad_prior_cov
    assert np.vdot(G, E) == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_gaussian_likelihood_is_exact_after_one_move():
    X, _ = thirty_points()
    gp = bk.GaussianProcess(X, np.sin(X[:, 0]), RBF(1.0), bk.Gaussian(0.3))
    one, two = EP().at(gp, {}), bk.Exact().at(gp, {})
    assert one.n_iter <= 2
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-8)
    assert one.mean == pytest.approx(two.mean, abs=1e-9)
    assert one.grad_prior_cov == pytest.approx(two.grad_prior_cov, abs=1e-7)


def test_compiled_logistic_moments():
    rng = np.random.default_rng(0)
    s = np.concatenate([10 ** rng.uniform(-3, np.log10(6), 400), [6.0, 1e-6]])
    m = rng.normal(size=402) * 5 * np.maximum(s, 1.0)
    out = np.empty((3, 402))
    logit_moments(m, s, *out)
    wanted = bk.Logit().tilted(np.ones(402), m, s**2)
    assert out[0] == pytest.approx(wanted[0], abs=1e-8)
    assert out[1] == pytest.approx(wanted[1], rel=1e-7, abs=1e-7)
    assert out[2] == pytest.approx(wanted[2], rel=1e-6)


def test_rare_flips_fall_back_to_restricted_sites():
    X, y = thirty_points()
    state = EP().at(bk.GaussianProcess(X, y, RBF(1.0), bk.LabelFlip(0.01)), {})
    assert state.converged
    assert state.extra["restricted"]
    assert (state.W >= 0).all()
    assert -23.5 < state.log_evidence < -21.5


def test_cold_starts_never_fail():
    kinds = {}
    X, y = gp_labels(60, seed=0)
    rng = np.random.default_rng(7)
    kinds["gp"] = X, y
    kinds["noise"] = X, rng.choice([-1.0, 1.0], 60)
    kinds["separable"] = X, np.where(X[:, 0] > 0, 1.0, -1.0)
    kinds["contradictory"] = np.repeat(X[:30], 2, axis=0), np.tile([1.0, -1.0], 30)
    for (X, y), link in itertools.product(kinds.values(), (bk.Probit(), bk.Logit())):
        for amplitude, scale in itertools.product((1.0, 7.4, 55.0, 403.0), (0.37, 1.0, 2.7)):
            state = EP(tol=1e-4).at(bk.GaussianProcess(X, y, amplitude * RBF(scale), link), {})
            assert state.converged
            assert np.isfinite(state.grad_prior_cov).all()


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scales(scale):
    X, y = thirty_points()
    one = EP().at(bk.GaussianProcess(X, y, RBF(1.0), bk.Probit()), {})
    two = EP().at(bk.GaussianProcess(scale * X, y, RBF(scale), bk.Probit()), {})
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-9)
    loud = EP().at(bk.GaussianProcess(X, y, scale * RBF(1.0), bk.Probit()), {})
    assert loud.converged


def test_warm_start():
    X, y = gp_labels(60, seed=2)
    gp = bk.GaussianProcess(X, y, 4.0 * RBF(bk.Prior("LogNormal")), bk.Probit())
    cold = EP().at(gp, {"rbf_lengthscale": 1.0})
    near = EP().at(gp, {"rbf_lengthscale": 1.01})
    warm = EP().at(gp, {"rbf_lengthscale": 1.01}, warm=cold)
    assert warm.n_iter < near.n_iter
    assert warm.log_evidence == pytest.approx(near.log_evidence, abs=1e-8)


def test_label_symmetry():
    X, y = thirty_points()
    one = EP().at(bk.GaussianProcess(X, y, RBF(1.0), bk.Probit()), {})
    two = EP().at(bk.GaussianProcess(X, -y, RBF(1.0), bk.Probit()), {})
    assert two.mean == pytest.approx(-one.mean, abs=1e-12)
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="schedule must be one of"):
        EP(schedule="random")
    with pytest.raises(ValueError, match="tol must be positive"):
        EP(tol=0.0)
