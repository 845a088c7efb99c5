"""Support vector machines: ours against scikit-learn's SVC, warm, in the same run.

Medians over alternating runs, wall and CPU seconds; a ratio above one means ours is faster. The
data have 20 standardised features and 10 % flipped labels; RBF, gamma="scale", C = 1, tol = 1e-3.
The fit is the whole of ``SVMClassifier.fit``; the certificate is a separate call, timed apart.
"""

import argparse
import resource
import time

import numpy as np

from bayeskern.classic import Rows, SVMClassifier, svm_path
from bayeskern.kernels import RBF


def data(n, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + 0.5 * X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return (X - X.mean(0)) / X.std(0), y


def seconds(function):
    wall, cpu = time.perf_counter(), time.process_time()
    value = function()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def row(name, n, ours, peer, note=""):
    """Print medians and the median of the ratios of neighbouring runs."""
    a, b = np.array(ours), np.array(peer)
    wall, cpu = np.median(b / a, axis=0)
    print(
        f"{name:<26}{n:>7}{np.median(a[:, 0]):>10.4f}{np.median(b[:, 0]):>10.4f}"
        f"{wall:>8.1f}{cpu:>8.1f}  {note}"
    )


def alternate(ours, peer, runs):
    a, b = [], []
    for _ in range(runs):
        fit, *spent = seconds(ours)
        a.append(spent)
        other, *spent = seconds(peer)
        b.append(spent)
    return fit, other, a, b


def dual(model, X, y):
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    kernel = RBF(float(np.sqrt(0.5 * X.var() * X.shape[1])))
    return beta @ y - 0.5 * beta @ Rows(kernel=kernel, X=X).times(beta)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true", help="also fit 50 000 points")
    options = parser.parse_args()
    try:
        from sklearn.svm import SVC
    except ImportError:
        print("scikit-learn is not installed, so there is no peer to compare with")
        return
    X, y = data(200)
    for bias in ("ordinary", "none", 1.0):
        SVMClassifier(bias=bias).fit(X, y)  # compile
    print(f"{'task':<26}{'n':>7}{'ours s':>10}{'peer s':>10}{'wall x':>8}{'CPU x':>8}")
    sizes, spent = (1000, 4000, 10_000), []
    for n in sizes:
        X, y = data(n)
        runs = {1000: 15, 4000: 7, 10_000: 3}[n]
        fit, peer, a, b = alternate(
            lambda: SVMClassifier().fit(X, y),  # noqa: B023
            lambda: SVC().fit(X, y),  # noqa: B023
            runs,
        )
        spent.append(np.median(np.array(a)[:, 1]))
        worse = (dual(peer, X, y) - dual(fit, X, y)) / dual(peer, X, y)
        row("fit, ordinary bias", n, a, b, f"dual worse by {worse:.1e}")
        for bias in ("none", 1.0):
            _, _, c, d = alternate(
                lambda: SVMClassifier(bias=bias).fit(X, y),  # noqa: B023
                lambda: SVMClassifier().fit(X, y),  # noqa: B023
                runs,
            )
            row(f"fit, bias={bias} (vs ours)", n, c, d)
        _, _, c, d = alternate(lambda: fit.predict(X), lambda: peer.predict(X), runs)  # noqa: B023
        row("predict", n, c, d)
        proof, wall, _ = seconds(lambda: fit.solution_)  # noqa: B023
        print(f"{'certificate':<26}{n:>7}{wall:>10.4f}{'':>26}  gap {proof.gap:.1e}")
    slope = np.polyfit(np.log(sizes), np.log(spent), 1)[0]
    print(f"growth of the fit: n^{slope:.2f}")
    Cs = np.logspace(-2, 2, 20)
    for n in (1000, 4000):
        X, y = data(n)
        kernel = RBF(float(np.sqrt(0.5 * X.var() * X.shape[1])))

        def path(X=X, y=y, kernel=kernel):
            rows = Rows(kernel=kernel, X=X, cache_mb=200)
            return svm_path(rows, y, Cs, bias="ordinary", tol=1e-3)

        def fits(X=X, y=y):
            return [SVC(C=C).fit(X, y) for C in Cs]

        _, _, a, b = alternate(path, fits, 3 if n == 1000 else 1)
        row("path of 20 C, certified", n, a, b)
    if options.large:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        X, y = data(50_000)
        fit, wall, _ = seconds(lambda: SVMClassifier(cache_mb=300).fit(X, y))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"{'fit, 300 MB cache':<26}{50_000:>7}{wall:>10.2f}  peak {peak / 1024:.0f} MB"
            f" (before {before / 1024:.0f} MB), converged {fit.converged_}"
        )


if __name__ == "__main__":
    main()
