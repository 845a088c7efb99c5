"""Is the posterior right? Simulation-based calibration, coverage, predictive checks, in words."""

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.bayes.problem import LatentGaussian
from bayeskern.checks import whole, within
from bayeskern.linalg import cholesky


@dataclass(frozen=True, eq=False)
class Calibration:
    """Ranks of true values among posterior draws, which are uniform if the posterior is right.

    Attributes
    ----------
    ranks : dict
        Variable to ranks in [0, draws], one per simulation (and entry).
    draws : int
        Posterior draws each true value was ranked among.
    """

    ranks: dict[str, np.ndarray]
    draws: int

    def p_values(self, bins: int = 10) -> dict[str, float]:
        """Chi-squared test of uniformity for each variable."""
        from scipy.stats import chisquare

        edges = np.linspace(-0.5, self.draws + 0.5, bins + 1)
        expected = np.diff(np.ceil(edges)) / (self.draws + 1)
        out = {}
        for name, ranks in self.ranks.items():
            counts = np.histogram(ranks, edges)[0]
            out[name] = float(chisquare(counts, expected * len(ranks)).pvalue)
        return out

    def coverage(self, level: float = 0.9) -> dict[str, float]:
        """Share of true values inside the central posterior interval of a level."""
        within(level, "level", 0, 1, closed="neither")
        low, high = (1 - level) / 2 * self.draws, (1 + level) / 2 * self.draws
        return {n: float(np.mean((r >= low) & (r <= high))) for n, r in self.ranks.items()}

    def __str__(self) -> str:
        lines = []
        for name, p in self.p_values().items():
            share = self.coverage()[name]
            word = "no sign of a wrong posterior" if p > 0.01 else "the posterior is miscalibrated"
            lines.append(f"{name}: {word} (p = {p:.3f}); 90 % intervals hold {share:.0%}")
        return "\n".join(lines)


def simulate(problem: LatentGaussian, rng: np.random.Generator) -> tuple[LatentGaussian, dict]:
    """Draw hyperparameters, latent values and observations from the prior.

    Returns the problem with the simulated observations, and the true values.
    """
    theta = problem.sample_theta(rng)
    K = problem.prior_cov(theta)
    L = cholesky(K + getattr(problem, "jitter", 0.0) * np.eye(len(K))).L
    f = L @ rng.standard_normal(len(K))
    y = problem.likelihood_at(theta).sample(rng, f)
    return dataclasses.replace(problem, y=y), {**theta, "f": f}  # type: ignore[type-var]


def calibrate(
    problem: LatentGaussian,
    method: Any,
    *,
    simulations: int = 100,
    draws: int = 99,
    random_seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Simulation-based calibration of any method on any latent Gaussian problem.

    Data are drawn from the model itself, with true values from the prior; among posterior draws
    their ranks are uniform exactly if the method is right.

    Parameters
    ----------
    problem : LatentGaussian
        Its inputs, priors and likelihood are used; its observations are replaced.
    method : Inference
        The method under test.
    simulations, draws : int
        Data sets, and thinned posterior draws for each.
    random_seed : int
    progress : callable, optional
        Called with the number of finished simulations.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018).
    """
    whole(simulations, "simulations", least=1)
    whole(draws, "draws", least=1)
    ranks: dict[str, list[np.ndarray]] = {}
    for k, rng in enumerate(np.random.default_rng(random_seed).spawn(simulations)):
        simulated, truth = simulate(problem, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # calibration is the judge of the whole
            tree = method.run(simulated, random_seed=int(rng.integers(2**31)))
        for name, value in truth.items():
            values = tree["posterior"][name].transpose("chain", "draw", ...).values
            flat = values.reshape(-1, *values.shape[2:])
            kept = flat[np.linspace(0, len(flat) - 1, draws).round().astype(int)]
            ranks.setdefault(name, []).append(np.atleast_1d((kept < value).sum(axis=0)))
        if progress:
            progress(k + 1)
    return Calibration({n: np.concatenate([r.ravel() for r in v]) for n, v in ranks.items()}, draws)


def prior_predictive(
    problem: LatentGaussian, draws: int = 500, *, random_seed: int = 0
) -> np.ndarray:
    """Observations drawn from the prior, ``(draws, n)``: what the model expects before data."""
    rngs = np.random.default_rng(random_seed).spawn(whole(draws, "draws", least=1))
    return np.stack([simulate(problem, rng)[0].y for rng in rngs])


def posterior_predictive_check(
    problem: LatentGaussian,
    tree: Any,
    statistic: Callable[[np.ndarray], float] = np.mean,
    *,
    random_seed: int = 0,
) -> tuple[float, np.ndarray]:
    """Replicate the observations from posterior draws and compare a statistic.

    Returns the posterior predictive p-value (about 0.5 if the model reproduces the statistic, near
    0 or 1 if it cannot) and the statistic of every replicate.
    """
    rng = np.random.default_rng(random_seed)
    f = tree["posterior"]["f"].transpose("chain", "draw", ...).values
    owned = [n for n in problem.likelihood.free() if n in tree["posterior"]]
    replicates = []
    for index in np.ndindex(f.shape[:2]):
        theta = {
            n: tree["posterior"][n].transpose("chain", "draw", ...).values[index] for n in owned
        }
        replicates.append(statistic(problem.likelihood_at(theta).sample(rng, f[index])))
    values = np.array(replicates)
    seen = statistic(problem.y)
    p = float(np.mean(values > seen) + 0.5 * np.mean(values == seen))
    return p, values


def in_words(tree: Any) -> list[str]:
    """Say what a result's diagnostics mean: convergence, divergences, k-hat, effective size."""
    said = []
    if not tree.attrs.get("converged", 1):
        said.append("the method did not meet its own tolerance: do not trust this result yet")
    if str(tree.attrs.get("draws", "")).startswith("independent"):
        said.append("independent draws of an approximation: R-hat and ESS say nothing here")
    else:
        said += _chains(tree)
    if "khat" in tree.attrs:
        k = float(tree.attrs["khat"])
        word = "reliable" if k < 0.7 else "not reliable: the proposal misses part of the posterior"
        said.append(f"importance weights have k-hat {k:.2f}, {word}")
    return said


def _chains(tree: Any) -> list[str]:
    from arviz_stats import ess, rhat

    posterior = tree["posterior"].to_dataset()
    said = []
    if posterior.sizes["chain"] > 1:
        worst = max(float(v.max()) for v in rhat(posterior).data_vars.values())
        word = "the chains agree" if worst < 1.01 else "the chains disagree: run them longer"
        said.append(f"R-hat is at most {worst:.3f}: {word}")
    least = min(float(v.min()) for v in ess(posterior).data_vars.values())
    word = "enough for means and intervals" if least >= 400 else "few: draw more"
    said.append(f"the least effective sample size is {least:.0f}, {word}")
    stats = tree["sample_stats"] if "sample_stats" in tree.children else {}
    if "diverging" in stats and int(stats["diverging"].sum()):
        said.append(f"{int(stats['diverging'].sum())} divergences: raise target_accept")
    return said
