"""Mercer's condition in practice: is a matrix a Gram matrix, of which features, and how spread.

A symmetric function is a kernel if all its Gram matrices are positive semidefinite; the features
of finitely many points are then the rows of a root of that matrix.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bayeskern.checks import as_array, as_gram, positive
from bayeskern.errors import NotPSDError


def is_psd(K: Any, *, tol: float = 1e-8) -> bool:
    """Tell whether a matrix is symmetric and positive semidefinite up to rounding.

    Parameters
    ----------
    K : array of shape (n, n)
        A finite square matrix.
    tol : float, default=1e-8
        An eigenvalue below ``-tol`` times the largest one, or an asymmetry of more than ``tol``
        times the largest entry, counts against it.

    Examples
    --------
    >>> is_psd([[1.0, 2.0], [2.0, 1.0]])
    False
    """
    tol = positive(tol, "tol", zero=True)
    K = as_array(K, "K", ndim=2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be square, got shape {K.shape}")
    if np.abs(K - K.T).max() > tol * np.abs(K).max():
        return False
    spectrum = np.linalg.eigvalsh((K + K.T) / 2)
    return bool(spectrum[0] >= -tol * max(spectrum[-1], 0.0))


def mercer_map(K: Any, *, tol: float = 1e-12) -> np.ndarray:
    r"""Features whose inner products are a given Gram matrix, :math:`U \Lambda^{1/2}`.

    Parameters
    ----------
    K : array of shape (n, n)
        A positive semidefinite matrix.
    tol : float, default=1e-12
        Eigenvalues of at most ``tol`` times the largest are dropped.

    Returns
    -------
    ndarray of shape (n, r)
        One row per point, as many columns as the matrix has rank.

    Examples
    --------
    >>> F = mercer_map([[1.0, 1.0], [1.0, 1.0]])
    >>> F.shape, bool(np.allclose(F @ F.T, 1.0))
    ((2, 1), True)
    """
    K = as_gram(K)
    spectrum, U = np.linalg.eigh(K)
    if spectrum[0] < -1e-8 * max(spectrum[-1], np.finfo(float).tiny):
        raise NotPSDError(
            f"K must be positive semidefinite, got smallest eigenvalue {spectrum[0]:.3g}"
            f" beside the largest {spectrum[-1]:.3g}"
        )
    keep = spectrum > positive(tol, "tol", zero=True) * spectrum[-1]
    return (U[:, keep] * np.sqrt(spectrum[keep]))[:, ::-1]


def mercer_spectrum(
    kernel: Callable[[Any], np.ndarray], grid: Any, weights: Any
) -> tuple[np.ndarray, np.ndarray]:
    r"""Eigenvalues and eigenfunctions of the integral operator of a kernel, by quadrature.

    They solve :math:`\int k(x, z)\,\psi_i(z)\,\mathrm dz = \lambda_i \psi_i(x)` with
    :math:`\int \psi_i^2 = 1`, so that :math:`k(x, z) = \sum_i \lambda_i \psi_i(x) \psi_i(z)`.

    Parameters
    ----------
    kernel : Kernel or callable
        Takes the grid and returns its Gram matrix.
    grid : inputs
        The nodes of a quadrature rule.
    weights : float or array of shape (n,)
        Its positive weights.

    Returns
    -------
    values : ndarray of shape (n,)
        In falling order.
    functions : ndarray of shape (n, n)
        Column ``i`` holds the eigenfunction ``i`` at the nodes.

    Examples
    --------
    >>> x = (np.arange(200) + 0.5) / 200
    >>> values, _ = mercer_spectrum(lambda x: np.minimum.outer(x, x), x, 1 / 200)
    >>> values[:2].round(4)
    array([0.4053, 0.045 ])
    """
    K = as_gram(kernel(grid), "the Gram matrix of the grid")
    w = np.broadcast_to(as_array(weights, "weights"), len(K))
    if (w <= 0).any():
        raise ValueError(f"weights must be positive, got {w.min():g}")
    root = np.sqrt(w)
    values, U = np.linalg.eigh(root[:, None] * K * root)
    return values[::-1], (U / root[:, None])[:, ::-1]


def diagonal_dominance(K: Any) -> float:
    """Mean off-diagonal entry of the normalised Gram matrix.

    Near 0 every point is like itself alone, the ridge problem of string kernels; near 1 all
    points look alike.

    Examples
    --------
    >>> diagonal_dominance([[2.0, 1.0], [1.0, 2.0]])
    0.5
    """
    K = as_gram(K)
    n, d = len(K), np.diagonal(K)
    if n < 2:
        raise ValueError("K must hold at least two points, got one")
    if not (d > 0).all():
        raise ValueError(f"K must have a positive diagonal, got {d.min():g} in it")
    C = K / np.sqrt(np.outer(d, d))
    return float((C.sum() - n) / (n * (n - 1)))
