"""Gaussian-process classification with a logit link: three points on a line.

The labels follow expit(2 y f / beta) with beta = 1 (Herbrich 2002, eq. 3.16): twice the slope of
the ordinary logistic link. Three latent values are few enough to integrate on a grid.
"""

import numpy as np
import pymc as pm


def model(data):
    """Return the posterior as a PyMC model."""
    x, y = data["x"], data["y"]
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    with pm.Model(coords={"obs": range(len(y))}) as model:
        f = pm.MvNormal("f", mu=np.zeros(len(y)), cov=K, dims="obs")
        pm.Bernoulli("y", logit_p=2.0 * f, observed=y > 0, dims="obs")
    return model
