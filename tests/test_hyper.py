import numpy as np
import pytest
import xarray as xr
from scipy.special import logsumexp

import bayeskern as bk
from bayeskern.infer.hyper import HyperImportance, HyperNUTS
from bayeskern.infer.objective import LogEvidence
from bayeskern.infer.weights import resample, smooth
from bayeskern.kernels.stationary import ARD, RBF
from tests.latent import D1_T, D1_X, D2_X, D2_Y, gp_labels

SIGMA = bk.Prior("LogNormal", mu=np.log(2), sigma=0.75)
D1 = bk.GaussianProcess(D1_X, D1_T, RBF(SIGMA), bk.Gaussian(bk.Prior("HalfNormal", sigma=1)))
UNIT = bk.Prior("LogNormal", mu=0.0, sigma=1.0)


def summaries(tree):
    """The three posterior summaries that quadrature has on six points."""
    variance = tree.posterior["noise_sigma"].values ** 2
    scale = tree.posterior["rbf_lengthscale"].values
    return (variance < 0.05).mean(), scale.mean(), variance.mean()


def quadrature(problem, inner, low, high, n=28):
    """Posterior mean and sd of the logarithms of two hyperparameters, and the log evidence."""
    f = LogEvidence(problem, inner, prior=True, jacobian=True)
    grids = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
    values = np.array([f.value(x) for x in points])
    area = np.prod([g[1] - g[0] for g in grids])
    w = np.exp(values - logsumexp(values))
    mean = w @ points
    return mean, np.sqrt(w @ (points - mean) ** 2), logsumexp(values) + np.log(area)


def classification(n=40, likelihood=None):
    X, y = gp_labels(n, seed=2)
    return bk.GaussianProcess(X, y, UNIT * RBF(UNIT), likelihood or bk.Logit())


def log_draws(tree):
    names = ("constant_value", "rbf_lengthscale")
    return np.stack([np.log(tree.posterior[name].values).ravel() for name in names], axis=1)


@pytest.mark.slow
def test_nuts_on_six_points():
    tree = HyperNUTS(bk.Exact(), draws=1500, tune=300, target_accept=0.9).run(D1, random_seed=1)
    share, scale, variance = summaries(tree)
    assert share == pytest.approx(0.14168, abs=0.02)
    assert scale == pytest.approx(2.35501, abs=0.08)
    assert variance == pytest.approx(0.42341, abs=0.03)
    assert tree.sample_stats["diverging"].shape == (4, 1500)
    assert tree.attrs["draws"] == "Markov chain"


@pytest.mark.slow
def test_importance_hands_six_points_to_nuts():
    with pytest.warns(UserWarning, match="heavy tail, Pareto k = .* HyperNUTS takes over"):
        tree = HyperImportance(bk.Exact(), draws=4000).run(D1, random_seed=1)
    from arviz_stats import mcse

    variance = tree.posterior["noise_sigma"] ** 2
    found = xr.Dataset(
        {
            "share": (variance < 0.05).astype(float),
            "scale": tree.posterior["rbf_lengthscale"],
            "variance": variance,
        }
    )
    exact = {"share": 0.14168, "scale": 2.35501, "variance": 0.42341}  # by quadrature
    error = mcse(found)
    z = {k: float((found[k].mean() - v) / error[k]) for k, v in exact.items()}
    assert max(map(abs, z.values())) < 4.5, z


@pytest.mark.parametrize("inner", [bk.Laplace(), bk.EP(tol=1e-4)], ids=["laplace", "ep"])
def test_importance_against_quadrature(inner):
    problem = classification()
    mean, sd, log_evidence = quadrature(problem, inner, (-4, -3.5), (4.5, 2.5))
    tree = HyperImportance(inner, draws=2000).run(problem, random_seed=3)
    x = log_draws(tree)
    error = sd / np.sqrt(tree.attrs["importance_ess"])
    assert (np.abs(x.mean(axis=0) - mean) < 4.5 * error).all()
    assert x.std(axis=0) == pytest.approx(sd, rel=0.12)
    se = tree.attrs["log_evidence_se"]
    assert abs(tree.attrs["log_evidence"] - log_evidence) < 4.5 * se + 1e-3
    assert "importance over theta" in tree.attrs["evidence_kind"]


def test_nuts_against_quadrature():
    problem = classification()
    mean, sd, _ = quadrature(problem, bk.Laplace(), (-4, -3.5), (4.5, 2.5))
    tree = HyperNUTS(draws=400, tune=150, chains=2).run(problem, random_seed=3)
    x = log_draws(tree)
    assert (np.abs(x.mean(axis=0) - mean) < 5 * sd / np.sqrt(250)).all()
    assert x.std(axis=0) == pytest.approx(sd, rel=0.2)
    assert tree.posterior["f"].shape == (2, 400, 40)
    again = HyperNUTS(draws=400, tune=150, chains=2).run(problem, random_seed=3)
    assert np.array_equal(again.posterior["f"].values, tree.posterior["f"].values)


