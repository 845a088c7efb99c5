r"""Support vector machines on a Gram matrix: hard, linear, quadratic and :math:`\nu` margins.

With :math:`\beta_i = y_i\alpha_i` each is a quadratic program on a box, and `_smo` solves them all.
The machines of Herbrich (2002) have no bias; the bias can also be ordinary, or penalised, which is
the same as adding a constant to the kernel.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bayeskern import checks
from bayeskern.classic import _smo
from bayeskern.classic._dual import MAX_ITER, Optimum, Rows, maximise
from bayeskern.classic.margin import SVMSolution, bias_interval, certified, relative_gap
from bayeskern.errors import NotSeparableError

Bias = str | float


def svm(
    K: np.ndarray | Rows,
    y: np.ndarray,
    C: float = 1.0,
    *,
    loss: str = "linear",
    bias: Bias = "none",
    class_weight: Mapping[int, float] | None = None,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> SVMSolution:
    r"""Fit a support vector machine.

    .. math:: \min_{w, b}\ \tfrac12\|w\|^2 + \sum_i C_i \xi_i^p, \qquad
        \xi_i = \max(1 - y_i f(x_i), 0), \qquad f(x) = \langle w, \phi(x)\rangle + b

    with :math:`p = 1` (linear) or :math:`p = 2` (quadratic); an infinite ``C`` is the hard margin.

    Parameters
    ----------
    K : ndarray of shape (n, n), or Rows
        Gram matrix, or a source of its rows for samples too large to have one.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    C : float, default=1.0
        Weight of the summed loss; `C_of_lambda` converts.
    loss : {"linear", "quadratic"}
        Power of the slacks.
    bias : {"none", "ordinary"} or float
        A number c > 0 penalises the bias by :math:`b^2 / 2c`, which is the kernel :math:`k + c`.
    class_weight : dict, optional
        Factors of ``C`` by label; the rare class wants the larger one.
    sample_weight : ndarray of shape (n,), optional
        Positive factors of ``C`` by point.
    tol : float, default=1e-6
        Largest violation of the optimality conditions, in units of the functional margin.
    max_iter : int
        Limit on two-variable steps.

    Returns
    -------
    SVMSolution
        Coefficients, bias, primal and dual value, gap, margins, slacks.

    Raises
    ------
    NotSeparableError
        If ``C`` is infinite and no hyperplane separates the classes.
    NotPSDError
        If ``K`` is not positive semidefinite.

    Examples
    --------
    >>> X = np.array([[2.0, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1]])
    >>> machine = svm(X @ X.T, [1, 1, 1, -1, -1, -1], np.inf)
    >>> machine.alpha.round(4), round(machine.margin, 4)
    (array([0.  , 0.  , 0.  , 0.  , 0.25, 1.  ]), 0.8944)
    """
    return svm_path(
        K, y, [C], loss=loss, bias=bias, class_weight=class_weight, sample_weight=sample_weight,
        tol=tol, max_iter=max_iter,
    )[0]  # fmt: skip


def svm_path(
    K: np.ndarray | Rows,
    y: np.ndarray,
    Cs: Sequence[float],
    *,
    loss: str = "linear",
    bias: Bias = "none",
    class_weight: Mapping[int, float] | None = None,
    sample_weight: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> list[SVMSolution]:
    """Fit one machine for each of several ``C``, each from the one before.

    Parameters are those of `svm`; increasing values of ``C`` are the fastest order.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [-1.0]])
    >>> [round(s.norm, 3) for s in svm_path(X @ X.T, [1, 1, -1], [0.1, 1.0])]
    [0.4, 1.0]
    """
    rows = as_rows(K)
    y = checks.as_labels(y, rows.n)
    checks.one_of(loss, "loss", ("linear", "quadratic"))
    const, ordinary = read_bias(bias)
    if ordinary and abs(y.sum()) == len(y):
        raise ValueError(f"y must hold both labels for a machine with bias, got {y[0]:g} only")
    weights = _weights(y, class_weight, sample_weight)
    optima: list[Optimum] = []
    uppers: list[np.ndarray] = []
    solutions: dict[int, SVMSolution] = {}
    start, last = None, 0.0
    for k, C in enumerate(Cs):
        if C == np.inf:
            solutions[k] = hard_margin(rows, y, bias=bias, tol=tol, max_iter=max_iter)
            optima.append(Optimum(solutions[k].coefficients, y, 0.0, 0, True))
            uppers.append(np.full(rows.n, np.inf))
            continue
        upper = checks.positive(C, "C") * weights
        if start is not None:
            start = (start[0] * (C / last), y - (C / last) * (y - start[1]))
        optimum = dual_optimum(rows, y, upper, loss, const, ordinary, start, tol, max_iter)
        start, last = (optimum.beta, optimum.gradient) if loss == "linear" else None, C
        optima.append(optimum)
        uppers.append(upper)
    outputs = rows.times(np.column_stack([o.beta for o in optima]))
    for k, (optimum, upper) in enumerate(zip(optima, uppers, strict=True)):
        if k in solutions:
            continue
        quadratic = loss == "quadratic"
        solutions[k] = certified(
            y, optimum.beta, outputs[:, k], np.full(rows.n, np.inf) if quadratic else upper,
            n_iter=optimum.n_iter, converged=optimum.converged, ordinary=ordinary, const=const,
            penalty=upper if quadratic else None,
        )  # fmt: skip
    return [solutions[k] for k in range(len(optima))]


def dual_optimum(
    rows: Rows,
    y: np.ndarray,
    penalty: np.ndarray,
    loss: str,
    const: float,
    ordinary: bool,
    start: tuple[np.ndarray, np.ndarray] | None,
    tol: float,
    max_iter: int,
) -> Optimum:
    """Solve the dual of the linear or quadratic soft margin, without a certificate."""
    quadratic = loss == "quadratic"
    box = np.full(len(y), _smo.BIG) if quadratic else penalty
    return maximise(
        rows, y, np.where(y > 0, 0.0, -box), np.where(y > 0, box, 0.0), coupled=ordinary,
        const=const, extra=0.5 / penalty if quadratic else None, start=start, tol=tol,
        max_iter=max_iter,
    )  # fmt: skip


def hard_margin(
    K: np.ndarray | Rows,
    y: np.ndarray,
    *,
    bias: Bias = "none",
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> SVMSolution:
    r"""Fit the machine of largest margin, from the nearest points of two convex hulls.

    .. math:: \gamma = \min\{\|\sum_i\alpha_i y_i x_i\| : \alpha \ge 0, \sum_i\alpha_i = 1\}

    with half the weight in each class when there is an ordinary bias. The sample is separable if
    and only if :math:`\gamma > 0`, and the dual solution is :math:`\alpha / \gamma^2`.

    Parameters and errors are those of `svm`.
    """
    rows = as_rows(K)
    y = checks.as_labels(y, rows.n)
    const, ordinary = read_bias(bias)
    n, scale = rows.n, float(rows.diagonal.max()) + const
    hull = _Hull(rows, y, const, ordinary, np.full(n, _smo.BIG))
    alpha = np.zeros(n)
    for label in (-1.0, 1.0):  # one point in each class, or in the only one
        members = np.flatnonzero(y == label)
        if len(members):
            alpha[members[0]] = 0.5
    alpha /= alpha.sum()
    used, norm2, wanted = 0, hull.norm2(alpha), tol
    while True:
        optimum = hull.nearest(alpha, max(wanted * norm2, 1e-15 * scale), max_iter - used)
        used += optimum.n_iter
        alpha, norm2 = optimum.beta, hull.norm2(optimum.beta)
        if norm2 <= 1e-12 * scale:
            raise NotSeparableError(
                "the classes must be separable by a hyperplane in feature space, got a sample whose"
                f" hulls meet (squared distance {norm2:.3g}); use a finite C"
            )
        if optimum.violation <= max(tol * norm2, 1e-15 * scale) or not optimum.converged:
            break
        wanted /= 2
    beta = y * alpha / norm2
    return certified(
        y, beta, rows.times(beta), np.full(n, np.inf), n_iter=used, converged=optimum.converged,
        ordinary=ordinary, const=const,
    )  # fmt: skip


def nu_svm(
    K: np.ndarray | Rows,
    y: np.ndarray,
    nu: float = 0.5,
    *,
    bias: Bias = "none",
    tol: float = 1e-6,
    max_iter: int = MAX_ITER,
) -> SVMSolution:
    r"""Fit a machine by the fraction of points it may leave inside its margin.

    .. math:: \min_{w, b, \rho \ge 0}\ \tfrac12\|w\|^2 - \nu\rho + \tfrac1n\sum_i \xi_i, \qquad
        y_i f(x_i) \ge \rho - \xi_i

    A fraction of at most :math:`\nu` has :math:`y_i f(x_i) < \rho`, and at least :math:`\nu` are
    support vectors. Where :math:`\rho` is not unique it is the least of its interval.

    Parameters
    ----------
    K, y, bias, max_iter
        As for `svm`.
    nu : float, default=0.5
        In (0, 1].
    tol : float, default=1e-6
        Largest violation relative to :math:`\|w\|^2 / \nu`, which is the size of :math:`\rho`.

    Returns
    -------
    SVMSolution
        ``rho`` is the margin asked for; `C_of_nu` gives the equal linear soft margin.

    Examples
    --------
    >>> x = np.array([[1.0], [1.0], [1.0], [2.0]])
    >>> round(nu_svm(x @ x.T, [1, 1, 1, -1], 0.95).rho, 6)
    0.2
    """
    rows = as_rows(K)
    y = checks.as_labels(y, rows.n)
    nu = checks.within(nu, "nu", 0.0, 1.0, closed="right")
    const, ordinary = read_bias(bias)
    n = rows.n
    cap = np.full(n, 1.0 / n)
    alpha = np.zeros(n)
    groups = [y > 0, y < 0] if ordinary else [np.ones(n, bool)]
    for group in groups:
        share = nu / len(groups)
        if share > group.mean() * (1 + 1e-12):
            raise ValueError(
                f"nu must be at most {2 * min(g.mean() for g in groups):.6g} for these classes"
                f" with a bias, got {nu!r}"
            )
        members = np.flatnonzero(group)
        full = int(share * n + 1e-9)
        alpha[members[:full]] = 1.0 / n
        if full < len(members):
            alpha[members[full]] = max(share - full / n, 0.0)
    hull = _Hull(rows, y, const, ordinary, cap)
    scale = float(rows.diagonal.max()) + const
    used, norm2, wanted = 0, max(hull.norm2(alpha), 1e-12 * scale * nu**2), tol
    while True:
        optimum = hull.nearest(alpha, max(wanted * norm2 / nu, 1e-15 * scale), max_iter - used)
        used += optimum.n_iter
        alpha, norm2 = optimum.beta, hull.norm2(optimum.beta)
        if norm2 <= 1e-12 * scale * nu**2:
            raise ValueError(
                f"nu must exceed {least_nu(rows, y, bias=bias):.6g}, below which this sample has no"
                f" margin, got {nu!r}"
            )
        if optimum.violation <= max(tol * norm2 / nu, 1e-15 * scale) or not optimum.converged:
            break
        wanted /= 2
    beta = y * alpha
    outputs = rows.times(beta)
    bias_value, unique = const * float(beta.sum()), True
    if ordinary:
        ends = [bias_interval(-outputs[g], beta[g], *_box(y[g], cap[g])) for g in groups]
        bias_value, unique = (ends[0][0] + ends[1][0]) / 2, ends[0][1] and ends[1][1]
    margins = y * (outputs + bias_value)
    rank = math.ceil(nu * n - 1e-9)
    rho = float(np.partition(margins, rank - 1)[rank - 1])
    norm2 = float(beta @ outputs) + const * float(beta.sum()) ** 2
    slacks = np.maximum(rho - margins, 0.0)
    primal, dual = 0.5 * norm2 - nu * rho + float(slacks.mean()), -0.5 * norm2
    excess = margins - rho
    violation = np.where(alpha <= 0, np.maximum(-excess, 0), np.abs(excess))
    violation = np.where(alpha >= cap, np.maximum(excess, 0), violation)
    return SVMSolution(
        beta, primal, relative_gap(primal, dual), used, optimum.converged, bias_value, dual=dual,
        margins=margins, slacks=slacks, upper=cap, norm=math.sqrt(max(norm2, 0.0)),
        kkt=float(violation.max()), rho=rho, const=const, bias_unique=unique, ordinary=ordinary,
    )  # fmt: skip


def least_nu(K: np.ndarray | Rows, y: np.ndarray, *, bias: Bias = "none") -> float:
    r"""Return :math:`\nu_{\min}`, at or below which a :math:`\nu`-machine has :math:`w = 0`.

    It is the value of :math:`\max\{\sum_i\alpha_i : \sum_i\alpha_i y_i x_i = 0,\ 0 \le \alpha_i \le
    1/n\}`, zero if and only if the sample is separable.

    >>> x = np.array([[1.0], [1.0], [1.0], [2.0]])
    >>> round(least_nu(x @ x.T, [1, 1, 1, -1]), 6)
    0.75
    """
    from scipy.optimize import linprog

    rows = as_rows(K)
    y = checks.as_labels(y, rows.n)
    const, ordinary = read_bias(bias)
    if rows.K is None:
        raise ValueError("K must be a matrix here, got a source of rows")
    values, vectors = np.linalg.eigh(rows.K + const)
    kept = values > 1e-10 * values[-1]
    A = (vectors[:, kept] * np.sqrt(values[kept] / values[-1])).T * y  # features of unit scale
    if ordinary:
        A = np.vstack([A, y])
    result = linprog(-np.ones(len(y)), A_eq=A, b_eq=np.zeros(len(A)), bounds=(0, 1 / len(y)))
    if result.status != 0:
        raise RuntimeError(f"the linear program for nu failed: {result.message}")
    return -float(result.fun)


class _Hull:
    """Nearest points: minimise a'Qa / 2 with the sum of a fixed, or fixed in each class."""

    def __init__(self, rows: Rows, y: np.ndarray, const: float, ordinary: bool, cap: np.ndarray):
        if rows.K is None:
            raise ValueError("this machine needs the whole Gram matrix, got a source of rows")
        self.y, self.cap = y, cap
        self.order = np.argsort(-y, kind="stable") if ordinary else np.arange(len(y))
        signed = (rows.K + const) * np.outer(y, y)
        self.Q = (
            np.ascontiguousarray(signed[np.ix_(self.order, self.order)]) if ordinary else signed
        )
        n_plus = int((y > 0).sum())
        self.segments = (0, n_plus, len(y)) if ordinary else (0, len(y))

    def norm2(self, alpha: np.ndarray) -> float:
        a = alpha[self.order]
        return max(float(a @ self.Q @ a), 0.0)

    def nearest(self, alpha: np.ndarray, tol: float, max_iter: int) -> Optimum:
        a, cap = alpha[self.order], self.cap[self.order]
        zero = np.zeros(len(a))
        found = maximise(
            Rows(self.Q), zero, zero, cap, coupled=True, segments=self.segments,
            start=(a, -self.Q @ a), tol=tol, max_iter=max_iter,
        )  # fmt: skip
        beta, gradient = np.empty_like(zero), np.empty_like(zero)
        beta[self.order], gradient[self.order] = found.beta, found.gradient
        return found._replace(beta=beta, gradient=gradient)


