"""Subsequence kernel of length 3 on 200 strings of 200 symbols, against strkernels.

Needs ``pip install strkernels``. Its kernel adds up the lengths 1 to 3 in one pass, which costs it
little more than the last alone; the sum of ours over those lengths checks the values. Both use
the symmetry of the Gram matrix and float64. CPU time, median of alternating runs.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time

import numpy as np

from bayeskern.kernels import Subsequence

N, LENGTH, RUNS = 200, 200, 3


def strings(alphabet):
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list(alphabet), LENGTH)) for _ in range(N)]


def seconds(run):
    start, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - start, time.perf_counter() - wall


def main():
    try:
        from strkernels import SubsequenceStringKernel
    except ImportError:
        sys.exit("this benchmark compares with strkernels: pip install strkernels")
    kernel, peer = Subsequence(3), SubsequenceStringKernel(maxlen=3, ssk_lambda=0.5)
    few = strings("ACGT")[:20]
    raw = SubsequenceStringKernel(maxlen=3, ssk_lambda=0.5, normalizer=None)
    expected = np.array(raw(few, few))
    error = np.abs(sum(Subsequence(r)(few) for r in (1, 2, 3)) / expected - 1).max()
    print(f"{N} strings of {LENGTH} symbols; largest relative difference {error:.1e}")
    print(f"{'alphabet':10}{'bayeskern':>12}{'strkernels':>12}{'ratio':>8}   (CPU s; wall ratio)")
    for name, alphabet in (("DNA", "ACGT"), ("letters", "abcdefghijklmnopqrstuvwxyz")):
        texts = strings(alphabet)
        runs = [
            [seconds(lambda: kernel(texts)), seconds(lambda: peer(texts, texts))]  # noqa: B023
            for _ in range(RUNS)
        ]
        (ours, ours_wall), (theirs, theirs_wall) = np.median(runs, axis=0)
        print(
            f"{name:10}{ours:12.2f}{theirs:12.2f}{theirs / ours:8.1f}"
            f"   ({theirs_wall / ours_wall:.1f})"
        )


if __name__ == "__main__":
    main()
