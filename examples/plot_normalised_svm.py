"""Does it pay to normalise the kernel? Margin machines over polynomial degrees (figure 5.1).

The bound on a margin machine's risk uses the margin relative to the length of each point, so
normalising in feature space should matter more as the degree grows and lengths spread out. It
does on the wines; on the digits, where plain lengths carry information, it costs a little.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import bayeskern as bk
from bayeskern.plots import BLUE, ORANGE

degrees = range(1, 11)
sets = {"two digits": bk.datasets.load("digits"), "two wines": bk.datasets.load("wine")}

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, (title, data) in zip(axes, sets.items(), strict=True):
    X = (data.X - data.X.mean(axis=0)) / np.maximum(data.X.std(axis=0), 1e-9)
    X = X / np.sqrt(X.shape[1])
    splits = list(StratifiedShuffleSplit(20, train_size=0.4, random_state=0).split(X, data.y))
    for name, colour, style in (("plain", BLUE, "-"), ("normalised", ORANGE, "--")):
        means, spreads = [], []
        for degree in degrees:
            kernel = bk.Polynomial(degree, offset=1.0)
            kernel = kernel.normalise() if name == "normalised" else kernel
            K = kernel(X)
            errors = []
            for train, test in splits:
                fit = bk.classic.svm(K[np.ix_(train, train)], data.y[train], C=1e6, tol=1e-3)
                errors.append(np.mean(np.sign(fit(K[np.ix_(test, train)])) != data.y[test]))
            means.append(np.mean(errors))
            spreads.append(np.std(errors) / np.sqrt(len(errors)))
        ax.errorbar(
            list(degrees), means, yerr=spreads, color=colour, linestyle=style, capsize=3, label=name
        )
    ax.set(xlabel="degree of the polynomial kernel", ylabel="test error", title=title)
    ax.legend(title="kernel")

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "normalised_svm.png", dpi=110)
