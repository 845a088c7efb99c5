"""Pictures: colour-blind safe, readable in greyscale, every axis labelled.

Each function draws into ``ax`` (made if not given) and returns it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#666666"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#56B4E9", "#D55E00", "#000000")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def _axes(ax: Any, **kwargs: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **kwargs)[1]


def _grid(X: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"decision regions are drawn for two features, got shape {X.shape}")
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.1 * np.where(high > low, high - low, 1.0)
    xs, ys = (np.linspace(a, b, size) for a, b in zip(low - pad, high + pad, strict=True))
    gx, gy = np.meshgrid(xs, ys)
    return gx, gy, np.column_stack([gx.ravel(), gy.ravel()])


def _points(ax: Any, X: np.ndarray, y: Any, labels: tuple[Any, Any] | None = None) -> None:
    classes = np.unique(y)
    names = labels or tuple(f"class {c}" for c in classes)
    for k, c in enumerate(classes[:2]):
        ax.scatter(
            *np.asarray(X)[np.asarray(y) == c].T,
            marker=MARKERS[k],
            s=28,
            facecolor=("white", "black")[k],
            edgecolor="black",
            linewidth=0.8,
            label=str(names[k]),
            zorder=3,
        )


def decision_regions(model: Any, X: Any, y: Any, *, ax: Any = None, size: int = 120) -> Any:
    """Probability of the second class over the plane, with contours at 0.1, 0.5 and 0.9.

    The space between the outer contours is where the model is unsure: a picture of the 0.5 line
    alone would hide it.
    """
    ax = _axes(ax, figsize=(5.4, 4.4))
    gx, gy, points = _grid(X, size)
    p = model.predict_proba(points)[:, 1].reshape(gx.shape)
    shade = ax.contourf(gx, gy, p, levels=np.linspace(0, 1, 11), cmap="cividis", alpha=0.85)
    lines = ax.contour(
        gx, gy, p, levels=[0.1, 0.5, 0.9], colors="white", linestyles=["--", "-", "--"]
    )
    ax.clabel(lines, fmt="%.1f", fontsize=8)
    _points(ax, np.asarray(X, dtype=float), y)
    ax.figure.colorbar(shade, ax=ax, label="probability of the second class")
    ax.set(xlabel="feature 1", ylabel="feature 2")
    ax.legend(loc="upper right", fontsize=8)
    return ax


def latent(model: Any, X: Any, y: Any, *, axes: Any = None, size: int = 100) -> Any:
    """Posterior mean and standard deviation of the latent function, side by side."""
    import matplotlib.pyplot as plt

    if axes is None:
        axes = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")[1]
    gx, gy, points = _grid(X, size)
    predictive = model.predictive(points)
    panels = ((predictive.mean, "posterior mean"), (np.sqrt(predictive.var()), "posterior sd"))
    for ax, (values, label) in zip(axes, panels, strict=True):
        shade = ax.contourf(gx, gy, values.reshape(gx.shape), levels=14, cmap="cividis")
        ax.figure.colorbar(shade, ax=ax, label=f"{label} of f")
        _points(ax, np.asarray(X, dtype=float), y)
        ax.set(xlabel="feature 1", ylabel="feature 2")
    axes[0].contour(gx, gy, predictive.mean.reshape(gx.shape), levels=[0.0], colors="white")
    return axes


def reliability(comparison: Any, *, names: Any = None, ax: Any = None) -> Any:
    """Observed frequency against predicted probability, with 90 % bands."""
    ax = _axes(ax, figsize=(5.4, 4.4))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, label="calibrated")
    for k, name in enumerate(names or comparison.working):
        curve = comparison.reliability(name)
        colour = COLOURS[k % len(COLOURS)]
        style = {"color": colour, "linestyle": LINES[k % len(LINES)]}
        ax.plot(curve["predicted"], curve["observed"], marker=MARKERS[k % 7], label=name, **style)
        ax.fill_between(curve["predicted"], curve["low"], curve["high"], color=colour, alpha=0.08)
    ax.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))
    ax.legend(fontsize=8)
    return ax


def errors(comparison: Any, *, ax: Any = None) -> Any:
    """Cross-validated error of each model with its 90 % interval."""
    table = comparison.table()[::-1]
    ax = _axes(ax, figsize=(6.0, 0.5 * len(table) + 1.2))
    spread = [table["error"] - table["error_low"], table["error_high"] - table["error"]]
    ax.errorbar(
        table["error"], range(len(table)), xerr=spread, fmt="o", color=BLUE, ecolor=GREY, capsize=3
    )
    ax.set_yticks(range(len(table)), table.index)
    ax.set(xlabel="cross-validated error, with 90 % interval", xlim=(0, None))
    return ax


def margin_against_probability(
    margin_model: Any, bayesian_model: Any, X: Any, y: Any, *, ax: Any = None
) -> Any:
    """Bayesian versus margin, point by point: how sure each is of the second class."""
    ax = _axes(ax, figsize=(5.4, 4.4))
    scores = np.asarray(margin_model.decision_function(X))
    probability = bayesian_model.predict_proba(X)[:, 1]
    _points(ax, np.column_stack([scores, probability]), y)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    for edge in (-1, 1):
        ax.axvline(edge, color=GREY, linewidth=0.8, linestyle=":")
    ax.set(xlabel="score of the margin machine", ylabel="posterior probability", ylim=(-0.02, 1.02))
    ax.legend(fontsize=8)
    return ax


def evidence_surface(
    problem: Any, method: Any, grids: Mapping[str, Any], *, ax: Any = None, span: float = 8.0
) -> Any:
    """Log evidence of a conditional method over two hyperparameters, on log axes.

    Parameters
    ----------
    problem : LatentGaussian
        With exactly the two hyperparameters of ``grids`` free.
    method : Conditional
        Such as ``Exact()``, ``Laplace()`` or ``EP()``.
    grids : mapping
        Variable name to the values on its axis; two of them.
    span : float, default=8.0
        How far below its maximum the evidence is still drawn.
    """
    if len(grids) != 2 or set(grids) != set(problem.free()):
        raise ValueError(f"grids must name both of {list(problem.free())}, got {list(grids)}")
    (first, a), (second, b) = ((name, np.asarray(values)) for name, values in grids.items())
    surface = np.array(
        [[method.at(problem, {first: u, second: v}).log_evidence for u in a] for v in b]
    )
    ax = _axes(ax, figsize=(5.6, 4.4))
    levels = np.linspace(surface.max() - span, surface.max(), 17)
    shade = ax.contourf(a, b, np.maximum(surface, levels[0]), levels=levels, cmap="cividis")
    ax.contour(a, b, surface, levels=levels[::2], colors="white", linewidths=0.5)
    ax.figure.colorbar(shade, ax=ax, label="log evidence")
    ax.set(xscale="log", yscale="log", xlabel=first, ylabel=second)
    return ax


def theta_by_method(trees: Mapping[str, Any], variable: str, *, ax: Any = None) -> Any:
    """Posterior of one hyperparameter by all methods, on one axis."""
    from scipy.stats import gaussian_kde

    ax = _axes(ax, figsize=(5.6, 3.6))
    for k, (name, tree) in enumerate(trees.items()):
        draws = np.log(np.ravel(tree["posterior"][variable].values))
        style = {"color": COLOURS[k % 7], "linestyle": LINES[k % 7], "label": name}
        if np.ptp(draws) < 1e-9:
            ax.axvline(np.exp(draws[0]), **style)
            continue
        grid = np.linspace(draws.min() - 0.2, draws.max() + 0.2, 300)
        ax.plot(np.exp(grid), gaussian_kde(draws)(grid), **style)
    ax.set(xscale="log", xlabel=variable, ylabel="posterior density of its logarithm")
    ax.legend(fontsize=8)
    return ax


def version_space(*args: Any, **kwargs: Any) -> Any:
    """The version space on the sphere; see `bayeskern.plots_version_space`."""
    from bayeskern.plots_version_space import version_space as draw

    return draw(*args, **kwargs)
