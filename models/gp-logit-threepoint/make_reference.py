"""Trapezoid rule over three latent values, whitened."""

import sys
from pathlib import Path

from scipy.special import log_expit

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402


def log_probability(margin):
    """Log probability of a label whose latent value has this sign and size."""
    return log_expit(2.0 * margin)


x, y = oracle.read(HERE).values()
evidence, f = oracle.latent_quadrature(
    oracle.rbf(x), lambda i, f: log_probability(y[i] * f), step=0.1
)
oracle.write(
    HERE,
    how="trapezoid rule over three latent values, step 0.1",
    variables={"f": f},
    log_evidence=evidence,
    log_density=oracle.latent_draws(x, y, log_probability),
)
