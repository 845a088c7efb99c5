r"""Distances and similarities: which axioms hold, how to repair and convert them.

A matrix ``D`` of dissimilarities or ``S`` of similarities is examined, never silently mended; a
failed axiom comes with the pair or the triple of points that breaks it.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskern.checks import as_array, as_gram, one_of, positive, whole


@dataclass(frozen=True)
class Axiom:
    """One axiom: whether it holds, by how much it fails, and at which points."""

    holds: bool
    violation: float
    where: tuple[int, ...] | None

    def __bool__(self) -> bool:
        return self.holds


@dataclass(frozen=True)
class AxiomReport:
    """The axioms of a matrix by name, and the strongest name the matrix deserves."""

    kind: str
    axioms: dict[str, Axiom]

    def __getitem__(self, name: str) -> Axiom:
        return self.axioms[name]

    def __str__(self) -> str:
        lines = [f"a {self.kind}" if self.kind else "no dissimilarity"]
        for name, axiom in self.axioms.items():
            lines.append(
                f"  {name}: holds"
                if axiom
                else f"  {name}: fails by {axiom.violation:.3g} at {axiom.where}"
            )
        return "\n".join(lines)


def _as_square(A: Any, name: str) -> np.ndarray:
    A = as_array(A, name, ndim=2)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be square, got shape {A.shape}")
    return A


def _axiom(excess: np.ndarray, tol: float) -> Axiom:
    """Judge an array of violations by its largest entry."""
    where = np.unravel_index(int(excess.argmax()), excess.shape)
    worst = float(excess[where])
    if worst <= tol:
        return Axiom(True, max(worst, 0.0), None)
    return Axiom(False, worst, tuple(int(i) for i in where))


def as_distances(D: Any, name: str = "D") -> np.ndarray:
    """Return a symmetric, non-negative distance matrix with a zero diagonal, or refuse it.

    >>> as_distances([[0, 1], [1, 0]])
    array([[0., 1.],
           [1., 0.]])
    """
    D = as_gram(D, name)
    scale = max(float(np.abs(D).max()), np.finfo(float).tiny)
    if np.abs(D.diagonal()).max() > 1e-8 * scale:
        i = int(np.abs(D.diagonal()).argmax())
        raise ValueError(f"{name} must have a zero diagonal, got {D[i, i]:.6g} at ({i}, {i})")
    if D.min() < -1e-8 * scale:
        i, j = np.unravel_index(D.argmin(), D.shape)
        raise ValueError(f"{name} must be non-negative, got {D[i, j]:.6g} at ({i}, {j})")
    D = np.maximum(D, 0.0)
    np.fill_diagonal(D, 0.0)
    return D


def triangle_violation(D: np.ndarray) -> tuple[float, tuple[int, int, int]]:
    r"""Worst :math:`D_{ik} - (D_{ij} + D_{jk})` and its triple ``(i, j, k)``, in O(n²) memory.

    >>> triangle_violation(np.array([[0., 1, 4], [1, 0, 1], [4, 1, 0]]))
    (2.0, (0, 1, 2))
    """
    worst, triple = -np.inf, (0, 0, 0)
    for j in range(len(D)):
        excess = D - D[:, j, None] - D[j]
        top = int(excess.argmax())
        if excess.flat[top] > worst:
            i, k = divmod(top, len(D))
            worst, triple = float(excess.flat[top]), (i, j, k)
    return worst, triple


def check_dissimilarity(D: Any, *, tol: float = 1e-10, duplicates: bool = False) -> AxiomReport:
    r"""Report which axioms of a metric a matrix satisfies, naming the points that break one.

    The axioms are a zero diagonal, non-negativity, symmetry, definiteness
    (:math:`D_{ij} > 0` for :math:`i \ne j`) and the triangle inequality. A dissimilarity has the
    first two, a semi-metric all but definiteness, a metric all.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities; only a non-square or non-finite matrix is refused.
    tol : float
        Violations up to ``tol * max |D|`` count as rounding.
    duplicates : bool
        Whether distinct rows may be the same point, so that zero distances are allowed.

    Returns
    -------
    AxiomReport
        ``kind`` is "metric", "semi-metric", "dissimilarity" or "" (none of them).

    Examples
    --------
    >>> report = check_dissimilarity([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> report.kind, report["triangle"].violation, report["triangle"].where
    ('dissimilarity', 2.0, (0, 1, 2))
    """
    D = _as_square(D, "D")
    eps = tol * float(np.abs(D).max())
    off = ~np.eye(len(D), dtype=bool)
    smallest = np.where(off, D, np.inf)
    pair = np.unravel_index(smallest.argmin(), D.shape)
    definite = duplicates or len(D) == 1 or bool(smallest[pair] > eps)
    worst, triple = triangle_violation(D)
    axioms = {
        "zero diagonal": _axiom(np.abs(np.where(off, 0.0, D)), eps),
        "non-negative": _axiom(-D, eps),
        "symmetric": _axiom(np.abs(D - D.T), eps),
        "definite": Axiom(definite, 0.0, None if definite else (int(pair[0]), int(pair[1]))),
        "triangle": Axiom(worst <= eps, max(worst, 0.0), None if worst <= eps else triple),
    }
    kind = ""
    if axioms["zero diagonal"] and axioms["non-negative"]:
        kind = "dissimilarity"
        if axioms["symmetric"] and axioms["triangle"]:
            kind = "metric" if definite else "semi-metric"
    return AxiomReport(kind, axioms)


def check_similarity(S: Any, *, tol: float = 1e-10) -> AxiomReport:
    r"""Report which axioms of a similarity a matrix satisfies.

    The axioms are a positive diagonal, symmetry, non-negativity, positive semidefiniteness and
    conditional positive semidefiniteness, :math:`c^\top S c \ge 0` for :math:`\sum c_i = 0`.

    Returns
    -------
    AxiomReport
        ``kind`` is "kernel" (positive semidefinite and symmetric), "similarity" (positive
        diagonal) or "".

    Examples
    --------
    >>> check_similarity([[1.0, -0.5], [-0.5, 1.0]]).kind
    'kernel'
    """
    S = _as_square(S, "S")
    eps = tol * float(np.abs(S).max())
    symmetric = _axiom(np.abs(S - S.T), eps)
    even = (S + S.T) / 2
    lowest = float(np.linalg.eigvalsh(even)[0])
    lowest_centred = float(np.linalg.eigvalsh(_centre(even))[0])
    round_off = max(eps, len(S) * np.finfo(float).eps * float(np.abs(S).max()) * len(S))
    diagonal = S.diagonal()
    axioms = {
        "positive diagonal": Axiom(
            bool((diagonal > 0).all()),
            float(max(0.0, -diagonal.min())),
            None if (diagonal > 0).all() else (int(diagonal.argmin()),),
        ),
        "symmetric": symmetric,
        "non-negative": _axiom(-S, eps),
        "positive semidefinite": Axiom(lowest >= -round_off, max(0.0, -lowest), None),
        "conditionally positive": Axiom(
            lowest_centred >= -round_off, max(0.0, -lowest_centred), None
        ),
    }
    kind = "similarity" if axioms["positive diagonal"] else ""
    if symmetric and axioms["positive semidefinite"]:
        kind = "kernel"
    return AxiomReport(kind, axioms)


def _centre(A: np.ndarray) -> np.ndarray:
    """Return J A J with J = I - 11'/n."""
    rows = A.mean(axis=1, keepdims=True)
    columns = A.mean(axis=0, keepdims=True)
    return A - rows - columns + A.mean()


def gram_from_distances(D: np.ndarray) -> np.ndarray:
    r"""Return :math:`G = -\tfrac12 J D^{\circ 2} J`, the centred Gram matrix of the distances."""
    return -0.5 * _centre(np.asarray(D, dtype=float) ** 2)


@dataclass(frozen=True)
class SchoenbergTest:
    """Whether distances are Euclidean, with the spectrum of the Gram matrix and a witness."""

    euclidean: bool
    eigenvalues: np.ndarray = field(repr=False)
    rank: int
    witness: np.ndarray | None = field(repr=False)


def schoenberg(D: Any, *, tol: float | None = None) -> SchoenbergTest:
    r"""Test whether distances embed isometrically in a Euclidean space (Schoenberg 1935).

    They do if and only if :math:`G = -\tfrac12 J D^{\circ 2} J \succeq 0`. When they do not,
    ``witness`` is a vector :math:`c` with :math:`\sum c_i = 0` and
    :math:`-c^\top D^{\circ 2} c < 0`.

    Examples
    --------
    >>> cycle = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]]
    >>> test = schoenberg(cycle)
    >>> test.euclidean, test.eigenvalues.round(12) + 0.0
    (False, array([-1.,  0.,  2.,  2.]))
    """
    D = as_distances(D)
    G = gram_from_distances(D)
    eigenvalues, vectors = np.linalg.eigh(G)
    top = float(np.abs(eigenvalues).max())
    eps = 10 * len(D) * np.finfo(float).eps * top if tol is None else tol
    euclidean = bool(eigenvalues[0] >= -eps)
    rank = int((np.abs(eigenvalues) > eps).sum())
    return SchoenbergTest(euclidean, eigenvalues, rank, None if euclidean else vectors[:, 0])


def pivot_distances(D: Any, pivot: int) -> np.ndarray:
    r"""Semi-metric :math:`|d(x, x_0) - d(y, x_0)|` seen from a pivot; Euclidean of rank one.

    >>> pivot_distances([[0, 3, 1], [3, 0, 1], [1, 1, 0]], 0)
    array([[0., 3., 1.],
           [3., 0., 2.],
           [1., 2., 0.]])
    """
    D = _as_square(D, "D")
    if whole(pivot, "pivot") >= len(D):
        raise ValueError(f"pivot must be a row of D, below {len(D)}, got {pivot}")
    return np.abs(D[:, pivot, None] - D[:, pivot])


def _shift(D: np.ndarray, c: float) -> np.ndarray:
    shifted = D + c
    np.fill_diagonal(shifted, 0.0)
    return shifted


def metric_by_constant(D: Any) -> tuple[np.ndarray, float]:
    r"""Add the least constant off the diagonal that makes the triangle inequality true.

    .. math:: c = \max\bigl(0, \max_{p, q, r} \{d(q, r) - d(q, p) - d(p, r)\}\bigr)

    over distinct points, which is sharp.

    >>> metric_by_constant([[0, 1, 4], [1, 0, 1], [4, 1, 0]])[1]
    2.0
    """
    D = as_distances(D)
    off = ~np.eye(len(D), dtype=bool)
    if not (D[off] > 0).all():
        i, j = np.argwhere(off & (D <= 0))[0]
        raise ValueError(f"D must be positive off its diagonal, got 0 at ({i}, {j})")
    c = max(0.0, triangle_violation(D)[0])
    return _shift(D, c), c


def euclidean_by_squares(D: Any) -> tuple[np.ndarray, float]:
    r"""Return the Euclidean :math:`\sqrt{d^2 + h}` with the least :math:`h = -2\lambda_{\min}(G)`.

    >>> cycle = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]]
    >>> round(euclidean_by_squares(cycle)[1], 12)
    2.0
    """
    D = as_distances(D)
    h = max(0.0, -2.0 * float(np.linalg.eigvalsh(gram_from_distances(D))[0]))
    return np.sqrt(_shift(D**2, h)), h


def euclidean_by_shift(D: Any) -> tuple[np.ndarray, float]:
    r"""Return the Euclidean :math:`d + k` with the least constant ``k`` (Cailliez 1983).

    ``k`` is the largest real eigenvalue of
    :math:`\begin{pmatrix} 0 & 2G \\ -I & -4 G_1 \end{pmatrix}` with
    :math:`G_1 = -\tfrac12 J D J`.

    >>> cycle = [[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]]
    >>> round(euclidean_by_shift(cycle)[1], 9)
    1.414213562
    """
    D = as_distances(D)
    n = len(D)
    block = np.zeros((2 * n, 2 * n))
    block[:n, n:] = 2 * gram_from_distances(D)
    block[n:, :n] = -np.eye(n)
    block[n:, n:] = 2 * _centre(D)  # -4 G_1
    values = np.linalg.eigvals(block)
    real = values.real[np.abs(values.imag) <= 1e-7 * max(1.0, float(np.abs(values).max()))]
    k = max(0.0, float(real.max()))
    return _shift(D, k), k


def transform_metric(D: Any, how: str, c: float = 1.0) -> np.ndarray:
    r"""Apply a function that turns metrics into metrics.

    ``how`` is "root" (:math:`d^{1/c}, c \ge 1`), "bounded" (:math:`d / (d + c)`), "log"
    (:math:`\log(1 + d)`), "arctan" or "shift" (:math:`d + c` off the diagonal).

    >>> transform_metric([[0, 4], [4, 0]], "root", 2)
    array([[0., 2.],
           [2., 0.]])
    """
    D = as_distances(D)
    c = positive(c, "c")
    how = one_of(how, "how", ("root", "bounded", "log", "arctan", "shift"))
    if how == "root":
        if c < 1:
            raise ValueError(f"c must be at least 1 for a root, got {c:g}")
        return D ** (1 / c)
    if how == "bounded":
        return D / (D + c)
    if how == "log":
        return np.log1p(D)
    return np.arctan(D) if how == "arctan" else _shift(D, c)


def distances_from_similarity(S: Any, how: str = "kernel") -> np.ndarray:
    r"""Turn similarities into distances.

    "kernel": :math:`d^2 = s(x, x) - 2 s(x, y) + s(y, y)` for a positive semidefinite ``S``;
    "complement": :math:`d = 1 - s` for similarities in [0, 1] with a unit diagonal, which is a
    dissimilarity but in general no metric.

    >>> distances_from_similarity([[1.0, 0.5], [0.5, 1.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    S = as_gram(S, "S")
    if one_of(how, "how", ("kernel", "complement")) == "complement":
        if S.min() < 0 or S.max() > 1 or not np.allclose(S.diagonal(), 1.0):
            raise ValueError(
                "S must lie in [0, 1] with a unit diagonal for the complement,"
                f" got values from {S.min():.3g} to {S.max():.3g}"
            )
        return 1.0 - S
    diagonal = S.diagonal()
    squares = diagonal[:, None] + diagonal - 2 * S
    np.fill_diagonal(squares, 0.0)
    if squares.min() < -1e-10 * max(float(np.abs(S).max()), np.finfo(float).tiny):
        i, j = np.unravel_index(squares.argmin(), S.shape)
        raise ValueError(
            f"S is not positive semidefinite: the squared distance of points {i} and {j} would be"
            f" {squares[i, j]:.3g}"
        )
    return np.sqrt(np.maximum(squares, 0.0))


def similarity_from_distances(
    D: Any, how: str = "gauss", *, origin: int = 0, t: float = 1.0
) -> np.ndarray:
    r"""Turn distances into similarities.

    "inner": :math:`\tfrac12 (d(x, o)^2 + d(y, o)^2 - d(x, y)^2)`, positive semidefinite exactly
    when the distances are Euclidean; "gauss": :math:`\exp(-d^2 / t)`; "reciprocal":
    :math:`1 / (1 + d)`.

    >>> similarity_from_distances([[0, 1], [1, 0]], "reciprocal")
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    D = as_distances(D)
    how = one_of(how, "how", ("inner", "gauss", "reciprocal"))
    if how == "gauss":
        return np.exp(-(D**2) / positive(t, "t"))
    if how == "reciprocal":
        return 1.0 / (1.0 + D)
    if whole(origin, "origin") >= len(D):
        raise ValueError(f"origin must be a row of D, below {len(D)}, got {origin}")
    to_origin = D[origin] ** 2
    return 0.5 * (to_origin[:, None] + to_origin - D**2)


def nonnegative_offset(S: Any) -> tuple[np.ndarray, float]:
    """Add the least constant that makes similarities non-negative; keeps (conditional) positivity.

    >>> nonnegative_offset([[1.0, -0.5], [-0.5, 1.0]])[1]
    0.5
    """
    S = as_gram(S, "S")
    c = max(0.0, -float(S.min()))
    return S + c, c


def kuratowski_embedding(D: Any) -> np.ndarray:
    r"""Coordinates :math:`x \mapsto (d(x, x_j))_j`: an isometry into the supremum norm.

    For a metric :math:`\max_j |d(x, x_j) - d(z, x_j)| = d(x, z)`; anything less is refused.

    >>> kuratowski_embedding([[0, 2], [2, 0]])
    array([[0., 2.],
           [2., 0.]])
    """
    D = as_distances(D)
    worst, (i, j, k) = triangle_violation(D)
    if worst > 1e-10 * float(D.max()):
        raise ValueError(
            f"D breaks the triangle inequality by {worst:.3g} at points {(i, j, k)},"
            " so no isometry exists; see metric_by_constant"
        )
    return D


def kuratowski_norm(D: Any, values: Any) -> float:
    r"""Norm of the functional with the given values in the Kuratowski embedding.

    The functional :math:`g` with :math:`g(d(x_i, \cdot)) = c_i` has
    :math:`\|g\| = \max\{a^\top c : |D a| \le 1\}`, which is :math:`\|D^{-1} c\|_1` when the
    matrix is invertible. It is never below the Lipschitz norm of the function.

    >>> D = [[0, 5, 3, 6], [5, 0, 4, 1], [3, 4, 0, 5], [6, 1, 5, 0]]
    >>> round(kuratowski_norm(D, [-1, -1, -1, -1]) * 71, 9)
    26.0
    """
    from scipy.optimize import linprog

    D = as_distances(D)
    c = as_array(values, "values", ndim=1)
    if len(c) != len(D):
        raise ValueError(f"values must have one entry per point, got {len(c)} for {len(D)} points")
    ones = np.ones(2 * len(D))
    answer = linprog(-c, A_ub=np.vstack([D, -D]), b_ub=ones, bounds=(None, None))
    if answer.status == 3:
        return float("inf")
    if not answer.success:
        raise RuntimeError(f"the linear program of the norm failed: {answer.message}")
    return -float(answer.fun)
