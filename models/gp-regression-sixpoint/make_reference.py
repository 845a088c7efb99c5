"""Quadrature over the logarithm of the lengthscale and the noise; f is normal given both."""

import sys
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

x, y = oracle.read(HERE).values()
n = len(y)


def nodes(low, high, panels, order=12):
    """Gauss-Legendre nodes and weights on equal panels."""
    z, w = np.polynomial.legendre.leggauss(order)
    edges = np.linspace(low, high, panels + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1 + z)).ravel(), (half * w).ravel()


def log_joint(log_scale, noise):
    """Log of p(y | theta) p(theta) with the moments of f, theta being (log lengthscale, noise)."""
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / np.exp(2 * log_scale)[:, None, None])
    C = K + noise[:, None, None] ** 2 * np.eye(n)
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, 1e-14)
    coordinates = np.einsum("kij,i->kj", vectors, y)
    evidence = -0.5 * (np.log(2 * np.pi * values) + coordinates**2 / values).sum(axis=1)
    KV = K @ vectors
    mean = np.einsum("kij,kj->ki", KV, coordinates / values)
    var = 1 - np.einsum("kij,kj->ki", KV**2, 1 / values)
    prior = -0.5 * ((log_scale - np.log(2)) / 0.75) ** 2 - np.log(0.75 * np.sqrt(2 * np.pi))
    prior += 0.5 * np.log(2 / np.pi) - 0.5 * noise**2
    return evidence + prior, mean, np.sqrt(np.maximum(var, 1e-14))


s, ws = nodes(np.log(2) - 0.75 * 7, np.log(2) + 0.75 * 7, 40)
t, wt = nodes(1e-9, 6.0, 30)
t, wt = np.append(1e-9, t), np.append(0.0, wt)  # the density is high at the edge: splines need it
S, T = (g.ravel() for g in np.meshgrid(s, t, indexing="ij"))
log_p, mean, sd = log_joint(S, T)
mass = np.exp(log_p) * np.outer(ws, wt).ravel()
evidence = mass.sum()
table = (np.exp(log_p)).reshape(len(s), len(t))

big = mass > 1e-12 * evidence
f = oracle.mixture_summary(mass[big] / mass[big].sum(), mean[big], sd[big])


def theta(grid, weights, density, of):
    """Summarise one hyperparameter; quantiles from a spline through its density at the nodes."""
    p = weights * density / (weights @ density)
    centre = p @ of(grid)
    spread = np.sqrt(p @ (of(grid) - centre) ** 2)
    curve = oracle.curve_summary(grid, density)
    quantiles = {name: float(of(curve[name])) for name in oracle.LEVELS}
    return {"mean": centre, "sd": spread, **quantiles, "mcse": 0.0}


variables = {
    "rbf_lengthscale": theta(s, ws, table @ wt, np.exp),
    "noise_sigma": theta(t, wt, ws @ table, lambda noise: noise),
    "f": f,
}
cdf = CubicSpline(t, ws @ table).antiderivative()
print(
    f"P(noise^2 < .05) = {cdf(0.05**0.5) / cdf(6.0):.5f}, E noise^2 = {mass @ T**2 / evidence:.5f}"
)

rng = np.random.default_rng(1)
density = []
for _ in range(5):
    log_scale = np.log(2) + 0.75 * rng.standard_normal()
    noise = abs(rng.standard_normal())
    K = oracle.rbf(x, np.exp(log_scale)) + 1e-6 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    value = -0.5 * ((log_scale - np.log(2)) / 0.75) ** 2 - np.log(0.75 * np.sqrt(2 * np.pi))
    value += 0.5 * np.log(2 / np.pi) - 0.5 * noise**2 + np.log(noise)  # log: PyMC's own variable
    value += oracle.normal_logpdf(f, K)
    value += (-0.5 * ((y - f) ** 2 / noise**2 + np.log(2 * np.pi * noise**2))).sum()
    point = {"rbf_lengthscale_log__": log_scale, "noise_sigma_log__": np.log(noise), "f": f}
    density.append((point, float(value)))

oracle.write(
    HERE,
    how="Gauss-Legendre quadrature over log lengthscale and noise, 480 by 360 nodes",
    variables=variables,
    log_evidence=np.log(evidence),
    log_density=density,
)
