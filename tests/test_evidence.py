import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF as SkRBF
from sklearn.gaussian_process.kernels import ConstantKernel

import bayeskern as bk
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer.climb import climb
from bayeskern.infer.evidence import EvidenceMax
from bayeskern.infer.objective import LogEvidence, curvature
from bayeskern.kernels.stationary import RBF, Mahalanobis
from tests.latent import D1_T, D1_X, gp_labels, thirty_points

SIGMA = bk.Prior("LogNormal", mu=np.log(2), sigma=0.75)
D1 = bk.GaussianProcess(D1_X, D1_T, RBF(SIGMA), bk.Gaussian(bk.Prior("HalfNormal", sigma=1)))


def labels(n, seed=0, prior=None, **kwargs):
    X, y = gp_labels(n, seed=seed, **kwargs)
    prior = prior or bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    return bk.GaussianProcess(X, y, prior * RBF(prior), bk.Logit())


def test_both_optima_of_six_points_are_found():
    tree = EvidenceMax(bk.Exact(), tol=1e-12).run(D1, random_seed=0)
    found = tree.optima
    assert found["rbf_lengthscale"].values == pytest.approx([1.13533557, 3.66994881], abs=2e-6)
    assert found["noise_sigma"].values ** 2 == pytest.approx([0.0, 0.28219442], abs=1e-6)
    assert found["log_evidence"].values == pytest.approx([-6.87490132, -6.95726363], abs=1e-7)
    assert tree.attrs["log_evidence"] == pytest.approx(-6.87490132, abs=1e-7)
    assert (tree.posterior["rbf_lengthscale"].values == found["rbf_lengthscale"].values[0]).all()


@pytest.mark.parametrize(
    ("scale", "variance", "value", "signature"),
    [
        (3.66994881, 0.28219442, -6.95726363, (1, 1)),
        (1.84832254, 0.21352382, -7.08655230, (-1, 1)),
    ],
)
def test_stationary_points_of_six_points(scale, variance, value, signature):
    f = LogEvidence(D1, bk.Exact())
    x = np.log([scale, np.sqrt(variance)])
    log_evidence, gradient = f(x)
    assert log_evidence == pytest.approx(value, abs=1e-8)
    assert gradient == pytest.approx([0.0, 0.0], abs=1e-6)
    assert np.sign(np.linalg.eigvalsh(curvature(f, x))) == pytest.approx(signature)


@pytest.mark.parametrize(
    ("scale", "variance", "mean", "var"),
    [
        (1.13533557, 1e-12, -1.91326671, 0.27690114),
        (3.66994881, 0.28219442, -1.18898566, 0.49093437),
    ],
)
def test_predictions_at_both_optima(scale, variance, mean, var):
    theta = {"rbf_lengthscale": scale, "noise_sigma": np.sqrt(variance)}
    state, new = bk.Exact().at(D1, theta), np.array([[6.5]])
    m, v = state.predict(D1.cross_cov(theta, new), D1.prior_var(theta, new))
    assert (m[0], v[0] + variance) == pytest.approx((mean, var), abs=1e-6)


def test_irrelevant_input_is_removed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (30, 2))
    t = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=30)
    noise = bk.Gaussian(bk.Prior("HalfNormal"))
    scales = bk.Prior("LogNormal", mu=0.0, sigma=1.5, size=2)
    both = bk.GaussianProcess(X, t, Mahalanobis(scales), noise)
    tree = EvidenceMax(bk.Exact(), tol=1e-10).run(both, random_seed=0)
    rho = tree.fit["theta_mahalanobis_scale"].values ** -2
    assert rho == pytest.approx([0.54348, 0.00049], abs=5e-6)
    assert float(tree.fit["theta_noise_sigma"]) ** 2 == pytest.approx(0.009806, abs=1e-6)
    assert tree.attrs["log_evidence"] == pytest.approx(9.252641, abs=1e-6)
    one = bk.Prior("LogNormal", mu=0.0, sigma=1.5)
    first = bk.GaussianProcess(X[:, :1], t, Mahalanobis(one), noise)
    tree = EvidenceMax(bk.Exact(), tol=1e-10).run(first, random_seed=0)
    assert tree.attrs["log_evidence"] == pytest.approx(9.056364, abs=1e-6)
    assert float(tree.fit["theta_mahalanobis_scale"]) ** -2 == pytest.approx(0.51219, abs=5e-6)


@pytest.mark.parametrize("inner", [bk.Laplace(), bk.EP(tol=1e-9)], ids=["laplace", "ep"])
@pytest.mark.parametrize("options", [{}, {"prior": True}, {"prior": True, "jacobian": True}])
def test_gradient_for_log_parameters(inner, options):
    f = LogEvidence(labels(40), inner, **options)
    x = np.log([2.5, 0.8])
    gradient = f(x)[1]
    for k in range(2):
        e = np.zeros(2)
        e[k] = 1e-5
        slope = (f.value(x + e) - f.value(x - e)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=2e-6)


