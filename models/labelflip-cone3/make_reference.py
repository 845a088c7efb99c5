"""Integrals over all cells of the sphere, weighted by their numbers of errors."""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import _oracles as oracle  # noqa: E402

x1, x2, x3, y = oracle.read(HERE).values()
A, q = np.column_stack([x1, x2, x3]), 0.2
parts, errors = [], 0.0
for signs, corners in oracle.cells(A):
    wrong = int((signs != y).sum())
    nodes, weights = oracle.sphere_nodes(corners)
    parts.append((nodes, weights * (1 - q) ** (len(y) - wrong) * q**wrong))
    errors += parts[-1][1].sum() * wrong
nodes = np.concatenate([p[0] for p in parts])
weights = np.concatenate([p[1] for p in parts])
evidence = weights.sum()
print(len(parts), "cells, centre", weights @ nodes / evidence, "errors", errors / evidence)

rng = np.random.default_rng(1)
density = []
for _ in range(6):
    w = rng.standard_normal(3)
    right = int((y * (A @ w) > 0).sum())
    value = -0.5 * (w @ w + 3 * np.log(2 * np.pi))
    value += right * np.log(1 - q) + (len(y) - right) * np.log(q)
    density.append(({"w": w}, float(value)))

oracle.write(
    HERE,
    how="Gauss-Legendre rule on the triangles of each cell; lengths have a chi law",
    variables={"f": oracle.directional_summary(nodes, weights, A)},
    log_evidence=np.log(evidence),
    log_density=density,
)
