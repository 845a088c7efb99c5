"""What does a diffusion map see in a Swiss roll?

The first coordinate follows the roll. The second is a function of the first (a harmonic), and the
height appears only later: the eigenvalues say how many coordinates are worth looking at.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_swiss_roll

from bayeskern.classic import DiffusionMap

FIGURES = Path(__file__).parent / "figures"


def main() -> None:
    X, t = make_swiss_roll(3000, random_state=0)
    model = DiffusionMap(8, n_neighbors=32).fit(X)
    Y = model.embedding_
    height = [abs(np.corrcoef(Y[:, j], X[:, 1])[0, 1]) for j in range(8)]
    best = int(np.argmax(height))
    figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained")
    shade = {"c": t, "cmap": "cividis", "s": 5}
    axes[0, 0].scatter(X[:, 0], X[:, 2], **shade)
    axes[0, 0].set(title="the roll from the side", xlabel="x", ylabel="z", aspect="equal")
    axes[0, 1].scatter(Y[:, 0], Y[:, 1], **shade)
    axes[0, 1].set(
        title="coordinates 1 and 2: a harmonic",
        xlabel="coordinate 1",
        ylabel="coordinate 2",
    )
    dots = axes[1, 0].scatter(Y[:, 0], Y[:, best], **shade)
    axes[1, 0].set(
        title=f"coordinates 1 and {best + 1}: unrolled",
        xlabel="coordinate 1",
        ylabel=f"coordinate {best + 1}",
    )
    figure.colorbar(dots, ax=axes[1, 0], label="angle along the roll")
    index = np.arange(1, 9)
    axes[1, 1].plot(index, 1 - model.eigenvalues_, "ko-", label="1 - eigenvalue")
    axes[1, 1].set(title="decay rates, and who is the height", xlabel="coordinate", ylabel="rate")
    twin = axes[1, 1].twinx()
    twin.bar(index, height, width=0.5, color="#E69F00", alpha=0.5, hatch="//")
    twin.set(ylabel="correlation with the height (bars)", ylim=(0, 1))
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "swiss_roll_diffusion.png", dpi=100)


if __name__ == "__main__":
    main()
