"""Conjugate closed form: means are Student-t, the covariance inverse Wishart, p beta."""

import sys
from pathlib import Path

import numpy as np
from scipy.special import betaln, multigammaln
from scipy.stats import beta, chi2, multivariate_normal, norm, t

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

x1, x2, y = oracle.read(HERE).values()
X, d = np.column_stack([x1, x2]), 2
kappa0, nu0, Psi0 = 0.1, 4.0, np.eye(2)
groups = [X[y < 0], X[y > 0]]

kappa, nu, Psi = [], nu0 + len(y), Psi0.copy()
centres = []
for G in groups:
    k = kappa0 + len(G)
    centre = G.sum(axis=0) / k  # the prior mean is 0
    Psi += G.T @ G - k * np.outer(centre, centre)
    kappa.append(k)
    centres.append(centre)


def log_normaliser(nu, Psi, kappas):
    """Log of the constant that a normal-inverse-Wishart density lacks, up to powers of pi."""
    value = multigammaln(nu / 2, d) - nu / 2 * np.linalg.slogdet(Psi)[1]
    return value - d / 2 * np.log(kappas).sum()


evidence = log_normaliser(nu, Psi, kappa) - log_normaliser(nu0, Psi0, [kappa0] * 2)
evidence -= len(y) * d / 2 * np.log(np.pi)
n_minus, n_plus = map(len, groups)
evidence += betaln(1 + n_plus, 1 + n_minus) - betaln(1, 1)

free = nu - d + 1
scale = np.sqrt(np.diag(Psi) / (np.array(kappa)[:, None] * free))
law = t(free, loc=np.array(centres), scale=scale)
share = beta(1 + n_plus, 1 + n_minus)
variables = {
    name: {"mean": law.mean(), "sd": law.std(), "mcse": 0 * law.mean()}
    | {key: law.ppf(level) for key, level in oracle.LEVELS.items()}
    for name, law in (("mu", law), ("p", share))
}

rng = np.random.default_rng(1)
density = []
for _ in range(5):
    p, e, z = rng.uniform(), rng.standard_normal((2, 2)), rng.standard_normal(1)
    c2 = rng.chisquare([4.0, 3.0])
    B = np.array([[np.sqrt(c2[0]), 0.0], [z[0], np.sqrt(c2[1])]])
    cov, mu = np.linalg.inv(B @ B.T), e @ np.linalg.inv(B) / np.sqrt(kappa0)
    value = norm.logpdf(e).sum() + norm.logpdf(z).sum()
    value += (chi2.logpdf(c2, [4.0, 3.0]) + np.log(c2)).sum()  # PyMC's own variables: log c2
    value += np.log(p) + np.log1p(-p)  # and the log odds of p
    for m, G, chance in zip(mu, groups, (1 - p, p), strict=True):
        value += multivariate_normal.logpdf(G, m, cov).sum() + len(G) * np.log(chance)
    point = {"p_logodds__": np.log(p / (1 - p)), "e": e, "c2_log__": np.log(c2), "z": z}
    density.append((point, float(value)))

oracle.write(
    HERE,
    how="closed form of the conjugate posterior",
    variables=variables,
    log_evidence=evidence,
    log_density=density,
)
