r"""The moves of the fast sequential algorithm: rank-one updates of the whole state, compiled.

The state of :math:`M` active among :math:`p` candidate columns is the posterior covariance
:math:`\Sigma` and mean :math:`\mu` of the active weights, their prior precisions
:math:`A = 1/\theta`, the products :math:`H = X' W \Phi` of all columns with the active ones, and
for every column :math:`S_k = x_k' C^{-1} x_k` and :math:`Q_k = x_k' C^{-1} t`, where
:math:`C = W^{-1} + \Phi \Theta \Phi'`. Arrays hold room for more than :math:`M` columns.

Tipping and Faul (2003), Fast marginal likelihood maximisation for sparse Bayesian models.
"""

import numpy as np
from numba import njit


@njit(cache=True)
def gain_at(theta, s, q):
    """Twice the evidence of one column at ``theta``, over that at zero."""
    return -np.log1p(theta * s) + q * q * theta / (1.0 + theta * s)


@njit(cache=True)
def add(k, precision, h, H, S, Q, A, Sigma, mu, M):
    """Append candidate ``k``, whose products with all columns are ``h``; return the new ``M``."""
    v = np.zeros(M)
    for i in range(M):
        for j in range(M):
            v[i] += Sigma[i, j] * H[k, j]
    variance = 1.0 / (precision + S[k])
    mean = variance * Q[k]
    for i in range(M):
        for j in range(M):
            Sigma[i, j] += variance * v[i] * v[j]
        Sigma[i, M] = -variance * v[i]
        Sigma[M, i] = -variance * v[i]
        mu[i] -= mean * v[i]
    Sigma[M, M] = variance
    mu[M] = mean
    A[M] = precision
    for c in range(len(S)):
        e = h[c]
        for j in range(M):
            e -= H[c, j] * v[j]
        S[c] -= variance * e * e
        Q[c] -= mean * e
        H[c, M] = h[c]
    return M + 1


@njit(cache=True)
def _shift(j, kappa, H, S, Q, Sigma, mu, M):
    """Change the precision of active column ``j``; ``kappa`` says by how much."""
    column = Sigma[:M, j].copy()
    mean = mu[j]
    for c in range(len(S)):
        u = 0.0
        for i in range(M):
            u += H[c, i] * column[i]
        S[c] += kappa * u * u
        Q[c] += kappa * mean * u
    for i in range(M):
        for l in range(M):
            Sigma[i, l] -= kappa * column[i] * column[l]
        mu[i] -= kappa * mean * column[i]


@njit(cache=True)
def reestimate(j, precision, H, S, Q, A, Sigma, mu, M):
    """Give active column ``j`` another precision."""
    change = precision - A[j]
    kappa = change / (1.0 + change * Sigma[j, j])
    _shift(j, kappa, H, S, Q, Sigma, mu, M)
    A[j] = precision


@njit(cache=True)
def delete(j, H, S, Q, A, Sigma, mu, active, M):
    """Remove active column ``j``, moving the last one to its place; return the new ``M``."""
    _shift(j, 1.0 / Sigma[j, j], H, S, Q, Sigma, mu, M)
    last = M - 1
    if j != last:
        active[j] = active[last]
        A[j] = A[last]
        mu[j] = mu[last]
        for i in range(M):
            Sigma[i, j] = Sigma[i, last]
        for i in range(M):
            Sigma[j, i] = Sigma[last, i]
        Sigma[j, j] = Sigma[last, last]
        for c in range(len(S)):
            H[c, j] = H[c, last]
    return last


@njit(cache=True)
def best_addition(S, Q, plain, closed, tol):
    """Return the inactive column that gains most above ``tol``, or -1, and its gain.

    ``plain`` is what ``S`` is without active columns: far below it there is only rounding.
    """
    best, where = tol, -1
    for k in range(len(S)):
        if closed[k] or S[k] <= 1e-10 * plain[k]:
            continue
        ratio = Q[k] * Q[k] / S[k]
        if ratio > 1.0:
            gain = 0.5 * (ratio - 1.0 - np.log(ratio))
            if gain > best:
                best, where = gain, k
    return where, best


@njit(cache=True)
def settle(H, S, Q, A, Sigma, mu, active, closed, M, max_moves, tol):
    """Re-estimate or delete the active column that gains most, until none gains ``tol``.

    Returns the new ``M``, the number of moves and the gain of all.
    """
    total = 0.0
    for move in range(max_moves):
        best, where, new = tol, -1, 0.0
        for j in range(M):
            s = 1.0 / Sigma[j, j] - A[j]  # as if column j were left out
            q = mu[j] / Sigma[j, j]
            now = gain_at(1.0 / A[j], s, q)
            if s > 0.0 and q * q > s:
                precision = s * s / (q * q - s)
                gain = 0.5 * (gain_at(1.0 / precision, s, q) - now)
            else:
                precision = np.inf
                gain = max(-0.5 * now, 2.0 * tol)  # a weight without use goes even so
            if gain > best:
                best, where, new = gain, j, precision
        if where < 0:
            return M, move, total
        total += best
        if np.isinf(new):
            closed[active[where]] = False
            M = delete(where, H, S, Q, A, Sigma, mu, active, M)
        else:
            reestimate(where, new, H, S, Q, A, Sigma, mu, M)
    return M, max_moves, total


@njit(cache=True)
def column_sums(B, W, slope):
    """Return ``B**2' W`` and ``B' slope`` in one pass over the rows of ``B``."""
    squares, products = np.zeros(B.shape[1]), np.zeros(B.shape[1])
    for i in range(B.shape[0]):
        w, g = W[i], slope[i]
        for k in range(B.shape[1]):
            b = B[i, k]
            squares[k] += w * b * b
            products[k] += g * b
    return squares, products
