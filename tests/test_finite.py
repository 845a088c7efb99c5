"""Finitely many hypotheses: posterior, evidence, strategies."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

import bayeskern as bk
from bayeskern.bayes.evidences import (
    Evidence,
    MixedEvidenceWarning,
    average_models,
    model_posterior,
)
from bayeskern.bayes.finite import FiniteBayes, evidence_surface, inverse_loss, zero_one
from bayeskern.classic.losses import HingeLoss
from bayeskern.errors import ZeroEvidenceError

ALL = np.array(list(itertools.product([-1, 1], repeat=5)))
# two-sided thresholds on five ordered points: at most one change of sign
SIMPLE = ALL[(np.diff(ALL, axis=1) != 0).sum(axis=1) <= 1]
Y1, Y2 = [-1, -1, 1, 1, 1], [1, -1, 1, -1, 1]


class TestFigure31:
    """Herbrich (2002), figure 3.1, by exact arithmetic."""

    def test_there_are_ten_simple_labellings(self):
        assert len(SIMPLE) == 10

    def test_without_noise(self):
        simple, rich = FiniteBayes(SIMPLE, Y1), FiniteBayes(ALL, Y1)
        assert np.exp(simple.evidence.log_value) == pytest.approx(0.1, rel=1e-12)
        assert np.exp(rich.evidence.log_value) == pytest.approx(1 / 32, rel=1e-12)
        posterior = model_posterior([simple.evidence, rich.evidence])
        assert posterior[0] == pytest.approx(16 / 21, rel=1e-12)
        assert FiniteBayes(SIMPLE, Y2).evidence.log_value == -np.inf

    @pytest.mark.parametrize(
        ("y", "value", "mass"), [(Y1, 0.0696043, 0.6901470), (Y2, 0.0055118, 0.1499334)]
    )
    def test_with_noise(self, y, value, mass):
        simple, rich = FiniteBayes(SIMPLE, y, beta=0.5), FiniteBayes(ALL, y, beta=0.5)
        assert np.exp(simple.evidence.log_value) == pytest.approx(value, abs=5e-8)
        posterior = model_posterior([simple.evidence, rich.evidence])
        assert posterior[0] == pytest.approx(mass, abs=5e-8)

    @pytest.mark.parametrize("beta", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("space", [SIMPLE, ALL])
    def test_evidence_is_a_distribution_over_labellings(self, space, beta):
        labellings, logs = evidence_surface(space, beta=beta)
        assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-12)
        k = labellings.tolist().index(Y1)
        assert logs[k] == pytest.approx(FiniteBayes(space, Y1, beta=beta).evidence.log_value)


class TestLikelihood:
    @pytest.mark.parametrize(
        ("beta", "rate"), [(0.1, 4.5398e-5), (0.5, 0.1192029), (1.0, 0.2689414), (2.0, 0.3775407)]
    )
    def test_zero_one_loss_flips_labels(self, beta, rate):
        assert np.exp(inverse_loss([1.0], beta=beta))[0, 0] == pytest.approx(rate, abs=5e-8)

    def test_margin_loss_is_the_sigmoid(self):
        t = np.linspace(-3, 3, 7)
        table = inverse_loss(t, loss=lambda f, y: -y * f, beta=0.7)
        np.testing.assert_allclose(np.exp(table[:, 1]), expit(2 * t / 0.7), rtol=1e-12)

    def test_limits(self):
        t = np.array([0.4, 1.0, 2.0])
        cold = inverse_loss(t, (0, 1, 2), loss=lambda f, y: (f - y) ** 2)
        np.testing.assert_array_equal(np.exp(cold), np.eye(3))
        near = inverse_loss(t, (0, 1, 2), loss=lambda f, y: (f - y) ** 2, beta=1e-3)
        np.testing.assert_allclose(np.exp(near), np.eye(3), atol=1e-12)
        hot = inverse_loss(t, (0, 1, 2), loss=lambda f, y: (f - y) ** 2, beta=1e9)
        np.testing.assert_allclose(np.exp(hot), 1 / 3, rtol=1e-8)

    def test_an_output_that_is_no_label_is_shared_in_the_limit(self):
        np.testing.assert_allclose(np.exp(inverse_loss([0.0])), [[0.5, 0.5]])

    def test_losses_of_the_package_serve(self):
        # by hand: hinge losses 0.5 and 1.5 at the output 0.5
        table = inverse_loss([0.5], loss=HingeLoss(), beta=2.0)
        assert np.exp(table[0, 1]) == pytest.approx(expit((1.5 - 0.5) / 2.0))


class TestPosterior:
    def test_is_bayes_rule(self):
        rng = np.random.default_rng(0)
        H, y, prior = rng.choice([-1, 1], (6, 4)), rng.choice([-1, 1], 4), rng.dirichlet(np.ones(6))
        q = 1 / (1 + np.exp(1 / 0.8))
        errors = (y != H).sum(axis=1)
        joint = prior * q**errors * (1 - q) ** (4 - errors)
        model = FiniteBayes(H, y, np.log(prior), beta=0.8)
        np.testing.assert_allclose(model.posterior, joint / joint.sum(), rtol=1e-12)
        assert model.evidence.log_value == pytest.approx(np.log(joint.sum()), rel=1e-12)
        assert model.evidence.kind == "exact"

    def test_pac_evidence_is_the_prior_mass_of_version_space(self):
        prior = np.arange(1.0, 11)
        mass = prior[(SIMPLE[:, :2] == [-1, -1]).all(axis=1)].sum() / prior.sum()
        model = FiniteBayes(SIMPLE[:, :2], [-1, -1], np.log(prior))
        assert np.exp(model.evidence.log_value) == pytest.approx(mass, rel=1e-12)

    def test_thousands_of_points_do_not_underflow(self):
        H = np.array([np.ones(5000), -np.ones(5000)])
        y = np.where(np.arange(5000) % 3 == 0, -1, 1)
        model = FiniteBayes(H, y, beta=1.0)
        assert model.evidence.log_value < -3000
        np.testing.assert_allclose(model.posterior, [1.0, 0.0], atol=1e-300)

    def test_contradicted_hypotheses_are_a_named_error(self):
        model = FiniteBayes(SIMPLE, Y2)
        with pytest.raises(ZeroEvidenceError, match="a positive beta allows"):
            model.posterior  # noqa: B018
        with pytest.raises(ZeroEvidenceError):
            model.bayes(SIMPLE)

    def test_pickles_without_what_it_cached(self):
        model = FiniteBayes(SIMPLE, Y1, beta=1.0)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(model.posterior, again.posterior)

    @pytest.mark.slow
    def test_pymc_model_is_the_same_density(self):
        model = FiniteBayes(SIMPLE, Y1, np.log(np.arange(1.0, 11)), beta=0.5)
        logp = model.model.compile_logp()
        found = np.array([logp({"h": np.array(h)}) for h in range(10)])
        np.testing.assert_allclose(
            found - model.evidence.log_value, model.log_posterior, rtol=1e-10
        )


class TestStrategies:
    """Posterior (.4, .3, .3), hypotheses that say +, -, - at the new point."""

    model = FiniteBayes(np.ones((3, 1)), [1], np.log([0.4, 0.3, 0.3]))
    new = np.array([[1.0], [-1.0], [-1.0]])

    def test_disagree(self):
        np.testing.assert_allclose(self.model.posterior, [0.4, 0.3, 0.3], rtol=1e-12)
        assert self.model.map(self.new) == [1]
        assert self.model.bayes(self.new) == [-1]
        assert self.model.decision(self.new) == pytest.approx([-0.2])
        np.testing.assert_allclose(self.model.predict_proba(self.new), [[0.6, 0.4]], rtol=1e-12)

    def test_gibbs_draws_anew_for_every_point(self):
        drawn = self.model.gibbs(np.tile(self.new, 4000), np.random.default_rng(1))
        assert binomtest(int((drawn == 1).sum()), 4000, 0.4).pvalue > 1e-3

    def test_ties_go_to_the_last_label(self):
        flat = FiniteBayes(np.ones((2, 1)), [1])
        new = np.array([[1.0], [-1.0]])
        assert flat.bayes(new) == [1] and flat.decision(new) == [0]
        np.testing.assert_array_equal(flat.most_probable, [0, 1])

    def test_bayes_follows_the_loss(self):
        # a false alarm costs 1, a miss 5: the vote alone would say -1
        costs = lambda f, y: np.where(f != y, np.where(y > 0, 5.0, 1.0), 0.0)  # noqa: E731
        model = FiniteBayes(np.ones((3, 1)), [1], np.log([0.4, 0.3, 0.3]), loss=costs)
        by_hand = {1: 0.6 * 5.0, -1: 0.4 * 1.0}
        assert model.bayes(self.new)[0] == min(by_hand, key=by_hand.get)
        assert FiniteBayes([[0], [1], [2]], [1], beta=9, labels=(0, 1, 2)).bayes(
            [[0], [2], [2]]
        ) == [2]

    @pytest.mark.parametrize("seed", range(20))
    def test_bayes_errs_at_most_twice_as_often_as_gibbs(self, seed):
        rng = np.random.default_rng(seed)
        H, new = rng.choice([-1, 1], (30, 6)), rng.choice([-1, 1], (30, 50))
        model = FiniteBayes(H, rng.choice([-1, 1], 6), beta=rng.uniform(0.3, 3))
        truth = rng.choice([-1, 1], 50)
        gibbs = (model.posterior @ (new != truth)).mean()
        assert (model.bayes(new) != truth).mean() <= 2 * gibbs


class TestModels:
    def test_prior_over_models_counts(self):
        got = model_posterior([Evidence(np.log(0.2)), Evidence(np.log(0.1))], np.log([0.25, 0.75]))
        np.testing.assert_allclose(got, [0.4, 0.6], rtol=1e-12)

    def test_average_is_the_posterior_of_one_large_space(self):
        """Averaging two spaces is Bayes in their union, with the prior split between them."""
        new = np.random.default_rng(3).choice([-1, 1], (42, 3))
        parts = [FiniteBayes(SIMPLE, Y1, beta=0.6), FiniteBayes(ALL, Y1, beta=0.6)]
        weights = model_posterior([p.evidence for p in parts])
        average = average_models(
            [parts[0].predict_proba(new[:10]), parts[1].predict_proba(new[10:])], weights
        )
        prior = np.concatenate([np.full(10, 0.05), np.full(32, 1 / 64)])
        union = FiniteBayes(np.vstack([SIMPLE, ALL]), Y1, np.log(prior), beta=0.6)
        np.testing.assert_allclose(average, union.predict_proba(new), rtol=1e-12)

    def test_mixing_kinds_warns(self):
        with pytest.warns(MixedEvidenceWarning, match="exact, laplace"):
            model_posterior([Evidence(-3.0), Evidence(-3.0, "laplace")])

    def test_reads_what_a_method_recorded(self):
        gp = bk.GaussianProcess([[0.0], [1.0], [2.0]], [0, 1, 0], bk.RBF(), bk.Gaussian(0.1**0.5))
        found = Evidence.of(bk.Exact().run(gp, random_seed=0))
        assert found.kind == "exact" and found.log_value == pytest.approx(-3.49357802, abs=1e-8)

    def test_impossible_under_all(self):
        with pytest.raises(ZeroEvidenceError, match="no model"):
            model_posterior([Evidence(-np.inf), Evidence(-np.inf)])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FiniteBayes([[1, np.nan]], [1, 1]), "hypotheses must be finite"),
        (lambda: FiniteBayes([[1, 1]], [1]), "one label per column"),
        (lambda: FiniteBayes([[1, 1]], [1, 0]), "got 0"),
        (lambda: FiniteBayes([[1, 1]], [1, 1], beta=-1.0), "beta must be non-negative"),
        (lambda: FiniteBayes([[1, 1]], [1, 1], [0.0, 0.0]), "log_prior_mass must have shape"),
        (lambda: FiniteBayes([[1, 1]], [1, 1], [-np.inf]), "at least one possibility"),
        (lambda: FiniteBayes([[1, 1]], [1, 1], labels=(1,)), "two or more values"),
        (lambda: FiniteBayes([[1, 1]], [1, 1]).bayes([[1], [1]]), "one row per hypothesis"),
        (lambda: Evidence(np.nan), "log_value"),
        (lambda: average_models([[0.5], [0.5]], [0.7, 0.7]), "sum to 1"),
        (lambda: model_posterior([]), "at least one model"),
    ],
)
def test_bad_input_is_one_sentence(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_zero_one_counts_a_number_between_labels_as_wrong():
    np.testing.assert_array_equal(zero_one(np.array([0.2]), np.array([1.0])), [1.0])
