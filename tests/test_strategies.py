"""MAP, Bayes and Gibbs strategies on fitted estimators."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest, invwishart, multivariate_normal, norm

import bayeskern as bk
from bayeskern import strategies
from bayeskern.bayes.fisher import BayesFisher


def two_clouds(seed, n=40, gap=0.6):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    return rng.normal(size=(n, 2)) + gap * y[:, None], y


X, Y = two_clouds(0)
NEW, LABELS = two_clouds(1, 200)
FITS = {
    "gp": bk.GPClassifier(3.0 * bk.RBF(1.5), inference=bk.Laplace(), random_state=0),
    "ep": bk.GPClassifier(3.0 * bk.RBF(1.5), inference=bk.EP(), random_state=0),
    "chain": bk.GPClassifier(
        3.0 * bk.RBF(1.5), inference=bk.EllipticalSlice(draws=150, tune=100), random_state=0
    ),
    "bayes_point": bk.BayesPointClassifier(
        inference=bk.ConeHMC(draws=150, chains=2), random_state=0
    ),
    "rvm": bk.RVMClassifier(bk.RBF(1.5), random_state=0),
    "fisher": bk.BayesFisherClassifier(m0=0.0, Psi0=1.0, random_state=0),
}


@pytest.fixture(scope="module", params=FITS)
def fit(request):
    return FITS[request.param].fit(X, np.where(Y > 0, "yes", "no"))


class TestEveryEstimator:
    def test_bayes_errs_at_most_twice_as_often_as_gibbs(self, fit):
        vote, truth = strategies.vote(fit, NEW), LABELS > 0
        gibbs = np.mean(np.where(truth, 1 - vote, vote))
        wrong = np.mean((strategies.bayes(fit, NEW) == "yes") != truth)
        assert wrong <= 2 * gibbs

    def test_gibbs_follows_the_vote(self, fit):
        point = NEW[np.abs(strategies.vote(fit, NEW) - 0.5).argmin()]
        p = strategies.vote(fit, point[None])[0]
        drawn = strategies.gibbs(fit, np.tile(point, (2000, 1)), np.random.default_rng(3))
        assert binomtest(int((drawn == "yes").sum()), 2000, p).pvalue > 1e-4

    def test_all_agree_where_the_posterior_is_sure(self, fit):
        vote = strategies.vote(fit, NEW)
        sure = NEW[(vote > 0.995) | (vote < 0.005)]
        if len(sure):
            np.testing.assert_array_equal(strategies.map(fit, sure), strategies.bayes(fit, sure))
        assert (strategies.map(fit, NEW) == strategies.bayes(fit, NEW)).mean() > 0.85


def test_vote_of_a_gaussian_state_is_its_normal_tail():
    fit = FITS["gp"].fit(X, Y)
    mean, cov = fit.latent_gaussian(NEW[:5])
    expected = norm.cdf(mean / np.sqrt(np.diagonal(cov) if cov.ndim == 2 else cov))
    np.testing.assert_allclose(strategies.vote(fit, NEW[:5]), expected, rtol=1e-8)
    np.testing.assert_array_equal(strategies.map(fit, NEW[:5]), np.where(mean >= 0, 1, -1))


def test_bayes_of_a_bayes_point_machine_is_its_own():
    fit = FITS["bayes_point"].fit(X, Y)
    np.testing.assert_array_equal(strategies.bayes(fit, NEW), fit.predict(NEW))


@pytest.mark.parametrize("seed", range(8))
def test_lemma_on_simulated_discriminants(seed):
    points, y = two_clouds(seed, 8, gap=0.2)
    new, truth = two_clouds(seed + 100, 300, gap=0.2)
    fit = bk.BayesFisherClassifier(m0=0.0, Psi0=1.0, random_state=0).fit(points, y)
    vote = strategies.vote(fit, new)
    gibbs = np.mean(np.where(truth > 0, 1 - vote, vote))
    assert np.mean(strategies.bayes(fit, new) != truth) <= 2 * gibbs


def test_map_and_bayes_differ_somewhere():
    """Unequal classes: the vote of all discriminants is not the most probable discriminant."""
    points, y = two_clouds(4, 7, gap=0.3)
    fit = bk.BayesFisherClassifier(m0=0.0, Psi0=1.0, shared=False, random_state=0).fit(points, y)
    new = np.random.default_rng(0).normal(size=(2000, 2)) * 2
    assert (strategies.map(fit, new) != strategies.bayes(fit, new)).any()


@pytest.mark.parametrize("shared", [True, False])
def test_mode_of_the_discriminant_is_a_maximum(shared):
    """No direction of means, covariance or class probability raises scipy's density."""
    problem = BayesFisher(X[:12], Y[:12], shared=shared)
    mode = strategies.fisher_mode(problem)

    def log_posterior(mu, cov, p):
        total = 0.0
        for c in range(2):
            S = cov if shared else cov[c]
            total += multivariate_normal(problem.m0, S / problem.kappa0).logpdf(mu[c])
            own = X[:12][(Y[:12] > 0) == bool(c)]
            total += multivariate_normal(mu[c], S).logpdf(own).sum()
            total += len(own) * np.log(p if c else 1 - p)
        parts = [cov] if shared else cov
        return total + sum(invwishart(problem.nu0, problem.Psi0).logpdf(S) for S in parts)

    best = log_posterior(**mode)
    rng = np.random.default_rng(0)
    for _ in range(60):
        E = rng.normal(size=mode["cov"].shape) * 0.01
        moved = {
            "mu": mode["mu"] + 0.01 * rng.normal(size=(2, 2)),
            "cov": mode["cov"] + E + np.swapaxes(E, -1, -2),
            "p": mode["p"] + 0.01 * rng.normal(),
        }
        assert log_posterior(**moved) < best
    scaled = minimize(
        lambda s: -log_posterior(mode["mu"], mode["cov"] * np.exp(s[0]), mode["p"]), [0.3]
    )
    assert abs(scaled.x[0]) < 1e-4


def test_three_classes_and_machines_without_posterior_are_refused():
    gp = bk.GPClassifier(bk.RBF(), inference=bk.Laplace()).fit(X, np.arange(40) % 3)
    with pytest.raises(ValueError, match="two classes"):
        strategies.bayes(gp, X)
    with pytest.raises(ValueError, match="need a posterior"):
        strategies.vote(bk.classic.FisherClassifier().fit(X, Y), X)
