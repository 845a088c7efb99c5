"""Why are relevance vectors few? The prior of a weight with its variance integrated out.

A Gamma prior on the precision makes the weight Student-t (Herbrich 2002, figure 3.6). As its shape
tends to zero the density gathers on the axes: of two weights, one large and one zero is likelier
than two of middle size.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t as student

from bayeskern.plots import COLOURS, LINES


def log_density(w, a, b):
    """Student's t with 2a degrees of freedom and scale 1 / sqrt(ab)."""
    return student(2 * a, scale=1 / np.sqrt(a * b)).logpdf(w)


w = np.linspace(-1.5, 1.5, 301)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for k, a in enumerate((1e-3, 1e-2, 1e-1, 1.0)):
    style = {"color": COLOURS[k], "linestyle": LINES[k]}
    left.plot(w, log_density(w, a, 1 / a), label=f"a = 1/b = {a:g}", **style)
left.set(xlabel="weight w", ylabel="log prior density")
left.legend()

one = log_density(w, 1e-3, 1e3)
shade = right.contourf(w, w, one[:, None] + one, levels=16, cmap="cividis")
figure.colorbar(shade, ax=right, label="log prior density, a = 0.001")
right.set(xlabel="weight 1", ylabel="weight 2")

folder = Path(__file__).parent / "figures"
folder.mkdir(exist_ok=True)
figure.savefig(folder / "student_prior.png", dpi=110)