def as_rows(K: np.ndarray | Rows) -> Rows:
    """Read a Gram matrix, refusing one that is not positive semidefinite."""
    if isinstance(K, Rows):
        return K
    K = np.ascontiguousarray(checks.as_gram(K))
    check_definite(K)
    return Rows(K)


def check_definite(K: np.ndarray) -> None:
    """Raise `NotPSDError` for an indefinite matrix; one Cholesky when it is not."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += 1e-9 * max(float(np.abs(K).max()), np.finfo(float).tiny)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        checks.check_psd(K)


def read_bias(bias: Bias) -> tuple[float, bool]:
    """Return the constant to add to the kernel and whether there is an ordinary bias."""
    if isinstance(bias, str):
        return 0.0, checks.one_of(bias, "bias", ("none", "ordinary")) == "ordinary"
    return checks.positive(bias, "bias"), False


def _weights(
    y: np.ndarray, class_weight: Mapping[int, float] | None, sample_weight: np.ndarray | None
) -> np.ndarray:
    weights = np.ones(len(y))
    if sample_weight is not None:
        weights = checks.as_targets(sample_weight, len(y), "sample_weight").copy()
        if weights.min() <= 0:
            raise ValueError(f"sample_weight must be positive, got {weights.min():g}")
    for label, weight in (class_weight or {}).items():
        if not (y == label).any():
            raise ValueError(f"class_weight must name labels that occur, got {label!r}")
        weights[y == label] *= checks.positive(weight, f"class_weight[{label!r}]")
    return weights


def _box(y: np.ndarray, cap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.where(y > 0, 0.0, -cap), np.where(y > 0, cap, 0.0)
