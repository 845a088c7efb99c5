"""Logarithms of binomial and beta quantities that would under- or overflow themselves."""

import math

import numpy as np
from scipy import special

LN2 = math.log(2.0)
TINY = 1e-280  # below this the incomplete beta function of SciPy is about to underflow


def ld(x):
    """Logarithm to base 2."""
    return np.log2(x)


def log_binomial(n, k):
    """Return the log of n choose k, to full relative precision up to n = 1e9 and beyond."""
    n, k = np.broadcast_arrays(np.asarray(n, float), np.asarray(k, float))
    k = np.minimum(k, n - k)
    few = sum(np.where(i < k, np.log(np.maximum(n - i, 1.0) / (i + 1)), 0.0) for i in range(16))
    # differences of log gamma functions would cancel; Stirling's leading terms cancel by hand
    a, r = np.maximum(k, 16.0), np.maximum(n - k, 16.0)
    entropy = a * np.log1p(r / a) + r * np.log1p(a / r)
    scale = 0.5 * np.log((a + r) / (2 * np.pi * a * r))
    many = entropy + scale + _stirling(a + r) - _stirling(a) - _stirling(r)
    return np.where(k < 16, few, many)


def _stirling(x):
    """Log of x! less Stirling's formula, for x of at least 16."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


def excess(x):
    """Return x - log(1 + x) without cancellation near 0.

    >>> float(excess(1e-12))
    4.999999999996666e-25
    """
    x = np.asarray(x, float)
    small = np.abs(x) < 0.1
    if not small.any():
        with np.errstate(all="ignore"):
            return x - np.log1p(x)
    s = np.where(small, x, 0.0)
    series = np.zeros_like(s)
    for power in range(17, 1, -1):
        series = (-1.0) ** power / power + s * series
    with np.errstate(all="ignore"):
        return np.where(small, s * s * series, x - np.log1p(x))


def _sum_downwards(k: int, first_ratio_numerator: float, n: float) -> float:
    """Log of sum_{j <= k} prod_{i=k-j+1..k} c i / (n - i + 1), with c the numerator's factor."""
    total, term, i = 1.0, 1.0, float(k)
    while i >= 1:
        block = np.arange(i, max(i - 4096, 0), -1.0)
        products = term * np.cumprod(first_ratio_numerator * block / (n - block + 1))
        total += products.sum()
        term, i = products[-1], i - len(block)
        if term < 1e-18 * total:
            break
    return math.log(total)


def _log_binomial_sum(n: float, k: float) -> float:
    if k >= n:
        return n * LN2
    if 2 * k >= n:
        return n * LN2 + math.log(special.betainc(n - k, k + 1, 0.5))
    return float(log_binomial(n, k)) + _sum_downwards(int(k), 1.0, n)


log_binomial_sum = np.vectorize(_log_binomial_sum, otypes=[float])
log_binomial_sum.__doc__ = "Log of sum_{i <= k} of n choose i."


def _log_binomial_cdf(k: float, n: float, p: float) -> float:
    if k >= n or p <= 0:
        return 0.0
    if p >= 1:
        return -math.inf
    direct = special.betainc(n - k, k + 1, 1 - p) if p > 0.5 else special.betaincc(k + 1, n - k, p)
    if direct > TINY:
        return math.log(direct)
    top = float(log_binomial(n, k)) + k * math.log(p) + (n - k) * math.log1p(-p)
    return top + _sum_downwards(int(k), (1 - p) / p, n)


log_binomial_cdf = np.vectorize(_log_binomial_cdf, otypes=[float])
log_binomial_cdf.__doc__ = "Log of P(Bin(n, p) <= k), also far below 1e-308."


def _tail_inverse(k: float, n: float, log_delta: float) -> float:
    """Largest p with P(Bin(n, p) <= k) >= delta."""
    if k >= n:
        return 1.0
    if k == 0:
        return -math.expm1(log_delta / n)
    if log_delta > -600:
        return float(special.betainccinv(k + 1, n - k, math.exp(log_delta)))
    low, high = k / n, 1.0
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _log_binomial_cdf(k, n, middle) >= log_delta:
            low = middle
        else:
            high = middle
    return high


tail_inverse = np.vectorize(_tail_inverse, otypes=[float])
tail_inverse.__doc__ = (
    "Upper Clopper-Pearson limit: the largest p with log P(Bin(n,p)<=k) >= log_delta."
)


def _log_betainc(a: float, b: float, x: float) -> float:
    if x <= 0:
        return -math.inf
    if x >= 1:
        return 0.0
    direct = special.betainc(a, b, x)
    if direct > TINY:
        return math.log(direct)
    # I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * 2F1(a + b, 1; a + 1; x), a series of positive terms
    total, term, j = 1.0, 1.0, 0.0
    while term > 1e-18 * total:
        block = np.arange(j, j + 1024)
        products = term * np.cumprod((a + b + block) / (a + 1 + block) * x)
        total += products.sum()
        term, j = products[-1], j + 1024
    log_front = a * math.log(x) + b * math.log1p(-x) - math.log(a) - float(special.betaln(a, b))
    return log_front + math.log(total)


log_betainc = np.vectorize(_log_betainc, otypes=[float])
log_betainc.__doc__ = "Log of the regularised incomplete beta function, for b of moderate size."
