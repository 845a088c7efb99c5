"""NUTS on the whitened PyMC model, through nutpie or PyMC."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.bayes.problem import Problem
from bayeskern.checks import one_of, whole, within
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer.base import Inference
from bayeskern.infer.result import as_datatree


@dataclass(frozen=True)
class NUTS(Inference):
    """The no-U-turn sampler on all unknowns; exact up to Monte Carlo error, and slow.

    It samples ``problem.whitened`` where the problem has one. Compiling takes seconds to a minute;
    `HyperNUTS` samples the hyperparameters alone, without compiling, and is far faster where an
    approximate treatment of the latent function will do.

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded iterations of each chain, and how many chains.
    target_accept : float, default=0.9
        Raise it towards 1 when divergences are reported.
    sampler : {"nutpie", "pymc"}
        Who runs the chains.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float = 0.9
    sampler: str = "nutpie"

    smooth: ClassVar[str] = "slope"

    def __post_init__(self):
        for name in ("draws", "tune", "chains"):
            whole(getattr(self, name), name, least=1)
        within(self.target_accept, "target_accept", 0, 1, closed="neither")
        one_of(self.sampler, "sampler", ("nutpie", "pymc"))

    def check(self, problem: Problem) -> None:
        """Refuse likelihoods with jumps, on which NUTS diverges and is biased."""
        super().check(problem)
        likelihood = getattr(problem, "likelihood", None)
        smooth = getattr(problem, "smooth", likelihood is None or hasattr(likelihood, "slope"))
        if not smooth:
            raise ValueError(
                f"NUTS needs a likelihood with a gradient, which {type(likelihood).__name__} does"
                " not have; use ConeHMC, KernelGibbs or EllipticalSlice"
            )

    def _run(self, problem: Any, random_seed: Any) -> Any:
        model = problem.whitened if hasattr(problem, "whitened") else problem.model
        trace = self._sample(model, _seed(random_seed))
        names = [name for name in trace["posterior"].data_vars if not _internal(name, model)]
        posterior = {
            name: trace["posterior"][name].transpose("chain", "draw", ...).values for name in names
        }
        if hasattr(problem, "complete"):
            posterior = problem.complete(posterior, np.random.default_rng(_seed(random_seed)))
        stats = {
            name: values.transpose("chain", "draw", ...).values
            for name, values in trace["sample_stats"].data_vars.items()
            if values.ndim == 2 and values.dtype.kind in "fib"
        }
        diverging = int(np.sum(stats.get("diverging", 0)))
        if diverging:
            warnings.warn(
                f"{diverging} of {self.draws * self.chains} draws diverged: the posterior has"
                f" places NUTS cannot reach; raise target_accept above {self.target_accept:g}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return as_datatree(
            problem,
            self,
            posterior,
            random_seed=random_seed,
            sample_stats=stats,
            converged=diverging == 0,
        )

    def _sample(self, model: Any, seed: int) -> Any:
        import pymc as pm

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence is judged on the result
            if self.sampler == "nutpie":
                import nutpie

                compiled = nutpie.compile_pymc_model(model)
                return nutpie.sample(
                    compiled,
                    draws=self.draws,
                    tune=self.tune,
                    chains=self.chains,
                    target_accept=self.target_accept,
                    seed=seed,
                    progress_bar=_on_terminal(),
                )
            return pm.sample(
                self.draws,
                tune=self.tune,
                chains=self.chains,
                model=model,
                random_seed=seed,
                nuts_sampler="pymc",
                nuts={"target_accept": self.target_accept},
                progressbar=_on_terminal(),
                compute_convergence_checks=False,
            )


def _internal(name: str, model: Any) -> bool:
    """Tell whitened coordinates, which mean nothing to a user, from the variables they make."""
    return name == "v" and "f" in {d.name for d in model.deterministics}


def _on_terminal() -> bool:
    import sys

    return sys.stderr.isatty()


def _seed(random_seed: Any) -> int:
    """Return one whole number for a sampler, whatever kind of seed was given."""
    if random_seed is None or isinstance(random_seed, int | np.integer):
        return int(np.random.default_rng(random_seed).integers(2**31))
    return int(random_seed.integers(2**31))