def exact_three_points(scale, rng, n=200_000):
    """Evidence and posterior mean of f at fixed theta, by plain Monte Carlo from the prior."""
    K = RBF(scale)(D2_X)
    f = rng.standard_normal((n, 3)) @ np.linalg.cholesky(K).T
    w = np.exp(bk.Logit(beta=0.5).logp(D2_Y, f).sum(axis=1))
    return w.mean(), (w[:, None] * f).mean(axis=0)


@pytest.mark.parametrize("method", [HyperImportance(draws=1500, exact=True)])
def test_correction_is_exact(method):
    prior = bk.Prior("LogNormal", mu=0.0, sigma=0.7)
    problem = bk.GaussianProcess(D2_X, D2_Y, RBF(prior), bk.Logit(beta=0.5))
    rng = np.random.default_rng(0)
    grid = np.linspace(-2.8, 2.8, 41)
    weight = np.exp(-0.5 * (grid / 0.7) ** 2)
    weight /= weight.sum()
    rows = [exact_three_points(np.exp(g), rng, 40_000) for g in grid]
    evidence = weight @ np.array([r[0] for r in rows])
    f = weight @ np.array([r[1] for r in rows]) / evidence
    tree = method.run(problem, random_seed=5)
    assert tree.attrs["log_evidence"] == pytest.approx(np.log(evidence), abs=0.03)
    draws = tree.posterior["f"].values[0]
    error = draws.std(axis=0) / np.sqrt(tree.attrs["importance_ess"] / 2)
    assert (np.abs(draws.mean(axis=0) - f) < 4 * error).all()
    laplace = HyperImportance(draws=1500).run(problem, random_seed=5)
    assert abs(laplace.attrs["log_evidence"] - np.log(evidence)) > 0.05


@pytest.mark.slow
def test_corrected_nuts_agrees_with_corrected_importance():
    problem = classification(likelihood=bk.Logit(beta=1.0))
    one = HyperNUTS(bk.EP(tol=1e-3), draws=300, tune=150, exact=True).run(problem, random_seed=1)
    two = HyperImportance(bk.EP(tol=1e-3), draws=1200, exact=True).run(problem, random_seed=1)
    assert max(one.attrs["pareto_k"], two.attrs["pareto_k"]) < 0.7
    a, b = log_draws(one), log_draws(two)
    assert a.mean(axis=0) == pytest.approx(b.mean(axis=0), abs=5 * b.std() / np.sqrt(300))


def test_latent_draws_follow_the_conditional():
    problem = classification(25)
    tree = HyperImportance(draws=3000).run(problem, random_seed=0)
    f = tree.posterior["f"].values[0]
    mean, second = np.zeros(25), np.zeros(25)
    theta = log_draws(tree)
    rows, counts = np.unique(theta, axis=0, return_counts=True)
    for x, count in zip(rows, counts, strict=True):
        names = {"constant_value": np.exp(x[0]), "rbf_lengthscale": np.exp(x[1])}
        state = bk.Laplace().at(problem, names)
        mean += count * state.mean / 3000
        second += count * (state.var + state.mean**2) / 3000
    sd = np.sqrt(second - mean**2)
    assert (np.abs(f.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(3000)).all()
    assert f.std(axis=0) == pytest.approx(sd, rel=0.1)


def test_many_parameters_go_to_nuts():
    X, y = gp_labels(20, d=4, seed=1)
    scales = bk.Prior("LogNormal", mu=0.5, sigma=0.5, size=4)
    problem = bk.GaussianProcess(X, y, ARD(scales), bk.Logit())
    with pytest.warns(UserWarning, match="4 free hyperparameters are more than 3: HyperNUTS"):
        tree = HyperImportance(draws=80).run(problem, random_seed=1)
    assert tree.posterior["ard_lengthscale"].shape == (4, 20, 4)


def test_refusals():
    fixed = bk.GaussianProcess(D2_X, D2_Y, RBF(), bk.Logit())
    with pytest.raises(ValueError, match="HyperNUTS samples hyperparameters, but none is free"):
        HyperNUTS().run(fixed)
    free = bk.GaussianProcess(D2_X, D2_Y, RBF(UNIT), bk.Step())
    with pytest.raises(ValueError, match="Laplace needs slope and curvature"):
        HyperImportance().run(free)


def test_weights():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(4000) * 1.3
    log_ratios = -0.5 * z**2 + 0.5 * (z / 1.3) ** 2 + np.log(1.3)
    found = smooth(log_ratios)
    assert found.weights.sum() == pytest.approx(1)
    assert found.pareto_k < 0.3
    assert found.weights @ z**2 == pytest.approx(1.0, abs=0.1)
    assert abs(found.log_mean) < 4 * found.log_mean_se
    heavy = smooth(0.5 * (rng.standard_normal(2000) * 3) ** 2)
    assert heavy.pareto_k > 0.7
    counts = np.bincount(resample(np.array([0.5, 0.25, 0.25]), 400, rng), minlength=3)
    assert counts == pytest.approx([200, 100, 100], abs=1)
