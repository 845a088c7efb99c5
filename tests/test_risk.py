from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad

from bayeskern.classic.losses import HingeLoss, ZeroOneLoss, cost_loss
from bayeskern.classic.risk import (
    bayes_regressor,
    bayes_risk,
    bayes_rule,
    empirical_risk,
    excess_risk,
    integrate_bayes_risk,
    learning_curve,
    leave_one_out_risk,
    lookup_classifier,
    minimise_risk,
    plug_in,
    risk_decomposition,
    true_risk,
)

ETA = np.array([0.1, 0.4, 0.5, 0.75, 0.95])
WEIGHTS = np.array([0.3, 0.2, 0.1, 0.25, 0.15])


def hyperbola(x):
    return x / (x + 1)


@pytest.mark.parametrize(
    ("a", "value"),
    [(0.5, 0.1890698), (1, 0.3068528), (2, 0.3561590), (4, 0.3057859), (10, 0.2011601)],
)
def test_bayes_risk_of_the_hyperbola(a, value):
    found = integrate_bayes_risk(hyperbola, lambda x: 1 / a, (0, a))
    closed = (1 + np.log((a + 1) / 4)) / a if a >= 1 else (a - np.log(1 + a)) / a
    assert found == pytest.approx(closed, rel=1e-10)
    assert found == pytest.approx(value, abs=5e-8)


def test_excess_of_every_rule_on_a_finite_space():
    for rule in product([-1, 1], repeat=5):
        risk = true_risk(ETA, rule, WEIGHTS)
        assert risk - bayes_risk(ETA, WEIGHTS) == pytest.approx(excess_risk(ETA, rule, WEIGHTS))
        assert risk >= bayes_risk(ETA, WEIGHTS) - 1e-15
    assert excess_risk(ETA, bayes_rule(ETA), WEIGHTS) == 0


def test_square_loss_prefers_two_eta_minus_one():
    def risk(f):
        return (
            quad(lambda x: hyperbola(x) * (f(x) - 1) ** 2 / 4, 0, 4)[0]
            + quad(lambda x: (1 - hyperbola(x)) * (f(x) + 1) ** 2 / 4, 0, 4)[0]
        )

    assert risk(hyperbola) == pytest.approx(1.00944, abs=5e-6)
    assert risk(lambda x: 2 * hyperbola(x) - 1) == pytest.approx(0.80944, abs=5e-6)


def test_plug_in_excess_is_bounded_by_the_estimate():
    x = (np.arange(400_000) + 0.5) / 100_000
    eta, weights = hyperbola(x), np.full(len(x), 1 / len(x))

    def estimate(x):
        return np.clip(hyperbola(x) + 0.15 * np.sin(3 * x), 0, 1)

    excess = excess_risk(eta, plug_in(estimate)(x), weights)
    bound = 2 * np.mean(np.abs(eta - estimate(x)))
    assert excess == pytest.approx(0.04198, abs=1e-5)
    assert bound == pytest.approx(0.19610, abs=1e-5)
    assert excess_risk(eta, plug_in(hyperbola)(x), weights) == 0
    assert excess_risk(eta, plug_in(lambda x: (estimate(x) > 0.5) * 1.0)(x), weights) == excess


def test_empirical_risk_ignores_order_and_repetition():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=30), np.where(rng.random(30) < 0.5, 1, -1)
    order = rng.permutation(30)
    for loss in (ZeroOneLoss(), HingeLoss(), lambda f, y: cost_loss(f, y, [[0, 2], [1, 0]])):
        risk = empirical_risk(loss, np.sin, X, y)
        assert empirical_risk(loss, np.sin, X[order], y[order]) == pytest.approx(risk)
        assert empirical_risk(loss, np.sin, np.tile(X, 3), np.tile(y, 3)) == pytest.approx(risk)


def test_empirical_risk_is_unbiased_with_binomial_variance():
    rng = np.random.default_rng(1)
    n, repeats = 20, 20_000
    x = rng.choice(5, p=WEIGHTS, size=(repeats, n))
    y = np.where(rng.random((repeats, n)) < ETA[x], 1, -1)
    rule = np.array([-1, 1, 1, 1, -1])
    L = true_risk(ETA, rule, WEIGHTS)
    values = (rule[x] != y).mean(axis=1)
    assert abs(values.mean() - L) < 5 * np.sqrt(L * (1 - L) / n / repeats)
    variance = L * (1 - L) / n
    assert abs(values.var() - variance) < 5 * variance * np.sqrt(2 / repeats)


def test_finite_minimisation_keeps_all_minimisers():
    X = np.array([-2.0, -1.0, 1.0, 2.0])
    rules = [lambda x, t=t: np.where(x > t, 1.0, -1.0) for t in (-3, -0.5, 0.5, 1.5)]
    found = minimise_risk(rules, X, [-1, -1, 1, 1])
    assert found.chosen == 1
    assert found.minimisers.tolist() == [1, 2]
    np.testing.assert_allclose(found.risks, [0.5, 0, 0, 0.25])


