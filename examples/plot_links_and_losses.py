"""How do noise levels and losses shape a likelihood? (Herbrich 2002, figures 3.4 and 3.5)

Left: one latent function seen through the logistic link at three noise levels. Middle: the
sigmoid's loss beside the zero-one loss. Right: the hinge summed over both labels is not constant,
so a support vector machine's loss is no likelihood until it is divided by that sum.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk
from bayeskern.plots import COLOURS, LINES

x = np.linspace(-3, 3, 300)
latent = 1.5 * np.sin(2 * x) + 0.3 * x
t = np.linspace(-2, 2, 400)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
for k, beta in enumerate((0.1, 1.0, 5.0)):
    chance = np.exp(bk.Logit(beta=beta).logp(1.0, latent))
    left.plot(x, chance, color=COLOURS[k], linestyle=LINES[k], label=f"β = {beta:g}")
left.set(xlabel="x", ylabel="probability of +1")
left.legend()

for k, beta in enumerate((0.5, 1.0, 2.0)):
    loss = -bk.Logit(beta=beta).logp(1.0, t)
    middle.plot(t, loss, color=COLOURS[k], linestyle=LINES[k], label=f"sigmoid, β = {beta:g}")
middle.step(t, (t <= 0).astype(float), color="black", where="post", label="zero-one")
middle.set(xlabel="y f", ylabel="loss", ylim=(0, 4))
middle.legend()

total = np.exp(-np.maximum(1 - t, 0)) + np.exp(-np.maximum(1 + t, 0))
right.plot(t, total, color=COLOURS[0], label="sum over both labels")
right.plot(t, np.exp(bk.Hinge().logp(1.0, t)), color=COLOURS[1], linestyle="--", label="normalised")
right.axhline(1, color="grey", linewidth=0.8)
right.set(xlabel="f", ylabel="hinge pseudo-likelihood")
right.legend()

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "links_and_losses.png", dpi=110)
