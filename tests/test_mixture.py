from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from bayeskern.bayes.mixture import GaussianMixture

X = np.array([[-1.3], [-1.0], [-0.8], [0.1], [0.9], [1.2]])
SETTINGS = {"kappa": 0.1, "shape": 3.0, "rate": 0.5}
PROBLEM = GaussianMixture(X, 2, [0, 0, 0, 1, 1, 1], **SETTINGS)


def log_marginal(x, kappa, shape, rate):
    """Of one cluster under the normal-inverse-gamma prior, in closed form."""
    n = len(x)
    if n == 0:
        return 0.0
    mean = x.mean()
    rate_n = rate + 0.5 * ((x - mean) ** 2).sum() + 0.5 * kappa * n * mean**2 / (kappa + n)
    return (
        gammaln(shape + n / 2)
        - gammaln(shape)
        + shape * np.log(rate)
        - (shape + n / 2) * np.log(rate_n)
        + 0.5 * np.log(kappa / (kappa + n))
        - n / 2 * np.log(2 * np.pi)
    )


def exact_together():
    """Probability that two points share a component, over all allocations."""
    n, logs, same = len(X), [], []
    for z in product((0, 1), repeat=n):
        z = np.array(z)
        counts = np.bincount(z, minlength=2)
        prior = gammaln(2) - gammaln(2 + n) + gammaln(1 + counts).sum()
        logs.append(prior + sum(log_marginal(X[z == j, 0], **SETTINGS) for j in (0, 1)))
        same.append(z[:, None] == z)
    p = np.exp(np.array(logs) - logsumexp(logs))
    return np.tensordot(p, np.array(same, float), 1)


def draws(rng, chains=2, n=5, k=2, d=1):
    return {
        "weight": rng.dirichlet(np.ones(k), (chains, n)),
        "mean": rng.standard_normal((chains, n, k, d)),
        "variance": rng.gamma(2.0, 0.3, (chains, n, k, d)),
    }


def test_log_likelihood_by_hand():
    posterior = draws(np.random.default_rng(0))
    found = PROBLEM.log_likelihood(posterior)["x"]
    w, m, v = (posterior[name][1, 3] for name in ("weight", "mean", "variance"))
    expected = [
        np.log(sum(w[j] * stats.norm.pdf(x, m[j, 0], np.sqrt(v[j, 0])) for j in (0, 1)))
        for x in X[:, 0]
    ]
    np.testing.assert_allclose(found[1, 3], expected)


def test_renaming_undoes_label_switching():
    rng = np.random.default_rng(1)
    posterior = {
        "weight": np.full((1, 40, 2), 0.5) + 0.1 * np.array([1, -1]),
        "mean": np.tile(np.array([[-1.0], [1.0]]), (1, 40, 1, 1)),
        "variance": np.full((1, 40, 2, 1), 0.2),
    }
    flip = rng.random(40) < 0.5
    for value in posterior.values():
        value[0, flip] = value[0, flip, ::-1]
    assert 0.3 < PROBLEM.memberships(posterior)[0, 0] < 0.7  # blurred
    named = PROBLEM.complete(posterior, rng)
    np.testing.assert_allclose(named["mean"][0, :, :, 0], np.tile([-1.0, 1.0], (40, 1)))
    np.testing.assert_allclose(named["weight"][0, :, 0], 0.6)
    np.testing.assert_allclose(
        PROBLEM.log_likelihood(named)["x"], PROBLEM.log_likelihood(posterior)["x"]
    )
    assert PROBLEM.memberships(named)[0, 0] > 0.99
    np.testing.assert_allclose(PROBLEM.memberships(named).sum(axis=1), 1)


def test_bad_reference():
    with pytest.raises(ValueError, match=r"labels in 0\.\.1"):
        GaussianMixture(X, 2, [0, 1, 2, 0, 1, 0])


@pytest.mark.slow
def test_model_density_by_hand():
    theta = {k: v[0, 0] for k, v in draws(np.random.default_rng(2)).items()}
    model = PROBLEM.model
    point = model.initial_point()
    logp = model.compile_logp(jacobian=False)
    w = theta["weight"]
    point["weight_simplex__"] = np.array(model.rvs_to_transforms[model["weight"]].forward(w).eval())
    point["variance_log__"], point["mean"] = np.log(theta["variance"]), theta["mean"]
    variance = theta["variance"]
    expected = (
        stats.dirichlet.logpdf(w, np.ones(2))
        + stats.invgamma.logpdf(variance, 3.0, scale=0.5).sum()
        + stats.norm.logpdf(theta["mean"], 0, np.sqrt(variance / 0.1)).sum()
        + PROBLEM.log_likelihood({k: v[None, None] for k, v in theta.items()})["x"].sum()
    )
    assert float(logp(point)) == pytest.approx(expected)


@pytest.mark.slow
def test_posterior_against_enumeration():
    from bayeskern.infer.nuts import NUTS

    tree = NUTS(draws=2000, tune=1000, chains=4, target_accept=0.95).run(PROBLEM, random_seed=3)
    posterior = {k: v.values for k, v in tree["posterior"].data_vars.items()}
    r = PROBLEM.responsibilities(posterior)
    together = np.einsum("csik,csjk->csij", r, r)
    exact = exact_together()
    for i, j in [(0, 1), (0, 3), (2, 3), (3, 4), (0, 5)]:
        value = together[:, :, i, j]
        import arviz as az

        error = float(az.mcse(value))
        assert abs(value.mean() - exact[i, j]) < 4.5 * error, (i, j)
    assert tree["log_likelihood"]["x"].shape == (4, 2000, 6)


@pytest.mark.slow
def test_estimator_gives_probabilities():
    from sklearn.datasets import make_moons

    from bayeskern.estimators.cluster import BayesSpectralClusterer
    from bayeskern.infer.nuts import NUTS

    Z, y = make_moons(120, noise=0.06, random_state=0)
    method = NUTS(draws=300, tune=300, chains=2)
    model = BayesSpectralClusterer(2, inference=method, random_state=0).fit(Z)
    agree = np.mean(model.labels_ == y)
    assert max(agree, 1 - agree) > 0.97
    p = model.predict_proba(Z)
    np.testing.assert_allclose(p, model.membership_, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.model_ is model.problem_.model
