"""Elliptical slice sampling of the latent vector, with a slice step for the hyperparameters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from bayeskern.bayes.problem import LatentGaussian, Problem
from bayeskern.checks import whole
from bayeskern.infer.base import Inference
from bayeskern.infer.result import as_datatree
from bayeskern.linalg import cholesky

LogDensity = Callable[[Any], float]


def elliptical_slice_step(
    rng: np.random.Generator, f: np.ndarray, value: float, loglik: LogDensity, L: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """Move ``f`` once, leaving ``N(0, L L') * exp(loglik)`` invariant.

    Returns the new point, its log likelihood and the number of points tried.

    References
    ----------
    Murray, Adams and MacKay (2010).
    """
    other = L @ rng.standard_normal(L.shape[1])
    level = value - rng.exponential()
    angle = rng.uniform(0, 2 * np.pi)
    low, high, tried = angle - 2 * np.pi, angle, 1
    while True:
        point = f * np.cos(angle) + other * np.sin(angle)
        new = loglik(point)
        if new > level or high - low < 1e-14:  # at rounding level the point is f itself
            return point, new, tried
        low, high = (angle, high) if angle < 0 else (low, angle)  # shrink towards f
        angle, tried = rng.uniform(low, high), tried + 1


def slice_step(
    rng: np.random.Generator, x: float, value: float, logp: LogDensity, width: float = 1.0
) -> tuple[float, float]:
    """Move one number by slice sampling with stepping out, leaving ``exp(logp)`` invariant.

    References
    ----------
    Neal (2003).
    """
    level = value - rng.exponential()
    low = x - width * rng.uniform()
    high = low + width
    for _ in range(20):
        if logp(low) <= level:
            break
        low -= width
    for _ in range(20):
        if logp(high) <= level:
            break
        high += width
    while True:
        point = rng.uniform(low, high)
        new = logp(point)
        if new > level or high - low < 1e-12:
            return point, new
        low, high = (point, high) if point < x else (low, point)


@dataclass(frozen=True)
class EllipticalSlice(Inference):
    """Markov chain for the latent vector, with no step size and no gradient.

    Free hyperparameters are moved one at a time by slice sampling with the whitened latent vector
    held, so each costs a few Cholesky factorisations. For likelihoods that are smooth, `HyperNUTS`
    is far faster; for a `Step`, use `ConeSlice` or `ConeHMC`.

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded iterations of each chain, and how many chains.
    moves : int, default=5
        Moves of the latent vector for each draw.

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[-1.0], [0.0], [1.0]], [-1, 1, 1], bk.RBF(), bk.Logit(beta=1.0))
    >>> tree = EllipticalSlice(draws=500, chains=2).run(gp, random_seed=0)
    >>> tree.posterior["f"].shape
    (2, 500, 3)
    """

    draws: int = 1000
    tune: int = 500
    chains: int = 4
    moves: int = 5
    solves: ClassVar[type] = LatentGaussian
    needs: ClassVar[tuple[str, ...]] = ("logp",)

    def __post_init__(self):
        for name in ("draws", "chains", "moves"):
            whole(getattr(self, name), name, least=1)
        whole(self.tune, "tune")

    def check(self, problem: Problem) -> None:
        """Refuse a likelihood that forbids most of the latent space."""
        super().check(problem)
        likelihood = problem.likelihood  # type: ignore[attr-defined]
        if not hasattr(likelihood, "slope") and np.isneginf(likelihood.logp(1.0, -1.0)):
            raise ValueError(
                f"EllipticalSlice cannot find version space for {likelihood!r}; use ConeHMC or"
                " ConeSlice on a BayesPoint"
            )

    def _run(self, problem: LatentGaussian, random_seed: Any) -> Any:
        rngs = np.random.default_rng(random_seed).spawn(self.chains)
        chains = [self._chain(problem, rng) for rng in rngs]
        posterior = {name: np.stack([c[0][name] for c in chains]) for name in chains[0][0]}
        tried = np.stack([c[1] for c in chains])
        return as_datatree(
            problem,
            self,
            posterior,
            random_seed=random_seed,
            sample_stats={"n_tried": tried},
        )

    def _chain(
        self, problem: LatentGaussian, rng: np.random.Generator
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        state = _State(problem, rng)
        kept: dict[str, list[Any]] = {name: [] for name in [*problem.free(), "f"]}
        tried = np.zeros(self.draws, dtype=int)
        for k in range(-self.tune, self.draws):
            count = sum(state.move_f(rng) for _ in range(self.moves))
            state.move_theta(rng)
            if k >= 0:
                tried[k] = count
                kept["f"].append(state.f.copy())
                for name in problem.free():
                    kept[name].append(np.array(state.theta[name], dtype=float))
        return {name: np.stack(values) for name, values in kept.items()}, tried


class _State:
    """A point of the chain: hyperparameters, their factor, and the latent vector."""

    def __init__(self, problem: LatentGaussian, rng: np.random.Generator):
        self.problem = problem
        self.theta = problem.sample_theta(rng)
        self.L, self.likelihood = self._at(self.theta)
        self.f = np.zeros(len(problem.y))
        self.value = self._loglik(self.f)

    def _at(self, theta: Any) -> tuple[np.ndarray, Any]:
        K = self.problem.prior_cov(theta)
        K = K + getattr(self.problem, "jitter", 0.0) * np.eye(len(K))
        return cholesky(K).L, self.problem.likelihood_at(theta)

    def _loglik(self, f: np.ndarray) -> float:
        return float(self.likelihood.logp(self.problem.y, f).sum())

    def move_f(self, rng: np.random.Generator) -> int:
        self.f, self.value, tried = elliptical_slice_step(
            rng, self.f, self.value, self._loglik, self.L
        )
        return tried

    def move_theta(self, rng: np.random.Generator) -> None:
        """Slice each hyperparameter's logarithm in turn, with the whitened vector held."""
        if not self.problem.free():
            return
        v = solve_triangular(self.L, self.f, lower=True)
        for name, prior in self.problem.free().items():
            for k in range(prior.size or 1):
                self._move_one(rng, v, name, prior, k)

    def _move_one(
        self, rng: np.random.Generator, v: np.ndarray, name: str, prior: Any, k: int
    ) -> None:
        def proposal(u: float) -> dict[str, Any]:
            value = np.array(self.theta[name], dtype=float)
            value.flat[k] = np.exp(u)
            return {**self.theta, name: value}

        def logp(u: float) -> float:
            if abs(u) > 40:
                return -np.inf
            theta = proposal(u)
            L, likelihood = self._at(theta)
            fit = float(likelihood.logp(self.problem.y, L @ v).sum())
            return fit + float(prior.logp(theta[name])) + u

        now = float(np.log(np.ravel(self.theta[name])[k]))
        u, _ = slice_step(rng, now, logp(now), logp)  # type: ignore[arg-type]
        self.theta = proposal(u)
        self.L, self.likelihood = self._at(self.theta)
        self.f = self.L @ v
        self.value = self._loglik(self.f)
