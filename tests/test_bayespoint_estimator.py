import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import bayeskern as bk
from bayeskern.bayes.spherical import orthant_probability
from bayeskern.estimators.bayespoint import best_slack
from bayeskern.infer.strategies import (
    bayes_point_empirical,
    centre_of_mass,
    decide,
    most_probable,
    predict_latent,
)
from bayeskern.kernels.dot import Linear
from bayeskern.kernels.stationary import RBF
from tests.version_spaces import (
    D4_ALPHA,
    D4_CROSS,
    D4_GRAM,
    D4_MASS,
    D4_QUERY,
    D4_X,
    D4_Y,
    assert_agrees,
    cone4,
    gram3,
    run_quietly,
)


def ring(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.where((X**2).sum(axis=1) > 1.4, "out", "in")


@pytest.mark.slow
def test_scikit_learn_contract():
    method = bk.ConeHMC(draws=50, chains=2, tune=10)
    check_estimator(bk.BayesPointClassifier(inference=method), on_skip=None)


def test_probability_includes_what_the_data_do_not_see():
    """A ratio of orthant probabilities by rejection; 0.711 where the span alone says 0.998."""
    machine = bk.BayesPointClassifier(Linear(), inference=bk.ConeHMC(draws=5000), random_state=1)
    machine.fit(D4_X, D4_Y)
    p = machine.predict_proba(D4_QUERY)[0, 1]
    draws = predict_latent(machine.problem_, machine.idata_, D4_QUERY)
    assert p == pytest.approx(0.71118, abs=0.004)
    assert (draws.means > 0).mean() == pytest.approx(0.9979, abs=0.002)
    full = np.block([[D4_GRAM, D4_CROSS[:, None]], [D4_CROSS[None], np.ones((1, 1))]])
    f = np.random.default_rng(0).multivariate_normal(np.zeros(4), full, size=400_000)
    inside = f[(f[:, :3] * D4_Y > 0).all(axis=1)]
    error = np.hypot(0.5 / np.sqrt(len(inside)), draws.means.std() / np.sqrt(10_000))
    assert_agrees((p - (inside[:, 3] > 0).mean()) / error)
    ep = bk.BayesPointClassifier(Linear(), inference=bk.EP()).fit(D4_X, D4_Y)
    assert ep.predict_proba(D4_QUERY)[0, 1] == pytest.approx(0.7133, abs=2e-4)


def test_training_points_are_certain():
    machine = bk.BayesPointClassifier(Linear(), random_state=1).fit(D4_X, D4_Y)
    assert machine.predict_proba(D4_X)[:, 1].tolist() == [1, 1, 0]
    assert (machine.predict(D4_X) == D4_Y).all()
    assert (machine.decision_function(D4_X) > 0).tolist() == [True, True, False]
    assert machine.alpha_ @ D4_GRAM @ machine.alpha_ == pytest.approx(1)
    assert machine.alpha_ == pytest.approx(
        D4_ALPHA / np.sqrt(D4_ALPHA @ D4_GRAM @ D4_ALPHA), abs=0.03
    )


@pytest.mark.parametrize("strategy", ["bayes", "centre", "gibbs", "map"])
def test_strategies_learn_a_ring(strategy):
    X, y = ring(80)
    Z, truth = ring(300, seed=1)
    machine = bk.BayesPointClassifier(strategy=strategy, random_state=0).fit(X, y)
    assert machine.score(X, y) == 1
    assert machine.score(Z, truth) > 0.8


def test_bayes_beats_gibbs():
    X, y = ring(40)
    Z, truth = ring(2000, seed=1)
    scores = {
        s: bk.BayesPointClassifier(strategy=s, random_state=0).fit(X, y).score(Z, truth)
        for s in ("bayes", "gibbs")
    }
    assert scores["bayes"] > scores["gibbs"] + 0.02
    assert 1 - scores["bayes"] < 2 * (1 - scores["gibbs"])


def test_strategies_of_three_points():
    problem = gram3()
    tree = bk.ConeHMC(draws=2000).run(problem, random_seed=2)
    assert centre_of_mass(problem, tree) @ D4_GRAM @ D4_Y > 0
    best = most_probable(problem, tree)
    t = D4_GRAM @ best
    margin = (D4_Y * t).min() / np.sqrt(best @ t)
    # the largest ball in the cone: the hard-margin support vector machine
    from bayeskern.classic import hard_margin

    coefficients = hard_margin(D4_GRAM, D4_Y).coefficients
    widest = (D4_Y * (D4_GRAM @ coefficients)).min() / np.sqrt(
        coefficients @ D4_GRAM @ coefficients
    )
    assert 0.9 * widest < margin <= widest * (1 + 1e-9)
    rng = np.random.default_rng(0)
    votes = [decide(problem, tree, D4_QUERY, "gibbs", rng)[0] for _ in range(400)]
    assert np.mean(np.array(votes) > 0) == pytest.approx(0.711, abs=0.1)
    with pytest.raises(ValueError, match="strategy must be one of"):
        decide(problem, tree, D4_QUERY, "oracle")


def test_empirical_bayes_point():
    X, y = ring(40)
    machine = bk.BayesPointClassifier(Linear() + RBF(), random_state=0).fit(X, y)
    Z, _ = ring(300, seed=2)
    found = bayes_point_empirical(machine.problem_, machine.idata_, Z)
    vote = machine.predict(Z) == machine.classes_[1]
    single = found.alpha @ machine.problem_.cross_cov({}, Z) > 0
    assert np.mean(single != vote) == found.disagreement < 0.06
    one = bayes_point_empirical(machine.problem_, machine.idata_, Z, -machine.alpha_[None])
    assert one.disagreement > 0.9


def test_slack_by_evidence():
    X, y = ring(60)
    y = y.copy()
    y[:4] = np.where(y[:4] == "in", "out", "in")
    machine = bk.BayesPointClassifier(RBF(), slack="evidence", random_state=0).fit(X, y)
    lam = machine.lam_
    assert 1e-4 < lam < 100

    def evidence(value):
        problem = bk.BayesPoint(X, machine.problem_.y, RBF(), lam=value)
        return bk.EP().at(problem, {}).log_evidence

    assert evidence(lam) > max(evidence(lam / 2), evidence(2 * lam))
    assert machine.problem_.likelihood == bk.Probit(np.sqrt(lam))
    with pytest.raises(ValueError, match="slack must be one of 'evidence', got 'auto'"):
        bk.BayesPointClassifier(slack="auto").fit(X, y)
    with pytest.raises(ValueError, match="slack or label noise"):
        best_slack(gram3(likelihood=bk.LabelFlip(0.1)))


def test_duplicates_with_opposite_labels_need_noise():
    X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], [0, 0, 1]
    with pytest.raises(bk.errors.NotSeparableError, match="points 1 and 2 coincide"):
        bk.BayesPointClassifier().fit(X, y)
    soft = bk.BayesPointClassifier(slack=0.5, random_state=0).fit(X, y)
    assert 0.3 < soft.predict_proba([[1.0, 0.0]])[0, 1] < 0.7
    flips = bk.BayesPointClassifier(flip_rate=0.2, inference=bk.KernelGibbs(), random_state=0)
    p = flips.fit(X, y).predict_proba([[1.0, 0.0], [0.0, 1.0]])[:, 1]
    assert p[0] == pytest.approx(0.5, abs=0.1)
    assert 0.2 - 1e-9 <= p[1] < 0.4


