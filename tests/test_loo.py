import arviz as az
import numpy as np
import pytest
from scipy.stats import norm

import bayeskern as bk
from bayeskern.infer.loo import leave_one_out
from bayeskern.kernels.stationary import RBF
from tests.latent import GramProblem, thirty_points


def refits(problem, method):
    """Log predictive densities of each observation by fitting the others."""
    out, n = [], len(problem.y)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        part = GramProblem(problem.K[np.ix_(rest, rest)], problem.y[rest], problem.likelihood)
        state = method.at(part, {})
        mean, var = state.predict(problem.K[rest][:, [i]], problem.K[[i], [i]])
        out.append(problem.likelihood.tilted(problem.y[[i]], mean, var)[0][0])
    return np.array(out)


def gram(likelihood, y=None):
    X, labels = thirty_points()
    return GramProblem(2.0 * RBF(1.0)(X), labels if y is None else y, likelihood)


def test_exact_equals_refits_and_the_closed_form():
    X, _ = thirty_points()
    t = np.sin(2 * X[:, 0])
    problem = gram(bk.Gaussian(0.3), t)
    loo = leave_one_out(problem, bk.Exact().run(problem, random_seed=0))
    assert loo.elpd_i.values == pytest.approx(refits(problem, bk.Exact()), abs=1e-8)
    inverse = np.linalg.inv(problem.K + 0.09 * np.eye(30))
    mean, sd = t - (inverse @ t) / np.diagonal(inverse), np.diagonal(inverse) ** -0.5
    assert loo.elpd_i.values == pytest.approx(norm(mean, sd).logpdf(t), abs=1e-8)


@pytest.mark.parametrize("likelihood", [bk.Probit(), bk.Logit()])
@pytest.mark.parametrize(("method", "error"), [(bk.EP(), 0.05), (bk.Laplace(), 0.05)])
def test_approximations_are_near_their_refits(likelihood, method, error):
    problem = gram(likelihood)
    loo = leave_one_out(problem, method.run(problem, random_seed=0))
    full = refits(problem, method)
    assert np.abs(loo.elpd_i.values - full).max() < error
    assert loo.elpd == pytest.approx(full.sum(), abs=error * 5)
    assert 0 < loo.p < 15


def test_arviz_compares_it():
    X, y = thirty_points()
    fits = {
        name: leave_one_out(gp, bk.EP().run(gp, random_seed=0))
        for name, gp in {
            "smooth": bk.GaussianProcess(X, y, 2.0 * RBF(1.0), bk.Probit()),
            "rough": bk.GaussianProcess(X, y, 2.0 * RBF(0.05), bk.Probit()),
        }.items()
    }
    table = az.compare(fits)
    assert table.index[0] == "smooth"
    assert np.isfinite(table["elpd"]).all()


def test_hyperparameters_of_the_fit_are_used():
    X, y = thirty_points()
    prior = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    free = bk.GaussianProcess(X, y, prior * RBF(prior), bk.Probit())
    tree = bk.EvidenceMax(prior=True).run(free, random_seed=0)
    amplitude = float(tree.fit["theta_constant_value"])
    scale = float(tree.fit["theta_rbf_lengthscale"])
    fixed = bk.GaussianProcess(X, y, amplitude * RBF(scale), bk.Probit())
    other = leave_one_out(fixed, bk.Laplace().run(fixed, random_seed=0))
    assert leave_one_out(free, tree).elpd == pytest.approx(other.elpd, abs=1e-6)


def test_refusal():
    X, y = thirty_points()
    gp = bk.GaussianProcess(X, y, RBF(1.0), bk.Probit())
    tree = bk.Laplace().run(gp, random_seed=0)
    del tree["fit"]
    with pytest.raises(ValueError, match="leave_one_out needs the result of Exact"):
        leave_one_out(gp, tree)
