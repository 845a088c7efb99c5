"""Choosing kernel and constant of a support vector machine without a validation set.

Every estimate here is of an algorithm fixed in advance; its minimum over a grid is optimistic, and
a small leave-one-out error says nothing of its own variance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from bayeskern import checks
from bayeskern.classic.codes import CompressionCoefficients, compression_coefficients, spectrum_of
from bayeskern.classic.margin import SVMSolution
from bayeskern.classic.support import svm, svm_path


def loo_margins(
    K: np.ndarray, y: np.ndarray, C: float, *, solution: SVMSolution | None = None, **settings: Any
) -> np.ndarray:
    r"""Return :math:`y_i f^{(i)}(x_i)`, where :math:`f^{(i)}` is the machine without point i.

    Every refit keeps ``C``, not :math:`\lambda`, with which the bounds below can fail.
    Points that are not support vectors need no refit.

    Parameters
    ----------
    K, y, C
        As for `svm`.
    solution : SVMSolution, optional
        The machine on all points, if it is known.
    **settings
        ``loss``, ``bias``, ``tol``, ``max_iter`` of `svm`.
    """
    K = checks.as_gram(K)
    y = checks.as_labels(y, len(K))
    if solution is None:
        solution = svm(K, y, C, **settings)
    margins = solution.margins.copy()
    for i in solution.support:
        others = np.delete(np.arange(len(y)), i)
        if not len(others):
            margins[i] = 0.0  # the machine of no points is zero
        elif solution.ordinary and abs(y[others].sum()) == len(others):
            margins[i] = y[i] * y[others[0]]  # one class left: that class
        else:
            rest = svm(K[np.ix_(others, others)], y[others], C, **settings)
            margins[i] = y[i] * float(rest(K[[i]][:, others])[0])
    return margins


def loo_error(K: np.ndarray, y: np.ndarray, C: float, **settings: Any) -> float:
    """Return the exact leave-one-out error; a tie counts as an error.

    Parameters are those of `loo_margins`.

    >>> x = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> loo_error(x @ x.T, [1, 1, -1, -1], 1.0)
    0.0
    """
    return float(np.mean(loo_margins(K, y, C, **settings) <= 0))


def loo_scores(solution: SVMSolution, K: np.ndarray) -> np.ndarray:
    r"""Return :math:`s_i = y_i f(x_i) - \alpha_i k(x_i, x_i)` (Jaakkola and Haussler 1999).

    For machines without an ordinary bias, :math:`y_i f^{(i)}(x_i) \ge s_i`, so
    the share of :math:`s_i \le 0` bounds the leave-one-out error from above.
    """
    if solution.ordinary or solution.rho != 1.0:
        raise ValueError(
            "the bound needs a machine without an ordinary bias and with a margin of 1"
        )
    return solution.margins - solution.alpha * (np.diagonal(K) + solution.const)


def loo_bound(solution: SVMSolution, K: np.ndarray) -> float:
    """Return the share of points with a `loo_scores` of at most zero, ties included.

    The printed step function of Herbrich (2002), theorem 2.37, leaves out the ties and fails for a
    single point.
    """
    return float(np.mean(loo_scores(solution, K) <= 0))


def support_bound(solution: SVMSolution) -> float:
    """Return the share of support vectors, which bounds the leave-one-out error (Vapnik 1995)."""
    return len(solution.support) / len(solution.coefficients)


def squared_spans(solution: SVMSolution, K: np.ndarray) -> np.ndarray:
    r"""Return :math:`S_p^2`, squared distances of support vectors to the span of the free others.

    :math:`1 / (K_F^{-1})_{pp}` for free ones, :math:`k_{pp} - k_p' K_F^{-1} k_p` for bounded ones,
    with the matrix bordered by ones when there is an ordinary bias; zero for other points.
    """
    alpha = solution.alpha
    G = K + solution.const
    if np.any(solution.ridge):
        G = G + np.diag(np.broadcast_to(solution.ridge, len(G)))
    bounded = solution.bounded
    free, full = np.flatnonzero((alpha > 0) & ~bounded), np.flatnonzero((alpha > 0) & bounded)
    spans = np.zeros(len(G))
    if not len(free):
        spans[full] = np.diagonal(G)[full]
        return spans
    inner = G[np.ix_(free, free)].copy()
    inner.flat[:: len(free) + 1] += 1e-12 * float(np.diagonal(G).mean())
    cross = G[np.ix_(full, free)]
    if solution.ordinary:
        ones = np.ones((len(free), 1))
        inner = np.block([[inner, ones], [ones.T, np.zeros((1, 1))]])
        cross = np.hstack([cross, np.ones((len(full), 1))])
    inverse = np.linalg.inv(inner)
    spans[free] = 1 / np.maximum(np.diagonal(inverse)[: len(free)], np.finfo(float).tiny)
    explained = np.einsum("pi,ij,pj->p", cross, inverse, cross)
    spans[full] = np.maximum(np.diagonal(G)[full] - explained, 0.0)
    return spans


def span_estimate(solution: SVMSolution, K: np.ndarray) -> float:
    r"""Estimate the leave-one-out error by the span rule (Opper and Winther; Vapnik and Chapelle).

    The share of points with :math:`\alpha_p S_p^2 \ge y_p f(x_p)`. It is exact if no multiplier
    changes its kind when a point is left out. On a centred kernel it is useless when every point
    is a support vector, since the matrix is then singular; `select` excludes that case.
    """
    lost = solution.alpha * squared_spans(solution, K)
    on_margin = solution.margins
    if np.any(solution.ridge):  # the rule holds for the machine with the ridge in its kernel
        on_margin = on_margin + solution.ridge * solution.alpha
    return float(np.mean(lost >= on_margin))


@dataclass(frozen=True, eq=False)
class _Case:
    """One machine on one Gram matrix, and what several criteria need of it."""

    K: np.ndarray
    y: np.ndarray
    solution: SVMSolution
    C: float
    spectrum: tuple[np.ndarray, np.ndarray]
    settings: dict[str, Any]

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def training_error(self) -> float:
        return float(np.mean(self.solution.margins <= 0))

    @property
    def ratio(self) -> float:
        """Squared radius over squared margin."""
        return float(np.diagonal(self.K).max() + self.solution.const) * self.solution.norm**2

    @property
    def rescaled_ratio(self) -> float:
        values, A = self.spectrum
        weights = (A.T @ self.solution.coefficients) ** 2
        return float(np.sum(values**2 * (A**2).max(axis=0) * weights))

    @cached_property
    def codes(self) -> CompressionCoefficients:
        return compression_coefficients(self.K, self.y, self.solution)


def radius_margin(case: _Case, power: int = 1) -> float:
    r"""Training error plus :math:`\sqrt{R^2 \log_2 n / \rho^2 n}`; ``power=2`` squares the log."""
    return case.training_error + math.sqrt(case.ratio * math.log2(case.n) ** power / case.n)


def rescaled_radius_margin(case: _Case) -> float:
    r"""As radius-margin with :math:`\sum_k \max_i\phi_k(x_i)^2 w_k^2 \le R^2\|w\|^2`."""
    return case.training_error + math.sqrt(case.rescaled_ratio * math.log2(case.n) / case.n)


def trace(case: _Case, operator: bool = False) -> float:
    r"""Training error plus :math:`\sqrt{\mathrm{tr} K / n}`; that of the operator is ``/ n``."""
    total = math.sqrt(float(case.spectrum[0].sum()))
    return case.training_error + total / (case.n if operator else math.sqrt(case.n))


def compression_scheme(case: _Case) -> float:
    r""":math:`\frac1{n-s}\ln\binom ns`, infinite if all points are support vectors."""
    n, s = case.n, len(case.solution.support)
    if s == n:
        return math.inf
    return float(gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)) / (n - s)


def sparse_margin(case: _Case) -> float:
    r""":math:`\frac\kappa{n-s}\ln\frac{en}\kappa`, with the margin's or the kernel's dimension.

    :math:`\kappa = \min(\lceil R^2/\rho^2 + 1\rceil, d + 1)`, d the rank of the Gram matrix.
    """
    n, s = case.n, len(case.solution.support)
    if s == n:
        return math.inf
    values = case.spectrum[0]
    rank = int((values > 1e-12 * values[0]).sum())
    kappa = min(math.ceil(case.ratio + 1 - 1e-12), rank + 1)
    return kappa * math.log(math.e * n / kappa) / (n - s)


def _span(case: _Case) -> float:
    if len(case.solution.support) == case.n:
        return math.inf
    return span_estimate(case.solution, case.K)


def _loo(case: _Case) -> float:
    margins = loo_margins(case.K, case.y, case.C, solution=case.solution, **case.settings)
    return float(np.mean(margins <= 0))


CRITERIA: dict[str, Callable[[_Case], float]] = {
    "radius-margin": radius_margin,
    "rescaled-radius-margin": rescaled_radius_margin,
    "trace": trace,
    "sparse-margin": sparse_margin,
    "compression-scheme": compression_scheme,
    "span": _span,
    "support": lambda case: support_bound(case.solution),
    "loo-bound": lambda case: loo_bound(case.solution, case.K),
    "loo": _loo,
    "C1": lambda case: case.codes.C1,
    "C2": lambda case: case.codes.C2,
    "C3": lambda case: case.codes.C3,
    "C4": lambda case: case.codes.C4,
    "C5": lambda case: case.codes.C5,
}


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen machine and the whole table it was chosen from.

    Parameters
    ----------
    kernel : kernel
        The chosen kernel.
    C : float
        The chosen constant.
    solution : SVMSolution
        The machine on all points.
    scores : dict
        Criterion to an array of shape (kernels, Cs); small is good.
    solutions : list of list of SVMSolution
        Every machine of the grid.
    """

    kernel: Any
    C: float
    solution: SVMSolution
    scores: dict[str, np.ndarray]
    solutions: list[list[SVMSolution]]


