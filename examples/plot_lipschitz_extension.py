"""How far do a few values determine a Lipschitz function?

Left: on a line, the lowest and the highest extension of given values and the one halfway. Right: in
the plane, the soft-margin Lipschitz classifier, whose zero line keeps its distance from both
classes and forgives two mislabelled points.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from bayeskern.classic import LipschitzClassifier
from bayeskern.classic.lipschitz import lipschitz_constant, lipschitz_extension

FIGURES = Path(__file__).parent / "figures"


def on_a_line(ax) -> None:
    x, values = np.array([0.0, 1.0, 2.5, 4.0]), np.array([0.0, 1.0, -0.5, 0.3])
    grid = np.linspace(-1, 5, 601)
    L = lipschitz_constant(np.abs(x[:, None] - x), values)
    cross = np.abs(grid[:, None] - x)
    low, half, high = (lipschitz_extension(cross, values, L, alpha=a) for a in (0, 0.5, 1))
    ax.fill_between(grid, low, high, color="0.85", label="every extension")
    ax.plot(grid, half, color="#0072B2", lw=2, label="halfway, bounded by the values")
    ax.plot(grid, low, "k--", lw=1, label="lowest and highest")
    ax.plot(grid, high, "k--", lw=1)
    ax.plot(x, values, "o", color="#D55E00", ms=8, mec="black", label="given values")
    ax.set(xlabel="x", ylabel="f(x)", title=f"extensions of Lipschitz constant {L:.2f}")
    ax.set_ylim(-1.9, 1.4)
    ax.legend(fontsize=8, loc="lower center", ncols=2)


def in_the_plane(ax) -> None:
    X, y = make_moons(80, noise=0.12, random_state=2)
    flipped = [int(np.flatnonzero(y == label)[3]) for label in (0, 1)]
    y[flipped] = 1 - y[flipped]
    model = LipschitzClassifier(C=1.0).fit(X, y)
    u, v = np.meshgrid(np.linspace(-1.5, 2.5, 160), np.linspace(-1.1, 1.6, 140))
    f = (
        model.decision_function(np.column_stack([u.ravel(), v.ravel()]))
        .reshape(u.shape)
        .clip(-0.999, 0.999)
    )
    shade = ax.contourf(u, v, f, levels=np.linspace(-1, 1, 11), cmap="PuOr")
    ax.contour(u, v, f, levels=[0], colors="black", linewidths=2)
    for label, marker in ((0, "o"), (1, "^")):
        part = X[y == label]
        ax.scatter(*part.T, marker=marker, c="white", edgecolors="black", s=32)
    ax.scatter(*X[flipped].T, marker="x", c="black", s=120, label="mislabelled")
    ax.set(
        xlabel="first coordinate",
        ylabel="second coordinate",
        title=f"soft margin, constant {model.lipschitz_constant_:.2f}",
    )
    ax.legend(loc="upper right", fontsize=8)
    ax.figure.colorbar(shade, ax=ax, label="f(x)")


def main() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    on_a_line(axes[0])
    in_the_plane(axes[1])
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "lipschitz_extension.png", dpi=110)


if __name__ == "__main__":
    main()
