"""ConeHMC as a step method of PyMC, for models of which version space is a part."""

from typing import Any, ClassVar

import numpy as np
from pymc.blocking import RaveledVars
from pymc.model import modelcontext
from pymc.pytensorf import make_shared_replacements
from pymc.step_methods.arraystep import ArrayStepShared
from pymc.step_methods.compound import Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_value_vars_from_user_vars

from bayeskern.checks import as_matrix, positive
from bayeskern.infer._bounce import fly


@dataclass_state
class ConeStepState(StepMethodState):
    """What a chain needs to go on: nothing but its random numbers."""

    max_bounces: int


class ConeStep(ArrayStepShared):
    r"""Exact Hamiltonian moves of :math:`w \sim N(0, I)` in the cone :math:`A w > 0`.

    For ``pm.sample(step=...)`` on a model with ``w = pm.Normal("w", 0, 1, ...)`` and the constraint
    as a ``pm.Potential``, such as `BayesPoint.cone_model`; the start must lie inside. Nothing else
    in the model may depend on ``w`` but deterministic variables.

    Parameters
    ----------
    vars : list of variables
        The one vector of standard normals.
    A : array of shape (m, r)
        Inward normals of the walls, of any length.
    max_bounces : int, default=100000
        A flight that bounces more often is given up with an error.
    model, rng, initial_point, blocked
        As PyMC's step methods take them.
    """

    name = "cone_hmc"
    default_blocked = True
    default_tune_steps = 0
    stats_dtypes_shapes: ClassVar[dict[str, Any]] = {"n_bounces": (np.int64, [])}
    _state_class = ConeStepState

    def __init__(
        self,
        vars: Any,
        *,
        A: Any,
        max_bounces: int = 100_000,
        model: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        blocked: bool = True,
        **kwargs: Any,
    ):
        model = modelcontext(model)
        values = get_value_vars_from_user_vars(vars, model)
        point = initial_point or model.initial_point()
        A = as_matrix(A, "A")
        size = sum(point[v.name].size for v in values)
        if A.shape[1] != size:
            raise ValueError(f"A must have one column per normal, got {A.shape[1]} for {size}")
        lengths = np.linalg.norm(A, axis=1, keepdims=True)
        positive(float(lengths.min()), "the length of each row of A")
        self.A = A / lengths
        self.S = self.A @ self.A.T
        self.inverse = np.linalg.pinv(self.A)
        self.max_bounces = int(max_bounces)
        shared = make_shared_replacements(point, values, model)
        super().__init__(values, shared, blocked=blocked, rng=rng)

    def astep(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, Any]]]:
        """Make one draw."""
        w = np.asarray(q0.data, dtype=float)
        momentum = self.rng.standard_normal(len(w))
        u, v = self.A @ w, self.A @ momentum
        if u.min() <= -1e-9:
            raise ValueError("ConeStep must start inside the cone; give initvals with A w > 0")
        u = np.maximum(u, 0.0)
        bounces = fly(u, v.copy(), self.S, 0.0, 1.0, self.max_bounces)
        if bounces >= self.max_bounces:
            raise ValueError(f"a flight bounced more than {self.max_bounces} times")
        # after a quarter turn the part outside the span of the walls is the momentum's
        new = self.inverse @ (u - v) + momentum
        return RaveledVars(new, q0.point_map_info), [{"n_bounces": bounces}]

    @staticmethod
    def competence(var: Any, has_grad: bool) -> Competence:
        """Never chosen by itself: it is right for one kind of model only."""
        return Competence.INCOMPATIBLE