def test_one_point_or_class_is_refused():
    with pytest.raises(ValueError, match="one class: 'a'"):
        bk.BayesPointClassifier().fit([[1.0]], ["a"])
    with pytest.raises(ValueError, match="kernel must be a Kernel, 'precomputed' or None"):
        bk.BayesPointClassifier("rbf").fit([[1.0], [2.0]], [0, 1])


def test_what_the_bounds_need():
    machine = bk.BayesPointClassifier(Linear(), random_state=0).fit(D4_X, D4_Y)
    facts = machine.certificate_inputs(D4_X, D4_Y)
    assert facts["kind"] == "bayes_point"
    assert facts["log_volume"] == pytest.approx(np.log(D4_MASS), rel=1e-9)
    assert facts["kl"] == pytest.approx(-facts["log_volume"])
    assert facts["gibbs_risk"] == 0
    assert facts["radius"] == pytest.approx(1)
    assert (facts["margins"] > 0).all()
    assert machine.idata_.attrs["log_volume_kind"] == "exact"
    soft = bk.BayesPointClassifier(Linear(), slack=1.0, random_state=0).fit(D4_X, D4_Y)
    facts = soft.certificate_inputs(D4_X, D4_Y)
    assert "log_volume" not in facts
    assert 0 < facts["kl"] < -np.log(0.1491184)
    assert 0 < facts["gibbs_risk"] < 0.5


