"""Spectral clustering, diffusion maps and neighbourhood graphs, beside their peers.

CPU seconds, the median of alternating runs on one thread. Set PYTHONPATH to where pydiffmap is
installed to include it.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
import warnings

import numpy as np
from scipy.sparse.linalg import eigsh
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_moons, make_swiss_roll
from sklearn.manifold import trustworthiness
from sklearn.metrics.pairwise import rbf_kernel

from bayeskern.classic import DiffusionMap, SpectralClusterer
from bayeskern.classic.graph import laplacian, neighbour_graph
from bayeskern.kernels.stationary import RBF

warnings.simplefilter("ignore")


def race(ours, peer, runs=5):
    """Median CPU seconds of two functions, run in turn."""
    ours(), peer()
    times = {ours: [], peer: []}
    for _ in range(runs):
        for run in (ours, peer):
            start = time.process_time()
            run()
            times[run].append(time.process_time() - start)
    return float(np.median(times[ours])), float(np.median(times[peer]))


def row(work, ours, peer, note=""):
    print(f"{work:44s} {ours:9.3f} {peer:9.3f} {peer / ours:7.1f}x  {note}")


def full_graph(n):
    X, _ = make_moons(n, noise=0.05, random_state=0)
    scale = 0.2 / np.sqrt(2)
    ours = lambda: SpectralClusterer(2, kernel=RBF(scale), random_state=0).fit(X)  # noqa: E731
    peer = lambda: SpectralClustering(2, gamma=25, random_state=0).fit(X)  # noqa: E731
    spectrum = ours().result_.spectrum
    L = laplacian(rbf_kernel(X, gamma=25))
    values, vectors = eigsh(-L, 2, sigma=1.0, which="LM", tol=0)
    theirs = np.linalg.norm(L @ vectors + vectors * values, axis=0).max()
    apart = np.abs(spectrum.eigenvalues[:2] + np.sort(values)[::-1]).max()
    note = f"eigenvalues differ by {apart:.0e}, residuals {spectrum.residual:.0e}, {theirs:.0e}"
    row(f"spectral clustering, full graph, n = {n}", *race(ours, peer, 3), note)


def knn_graph(n):
    X, _ = make_moons(n, noise=0.05, random_state=0)

    def ours():
        return SpectralClusterer(2, n_neighbors=10, random_state=0).fit(X).sanity()

    def peer():
        return SpectralClustering(
            2, affinity="nearest_neighbors", n_neighbors=10, random_state=0
        ).fit(X)

    row(f"spectral clustering, k-NN graph, sanity, n = {n}", *race(ours, peer, 9))


def diffusion(n):
    X, _ = make_swiss_roll(n, random_state=0)
    try:
        from pydiffmap.diffusion_map import DiffusionMap as Peer
    except ImportError:
        print("pydiffmap is not installed: diffusion maps are skipped")
        return

    def ours():
        return DiffusionMap(5, n_neighbors=32).fit_transform(X)

    def peer():
        return Peer.from_sklearn(n_evecs=5, k=64, epsilon="bgh", alpha=1.0).fit_transform(X)

    part = np.random.default_rng(0).choice(n, 1500, replace=False)
    trust = [trustworthiness(X[part], run()[part], n_neighbors=12) for run in (ours, peer)]
    note = f"trustworthiness {trust[0]:.3f} and {trust[1]:.3f}"
    row(f"diffusion map, 5 coordinates, n = {n}", *race(ours, peer, 3), note)


def growth():
    print("\nk-NN graph, k = 10, 3 features")
    sizes, seconds = (6250, 12_500, 25_000, 50_000), []
    for n in sizes:
        X = np.random.default_rng(0).standard_normal((n, 3))
        start = time.process_time()
        neighbour_graph(X, k=10)
        seconds.append(time.process_time() - start)
        print(f"  n = {n:6d} {seconds[-1]:8.3f} s")
    slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  growth: time ~ n^{slope:.2f}, peak memory of this process {peak:.2f} GB")


if __name__ == "__main__":
    growth()
    print(f"\n{'work':44s} {'ours':>9s} {'peer':>9s} {'ratio':>8s}")
    for n in (2000, 5000):
        full_graph(n)
    knn_graph(5000)
    diffusion(5000)
