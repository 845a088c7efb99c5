"""Samplers on random separable problems: ranks of the truth, and the picture of a polygon."""

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest
from scipy.stats import chi2

import bayeskern as bk
from bayeskern.kernels.dot import Linear
from bayeskern.kernels.stationary import RBF
from bayeskern.plots_version_space import version_space
from tests.version_spaces import cone4, gram3


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        bk.ConeHMC(draws=19, tune=20, chains=1),
        bk.Billiard(draws=19, tune=40, chains=1, arc=3.0),
        bk.KernelGibbs(draws=19, tune=5, chains=1, thin=40),
        bk.ConeSlice(draws=19, tune=5, chains=1, thin=40),
    ],
    ids=lambda m: type(m).__name__,
)
def test_simulation_based_calibration(method):
    """Draw a classifier from the prior, label with it, and rank it among posterior draws."""
    n, m, ranks = 200, 12, []
    rng = np.random.default_rng(7)
    for k in range(n):
        kernel = Linear() if k % 2 else RBF() + 0.5
        X = rng.standard_normal((m, 4))
        x = rng.standard_normal((1, 4))
        both = kernel(np.vstack([X, x])) + 1e-10 * np.eye(m + 1)
        f = np.linalg.cholesky(both) @ rng.standard_normal(m + 1)
        problem = bk.BayesPoint(X, np.where(f[:m] > 0, 1.0, -1.0), kernel)
        alpha = method.run(problem, random_seed=k)["posterior"]["alpha"].values[0]
        K = problem.cross_cov({}, x)
        left = problem.cone.left_over(K, problem.prior_var({}, x))
        draws = (alpha @ K)[:, 0] + np.sqrt(left) * rng.standard_normal(len(alpha))
        ranks.append((draws < f[m]).sum())
    counts = np.bincount(ranks, minlength=20).reshape(10, 2).sum(axis=1)
    statistic = ((counts - n / 10) ** 2 / (n / 10)).sum()
    assert statistic < chi2(9).isf(1e-4 / 4)


def test_picture():
    import matplotlib.pyplot as plt

    problem = cone4()
    tree = bk.ConeHMC(draws=50).run(problem, random_seed=1)
    for zoom in (False, True):
        ax = version_space(problem, tree, zoom=zoom)
        names = ax.get_legend_handles_labels()[1]
        assert {"version space", "draws", "billiard", "Bayes point", "SVM"} <= set(names)
        assert "5.5% of the sphere" in ax.get_title()
    plt.close("all")
    two = bk.BayesPoint([[1.0, 0.0], [0.0, 1.0]], [1, 1], Linear())
    with pytest.raises(ValueError, match="points of rank 3, got rank 2"):
        version_space(two)
    assert version_space(gram3(), bounces=0) is not None
    plt.close("all")
