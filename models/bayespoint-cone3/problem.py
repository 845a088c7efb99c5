"""The same in bayeskern."""

import numpy as np

import bayeskern as bk


def problem(data):
    """Return the posterior as a problem."""
    X = np.column_stack([data["x1"], data["x2"], data["x3"]])
    return bk.BayesPoint(X, data["y"], bk.Linear())


def log_density(problem, mode):
    """Return the log density at a weight vector; the package's own model has turned axes."""
    logp = problem.cone_model.compile_logp(mode=mode)
    cone = problem.cone

    def at(point):
        margins = cone.signs / cone.scales * (problem.X @ np.asarray(point["w"]))
        return logp({"z": cone.coordinates(margins)})

    return at
