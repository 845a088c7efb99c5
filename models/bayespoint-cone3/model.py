"""The Bayes point machine with four points in space.

The prior is uniform over directions, written as a standard normal vector of which only the
direction matters; a classifier that errs on any point is impossible. Version space is a polygon on
the sphere, with known area and centre (Herbrich 2002, section 3.3). NUTS cannot sample this: its
steps end at the walls.
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
        pm.Potential("version_space", pt.switch(pt.all(y * (A @ w) > 0), 0.0, -np.inf))
        pm.Deterministic("f", A @ w)
    return model
