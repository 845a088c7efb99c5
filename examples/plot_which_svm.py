"""Which kernel width and constant? Criteria for an SVM without a validation set.

The protocol of von Luxburg (2004), table IV.1, on generated data: disjoint training sets of 100
points, test on the rest; Gaussian kernel exp(-|x-z|^2/s^2) centred in feature space; machines
without bias; each criterion picks (s, C) and we plot by how much its test error exceeds the best
of the grid. ``python examples/plot_which_svm.py 30 7300`` is the protocol in full.

Unstated in the source and chosen here: widths in half decades from 0.01 to 1000, C in decades from
1 to 1e5 with box C/2 (her objective has |w|^2), slab region, ties averaged, span without machines
in which every point is a support vector.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from bayeskern import datasets
from bayeskern.classic import select
from bayeskern.kernels import RBF

WIDTHS = np.logspace(-2, 3, 11)
CS = np.logspace(0, 5, 6) / 2
CRITERIA = {
    "span": "span",
    "C2": "$C_2$",
    "C3": "$C_3$",
    "C5": "$C_5$",
    "radius-margin": "radius–margin",
    "rescaled-radius-margin": "rescaled r–m",
    "trace": "trace",
    "sparse-margin": "sparse margin",
    "compression-scheme": "compression",
}
PRINTED = {"twonorm": 0.027, "ringnorm": 0.021}


def centre(K, cross):
    """Centre a Gram matrix and the kernel values of test points in feature space."""
    means, total = K.mean(axis=0), K.mean()
    test = cross - cross.mean(axis=1, keepdims=True) - means + total
    return K - means - means[:, None] + total, test


def excesses(name, n_sets, n_test):
    """Least test error on the grid, and the excess of each criterion, for each training set."""
    data = datasets.load(name, n=7400, seed=0).standardised()
    order = np.random.default_rng(0).permutation(7400)
    least, lost = [], {c: [] for c in CRITERIA}
    for k in range(n_sets):
        train = order[100 * k : 100 * (k + 1)]
        test = np.setdiff1d(order, train, assume_unique=True)[:n_test]
        X, y = data.X[train], data.y[train]
        kernels = [RBF(s / np.sqrt(2)) for s in WIDTHS]
        parts = [centre(kernel(X), kernel(data.X[test], X)) for kernel in kernels]
        grams = [(K + K.T) / 2 for K, _ in parts]
        first, *others = CRITERIA
        table = select(None, y, grams, CS, first, also=others, tol=1e-4)
        error = np.array(
            [
                [np.mean(data.y[test] * s(cross) <= 0) for s in machines]
                for (_, cross), machines in zip(parts, table.solutions, strict=True)
            ]
        )
        least.append(error.min())
        for criterion, scores in table.scores.items():
            tied = scores <= scores.min() + 1e-12
            lost[criterion].append(error[tied].mean() - error.min())
    return np.mean(least), {c: np.mean(v) for c, v in lost.items()}


def main(n_sets=3, n_test=2000):
    """Print the table and draw it."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for axis, (name, printed) in zip(axes, PRINTED.items(), strict=True):
        least, lost = excesses(name, n_sets, n_test)
        print(f"{name}: least test error {least:.4f} (printed {printed})")
        print("  " + ", ".join(f"{c} {v:.3f}" for c, v in lost.items()))
        axis.barh(list(CRITERIA.values()), list(lost.values()), color="#0072B2")
        axis.set_title(f"{name}: best on the grid {least:.3f}")
        axis.set_xlabel("test error above the best")
    axes[0].invert_yaxis()
    figure.tight_layout()
    folder = Path(__file__).parent / "figures"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "which_svm.png", dpi=120)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
