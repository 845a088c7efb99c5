"""What every sparse method finds: a few weights with their variances, and the evidence."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.infer._weights import (
    Mode,
    evidence_slopes,
    full_cov,
    gaussian_log_evidence,
    laplace_mode,
    weights_given,
)
from bayeskern.infer.result import as_datatree
from bayeskern.kernels.base import Kernel
from bayeskern.likelihoods import Gaussian
from bayeskern.linalg import cholesky

Values = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SparseFit:
    """A relevance vector machine at the variances that a method chose.

    Attributes
    ----------
    relevance : ndarray of int
        Indices of the basis functions that were kept, ascending.
    weights, theta : ndarray
        Their posterior means and prior variances.
    cov : ndarray
        Posterior covariance of the weights.
    hyper : dict
        Values of the kernel's and the noise's free parameters.
    log_evidence : float
        Of the data at these hyperparameters.
    trace : ndarray
        Log evidence (or its bound) after each sweep.
    converged : bool
        Whether the tolerance was met.
    screened : int
        How many basis functions competed.
    """

    relevance: np.ndarray
    weights: np.ndarray
    theta: np.ndarray
    cov: np.ndarray
    hyper: dict[str, Any]
    log_evidence: float
    trace: np.ndarray
    converged: bool
    screened: int
    evidence_kind: str = "exact"
    extra: dict[str, Any] = field(default_factory=dict)

    def latent(self, problem: RelevanceVector, X_new: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the function at new inputs."""
        phi = problem.columns(self.relevance, X_new, self.hyper)
        return phi @ self.weights, np.einsum("ij,ij->i", phi @ self.cov, phi)


def noise_name(problem: RelevanceVector) -> str | None:
    """Return the variable of the noise level if it is to be inferred, else None."""
    free = problem.likelihood.free()
    return next(iter(free)) if free and isinstance(problem.likelihood, Gaussian) else None


def noise_variance(problem: RelevanceVector, hyper: Values) -> float:
    """Return the noise variance."""
    return float(problem.likelihood_at(hyper).sigma) ** 2  # type: ignore[attr-defined]


def as_sparse_fit(
    problem: RelevanceVector, active: np.ndarray, theta: np.ndarray, hyper: Values, **facts: Any
) -> SparseFit:
    """Find the posterior of the kept weights once more, from scratch, and its evidence."""
    order = np.argsort(active)
    active, theta = np.asarray(active, dtype=int)[order], np.asarray(theta, dtype=float)[order]
    X = problem.columns(active, theta=hyper)
    mode = posterior_mode(problem, X, theta, hyper)
    cov = full_cov(X, theta, mode.W, mode.state)
    kind = "exact" if isinstance(problem.likelihood, Gaussian) else "laplace"
    facts.setdefault("evidence_kind", kind)
    facts.setdefault("log_evidence", mode.log_evidence)
    facts["converged"] = facts.get("converged", True) and mode.converged
    return SparseFit(active, mode.w, theta, cov, dict(hyper), **facts)


def posterior_mode(
    problem: RelevanceVector,
    X: np.ndarray,
    theta: np.ndarray,
    hyper: Values,
    w: np.ndarray | None = None,
    gram: np.ndarray | None = None,
) -> Mode:
    """Exact posterior for Gaussian noise, Laplace's otherwise, for the columns ``X``.

    ``w`` is where Laplace's search starts; ``gram`` is ``X'X`` where it is known.
    """
    likelihood, y = problem.likelihood_at(hyper), problem.y
    if not isinstance(likelihood, Gaussian):
        return laplace_mode(X, theta, y, likelihood, w)
    sigma2 = float(likelihood.sigma) ** 2  # type: ignore[arg-type]
    gram = None if gram is None else gram / sigma2
    state = weights_given(X, theta, np.full(len(y), 1 / sigma2), y / sigma2, gram)
    f = X @ state.mean
    evidence = gaussian_log_evidence(X, y, theta, sigma2, state)
    slope = (y - f) / sigma2
    return Mode(state.mean, f, slope, np.full(len(y), 1 / sigma2), state, evidence, True)


# -- the kernel's parameters by evidence -----------------------------------------------------------


def kernel_start(problem: RelevanceVector) -> dict[str, Any]:
    """Return the prior medians of the kernel's free parameters."""
    return {name: prior.median() for name, prior in problem._kernel_free().items()}


def with_kernel_by_evidence(
    problem: RelevanceVector, fit_at: Callable[[Values], SparseFit], *, rounds: int = 10
) -> SparseFit:
    """Choose the kernel's free parameters with the variances, by the evidence of all.

    The evidence has many local maxima, so the search starts at the prior medians, and at 1/4, 1/2,
    2 and 4 times them. From the best it climbs on all hyperparameters at once with the basis
    functions held, chooses these afresh, and goes on while the evidence rises. With few points the
    evidence may prefer widths so narrow that basis functions pick out single targets.
    """
    start = kernel_start(problem)
    if not start:
        return fit_at({})
    starts = [{k: np.multiply(v, c) for k, v in start.items()} for c in (1.0, 0.5, 2.0, 0.25, 4.0)]
    best = max((fit_at(values) for values in starts), key=lambda fit: fit.log_evidence)
    for _ in range(rounds):
        if not len(best.relevance):
            break
        climbed = climb(problem, best)
        again = fit_at({name: climbed.hyper[name] for name in start})
        better = max(climbed, again, key=lambda fit: fit.log_evidence)
        gain = better.log_evidence - best.log_evidence
        if gain > 0:
            trace = np.append(best.trace, better.log_evidence)
            best = dataclasses.replace(better, trace=trace, converged=again.converged)
        if gain < 1e-4:
            break
    return best


