"""What does one length scale per input mean? Draws from two priors (Herbrich 2002, figure 3.3).

With equal scales a function varies alike in both directions; with one scale twenty times the
other it hardly varies along that input, which evidence maximisation can find out.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import bayeskern as bk
from bayeskern.linalg import cholesky

side = np.linspace(-5, 5, 30)
grid = np.array(np.meshgrid(side, side)).reshape(2, -1).T
scales = {"equal scales": (5**0.5, 5**0.5), "first scale 20 times the second": (20.0, 1.0)}

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, (title, scale) in zip(axes, scales.items(), strict=True):
    L = cholesky(bk.kernels.Mahalanobis(scale)(grid)).L
    draw = L @ np.random.default_rng(4).standard_normal(len(grid))
    shade = ax.contourf(side, side, draw.reshape(30, 30), levels=14, cmap="cividis")
    figure.colorbar(shade, ax=ax, label="one draw of f")
    ax.set(xlabel="input 1", ylabel="input 2", title=title)

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "ard_draws.png", dpi=110)
