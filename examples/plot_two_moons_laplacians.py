"""Which graph Laplacian finds the two moons, and how would one know?

One far point is added to the moons. The unnormalised Laplacian cuts it off and calls that a
clustering; the sanity report says so without seeing the labels.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from bayeskern.classic.cluster import sanity, spectral_clustering
from bayeskern.kernels.stationary import RBF

FIGURES = Path(__file__).parent / "figures"


def main() -> None:
    X, _ = make_moons(200, noise=0.07, random_state=0)
    X = np.vstack([X, [0.5, 1.75]])
    W = RBF(0.18)(X)
    np.fill_diagonal(W, 0.0)  # no loops, so that a walk has to move
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
    for ax, kind in zip(axes, ("unnormalised", "sym", "rw"), strict=True):
        result = spectral_clustering(W, 2, kind)
        report = sanity(result)
        for label, marker, colour in ((0, "o", "#0072B2"), (1, "^", "#E69F00")):
            part = X[result.labels == label]
            ax.scatter(*part.T, marker=marker, c=colour, edgecolors="black", lw=0.4, s=34)
        ax.set_title(f"{kind}: {report.verdict}")
        ax.set_xlabel("first coordinate")
        ax.text(
            0.02,
            0.02,
            f"eigenvalue / essential spectrum {report.ratios[0]:.2f}\n"
            f"largest share of one point {report.concentration[0]:.2f}\n"
            f"leaving probability {report.leaving.max():.3f}",
            transform=ax.transAxes,
            fontsize=8,
            va="bottom",
        )
        ax.set_ylim(-1.35, 2)
    axes[0].set_ylabel("second coordinate")
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "two_moons_laplacians.png", dpi=110)


if __name__ == "__main__":
    main()
