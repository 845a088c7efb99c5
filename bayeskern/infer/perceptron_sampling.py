"""Perceptrons run in random orders, as a cheap stand-in for draws from version space."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import whole
from bayeskern.errors import NotSeparableError
from bayeskern.infer._cone_sampler import ConeSampler, gather


@dataclass(frozen=True)
class PerceptronSampling(ConeSampler):
    r"""One perceptron for each random order of the examples (Herbrich and Graepel 2001).

    Every one, and their mean, lies in version space, but they are **not** draws from the
    posterior: on four points in space the 24 orders give two vectors, whose mean is 15 degrees off
    the centre of mass. It is fast, and an ensemble that works well in practice.

    Parameters
    ----------
    draws, chains : int
        Perceptrons in each of the independent groups, and how many groups.
    max_epochs : int, default=10000
        Passes over the sample after which a perceptron is given up with an error.

    Notes
    -----
    ``fit`` holds ``approximate = 1``. All vectors have length :math:`\sqrt r` in ``r`` dimensions.
    """

    draws: int = 100
    tune: int = 0
    max_epochs: int = 10_000

    least_rank: ClassVar[int] = 1

    def __post_init__(self):
        super().__post_init__()
        whole(self.max_epochs, "max_epochs", least=1)

    def _chain(self, problem: BayesPoint, rng: np.random.Generator):
        cone = problem.cone
        _ = cone.start  # refuses what no perceptron separates
        orders = rng.permuted(np.tile(np.arange(len(cone.S)), (self.draws, 1)), axis=1)
        S = np.ascontiguousarray(cone.S)
        u, updates = run_orders(S, cone.scales, orders, self.max_epochs)
        if updates.min() < 0:
            raise NotSeparableError(
                f"a perceptron still erred after {self.max_epochs} passes: the margin is small;"
                " raise max_epochs or give slack (lam > 0)"
            )
        return u * np.sqrt(cone.rank), {"n_updates": updates}

    def _run(self, problem: BayesPoint, random_seed: Any) -> Any:
        rngs = np.random.default_rng(random_seed).spawn(self.chains)
        runs = [self._chain(problem, rng) for rng in rngs]
        return gather(
            problem,
            self,
            np.stack([run[0] for run in runs]),
            rngs[0],
            independent=True,
            random_seed=random_seed,
            sample_stats={"n_updates": np.stack([run[1]["n_updates"] for run in runs])},
            fit={"approximate": 1},
        )


@njit(cache=True)
def run_orders(S, lengths, orders, max_epochs):
    """Run the perceptron in each order; return unit margins and numbers of updates, -1 if none."""
    n, m = orders.shape
    out, updates = np.empty((n, m)), np.empty(n, np.int64)
    for k in range(n):
        alpha, u = np.zeros(m), np.zeros(m)
        count, clean = 0, False
        for _ in range(max_epochs):
            clean = True
            for i in orders[k]:
                if u[i] <= 0.0:
                    alpha[i] += lengths[i]
                    u += lengths[i] * S[i]
                    count += 1
                    clean = False
            if clean:
                break
        updates[k] = count if clean else -1
        out[k] = u / np.sqrt(max(alpha @ u, 1e-300))
    return out, updates
