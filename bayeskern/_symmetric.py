"""Single passes over n x n matrices, compiled."""

import numpy as np
from numba import njit


@njit(cache=True)
def b_matrix(K, root):
    """Lower triangle of ``I + root K root``, as the Fortran array that LAPACK overwrites."""
    n = len(root)
    B = np.empty((n, n))
    for i in range(n):  # row i of the transpose is column i
        for j in range(i, n):
            B[i, j] = root[i] * K[i, j] * root[j]
        B[i, i] += 1.0
        for j in range(i):
            B[i, j] = 0.0
    return B.T


@njit(cache=True)
def evidence_gradient(inverse, root, alpha, left):
    """``(left alpha' + alpha left') / 4 - root inverse root / 2`` from a lower triangle."""
    n = len(root)
    G = np.empty((n, n))
    flipped = inverse.T  # contiguous rows of a Fortran array
    for i in range(n):
        for j in range(i, n):
            G[i, j] = 0.25 * (left[i] * alpha[j] + alpha[i] * left[j])
            G[i, j] -= 0.5 * root[i] * flipped[i, j] * root[j]
    _mirror(G)
    return G


@njit(cache=True)
def mirror(lower):
    """Full symmetric matrix from the lower triangle of a Fortran array."""
    full = lower.T.copy()
    _mirror(full)
    return full


@njit(cache=True)
def _mirror(G):
    """Copy the upper triangle into the lower, in blocks that fit the cache."""
    n, block = len(G), 64
    for a in range(0, n, block):
        for b in range(a, n, block):
            for i in range(a, min(a + block, n)):
                for j in range(max(b, i + 1), min(b + block, n)):
                    G[j, i] = G[i, j]


@njit(cache=True)
def weighted_sums(G, K, D):
    """``sum(G * K)`` and ``sum(G * K * D)`` for symmetric matrices."""
    n = len(G)
    plain, weighted = 0.0, 0.0
    for i in range(n):
        plain += G[i, i] * K[i, i]
        row, far = 0.0, 0.0
        for j in range(i):
            m = G[i, j] * K[i, j]
            row += m
            far += m * D[i, j]
        plain += 2.0 * row
        weighted += 2.0 * far
    return plain, weighted
