"""Bayes point machine: effective samples per CPU second, log volumes and EP, at 500 points.

Run ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/bayes_point.py``; add ``nuts`` for
plain NUTS on the hard constraint, which compiles, and ``volumes`` for all log volumes.
"""

import sys
import time
import warnings

import arviz as az
import numpy as np
from scipy.special import gammaln

import bayeskern as bk
from bayeskern.kernels.dot import Linear
from bayeskern.kernels.stationary import RBF

NUGGETS = (1e-6, 1e-2, 0.3)


def data(m, seed=0, nugget=0.0):
    """Draw inputs and labels from a Gaussian process with the nugget that is later assumed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 2))
    K = RBF()(X) + (nugget + 1e-9) * np.eye(m)
    return X, np.where(np.linalg.cholesky(K) @ rng.standard_normal(m) > 0, 1.0, -1.0)


def speed(method, problem, Z):
    """Return the worst effective sample size over test points, per CPU second of sampling."""
    warnings.simplefilter("ignore")
    K = problem.cross_cov({}, Z)
    start = time.process_time()
    tree = method.run(problem, random_seed=1)
    seconds = time.process_time() - start
    means = tree["posterior"]["alpha"].values @ K
    ess = min(float(az.ess(means[..., k])) for k in range(len(Z)))
    rhat = max(float(az.rhat(means[..., k])) for k in range(len(Z)))
    bounces = tree["sample_stats"].get("n_bounces")
    return ess, seconds, rhat, float(bounces.mean()) if bounces is not None else np.nan


def samplers():
    Z = np.random.default_rng(9).standard_normal((50, 2))
    methods = {
        "ConeHMC": bk.ConeHMC(draws=2000, chains=2),
        "Billiard, cosine": bk.Billiard(draws=1000, chains=2),
        "KernelGibbs": bk.KernelGibbs(draws=2000, chains=2),
        "ConeSlice": bk.ConeSlice(draws=2000, chains=2),
    }
    small = bk.BayesPoint(*data(20, nugget=0.3), RBF(), lam=0.3)
    for method in methods.values():  # compile
        speed(method, small, Z)
    print(
        f"{'m = 500, RBF':20s}{'nugget':>8s}{'ESS':>9s}{'CPU s':>8s}{'ESS/s':>9s}"
        f"{'R-hat':>8s}{'bounces':>9s}"
    )
    for nugget in NUGGETS:
        problem = bk.BayesPoint(*data(500, nugget=nugget), RBF(), lam=nugget)
        for name, method in methods.items():
            ess, seconds, rhat, bounces = speed(method, problem, Z)
            rate = f"{ess / seconds:9.0f}" if rhat < 1.05 else f"{'not mixed':>9s}"
            print(
                f"{name:20s}{nugget:8g}{ess:9.0f}{seconds:8.2f}{rate}{rhat:8.2f}{bounces:9.0f}",
                flush=True,
            )


def growth():
    rng = np.random.default_rng(9)
    Z = rng.standard_normal((50, 2))
    sizes, costs = (250, 500, 1000, 2000), []
    print("\nConeHMC, nugget 0.01, one true boundary, by size")
    for m in sizes:
        X = rng.standard_normal((m, 2))
        y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
        problem = bk.BayesPoint(X, y, RBF(), lam=0.01)
        ess, seconds, rhat, bounces = speed(bk.ConeHMC(draws=500, chains=2), problem, Z)
        costs.append(seconds / ess)
        print(
            f"m = {m:5d}: {ess / seconds:8.0f} ESS/s, R-hat {rhat:.2f}, {bounces:.0f} bounces",
            flush=True,
        )
    slope = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    print(f"CPU per effective sample grows like m^{slope:.1f}")


def volume_line(name, problem, exact, **settings):
    start = time.process_time()
    found = bk.log_volume(problem, random_seed=1, exact=False, **settings)
    seconds = time.process_time() - start
    start = time.process_time()
    ep = bk.EP().at(problem, {}).log_evidence
    ep_seconds = time.process_time() - start
    off = f"{(found.value - exact) / found.se:8.1f}" if exact is not None else f"{'':8s}"
    truth = f"{exact:10.2f}" if exact is not None else f"{'':10s}"
    print(
        f"{name:24s}{truth}{found.value:10.2f}{found.se:7.2f}{off}{seconds:8.1f}"
        f"{ep:10.2f}{ep_seconds:7.2f}",
        flush=True,
    )


def of_gram(S):
    return bk.BayesPoint(np.linalg.cholesky(S), np.ones(len(S)), Linear())


def volumes(everything):
    print(
        f"\n{'log volume, m = 500':24s}{'exact':>10s}{'value':>10s}{'se':>7s}{'z':>8s}"
        f"{'CPU s':>8s}{'EP':>10s}{'EP s':>7s}"
    )
    m, i = 500, np.arange(1.0, 501)
    bk.log_volume(of_gram(np.eye(5)), exact=False)  # compile
    equi = np.full((m, m), 0.5) + 0.5 * np.eye(m)
    volume_line("equicorrelated 1/2", of_gram(equi), -np.log(m + 1), particles=500)
    walk = gammaln(2 * m + 1) - 2 * gammaln(m + 1) - m * np.log(4)
    volume_line("random walk", of_gram(np.minimum(i[:, None], i)), walk, particles=500)
    volume_line("identity", of_gram(np.eye(m)), -m * np.log(2))
    for nugget in NUGGETS if everything else NUGGETS[1:2]:
        problem = bk.BayesPoint(*data(m, nugget=nugget), RBF(), lam=nugget)
        volume_line(f"RBF, nugget {nugget:g}", problem, None)


def expectation_propagation():
    print("\nEP, m = 1000")
    for nugget in NUGGETS:
        problem = bk.BayesPoint(*data(1000, nugget=nugget), RBF(), lam=nugget)
        start = time.process_time()
        state = bk.EP().at(problem, {})
        seconds = time.process_time() - start
        print(f"nugget {nugget:g}: {seconds:.2f} CPU s, log evidence {state.log_evidence:.2f}")


def hard_constraint():
    import pymc as pm

    A = np.array([[1, 0.2, 0.1], [-0.3, 1, 0.2], [0.1, -0.4, 1], [0.6, 0.5, -0.7]])
    problem = bk.BayesPoint(A, np.ones(4), Linear())
    with problem.cone_model:
        trace = pm.sample(
            1000,
            tune=1000,
            chains=3,
            cores=1,
            nuts_sampler="pymc",
            progressbar=False,
            init="adapt_diag",
            random_seed=1,
            compute_convergence_checks=False,
        )
    print(
        f"\nNUTS on four hard constraints: {int(trace['sample_stats']['diverging'].sum())}"
        " divergences in 3000 draws"
    )


def main():
    samplers()
    growth()
    volumes("volumes" in sys.argv)
    expectation_propagation()
    if "nuts" in sys.argv:
        hard_constraint()


if __name__ == "__main__":
    main()
