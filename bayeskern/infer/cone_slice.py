"""Elliptical slice sampling in version space, without rejections."""

from dataclasses import dataclass

import numpy as np

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.checks import whole
from bayeskern.infer._cone_sampler import ConeSampler


@dataclass(frozen=True)
class ConeSlice(ConeSampler):
    r"""A uniform point on the part of an ellipse that lies in version space.

    The ellipse :math:`u \cos\varphi + v \sin\varphi` with :math:`v \sim N(0, S)` meets the cone in
    one arc, from :math:`\max_i \psi_i - \frac\pi2` to :math:`\min_i \psi_i + \frac\pi2` with
    :math:`\tan \psi_i = v_i / u_i`, so the bracket of elliptical slice sampling (Murray, Adams and
    MacKay 2010) is known and no point is tried in vain. With many points the arc is short and the
    chain hardly moves: for some hundred points use `ConeHMC`.

    Parameters
    ----------
    draws, tune, chains : int
        Kept and discarded draws of each chain, and how many chains.
    thin : int, default=1
        Moves for each kept draw.
    """

    tune: int = 200
    thin: int = 1

    def __post_init__(self):
        super().__post_init__()
        whole(self.thin, "thin", least=1)

    def _chain(self, problem: BayesPoint, rng: np.random.Generator):
        cone = problem.cone
        u = cone.start.copy()
        out, widths = np.empty((self.draws, len(u))), np.empty(self.draws)
        for k in range(-self.tune, self.draws):
            V = rng.standard_normal((self.thin, cone.rank)) @ cone.A.T
            for v in V:
                tangents = v / u
                low = np.arctan(tangents.max()) - np.pi / 2
                high = np.arctan(tangents.min()) + np.pi / 2
                angle = rng.uniform(low, high)
                u = np.maximum(u * np.cos(angle) + v * np.sin(angle), 1e-300)
            if k >= 0:
                out[k], widths[k] = u, high - low
        return out, {"arc": widths}
