"""Ten noisy values of sin(x) / x and two bumps to explain them, seed 0."""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(0)
x = np.linspace(-4, 4, 10)
y = (np.sinc(x / np.pi) + 0.1 * rng.standard_normal(10)).round(4)
bumps = np.exp(-0.5 * (x[:, None] - np.array([0.0, 3.0])) ** 2 / 1.5**2).round(6)
lines = ["b1,b2,y", *(f"{a:g},{b:g},{c:g}" for (a, b), c in zip(bumps, y, strict=True))]
Path(__file__).with_name("data.csv").write_text("\n".join(lines) + "\n")
