"""Quadrature over the logarithms of both lengthscales; f is normal given them."""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

x1, x2, y = oracle.read(HERE).values()
X, n, noise = np.column_stack([x1, x2]), len(y), 0.2
squares = (X[:, None] - X) ** 2

s = np.linspace(-6, 6, 241)  # the prior of a log lengthscale is N(0, 1), so the ends do not count
step = s[1] - s[0]
log_p = np.empty((len(s), len(s)))
mean, sd = np.empty((*log_p.shape, n)), np.empty((*log_p.shape, n))
for k, first in enumerate(s):
    scales = np.exp(-2 * np.column_stack([np.full(len(s), first), s]))
    K = np.exp(-0.5 * np.einsum("ijd,kd->kij", squares, scales))
    values, vectors = np.linalg.eigh(K + noise**2 * np.eye(n))
    coordinates = np.einsum("kij,i->kj", vectors, y)
    log_p[k] = -0.5 * (np.log(2 * np.pi * values) + coordinates**2 / values).sum(axis=1)
    log_p[k] += -0.5 * (first**2 + s**2) - np.log(2 * np.pi)
    KV = K @ vectors
    mean[k] = np.einsum("kij,kj->ki", KV, coordinates / values)
    sd[k] = np.sqrt(np.maximum(1 - np.einsum("kij,kj->ki", KV**2, 1 / values), 1e-14))

p = np.exp(log_p)
evidence = p.sum() * step**2
weights = p.ravel() / p.sum()
keep = weights > 1e-12
f = oracle.mixture_summary(weights[keep], mean.reshape(-1, n)[keep], sd.reshape(-1, n)[keep])


def scale(mass):
    """Summarise one lengthscale from the masses of the nodes of its logarithm."""
    mass = mass / mass.sum()
    centre = mass @ np.exp(s)
    out = {"mean": centre, "sd": np.sqrt(mass @ (np.exp(s) - centre) ** 2), "mcse": 0.0}
    curve = oracle.curve_summary(s, mass)
    return out | {name: np.exp(curve[name]) for name in oracle.LEVELS}


both = [scale(p.sum(axis=1)), scale(p.sum(axis=0))]
lengthscale = {key: np.array([each[key] for each in both]) for key in both[0]}

rng = np.random.default_rng(1)
density = []
for _ in range(5):
    log_scale = rng.standard_normal(2)
    K = np.exp(-0.5 * squares @ np.exp(-2 * log_scale)) + 1e-6 * np.eye(n)
    latent = np.linalg.cholesky(K) @ rng.standard_normal(n)
    value = -0.5 * log_scale @ log_scale - np.log(2 * np.pi) + oracle.normal_logpdf(latent, K)
    value += (-0.5 * ((y - latent) ** 2 / noise**2 + np.log(2 * np.pi * noise**2))).sum()
    density.append(({"ard_lengthscale_log__": log_scale, "f": latent}, float(value)))

oracle.write(
    HERE,
    how=f"trapezoid rule over both log lengthscales, {len(s)} by {len(s)} nodes",
    variables={"ard_lengthscale": lengthscale, "f": f},
    log_evidence=np.log(evidence),
    log_density=density,
)
