"""Version space with label noise: four points in space, each label flipped with probability 0.2.

The likelihood is 0.8 for a point on its right side and 0.2 on the wrong one, so the posterior is
constant on each of the 14 cells that the four planes cut from the sphere.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the posterior as a PyMC model."""
    A = np.column_stack([data["x1"], data["x2"], data["x3"]])
    y = data["y"]
    with pm.Model() as model:
        w = pm.Normal("w", 0.0, 1.0, shape=3)
        p = pt.switch(A @ w > 0, 0.8, 0.2)
        pm.Bernoulli("y", p=p, observed=y > 0)
        pm.Deterministic("f", A @ w)
    return model
