"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    X = np.column_stack([data["x1"], data["x2"]])
    kernel = bk.ARD(bk.Prior("LogNormal", mu=0, sigma=1, size=2))
    return bk.GaussianProcess(X, data["y"], kernel, bk.Gaussian(0.2))
