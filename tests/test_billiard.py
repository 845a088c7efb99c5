import numpy as np
import pytest

import bayeskern as bk
from bayeskern.infer.billiard import geodesic_billiard, kernel_billiard, rho
from bayeskern.kernels.dot import Linear
from tests.version_spaces import (
    D3,
    D3_SPHERE,
    D4_ALPHA,
    assert_agrees,
    cone4,
    exact_mean,
    gram3,
    run_quietly,
    z_scores,
)


def degrees_between(a, b):
    return np.degrees(np.arccos(a @ b / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b))))


def unit_means(problem, alphas):
    return np.atleast_2d(alphas) @ problem.X


@pytest.mark.parametrize(("p", "mu"), [(0.5, 0.5), (-0.9, 0.3), (0.99, 0.7), (0.0, 0.2)])
def test_point_on_an_arc(p, mu):
    s = np.array([1.0, 0.0])
    t = np.array([p, np.sqrt(1 - p * p)])
    first, second = rho(p, mu)
    point = first * s + second * t
    assert point @ point == pytest.approx(1)
    assert np.linalg.norm(t - point) == pytest.approx(mu * np.linalg.norm(t - s))
    assert second >= 0
    assert rho(p, 0.0) == pytest.approx((0, 1))
    assert rho(p, 1.0) == pytest.approx((1, 0))


def test_point_on_an_arc_numbers():
    assert rho(0.5, 0.5) == pytest.approx((0.5590169944, 0.5954915028), rel=1e-9)
    assert rho(1.0, 0.3) == pytest.approx((0.3, 0.7))
    assert rho(0.0, 0.4)[1] == pytest.approx(1 - 0.16)
    assert np.diff([rho(p, 0.4)[1] for p in np.linspace(-0.9, 1, 20)]).max() < 0
    with pytest.raises(ValueError, match="opposite"):
        rho(-1.0, 0.5)


def test_line_integral_of_the_cosine_law():
    """The exact mean along the path, chain by chain, with the spread of chains as its error."""
    problem = cone4()
    tree = bk.Billiard(draws=2000, chains=8).run(problem, random_seed=3)
    means = unit_means(problem, tree["fit"]["alpha_line"].values)
    error = means.std(axis=0, ddof=1) / np.sqrt(8)
    # t with 7 degrees of freedom at family level 1e-4
    assert np.abs((means.mean(axis=0) - D3_SPHERE) / error).max() < 9.3
    assert error.max() < 0.004


def test_cosine_law_in_the_plane():
    X = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    problem = bk.BayesPoint(X, [1, 1], Linear())
    f = bk.Billiard(draws=1000).run(problem, random_seed=1)["posterior"]["f"].values
    mean = 0.82699334 * np.sqrt(np.pi / 2) * np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    assert_agrees(z_scores(f, X @ mean))


@pytest.mark.parametrize("problem", [cone4(), gram3()], ids=["D3", "D4"])
def test_kernel_billiard_is_within_two_degrees(problem):
    """It is biased by its refresh law, hence a tolerance and not a z-test."""
    cone = problem.cone
    truth = np.linalg.lstsq(problem.X, exact_mean(problem), rcond=None)[0]
    for seed in range(3):
        path = kernel_billiard(cone, np.random.default_rng(seed), draws=3000)
        for alpha in (path.alpha_line, path.alpha_oplus):
            assert degrees_between(unit_means(problem, alpha), truth) < 2
        assert path.margins.min() >= 0
        length = path.alpha_oplus @ problem.prior_cov({}) @ path.alpha_oplus
        assert length == pytest.approx(1, rel=1e-6)


def test_kernel_billiard_is_biased():
    tree = run_quietly(bk.Billiard(draws=3000, law="kernel"), gram3(), 1)
    z = z_scores(tree["posterior"]["f"].values, exact_mean(gram3()))
    assert np.abs(z).max() > 6


def test_plain_billiard_is_not_ergodic():
    """Undisturbed trajectories of the same length end in different places."""
    problem = gram3()
    truth = D4_ALPHA @ problem.X

    def errors(refresh):
        cone = problem.cone
        return [
            degrees_between(
                unit_means(
                    problem,
                    geodesic_billiard(
                        cone, np.random.default_rng(s), draws=20_000, refresh=refresh
                    ).alpha_line,
                ),
                truth,
            )[0]
            for s in range(8)
        ]

    plain, repaired = errors(0.0), errors(0.1)
    assert max(plain) > 5
    assert max(repaired) < 1.5


def test_margins_stay_those_of_a_unit_vector():
    cone = cone4().cone
    path = geodesic_billiard(cone, np.random.default_rng(0), draws=500, refresh=0.0)
    z = cone.coordinates(path.margins.T)
    assert np.linalg.norm(z, axis=0) == pytest.approx(1, abs=1e-9)
    assert path.n_refreshes == 0


def test_settings():
    with pytest.raises(ValueError, match="law must be one of 'cosine', 'kernel', 'plain'"):
        bk.Billiard(law="snooker")
    with pytest.raises(ValueError, match="refresh"):
        bk.Billiard(refresh=0.0)


# -- perceptrons in random orders --------------------------------------------------------------


def test_perceptrons_lie_in_version_space_and_are_no_draws():
    from itertools import permutations

    from bayeskern.infer.perceptron_sampling import run_orders

    problem = cone4()
    orders = np.array(list(permutations(range(4))))
    cone = problem.cone
    u, updates = run_orders(np.ascontiguousarray(cone.S), cone.scales, orders, 1000)
    assert (u > 0).all()
    assert (updates > 0).all()
    w = unit_means(problem, cone.dual(u))
    assert np.linalg.norm(w, axis=1) == pytest.approx(1)
    assert len(np.unique(w.round(9), axis=0)) == 2
    assert degrees_between(w.mean(axis=0), D3_SPHERE) == pytest.approx(14.70, abs=0.01)


def test_perceptron_sampling_is_labelled():
    tree = bk.PerceptronSampling(draws=10).run(cone4(), random_seed=1)
    assert tree["fit"]["approximate"] == 1
    assert "independent" in tree.attrs["draws"]
    assert "rhat_max" not in tree.attrs
    with pytest.raises(bk.errors.NotSeparableError, match="after 1 passes"):
        bk.PerceptronSampling(max_epochs=1).run(cone4(), random_seed=1)


def test_perceptron_agrees_with_the_classic_one():
    from bayeskern.classic.perceptron import kernel_perceptron
    from bayeskern.infer.perceptron_sampling import run_orders

    problem = cone4()
    cone = problem.cone
    order = np.arange(4)
    u, _ = run_orders(np.ascontiguousarray(cone.S), cone.scales, order[None], 1000)
    theirs = kernel_perceptron(problem.prior_cov({}), problem.y)
    w = theirs.coefficients @ problem.X
    ours = unit_means(problem, cone.dual(u))[0]
    assert ours == pytest.approx(w / np.linalg.norm(w), abs=1e-9)
    assert (D3 @ ours > 0).all()
