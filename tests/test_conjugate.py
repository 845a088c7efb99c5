"""Conjugate pairs against scipy's densities and quadrature."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bayeskern.conjugate import BetaBinomial, NormalInverseWishart
from bayeskern.errors import NotPSDError

RNG = np.random.default_rng(4)
POINTS, CLASSES = RNG.normal(size=(9, 3)) * [1.0, 2.0, 0.5] + 0.7, np.arange(9) % 2
PSI = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 1.5]])
PRIOR = NormalInverseWishart([[0.0, 0.5, 0.0], [1.0, 0.0, 0.0]], [0.5, 2.0], 4.5, PSI)


class TestBetaBinomial:
    def test_is_the_integral(self):
        belief = BetaBinomial(2.0, 3.0)
        by_hand = quad(lambda p: stats.beta(2, 3).pdf(p) * stats.binom(10, p).pmf(7), 0, 1)[0]
        assert np.exp(belief.log_evidence(7, 3)) == pytest.approx(by_hand, rel=1e-9)
        assert by_hand == pytest.approx(0.0799200799, abs=1e-10)
        assert belief.update(7, 3) == BetaBinomial(9.0, 6.0) and belief.update(7, 3).mean == 0.6

    def test_counts_of_n_trials_sum_to_one(self):
        total = sum(np.exp(BetaBinomial(0.3, 1.7).log_evidence(i, 12 - i)) for i in range(13))
        assert total == pytest.approx(1.0, rel=1e-12)

    def test_a_sequence_is_the_product_of_its_steps(self):
        belief, log = BetaBinomial(1.0, 2.0), 0.0
        for success in (1, 0, 1, 1):
            log += np.log(belief.mean if success else 1 - belief.mean)
            belief = belief.update(success, 1 - success)
        assert BetaBinomial(1.0, 2.0).log_evidence(3, 1, ordered=True) == pytest.approx(log)


class TestNormalInverseWishart:
    def test_predictive_is_students_t(self):
        post = PRIOR.update(POINTS, CLASSES)
        got = post.log_predictive(POINTS)
        df = post.nu - 3 + 1
        for c in range(2):
            shape = (post.kappa[c] + 1) / (post.kappa[c] * df) * post.Psi
            t = stats.multivariate_t(post.m[c], shape, df)
            np.testing.assert_allclose(got[:, c], t.logpdf(POINTS), rtol=1e-10)

    def test_evidence_is_the_product_of_one_step_predictives(self):
        belief, log = PRIOR, 0.0
        for x, c in zip(POINTS[:, None], CLASSES, strict=True):
            log += belief.log_predictive(x)[0, c]
            belief = belief.update(x, [c])
        assert PRIOR.log_evidence(POINTS, CLASSES) == pytest.approx(log, abs=1e-11)
        whole = PRIOR.update(POINTS, CLASSES)
        np.testing.assert_allclose(belief.Psi, whole.Psi, atol=1e-12)
        np.testing.assert_allclose(belief.m, whole.m, atol=1e-12)

    def test_evidence_is_likelihood_times_prior_over_posterior(self):
        """Bayes' rule at one value of the parameters, with scipy's densities."""
        post = PRIOR.update(POINTS, CLASSES)
        Sigma, mu = post.Psi / post.nu, post.m + 0.1

        def density(belief):
            log = stats.invwishart(belief.nu, belief.Psi).logpdf(Sigma)
            for c in range(2):
                log += stats.multivariate_normal(belief.m[c], Sigma / belief.kappa[c]).logpdf(mu[c])
            return log

        likelihood = sum(
            stats.multivariate_normal(mu[c], Sigma).logpdf(x)
            for x, c in zip(POINTS, CLASSES, strict=True)
        )
        by_hand = likelihood + density(PRIOR) - density(post)
        assert PRIOR.log_evidence(POINTS, CLASSES) == pytest.approx(by_hand, abs=1e-9)

    def test_draws_have_the_moments(self):
        belief = NormalInverseWishart(PRIOR.m, PRIOR.kappa, 12.0, PSI)
        mu, Sigma = belief.sample(np.random.default_rng(0), 40_000)
        error = Sigma.std(axis=0) / 200
        assert (np.abs(Sigma.mean(axis=0) - belief.mean_cov) / error).max() < 4
        assert (np.abs(mu.mean(axis=0) - belief.m) / (mu.std(axis=0) / 200)).max() < 4
        for c in range(2):
            np.testing.assert_allclose(
                np.cov(mu[:, c].T), belief.mean_cov / belief.kappa[c], atol=0.02
            )

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"nu": 2.0}, "more than p - 1 = 2"),
            ({"kappa": [0.5, 0.0]}, "kappa must hold 2 positive"),
            ({"Psi": np.eye(2)}, "Psi must have shape"),
        ],
    )
    def test_bad_input(self, change, text):
        settings = {"m": PRIOR.m, "kappa": PRIOR.kappa, "nu": 4.5, "Psi": PSI} | change
        with pytest.raises(ValueError, match=text):
            NormalInverseWishart(**settings)

    def test_indefinite_scale(self):
        with pytest.raises(NotPSDError, match="Psi"):
            NormalInverseWishart([[0.0, 0.0]], [1.0], 4.0, [[1.0, 2.0], [2.0, 1.0]])
