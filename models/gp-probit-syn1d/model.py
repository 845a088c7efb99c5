"""Gaussian-process classification with a probit link and a free lengthscale: 15 synthetic points.

The lengthscale says how fast the function may change, and 15 labels say little about it; so its
uncertainty must reach the predictions.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the posterior as a PyMC model."""
    x, y = data["x"], data["y"]
    n = len(y)
    with pm.Model(coords={"obs": range(n)}) as model:
        lengthscale = pm.InverseGamma("rbf_lengthscale", alpha=3, beta=2)
        K = 4.0 * pm.math.exp(-0.5 * (x[:, None] - x) ** 2 / lengthscale**2)
        f = pm.MvNormal("f", mu=np.zeros(n), cov=K + 1e-6 * np.eye(n), dims="obs")
        p = 0.5 * pt.erfc(-f / np.sqrt(np.float64(2)))  # invprobit rounds this root to 1e-8
        pm.Bernoulli("y", p=p, observed=y > 0, dims="obs")
    return model
