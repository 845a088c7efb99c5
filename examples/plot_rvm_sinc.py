"""What does a relevance vector machine know far from its data, and how is that repaired?

Its predictive variance shrinks to the noise away from the relevance vectors. A basis function at
each query point (Rasmussen and Quiñonero-Candela 2005) gives the uncertainty back.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk

FIGURES = Path(__file__).parent / "figures"


def main():
    data = bk.datasets.sinc(100)
    grid = np.linspace(-20, 20, 400)[:, None]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
    for axis, query, title in (
        (axes[0], False, "Relevance vector machine"),
        (axes[1], True, "With a basis function at the query point"),
    ):
        rvm = bk.RVMRegressor(bk.RBF(2.0), bias=False, query_basis=query).fit(data.X, data.y)
        mean, sd = rvm.predict(grid, return_std=True)
        band = {"color": "#56b4e9", "alpha": 0.5, "label": "mean ± 2 sd"}
        axis.fill_between(grid[:, 0], mean - 2 * sd, mean + 2 * sd, **band)
        axis.plot(grid, np.sinc(grid / np.pi), "k--", linewidth=1, label="sin(x)/x")
        axis.plot(grid, mean, color="#0072b2", linewidth=2, label="mean")
        axis.plot(data.X, data.y, ".", color="0.35", markersize=4, label="data")
        found = rvm.relevance_
        at = data.y[found.indices]
        ring = {"s": 110, "facecolor": "none", "edgecolor": "#d55e00", "linewidth": 2}
        axis.scatter(found.inputs[:, 0], at, label="relevance vectors", zorder=3, **ring)
        axis.set(xlabel="x", title=title)
        edge = sd[0] / rvm.sigma_
        print(f"{title}: {len(found.indices)} vectors, noise {rvm.sigma_:.3f} (true 0.1),")
        print(f"    standard deviation at x = -20 is {edge:.2f} times the noise")
    axes[0].set_ylabel("target")
    axes[0].legend(fontsize=8, loc="upper right")
    figure.tight_layout()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "rvm_sinc.png", dpi=120)


if __name__ == "__main__":
    main()
