import numpy as np
import pytest

import bayeskern as bk
from bayeskern.infer._bounce import fly_above, run_chain
from bayeskern.kernels.dot import Linear
from bayeskern.kernels.stationary import RBF
from tests.version_spaces import (
    D4_ALPHA,
    assert_agrees,
    cone4,
    exact_mean,
    gram3,
    rejected,
    z_scores,
)

SAMPLERS = [
    bk.ConeHMC(draws=2500),
    bk.ConeHMC(draws=2500, time=1.0),
    bk.ConeSlice(draws=2500, thin=2),
    bk.KernelGibbs(draws=2500, thin=2),
    bk.Billiard(draws=2500),
]


@pytest.mark.parametrize("method", SAMPLERS, ids=repr)
@pytest.mark.parametrize("problem", [cone4(), gram3()], ids=["D3", "D4"])
def test_mean_and_spread(method, problem):
    tree = method.run(problem, random_seed=20)
    f = tree["posterior"]["f"].values
    reference = rejected(problem, 400_000, seed=1) ** 2
    error = reference.std(axis=0) / np.sqrt(len(reference))
    z = [z_scores(f, exact_mean(problem)), z_scores(f**2, reference.mean(axis=0), error)]
    assert_agrees(z)
    assert (f * problem.y > 0).all()
    assert tree.attrs["rhat_max"] < 1.02
    alpha = tree["posterior"]["alpha"].values
    assert alpha @ problem.prior_cov({}) == pytest.approx(f, abs=1e-9)


def test_dual_mean():
    alpha = bk.ConeHMC(draws=2500).run(gram3(), random_seed=3)["posterior"]["alpha"].values
    assert_agrees(z_scores(alpha, D4_ALPHA))


@pytest.mark.parametrize("method", SAMPLERS[::2], ids=repr)
def test_scales_do_not_matter(method):
    """The same seed gives the same directions, whatever the scale of kernel or of one point."""
    plain = gram3()
    longer = bk.BayesPoint(plain.X * np.array([[1.0], [8.0], [0.25]]), plain.y, 4.0 * Linear())
    one, two = (method.run(p, random_seed=5)["posterior"]["f"].values for p in (plain, longer))
    assert two == pytest.approx(one * 2 * np.array([1, 8, 0.25]), rel=1e-6)


@pytest.mark.parametrize("method", SAMPLERS[::2], ids=repr)
def test_flipped_labels_flip_everything(method):
    plain = gram3()
    flipped = bk.BayesPoint(plain.X, -plain.y, plain.kernel)
    one, two = (method.run(p, random_seed=5) for p in (plain, flipped))
    assert two["posterior"]["f"].values == pytest.approx(-one["posterior"]["f"].values, rel=1e-9)
    assert two.attrs["log_evidence"] == pytest.approx(one.attrs["log_evidence"], rel=1e-12)


