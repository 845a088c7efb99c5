"""EP: evidence fits at n = 500, and three hundred cold starts that must not fail.

The peer, GPy's nested EP, took 17 to 29 s for such a fit on a machine of this kind; it does not
install beside current NumPy.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
import time
import warnings

import numpy as np

import bayeskern as bk
from bayeskern.kernels.stationary import RBF

PEER = 17.0


def labels(n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = 4.0 * np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1)) + 1e-8 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-f)), 1.0, -1.0)


def fit(n, link):
    unit = bk.Prior("LogNormal", mu=0.0, sigma=1.0)
    gp = bk.GaussianProcess(*labels(n), unit * RBF(unit), link)
    start = time.process_time()
    tree = bk.EvidenceMax(bk.EP(tol=1e-4)).run(gp, random_seed=1)
    return time.process_time() - start, tree.attrs["log_evidence"]


def cold_starts(n):
    X, y = labels(n)
    rng = np.random.default_rng(2)
    kinds = [
        (X, y),
        (X, rng.choice([-1.0, 1.0], n)),
        (X, np.where(X[:, 0] > 0, 1.0, -1.0)),
        (np.repeat(X[: n // 2], 2, axis=0), np.tile([1.0, -1.0], n // 2)),
    ]
    amplitudes, scales = np.exp(np.linspace(0, 6, 7)), np.exp(np.linspace(-1, 1, 6))
    failures = count = most = 0
    for (X, y), link in itertools.product(kinds, (bk.Probit(), bk.Logit())):
        for amplitude, scale in itertools.product(amplitudes, scales):
            gp = bk.GaussianProcess(X, y, float(amplitude) * RBF(float(scale)), link)
            state = bk.EP(tol=1e-4).at(gp, {})
            failures += not state.converged
            count, most = count + 1, max(most, state.n_iter)
    return failures, count, most


def main():
    warnings.simplefilter("ignore")
    fit(50, bk.Probit())
    fit(50, bk.Logit())
    for link in (bk.Probit(), bk.Logit()):
        seconds, value = fit(500, link)
        print(
            f"fit n=500 {type(link).__name__:>7}: {seconds:.2f} CPU s, log evidence {value:.4f},"
            f" {PEER / seconds:.0f} times GPy's recorded best"
        )
    failures, count, most = cold_starts(200)
    print(f"cold starts n=200: {failures} of {count} failed, at most {most} sweeps")


if __name__ == "__main__":
    main()
