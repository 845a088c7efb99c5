"""Why does evidence prefer the simpler hypothesis space when it can?

Five ordered points: thresholds can label them in 10 ways, an unrestricted space in 32. Each space
has one unit of evidence to spread over all labellings, so the simple one gives more to what it can
explain (Herbrich 2002, figure 3.1).
"""

import itertools
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from bayeskern.bayes.finite import evidence_surface

FIGURES = Path(__file__).parent / "figures"


def main() -> None:
    everything = np.array(list(itertools.product([-1, 1], repeat=5)))
    thresholds = everything[(np.diff(everything, axis=1) != 0).sum(axis=1) <= 1]
    figure, axes = plt.subplots(2, 1, figsize=(10, 6.4), sharex=True, layout="constrained")
    for ax, beta in zip(axes, (0.0, 0.5), strict=True):
        labellings, simple = evidence_surface(thresholds, beta=beta)
        _, rich = evidence_surface(everything, beta=beta)
        place = np.arange(len(labellings))  # in the order of the binary number they spell
        ax.bar(place, np.exp(simple), 0.75, color="#E69F00", edgecolor="black", lw=0.5)
        ax.step(place, np.exp(rich), where="mid", color="#0072B2", lw=2)
        ax.legend(
            ["all 32 labellings", "thresholds, 10 labellings"],
            title=f"noise level β = {beta:g}",
            loc=(0.256, 0.62),
            fontsize=8,
            framealpha=1,
        )
        ax.set_ylabel("evidence of the labelling")
        ax.margins(x=0.01)
    names = [" ".join("+" if v > 0 else "−" for v in row) for row in labellings]
    axes[1].set_xticks(place, names, rotation=90, family="monospace", fontsize=8)
    axes[1].set_xlabel("labelling of the five points, from left to right")
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / "evidence_figure_3_1.png", dpi=110)


if __name__ == "__main__":
    main()
