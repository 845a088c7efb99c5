"""How good is this classifier, guaranteed? A certificate on the breast cancer data.

A Gaussian process whose kernel is learned from the data has no prior that was fixed before the
sample. So a part of the sample sets the kernel and the prior, and the rest of it counts the
errors. How large should that part be?
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskern as bk
from bayeskern.classic.bounds import certify
from bayeskern.estimators.gp import GPClassifier

X, y = load_breast_cancer(return_X_y=True)
amplitude = bk.Prior("LogNormal", mu=1.0, sigma=1.5)
kernel = amplitude * bk.RBF(bk.Prior("LogNormal", mu=2.0, sigma=1.0))
model = make_pipeline(StandardScaler(), GPClassifier(kernel, random_state=0))

fractions = [0.1, 0.3, 0.5, 0.7, 0.9]
names = {
    "PAC-Bayes-kl": ("a draw from the posterior", "#0072B2", "o-"),
    "PAC-Bayes-kl, vote": ("the vote (twice that)", "#D55E00", "s--"),
    "test set": ("held-out errors of the prior's classifier", "#009E73", "^:"),
}
curves = {name: [] for name in names}
for fraction in fractions:
    found = [certify(model, X, y, prior_fraction=fraction, random_state=seed) for seed in range(2)]
    for name, curve in curves.items():
        curve.append([certificate[name].value for certificate in found])
    if fraction == 0.5:
        half = found[0]
        print(half)
        print()
        print(half["PAC-Bayes-kl"])
        print(half["PAC-Bayes-kl"].explain(0.05))

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), width_ratios=(3, 2))
for name, (label, colour, style) in names.items():
    values = np.array(curves[name])
    left.plot(fractions, values.mean(1), style, color=colour, label=f"{name}: {label}")
    left.vlines(fractions, values.min(1), values.max(1), color=colour, alpha=0.5)
left.axhline(0.15, color="0.6", lw=0.8)
left.set(xlabel="part of the sample that makes the prior", ylabel="bound on the risk, δ = 0.05")
left.set_ylim(0, 0.5)
left.legend(fontsize=8)
left.grid(alpha=0.3)

start = 0.0
terms = half["PAC-Bayes-kl"].terms
for (name, size), colour in zip(terms.items(), ["#0072B2", "#E69F00", "#BBBBBB"], strict=True):
    right.bar(name.replace(" ", "\n"), size, bottom=start, color=colour)
    right.text(name.replace(" ", "\n"), start + size, f"{size:.3f}", ha="center", va="bottom")
    start += size
right.set(ylabel="PAC-Bayes-kl bound, half of the sample", ylim=(0, 1.15 * start))

figure.tight_layout()
out = Path(__file__).parent / "figures" / "plot_bounds_certificate.png"
out.parent.mkdir(exist_ok=True)
figure.savefig(out, dpi=110)
