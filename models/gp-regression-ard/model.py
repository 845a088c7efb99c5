"""Automatic relevance determination: ten points in the plane, one input of which is irrelevant.

Each input has a lengthscale of its own. A long one says that the function does not depend on that
input (Herbrich 2002, example 3.12); ten points cannot be sure of it, and the posterior says so.
"""

import numpy as np
import pymc as pm


def model(data):
    """Return the posterior as a PyMC model."""
    X, y = np.column_stack([data["x1"], data["x2"]]), data["y"]
    n = len(y)
    with pm.Model(coords={"obs": range(n)}) as model:
        lengthscale = pm.LogNormal("ard_lengthscale", mu=0, sigma=1, shape=2)
        K = pm.math.exp(-0.5 * ((X[:, None] - X) ** 2 / lengthscale**2).sum(axis=-1))
        f = pm.MvNormal("f", mu=np.zeros(n), cov=K + 1e-6 * np.eye(n), dims="obs")
        pm.Normal("y", mu=f, sigma=0.2, observed=y, dims="obs")
    return model
