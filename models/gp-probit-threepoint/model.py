"""Gaussian-process classification with a probit link: three points on a line.

A label is the sign of the latent value seen through standard normal noise. Three latent values
are few enough to integrate on a grid.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the posterior as a PyMC model."""
    x, y = data["x"], data["y"]
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    with pm.Model(coords={"obs": range(len(y))}) as model:
        f = pm.MvNormal("f", mu=np.zeros(len(y)), cov=K, dims="obs")
        p = 0.5 * pt.erfc(-f / np.sqrt(np.float64(2)))  # invprobit rounds this root to 1e-8
        pm.Bernoulli("y", p=p, observed=y > 0, dims="obs")
    return model
