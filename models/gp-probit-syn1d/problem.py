"""The same in bayeskern."""

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    kernel = 4.0 * bk.RBF(bk.Prior("InverseGamma", alpha=3, beta=2))
    return bk.GaussianProcess(data["x"][:, None], data["y"], kernel, bk.Probit())
