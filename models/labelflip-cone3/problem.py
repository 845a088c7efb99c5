"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    X = np.column_stack([data["x1"], data["x2"], data["x3"]])
    return bk.BayesPoint(X, data["y"], bk.Linear(), bk.LabelFlip(0.2))


def log_density(problem, mode):
    """Return the log density at a weight vector, from the parts.

    Four points in space have a singular Gram matrix, which a multivariate normal cannot have.
    """

    def at(point):
        w = np.asarray(point["w"])
        prior = -0.5 * (w @ w + len(w) * np.log(2 * np.pi))
        return prior + problem.likelihood.logp(problem.y, problem.X @ w).sum()

    return at
