"""Fifteen labels of a sine seen through noise, seed 0."""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, size=15)).round(3)
y = np.where(np.sin(1.5 * x) + 0.5 * rng.standard_normal(15) > 0, 1, -1)
lines = ["x,y", *(f"{a:g},{b}" for a, b in zip(x, y, strict=True))]
Path(__file__).with_name("data.csv").write_text("\n".join(lines) + "\n")
