"""Ten points of which only the first input matters, seed 0."""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(10, 2)).round(3)
y = (np.sin(1.5 * X[:, 0]) + 0.2 * rng.standard_normal(10)).round(3)
lines = ["x1,x2,y", *(f"{a:g},{b:g},{c:g}" for (a, b), c in zip(X, y, strict=True))]
Path(__file__).with_name("data.csv").write_text("\n".join(lines) + "\n")
