"""Bayesian Fisher discriminant: twelve points of two classes in the plane.

The classes are normal with one covariance. Its inverse is B B' with B triangular, made of normals
and of roots of chi-squares (Bartlett's decomposition of a Wishart matrix with 4 degrees of freedom
and scale I); each class mean is normal around 0 with ten times that covariance.
"""

import numpy as np
import pymc as pm
import pytensor.tensor as pt


def model(data):
    """Return the posterior as a PyMC model."""
    X = np.column_stack([data["x1"], data["x2"]])
    plus = data["y"] > 0
    with pm.Model() as model:
        p = pm.Beta("p", 1, 1)
        e = pm.Normal("e", 0, 1, shape=(2, 2))
        c2 = pm.ChiSquared("c2", nu=np.array([4.0, 3.0]), shape=2)
        z = pm.Normal("z", 0, 1, shape=1)
        B = pt.stack([pt.stack([pt.sqrt(c2[0]), 0.0]), pt.stack([z[0], pt.sqrt(c2[1])])])
        cov = pm.Deterministic("cov", pt.linalg.inv(B @ B.T))
        mu = pm.Deterministic("mu", e @ pt.linalg.inv(B) / np.sqrt(0.1))
        centred = pm.math.switch(plus[:, None], X - mu[1], X - mu[0])
        pm.Potential("x", pm.logp(pm.MvNormal.dist(mu=np.zeros(2), cov=cov), centred).sum())
        pm.Bernoulli("y", p=p, observed=plus)
    return model
