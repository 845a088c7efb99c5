"""Trapezoid rule over the logarithms of both variances; the weights are normal given them."""

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

b1, b2, y = oracle.read(HERE).values()
A, n, noise = np.column_stack([b1, b2]), len(y), 0.1


def log_prior(log_theta):
    """InverseGamma(1/2, 1/2), as a density of the logarithm."""
    return 0.5 * np.log(0.5) - gammaln(0.5) - 0.5 * log_theta - 0.5 * np.exp(-log_theta)


s = np.linspace(-6, 44, 1001)  # tails fall as 1 / theta
step = s[1] - s[0]
one, two = (g.ravel() for g in np.meshgrid(s, s, indexing="ij"))
gram, b = A.T @ A / noise**2, A.T @ y / noise**2
p11, p22, p12 = gram[0, 0] + np.exp(-one), gram[1, 1] + np.exp(-two), gram[0, 1]
det = p11 * p22 - p12**2  # of the weights' posterior precision
cov = np.array([[p22, np.full_like(p22, -p12)], [np.full_like(p22, -p12), p11]]) / det
w = np.einsum("ijk,j->ki", cov, b)
log_p = -0.5 * (n * np.log(2 * np.pi * noise**2) + np.log(det) + one + two)
log_p += -0.5 * (y @ y / noise**2 - w @ b) + log_prior(one) + log_prior(two)
p = np.exp(log_p)
evidence = p.sum() * step**2
keep = p > 1e-12 * p.max()
weights = p[keep] / p[keep].sum()
w_sd = np.sqrt(np.array([cov[0, 0], cov[1, 1]]).T[keep])
f_sd = np.sqrt(np.einsum("ni,ijk,nj->kn", A, cov[:, :, keep], A))

rng = np.random.default_rng(1)
density = []
for _ in range(5):
    log_theta = -np.log(rng.gamma(0.5, 2.0, size=2))
    C = (A * np.exp(log_theta)) @ A.T + noise**2 * np.eye(n)
    value = oracle.normal_logpdf(y, C) + log_prior(log_theta).sum()
    density.append(({"theta_log__": log_theta}, float(value)))

oracle.write(
    HERE,
    how=f"trapezoid rule over both log variances, {len(s)} by {len(s)} nodes",
    variables={
        "f": oracle.mixture_summary(weights, w[keep] @ A.T, f_sd),
        "w": oracle.mixture_summary(weights, w[keep], w_sd),
    },
    log_evidence=np.log(evidence),
    log_density=density,
)
