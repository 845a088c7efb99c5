"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem; theta has its default prior, so weights are Cauchy."""
    A = np.column_stack([data["b1"], data["b2"]])
    return bk.RelevanceVector(A, data["y"], None, bk.Gaussian(0.1), bias=False)
