"""Coordinate ascent for the all-together multiclass machine, one point at a time."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ascend(K, label, C, tau, f, tol, max_epochs):
    """Solve for each point in turn its own classes (Crammer and Singer 2001), in place.

    ``f = K @ tau``; the problem of one point is minimising ``A |t|^2 / 2 + b't`` over
    ``t <= C_i e_y, sum(t) = 0``, whose solution is a water level found by sorting. Returns the
    epochs used and the largest violation in the last.
    """
    n, k = tau.shape
    b = np.empty(k)
    new = np.empty(k)
    worst = np.inf
    for epoch in range(max_epochs):
        worst = 0.0
        for i in range(n):
            y, A, c = label[i], max(K[i, i], 1e-12), C[i]
            top, bottom = -np.inf, np.inf
            for r in range(k):
                g = f[i, r] + (0.0 if r == y else 1.0)
                top = max(top, g)
                if tau[i, r] < (c if r == y else 0.0):
                    bottom = min(bottom, g)
                b[r] = g - A * tau[i, r]
            if top - bottom <= tol:
                worst = max(worst, top - bottom)
                continue
            worst = max(worst, top - bottom)
            d = b.copy()
            d[y] += A * c
            d = np.sort(d)[::-1]
            level, r = d[0] - A * c, 1
            while r < k and level < r * d[r]:
                level += d[r]
                r += 1
            level /= r
            for r in range(k):
                new[r] = min(c if r == y else 0.0, (level - b[r]) / A)
            for r in range(k):
                step = new[r] - tau[i, r]
                if step != 0.0:
                    tau[i, r] = new[r]
                    for j in range(n):
                        f[j, r] += step * K[i, j]
        if worst <= tol:
            return epoch + 1, worst
    return max_epochs, worst
