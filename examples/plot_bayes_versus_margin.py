"""Where do a Gaussian process and a support vector machine disagree?

Both draw nearly the same line between the classes. Away from the data the Gaussian process says
that it does not know; the margin machine's calibrated score goes on being sure.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayeskern as bk

data = bk.datasets.load("ripley")
gp = bk.GPClassifier(
    likelihood=bk.Probit(), inference=bk.EvidenceMax(bk.EP(), prior=True), random_state=0
).fit(data.X, data.y)
svm = make_pipeline(
    StandardScaler(), bk.classic.SVMClassifier(probability="platt", random_state=0)
).fit(data.X, data.y)

figure, axes = plt.subplots(1, 3, figsize=(15, 4.2), layout="constrained")
bk.plots.decision_regions(gp, data.X, data.y, ax=axes[0]).set_title("Gaussian process")
bk.plots.decision_regions(svm, data.X, data.y, ax=axes[1]).set_title("support vector machine")
bk.plots.margin_against_probability(svm, gp, data.X, data.y, ax=axes[2])
axes[2].set_title("the same points to both")

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "bayes_versus_margin.png", dpi=110)
