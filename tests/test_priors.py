import pickle

import numpy as np
import pytest

from bayeskern.priors import _DENSITIES, Prior

PRIORS = [
    Prior("Exponential", lam=0.7),
    Prior("Gamma", alpha=2.5, beta=1.5),
    Prior("HalfCauchy", beta=1.3),
    Prior("HalfNormal", sigma=2.0),
    Prior("HalfStudentT", nu=3, sigma=1.7),
    Prior("InverseGamma", alpha=3, beta=2),
    Prior("LogNormal", mu=-0.5, sigma=0.8),
    Prior("Weibull", alpha=1.7, beta=0.9),
]


def test_every_density_is_in_the_list():
    assert {p.distribution for p in PRIORS} == set(_DENSITIES)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
class TestEveryPrior:
    def test_density_integrates_to_one(self, prior):
        from scipy.integrate import quad

        total, _ = quad(lambda u: np.exp(prior.logp(np.exp(u)) + u), -40, 40, limit=400)
        assert total == pytest.approx(1, abs=1e-7)

    def test_slope_is_the_derivative(self, prior):
        x, h = np.array([0.3, 1.0, 4.0]), 1e-6
        numeric = [(prior.logp(v + h) - prior.logp(v - h)) / (2 * h) for v in x]
        np.testing.assert_allclose(prior.slope(x), numeric, rtol=1e-6, atol=1e-8)

    def test_median_splits_the_mass(self, prior):
        from scipy.integrate import quad

        below, _ = quad(lambda u: np.exp(prior.logp(np.exp(u)) + u), -40, np.log(prior.median()))
        assert below == pytest.approx(0.5, abs=1e-6)

    def test_draws_have_the_median(self, prior):
        draws = prior.sample(np.random.default_rng(0), 4000)
        share = (draws < prior.median()).mean()
        assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(4000)

    def test_pickles_and_evaluates_back(self, prior):
        assert pickle.loads(pickle.dumps(prior)) == prior == eval(repr(prior))

    @pytest.mark.slow
    def test_density_is_pymcs(self, prior):
        import pymc as pm

        with pm.Model():
            rv = prior.rv("theta")
        x = np.array([0.2, 1.0, 3.0])
        np.testing.assert_allclose(pm.logp(rv, x).eval(), [prior.logp(v) for v in x])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Normal", {"mu": 0}), "must be one of .* got 'Normal'"),
        (("Gamma", {"alpha": 2}), "Gamma needs beta"),
        (("Gamma", {"alpha": 2, "beta": -1}), "Gamma beta must be positive, got -1"),
        (("Gamma", {"alpha": 2, "rate": 1}), "has parameters alpha, beta, got 'rate'"),
        (("HalfNormal", {"sigma": np.nan}), "must be a finite number, got nan"),
        (("HalfNormal", {"size": 0}), "size must be at least 1, got 0"),
    ],
)
def test_bad_priors_are_refused_in_words(arguments, message):
    name, parameters = arguments
    with pytest.raises(ValueError, match=message):
        Prior(name, **parameters)


def test_a_vector_prior_sums_its_density_and_draws_its_shape():
    one, three = Prior("HalfNormal", sigma=2.0), Prior("HalfNormal", sigma=2.0, size=3)
    assert three.logp([1, 2, 3]) == pytest.approx(sum(one.logp(v) for v in (1, 2, 3)))
    assert three.sample(np.random.default_rng(0), 5).shape == (5, 3)
    assert three.median().shape == (3,)
