r"""Eigenvectors of graph Laplacians: the few smallest, and their extension to new points.

The eigenvectors of :math:`L_{rw} = I - D^{-1} W` are found from the symmetric
:math:`L_{sym} = I - D^{-1/2} W D^{-1/2}` and mapped back, :math:`w = D^{-1/2} v`; no non-symmetric
solver is ever called.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import csgraph

from bayeskern.checks import as_array, one_of, positive, within
from bayeskern.classic.graph import (
    LAPLACIANS,
    as_affinity,
    components,
    degrees,
    laplacian,
    positive_degrees,
)

DENSE_LIMIT = 300  # below it LAPACK is the fastest way to a few eigenvectors
BLOCK = 24  # vectors per product with the matrix: they cost as much as four single ones
EXPANDER_HOPS = 12  # graphs of larger spread are nearly planar and cheap to factor
LANDMARKS = 250  # points whose small eigenproblem gives the first guess for all


@dataclass(frozen=True)
class Spectrum:
    """The smallest eigenvalues of a Laplacian in increasing order, and their eigenvectors.

    ``vectors`` are orthonormal for "unnormalised" and "sym", and orthonormal in
    ``sum_i d_i w_i w_i`` for "rw". ``residual`` is the largest error of an eigen-equation
    relative to the norm of the matrix, ``n_components`` the multiplicity of eigenvalue zero.
    """

    kind: str
    eigenvalues: np.ndarray
    vectors: np.ndarray = field(repr=False)
    degrees: np.ndarray = field(repr=False)
    n_components: int
    residual: float


def leading_eigenpairs(
    apply: Callable[[np.ndarray], np.ndarray],
    n: int,
    m: int,
    *,
    known: np.ndarray | None = None,
    start: np.ndarray | None = None,
    block: int = BLOCK,
    tol: float = 1e-10,
    max_blocks: int = 60,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the ``m`` largest eigenvalues of a symmetric operator by the block Lanczos method.

    A block of vectors is multiplied at a time, so that the matrix is read once for all of them,
    and the whole basis is kept orthogonal, so that repeated eigenvalues are found.

    Parameters
    ----------
    apply : callable
        Maps an (n, b) array to the product of the matrix with it.
    n, m : int
        Order of the matrix, number of eigenpairs.
    known : array of shape (n, j), optional
        Orthonormal eigenvectors to leave out of the search.
    start : array of shape (n, block), optional
        A first guess of the leading eigenvectors; random by default.
    block, tol, max_blocks
        Vectors per product; the residual to reach, relative to the largest eigenvalue in
        modulus; the number of products before a restart from the best vectors found.

    Returns
    -------
    eigenvalues, vectors
        In decreasing order, shapes (m,) and (n, m).
    """
    rng = np.random.default_rng(0)
    known = np.zeros((n, 0)) if known is None else known
    lead = known.shape[1]
    block = min(max(block, m + 2), n - lead) if start is None else start.shape[1]
    limit = max(min(max_blocks, (n - lead) // block), 1)
    start = rng.standard_normal((n, block)) if start is None else start
    for _restart in range(20):
        basis = np.empty((n, lead + limit * block), order="F")
        basis[:, :lead] = known
        H = np.zeros((limit * block, limit * block))
        Q = _orthonormal(start, basis[:, :lead])
        for step in range(limit):
            low, high = step * block, (step + 1) * block
            basis[:, lead + low : lead + high] = Q
            product = apply(Q)
            inner = basis[:, : lead + high]
            coefficients = inner.T @ product
            H[:high, low:high] = coefficients[lead:]
            H[low:high, :high] = coefficients[lead:].T
            product = product - inner @ coefficients
            Q, R = _orthonormal_with_factor(product, inner)
            full = lead + high + block > n or step == limit - 1
            if step < 2 and not full:
                continue  # too early to have converged
            values, S = eigh(H[:high, :high], subset_by_index=(high - m, high - 1))
            values, S = values[::-1], S[:, ::-1]
            residual = np.linalg.norm(R @ S[low:], axis=0)
            done = bool(residual.max() <= tol * max(float(np.abs(values).max()), 1e-300))
            if done or full:
                break
        vectors = basis[:, lead : lead + high] @ S
        if done or high >= n - lead:
            return values, vectors
        extra = (
            basis[:, lead : lead + high]
            @ eigh(H[:high, :high], subset_by_index=(high - block, high - 1))[1]
        )
        start = extra
    return values, vectors


def _orthonormal(A: np.ndarray, basis: np.ndarray) -> np.ndarray:
    for _ in range(2):
        A = np.linalg.qr(A - basis @ (basis.T @ A))[0]
    return A


def _orthonormal_with_factor(A: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Q and R with A = QR, Q orthogonal to the basis even where A has lost rank."""
    A = A - basis @ (basis.T @ A)
    Q, R = np.linalg.qr(A)
    pivots = np.abs(R.diagonal())
    if pivots.min() <= 1e-10 * max(float(pivots.max()), 1e-300) or pivots.max() < 1e-10:
        Q = _orthonormal(Q, basis)
    return Q, R


def spectrum(W: Any, m: int, kind: str = "sym") -> Spectrum:
    r"""Return the ``m`` smallest eigenvalues of a graph's Laplacian with their eigenvectors.

    Full graphs are never copied: their normalised Laplacians are applied with BLAS products of
    the weights, and so are neighbourhood graphs that expand; others are factored once. When the
    graph falls into components, exactly or up to rounding, the eigenvectors of eigenvalue zero
    are the components' own.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric non-negative weights.
    m : int
        Number of eigenpairs, at most ``n``.
    kind : "unnormalised", "sym" or "rw"
        The Laplacian, see `laplacian`.

    Examples
    --------
    >>> path = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> spectrum(path, 3).eigenvalues.round(12) + 0.0
    array([0., 1., 2.])
    """
    return spectrum_of(as_affinity(W), m, kind)


def spectrum_of(W: Any, m: int, kind: str) -> Spectrum:
    """Do the work of `spectrum` on weights that `as_affinity` has passed."""
    one_of(kind, "kind", LAPLACIANS)
    n = W.shape[0]
    if not 1 <= m <= n:
        raise ValueError(f"m must be between 1 and {n} for {n} points, got {m}")
    normalised = kind != "unnormalised"
    d = positive_degrees(W) if normalised else degrees(W)
    root = np.sqrt(d) if normalised else np.ones(n)
    labels = components(W, numerical=True) if sparse.issparse(W) else np.zeros(n, dtype=int)
    null = _null_space(labels, root)
    values, vectors = _smallest(W, d, m, null, normalised)
    tiny = 100 * n * np.finfo(float).eps * (1.0 if normalised else float(d.max()))
    if not sparse.issparse(W) and m > 1 and values[1] <= tiny:
        labels = components(W, numerical=True)
        if labels.max():  # rounding has mixed the components; name them instead
            null = _null_space(labels, root)
            values, vectors = _smallest(W, d, m, null, normalised)
    scale = 1.0 if normalised else max(float(d.max()), np.finfo(float).tiny)
    residual = _residual(W, d, values, vectors, normalised) / scale
    values = np.maximum(values, 0.0)
    vectors = vectors * _signs(vectors)
    if kind == "rw":
        vectors = vectors / root[:, None]
    return Spectrum(kind, values, vectors, d, max(null.shape[1], 1), residual)


def _null_space(labels: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Orthonormal eigenvectors of eigenvalue zero, one per component."""
    null = np.zeros((len(labels), labels.max() + 1))
    null[np.arange(len(labels)), labels] = root
    return null / np.linalg.norm(null, axis=0)


def _signs(vectors: np.ndarray) -> np.ndarray:
    """Signs that make the largest entry of each vector positive, the first one on ties."""
    size = np.abs(vectors)
    top = (size >= size.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    return np.where(vectors[top, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _smallest(
    W: Any, d: np.ndarray, m: int, null: np.ndarray, normalised: bool
) -> tuple[np.ndarray, np.ndarray]:
    n, found = W.shape[0], null.shape[1]
    if found >= m:
        return np.zeros(m), null[:, :m]
    want = m - found
    if n <= DENSE_LIMIT or m > n // 8:
        dense = W.toarray() if sparse.issparse(W) else W
        L = laplacian(dense, "sym" if normalised else "unnormalised")
        top = 2.0 if normalised else 2 * float(d.max())
        L = L + 2 * top * (null @ null.T)  # lift the null space out of the way
        values, vectors = eigh(L, subset_by_index=(0, want - 1))
    elif sparse.issparse(W) and _spread(W, null) <= EXPANDER_HOPS:
        top = 1.0 if normalised else 2 * float(d.max())
        scale = (d**-0.5)[:, None] if normalised else 1.0
        rest = 0.0 if normalised else top - d[:, None]
        values, vectors = leading_eigenpairs(
            lambda V: rest * V + scale * (W @ (scale * V)), n, want, known=null, block=want + 5
        )
        values = top - values
    elif sparse.issparse(W) or not normalised:
        values, vectors = _shift_invert(W, d, want, null, normalised)
    else:
        scale = (d**-0.5)[:, None]
        values, vectors = leading_eigenpairs(
            # V'W reads a symmetric W in its own order, faster than WV
            lambda V: scale * ((scale * V).T @ W).T,
            n,
            want,
            known=null,
            start=_nystrom_guess(W, d, max(BLOCK, want + 2)),
            tol=1e-9,  # the eigenvalues' error is its square
        )
        values = 1.0 - values
    return np.concatenate([np.zeros(found), values]), np.hstack([null, vectors])


def _spread(W: sparse.csr_array, null: np.ndarray) -> float:
    """Hops from a vertex of the largest component to the farthest it can reach.

    A graph of few hops expands: factoring it would fill the matrix, and it has no eigenvalues near
    zero that would need it.
    """
    largest = int((null != 0).sum(axis=0).argmax())
    hops = csgraph.dijkstra(W, indices=int((null[:, largest] != 0).argmax()), unweighted=True)
    return float(hops[np.isfinite(hops)].max())


def _nystrom_guess(W: np.ndarray, d: np.ndarray, width: int) -> np.ndarray:
    """Eigenvectors of a few landmarks' graph, extended to all points."""
    size = min(max(LANDMARKS, 4 * width), len(d))
    chosen = np.random.default_rng(0).choice(len(d), size, replace=False)
    rows = W[chosen]
    local = rows[:, chosen].sum(axis=1)
    scale = np.maximum(local, 1e-3 * local.mean() + np.finfo(float).tiny) ** -0.5
    small = scale[:, None] * rows[:, chosen] * scale
    vectors = eigh(small, subset_by_index=(size - width - 1, size - 2))[1]  # all but the constant
    return (d**-0.5)[:, None] * (rows.T @ (scale[:, None] * vectors))


def _shift_invert(
    W: Any, d: np.ndarray, m: int, null: np.ndarray, normalised: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest eigenpairs of a Laplacian: one factorisation, a few solves."""
    n = len(d)
    shift = 1e-3 * (1.0 if normalised else float(d.mean()))
    L = laplacian(W, "sym" if normalised else "unnormalised")
    if sparse.issparse(L):
        from scipy.sparse.linalg import splu

        solve = splu(
            (L + shift * sparse.eye_array(n)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        ).solve
    else:
        L.flat[:: n + 1] += shift
        factor = cho_factor(L.T, lower=True, overwrite_a=True, check_finite=False)

        def solve(b: np.ndarray) -> np.ndarray:
            return cho_solve(factor, b, check_finite=False)

    values, vectors = leading_eigenpairs(solve, n, m, known=null, block=m + 2)
    return 1 / values - shift, vectors


def _residual(
    W: Any, d: np.ndarray, values: np.ndarray, vectors: np.ndarray, normalised: bool
) -> float:
    scale = (d**-0.5)[:, None] if normalised else 1.0
    diagonal = 1.0 if normalised else d[:, None]
    product = np.column_stack([W @ v for v in (scale * vectors).T])  # few columns: one by one
    image = diagonal * vectors - scale * product
    return float(np.linalg.norm(image - vectors * values, axis=0).max())


def embedding_rows(vectors: np.ndarray, kind: str) -> np.ndarray:
    """Return the points k-means sees: rows of unit length for "sym", as they are otherwise."""
    if kind != "sym":
        return vectors
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=vectors.copy(), where=length > 0)


def extend_normalised(cross: Any, spec: Spectrum) -> np.ndarray:
    r"""Extend the eigenvectors of the random walk to new points.

    .. math:: f(x) = \frac{1}{\mu} \frac{\sum_j k(x, x_j) w_j}{\sum_j k(x, x_j)},
       \qquad H_{rw} w = \mu w, \quad \mu = 1 - \lambda ,

    which equals :math:`w_i` at a training point, is bounded by :math:`\max |w| / |\mu|` and has no
    poles (von Luxburg 2004, Prop. 10; the printed formula lacks the normalisation).

    Parameters
    ----------
    cross : array or sparse matrix of shape (q, n)
        Similarities of the new points to the training points.
    spec : Spectrum
        Of kind "sym" or "rw".

    Returns
    -------
    array of shape (q, m)
        In the normalisation of "rw"; NaN where a point has no similarity to any other.
    """
    if spec.kind == "unnormalised":
        raise ValueError("spec must be of a normalised Laplacian, got 'unnormalised'")
    mu = 1.0 - spec.eigenvalues
    if np.abs(mu).min() < 1e-10:
        j = int(np.abs(mu).argmin())
        raise ValueError(f"eigenvector {j} has mu = {mu[j]:.3g}: its extension is all noise")
    w = spec.vectors / np.sqrt(spec.degrees)[:, None] if spec.kind == "sym" else spec.vectors
    total = degrees(cross)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (cross @ w) / total[:, None] / mu
    values[total <= 0] = np.nan
    return values


def extend_unnormalised(
    cross: Any, spec: Spectrum, *, tol: float = 1e-10, force: bool = False
) -> np.ndarray:
    r"""Extend eigenvectors of the unnormalised Laplacian to new points.

    .. math:: f(x) = \frac{\sum_j k(x, x_j) v_j}{d(x) - \lambda}, \qquad
       d(x) = \sum_j k(x, x_j) .

    It has a pole where the degree :math:`d(x)` falls to :math:`\lambda` and the wrong sign
    beyond: there the answer is NaN. An eigenvalue within the degrees of the sample has no
    extension, unless ``force`` is set (von Luxburg 2004, Prop. 9).

    Parameters
    ----------
    cross : array or sparse matrix of shape (q, n)
        Similarities of the new points to the training points.
    spec : Spectrum
        Of kind "unnormalised".

    Returns
    -------
    array of shape (q, m)
    """
    if spec.kind != "unnormalised":
        raise ValueError(f"spec must be of the unnormalised Laplacian, got {spec.kind!r}")
    low, high = float(spec.degrees.min()), float(spec.degrees.max())
    inside = (spec.eigenvalues >= low) & (spec.eigenvalues <= high)
    if inside.any() and not force:
        j = int(inside.argmax())
        raise ValueError(
            f"eigenvalue {j} is {spec.eigenvalues[j]:.4g}, within the degrees from {low:.4g} to"
            f" {high:.4g}: its eigenvector has no extension; normalise the Laplacian"
        )
    gap = degrees(cross)[:, None] - spec.eigenvalues
    beyond = degrees(cross)[:, None] <= spec.eigenvalues * (1 + tol)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (cross @ spec.vectors) / gap
    return np.where(beyond, np.nan, values)


def projection_bound(eigenvalues: Any, perturbation: float, r: int) -> float:
    r"""Bound how far the first ``r`` spectral projections of a matrix move under a perturbation.

    With distinct eigenvalues :math:`\mu_1 > \mu_2 > \dots`, :math:`\delta` the least gap among the
    first :math:`r + 1` and :math:`\|B\| \le \delta / 2`,
    :math:`\|P_l(A + B) - P_l(A)\| \le 4 \|B\| / \delta`; infinite otherwise.

    >>> projection_bound([3.0, 1.0, 0.0], 0.1, 1)
    0.2
    """
    mu = np.unique(as_array(eigenvalues, "eigenvalues", ndim=1))[::-1]
    size = positive(perturbation, "perturbation", zero=True)
    if not 1 <= r <= len(mu):
        raise ValueError(f"r must be between 1 and {len(mu)} distinct eigenvalues, got {r}")
    if len(mu) == 1:
        return 0.0
    delta = float(-np.diff(mu[: r + 1]).max())
    return 4 * size / delta if size <= delta / 2 else float("inf")


def degree_deviation(n: int, eps: float, bound: float = 1.0) -> float:
    r"""Probability that some sample degree :math:`d_n(X_i)` is off by ``eps``, at most.

    For a kernel with :math:`0 \le k \le M`,
    :math:`P(\max_i |d_n(X_i) - d(X_i)| > \epsilon') \le 2 n e^{-2 (n - 1) \epsilon^2 / M^2}` with
    :math:`\epsilon' = 2M/n + \epsilon (n - 1) / n`; von Luxburg (2004, Prop. 21) prints an
    exponent that changes with the unit of ``k``.

    >>> round(degree_deviation(1000, 0.1), 9)
    4.206e-06
    """
    eps, bound = positive(eps, "eps"), positive(bound, "bound")
    if n < 2:
        raise ValueError(f"n must be at least 2, got {n}")
    return float(2 * n * np.exp(-2 * (n - 1) * (eps / bound) ** 2))


def spectral_distance(a: Any, b: Any, p: float = 2.0) -> float:
    r"""Distance :math:`\inf_\pi (\sum_i |a_i - b_{\pi(i)}|^p)^{1/p}` of two spectra.

    The shorter one is padded with zeros; the best permutation sorts both. With ``p=2`` it is at
    most the Frobenius distance of the matrices (Hoffman and Wielandt 1953).

    >>> spectral_distance([1.0, -1.0], [1.0])
    1.0
    """
    p = within(p, "p", 1, np.inf, closed="left")
    a, b = as_array(a, "a", ndim=1), as_array(b, "b", ndim=1)
    n = max(len(a), len(b))
    a = np.sort(np.pad(a, (0, n - len(a))))
    b = np.sort(np.pad(b, (0, n - len(b))))
    return float((np.abs(a - b) ** p).sum() ** (1 / p))