def climb(problem: RelevanceVector, fit: SparseFit) -> SparseFit:
    r"""Raise the evidence in all hyperparameters, with the kept basis functions held.

    The gradient for the basis is :math:`(a a' - C^{-1}) X \Theta` with :math:`a = C^{-1} t` for
    Gaussian noise; the kernel's ``pullback`` takes it to the parameters.
    """
    kernel_names, noise = list(problem._kernel_free()), noise_name(problem)
    names = kernel_names + ([noise] if noise else [])
    shapes = {name: np.shape(fit.hyper[name]) for name in names}
    body = np.flatnonzero(fit.relevance >= problem.bias)
    chosen = fit.relevance[body] - problem.bias
    X = problem.X
    centres = X[chosen] if isinstance(X, np.ndarray) else [X[i] for i in chosen]
    M = len(fit.relevance)

    def read(packed: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        values = np.exp(packed)
        hyper, place = {}, M
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            hyper[name] = values[place : place + size].reshape(shape)[()]
            place += size
        return values[:M], hyper

    def loss(packed: np.ndarray) -> tuple[float, np.ndarray]:
        theta, hyper = read(packed)
        Phi = problem.columns(fit.relevance, theta=hyper)
        mode = posterior_mode(problem, Phi, theta, hyper, fit.weights)
        log_theta, dPhi = evidence_slopes(Phi, mode, problem.y, problem.likelihood_at(hyper))
        parts = [log_theta]
        if kernel_names and len(body):
            kernel = problem.kernel_at(hyper)
            assert isinstance(kernel, Kernel)
            pulled = kernel.pullback(X, dPhi[:, body], centres)
            parts += [np.ravel(pulled[k]) * np.ravel(hyper[k]) for k in kernel_names]
        else:
            parts += [np.zeros(int(np.prod(shapes[k]))) for k in kernel_names]
        if noise:
            sigma2 = noise_variance(problem, hyper)
            squares = sigma2 * (mode.slope @ mode.slope)  # residuals in units of the noise
            parts.append(np.array([squares - (len(problem.y) - mode.state.zeta.sum())]))
        return -mode.log_evidence, -np.concatenate(parts)

    start = np.log(np.concatenate([fit.theta, *(np.ravel(fit.hyper[name]) for name in names)]))
    bounds = np.column_stack([start - 7.0, start + 7.0])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    theta, hyper = read(best.x)
    facts = {"trace": fit.trace, "converged": fit.converged, "screened": fit.screened}
    climbed = as_sparse_fit(problem, fit.relevance, theta, hyper, **facts)
    return climbed if climbed.log_evidence > fit.log_evidence else fit


# -- the result form -------------------------------------------------------------------------------


def sparse_tree(
    problem: RelevanceVector, method: Any, fit: SparseFit, draws: int, random_seed: Any
) -> Any:
    """Write a sparse fit in the one result form, with independent draws of the weights."""
    rng = np.random.default_rng(random_seed)
    w = np.zeros((1, draws, problem.n_basis))
    f = np.zeros((1, draws, len(problem.y)))
    if len(fit.relevance):
        L = cholesky(fit.cov, name="the posterior covariance").L
        kept = fit.weights + rng.standard_normal((draws, len(fit.weights))) @ L.T
        w[0][:, fit.relevance] = kept
        f[0] = kept @ problem.columns(fit.relevance, theta=fit.hyper).T
    posterior = {"w": w, "f": f}
    for name, value in fit.hyper.items():
        posterior[name] = np.broadcast_to(value, (1, draws, *np.shape(value)))
    full = np.zeros((2, problem.n_basis))
    full[:, fit.relevance] = fit.weights, fit.theta
    numbers = {
        "weights": full[0],
        "theta": full[1],
        "relevance_indices": fit.relevance,
        "mean_vector": fit.weights,
        "covariance_matrix": fit.cov,
        "trace": fit.trace,
        "screened": fit.screened,
        **fit.extra,
    }
    dims = {
        "weights": ["basis"],
        "relevance_indices": ["relevance"],
        "mean_vector": ["relevance"],
        "covariance_matrix": ["relevance", "relevance_other"],
        "trace": ["sweep"],
    }
    return as_datatree(
        problem,
        method,
        posterior,
        random_seed=random_seed,
        independent=True,
        fit=numbers,
        log_evidence=fit.log_evidence,
        evidence_kind=fit.evidence_kind,
        converged=fit.converged,
        dims=dims,
    )