def test_decomposition_adds_up_with_non_negative_parts():
    thresholds = [[-1] * i + [1] * (5 - i) for i in range(6)]
    eta = np.array([0.1, 0.8, 0.3, 0.75, 0.95])
    for chosen in thresholds:
        parts = risk_decomposition(eta, WEIGHTS, chosen, thresholds)
        assert sum(parts) == pytest.approx(true_risk(eta, chosen, WEIGHTS))
        assert parts.approximation > 0
        assert parts.estimation >= 0


def test_bayes_regressor_by_loss():
    joint, values = np.array([[0.1, 0.25, 0.05], [0.3, 0.1, 0.2], [0, 0, 0]]), np.array([0.0, 1, 4])
    mean = bayes_regressor(joint, values)
    assert mean[:2] == pytest.approx([0.45 / 0.4, 0.9 / 0.6])
    assert np.isnan(mean[2])
    median = bayes_regressor(joint, values, lambda z, t: np.abs(z - t))
    assert median[:2].tolist() == [1, 0]
    mode = bayes_regressor(joint, values, lambda z, t: (z != t) * 1.0)
    assert mode[:2].tolist() == [1, 0]
    high = bayes_regressor(
        joint, values, lambda z, t: np.where(t > z, 0.9 * (t - z), 0.1 * (z - t))
    )
    assert high[:2].tolist() == [4, 4]


def test_lookup_has_no_training_error_and_no_opinion_elsewhere():
    X = np.array([[1.0], [1.0], [1.0], [2.0], [-0.0]])
    rule = lookup_classifier(X, [1, 1, -1, -1, 1])
    assert rule([[1.0], [2.0], [0.0], [5.0]]).tolist() == [1, -1, 1, 0]


def test_learning_curve_of_a_histogram_falls():
    def histogram(X, y):
        sums = np.bincount(np.digitize(X, np.linspace(0, 4, 9)), y, minlength=10)
        return lambda Z: np.where(sums[np.digitize(Z, np.linspace(0, 4, 9))] > 0, 1, -1)

    curve = learning_curve(
        histogram, lambda rng, n: 4 * rng.random(n), hyperbola, [20, 2000], random_seed=0
    )
    assert curve.mean[0] > curve.mean[1] + 5 * np.hypot(*curve.error)
    assert (curve.mean >= 0).all()


def test_leave_one_out_is_unbiased_by_enumeration():
    """All samples of labels with P(+1) = 0.7, and the majority vote with ties to +1."""

    def majority(X, y):
        return lambda Z: np.full(len(Z), 1.0 if np.sum(y) >= 0 else -1.0)

    def mean_over_samples(m, value):
        return sum(
            0.7 ** sum(v > 0 for v in y) * 0.3 ** sum(v < 0 for v in y) * value(np.array(y))
            for y in product([-1, 1], repeat=m)
        )

    risks = [mean_over_samples(m, lambda y: 0.3 if y.sum() >= 0 else 0.7) for m in (1, 2, 3, 4, 5)]
    assert risks == pytest.approx([0.42, 0.336, 0.3864, 0.33348, 0.365232])
    for m in (2, 3, 4, 5):
        loo = mean_over_samples(m, lambda y: leave_one_out_risk(majority, np.zeros(len(y)), y))
        assert loo == pytest.approx(risks[m - 2])


def test_leave_one_out_of_ridge_is_its_closed_form():
    from bayeskern.classic.ridge import linear_ridge

    rng = np.random.default_rng(3)
    X, t = rng.normal(size=(12, 2)), rng.normal(size=12)
    loo = leave_one_out_risk(lambda X, t: linear_ridge(X, t, 0.4), X, t, lambda f, t: (f - t) ** 2)
    assert loo == pytest.approx(np.mean(linear_ridge(X, t, 0.4).loo_residuals ** 2))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"eta must be in \[0, 1\], got -0.1"):
        bayes_risk([-0.1, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"weights must sum to 1, got 0.9"):
        bayes_risk([0.1, 0.5], [0.5, 0.4])
    with pytest.raises(ValueError, match="density must integrate to 1"):
        integrate_bayes_risk(hyperbola, lambda x: 1.0, (0, 4))
    with pytest.raises(ValueError, match="at least one rule"):
        minimise_risk([], [1.0], [1])
    with pytest.raises(ValueError, match="at least two examples each, got 1 and 1"):
        leave_one_out_risk(lambda X, y: np.sign, [1.0], [1])
    with pytest.raises(ValueError, match="joint must hold probabilities"):
        bayes_regressor([[0.5, 0.6]], [0, 1])
