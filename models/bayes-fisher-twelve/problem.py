"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    return bk.BayesFisher(np.column_stack([data["x1"], data["x2"]]), data["y"], kappa0=0.1, nu0=4)
