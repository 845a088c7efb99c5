"""Version space on the sphere, with the points that different learners choose from it."""

from typing import Any

import numpy as np

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.bayes.spherical import exact_region
from bayeskern.infer.billiard import geodesic_billiard

MARKS = {
    "Bayes point": ("*", "#000000", 190),
    "SVM": ("s", "#D55E00", 60),
    "normalised SVM": ("^", "#0072B2", 70),
}


def version_space(
    problem: BayesPoint,
    tree: Any = None,
    *,
    bounces: int = 12,
    draws: int = 400,
    zoom: bool = False,
    random_seed: Any = 0,
    ax: Any = None,
) -> Any:
    """Draw the version space of points in space, seen from its centre of mass.

    Each point cuts the sphere along a great circle; what is left is a spherical polygon. In it are
    draws of the posterior, the path of a billiard ball, the exact centre of mass (the Bayes
    point), and the directions of the support vector machine on the points as they are and after
    scaling them to unit length, which is the centre of the largest ball that fits (Herbrich 2002,
    figure 3.7).

    Parameters
    ----------
    problem : BayesPoint
        With a ``Linear`` kernel on three features, or another kernel of rank three.
    tree : DataTree, optional
        What a sampler returned; its draws are shown.
    bounces : int, default=12
        How much of a billiard path to show; 0 for none.
    draws : int, default=400
        How many draws to show.
    zoom : bool, default=False
        Show version space only, not the whole hemisphere.
    random_seed : int, default=0
        For the path.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
        With the picture and a legend.
    """
    import matplotlib.pyplot as plt

    cone = problem.cone
    if cone.rank != 3:
        raise ValueError(f"version_space needs points of rank 3, got rank {cone.rank}")
    region = exact_region(cone.A)
    view = _view(region.mean)
    ax = plt.subplots(figsize=(6.4, 6.4))[1] if ax is None else ax
    ax.add_patch(plt.Circle((0, 0), 1, facecolor="#F4F4F4", edgecolor="0.2", lw=1))
    corners = _draw_walls(ax, cone.A, region.edges, view)
    if tree is not None:
        alpha = tree["posterior"]["alpha"].values.reshape(-1, len(problem.y))
        some = alpha[np.linspace(0, len(alpha) - 1, min(draws, len(alpha))).astype(int)]
        seen = _directions(problem, some) @ view.T
        ax.scatter(seen[:, 0], seen[:, 1], s=5, c="0.45", lw=0, zorder=3, label="draws")
    if bounces:
        path = _billiard_path(cone, bounces, random_seed) @ view.T
        ax.plot(path[:, 0], path[:, 1], color="#009E73", lw=1.1, zorder=4, label="billiard")
    for name, direction in _chosen(problem, region.mean).items():
        x, y, _ = view @ direction
        marker, colour, size = MARKS[name]
        ax.scatter(x, y, s=size, marker=marker, c=colour, ec="white", lw=0.8, zorder=5, label=name)
    if zoom:
        low, high = corners.min(axis=0), corners.max(axis=0)
        middle, half = (low + high) / 2, 0.58 * (high - low).max()
        ax.set(xlim=middle[0] + half * np.array([-1, 1]), ylim=middle[1] + half * np.array([-1, 1]))
    ax.set(
        xlabel="first coordinate across the line of sight",
        ylabel="second coordinate",
        aspect="equal",
        title=f"Version space: {region.prior_mass:.1%} of the sphere",
    )
    ax.legend(loc="upper left", framealpha=0.9, fontsize="small")
    return ax


def _view(towards: np.ndarray) -> np.ndarray:
    """Return an orthonormal frame whose last row looks at a direction."""
    last = towards / np.linalg.norm(towards)
    across = np.linalg.svd(last[None])[2][1:]
    return np.vstack([across, last])


def _directions(problem: BayesPoint, alpha: np.ndarray) -> np.ndarray:
    """Return unit vectors in the coordinates of the cone, one for each row of coefficients."""
    cone = problem.cone
    t = np.atleast_2d(alpha) @ problem.prior_cov({})
    z = cone.coordinates((t * cone.signs / cone.scales).T).T
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def _draw_walls(ax: Any, A: np.ndarray, edges: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Draw every great circle on the near side, and fill the region; return its corners."""
    turns = np.linspace(0, 2 * np.pi, 721)
    circle = np.column_stack([np.cos(turns), np.sin(turns)])
    outline = []
    for normal, edge in zip(A, edges, strict=True):
        frame = np.linalg.svd(normal[None])[2][1:]
        points = circle @ frame
        seen = points @ view.T
        near = np.where(seen[:, 2:] >= 0, seen[:, :2], np.nan)
        style = "-" if edge > 0 else "--"
        ax.plot(near[:, 0], near[:, 1], style, color="0.35", lw=1.0, zorder=2)
        inside = (points @ A.T >= -1e-9).all(axis=1)
        outline.append(seen[inside, :2])
    rim = np.vstack(outline)
    order = np.argsort(np.arctan2(rim[:, 1], rim[:, 0]))
    ax.fill(*rim[order].T, color="#F0E442", alpha=0.55, lw=0, zorder=1, label="version space")
    return rim


def _billiard_path(cone: Any, bounces: int, random_seed: Any) -> np.ndarray:
    """Return a fine path of a geodesic billiard ball with about as many bounces as asked."""
    rng = np.random.default_rng(random_seed)
    path = geodesic_billiard(cone, rng, draws=60 * bounces, arc=0.01, refresh=0.0)
    last = int(np.searchsorted(np.cumsum(path.n_bounces), bounces)) + 1
    return cone.coordinates(path.margins[:last].T).T


def _chosen(problem: BayesPoint, mean: np.ndarray) -> dict[str, np.ndarray]:
    from bayeskern.classic.support import hard_margin

    G, scales = problem.prior_cov({}), problem.cone.scales
    plain = hard_margin(G, problem.y).coefficients
    unit = hard_margin(G / np.outer(scales, scales), problem.y).coefficients / scales
    return {
        "Bayes point": mean / np.linalg.norm(mean),
        "SVM": _directions(problem, plain)[0],
        "normalised SVM": _directions(problem, unit)[0],
    }
