"""Maximise a smooth function in a box, with few evaluations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

LONGEST = 2.0  # of one step, in any coordinate


@dataclass(frozen=True, eq=False)
class Peak:
    """Where a climb ended."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    inverse: np.ndarray  # the inverse of minus the Hessian, as BFGS has learned it
    converged: bool
    at_bound: np.ndarray
    state: Any = None


def climb(
    f: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    inverse: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Peak:
    """Maximise by BFGS until the gain still to be expected, half g'Hg, is below ``tol``.

    ``inverse`` is a guess of the inverse of minus the Hessian. As soon as an iterate leaves the
    box, L-BFGS-B takes over: quasi-Newton steps along the faces of a box are what it is for.
    """
    value, g = f(x)
    if not np.isfinite(value):
        return Peak(x, value, g, np.eye(len(x)), False, np.zeros(len(x), dtype=bool))
    learned = inverse is not None
    H = inverse if inverse is not None else np.eye(len(x))
    for _ in range(max_iter):
        step = H @ g
        gain = 0.5 * float(g @ step)
        if np.abs(g).max() < 1e-10 or (learned and gain < tol):
            return Peak(x, value, g, H, True, np.zeros(len(x), dtype=bool))
        longest = np.abs(step).max()
        limit = LONGEST if learned else 0.5
        if longest > limit:
            step = step * (limit / longest)
        rate = 1.0
        while True:
            x2 = x + rate * step
            if ((x2 < low) | (x2 > high)).any():
                return _in_box(f, x, low, high, H, tol)
            value2, g2 = f(x2)
            if value2 >= value + 1e-4 * rate * float(g @ step):
                break
            rate *= 0.3
            if rate < 1e-6:
                # rounding hides a gain as small as this
                done = gain < 1e3 * max(tol, 1e-9)
                return Peak(x, value, g, H, done, np.zeros(len(x), dtype=bool))
        s, d = x2 - x, g - g2
        curve = float(s @ d)
        if curve > 1e-12 * np.sqrt((s @ s) * (d @ d)):
            if not learned:
                H = (curve / (d @ d)) * np.eye(len(x))
            H = _bfgs(H, s, d, curve)
            learned = True
        x, value, g = x2, value2, g2
    return Peak(x, value, g, H, False, np.zeros(len(x), dtype=bool))


def _bfgs(H: np.ndarray, s: np.ndarray, d: np.ndarray, curve: float) -> np.ndarray:
    Hd = H @ d
    scale = (1.0 + (d @ Hd) / curve) / curve
    return H + scale * np.outer(s, s) - (np.outer(Hd, s) + np.outer(s, Hd)) / curve


def _in_box(f, x, low, high, H, tol) -> Peak:
    def negative(x):
        value, g = f(x)
        return (-value, -g) if np.isfinite(value) else (1e25, np.zeros_like(g))

    found = minimize(
        negative,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack([low, high]),
        options={"maxiter": 300, "ftol": min(1e-9, 1e-2 * tol), "gtol": 1e-5},
    )
    value, g = f(found.x)
    at_bound = (found.x <= low + 1e-9) & (g < 0) | (found.x >= high - 1e-9) & (g > 0)
    inside = np.where(at_bound, 0.0, g)
    converged = bool(found.success) or float(np.abs(inside).max()) < 1e-3
    return Peak(found.x, value, g, H, converged, at_bound)
