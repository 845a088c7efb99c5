"""ARD kernel with 30 length scales: Gram matrix and its gradients, against scikit-learn.

scikit-learn returns an n x n x 30 array of derivatives, whose contraction with the gradient in
the Gram matrix is not even counted here; ``pullback`` includes it. Time is CPU time on one thread,
the median of alternating runs; memory is the peak of what NumPy allocates during a call.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import tracemalloc

import numpy as np

N, SCALES, RUNS = 1000, 30, 11


def problem():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(N, N))
    return rng.normal(size=(N, SCALES)), rng.uniform(2, 8, SCALES), G + G.T


def ours(X, scales, G):
    from bayeskern.kernels import ARD

    kernel = ARD(scales)
    return kernel(X), kernel.pullback(X, G)["ard_lengthscale"]


def peer(X, scales, G):
    from sklearn.gaussian_process.kernels import RBF

    return RBF(scales)(X, eval_gradient=True)


def seconds(run, arguments):
    start = time.process_time()
    run(*arguments)
    return time.process_time() - start


def peak(run, arguments):
    """Peak memory of a call, in MB."""
    tracemalloc.start()
    run(*arguments)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used / 2**20


def main():
    arguments = problem()
    _, scales, G = arguments
    (K, gradient), (K_peer, dK) = ours(*arguments), peer(*arguments)
    expected = np.einsum("ij,ijk->k", G, dK) / scales  # theirs is in the logarithms
    error = np.abs(gradient - expected).max() / np.abs(expected).max()
    error = max(error, np.abs(K - K_peer).max())
    times = np.array([[seconds(run, arguments) for run in (ours, peer)] for _ in range(RUNS)])
    memory = [peak(run, arguments) for run in (ours, peer)]
    print(f"n = {N}, {SCALES} length scales; largest difference {error:.1e}")
    print(f"{'':14}{'bayeskern':>12}{'scikit-learn':>14}{'ratio':>8}")
    for name, (a, b) in (("CPU time, ms", 1000 * np.median(times, axis=0)), ("peak, MB", memory)):
        print(f"{name:14}{a:12.1f}{b:14.1f}{b / a:8.1f}")


if __name__ == "__main__":
    main()
