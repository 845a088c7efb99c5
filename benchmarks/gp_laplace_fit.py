"""Evidence fits by Laplace's approximation: ours beside scikit-learn, in one run.

CPU seconds for the optimised hyperparameters of a binary classifier, the log evidence reached,
how the cost grows with n, and peak memory. Arguments: sizes, default 250 500 1000 2000.
"""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process import kernels as sk

import bayeskern as bk
from bayeskern.kernels.stationary import RBF

KINDS = ("rbf", "ard20", "separable", "noise")


def data(kind, n, seed):
    rng = np.random.default_rng(seed)
    d = 20 if kind == "ard20" else 2
    X = rng.normal(size=(n, d))
    if kind == "noise":
        return X, rng.choice([-1.0, 1.0], n)
    if kind == "separable":
        return X, np.where(X[:, 0] + 0.3 * np.sin(3 * X[:, 1]) > 0, 1.0, -1.0)
    Z = X[:, :2]
    K = 4.0 * np.exp(-0.5 * ((Z[:, None] - Z) ** 2).sum(-1)) + 1e-8 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-f)), 1.0, -1.0)


def ours(X, y, ard):
    prior = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    size = X.shape[1] if ard else None
    kernel = prior * RBF(bk.Prior("LogNormal", mu=0.0, sigma=1.0, size=size))
    problem = bk.GaussianProcess(X, y, kernel, bk.Logit())
    start = time.process_time()
    tree = bk.EvidenceMax().run(problem, random_seed=1)
    return time.process_time() - start, tree.attrs["log_evidence"]


def peer(X, y, ard):
    scale = np.ones(X.shape[1]) if ard else 1.0
    kernel = sk.ConstantKernel(1.0, (1e-5, 1e5)) * sk.RBF(scale, (1e-5, 1e5))
    start = time.process_time()
    fit = GaussianProcessClassifier(kernel).fit(X, y)
    return time.process_time() - start, fit.log_marginal_likelihood_value_


def main(sizes):
    warnings.simplefilter("ignore")
    ours(*data("rbf", 50, 0), False)  # imports and compiled loops
    print(f"{'data':>10} {'n':>5} {'ours s':>8} {'sklearn s':>9} {'ratio':>6} {'gained':>10}")
    for kind in KINDS:
        times = []
        for n in sizes if kind == "rbf" else [min(500 if kind == "ard20" else 1000, max(sizes))]:
            X, y = data(kind, n, 1)
            mine = [ours(X, y, kind == "ard20") for _ in range(3 if n <= 500 else 1)]
            theirs = peer(X, y, kind == "ard20")
            seconds = float(np.median([m[0] for m in mine]))
            times.append(seconds)
            gain = mine[0][1] - theirs[1]
            print(
                f"{kind:>10} {n:5d} {seconds:8.3f} {theirs[0]:9.2f} {theirs[0] / seconds:6.1f}"
                f" {gain:10.1e}",
                flush=True,
            )
        if len(times) > 2:
            slope = np.polyfit(np.log(sizes[-3:]), np.log(times[-3:]), 1)[0]
            print(f"{'':>10} cost grows as n^{slope:.2f} over the last three sizes")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [250, 500, 1000, 2000])
