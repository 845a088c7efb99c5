r"""The one inner loop of the version space: harmonic flight between walls.

With margins :math:`u \sim N(0, S)`, :math:`S_{ii} = 1`, and a velocity :math:`v \sim N(0, S)`, the
motion :math:`u \cos s + v \sin s` leaves the Gaussian invariant. A wall is a margin that reaches
:math:`-c`; a bounce at wall ``j`` is :math:`v \gets v - 2 v_j S_{\cdot j}`, which costs O(m) and
needs no whitening. The next wall is found without trigonometry, a block of margins at a time.
"""

import numpy as np
from numba import njit

BLOCK = 32
_MATH = {"nnan", "nsz", "contract", "reassoc"}


@njit(cache=True, fastmath=_MATH)
def fly(u, v, S, cos_left, sin_left, cap):
    """Move ``(u, v)`` inside the cone ``u > 0`` for the angle left, in place; count the bounces.

    The count is ``cap`` if the flight was cut short there.
    """
    m = len(u)
    for bounces in range(cap):
        cos, sin, wall = cos_left, sin_left, -1
        for start in range(0, m, BLOCK):
            stop = min(start + BLOCK, m)
            low = 0.0
            for i in range(start, stop):
                low = min(low, u[i] * cos + v[i] * sin)
            if low < 0.0:
                for i in range(start, stop):
                    if u[i] * cos + v[i] * sin < 0.0:  # wall i comes before the current angle
                        length = np.hypot(u[i], v[i])
                        cos, sin, wall = -v[i] / length, u[i] / length, i
        if wall < 0:
            for i in range(m):
                u[i], v[i] = u[i] * cos + v[i] * sin, v[i] * cos - u[i] * sin
            return bounces
        twice = 2.0 * np.hypot(u[wall], v[wall])
        row = S[wall]
        for i in range(m):
            # rounding may leave a margin just below its wall
            new = max(u[i] * cos + v[i] * sin, 0.0)
            v[i] = v[i] * cos - u[i] * sin + twice * row[i]
            u[i] = new
        u[wall] = 0.0
        cos_left, sin_left = cos_left * cos + sin_left * sin, sin_left * cos - cos_left * sin
    return cap


@njit(cache=True, fastmath=_MATH)
def fly_above(u, v, S, level, cap):
    """Move ``(u, v)`` inside ``u > -level``, ``level > 0``, for a quarter turn, in place.

    With ``q`` the cotangent of half an angle, margin ``i`` meets its wall where
    ``(u + c) q^2 + 2 v q + c - u = 0``; the larger root comes first.
    """
    m = len(u)
    cos_left, sin_left = 0.0, 1.0
    c2 = level * level
    for bounces in range(cap):
        cos, sin, wall = cos_left, sin_left, -1
        if sin <= 1e-15:
            return bounces
        q = (1.0 + cos) / sin
        for start in range(0, m, BLOCK):
            stop = min(start + BLOCK, m)
            low = 0.0
            for i in range(start, stop):
                gap = u[i] + level
                slope = v[i] + q * gap
                value = q * (slope + v[i]) + level - u[i]
                low = min(low, min(value, max(slope, c2 - u[i] * u[i] - v[i] * v[i])))
            if low < 0.0:
                for i in range(start, stop):
                    gap = u[i] + level
                    slope = v[i] + q * gap
                    value = q * (slope + v[i]) + level - u[i]
                    root = u[i] * u[i] + v[i] * v[i] - c2
                    if value < 0.0 or (slope < 0.0 and root > 0.0):
                        wall = i
                        if gap < 1e-14 * level:  # on the wall and moving out: nothing is earlier
                            q, cos, sin = np.inf, 1.0, 0.0
                            break
                        q = (np.sqrt(max(root, 0.0)) - v[i]) / gap
                        cos, sin = (q * q - 1.0) / (q * q + 1.0), 2.0 * q / (q * q + 1.0)
                if sin == 0.0:
                    break
        if wall < 0:
            for i in range(m):
                u[i], v[i] = u[i] * cos + v[i] * sin, v[i] * cos - u[i] * sin
            return bounces
        twice = -2.0 * (v[wall] * cos - u[wall] * sin)
        row = S[wall]
        for i in range(m):
            new = max(u[i] * cos + v[i] * sin, -level)
            v[i] = v[i] * cos - u[i] * sin + twice * row[i]
            u[i] = new
        u[wall] = -level
        cos_left, sin_left = cos_left * cos + sin_left * sin, sin_left * cos - cos_left * sin
    return cap


@njit(cache=True)
def run_chain(u, V, S, time, cap, out):
    """Draw once for each velocity (a row of ``V``, spent); fill ``out``, return bounce counts."""
    counts = np.empty(len(V), np.int64)
    cos, sin = np.cos(time), np.sin(time)
    if abs(cos) < 1e-15:
        cos = 0.0
    for k in range(len(V)):
        counts[k] = fly(u, V[k], S, cos, sin, cap)
        out[k] = u
    return counts


@njit(cache=True)
def run_level(U, V, S, level, cap):
    """Continue every particle (a row of ``U``) as a chain of draws inside ``u > -level``.

    ``V`` has shape (particles, length, m) and is overwritten by the draws.
    """
    total = 0
    for k in range(len(U)):
        u = U[k].copy()
        for s in range(V.shape[1]):
            bounces = fly_above(u, V[k, s], S, level, cap)
            if bounces == cap:
                return -1
            total += bounces
            V[k, s] = u
    return total
