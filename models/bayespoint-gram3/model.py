"""The Bayes point machine from a Gram matrix: three points, as NUTS can sample it.

With an invertible Gram matrix the margins u = y f may take any signs, and version space is where
all are positive: an orthant, which PyMC's log transform makes smooth.
"""

import numpy as np
import pymc as pm


def model(data):
    """Return the posterior as a PyMC model."""
    G = np.column_stack([data["k1"], data["k2"], data["k3"]])
    y = data["y"]
    with pm.Model(coords={"obs": range(len(y))}) as model:
        u = pm.HalfFlat("u", dims="obs")
        prior = pm.MvNormal.dist(mu=np.zeros(len(y)), cov=y[:, None] * G * y)
        pm.Potential("gp_prior", pm.logp(prior, u))
        f = pm.Deterministic("f", y * u, dims="obs")
        pm.Deterministic("alpha", np.linalg.inv(G) @ f, dims="obs")
    return model
