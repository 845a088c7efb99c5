"""Kernel ridge regression with scikit-learn's manners, its penalty chosen by leave-one-out."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from bayeskern.checks import as_targets
from bayeskern.classic.ridge import kernel_ridge, kernel_ridge_path
from bayeskern.estimators.expansion import KernelExpansion


class KernelRidge(RegressorMixin, KernelExpansion):
    r"""Regression by :math:`\frac12 \sum_i (t_i - f(x_i))^2 + \frac\lambda2 \|f\|^2`.

    The targets are centred, so that the mean is not penalised.

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs.
    lam : float or sequence of float, default=1.0
        Penalty, the noise variance of the Gaussian process with this mean. Of several, the one of
        least leave-one-out error is taken, at the price of one eigendecomposition.

    Attributes
    ----------
    solution_ : RidgeSolution
        With leverages and leave-one-out residuals, for the centred targets.
    lam_ : float
    dual_coef_ : array of shape (n,)
    intercept_ : float
    kernel_ : kernel

    Examples
    --------
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> model = KernelRidge(lam=[1e-6, 1e-3, 1.0]).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 1e-3)
    True
    """

    def __init__(self, kernel=None, *, lam=1.0):
        self.kernel = kernel
        self.lam = lam

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and real targets."""
        X, y = self._read_both(X, y)
        K, y = self._gram(X), as_targets(y)
        self.intercept_ = float(y.mean())
        t = y - self.intercept_
        self.lam_ = self.lam if np.ndim(self.lam) == 0 else kernel_ridge_path(K, t, self.lam).best
        self.solution_ = kernel_ridge(K, t, self.lam_)
        self.dual_coef_ = self.solution_.coefficients
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x)."""
        K = self._cross(X)
        return K @ self.dual_coef_ + self.intercept_