def test_certify_accepts_it():
    from bayeskern.classic.bounds import certify

    X, y = ring(30)
    machine = bk.BayesPointClassifier(RBF() + 0.5, random_state=0).fit(X, y)
    assert "version space, Gibbs" in str(certify(machine, X, y))


def test_precomputed_and_several_classes():
    X, y = ring(40)
    machine = bk.BayesPointClassifier(RBF(), random_state=3).fit(X, y)
    gram = bk.BayesPointClassifier("precomputed", random_state=3).fit(RBF()(X), y)
    Z, _ = ring(20, seed=4)
    assert gram.predict_proba(RBF()(Z, X)) == pytest.approx(machine.predict_proba(Z), abs=1e-8)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    many = bk.BayesPointClassifier(inference=bk.EP()).fit(X, three)
    assert many.score(X, three) == 1
    assert many.predict_proba(Z).sum(axis=1) == pytest.approx(1)


def test_orthant_ratio_of_a_fourth_point():
    """With two points the probability at a third is a ratio of closed forms."""
    X = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    x = np.array([[0.3, -0.5, 0.8]])
    machine = bk.BayesPointClassifier(Linear(), inference=bk.ConeHMC(draws=5000), random_state=0)
    machine.fit(X, [1, -1])
    signed = np.vstack([X * np.array([[1.0], [-1.0]]), x / np.linalg.norm(x)])
    S = signed @ signed.T
    exact = orthant_probability(S) / orthant_probability(S[:2, :2])
    assert machine.predict_proba(x)[0, 1] == pytest.approx(exact, abs=0.01)


# -- inside PyMC --------------------------------------------------------------------------------


@pytest.mark.slow
def test_cone_step_in_pymc():
    import pymc as pm

    from bayeskern.infer.cone_step import ConeStep
    from tests.version_spaces import exact_mean, z_scores

    problem = cone4()
    with problem.cone_model as model:
        step = ConeStep([model["z"]], A=problem.cone.A)
        trace = pm.sample(
            1500,
            tune=20,
            chains=2,
            cores=1,
            step=step,
            random_seed=1,
            progressbar=False,
            compute_convergence_checks=False,
        )
        with pytest.raises(ValueError, match="one column per normal, got 2 for 3"):
            ConeStep([model["z"]], A=problem.cone.A[:, :2])
    assert_agrees(z_scores(trace["posterior"]["f"].values, exact_mean(problem)))
    assert "n_bounces" in trace["sample_stats"]


@pytest.mark.slow
def test_orthant_nuts():
    """NUTS mixes less well here, so that a tolerance stands beside the z-test."""
    tree = run_quietly(bk.NUTS(draws=1000, chains=2, target_accept=0.95), gram3(), 1)
    alpha = tree["posterior"]["alpha"].values.mean(axis=(0, 1))
    assert alpha == pytest.approx(D4_ALPHA, abs=0.08)
    with pytest.raises(ValueError, match="NUTS needs a likelihood with a gradient"):
        bk.NUTS().run(cone4())
