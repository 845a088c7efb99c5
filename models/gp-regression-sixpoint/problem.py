"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    kernel = bk.RBF(bk.Prior("LogNormal", mu=np.log(2), sigma=0.75))
    noise = bk.Gaussian(bk.Prior("HalfNormal", sigma=1))
    return bk.GaussianProcess(data["x"][:, None], data["y"], kernel, noise)
