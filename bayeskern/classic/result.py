"""What a classic solver returns: coefficients, and the numbers that prove them."""

from dataclasses import dataclass

import numpy as np

from bayeskern.checks import as_array


@dataclass(frozen=True, eq=False)
class Solution:
    r"""A function :math:`f = \sum_i \beta_i k(x_i, \cdot) + b` and its certificate.

    Parameters
    ----------
    coefficients : ndarray of shape (n,)
        The weights :math:`\beta_i`, signs included; a margin machine has
        :math:`\beta_i = y_i \alpha_i`.
    objective : float
        Value of the objective that was minimised.
    gap : float
        A bound on the relative error of ``objective``: the duality gap where there is a dual, else
        the norm of the gradient, in units of the objective.
    n_iter : int
        Iterations used.
    converged : bool
        Whether the tolerance was reached within the iteration limit.
    bias : float, default=0.0
        The constant :math:`b`.

    Examples
    --------
    >>> Solution(np.array([1.0, -1.0]), 0.5, 0.0, 1, True)([[2.0, 1.0]])
    array([1.])
    """

    coefficients: np.ndarray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    bias: float = 0.0

    def __call__(self, K: np.ndarray) -> np.ndarray:
        """Return ``f`` at new points from their kernel values, one row per new point."""
        K = as_array(K, "K", ndim=2)
        if K.shape[1] != len(self.coefficients):
            raise ValueError(
                f"K must have one column per training point, got {K.shape[1]} columns"
                f" for {len(self.coefficients)} points"
            )
        return K @ self.coefficients + self.bias
