r"""Classification in metric spaces with Lipschitz functions (von Luxburg and Bousquet 2004).

The margin of a function is the inverse of its Lipschitz constant, so the large-margin classifier
is the one of least constant; it is known on the sample first and then extended to the whole space.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskern.checks import as_array, as_labels, positive, within
from bayeskern.classic.dissimilarity import as_distances

if TYPE_CHECKING:
    from bayeskern.classic.bounds.result import Bound


def lipschitz_constant(D: Any, values: Any) -> float:
    r"""Return :math:`L(f) = \max_{i \ne j} |f_i - f_j| / d_{ij}` of a function on the sample.

    Infinite when points at distance zero have unequal values.

    >>> lipschitz_constant([[0, 2], [2, 0]], [1.0, -1.0])
    1.0
    """
    D = as_distances(D)
    f = as_array(values, "values", ndim=1)
    if len(f) != len(D):
        raise ValueError(f"values must have one entry per point, got {len(f)} for {len(D)} points")
    worst = 0.0
    for i in range(len(f)):
        rise = np.abs(f[i] - f)
        touching = D[i] == 0
        if rise[touching].max() > 0:
            return float("inf")
        if not touching.all():
            worst = max(worst, float((rise[~touching] / D[i, ~touching]).max()))
    return worst


def lipschitz_norm(D: Any, values: Any, *, diameter: float | None = None) -> float:
    r"""Return :math:`\|f\|_L = \max\{L(f), \|f\|_\infty / \mathrm{diam}\}`.

    It equals :math:`L(f)` whenever ``f`` takes both signs, or the value zero.

    >>> lipschitz_norm([[0, 4], [4, 0]], [1.0, 1.0])
    0.25
    """
    D = as_distances(D)
    diam = float(D.max()) if diameter is None else positive(diameter, "diameter")
    if diam == 0:
        raise ValueError("the space must have a positive diameter, got 0")
    return max(lipschitz_constant(D, values), float(np.abs(np.asarray(values)).max()) / diam)


def lipschitz_extension(
    cross: Any, values: Any, constant: float, *, alpha: float = 0.5
) -> np.ndarray:
    r"""Extend a function on the sample to new points without raising its Lipschitz constant.

    .. math:: f_\alpha(x) = \alpha \min_i (a_i + L d(x, x_i))
       + (1 - \alpha) \max_i (a_i - L d(x, x_i))

    Every extension of constant ``L`` lies between :math:`f_0` and :math:`f_1` (McShane 1934,
    Whitney 1934); :math:`\alpha = 1/2` also stays between the least and the largest value.

    Parameters
    ----------
    cross : array of shape (q, n)
        Distances of the new points to the sample.
    values : array of shape (n,)
        The function on the sample.
    constant : float
        Its Lipschitz constant ``L``, or more.
    alpha : float in [0, 1]

    Examples
    --------
    >>> lipschitz_extension([[1.0, 1.0], [0.0, 2.0]], [-1.0, 1.0], 1.0)
    array([ 0., -1.])
    """
    alpha = within(alpha, "alpha", 0, 1)
    constant = positive(constant, "constant", zero=True)
    cross, a = as_array(cross, "cross", ndim=2), as_array(values, "values", ndim=1)
    if cross.shape[1] != len(a):
        raise ValueError(f"cross must have one column per value, got {cross.shape} for {len(a)}")
    rise = constant * cross
    return alpha * (a + rise).min(axis=1) + (1 - alpha) * (a - rise).max(axis=1)


@dataclass(frozen=True)
class LipschitzSolution:
    """A Lipschitz classifier: values on the sample, its constant, and what it cost.

    ``objective - gap`` bounds the optimum from below, so a gap of zero proves optimality.
    ``n_constraints`` counts the pairs of points the linear program had to look at.
    """

    values: np.ndarray = field(repr=False)
    constant: float
    objective: float
    slack: np.ndarray = field(repr=False)
    gap: float
    n_constraints: int

    @property
    def margin(self) -> float:
        """Distance any point with a value of at least one keeps to the decision boundary."""
        return 1 / self.constant if self.constant > 0 else float("inf")

    def decision(self, cross: Any, *, alpha: float = 0.5) -> np.ndarray:
        """Values at new points, from their distances to the sample."""
        return lipschitz_extension(cross, self.values, self.constant, alpha=alpha)


def _two_classes(D: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    D = as_distances(D)
    y = as_labels(y, len(D))
    if (y == y[0]).all():
        raise ValueError(f"y must hold both labels, got only {y[0]:+g}")
    return D, y


def lipschitz_hard(D: Any, y: Any) -> LipschitzSolution:
    r"""Separate two classes with the least Lipschitz constant :math:`L^* = 2 / d(X^+, X^-)`.

    The solution takes the values :math:`\pm 1` on the sample. Its sign is that of the nearest
    neighbour rule, and with :math:`\alpha = 1/2` its value is
    :math:`(d(x, X^-) - d(x, X^+)) / d(X^+, X^-)` clipped to [-1, 1]: no optimiser is needed.

    Examples
    --------
    >>> x = np.array([0.0, 1, 3, 4])
    >>> lipschitz_hard(np.abs(x[:, None] - x), [-1, -1, 1, 1]).margin
    1.0
    """
    D, y = _two_classes(D, y)
    between = D[np.ix_(y > 0, y < 0)]
    least = float(between.min())
    if least == 0:
        i, j = np.unravel_index(between.argmin(), between.shape)
        pair = (int(np.flatnonzero(y > 0)[i]), int(np.flatnonzero(y < 0)[j]))
        raise ValueError(f"classes touch at points {pair}; use the soft margin")
    return LipschitzSolution(y.copy(), 2 / least, 2 / least, np.zeros(len(y)), 0.0, 0)


def nearest_difference(to_plus: Any, to_minus: Any, between: float) -> np.ndarray:
    r"""Return :math:`g(x) = (d(x, X^-) - d(x, X^+)) / d(X^+, X^-)`, the unclipped 1-NN margin.

    >>> nearest_difference([1.0], [3.0], 2.0)
    array([1.])
    """
    return (np.asarray(to_minus, float) - np.asarray(to_plus, float)) / positive(between, "between")


def lipschitz_soft(D: Any, y: Any, C: float = 1.0, *, tol: float = 1e-9) -> LipschitzSolution:
    r"""Trade the Lipschitz constant against violations of the margin, by linear programming.

    .. math:: \min_{a, \xi, \rho} \; \rho + C \sum_i \xi_i \quad \text{s.t. }
       y_i a_i \ge 1 - \xi_i, \; \xi_i \ge 0, \; a_i - a_j \le \rho \, d_{ij}

    Clipping to [-1, 1] never hurts, so :math:`a_i = y_i (1 - \xi_i)` with
    :math:`0 \le \xi_i \le 2`. Constraints are generated: the program starts with each point's
    nearest neighbours of the other class and takes in pairs that its solution violates. For a
    metric only pairs of opposite labels can matter.

    Parameters
    ----------
    D : array of shape (n, n)
        Symmetric distances with a zero diagonal. Points at distance zero share their value, also
        under opposite labels.
    y : array of shape (n,)
        Labels -1 and +1, both present.
    C : float
        Price of a violation. From :math:`1 / d(X^+, X^-)` on the margin is hard; up to the inverse
        cost of matching the smaller class into the larger one the answer is constant.
    tol : float
        Largest relative violation of a constraint in the answer.

    Returns
    -------
    LipschitzSolution
        Solutions are not unique: compare objectives, not values.

    Examples
    --------
    >>> x = np.array([0.0, 1, 3, 4])
    >>> D = np.abs(x[:, None] - x)
    >>> round(lipschitz_soft(D, [-1, -1, 1, 1], C=0.25).objective, 9)
    0.75
    """
    from bayeskern.classic.lipschitz_lp import solve_soft

    D, y = _two_classes(D, y)
    return solve_soft(D, y, positive(C, "C"), positive(tol, "tol"))


def lipschitz_risk_bound(
    margins: Any, constant: float, complexity: float, delta: float = 0.05
) -> "Bound":
    r"""Bound the clipped hinge risk, hence the error, of functions with :math:`\|f\|_L \le L`.

    .. math:: \frac1n \sum_i \min\{1, \max\{0, 1 - y_i f(x_i)\}\} + 2 L R_n(B)
       + \sqrt{\frac{8 \ln(2 / \delta)}{n}}

    with probability :math:`1 - \delta` for all of them at once.

    Parameters
    ----------
    margins : array of shape (n,)
        :math:`y_i f(x_i)` on the sample.
    constant : float
        ``L``, fixed before the sample was seen; see `lipschitz_norm`.
    complexity : float
        :math:`R_n(B)`, the Rademacher average of the unit ball with absolute values and without a
        factor 2, such as `lipschitz_rademacher_bound`. An average estimated on the sample
        (`lipschitz_rademacher`) gives an indication, not a bound.
    delta : float in (0, 1)

    Returns
    -------
    Bound
        With ``raw`` the sum, which may exceed one, and ``vacuous`` if it does.

    Examples
    --------
    >>> bound = lipschitz_risk_bound(np.full(1000, 2.0), 2.0, 0.01)
    >>> round(bound.raw, 6), bound.vacuous
    (0.211788, False)
    """
    from bayeskern.classic.bounds.rademacher import rademacher_absolute_bound

    yf = as_array(margins, "margins", ndim=1)
    radius = positive(constant, "constant", zero=True)
    average = positive(complexity, "complexity", zero=True)
    delta = within(delta, "delta", 0, 1, closed="neither")
    loss = float(np.clip(1 - yf, 0, 1).mean())
    return rademacher_absolute_bound(len(yf), delta, loss, radius * average)
