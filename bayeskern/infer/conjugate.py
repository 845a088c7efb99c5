"""Independent draws from posteriors that have a closed form."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.bayes.fisher import BayesFisher
from bayeskern.bayes.problem import Problem
from bayeskern.checks import whole
from bayeskern.infer.base import Inference
from bayeskern.infer.result import as_datatree


@dataclass(frozen=True)
class Conjugate(Inference):
    """The exact posterior of a `BayesFisher` with all labels, its evidence, and draws from it.

    Parameters
    ----------
    draws : int, default=1000
        Independent draws.

    Examples
    --------
    >>> import bayeskern as bk
    >>> problem = bk.BayesFisher([[0.0], [1.0], [2.0], [4.0]], [-1, -1, 1, 1])
    >>> tree = Conjugate(draws=10).run(problem, random_seed=0)
    >>> tree["posterior"]["mu"].shape, round(tree.attrs["log_evidence"], 4)
    ((1, 10, 2, 1), -12.5839)
    """

    draws: int = 1000

    solves: ClassVar[type] = BayesFisher

    def __post_init__(self):
        whole(self.draws, "draws", least=1)

    def check(self, problem: Problem) -> None:
        """Refuse missing labels and priors without a closed form."""
        super().check(problem)
        problem.check_closed_form()  # type: ignore[attr-defined]

    def _run(self, problem: Any, random_seed: Any) -> Any:
        drawn = problem.posterior.sample(np.random.default_rng(random_seed), self.draws)
        return as_datatree(
            problem,
            self,
            {name: values[None] for name, values in drawn.items()},
            random_seed=random_seed,
            independent=True,
            log_evidence=problem.log_evidence,
            evidence_kind="exact",
        )
