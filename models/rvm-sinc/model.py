"""A relevance vector machine with two basis functions: ten values of sin(x) / x.

Each weight has a prior variance of its own, with a heavy tail: large for the bump that is needed,
small for the one that is not (Herbrich 2002, section 3.2.2). The weights are integrated out; with
them the posterior is a funnel.
"""

import numpy as np
import pymc as pm


def model(data):
    """Return the posterior of the variances as a PyMC model."""
    A, y = np.column_stack([data["b1"], data["b2"]]), data["y"]
    n = len(y)
    with pm.Model(coords={"obs": range(n), "basis": range(2)}) as model:
        theta = pm.InverseGamma("theta", alpha=0.5, beta=0.5, dims="basis")
        cov = (A * theta) @ A.T + 0.1**2 * np.eye(n)
        pm.MvNormal("y", mu=np.zeros(n), cov=cov, observed=y, dims="obs")
    return model
