"""Hyperparameter posteriors of a GP classifier: effective draws per CPU second.

The peer, nutpie on the latent PyMC model, reached 28, 7 and 0.45 at n = 100, 200 and 400 on a
machine of this kind, after 16 to 39 s of compiling.
"""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings

import numpy as np
from arviz_stats.base import array_stats

import bayeskern as bk
from bayeskern.infer.hyper import _bells
from bayeskern.kernels.stationary import RBF

RECORDED = {100: 28.0, 200: 7.0, 400: 0.45}
PRIOR = bk.Prior("LogNormal", mu=0.0, sigma=1.0)


def problem(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    K = 4.0 * np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1)) + 1e-8 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-f)), 1.0, -1.0)
    return bk.GaussianProcess(X, y, PRIOR * RBF(PRIOR), bk.Logit())


def theta_alone(method, gp):
    """Draws of log theta, as the recorded figures count them: without drawing f."""
    rng = np.random.default_rng(1)
    start = time.process_time()
    if isinstance(method, bk.HyperNUTS):
        xs, _ = method.sample_theta(gp, _bells(gp, method.inner, rng, starts=2)[0], rng)
        seconds = time.process_time() - start
        chains = xs.reshape(method.chains, -1, xs.shape[1])
        ess = min(float(array_stats.ess(chains[..., k], chain_axis=0, draw_axis=1)) for k in (0, 1))
        return ess, seconds
    from bayeskern.infer.weights import smooth

    xs, values, log_q = method.propose(gp, _bells(gp, method.inner, rng, starts=2), rng)
    found = smooth(values - log_q)
    return found.ess, time.process_time() - start


def main(sizes):
    warnings.simplefilter("ignore")
    methods = {
        "HyperNUTS(Laplace)": bk.HyperNUTS(draws=500, tune=100, chains=2),
        "HyperNUTS(EP)": bk.HyperNUTS(bk.EP(tol=1e-3), draws=500, tune=100, chains=2),
        "HyperImportance(Laplace)": bk.HyperImportance(draws=1000),
        "HyperImportance(EP)": bk.HyperImportance(bk.EP(tol=1e-3), draws=1000),
    }
    for method in methods.values():
        theta_alone(method, problem(20))  # imports and compiled loops
    print(f"{'method':>25} {'n':>4} {'CPU s':>7} {'min ESS':>8} {'ESS/s':>7} {'to NUTS':>8}")
    for n in sizes:
        gp = problem(n)
        for name, method in methods.items():
            ess, seconds = theta_alone(method, gp)
            ratio = f"{ess / seconds / RECORDED[n]:8.0f}" if n in RECORDED else ""
            print(f"{name:>25} {n:4d} {seconds:7.2f} {ess:8.0f} {ess / seconds:7.0f} {ratio}")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:] if a.isdigit()] or [100, 200, 400])
