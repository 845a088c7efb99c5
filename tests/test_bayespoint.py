import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bayeskern as bk
from bayeskern.bayes.cone import Cone
from bayeskern.bayes.spherical import (
    chi_mean,
    dual_coefficients,
    exact_region,
    orthant_probability,
)
from bayeskern.errors import NotSeparableError
from bayeskern.kernels.dot import Linear
from bayeskern.kernels.stationary import RBF
from tests.version_spaces import (
    D3,
    D3_DUAL,
    D3_MASS,
    D3_SPHERE,
    D4_ALPHA,
    D4_GRAM,
    D4_MASS,
    D4_X,
    D4_Y,
    cone4,
    gram3,
)


def test_orthant_of_three_points():
    S = D4_GRAM * np.outer(D4_Y, D4_Y)
    assert orthant_probability(S) == pytest.approx(D4_MASS, abs=5e-11)
    assert dual_coefficients(S) == pytest.approx(D4_Y * D4_ALPHA, rel=1e-9)
    assert orthant_probability(S[:1, :1]) == 0.5
    with pytest.raises(ValueError, match="no closed form for 4 > 3"):
        orthant_probability(np.eye(4))


@pytest.mark.parametrize("seed", range(5))
def test_orthant_agrees_with_a_cubature(seed):
    A = np.random.default_rng(seed).standard_normal((3, 3))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    S = A @ A.T
    normal = multivariate_normal(np.zeros(3), S, seed=0, maxpts=10**7, abseps=1e-8, releps=0)
    cdf = normal.cdf(np.zeros(3))
    assert orthant_probability(S) == pytest.approx(cdf, abs=1e-5)
    assert exact_region(A).prior_mass == pytest.approx(orthant_probability(S), rel=1e-10)


def test_polygon_of_four_points():
    region = exact_region(D3)
    assert region.prior_mass == pytest.approx(D3_MASS, rel=1e-6)
    assert region.mean == pytest.approx(D3_SPHERE, rel=1e-7)
    lengths = np.linalg.norm(D3, axis=1)
    dual = region.edges / ((2 * np.pi) ** 1.5 * lengths * region.prior_mass)
    assert dual == pytest.approx(D3_DUAL, rel=1e-7)
    # the two closed forms of the mean: surface integral and dual coefficients
    assert dual @ D3 == pytest.approx(chi_mean(3) * region.mean, rel=1e-10)


def test_octant_and_lune():
    octant = exact_region(np.eye(3))
    assert octant.prior_mass == pytest.approx(1 / 8, rel=1e-12)
    assert octant.mean == pytest.approx(np.full(3, 0.5), rel=1e-12)
    redundant = exact_region(np.vstack([np.eye(3), [[1, 1, 1], [1, 0, 0]]]))
    assert redundant.mean == pytest.approx(octant.mean, rel=1e-12)
    assert redundant.edges[3:].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(4))
