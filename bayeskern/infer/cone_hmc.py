"""Exact Hamiltonian Monte Carlo in version space."""

import math
from dataclasses import dataclass

import numpy as np

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import whole, within
from bayeskern.infer._cone_sampler import ConeSampler


@dataclass(frozen=True)
class ConeHMC(ConeSampler):
    r"""Gaussian motion inside version space that bounces off its walls; nothing is rejected.

    Between walls the latent vector moves on the ellipse :math:`t \cos s + v \sin s` with a fresh
    velocity :math:`v \sim N(0, G)`; at the wall of point ``i`` the velocity is reflected, in O(m).
    After a quarter turn without a wall the new point would be independent of the old one, and in
    practice draws are nearly so (Pakman and Paninski 2014). The default for a `BayesPoint`.

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded draws of each chain, and how many chains.
    time : float, default=pi/2
        Angle travelled for each draw, in (0, pi).
    max_bounces : int, default=1000000
        A flight that bounces more often is given up with an error.

    Examples
    --------
    >>> import bayeskern as bk
    >>> from bayeskern.kernels.dot import Linear
    >>> problem = bk.BayesPoint([[1.0, 0.0], [0.0, 1.0]], [1, -1], Linear())
    >>> bk.ConeHMC(draws=100).run(problem, random_seed=1)["posterior"]["f"].shape
    (4, 100, 2)
    """

    time: float = math.pi / 2
    max_bounces: int = 1_000_000

    def __post_init__(self):
        super().__post_init__()
        within(self.time, "time", 0, math.pi, closed="neither")
        whole(self.max_bounces, "max_bounces", least=1)

    def _chain(self, problem: BayesPoint, rng: np.random.Generator):
        from bayeskern.infer._bounce import run_chain

        cone = problem.cone
        u = cone.start.copy()
        S = np.ascontiguousarray(cone.S)
        n = self.tune + self.draws
        out, counts = np.empty((n, len(u))), np.empty(n, np.int64)
        block = 512
        for start in range(0, n, block):
            part = slice(start, min(start + block, n))
            V = rng.standard_normal((part.stop - start, cone.rank)) @ cone.A.T
            counts[part] = run_chain(u, V, S, self.time, self.max_bounces, out[part])
            if counts[part].max() >= self.max_bounces:
                raise ValueError(
                    f"a flight bounced more than {self.max_bounces} times, so version space is too"
                    " thin here; give slack (lam > 0) or raise max_bounces"
                )
        return out[self.tune :], {"n_bounces": counts[self.tune :]}
