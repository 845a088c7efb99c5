"""The support vector machine as a probability model: three points on a line.

exp(-C max(1 - y f, 0)) is no likelihood, since it does not sum to one over the two labels (Herbrich
2002, remark 3.13). Divided by that sum it is: the log odds are then C (f + clip(f, -1, 1)).
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
        log_odds = f + pt.clip(f, -1.0, 1.0)  # C = 1
        pm.Bernoulli("y", logit_p=log_odds, observed=y > 0, dims="obs")
    return model
