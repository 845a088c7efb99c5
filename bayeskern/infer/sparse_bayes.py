"""Evidence maximisation for relevance vector machines by fixed-point updates of all variances."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.bayes.problem import Problem
from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.checks import one_of, positive, whole
from bayeskern.errors import ConvergenceWarning, UnboundedEvidenceError
from bayeskern.infer._weights import Mode, Weights
from bayeskern.infer.base import Inference
from bayeskern.infer.sparse_fit import (
    SparseFit,
    Values,
    as_sparse_fit,
    noise_name,
    noise_variance,
    posterior_mode,
    sparse_tree,
    with_kernel_by_evidence,
)
from bayeskern.likelihoods import Gaussian
from bayeskern.priors import Prior

UPDATES = ("mackay", "em", "mm")
FLOOR = 1e-10  # least noise variance, in units of that of the targets


class SparseInference(Inference):
    """What the sparse methods share: they choose the variances of a relevance vector machine."""

    solves: ClassVar[type] = RelevanceVector
    needs: ClassVar[tuple[str, ...]] = ("slope", "curvature", "third")
    draws: int

    def check(self, problem: Problem) -> None:
        """Refuse variances that are fixed, besides what every method checks."""
        super().check(problem)
        if not isinstance(problem.theta, Prior):  # type: ignore[attr-defined]
            raise ValueError(
                f"{type(self).__name__} chooses theta, which is fixed here;"
                " use Exact() or Laplace(), or give theta a Prior"
            )

    def fit(self, problem: RelevanceVector, *, random_seed: Any = None) -> SparseFit:
        """Return the numbers alone, without draws or a DataTree."""
        self.check(problem)
        fit = with_kernel_by_evidence(problem, lambda v: self._fit(problem, v, random_seed))
        if not fit.converged:
            warnings.warn(
                f"{type(self).__name__} stopped before its tolerance; raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fit

    def _fit(self, problem: RelevanceVector, hyper: Values, random_seed: Any) -> SparseFit:
        raise TypeError(f"{type(self).__name__} does not say how it fits")

    def _run(self, problem: Any, random_seed: Any) -> Any:
        fit = self.fit(problem, random_seed=random_seed)
        return sparse_tree(problem, self, fit, self.draws, random_seed)


@dataclass(frozen=True)
class SparseBayes(SparseInference):
    r"""Evidence maximisation by updates of all variances at once, with pruning.

    With posterior mean :math:`\mu`, covariance :math:`\Sigma` and
    :math:`\zeta_i = 1 - \Sigma_{ii} / \theta_i` the new variances and noise are

    ========== ============================== ===============================================
    update     :math:`\theta_i`               :math:`\sigma^2`
    ========== ============================== ===============================================
    ``mackay`` :math:`\mu_i^2 / \zeta_i`      :math:`r / (n - \sum_i \zeta_i)`
    ``em``     :math:`\Sigma_{ii} + \mu_i^2`  :math:`(r + \sigma^2 \sum_i \zeta_i) / n`
    ``mm``     mean of old and ``mackay``     mean of old and ``mackay`` (geometric, both)
    ========== ============================== ===============================================

    with the squared residual :math:`r = \|t - X\mu\|^2`.

    All three never lower the evidence of a regression. For labels the posterior is Laplace's, and
    the updates leave out the movement of its mode, so they may lower the evidence slightly near
    the end; ``EvidenceMax(Laplace())`` follows the whole gradient. The prior of ``theta`` is not
    used, nor that of the noise. EM drives a variance to zero only sublinearly, and so hardly ever
    prunes. Other starts lead to other maxima.

    Parameters
    ----------
    update : {"mackay", "em", "mm"}
        Which fixed point to iterate.
    max_iter : int, default=5000
        Most sweeps.
    tol : float, default=1e-6
        Largest change of any log variance in the last sweep.
    start : float, optional
        Variance of all weights to begin with; by default the mean square of the targets over that
        of the column.
    draws : int, default=500
        Independent draws of the weights in the result.

    References
    ----------
    Herbrich (2002), appendix B.8 and algorithms 6 and 7; Tipping (2001). Algorithm 6 as printed
    leaves stale values in pruned weights; here they are exactly zero.

    Examples
    --------
    >>> import numpy as np
    >>> import bayeskern as bk
    >>> noise = bk.Gaussian(1.0)
    >>> one = bk.RelevanceVector(np.eye(2), [2.0, 0.5], None, noise, bias=False)
    >>> bk.SparseBayes().fit(one).theta.round(4)
    array([3.])
    """

    update: str = "mackay"
    max_iter: int = 5000
    tol: float = 1e-6
    start: float | None = None
    draws: int = 500

    def __post_init__(self):
        one_of(self.update, "update", UPDATES)
        whole(self.max_iter, "max_iter", least=1)
        whole(self.draws, "draws", least=1)
        positive(self.tol, "tol")
        if self.start is not None:
            positive(self.start, "start")

    def _fit(self, problem: RelevanceVector, hyper: Values, random_seed: Any) -> SparseFit:
        hyper, X, y = dict(hyper), problem.design(hyper), problem.y
        noise = noise_name(problem)
        floor = start_noise(problem, hyper)
        squares = np.einsum("ij,ij->j", X, X) / len(X)
        if not squares.all():
            warnings.warn(
                f"basis function {int(squares.argmin())} is zero everywhere and is left out",
                UserWarning,
                stacklevel=5,
            )
        candidates = np.flatnonzero(squares)
        level = np.mean(y**2) if isinstance(problem.likelihood, Gaussian) else 1.0
        theta = np.zeros(X.shape[1])
        begin = self.start or (level or 1.0) / squares[candidates]
        theta[candidates] = begin
        trace: list[float] = []
        active, w, moved, converged = candidates, None, np.inf, False
        X_active, gram = X[:, active], None
        if not problem.likelihood.classifies:
            gram = X_active.T @ X_active
        for _ in range(self.max_iter):
            mode = posterior_mode(problem, X_active, theta[active], hyper, w, gram)
            trace.append(mode.log_evidence)
            if moved < self.tol and abs(trace[-1] - trace[-2]) < self.tol * (1 + abs(trace[-1])):
                back = _worth_adding(X, mode, active, candidates, theta)
                if back is None:
                    converged = True
                    break
                theta[back[0]] = back[1]
                active, w, moved = np.flatnonzero(theta), None, np.inf
                X_active = X[:, active]
                gram = None if gram is None else X_active.T @ X_active
                continue
            new = self._variances(mode, theta[active])
            moved = float(np.abs(np.log(new / theta[active])).max(initial=0.0))
            theta[active] = new
            if noise:
                sigma2 = self._noise(mode, y, noise_variance(problem, hyper))
                moved = max(moved, abs(np.log(sigma2 / noise_variance(problem, hyper))))
                if sigma2 < floor and trace[-1] >= trace[max(len(trace) - 2, 0)]:
                    raise unbounded(sigma2)
                hyper[noise] = float(np.sqrt(max(sigma2, floor)))
            kept = (mode.state.zeta > 1e-8) & (new * squares[active] > 1e-12 * level)
            if not kept.all():
                theta[active[~kept]] = 0.0
                active, moved = active[kept], np.inf
                X_active = X_active[:, kept]
                gram = None if gram is None else gram[np.ix_(kept, kept)]
            w = mode.w[kept]
        facts = {"trace": np.array(trace), "converged": converged, "screened": len(candidates)}
        return as_sparse_fit(problem, active, theta[active], hyper, **facts)

    def _variances(self, mode: Mode, theta: np.ndarray) -> np.ndarray:
        state, square = mode.state, mode.w**2
        if self.update == "em":
            return state.var + square
        with np.errstate(divide="ignore", invalid="ignore"):
            mackay = np.where(state.zeta > 0, square / state.zeta, 0.0)
        mackay = np.maximum(mackay, np.finfo(float).tiny)
        return mackay if self.update == "mackay" else np.sqrt(theta * mackay)

    def _noise(self, mode: Mode, y: np.ndarray, sigma2: float) -> float:
        residual = float(((y - mode.f) ** 2).sum())
        used = float(mode.state.zeta.sum())
        if self.update == "em":
            return (residual + sigma2 * used) / len(y)
        mackay = residual / max(len(y) - used, 1e-12)
        return mackay if self.update == "mackay" else float(np.sqrt(sigma2 * mackay))


def start_noise(problem: RelevanceVector, hyper: dict[str, Any]) -> float:
    """Set the noise to a tenth of the targets' variance if it is free; return its floor."""
    noise = noise_name(problem)
    if noise is None:
        return 0.0
    y = problem.y
    if not y.any():
        raise UnboundedEvidenceError(
            "all targets are 0, so the evidence grows without limit as the noise falls to 0;"
            " fix sigma"
        )
    level = float(y.var()) if len(y) > 1 and y.var() > 1e-12 * np.mean(y**2) else np.mean(y**2)
    hyper[noise] = float(np.sqrt(0.1 * level))
    return FLOOR * float(level)


