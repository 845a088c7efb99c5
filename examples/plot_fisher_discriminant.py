"""What does Fisher's discriminant see? Two Gaussians with one covariance (figure 3.8).

Left: 80 points, the class means with their common covariance, and the line between. Right: the
points projected on the discriminant, where the classes are best told apart.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk
from bayeskern.plots import BLUE, ORANGE

rng = np.random.default_rng(2)
L = np.linalg.cholesky([[1.0, 0.7], [0.7, 1.2]])
y = np.repeat([-1.0, 1.0], 40)
X = rng.standard_normal((80, 2)) @ L.T + np.where(y[:, None] > 0, [1.2, 0.6], [-1.0, -0.8])
fisher = bk.classic.fisher_discriminant(X, y)
w, b = fisher.coefficients, fisher.bias

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 100)
circle = np.column_stack([np.cos(turn), np.sin(turn)])
within = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in (-1, 1)])
root = np.linalg.cholesky(within.T @ within / len(X))
for c, colour, marker in ((-1, BLUE, "o"), (1, ORANGE, "s")):
    mean = X[y == c].mean(axis=0)
    left.scatter(*X[y == c].T, color=colour, marker=marker, s=18, label=f"class {c:+d}")
    left.plot(*(mean + 2 * circle @ root.T).T, color=colour)
    right.hist(
        X[y == c] @ w + b, bins=15, color=colour, alpha=0.6, edgecolor="black", label=f"{c:+d}"
    )
ends = np.array([X[:, 0].min(), X[:, 0].max()])
left.plot(ends, -(w[0] * ends + b) / w[1], color="black", label="discriminant")
left.set(xlabel="feature 1", ylabel="feature 2", ylim=(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5))
left.legend()
right.axvline(0, color="black")
right.set(xlabel="log odds along the discriminant", ylabel="points")
right.legend()

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "fisher_discriminant.png", dpi=110)
