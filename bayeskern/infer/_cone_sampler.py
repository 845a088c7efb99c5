"""What the samplers of version space share: the same problem in, the same chains out."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.bayes.cone import Cone
from bayeskern.bayes.problem import Problem
from bayeskern.checks import whole
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer.base import Inference
from bayeskern.infer.result import as_datatree
from bayeskern.infer.volume import closed_form

WATCHED = 20
"""R-hat is watched on this many latent values; all of them would cost more than the sampling."""


@dataclass(frozen=True)
class ConeSampler(Inference):
    """A Markov chain on the cone of a `BayesPoint`."""

    draws: int = 1000
    tune: int = 50
    chains: int = 4

    solves: ClassVar[type] = BayesPoint
    label_noise: ClassVar[bool] = False
    least_rank: ClassVar[int] = 1

    def __post_init__(self):
        whole(self.draws, "draws", least=4)
        whole(self.tune, "tune")
        whole(self.chains, "chains", least=1)

    def check(self, problem: Problem) -> None:
        """Refuse label noise where the method has no place for it, and too few points."""
        super().check(problem)
        if problem.flip_rate and not self.label_noise:  # type: ignore[attr-defined]
            raise ValueError(
                f"{type(self).__name__} needs labels without noise, got"
                f" {problem.likelihood!r}; use KernelGibbs"  # type: ignore[attr-defined]
            )
        cone = problem.cone  # type: ignore[attr-defined]
        if cone.rank < self.least_rank:
            raise ValueError(
                f"{type(self).__name__} needs points that span at least {self.least_rank}"
                f" dimensions, got {len(cone.signs)} point(s) of rank {cone.rank}; use ConeHMC"
            )

    @abstractmethod
    def _chain(
        self, problem: BayesPoint, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return margins ``u``, (draws, m), Gaussian in length, and statistics (draws,)."""

    def _run(self, problem: BayesPoint, random_seed: Any) -> Any:
        rngs = np.random.default_rng(random_seed).spawn(self.chains)
        runs = [self._chain(problem, rng) for rng in rngs]
        u = np.stack([run[0] for run in runs])
        stats = {name: np.stack([run[1][name] for run in runs]) for name in runs[0][1]}
        return gather(problem, self, u, rngs[0], random_seed=random_seed, sample_stats=stats)


def gather(
    problem: BayesPoint,
    method: Inference,
    u: np.ndarray,
    rng: np.random.Generator,
    *,
    independent: bool = False,
    **known: Any,
) -> Any:
    """Put margins (chain, draw, m) into the one result form, with ``f`` and ``alpha``."""
    cone = problem.cone
    alpha = cone.dual(u.reshape(-1, u.shape[-1])).reshape(u.shape)
    f = cone.latent(u)
    if problem.lam > 0:
        f = _without_noise(problem, f, alpha, rng)
    attrs = {}
    if not independent and len(u) > 1:
        attrs = _judge(u)
        limit = 1.05 + 5 / u.shape[1]  # in short chains R-hat is above 1 by chance
        known["converged"] = bool(attrs["rhat_max"] < limit)
        if not known["converged"]:
            warnings.warn(
                f"the chains of {type(method).__name__} disagree, R-hat is"
                f" {attrs['rhat_max']:.2f}; raise draws, or use ConeHMC",
                ConvergenceWarning,
                stacklevel=4,
            )
    if "log_evidence" not in known and not problem.flip_rate:
        exact = closed_form(cone)
        if exact is not None:
            known |= {"log_evidence": exact, "evidence_kind": "exact"}
    tree = as_datatree(problem, method, {"f": f, "alpha": alpha}, independent=independent, **known)
    tree.attrs.update(attrs)
    return tree


def _without_noise(
    problem: BayesPoint, noisy: np.ndarray, alpha: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    r"""Draw :math:`f` given :math:`f + \sqrt\lambda \epsilon`; its mean is :math:`G\alpha`."""
    values, vectors = np.linalg.eigh(problem.prior_cov({}))
    values = np.maximum(values, 0.0)
    spread = vectors * np.sqrt(problem.lam * values / (values + problem.lam))
    return noisy - problem.lam * alpha + rng.standard_normal(noisy.shape) @ spread.T


def _judge(u: np.ndarray) -> dict[str, float]:
    """Return the worst R-hat and the least effective sample size."""
    import arviz as az

    watched = np.linspace(0, u.shape[-1] - 1, min(WATCHED, u.shape[-1])).astype(int)
    return {
        "rhat_max": float(max(az.rhat(u[..., i]) for i in watched)),
        "ess_min": float(min(az.ess(u[..., i]) for i in watched)),
    }


def gaussian_length(rng: np.random.Generator, cone: Cone, unit: np.ndarray) -> np.ndarray:
    """Give points of the unit sphere the lengths of Gaussian vectors, which are independent."""
    return unit * np.sqrt(rng.chisquare(cone.rank, size=(len(unit), 1)))
