import numpy as np
import pytest
from scipy.stats import bernoulli, multivariate_normal, norm, poisson
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from bayeskern.classic.exponential import (
    BernoulliFeatures,
    GaussianFeatures,
    PoissonFeatures,
    exponential_discriminant,
)

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(60) < 0.4, 1, -1)
SHIFT = (Y[:, None] > 0) * np.array([1.0, 0.5, 0.0])
DATA = {
    GaussianFeatures(): RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 3)) + SHIFT,
    GaussianFeatures(diagonal=True): RNG.normal(size=(60, 3)) + SHIFT,
    BernoulliFeatures(): (RNG.random((60, 3)) < 0.3 + 0.4 * SHIFT).astype(float),
    PoissonFeatures(): RNG.poisson(1 + 2 * SHIFT).astype(float),
}


def densities(family, X, fit_on):
    """Log densities by SciPy, with moments taken from the class sample."""
    n = len(fit_on)
    if isinstance(family, GaussianFeatures):
        mean, S = fit_on.mean(axis=0), np.cov(fit_on.T, ddof=0)
        if family.diagonal:
            return norm(mean, np.sqrt(S.diagonal())).logpdf(X).sum(axis=1)
        return multivariate_normal(mean, S).logpdf(X)
    if isinstance(family, BernoulliFeatures):
        return bernoulli((fit_on.sum(axis=0) + 1) / (n + 2)).logpmf(X).sum(axis=1)
    return poisson((fit_on.sum(axis=0) + 1) / (n + 1)).logpmf(X).sum(axis=1)


@pytest.mark.parametrize("family", DATA, ids=repr)
def test_log_odds_are_linear_in_the_statistics(family):
    X = DATA[family]
    found = exponential_discriminant(X, Y, family)
    p = np.mean(Y > 0)
    parts = np.column_stack([densities(family, X, X[Y < 0]), densities(family, X, X[Y > 0])])
    np.testing.assert_allclose(found.log_density(X), parts, rtol=1e-9, atol=1e-9)
    odds = parts[:, 1] - parts[:, 0] + np.log(p / (1 - p))
    np.testing.assert_allclose(found(X), odds, atol=1e-9)
    tau = np.column_stack([family.statistics(X), np.ones(60)])
    np.testing.assert_allclose(tau @ np.append(found.w, found.b), odds, atol=1e-9)
    np.testing.assert_allclose(found.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)))


def test_peers_of_scikit_learn():
    peers = [
        (GaussianFeatures(diagonal=True), GaussianNB(var_smoothing=0)),
        (BernoulliFeatures(), BernoulliNB(alpha=1.0)),
    ]
    for family, peer in peers:
        X = DATA[family]
        ours = exponential_discriminant(X, Y, family).predict_proba(X)
        np.testing.assert_allclose(ours, peer.fit(X, Y).predict_proba(X), atol=1e-9)


def test_full_covariance_tends_to_quadratic_discriminant_analysis():
    X, y = np.tile(DATA[GaussianFeatures()], (2000, 1)), np.tile(Y, 2000)  # n - 1 or n is then one
    ours = exponential_discriminant(X, y, GaussianFeatures()).predict_proba(X[:60])
    peer = QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X[:60])
    np.testing.assert_allclose(ours, peer, atol=1e-4)


def test_prior_moves_the_offset_alone():
    X = DATA[PoissonFeatures()]
    even, rare = (exponential_discriminant(X, Y, PoissonFeatures(), prior=p) for p in (0.5, 0.1))
    np.testing.assert_array_equal(even.w, rare.w)
    assert even.b - rare.b == pytest.approx(np.log(9))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="X must hold 0 and 1 only, got 2"):
        exponential_discriminant([[2.0], [0.0]], [1, -1], BernoulliFeatures())
    with pytest.raises(ValueError, match=r"X must hold counts, got 0\.5"):
        exponential_discriminant([[0.5], [0.0]], [1, -1], PoissonFeatures())
    with pytest.raises(ValueError, match="both classes"):
        exponential_discriminant([[1.0], [0.0]], [1, 1], PoissonFeatures())
    with pytest.raises(np.linalg.LinAlgError, match="1 points of 2 features is singular"):
        exponential_discriminant([[1.0, 2.0], [0.0, 1.0]], [1, -1], GaussianFeatures())
    with pytest.raises(ValueError, match=r"prior must be in \(0, 1\)"):
        exponential_discriminant([[1.0], [0.0]], [1, -1], PoissonFeatures(), prior=0)
