"""Elliptical slice sampling as a step method of PyMC, for any model with a Gaussian vector."""

from typing import Any, ClassVar

import numpy as np
from pymc.blocking import RaveledVars
from pymc.model import modelcontext
from pymc.pytensorf import compile, join_nonshared_inputs, make_shared_replacements
from pymc.step_methods.arraystep import ArrayStepShared
from pymc.step_methods.compound import Competence, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_value_vars_from_user_vars

from bayeskern.infer.elliptical import elliptical_slice_step


@dataclass_state
class EllipticalSliceState(StepMethodState):
    """What a chain needs to go on."""

    moves: int


class EllipticalSliceStep(ArrayStepShared):
    """Elliptical slice moves for one variable with a normal or multivariate normal prior.

    The prior's mean and covariance may depend on other variables of the model, which other steps
    sample: ``pm.sample(step=[EllipticalSliceStep([f]), pm.Slice([lengthscale])])``.

    Parameters
    ----------
    vars : list of one variable
        A ``pm.Normal`` or ``pm.MvNormal`` vector.
    moves : int, default=5
        Moves for each draw.
    model, rng, initial_point, compile_kwargs, blocked
        As PyMC's step methods take them.
    """

    name = "elliptical_slice"
    default_blocked = True
    default_tune_steps = 0
    stats_dtypes_shapes: ClassVar[dict] = {"n_tried": (np.int64, []), "loglike": (np.float64, [])}
    _state_class = EllipticalSliceState

    def __init__(
        self,
        vars: Any,
        *,
        moves: int = 5,
        model: Any = None,
        rng: Any = None,
        initial_point: Any = None,
        compile_kwargs: dict[str, Any] | None = None,
        blocked: bool = True,
        **kwargs: Any,
    ):
        model = modelcontext(model)
        values = get_value_vars_from_user_vars(vars, model)
        if len(values) != 1:
            raise ValueError(f"EllipticalSliceStep moves one variable, got {len(values)}")
        rv = model.values_to_rvs[values[0]]
        point = initial_point or model.initial_point()
        self.moves = int(moves)
        self.n = point[values[0].name].size
        shared = make_shared_replacements(point, values, model)
        loglike = model.logp(vars=[*model.observed_RVs, *model.potentials])
        mean, L = model.replace_rvs_by_values(_prior(rv, self.n))
        outputs, joined = join_nonshared_inputs(
            point=point, outputs=[loglike, mean, L], inputs=values, shared_inputs=shared
        )
        options = compile_kwargs or {}
        self.loglike = compile([joined], outputs[0], **options)
        self.prior = compile([joined], outputs[1:], on_unused_input="ignore", **options)
        super().__init__(values, shared, blocked=blocked, rng=rng)

    def astep(self, q0: RaveledVars) -> tuple[RaveledVars, list[dict[str, Any]]]:
        """Make ``moves`` moves."""
        x = np.asarray(q0.data, dtype=float)
        mean, L = self.prior(x)

        def loglik(deviation: np.ndarray) -> float:
            return float(self.loglike(deviation + mean))

        deviation, value, total = x - mean, float(self.loglike(x)), 0
        for _ in range(self.moves):
            deviation, value, tried = elliptical_slice_step(self.rng, deviation, value, loglik, L)
            total += tried
        stats = {"n_tried": total, "loglike": value}
        return RaveledVars(deviation + mean, q0.point_map_info), [stats]

    @staticmethod
    def competence(var: Any, has_grad: bool) -> Competence:
        """Never chosen by itself: only the user knows that the prior is meant to be Gaussian."""
        return Competence.INCOMPATIBLE


def _prior(rv: Any, n: int) -> list[Any]:
    """Mean and Cholesky factor of a normal variable, as tensors."""
    import pytensor.tensor as pt

    kind = getattr(rv.owner.op, "name", "")
    if kind == "normal":
        mean, sigma = rv.owner.op.dist_params(rv.owner)
        scale = pt.broadcast_to(sigma, rv.shape).ravel()
        return [pt.broadcast_to(mean, rv.shape).ravel(), pt.diag(scale)]
    if kind == "multivariate_normal":
        mean, cov = rv.owner.op.dist_params(rv.owner)[:2]
        return [pt.broadcast_to(mean, (n,)), pt.linalg.cholesky(cov)]
    raise ValueError(
        f"EllipticalSliceStep needs a normal prior, but {rv.name} is {kind or 'not that'}"
    )
