"""Gaussian-process regression with free lengthscale and noise: six points on a line.

Two explanations compete: a wiggly function seen almost without noise, and a slow one seen with
much. The evidence has a maximum for each (Herbrich 2002, Figure 3.2), and choosing the higher one
throws the other away.
"""

import numpy as np
import pymc as pm


def model(data):
    """Return the posterior as a PyMC model."""
    x, y = data["x"], data["y"]
    n = len(y)
    with pm.Model(coords={"obs": range(n)}) as model:
        lengthscale = pm.LogNormal("rbf_lengthscale", mu=np.log(2), sigma=0.75)
        noise = pm.HalfNormal("noise_sigma", sigma=1)
        K = pm.math.exp(-0.5 * (x[:, None] - x) ** 2 / lengthscale**2)
        f = pm.MvNormal("f", mu=np.zeros(n), cov=K + 1e-6 * np.eye(n), dims="obs")
        pm.Normal("y", mu=f, sigma=noise, observed=y, dims="obs")
    return model
