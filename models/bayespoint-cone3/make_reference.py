"""Integrals over the spherical polygon that is version space."""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

x1, x2, x3, y = oracle.read(HERE).values()
A = np.column_stack([x1, x2, x3])
corners = next(c for signs, c in oracle.cells(A) if (signs == y).all())
nodes, weights = oracle.sphere_nodes(corners)
print("prior mass", weights.sum(), "centre", weights @ nodes / weights.sum())

rng = np.random.default_rng(1)
inside, outside = [], []
while len(inside) < 4 or len(outside) < 2:
    w = rng.standard_normal(3)
    value = float(-0.5 * (w @ w + 3 * np.log(2 * np.pi)))
    if (y * (A @ w) > 0).all():
        inside.append(({"w": w}, value))
    else:
        outside.append(({"w": w}, None))

oracle.write(
    HERE,
    how="Gauss-Legendre rule on the triangles of the polygon; lengths have a chi law",
    variables={"f": oracle.directional_summary(nodes, weights, A)},
    log_evidence=np.log(weights.sum()),
    log_density=inside[:4] + outside[:2],
)
