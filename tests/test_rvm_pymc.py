"""The PyMC forms of the relevance vector machine, and chains against a Gibbs oracle."""

import numpy as np
import pytest
from scipy import stats

import bayeskern as bk

PRIOR = bk.Prior("InverseGamma", alpha=0.5, beta=0.5)


def small(likelihood=None, m=20, n=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    t = X[:, 0] - 0.7 * X[:, 4] + 0.3 * rng.normal(size=m)
    if likelihood is None:
        return bk.RelevanceVector(X, t, None, bk.Gaussian(0.3), bias=False, theta=PRIOR)
    return bk.RelevanceVector(X, np.sign(t), None, likelihood, bias=False, theta=PRIOR)


def gibbs(problem, draws, rng):
    """Blocked Gibbs: weights given variances, variances given weights; returns draws of w."""
    X, t, s2 = problem.X, problem.y, problem.likelihood.sigma**2
    a, rate = 0.5, 0.5
    precision, out = np.ones(X.shape[1]), np.empty((draws, X.shape[1]))
    for i in range(draws):
        L = np.linalg.cholesky(X.T @ X / s2 + np.diag(precision))
        mean = np.linalg.solve(L.T, np.linalg.solve(L, X.T @ t / s2))
        w = mean + np.linalg.solve(L.T, rng.standard_normal(len(mean)))
        precision = rng.gamma(a + 0.5, 1 / (rate + w**2 / 2))
        out[i] = w
    return out


def assert_means_agree(draws, reference):
    """Hold means to those of another chain, both with autocorrelated draws ``(n, k)``."""

    def error(x):  # batch means
        batches = x[: len(x) // 40 * 40].reshape(40, -1, x.shape[1]).mean(axis=1)
        return batches.std(axis=0, ddof=1) / np.sqrt(40)

    z = (draws.mean(axis=0) - reference.mean(axis=0)) / np.hypot(error(draws), error(reference))
    assert np.abs(z).max() < 4.5, z


@pytest.mark.slow
class TestForms:
    def test_marginal_density(self):
        problem = small()
        theta = np.random.default_rng(1).gamma(1.0, size=10)
        model = problem.build("marginal")
        got = model.compile_logp()({"theta_log__": np.log(theta)})
        C = (problem.X * theta) @ problem.X.T + 0.09 * np.eye(20)
        want = stats.multivariate_normal(np.zeros(20), C).logpdf(problem.y)
        want += stats.invgamma(0.5, scale=0.5).logpdf(theta).sum() + np.log(theta).sum()
        assert float(got) == pytest.approx(want, rel=1e-7)

    def test_student_density(self):
        problem = small(bk.Logit())
        w = np.random.default_rng(1).normal(size=10)
        got = problem.build("student").compile_logp()({"w": w})
        want = stats.t(1.0).logpdf(w).sum()
        want += bk.Logit().logp(problem.y, problem.X @ w).sum()
        assert float(got) == pytest.approx(want, rel=1e-7)

    def test_noncentred_density(self):
        problem = small(bk.Logit())
        rng = np.random.default_rng(1)
        v, theta = rng.normal(size=10), rng.gamma(1.0, size=10)
        model = problem.build()
        got = model.compile_logp()({"v": v, "theta_log__": np.log(theta)})
        want = stats.norm.logpdf(v).sum() + np.log(theta).sum()
        want += stats.invgamma(0.5, scale=0.5).logpdf(theta).sum()
        want += bk.Logit().logp(problem.y, problem.X @ (np.sqrt(theta) * v)).sum()
        assert float(got) == pytest.approx(want, rel=1e-7)

    def test_kernel_and_noise_in_the_model(self):
        data = bk.datasets.sinc(8)
        width, noise = bk.Prior("LogNormal"), bk.Prior("HalfNormal")
        problem = bk.RelevanceVector(data.X, data.y, bk.RBF(width), bk.Gaussian(noise))
        at = {"theta": np.full(9, 0.3), "rbf_lengthscale": 1.7, "noise_sigma": 0.4}
        got = problem.model.compile_logp()({f"{k}_log__": np.log(v) for k, v in at.items()})
        C = problem.prior_cov(at) + 0.16 * np.eye(8)
        want = stats.multivariate_normal(np.zeros(8), C).logpdf(data.y) + problem.log_prior(at)
        want += sum(np.sum(np.log(v)) for v in at.values())
        assert float(got) == pytest.approx(want, rel=1e-7)

    def test_forms_ask_for_what_they_need(self):
        with pytest.raises(ValueError, match="marginal form needs a Gaussian"):
            small(bk.Logit()).build("marginal")
        with pytest.raises(ValueError, match="form must be one of"):
            small().build("centred")
        nearly = bk.Prior("InverseGamma", alpha=0.05, beta=0.05)
        problem = bk.RelevanceVector(np.eye(3), [1.0, 2, 3], None, bk.Gaussian(1.0), theta=nearly)
        with pytest.warns(UserWarning, match="nearly improper"):
            problem.build()


def test_completion_draws_the_weights():
    """At fixed variances the completed draws have the exact posterior's moments."""
    problem = small()
    theta = np.random.default_rng(2).gamma(1.0, size=10)
    draws = 20000
    given = {"theta": np.broadcast_to(theta, (1, draws, 10))}
    w = problem.complete(given, np.random.default_rng(3))["w"][0]
    Sigma = np.linalg.inv(problem.X.T @ problem.X / 0.09 + np.diag(1 / theta))
    mu = Sigma @ problem.X.T @ problem.y / 0.09
    z = (w.mean(axis=0) - mu) / np.sqrt(np.diag(Sigma) / draws)
    assert np.abs(z).max() < 4.5
    ratio = w.var(axis=0) / np.diag(Sigma)
    assert np.abs(ratio - 1).max() < 4.5 * np.sqrt(2 / draws)


def test_completion_from_latent_values_reproduces_them():
    problem = small(bk.Logit(), m=6)
    rng = np.random.default_rng(0)
    given = {"theta": rng.gamma(2.0, size=(1, 5, 10)), "f": rng.normal(size=(1, 5, 6))}
    out = problem.complete(given, rng)
    np.testing.assert_allclose(out["w"] @ problem.X.T, given["f"], atol=1e-6)


@pytest.mark.slow
class TestChains:
    def test_nuts_on_the_marginal_form_agrees_with_gibbs(self):
        problem = small()
        reference = gibbs(problem, 40000, np.random.default_rng(0))[1000:]
        tree = bk.NUTS(draws=1500, tune=700, chains=2).run(problem, random_seed=1)
        assert int(tree["sample_stats"]["diverging"].sum()) == 0
        w = tree["posterior"]["w"].values
        assert_means_agree(w.reshape(-1, 10), reference)
        assert_means_agree(np.tanh(w.reshape(-1, 10)) ** 2, np.tanh(reference) ** 2)
        assert tree["posterior"]["theta"].dims == ("chain", "draw", "basis")

    def test_nuts_on_sinc(self):
        data = bk.datasets.sinc()
        noise = bk.Gaussian(bk.Prior("HalfNormal", sigma=0.3))
        problem = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), noise)
        short = bk.NUTS(draws=400, tune=400, chains=2).run(problem, random_seed=1)
        assert int(short["sample_stats"]["diverging"].sum()) == 0
        longer = bk.NUTS(draws=1000, tune=400, chains=2).run(problem, random_seed=2)
        f = [tree["posterior"]["f"].values.reshape(-1, 40) for tree in (short, longer)]
        assert_means_agree(*f)

    @pytest.mark.filterwarnings("ignore::bayeskern.errors.ConvergenceWarning")  # a few diverge
    def test_labels(self):
        problem = small(bk.Logit())
        tree = bk.NUTS(draws=500, tune=500, chains=2, target_accept=0.97).run(
            problem, random_seed=1
        )
        w = tree["posterior"]["w"].values.reshape(-1, 10)
        assert np.argmax(np.abs(np.median(w, axis=0))) in (0, 4)
        assert "v" not in tree["posterior"]

    def test_hyper_nuts_agrees_with_gibbs(self):
        problem = small()
        reference = gibbs(problem, 40000, np.random.default_rng(0))[1000:] @ problem.X.T
        tree = bk.HyperNUTS(bk.Exact(), draws=1000, tune=500).run(problem, random_seed=1)
        f = tree["posterior"]["f"].values
        assert_means_agree(f.reshape(-1, 20), reference)