def test_slack_draws_are_those_of_the_probit():
    """Mean of f from EP's exact twin: quadrature over the noisy orthant, m = 2."""
    X, lam = np.array([[1.0, 0.0], [0.6, 0.8]]), 0.7
    problem = bk.BayesPoint(X, [1, -1], Linear(), lam=lam)
    f = bk.ConeHMC(draws=3000).run(problem, random_seed=4)["posterior"]["f"].values
    grid = np.linspace(-7, 7, 281)
    w = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
    t = w @ X.T
    log_weight = -0.5 * (w**2).sum(1) + problem.likelihood.logp(problem.y, t).sum(1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert_agrees([z_scores(f, weight @ t), z_scores(f**2, weight @ t**2)])


def test_equicorrelated_margins_have_the_known_mean():
    """Fifty margins with correlation 1/2: their mean is 1.6277 (one-dimensional quadrature)."""
    from scipy.integrate import quad
    from scipy.special import log_ndtr
    from scipy.stats import norm

    m = 50
    S = np.full((m, m), 0.5) + 0.5 * np.eye(m)
    L = np.linalg.cholesky(S)

    # u_i = (g + e_i) / sqrt 2 > 0: given g the e_i are truncated normals
    def mean_given(g):
        return g + np.exp(norm.logpdf(g) - log_ndtr(g))

    mass = quad(lambda g: np.exp(norm.logpdf(g) + m * log_ndtr(g)), -9, 9, epsabs=1e-14)[0]
    top = quad(
        lambda g: mean_given(g) * np.exp(norm.logpdf(g) + m * log_ndtr(g)), -9, 9, epsabs=1e-14
    )[0]
    exact = top / mass / np.sqrt(2)
    assert mass == pytest.approx(1 / (m + 1), rel=1e-9)
    assert exact == pytest.approx(1.6277, abs=1e-4)
    draws = np.empty((1, 20_000, m))
    V = np.random.default_rng(8).standard_normal((20_000, m)) @ L.T
    run_chain(np.ones(m), V, S, np.pi / 2, 10_000, draws[0])
    assert_agrees(z_scores(draws.mean(axis=2, keepdims=True), exact))


def test_moved_walls_keep_the_truncated_normal():
    """Independent margins above -c: mean and variance of a truncated normal."""
    from scipy.stats import truncnorm

    rng, c, m = np.random.default_rng(3), 0.7, 3
    u, S = np.full(m, 0.1), np.eye(m)
    draws = np.empty((1, 20_000, m))
    for k in range(20_000):
        fly_above(u, rng.standard_normal(m), S, c, 1000)
        draws[0, k] = u
    law = truncnorm(-c, np.inf)
    assert draws.min() >= -c
    assert_agrees([z_scores(draws, law.mean()), z_scores(draws**2, law.moment(2))])


def test_moved_walls_of_dependent_margins():
    rng, c = np.random.default_rng(5), 0.4
    A = np.array([[1.0, 0.0], [-0.8, 0.6], [0.0, 1.0], [-0.28, 0.96]])
    z = rng.standard_normal((400_000, 2))
    reference = (z @ A.T)[(z @ A.T > -c).all(axis=1)]
    error = reference.std(axis=0) / np.sqrt(len(reference))
    u, draws = np.zeros(4), np.empty((1, 20_000, 4))
    V = rng.standard_normal((20_000, 2)) @ A.T
    for k in range(20_000):
        fly_above(u, V[k], A @ A.T, c, 1000)
        draws[0, k] = u
    assert_agrees(z_scores(draws, reference.mean(axis=0), error))


@pytest.mark.parametrize("nugget", [1e-6, 0.3])
def test_two_unlike_samplers_agree_on_many_points(nugget):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    problem = bk.BayesPoint(X, y, RBF(), lam=nugget)
    one = bk.ConeHMC(draws=1500).run(problem, random_seed=1)["posterior"]["alpha"].values
    two = bk.Billiard(draws=1500, arc=2.0).run(problem, random_seed=2)["posterior"]["alpha"].values
    Z = rng.standard_normal((10, 2))
    K = RBF()(X, Z)
    import arviz as az

    f1, f2 = one @ K, two @ K
    error = np.array([az.mcse(f2[..., k]) for k in range(10)])
    assert_agrees(z_scores(f1, f2.mean(axis=(0, 1)), error))


def test_too_many_bounces():
    with pytest.raises(ValueError, match="bounced more than 1 times"):
        bk.ConeHMC(max_bounces=1).run(cone4(), random_seed=1)
    with pytest.raises(ValueError, match=r"time must be in \(0, 3.14159\)"):
        bk.ConeHMC(time=4.0)


def test_repeatable():
    method = bk.ConeHMC(draws=20)
    f = [method.run(gram3(), random_seed=s)["posterior"]["f"].values for s in (1, 1, 2)]
    assert (f[0] == f[1]).all()
    assert (f[0] != f[2]).any()