def unbounded(sigma2: float) -> UnboundedEvidenceError:
    """Say that the basis interpolates the targets."""
    return UnboundedEvidenceError(
        f"the evidence still rises at a noise variance of {sigma2:.3g}: fewer basis functions than"
        " targets fit them exactly; fix sigma"
    )


def _worth_adding(
    X: np.ndarray, mode: Mode, active: np.ndarray, candidates: np.ndarray, theta: np.ndarray
) -> tuple[int, float] | None:
    """Return a pruned column that would raise the evidence, and its best variance, if any."""
    out = candidates[theta[candidates] == 0]
    if not out.size:
        return None
    S, Q, plain = sparsity_quality(X[:, out], X[:, active], mode.state, mode.W, mode.slope)
    ratio = np.where(plain > 0, Q**2 / np.maximum(S, 1e-12 * plain), 0.0)
    best = int(ratio.argmax())
    if ratio[best] <= 1 + 1e-6:
        return None
    return int(out[best]), float((Q[best] ** 2 - S[best]) / S[best] ** 2)


def sparsity_quality(
    X: np.ndarray, Phi: np.ndarray, state: Weights, W: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return :math:`S_k = x_k' C^{-1} x_k` and :math:`Q_k = x_k' C^{-1} t` of columns ``X``.

    :math:`C = W^{-1} + \Phi \Theta \Phi'`, and :math:`C^{-1} t` is the slope of the log likelihood
    at the mode. Third, :math:`x_k' W x_k`, which :math:`S_k` is when nothing is active.
    """
    plain = W @ X**2
    if not Phi.shape[1]:
        return plain, X.T @ slope, plain
    H = X.T @ (W[:, None] * Phi)
    cov = state.cov
    if cov is None:
        raise ValueError("S and Q need no more active columns than observations")
    return plain - np.einsum("ij,ij->i", H @ cov, H), X.T @ slope, plain
