"""Where in version space do the Bayes point and two support vector machines lie?

Four points in space leave a spherical polygon of classifiers without error. The support vector
machine depends on the lengths of the points; after scaling them to unit length it is the centre of
the largest ball inside. The Bayes point is the centre of mass, and a billiard ball finds it.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk
from bayeskern.kernels.dot import Linear
from bayeskern.plots_version_space import version_space

X = np.array([[1.6, 0.32, 0.16], [-0.3, 1.0, 0.2], [0.1, -0.4, 1.0], [0.3, 0.25, -0.35]])
y = np.array([1, 1, 1, 1])


def main() -> Path:
    problem = bk.BayesPoint(X, y, Linear())
    tree = bk.ConeHMC(draws=250).run(problem, random_seed=1)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 6))
    version_space(problem, tree, draws=150, bounces=0, ax=left)
    version_space(problem, tree, draws=400, bounces=14, zoom=True, ax=right)
    left.set_title("Four points cut the sphere; the yellow part is right on all")
    right.set_title("Draws, a billiard path, and three ways to choose one")
    figure.tight_layout()
    target = Path(__file__).parent / "figures" / "version_space.png"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=110)
    return target


if __name__ == "__main__":
    print(main())
