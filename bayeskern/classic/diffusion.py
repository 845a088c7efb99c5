r"""Diffusion maps: coordinates in which Euclidean distance is the distance of random walks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from bayeskern.checks import as_array, positive, whole, within
from bayeskern.classic.dissimilarity import as_distances
from bayeskern.classic.graph import as_affinity, degrees, positive_degrees
from bayeskern.classic.spectral import Spectrum, extend_normalised, spectrum_of


def alpha_normalise(W: Any, alpha: float) -> Any:
    r"""Divide out the density: :math:`W^{(\alpha)}_{ij} = W_{ij} / (d_i^\alpha d_j^\alpha)`.

    With :math:`\alpha = 0` the walk drifts towards dense regions, with 1 it follows the geometry
    alone (Coifman and Lafon 2006).

    >>> alpha_normalise(np.array([[1.0, 1.0], [1.0, 3.0]]), 0.5)
    array([[0.5       , 0.35355339],
           [0.35355339, 0.75      ]])
    """
    alpha = within(alpha, "alpha", 0, 1)
    if alpha == 0:
        return W
    scale = positive_degrees(W) ** -alpha
    if sparse.issparse(W):
        rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        data = W.data * scale[rows] * scale[W.indices]
        return sparse.csr_array((data, W.indices, W.indptr), shape=W.shape)
    return scale[:, None] * W * scale


@dataclass(frozen=True)
class Diffusion:
    r"""A diffusion map, with what is needed to extend it.

    ``eigenvalues`` are :math:`\lambda_1 \ge \dots \ge \lambda_s` of the walk, the trivial one left
    out; ``functions`` the eigenvectors :math:`\psi_j`, orthonormal under the stationary law
    ``stationary``; ``coordinates`` are :math:`\lambda_j^t \psi_j`.
    """

    coordinates: np.ndarray = field(repr=False)
    eigenvalues: np.ndarray
    functions: np.ndarray = field(repr=False)
    stationary: np.ndarray = field(repr=False)
    t: float
    alpha: float
    n_components: int
    degrees: np.ndarray = field(repr=False)
    spectrum: Spectrum = field(repr=False)

    def transform(self, cross: Any) -> np.ndarray:
        r"""Coordinates of new points by Nyström, from similarities to the training points.

        .. math:: \psi_j(x) = \lambda_j^{-1} \sum_i p(x, x_i) \psi_j(x_i)

        NaN where a point resembles no other.
        """
        if self.alpha > 0:
            scale = self.degrees**-self.alpha  # the new point's own degree cancels in p
            cross = cross @ sparse.diags_array(scale) if sparse.issparse(cross) else cross * scale
        total = float(self.spectrum.degrees.sum())
        psi = extend_normalised(cross, self.spectrum)[:, 1:] * np.sqrt(total)
        return psi * self.eigenvalues**self.t


def diffusion_map(
    W: Any, n_components: int = 2, *, t: float = 1.0, alpha: float = 1.0
) -> Diffusion:
    r"""Embed a graph by the random walk :math:`P = D^{-1} W`.

    .. math:: \Phi_t(x_i) = (\lambda_1^t \psi_1(i), \dots, \lambda_s^t \psi_s(i))

    With all eigenvectors :math:`\|\Phi_t(x_i) - \Phi_t(x_j)\|` is the diffusion distance; with few
    it is the classical scaling of that distance, weighted by the stationary law.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric non-negative weights, such as :math:`\exp(-\|x - z\|^2 / \sigma)`.
    n_components : int
        Number of coordinates, below ``n``.
    t : float
        Diffusion time; larger ones damp the finer coordinates.
    alpha : float in [0, 1]
        How much of the sampling density is divided out, see `alpha_normalise`.

    Examples
    --------
    >>> path = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    >>> diffusion_map(path, 2, alpha=0).eigenvalues.round(6)
    array([0.666667, 0.166667])
    """
    W = as_affinity(W)
    n = W.shape[0]
    t = positive(t, "t", zero=True)
    if not 1 <= whole(n_components, "n_components") <= n - 1:
        raise ValueError(
            f"n_components must be between 1 and {n - 1} for {n} points, got {n_components}"
        )
    raw = degrees(W)
    W = alpha_normalise(W, alpha)
    spec = spectrum_of(W, n_components + 1, "rw")
    total = float(spec.degrees.sum())
    eigenvalues = 1.0 - spec.eigenvalues[1:]
    if t != int(t) and eigenvalues.min() < 0:
        raise ValueError(
            f"t must be an integer since the eigenvalue {eigenvalues.min():.3g} is negative,"
            f" got {t:g}"
        )
    psi = spec.vectors[:, 1:] * np.sqrt(total)
    power = int(t) if t == int(t) else t
    return Diffusion(
        psi * eigenvalues**power,
        eigenvalues,
        psi,
        spec.degrees / total,
        power,
        float(alpha),
        spec.n_components,
        raw,
        spec,
    )


def diffusion_distances(W: Any, t: int = 1, *, alpha: float = 1.0) -> np.ndarray:
    r"""All distances :math:`D_t^2(i, j) = \sum_u (P^t_{iu} - P^t_{ju})^2 / \pi_u`, by powers of P.

    >>> a = np.exp(-1.0)
    >>> diffusion_distances(np.array([[1, a], [a, 1]]), alpha=0)[0, 1].round(7)  # 2 tanh(1/2)
    np.float64(0.9242343)
    """
    from scipy.spatial.distance import cdist

    W = alpha_normalise(as_affinity(W), alpha)
    W = W.toarray() if sparse.issparse(W) else W
    d = positive_degrees(W)
    power = np.linalg.matrix_power(W / d[:, None], whole(t, "t"))
    rows = power / np.sqrt(d / d.sum())
    return cdist(rows, rows)


def weighted_mds(D: Any, weights: Any, n_components: int) -> np.ndarray:
    r"""Classical scaling of distances in which points count by their weights.

    With :math:`J = I - 1 \pi^\top` the matrix
    :math:`\Pi^{1/2} (-\tfrac12 J D^{\circ 2} J^\top) \Pi^{1/2}` is decomposed and its eigenvectors
    scaled back. Of diffusion distances and their stationary law it is the diffusion map; with equal
    weights it is ordinary classical scaling.

    >>> weighted_mds([[0, 2], [2, 0]], [0.25, 0.75], 1).ravel().round(12)
    array([ 1.5, -0.5])
    """
    D = as_distances(D)
    w = as_array(weights, "weights", ndim=1)
    if len(w) != len(D) or w.min() <= 0:
        raise ValueError(f"weights must be {len(D)} positive numbers, got {w!r}")
    w = w / w.sum()
    squares = D**2
    rows = squares @ w
    B = -0.5 * (squares - rows[:, None] - rows + w @ rows)
    root = np.sqrt(w)
    values, V = np.linalg.eigh(root[:, None] * B * root)
    values, V = values[::-1], V[:, ::-1]
    usable = int((values > 10 * len(D) * np.finfo(float).eps * np.abs(values).max()).sum())
    if not 1 <= whole(n_components, "n_components") <= usable:
        raise ValueError(f"n_components must be between 1 and {usable}, got {n_components}")
    V = V[:, :n_components] * np.where(V[0, :n_components] < 0, -1.0, 1.0)
    return V * np.sqrt(values[:n_components]) / root[:, None]


def suggest_dimension(eigenvalues: Any, t: float = 1.0) -> int:
    r"""Return the number of coordinates before the largest drop in the eigenvalues.

    The drop is :math:`(\lambda_s / \lambda_{s+1})^t`, among the eigenvalues before the first that
    is not positive.

    >>> suggest_dimension([0.99, 0.98, 0.3, 0.2])
    2
    """
    values = as_array(eigenvalues, "eigenvalues", ndim=1)
    positive_part = values[: int(np.argmax(values <= 0))] if (values <= 0).any() else values
    if len(positive_part) < 2:
        return max(len(positive_part), 1)
    return int(np.argmax((positive_part[:-1] / positive_part[1:]) ** t)) + 1


def generator(W: Any, sigma: float, *, alpha: float = 1.0) -> Any:
    r"""Graph Laplacian :math:`\tfrac4\sigma (P - I)` for weights :math:`e^{-\|x - z\|^2 / \sigma}`.

    On a manifold sampled with density ``q`` it tends to
    :math:`\Delta f + (2 - 2\alpha) \nabla f \cdot \nabla \log q` as the sample grows and then
    :math:`\sigma` falls; the factor 4 belongs to the Gaussian in every dimension.

    >>> generator(np.array([[1.0, 0.5], [0.5, 1.0]]), 1.0, alpha=0).sum(axis=1).round(12) + 0.0
    array([0., 0.])
    """
    W = alpha_normalise(as_affinity(W), alpha)
    d = positive_degrees(W)
    factor = 4 / positive(sigma, "sigma")
    if sparse.issparse(W):
        return factor * (sparse.diags_array(1 / d) @ W - sparse.eye_array(len(d)))
    return factor * (W / d[:, None] - np.eye(len(d)))