def test_polygon_with_many_walls_agrees_with_rejection(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((9, 3)) + 0.8 * np.array([1, 1, 0])
    w = rng.standard_normal((200_000, 3))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    inside = w[(w @ A.T > 0).all(axis=1)]
    region = exact_region(A)
    p = region.prior_mass
    assert abs(len(inside) / len(w) - p) < 4.5 * np.sqrt(p / len(w))
    error = inside.std(axis=0) / np.sqrt(len(inside))
    assert np.abs((inside.mean(axis=0) - region.mean) / error).max() < 4.5


def test_arc_of_two_points():
    region = exact_region(np.array([[1, 0], [0.5, np.sqrt(0.75)]]))
    assert region.prior_mass == pytest.approx(1 / 3, rel=1e-12)
    assert np.linalg.norm(region.mean) == pytest.approx(0.82699334, rel=1e-7)
    assert np.arctan2(*region.mean[::-1]) == pytest.approx(np.pi / 6)
    across = exact_region(np.array([[-1, 0.1], [-1, -0.2], [-1, 0.05]]))  # about the angle pi
    assert across.edges.tolist() == [1, 1, 0]
    assert across.mean[0] < 0


def test_empty_region_is_refused():
    for A in (np.vstack([np.eye(3), -np.ones((1, 3))]), np.array([[1, 0], [-1, 1], [-1, -1]])):
        with pytest.raises(NotSeparableError, match="empty"):
            exact_region(A)


def test_cone_coordinates_of_singular_and_regular_points():
    for problem, rank in ((cone4(), 3), (gram3(), 3)):
        cone = problem.cone
        assert cone.rank == rank
        assert cone.invertible == (len(problem.y) == rank)
        z = np.random.default_rng(0).standard_normal((5, rank))
        u = z @ cone.A.T
        assert cone.coordinates(u.T).T == pytest.approx(z, abs=1e-10)
        assert problem.prior_cov({}) @ cone.dual(u).T == pytest.approx(cone.latent(u).T, abs=1e-10)
        assert (cone.start > 0).all()
        assert np.linalg.norm(cone.coordinates(cone.start)) == pytest.approx(np.sqrt(rank))


def test_cone_ignores_scales():
    G = D4_GRAM * np.outer([1, 5, 0.01], [1, 5, 0.01]) * 7
    assert Cone.of(G, D4_Y).S == pytest.approx(Cone.of(D4_GRAM, D4_Y).S, rel=1e-12)


def test_variance_outside_the_span():
    cone = gram3().cone
    assert cone.left_over(D4_GRAM[:, :2], np.ones(2)).tolist() == [0, 0]  # training points
    k = np.array([0.6, 0.3, 0.1])
    left = 1 - k @ np.linalg.solve(D4_GRAM, k)
    assert cone.left_over(k[:, None], np.ones(1)) == pytest.approx(left, rel=1e-12)


# -- bad input ----------------------------------------------------------------------------------


def test_opposite_labels_on_one_point():
    X = [[0.0, 1.0], [2.0, 1.0], [2.0, 1.0]]
    for kernel in (RBF(), Linear(), Linear() + 1.0):
        problem = bk.BayesPoint(X, [1, 1, -1], kernel)
        with pytest.raises(NotSeparableError, match=r"points 1 and 2 coincide.*lam > 0"):
            bk.log_volume(problem)
    assert bk.log_volume(bk.BayesPoint(X, [1, 1, -1], RBF(), lam=0.1)).prior_mass > 0


def test_not_separable():
    X = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
    problem = bk.BayesPoint(X, [1, 1, -1, -1], Linear() + 1.0)
    for method in (bk.ConeHMC(), bk.Billiard(), bk.KernelGibbs(), bk.PerceptronSampling()):
        with pytest.raises(NotSeparableError, match=r"LabelFlip|opposite"):
            method.run(problem)
    with pytest.raises(NotSeparableError):
        bk.log_volume(problem)


def test_zero_point():
    with pytest.raises(ValueError, match="point 1 has squared length 0"):
        bk.ConeHMC().run(bk.BayesPoint([[1.0], [0.0]], [1, -1], Linear()))


def test_one_point():
    problem = bk.BayesPoint([[2.0, 1.0]], [-1], Linear())
    assert bk.log_volume(problem).prior_mass == 0.5
    for method in (bk.Billiard(), bk.KernelGibbs()):
        with pytest.raises(ValueError, match=r"1 point\(s\) of rank 1; use ConeHMC"):
            method.run(problem)
    f = bk.ConeHMC(draws=2000).run(problem, random_seed=1)["posterior"]["f"].values
    assert f.mean() == pytest.approx(-np.sqrt(5 * 2 / np.pi), abs=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 0, 1]}, "labels -1 and .1 only, got 0"),
        ({"y": [1, 1]}, "got 2 for 3 points"),
        ({"X": [[1.0], [np.nan], [2.0]]}, "X must be finite"),
        ({"lam": -1.0}, "lam must be non-negative, got -1.0"),
        ({"lam": 1.0, "likelihood": bk.LabelFlip(0.1)}, "slack or label noise, not both"),
        ({"likelihood": bk.Probit()}, "has the likelihood Step or LabelFlip, got Probit"),
    ],
)
def test_bad_problems(change, message):
    good = {"X": [[1.0], [3.0], [2.0]], "y": [1, 1, 1], "kernel": Linear()}
    with pytest.raises(ValueError, match=message):
        bk.BayesPoint(**(good | change))


def test_wrong_problem_for_the_method():
    gp = bk.GaussianProcess(D4_X, D4_Y, Linear(), bk.Probit())
    with pytest.raises(ValueError, match="ConeHMC is for a BayesPoint, got a GaussianProcess"):
        bk.ConeHMC().run(gp)
    with pytest.raises(ValueError, match=r"ConeHMC needs labels without noise.*KernelGibbs"):
        bk.ConeHMC().run(gram3(likelihood=bk.LabelFlip(0.1)))
    free = bk.BayesPoint(D4_X, D4_Y, bk.Prior("Gamma", alpha=2, beta=1) * RBF())
    with pytest.raises(ValueError, match="needs a fixed kernel, but constant_value is free"):
        bk.ConeHMC().run(free)


def test_problem_pickles_without_its_cone():
    problem = gram3(lam=0.5)
    assert problem.cone.rank == 3
    again = pickle.loads(pickle.dumps(problem))
    assert "cone" not in vars(again)
    assert again.likelihood == bk.Probit(np.sqrt(0.5))


# -- as PyMC models -----------------------------------------------------------------------------


@pytest.mark.slow
def test_orthant_model_is_the_truncated_gaussian():
    problem = gram3()
    logp = problem.model.compile_logp(jacobian=False)
    f = D4_Y * np.array([0.5, 1.5, 0.2])
    value = logp({"u_log__": np.log(np.abs(f))})
    assert value == pytest.approx(multivariate_normal(np.zeros(3), D4_GRAM).logpdf(f), rel=1e-9)
    with pytest.raises(ValueError, match="got rank 3 for 4 points"):
        _ = cone4().model


@pytest.mark.slow
def test_slack_is_a_probit():
    slack = gram3(lam=0.5, jitter=1e-9)
    probit = bk.GaussianProcess(D4_X, D4_Y, Linear(), bk.Probit(np.sqrt(0.5)), jitter=1e-9)
    point = {"f": np.array([0.3, -0.2, 0.7])}
    assert slack.model.compile_logp()(point) == pytest.approx(probit.model.compile_logp()(point))
    assert slack.smooth
    assert not gram3(likelihood=bk.LabelFlip(0.1)).smooth
