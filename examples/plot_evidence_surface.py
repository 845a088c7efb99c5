"""Which explanation does the evidence prefer: a smooth function with noise, or none with wiggles?

Six points whose evidence has two optima over length scale and noise (Herbrich 2002, figure 3.2).
`EvidenceMax` reports both; averaging over the hyperparameters uses all of the surface.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk
from bayeskern.infer.predict import predict

data = bk.datasets.load("sixpoint")
problem = bk.GaussianProcess(
    data.X,
    data.y,
    bk.RBF(bk.Prior("LogNormal", mu=np.log(2), sigma=0.75)),
    bk.Gaussian(bk.Prior("HalfNormal", sigma=1.0)),
)
grids = {
    "rbf_lengthscale": np.geomspace(0.5, 12, 60),
    "noise_sigma": np.geomspace(0.01, 2, 60),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
bk.plots.evidence_surface(problem, bk.Exact(), grids, ax=left, span=4)
optima = [(1.13533557, grids["noise_sigma"][0], "A"), (3.66994881, np.sqrt(0.28219442), "B")]
for lengthscale, sigma, name in optima:
    left.plot(lengthscale, sigma, "wo", markeredgecolor="black")
    left.annotate(name, (lengthscale, sigma), xytext=(6, 6), textcoords="offset points", color="w")

line = np.linspace(-1, 7, 200)[:, None]
styles = [(bk.plots.BLUE, "-"), (bk.plots.ORANGE, "--")]
for (lengthscale, sigma, name), (colour, style) in zip(optima, styles, strict=True):
    fixed = bk.GaussianProcess(data.X, data.y, bk.RBF(lengthscale), bk.Gaussian(sigma))
    told = predict(fixed, bk.Exact().run(fixed, random_seed=0), line)
    sd = np.sqrt(told.var(noise=True))
    right.plot(line, told.mean, color=colour, linestyle=style, label=f"optimum {name}")
    right.fill_between(line[:, 0], told.mean - sd, told.mean + sd, color=colour, alpha=0.15)
right.plot(data.X, data.y, "ko", label="data")
right.set(xlabel="x", ylabel="target, with one standard deviation")
right.legend()

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "evidence_surface.png", dpi=110)
