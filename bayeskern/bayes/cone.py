r"""Version space as a cone: margins of a Gaussian vector, all positive.

If :math:`w \sim N(0, I)`, its direction is uniform on the sphere and independent of its length;
and version space is a cone. So the uniform posterior on version space is a Gaussian restricted to
that cone, seen by direction alone.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack, solve_triangular

from bayeskern.errors import NotSeparableError

FULL_RANK = 1e-10
"""Least squared pivot of a correlation matrix that counts as invertible."""

ADVICE = "give slack (lam > 0) or label noise (LabelFlip)"


@dataclass(frozen=True, eq=False)
class Cone:
    r"""The cone :math:`\{z : A z > 0\}` with rows of unit length, in coordinates of the span.

    The normalised margins are :math:`u = A z`, where :math:`u_i = y_i t_i / \sqrt{G_{ii}}` for a
    latent vector :math:`t \sim N(0, G)`; a priori :math:`z \sim N(0, I_r)`, so
    :math:`u \sim N(0, S)` with :math:`S = A A'` a correlation matrix. Neither the scale of the
    kernel nor the length of any point enters.

    Attributes
    ----------
    signs, scales : ndarray of shape (m,)
        The labels :math:`y_i` and lengths :math:`\sqrt{G_{ii}}`.
    S : ndarray of shape (m, m)
        Signed correlations.
    A : ndarray of shape (m, r)
        A root of ``S``; lower triangular if ``r = m``.
    """

    signs: np.ndarray
    scales: np.ndarray
    S: np.ndarray
    A: np.ndarray

    @classmethod
    def of(cls, G: np.ndarray, y: np.ndarray) -> "Cone":
        """Make it from a Gram matrix and labels; no point may have length zero."""
        diagonal = np.diagonal(G)
        if diagonal.min() <= 0:
            i = int(diagonal.argmin())
            raise ValueError(
                f"point {i} has squared length {diagonal[i]:g} in feature space, so no classifier"
                " through the origin decides it; remove it or add a constant to the kernel"
            )
        scales = np.sqrt(diagonal)
        signed = y / scales
        S = G * signed[:, None] * signed
        np.fill_diagonal(S, 1.0)
        return cls(y, scales, S, _root(S))

    @property
    def rank(self) -> int:
        """Dimension of the span of the points."""
        return self.A.shape[1]

    @property
    def invertible(self) -> bool:
        """Whether the points are linearly independent, so that every labelling is possible."""
        return self.rank == len(self.signs)

    @cached_property
    def start(self) -> np.ndarray:
        r"""Margins of a point inside, with :math:`\|z\| = \sqrt r`; refused if there is none."""
        m = len(self.signs)
        u = np.ones(m) if self.invertible else self._inside()
        return u * np.sqrt(self.rank) / np.linalg.norm(self.coordinates(u))

    def _inside(self) -> np.ndarray:
        from bayeskern.classic.separability import is_separable

        i, j = np.unravel_index(self.S.argmin(), self.S.shape)
        if self.S[i, j] < -1 + 1e-12:
            raise NotSeparableError(
                f"points {i} and {j} coincide (up to a positive factor) and have opposite labels,"
                f" so no classifier is right on both; {ADVICE}"
            )
        found = is_separable(self.S, np.ones(len(self.S)))
        u = self.A @ (self.A.T @ found.witness)
        if not found or u.min() <= 0:
            raise NotSeparableError(
                f"no classifier is right on all {len(self.S)} points: the best margin is"
                f" {found.epsilon:.3g} of the longest point; {ADVICE}"
            )
        return u

    def coordinates(self, u: np.ndarray) -> np.ndarray:
        """Return ``z`` with ``A z = u``, or the nearest; ``u`` may be a matrix of columns."""
        if self.invertible:
            return solve_triangular(self.A, u, lower=True, check_finite=False)
        squares = np.einsum("ij,ij->j", self.A, self.A)
        return (self.A.T @ u) / (squares if u.ndim == 1 else squares[:, None])

    def dual(self, u: np.ndarray) -> np.ndarray:
        r"""Coefficients :math:`\alpha` with :math:`t = G \alpha`, for rows of margins ``u``."""
        z = self.coordinates(np.atleast_2d(u).T)
        return self.dual_of_coordinates(z.T).reshape(u.shape)

    def dual_of_coordinates(self, z: np.ndarray) -> np.ndarray:
        r"""Coefficients :math:`\alpha` of rows of coordinates ``z``."""
        if self.invertible:
            inner = solve_triangular(self.A, z.T, lower=True, trans="T", check_finite=False).T
        else:
            inner = (z / np.einsum("ij,ij->j", self.A, self.A)) @ self.A.T
        return inner * (self.signs / self.scales)

    def latent(self, u: np.ndarray) -> np.ndarray:
        """Latent values ``t`` of rows of margins ``u``."""
        return u * (self.signs * self.scales)

    def left_over(self, K_cross: np.ndarray, k_new: np.ndarray) -> np.ndarray:
        r"""Prior variance of new points outside the span, :math:`k_{**} - k' G^+ k`.

        Exactly zero where rounding cannot tell it from zero: such a point lies in the span.
        """
        half = self.coordinates(K_cross * (self.signs / self.scales)[:, None])
        left = k_new - np.einsum("ij,ij->j", half, half)
        return np.where(left > 1e-12 * k_new, left, 0.0)


def _root(S: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor, or the scaled eigenvectors of a singular matrix."""
    L, info = lapack.dpotrf(S, lower=1, clean=1)
    if info == 0 and (np.diagonal(L) ** 2).min() > FULL_RANK:
        return L
    values, vectors = np.linalg.eigh(S)
    keep = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep]))
