"""From a surrogate loss to the zero-one loss, and from a ball to all functions."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain

LOSSES = ("hinge", "logistic", "logistic_exact", "square", "exponential")


def calibration_excess(excess_surrogate: Any, loss: str) -> Any:
    r"""Excess misclassification risk from the excess surrogate risk r.

    Hinge: r; logistic with natural logarithm and exponential: :math:`\sqrt{2r}` (a
    :math:`\sqrt r` in print for the logistic loss lacks the 2); square: :math:`\sqrt r`;
    "logistic_exact" inverts :math:`\frac12[(1+\theta)\ln(1+\theta)+(1-\theta)\ln(1-\theta)]`.

    Examples
    --------
    >>> calibration_excess(0.02, "logistic")
    0.2
    """
    r = domain.positive(excess_surrogate, "excess_surrogate", zero=True)
    domain.choice(loss, "loss", LOSSES)
    if loss == "hinge":
        out = np.asarray(r)
    elif loss == "square":
        out = np.sqrt(r)
    elif loss == "logistic_exact":
        out = _invert_logistic(r)
    else:
        out = np.sqrt(2 * r)
    out = np.minimum(out, 1.0)
    return out.item() if out.ndim == 0 else out


def _invert_logistic(r: np.ndarray) -> np.ndarray:
    low, high = np.zeros(r.shape), np.ones(r.shape)
    for _ in range(60):
        middle = (low + high) / 2
        # the last bisection steps may land on 1, where the second part vanishes
        rest = np.where(middle < 1, (1 - middle) * np.log1p(-np.minimum(middle, 1 - 1e-16)), 0.0)
        fits = 0.5 * ((1 + middle) * np.log1p(middle) + rest) <= r
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return high


def is_calibrated(gamma_prime_0: float) -> bool:
    r"""Whether a convex loss :math:`\Gamma(-yz)` is calibrated: a positive slope at 0.

    Parameters
    ----------
    gamma_prime_0 : float
        :math:`\Gamma'(0)`; NaN if the left and right slopes differ.

    Examples
    --------
    >>> is_calibrated(0.5), is_calibrated(float("nan"))
    (True, False)
    """
    return bool(gamma_prime_0 > 0)


def rkhs_approximation_error(
    lipschitz: Any, mean_norm: Any, best_norm: Any, norm_bound: Any
) -> Any:
    r"""Approximation error of a ball, :math:`Q\,\mathbf E\|\varphi(X)\|\max(\|w^*\|-\Lambda,0)`.

    Parameters
    ----------
    lipschitz : float
        Lipschitz constant Q of the loss.
    mean_norm : float
        :math:`\mathbf E\|\varphi(X)\|=\mathbf E\sqrt{k(X,X)}`.
    best_norm, norm_bound : float
        Norm of the best function, and of the ball.

    Examples
    --------
    >>> rkhs_approximation_error(1.0, 1.0, 3.0, 2.0)
    1.0
    """
    slope = domain.positive(lipschitz, "lipschitz")
    mean_norm = domain.positive(mean_norm, "mean_norm", zero=True)
    best = domain.positive(best_norm, "best_norm", zero=True)
    out = slope * mean_norm * np.maximum(best - domain.positive(norm_bound, "norm_bound"), 0.0)
    return out.item() if np.ndim(out) == 0 else out
