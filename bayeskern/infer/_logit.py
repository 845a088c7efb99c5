"""The logistic link in compiled loops, for problems so small that calls are what costs."""

import numpy as np
from numba import njit


@njit(cache=True)
def _terms(y, f, c, slope, root):
    """Fill slopes and roots of the curvature; return the log likelihood."""
    total = 0.0
    for i in range(len(y)):
        z = c * y[i] * f[i]
        e = np.exp(-abs(z))
        total += min(z, 0.0) - np.log1p(e)
        wrong = e / (1.0 + e) if z >= 0 else 1.0 / (1.0 + e)
        slope[i] = c * y[i] * wrong
        root[i] = c * np.sqrt(e) / (1.0 + e)
    return total


@njit(cache=True)
def logit_mode(K, y, c, alpha, inverse, tol, cg_steps):
    """The same as ``newton_cg``, for the logistic link with slope ``c``; ``inverse`` is full."""
    n = len(y)
    slope, root, slope2, root2 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    f = K @ alpha
    J = _terms(y, f, c, slope, root) - 0.5 * alpha @ f
    left = 3 * cg_steps
    for n_iter in range(1, 31):
        r = slope - alpha
        Kr = K @ r
        accuracy = 3e-3 * min(1.0, np.abs(r).max())
        b = root * Kr
        z, residual, p = np.zeros(n), b.copy(), b
        target, rho, solved = accuracy * np.sqrt(b @ b), 0.0, False
        for k in range(min(cg_steps, left)):
            if np.sqrt(residual @ residual) <= target:
                left -= k
                solved = True
                break
            s = inverse @ residual
            new = residual @ s
            p = s if k == 0 else s + (new / rho) * p
            rho = new
            Bp = p + root * (K @ (root * p))
            eta = rho / (p @ Bp)
            z = z + eta * p
            residual = residual - eta * Bp
        if not solved:
            return False, alpha, f, J, n_iter
        step = r - root * z
        decrement = Kr @ step
        if not decrement >= 0:
            return False, alpha, f, J, n_iter
        if decrement <= 1e-6 * tol * (1 + abs(J)):
            return True, alpha, f, J, n_iter
        K_step, eta, moved = K @ step, 1.0, False
        for _ in range(10):
            alpha2, f2 = alpha + eta * step, f + eta * K_step
            J2 = _terms(y, f2, c, slope2, root2) - 0.5 * alpha2 @ f2
            if J2 >= J + 1e-4 * eta * decrement:
                moved = True
                break
            eta /= 2
        if not moved:
            return False, alpha, f, J, n_iter
        alpha, f, J = alpha2, f2, J2
        slope, slope2 = slope2, slope
        root, root2 = root2, root
        if decrement <= tol * (1 + abs(J)):
            return True, alpha, f, J, n_iter
    return False, alpha, f, J, 30


@njit(cache=True)
def logit_moments(m, s, log_z, centre, spread):
    """Tilted moments for ``expit(f)``, ``f ~ N(m, s^2)``, by the trapezoid rule about the mode.

    For standard deviations up to 6; see ``bayeskern._tilted``.
    """
    for i in range(len(m)):
        v = s[i] * s[i]
        mode = m[i]
        for _ in range(30):
            e = np.exp(-abs(mode))
            q = e / (1.0 + e) if mode >= 0 else 1.0 / (1.0 + e)
            move = (m[i] + v * q - mode) / (1.0 + v * q * (1.0 - q))
            mode += move
            if abs(move) < 1e-3:
                break
        h = min(0.7 * s[i], 0.7)
        half = int(np.ceil(7.0 * s[i] / h))
        top = 0.0
        total, first, second = 0.0, 0.0, 0.0
        for k in range(half + 1):  # the mode first: its weight is the largest, or nearly
            for side in (1, -1):
                if k == 0 and side == -1:
                    continue
                d = side * k * h
                t = mode + d
                u = (t - m[i]) / s[i]
                logw = min(t, 0.0) - np.log1p(np.exp(-abs(t))) - 0.5 * u * u
                if k == 0:
                    top = logw
                w = np.exp(logw - top)
                total += w
                first += w * d
                second += w * d * d
        shift = first / total
        centre[i] = mode + shift
        spread[i] = second / total - shift * shift
        log_z[i] = np.log(total * h / s[i]) + top - 0.9189385332046727