@pytest.mark.parametrize("n", [60, 320])
def test_fit_is_as_good_as_scikit_learns(n):
    problem = labels(n, seed=3)
    kernel = ConstantKernel(1.0) * SkRBF(1.0)
    peer = GaussianProcessClassifier(kernel).fit(problem.X, problem.y)
    tree = EvidenceMax().run(problem, random_seed=1)
    assert tree.attrs["log_evidence"] > peer.log_marginal_likelihood_value_ - 1e-4
    assert tree.attrs["evidence_kind"] == "laplace"
    assert tree.optima["gradient_norm"].values[0] < 0.05


def test_ep_fit_is_a_maximum():
    problem = labels(60, seed=3)
    tree = EvidenceMax(bk.EP(), tol=1e-8).run(problem, random_seed=1)
    f = LogEvidence(problem, bk.EP(tol=1e-9))
    x = np.log([float(tree.fit["theta_constant_value"]), float(tree.fit["theta_rbf_lengthscale"])])
    assert np.abs(f(x)[1]).max() < 1e-3
    assert (np.linalg.eigvalsh(curvature(f, x)) > 0).all()


def test_separable_labels_run_to_a_bound_and_the_prior_holds_them():
    X, _ = thirty_points()
    prior = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = bk.GaussianProcess(X, y, prior * RBF(prior), bk.Probit())
    with pytest.warns(ConvergenceWarning, match="towards the bound of constant_value"):
        EvidenceMax(bk.EP()).run(problem, random_seed=0)
    tree = EvidenceMax(bk.EP(), prior=True).run(problem, random_seed=0)
    assert tree.attrs["converged"]
    assert float(tree.fit["theta_constant_value"]) < 100


def test_pure_noise_never_fails():
    prior = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(25, 2)), rng.choice([-1.0, 1.0], 25)
        problem = bk.GaussianProcess(X, y, prior * RBF(prior), bk.Logit())
        tree = EvidenceMax(prior=True, starts=2).run(problem, random_seed=seed)
        assert tree.attrs["converged"]
        assert tree.attrs["log_evidence"] > -25 * np.log(2) - 3


def test_nothing_to_infer_is_the_inner_method():
    X, y = thirty_points()
    problem = bk.GaussianProcess(X, y, RBF(), bk.Logit())
    tree = EvidenceMax().run(problem, random_seed=0)
    assert tree.attrs["log_evidence"] == pytest.approx(-18.031978230, abs=1e-8)


def test_climb_finds_a_corner_and_a_valley():
    target = np.array([1.0, -2.0])
    A = np.array([[1.0, 0.9], [0.9, 1.0]])

    def f(x):
        return -0.5 * (x - target) @ A @ (x - target), -A @ (x - target)

    free = climb(f, np.zeros(2), np.full(2, -9.0), np.full(2, 9.0), tol=1e-14)
    assert free.x == pytest.approx(target, abs=1e-5)
    boxed = climb(f, np.zeros(2), np.full(2, -1.0), np.full(2, 9.0), tol=1e-14)
    assert boxed.x == pytest.approx([0.1, -1.0], abs=1e-5)
    assert boxed.at_bound.tolist() == [False, True]


def test_refusals():
    with pytest.raises(ValueError, match="Laplace needs slope and curvature"):
        EvidenceMax().run(
            bk.GaussianProcess(D1_X, np.ones(6), RBF(SIGMA), bk.Step()), random_seed=0
        )
    with pytest.raises(ValueError, match="reach must be greater than 1"):
        EvidenceMax(reach=0.5)
    with pytest.raises(ValueError, match="starts must be at least 1"):
        EvidenceMax(starts=0)


def test_short_length_scales_are_tried():
    # a fold on which the medians of the priors lead to an optimum 4.4 nats too low
    from sklearn.model_selection import StratifiedKFold

    data = bk.datasets.load("ripley")
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(data.X, data.y)
    found = []
    for train, _ in folds:
        X = (data.X[train] - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
        scale = bk.Prior("LogNormal", mu=0.6, sigma=1.0, size=2)
        kernel = bk.Prior("LogNormal", mu=1.0, sigma=1.5) * bk.RBF(scale)
        gp = bk.GaussianProcess(X, data.y[train], kernel, bk.Logit())
        few, many = (
            EvidenceMax(bk.Laplace(), prior=True, starts=s).peaks(gp, np.random.default_rng(0))
            for s in (4, 12)
        )
        found.append((few[0].value, many[0].value))
    few, many = np.array(found).T
    assert np.all(few > many - 0.01)
