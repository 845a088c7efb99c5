"""Which bound says something, and from which sample size on?

A linear classifier through the origin, trained by the hard-margin machine on points of a sphere
in five dimensions: every bound that applies to it against the sample size, the true risk, and
the terms that some of them are made of.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

from bayeskern.classic import bounds as b

DIM, RHO, DELTA, RUNS = 5, 0.1, 0.05, 8
rng = np.random.default_rng(0)
target = np.eye(DIM)[0]


def sample(m):
    X = rng.standard_normal((m, DIM))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def hard_margin(Z):
    """Direction of the point of the convex hull of the rows that is nearest to the origin."""
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(DIM), 1.0))
    return Z.T @ a / np.linalg.norm(Z.T @ a), int((a > 0).sum())


def all_bounds(m, margins, n_support, held_out_errors):
    """Return the bounds for one fit; the test set is as large as the sample."""
    growth = b.log_cover_count(2 * m, DIM)
    return {
        "VC": b.vc_bound(m, DELTA, 0.0, log_growth=growth),
        "Rademacher": b.rademacher_margin_bound(m, DELTA, margins, 1.0, 1.0, RHO),
        "luckiness": b.empirical_vc_luckiness_bound(m, DELTA, DIM),
        "PAC margin": b.pac_margin_bound(m, DELTA, margins.min(), 1.0),
        "robust margin": b.robust_margin_bound(m, DELTA, margins, 1.0),
        "PAC": b.pac_bound(m, DELTA, log_growth=growth),
        "PAC-Bayes (a draw)": b.pac_bayes_linear(margins, DELTA),
        "PAC-Bayes cap": b.pac_bayes_margin_bound(m, DELTA, margins.min(), DIM, "kl"),
        "compression": b.compression_bound(m, n_support, DELTA),
        "test set": b.test_set_bound(held_out_errors, m, DELTA),
    }


sizes = [round(m) for m in np.geomspace(10, 10**5, 17)]
curves, risks = {}, []
for m in sizes:
    run_risks = []
    for _ in range(RUNS):
        X = sample(m)
        y = np.sign(X @ target)
        w, n_support = hard_margin(y[:, None] * X)
        run_risks.append(np.arccos(min(w @ target, 1.0)) / np.pi)  # exact on a sphere
    found = all_bounds(m, y * (X @ w), n_support, rng.binomial(m, run_risks[-1]))
    risks.append(np.mean(run_risks))
    for name, bound in found.items():
        curves.setdefault(name, []).append(bound.raw if np.isfinite(bound.raw) else np.nan)

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), width_ratios=(3, 2))
colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]
for i, (name, curve) in enumerate(curves.items()):
    style = {"linestyle": ["-", "--"][i // 5], "marker": "os^Dv"[i % 5], "color": colours[i % 5]}
    label = name if np.nanmin([*curve, np.inf]) < 1 else f"{name} (vacuous throughout)"
    left.loglog(sizes, curve, ms=4, label=label, **style)
left.loglog(sizes, risks, "k-", lw=3, label="true risk")
left.axhspan(1, 30, color="0.9", zorder=0)
left.text(3e4, 1.15, "vacuous", color="0.35")
left.set(xlabel="sample size m", ylabel="bound on the risk, δ = 0.05", ylim=(5e-6, 30))
left.legend(fontsize=8, loc="lower left")
left.grid(alpha=0.3)

chosen = ["VC", "Rademacher", "PAC", "PAC-Bayes (a draw)", "PAC-Bayes cap", "compression"]
for i, name in enumerate(reversed(chosen)):
    start = 0.0
    for j, (term, size) in enumerate(found[name].terms.items()):
        part = size / found[name].raw
        right.barh(i, part, left=start, color=["#0072B2", "#E69F00", "#BBBBBB"][j], height=0.5)
        if part > 0.04:
            x, side = (1.0, "right") if start > 0.6 else (start, "left")
            right.text(x, i + 0.28, f"{term} {size:.2g}", fontsize=8, va="bottom", ha=side)
        start += part
right.set(yticks=range(len(chosen)), xlabel=f"share of the bound at m = {sizes[-1]:,}")
right.set_yticklabels([f"{name}\n{found[name].raw:.2g}" for name in reversed(chosen)])

figure.tight_layout()
out = Path(__file__).parent / "figures" / "plot_bounds_against_m.png"
out.parent.mkdir(exist_ok=True)
figure.savefig(out, dpi=110)
