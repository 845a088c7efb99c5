"""The soft Lipschitz program: constraints on demand beside all of them at once.

CPU seconds on one thread; the full program is given to HiGHS with one row per ordered pair. Its
size is limited by default, since n = 2000 means four million rows: pass the largest n to try.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from bayeskern.classic.lipschitz import lipschitz_soft
from bayeskern.classic.lipschitz_lp import _rows


def sample(n):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.standard_normal((n, 2))
    X[:, 0] += 0.8 * y
    return cdist(X, X), y


def everything(D, y, C):
    n = len(y)
    pairs = np.argwhere(~np.eye(n, dtype=bool))
    bounds = [(0, 2)] * n + [(0, None)]
    limit = {"time_limit": 1800.0}
    answer = linprog(np.r_[np.full(n, C), 1.0], bounds=bounds, options=limit, **_rows(D, y, pairs))
    return answer.fun if answer.success else None


def timed(run):
    start = time.process_time()
    value = run()
    return time.process_time() - start, value


if __name__ == "__main__":
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{'n':>5s} {'C':>6s} {'ours':>8s} {'all pairs':>10s} {'ratio':>7s}  objective")
    for n in (250, 500, 1000, 2000):
        D, y = sample(n)
        for C in (0.02, 0.1, 1.0):
            ours, fit = timed(lambda: lipschitz_soft(D, y, C))  # noqa: B023
            line = f"{n:5d} {C:6.2f} {ours:8.3f}"
            if n > largest:
                print(f"{line} {'-':>10s} {'-':>7s}  {fit.objective:.9f} (gap {fit.gap:.0e})")
                continue
            peer, value = timed(lambda: everything(D, y, C))  # noqa: B023
            apart = (
                "not solved" if value is None else f"differs by {abs(value - fit.objective):.0e}"
            )
            print(f"{line} {peer:10.3f} {peer / ours:6.0f}x  {fit.objective:.9f} ({apart})")
