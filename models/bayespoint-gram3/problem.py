"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    kernel = bk.Precomputed(np.column_stack([data["k1"], data["k2"], data["k3"]]))
    return bk.BayesPoint(kernel.inputs, data["y"], kernel)
