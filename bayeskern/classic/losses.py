r"""Losses, and what a small surrogate loss says about the 0-1 loss.

A margin loss is a function :math:`\Gamma` of :math:`u = -y f(x)`; an output of exactly 0 is no
class, so the 0-1 loss counts it as an error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, xlogy

from bayeskern.checks import as_array, as_labels, positive


class MarginLoss:
    r"""A loss :math:`\Gamma(u)` of :math:`u = -y f`, applied as ``loss(f, y)``.

    Subclasses give ``value``; the convex ones also give ``grad`` (one fixed subgradient at a kink),
    ``bayes`` and ``transfer``.
    """

    def value(self, u: Any) -> np.ndarray:
        r"""Return :math:`\Gamma(u)`, elementwise."""
        raise TypeError(f"{type(self).__name__} does not say its value")

    def __call__(self, f: Any, y: Any) -> np.ndarray:
        """Return the loss of each output ``f`` when the label is ``y``."""
        f, y = as_array(f, "f"), as_array(y, "y")
        as_labels(y.ravel())
        return self.value(-y * f)

    def conditional_risk(self, z: Any, eta: Any) -> np.ndarray:
        r"""Return :math:`\eta \Gamma(-z) + (1 - \eta) \Gamma(z)` for :math:`\eta = P(+1 | x)`."""
        z, eta = np.asarray(z, dtype=float), as_probability(eta)
        return eta * self.value(-z) + (1 - eta) * self.value(z)


@dataclass(frozen=True)
class ZeroOneLoss(MarginLoss):
    r"""One for an error or a tie, :math:`\Gamma(u) = 1_{u \ge 0}`.

    >>> ZeroOneLoss()([-0.5, 0.0, 2.0], [1, 1, 1])
    array([1., 1., 0.])
    """

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return (np.asarray(u) >= 0).astype(float)

    def bayes(self, eta: Any) -> np.ndarray:
        """Return the best output, the likelier label."""
        return np.where(as_probability(eta) > 0.5, 1.0, -1.0)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    r"""The support vector machine's, :math:`\Gamma(u) = (1 + u)_+`.

    >>> HingeLoss()([0.5, -1.0], [1, 1])
    array([0.5, 2. ])
    """

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return np.maximum(1 + np.asarray(u, dtype=float), 0)

    def grad(self, u: Any) -> np.ndarray:
        """Return the derivative, 0 at the kink."""
        return (np.asarray(u) > -1).astype(float)

    def bayes(self, eta: Any) -> np.ndarray:
        """Return the best output, the likelier label."""
        return np.where(as_probability(eta) > 0.5, 1.0, -1.0)

    def transfer(self, excess: Any) -> np.ndarray:
        """Bound the excess 0-1 risk by the excess hinge risk itself."""
        return np.asarray(excess, dtype=float)


@dataclass(frozen=True)
class SquaredHingeLoss(MarginLoss):
    r"""The quadratic soft margin, :math:`\Gamma(u) = (1 + u)_+^2`.

    >>> SquaredHingeLoss()([0.5, -1.0], [1, 1])
    array([0.25, 4.  ])
    """

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return np.maximum(1 + np.asarray(u, dtype=float), 0) ** 2

    def grad(self, u: Any) -> np.ndarray:
        """Return the derivative."""
        return 2 * np.maximum(1 + np.asarray(u, dtype=float), 0)

    def bayes(self, eta: Any) -> np.ndarray:
        r"""Return the best output, :math:`2\eta - 1`."""
        return 2 * as_probability(eta) - 1

    def transfer(self, excess: Any) -> np.ndarray:
        r"""Bound the excess 0-1 risk by :math:`\sqrt r`."""
        return np.sqrt(excess)


@dataclass(frozen=True)
class LogisticLoss(MarginLoss):
    r"""The logistic loss, :math:`\Gamma(u) = \log(1 + e^u)`.

    Parameters
    ----------
    base2 : bool, default=False
        Divide by :math:`\log 2`. In nats the loss is :math:`\log 2 < 1` at 0, so it does not lie
        above the 0-1 loss; in bits it does.

    Examples
    --------
    >>> LogisticLoss(base2=True)([0.0], [1])
    array([1.])
    """

    base2: bool = False

    @property
    def _unit(self) -> float:
        return float(np.log(2)) if self.base2 else 1.0

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return np.logaddexp(0, u) / self._unit

    def grad(self, u: Any) -> np.ndarray:
        """Return the derivative."""
        return expit(u) / self._unit

    def bayes(self, eta: Any) -> np.ndarray:
        r"""Return the best output, the log odds."""
        return logit(as_probability(eta))

    def transfer(self, excess: Any) -> np.ndarray:
        r"""Bound the excess 0-1 risk by :math:`\sqrt{2 r}`, with the excess in nats."""
        return np.sqrt(2 * self._unit * np.asarray(excess, dtype=float))


@dataclass(frozen=True)
class ExponentialLoss(MarginLoss):
    r"""The loss of boosting, :math:`\Gamma(u) = e^u`; it overflows beyond u = 709.

    >>> ExponentialLoss()([0.0], [-1])
    array([1.])
    """

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return np.exp(u)

    def grad(self, u: Any) -> np.ndarray:
        """Return the derivative."""
        return np.exp(u)

    def bayes(self, eta: Any) -> np.ndarray:
        r"""Return the best output, half the log odds."""
        return logit(as_probability(eta)) / 2

    def transfer(self, excess: Any) -> np.ndarray:
        r"""Bound the excess 0-1 risk by :math:`\sqrt{r (2 - r)}`, or by 1 beyond r = 1."""
        r = np.minimum(excess, 1.0)
        return np.sqrt(r * (2 - r))


@dataclass(frozen=True)
class SquaredLoss(MarginLoss):
    r"""The square, :math:`\Gamma(u) = (1 + u)^2`, which is :math:`(y - f)^2` for labels -1, +1.

    >>> SquaredLoss()([3.0], [1])
    array([4.])
    """

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return (1 + np.asarray(u, dtype=float)) ** 2

    def grad(self, u: Any) -> np.ndarray:
        """Return the derivative."""
        return 2 * (1 + np.asarray(u, dtype=float))

    def bayes(self, eta: Any) -> np.ndarray:
        r"""Return the best output, :math:`2\eta - 1`; with labels 0, 1 it would be :math:`\eta`."""
        return 2 * as_probability(eta) - 1

    def transfer(self, excess: Any) -> np.ndarray:
        r"""Bound the excess 0-1 risk by :math:`\sqrt r`."""
        return np.sqrt(excess)


@dataclass(frozen=True)
class RampLoss(MarginLoss):
    r"""Between 0-1 and hinge, :math:`\Gamma(u) = \min(1, (1 + u / \rho)_+)`; not convex.

    Parameters
    ----------
    rho : float, default=1.0
        The margin below which an example counts, in part.

    Examples
    --------
    >>> RampLoss(2.0)([-3.0, 1.0, 5.0], [1, 1, 1])
    array([1. , 0.5, 0. ])
    """

    rho: float = 1.0

    def __post_init__(self) -> None:
        positive(self.rho, "rho")

    def value(self, u: Any) -> np.ndarray:
        """Return the loss as a function of ``u = -y f``."""
        return np.clip(1 + np.asarray(u, dtype=float) / self.rho, 0, 1)


def cost_loss(f: Any, y: Any, costs: Any) -> np.ndarray:
    r"""Return the cost of each error, by its kind.

    Parameters
    ----------
    f : array
        Outputs, of which only the sign counts. An output of 0 costs nothing here, unlike in the
        0-1 loss.
    y : array
        Labels -1 and +1.
    costs : array of shape (2, 2)
        Rows are the true class, columns the predicted one, in the order +1, -1; the diagonal is 0.

    Examples
    --------
    >>> cost_loss([-1.0, 2.0, 1.0], [1, -1, 1], [[0, 5], [2, 0]])
    array([5., 2., 0.])
    """
    f, y, costs = as_array(f, "f"), as_array(y, "y"), as_array(costs, "costs", ndim=2)
    as_labels(y.ravel())
    if costs.shape != (2, 2) or (costs < 0).any() or costs.diagonal().any():
        raise ValueError(
            "costs must be a 2 x 2 matrix, non-negative and zero on the diagonal,"
            f" got {costs.tolist()}"
        )
    return np.where((y > 0) & (f < 0), costs[0, 1], np.where((y < 0) & (f > 0), costs[1, 0], 0.0))


def epsilon_insensitive(f: Any, t: Any, epsilon: float) -> np.ndarray:
    r"""Return :math:`(|t - f| - \epsilon)_+`, the loss of support vector regression.

    >>> epsilon_insensitive([1.0, 3.0], [1.5, 1.0], 0.5)
    array([0. , 1.5])
    """
    epsilon = positive(epsilon, "epsilon", zero=True)
    return np.maximum(np.abs(as_array(t, "t") - as_array(f, "f")) - epsilon, 0)


def is_calibrated(gamma: Callable[[float], Any], *, step: float = 1e-6) -> bool:
    r"""Whether a convex surrogate has the Bayes rule as its minimiser.

    A convex :math:`\Gamma` is calibrated if and only if it is differentiable at 0 with
    :math:`\Gamma'(0) > 0` (Bartlett, Jordan and McAuliffe 2006), with u = -yf. Convexity is taken
    on trust; the two one-sided slopes at 0 are compared numerically.

    Parameters
    ----------
    gamma : callable
        The loss as a function of ``u = -y f``.
    step : float, default=1e-6
        Width of the differences; a kink smaller than its square root goes unseen.

    Examples
    --------
    >>> is_calibrated(HingeLoss().value)
    True
    >>> is_calibrated(lambda u: max(1 + 2 * u, 1 + u / 2, 0))  # a kink at 0
    False
    """
    step = positive(step, "step")
    right = float((gamma(step) - gamma(0.0)) / step)
    left = float((gamma(0.0) - gamma(-step)) / step)
    return right > 0 and left > 0 and abs(right - left) <= step**0.5 * max(right, left)


def binary_entropy(eta: Any) -> np.ndarray:
    r"""Return :math:`-\eta \log \eta - (1 - \eta) \log (1 - \eta)` in nats, 0 at both ends.

    >>> float(binary_entropy(0.0))
    0.0
    """
    eta = as_probability(eta)
    return 0.0 - xlogy(eta, eta) - xlogy(1 - eta, 1 - eta)


def as_probability(eta: Any, name: str = "eta") -> np.ndarray:
    """Return probabilities as an array, refusing what lies outside [0, 1]."""
    eta = as_array(eta, name)
    if (eta < 0).any() or (eta > 1).any():
        odd = eta[(eta < 0) | (eta > 1)].flat[0]
        raise ValueError(f"{name} must be in [0, 1], got {odd:g}")
    return eta
