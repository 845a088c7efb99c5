"""A sparse GP classifier on many points: CPU seconds, peak memory and test error.

Arguments: number of points (default 20000) and of inducing inputs (default 200); 10 features.
"""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time

import numpy as np

import bayeskern as bk
from bayeskern.kernels.stationary import RBF


def main(n=20_000, inducing=200, d=10):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + 2000, d))
    f = 3 * np.sin(1.5 * X[:, 0]) + 2 * X[:, 1] * X[:, 2]
    y = np.where(rng.random(len(f)) < 1 / (1 + np.exp(-f)), 1.0, -1.0)
    unit = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    scale = bk.Prior("LogNormal", mu=np.log(np.sqrt(d)), sigma=1.0)
    for inner in (bk.Laplace(), bk.EP(tol=1e-4)):
        gp = bk.SparseGP(X[:n], y[:n], unit * RBF(scale), bk.Logit(), inducing=inducing)
        start = time.process_time()
        tree = bk.EvidenceMax(inner, starts=2).run(gp, random_seed=0)
        seconds = time.process_time() - start
        theta = {name: float(tree.fit[f"theta_{name}"]) for name in gp.free()}
        state = inner.at(gp, theta)
        mean, _ = state.predict(gp.cross_cov(theta, X[n:]), gp.prior_var(theta, X[n:]))
        error, best = (mean * y[n:] < 0).mean(), (f[n:] * y[n:] < 0).mean()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{type(inner).__name__:>8} n={n} m={inducing} CPU {seconds:6.1f} s, peak"
            f" {memory:.0f} MB, log evidence {tree.attrs['log_evidence']:.1f}, test error"
            f" {error:.3f} (true function {best:.3f}), {theta}",
            flush=True,
        )


if __name__ == "__main__":
    main(*[int(a) for a in sys.argv[1:]])
