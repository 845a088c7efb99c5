"""Pareto-smoothed importance weights and resampling."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp


class Weights(NamedTuple):
    """Importance weights that sum to one, and how far to trust them."""

    weights: np.ndarray
    pareto_k: float
    ess: float
    log_mean: float
    log_mean_se: float


def smooth(log_ratios: np.ndarray) -> Weights:
    """Smooth the largest weights by a generalised Pareto distribution (Vehtari et al. 2024).

    ``log_mean`` is the logarithm of the mean of the raw ratios.
    """
    from arviz_stats.base import array_stats

    log_ratios = np.asarray(log_ratios, dtype=float)
    n = len(log_ratios)
    log_mean = float(logsumexp(log_ratios) - np.log(n))
    relative = np.exp(log_ratios - log_mean)
    se = float(np.sqrt(np.var(relative) / n))
    if np.ptp(log_ratios) < 1e-9:
        return Weights(np.full(n, 1.0 / n), -np.inf, float(n), log_mean, se)
    smoothed, k = array_stats.psislw(-log_ratios)  # it takes log likelihoods and negates them
    w = np.exp(smoothed - logsumexp(smoothed))
    return Weights(w, float(k), float(1.0 / (w @ w)), log_mean, se)


def resample(weights: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Indices drawn in proportion to the weights, evenly spread (systematic), in random order."""
    ends = np.cumsum(weights)
    points = (rng.random() + np.arange(size)) / size * ends[-1]
    return rng.permutation(np.minimum(np.searchsorted(ends, points), len(weights) - 1))
