"""Small version spaces whose centre and volume are known, and z-tests against them."""

import warnings

import numpy as np
from scipy.stats import norm

import bayeskern as bk
from bayeskern.bayes.spherical import chi_mean
from bayeskern.kernels.dot import Linear

D3 = np.array([[1, 0.2, 0.1], [-0.3, 1, 0.2], [0.1, -0.4, 1], [0.6, 0.5, -0.7]])
D3_MASS = 0.05535538
D3_SPHERE = np.array([0.55045702, 0.57730440, 0.46208881])
D3_DUAL = np.array([0.06819042, 0.80820456, 1.60929483, 1.48623962])

D4_GRAM = np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])
D4_Y = np.array([1.0, 1.0, -1.0])
D4_MASS = 0.1748897835
D4_ALPHA = np.array([0.7484913845, 0.4114493910, -0.8035114239])
D4_CROSS = np.array([0.6, 0.3, 0.1])

D4_X = np.column_stack([np.linalg.cholesky(D4_GRAM), np.zeros(3)])
_inside = np.linalg.solve(D4_X[:, :3], D4_CROSS)
D4_QUERY = np.append(_inside, np.sqrt(1 - _inside @ _inside))[None]


def cone4(**kwargs):
    """Four points that span three dimensions, in both classes."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    return bk.BayesPoint(D3 * y[:, None], y, Linear(), **kwargs)


def gram3(**kwargs):
    """Three independent points."""
    return bk.BayesPoint(D4_X, D4_Y, Linear(), **kwargs)


def exact_mean(problem):
    """Mean of ``f`` under the posterior without noise."""
    if len(problem.y) == 4:
        return problem.X @ D3_SPHERE * chi_mean(3)
    return D4_GRAM @ D4_ALPHA


def rejected(problem, n, seed):
    """Draw ``f`` by rejection from the prior."""
    w = np.random.default_rng(seed).standard_normal((n, problem.X.shape[1]))
    f = w @ problem.X.T
    return f[(f * problem.y > 0).all(axis=1)]


def z_scores(draws, mean, mcse=0.0):
    """Distances of means of draws (chain, draw, k) in Monte Carlo errors."""
    import arviz as az

    error = np.array([az.mcse(draws[..., k]) for k in range(draws.shape[-1])])
    return (draws.mean(axis=(0, 1)) - mean) / np.hypot(error, mcse)


def assert_agrees(z, level=1e-4):
    z = np.abs(np.ravel(z))
    limit = norm.isf(level / 2 / z.size)
    assert z.max() < limit, f"{z.max():.1f} Monte Carlo errors off (> {limit:.1f})"


def run_quietly(method, problem, seed):
    """Run a method whose chains may disagree, without the warning about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.errors.ConvergenceWarning)
        return method.run(problem, random_seed=seed)
