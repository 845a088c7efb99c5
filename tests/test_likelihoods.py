import pickle

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from bayeskern.likelihoods import Gaussian, Hinge, LabelFlip, Likelihood, Logit, Probit, Step
from bayeskern.priors import Prior

CLASSIFIERS = [
    Logit(),
    Logit(beta=0.5),
    Probit(),
    Probit(0.3),
    Step(),
    LabelFlip(0.1),
    Hinge(),
    Hinge(3.0),
]
SMOOTH = [Gaussian(0.7), Logit(), Logit(beta=0.5), Probit(), Probit(0.3)]
ALL = [Gaussian(0.7), *CLASSIFIERS]
F = np.array([-30.0, -3.0, -1.2, -0.4, 0.3, 0.9, 2.5, 40.0])


def test_no_likelihood_is_missing_here():
    assert set(Likelihood.__subclasses__()) <= {type(l) for l in ALL}


@pytest.mark.parametrize("likelihood", CLASSIFIERS, ids=repr)
class TestEveryClassifier:
    def test_probabilities_add_to_one(self, likelihood):
        f = np.append(F, 0.0)
        total = np.exp(likelihood.logp(1, f)) + np.exp(likelihood.logp(-1, f))
        np.testing.assert_allclose(total, 1, rtol=1e-14)

    def test_is_one_half_at_zero(self, likelihood):
        assert np.exp(likelihood.logp(1, 0.0)) == pytest.approx(0.5)
        assert likelihood.predict(0.0, 2.0) == pytest.approx(0.5)

    @pytest.mark.parametrize("f", [-1e4, 1e4])
    def test_never_overflows(self, likelihood, f):
        assert not np.isnan(likelihood.logp(np.array([-1.0, 1.0]), f)).any()
        for part in ("slope", "curvature", "third"):
            if hasattr(likelihood, part):
                assert np.isfinite(getattr(likelihood, part)(np.array([-1.0, 1.0]), f)).all()

    @pytest.mark.parametrize("mean", [-8.0, -1.0, 0.0, 0.4, 6.0])
    @pytest.mark.parametrize("sd", [0.05, 0.8, 3.0, 5.9, 6.1, 40.0])
    @pytest.mark.parametrize("y", [-1, 1])
    def test_tilted_moments_match_adaptive_quadrature(self, likelihood, mean, sd, y):
        log_z, m, v = likelihood.tilted(y, mean, sd**2)

        # the kinks of every likelihood here are among the edges, so each panel is smooth
        fine = np.geomspace(1e-7, 1, 80)
        edges = np.union1d(mean + sd * np.linspace(-40, 40, 401), np.linspace(-60, 60, 1201))
        edges = np.union1d(edges, [*fine, *-fine])
        nodes, weights = np.polynomial.legendre.leggauss(12)
        half = np.diff(edges) / 2
        t = (edges[:-1] + half)[:, None] + half[:, None] * nodes
        p = np.exp(likelihood.logp(y, t) + norm.logpdf(t, mean, sd) - float(log_z))
        p *= half[:, None] * weights
        total, first, second = p.sum(), (p * t).sum(), (p * (t - float(m)) ** 2).sum()
        assert total == pytest.approx(1, abs=3e-7)
        assert first == pytest.approx(float(m), rel=1e-6, abs=1e-6 * sd)
        assert second == pytest.approx(float(v), rel=1e-5)

    def test_tilted_moments_are_finite_far_out(self, likelihood):
        mean = np.array([-1e4, -50.0, 50.0, 1e4])
        for var in (1e-6, 1.0, 1e4):
            for part in likelihood.tilted(np.ones(4), mean, var):
                assert np.isfinite(part).all()

    def test_labels_are_drawn_with_their_probability(self, likelihood):
        draws = likelihood.sample(np.random.default_rng(0), np.full(4000, 0.3))
        p = np.exp(likelihood.logp(1, 0.3))
        assert set(np.unique(draws)) <= {-1.0, 1.0}
        assert abs((draws > 0).mean() - p) <= 4 * np.sqrt(p * (1 - p) / 4000)

    def test_other_labels_are_refused(self, likelihood):
        with pytest.raises(ValueError, match=r"labels -1 and \+1 only, got 0"):
            likelihood.read([0, 1], 2)


