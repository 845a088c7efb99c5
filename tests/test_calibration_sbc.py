"""Simulation-based calibration: methods draw from the right posterior, averaged over the prior."""

import numpy as np
import pytest

import bayeskern as bk
from bayeskern.diagnostics import Calibration, calibrate


@pytest.fixture(scope="module")
def problem():
    X = np.linspace(-2, 2, 10)[:, None]
    kernel = bk.Prior("LogNormal", mu=1.0, sigma=0.5) * bk.RBF(
        bk.Prior("LogNormal", mu=0.0, sigma=0.4)
    )
    return bk.GaussianProcess(X, np.ones(10), kernel, bk.Probit())


@pytest.mark.slow
def test_hypernuts_with_ep_is_calibrated(problem):
    method = bk.HyperNUTS(bk.EP(), draws=100, tune=100, chains=1)
    result = calibrate(problem, method, simulations=50, draws=49, random_seed=5)
    ranks = {name: r for name, r in result.ranks.items() if name != "f"}
    ranks["f0"] = result.ranks["f"][::10]
    p = Calibration(ranks, result.draws).p_values(bins=7)
    assert min(p.values()) > 1e-3, p


@pytest.mark.slow
def test_nuts_is_calibrated():
    # the latent vector given fixed hyperparameters; one compiled model would not serve new data
    X = np.array([[-1.0], [0.0], [1.0]])
    gp = bk.GaussianProcess(X, np.ones(3), bk.RBF(), bk.Gaussian(0.5))
    method = bk.NUTS(draws=200, tune=200, chains=1)
    result = calibrate(gp, method, simulations=6, draws=49, random_seed=6)
    # few simulations, each compiles: the mean rank of a calibrated method is 24.5 +- 14.4 / sqrt(n)
    first = result.ranks["f"][::3]
    assert abs(first.mean() - 24.5) < 4 * 14.43 / np.sqrt(len(first))
