"""Trapezoid rule over the log lengthscale; at each node the separation of variables of Genz (1992).

A probit label is the sign of t = f + noise, so t is normal, cut to the orthant of the labels. One
coordinate after another is drawn from its own cut normal through the Cholesky factor, and the
probabilities of the cuts multiply to a weight whose mean is the evidence. Given t, f is normal.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln, log_ndtr, ndtr, ndtri
from scipy.stats import qmc

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

SCRAMBLES, POINTS = 8, 2**11


def cut_normal(C, y, uniforms):
    """Return draws of N(0, C) where all signs are y, and their log weights."""
    L = np.linalg.cholesky(C * np.outer(y, y))  # margins, all to be positive
    e = np.empty_like(uniforms)
    log_weight = np.zeros(len(uniforms))
    for i in range(len(y)):
        low = -(e[:, :i] @ L[i, :i]) / L[i, i]
        log_weight += log_ndtr(-low)
        e[:, i] = -ndtri(uniforms[:, i] * ndtr(-low))
    return y * (e @ L.T), log_weight


def log_prior(log_scale):
    """InverseGamma(3, 2) of the lengthscale, as a density of its logarithm."""
    return 3 * np.log(2) - gammaln(3) - 3 * log_scale - 2 * np.exp(-log_scale)


x, y = oracle.read(HERE).values()
n = len(y)
nodes = np.linspace(np.log(0.12), np.log(40.0), 40)
step = nodes[1] - nodes[0]
draws = [qmc.Sobol(n, rng=seed).random(POINTS).clip(1e-15) for seed in range(SCRAMBLES)]
log_w = np.empty((len(nodes), SCRAMBLES, POINTS))
means = np.empty((len(nodes), SCRAMBLES, POINTS, n))
sds = np.empty((len(nodes), n))
for k, node in enumerate(nodes):
    K = 4.0 * oracle.rbf(x, np.exp(node))
    C = K + np.eye(n)
    H = np.linalg.solve(C, K)
    sds[k] = np.sqrt(np.diag(K - K @ H))
    for r in range(SCRAMBLES):
        t, log_w[k, r] = cut_normal(C, y, draws[r])
        means[k, r] = t @ H
    log_w[k] += log_prior(node) + np.log(step / POINTS)

w = np.exp(log_w)
each = w.sum(axis=(0, 2))  # one evidence from each scramble
evidence = each.mean()
weights = w.reshape(-1) / w.sum()
keep = weights > 1e-10
spread = np.broadcast_to(sds[:, None, None], means.shape).reshape(-1, n)
f = oracle.mixture_summary(weights[keep], means.reshape(-1, n)[keep], spread[keep])
by_scramble = np.einsum("krp,krpi->ri", w, means) / each[:, None]
f["mcse"] = by_scramble.std(axis=0, ddof=1) / np.sqrt(SCRAMBLES)

mass = w.sum(axis=(1, 2)) / w.sum()
centre = mass @ np.exp(nodes)
curve = oracle.curve_summary(nodes, mass)
scale = {"mean": centre, "sd": np.sqrt(mass @ (np.exp(nodes) - centre) ** 2)}
scale |= {name: float(np.exp(curve[name])) for name in oracle.LEVELS}
scale["mcse"] = ((w.sum(axis=2) / each).T @ np.exp(nodes)).std(ddof=1) / np.sqrt(SCRAMBLES)
print("mass at the ends", mass[[0, -1]], "worst mcse", (f["mcse"] / f["sd"]).max(), scale)

rng = np.random.default_rng(1)
density = []
for _ in range(5):
    log_scale = np.log(2 / rng.gamma(3))
    K = 4.0 * oracle.rbf(x, np.exp(log_scale)) + 1e-6 * np.eye(n)
    latent = np.linalg.cholesky(K) @ rng.standard_normal(n)
    value = log_prior(log_scale) + oracle.normal_logpdf(latent, K) + log_ndtr(y * latent).sum()
    density.append(({"rbf_lengthscale_log__": log_scale, "f": latent}, float(value)))

oracle.write(
    HERE,
    how=f"trapezoid rule over log lengthscale, {len(nodes)} nodes; at each {SCRAMBLES} scrambled"
    f" Sobol sets of {POINTS} points for the cut normal, f given it in closed form",
    variables={"rbf_lengthscale": scale, "f": f},
    log_evidence=np.log(evidence),
    log_evidence_mcse=each.std(ddof=1) / np.sqrt(SCRAMBLES) / evidence,
    log_density=density,
)
