"""Integrals over the spherical triangle that is version space."""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

k1, k2, k3, y = oracle.read(HERE).values()
G = np.column_stack([k1, k2, k3])
L = np.linalg.cholesky(G)  # rows are the points in feature space, f = L z
corners = next(c for signs, c in oracle.cells(L) if (signs == y).all())
nodes, weights = oracle.sphere_nodes(corners)

rng = np.random.default_rng(1)
density = []
while len(density) < 5:
    f = L @ rng.standard_normal(3)
    u = y * f
    if (u > 0).all():  # PyMC's own variable is log u
        value = oracle.normal_logpdf(f, G) + float(np.log(u).sum())
        density.append(({"u_log__": np.log(u)}, value))

oracle.write(
    HERE,
    how="Gauss-Legendre rule on the parts of the triangle; lengths have a chi law",
    variables={
        "f": oracle.directional_summary(nodes, weights, L),
        "alpha": oracle.directional_summary(nodes, weights, np.linalg.inv(L).T),
    },
    log_evidence=np.log(weights.sum()),
    log_density=density,
)