@pytest.mark.parametrize("likelihood", SMOOTH, ids=repr)
class TestDerivatives:
    @pytest.mark.parametrize(
        ("function", "derivative", "sign"),
        [("logp", "slope", 1), ("slope", "curvature", -1), ("curvature", "third", -1)],
    )
    def test_each_is_the_derivative_of_the_last(self, likelihood, function, derivative, sign):
        f, h = np.array([-5.0, -1.2, -0.4, 0.3, 0.9, 2.5]), 1e-5
        for y in (-1.0, 1.0):
            function_ = getattr(likelihood, function)
            numeric = sign * (function_(y, f + h) - function_(y, f - h)) / (2 * h)
            exact = getattr(likelihood, derivative)(y, f)
            np.testing.assert_allclose(exact, numeric, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("z", [-99.0, -100.0, -101.0, -500.0])
def test_probit_derivatives_join_their_asymptotic_forms(z):
    # log Phi(z) = -z^2/2 - log(-z) + sum_k c_k z^(-2k) + const, to the rounding error down here
    c = {1: -1.0, 2: 5 / 2, 3: -37 / 3, 4: 353 / 4}
    exact = [
        -z - 1 / z - sum(2 * k * c[k] * z ** (-2 * k - 1) for k in c),
        -1 + 1 / z**2 + sum(2 * k * (2 * k + 1) * c[k] * z ** (-2 * k - 2) for k in c),
        -2 / z**3 - sum(2 * k * (2 * k + 1) * (2 * k + 2) * c[k] * z ** (-2 * k - 3) for k in c),
    ]
    probit = Probit()
    assert probit.slope(1.0, z) == pytest.approx(exact[0], rel=1e-10)
    assert probit.curvature(1.0, z) == pytest.approx(-exact[1], rel=1e-9)
    assert probit.third(1.0, z) == pytest.approx(exact[2], rel=1e-3)


def test_gaussian_density_and_product():
    likelihood = Gaussian(0.7)
    assert likelihood.logp(0.3, 1.0) == pytest.approx(norm.logpdf(0.3, 1.0, 0.7))
    log_z, mean, var = likelihood.tilted(0.3, 1.0, 2.0)
    assert log_z == pytest.approx(norm.logpdf(0.3, 1.0, np.sqrt(2.49)))
    assert 1 / var == pytest.approx(1 / 2.0 + 1 / 0.49)
    assert mean / var == pytest.approx(1.0 / 2.0 + 0.3 / 0.49)


@pytest.mark.parametrize(
    ("beta", "q"), [(0.1, 4.5398e-5), (0.5, 0.1192029), (1, 0.2689414), (2, 0.3775407), (0, 0.0)]
)
def test_flip_rate_of_the_zero_one_inverse_loss(beta, q):
    assert LabelFlip.from_beta(beta).q == pytest.approx(q, rel=1e-5)


@pytest.mark.parametrize(("f", "z"), [(0, 0.735759), (0.5, 0.829661), (1, 1.135335), (2, 1.049787)])
def test_hinge_is_normalised_by_its_sum_over_labels(f, z):
    hinge = np.exp(-max(1 - f, 0.0))
    assert np.exp(Hinge().logp(1, f)) == pytest.approx(hinge / z, rel=1e-5)


def test_logit_in_both_conventions():
    assert np.exp(Logit(beta=1.0).logp(1, 0.7)) == pytest.approx(expit(2 * 0.7))
    assert np.exp(Logit(slope=0.5).logp(-1, 0.7)) == pytest.approx(expit(-0.5 * 0.7))
    with pytest.raises(ValueError, match="beta or slope, not both"):
        Logit(1.0, slope=2.0)
    with pytest.raises(ValueError, match=r"got 0; the limit of no noise is Step\(\)"):
        Logit(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0), "sigma must be positive, got 0.0"),
        (lambda: Gaussian(np.nan), "sigma must be a finite number, got nan"),
        (lambda: Probit(-1), "scale must be positive, got -1"),
        (lambda: LabelFlip(0.5), r"q must be in \[0, 0.5\), got 0.5"),
        (lambda: Hinge(0), "C must be positive, got 0"),
        (lambda: Logit("a"), "beta must be a finite number, got 'a'"),
    ],
)
def test_bad_parameters_are_refused_in_words(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("likelihood", [*ALL, Gaussian(Prior("HalfNormal"))], ids=repr)
def test_prints_pickles_and_compares(likelihood):
    assert pickle.loads(pickle.dumps(likelihood)) == likelihood == eval(repr(likelihood))


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", ALL, ids=repr)
def test_pymc_twin_has_the_same_log_probability(likelihood):
    import pymc as pm

    f = np.array([-3.0, -1.2, -0.4, 0.3, 0.9, 2.5])
    y = np.array([0.1, -0.7, 2.0, 0, 1, 3]) if not likelihood.classifies else np.sign(f)
    with pm.Model() as model:
        latent = pm.Normal("f", 0, 1, shape=len(f))
        likelihood.observe("y", latent, y)
    total = model.compile_logp(vars=[model["y"]], sum=True, mode="FAST_COMPILE")({"f": f})
    assert total == pytest.approx(likelihood.logp(y, f).sum(), rel=1e-10, abs=1e-12)