def select(
    X: Any,
    y: np.ndarray,
    kernels: Sequence[Any],
    Cs: Sequence[float],
    criterion: str = "span",
    *,
    also: Sequence[str] = (),
    **settings: Any,
) -> Selection:
    """Choose kernel and constant by one criterion, with others beside it, on one path per kernel.

    Parameters
    ----------
    X : inputs
        The points; None if ``kernels`` are Gram matrices.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    kernels : sequence of kernels
        Callables ``kernel(X)``, or Gram matrices.
    Cs : sequence of float
        Constants; each kernel is solved along them with warm starts.
    criterion : str, default="span"
        One of ``CRITERIA``. The compression coefficients and ``"loo-bound"`` need a machine without
        an ordinary bias.
    also : sequence of str
        Further criteria to compute on the same machines.
    **settings
        ``loss``, ``bias``, ``tol`` and ``max_iter`` of `svm`.

    Returns
    -------
    Selection
        Ties are broken by the smaller ``C``, then by the order of the kernels.

    Examples
    --------
    >>> from bayeskern.kernels import RBF
    >>> x = np.linspace(-2, 2, 12)[:, None]
    >>> chosen = select(x, np.sign(x[:, 0]), [RBF(0.01), RBF(1.0)], [1.0, 10.0])
    >>> chosen.kernel
    RBF()
    """
    names = [checks.one_of(name, "criterion", tuple(CRITERIA)) for name in (criterion, *also)]
    if not len(kernels) or not len(Cs):
        raise ValueError(f"there must be a kernel and a C, got {len(kernels)} and {len(Cs)}")
    order = np.argsort(Cs, kind="stable")
    scores = {name: np.empty((len(kernels), len(Cs))) for name in names}
    table: list[list[SVMSolution]] = []
    y = checks.as_labels(y)
    for a, kernel in enumerate(kernels):
        K = checks.as_gram(kernel if X is None else kernel(X))
        spectrum = spectrum_of(K)
        path = svm_path(K, y, [Cs[b] for b in order], **settings)
        machines: list[Any] = [None] * len(Cs)
        for b, solution in zip(order, path, strict=True):
            machines[b] = solution
            case = _Case(K, y, solution, Cs[b], spectrum, settings)
            for name in names:
                scores[name][a, b] = CRITERIA[name](case)
        table.append(machines)
    chosen = scores[criterion]
    if not np.isfinite(chosen).any():
        raise ValueError(f"{criterion!r} is infinite on the whole grid; widen it")
    grid = np.ndindex(*chosen.shape)
    a, b = min(grid, key=lambda place: (chosen[place], Cs[place[1]], place[0]))
    return Selection(kernels[a], Cs[b], table[a][b], scores, table)
