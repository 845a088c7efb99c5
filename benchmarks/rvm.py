"""Relevance vector machines: CPU seconds beside fastrvm and sklearn-rvm, growth and memory.

Peers are imported if installed. All run alternately in one process; the median of the runs counts.
The first fit of a fresh cache also compiles: that time is reported apart.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
import warnings

import numpy as np

import bayeskern as bk

warnings.simplefilter("ignore")
SINC_WIDTH, RIPLEY_WIDTH = 2.0, 0.5


def seconds(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def alternate(works, repeats):
    """Median CPU seconds of each, taking turns; the last result of each."""
    times, results = {name: [] for name in works}, {}
    for _ in range(repeats):
        for name, work in works.items():
            took, results[name] = seconds(work)
            times[name].append(took)
    return {name: float(np.median(t)) for name, t in times.items()}, results


def fitted(estimator, X, y):
    estimator.fit(X, y)  # one peer returns nothing
    return estimator


def peers(task):
    found = {}
    gamma = 0.5 / (SINC_WIDTH if task == "regression" else RIPLEY_WIDTH) ** 2
    try:
        import fastrvm

        kind = fastrvm.RVR if task == "regression" else fastrvm.RVC
        found["fastrvm"] = lambda X, y: fitted(kind(gamma=gamma, fit_intercept=True), X, y)
    except ImportError:
        print("fastrvm is not installed")
    try:
        from sklearn_rvm import EMRVC, EMRVR

        cls = EMRVR if task == "regression" else EMRVC
        found["sklearn-rvm"] = lambda X, y: fitted(cls(kernel="rbf", gamma=gamma), X, y)
    except ImportError:
        print("sklearn-rvm is not installed")
    try:
        from skrvm import RVC, RVR

        other = RVR if task == "regression" else RVC
        found["skrvm"] = lambda X, y: fitted(other(kernel="rbf", coef1=gamma), X, y)
    except ImportError:
        print("skrvm is not installed")
    return found


def ours(task):
    if task == "regression":
        return lambda X, y: bk.RVMRegressor(bk.RBF(SINC_WIDTH)).fit(X, y)
    return lambda X, y: bk.RVMClassifier(bk.RBF(RIPLEY_WIDTH)).fit(X, y)


def duel(task, data, test):
    mine = ours(task)
    first, _ = seconds(lambda: mine(data.X, data.y))
    fast = {"bayeskern": mine, **peers(task)}
    slow = {name: fast.pop(name) for name in ("sklearn-rvm", "skrvm") if name in fast}
    times, fits = alternate({k: lambda f=f: f(data.X, data.y) for k, f in fast.items()}, 7)
    for name, work in slow.items():
        try:
            times[name], fits[name] = seconds(lambda w=work: w(data.X, data.y))
        except Exception as error:
            print(f"{name} failed: {error!r}"[:100])
    print(f"\n{task}, n = {len(data.y)} (first fit, with compiling or loading: {first:.2f} s)")
    print(f"{'':12} {'CPU s':>9} {'ratio':>8} {'vectors':>8} {'test error':>11}")
    for name, took in times.items():
        kept = fits[name].relevance_
        count = len(kept.indices) if hasattr(kept, "indices") else len(kept)
        predicted = fits[name].predict(test.X)
        wrong = predicted != test.y if task == "classification" else (predicted - test.y) ** 2
        error = np.mean(wrong) if task == "classification" else np.sqrt(np.mean(wrong))
        ratio = took / times["bayeskern"]
        print(f"{name:12} {took:9.4f} {ratio:8.2f} {count:8d} {error:11.4f}")


def growth(task, sizes=(1000, 2000, 5000, 10000, 20000)):
    make = bk.datasets.sinc if task == "regression" else bk.datasets.ripley
    print(f"\ngrowth, {task}\n{'n':>7} {'CPU s':>8} {'vectors':>8}")
    times = []
    for n in sizes:
        data = make(n)
        runs = [seconds(lambda d=data: ours(task)(d.X, d.y)) for _ in range(3)]
        took, fit = min(runs, key=lambda run: run[0])
        times.append(took)
        print(f"{n:7d} {took:8.3f} {len(fit.relevance_.indices):8d}")
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"log-log slope {slope:.2f}; peak memory of the process {peak:.2f} GB")


if __name__ == "__main__":
    duel("regression", bk.datasets.sinc(1000), bk.datasets.sinc(999, noise=0.0))
    duel("classification", bk.datasets.ripley(1000), bk.datasets.ripley(5000, seed=1))
    growth("regression")
    growth("classification")
