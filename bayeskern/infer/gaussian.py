"""A Gaussian state as the one result form."""

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.covariance import DensePosterior
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer.base import GaussianState
from bayeskern.infer.result import as_datatree

if TYPE_CHECKING:
    from xarray import DataTree

DRAWS = 1000
MOST = 1_000_000  # numbers drawn in all; fewer draws where there are many points


def from_gaussian(
    problem: LatentGaussian,
    method: Any,
    state: GaussianState,
    theta: Theta,
    random_seed: Any,
    *,
    draws: int = DRAWS,
    evidence_kind: str | None = None,
    groups: Mapping[str, Mapping[str, Any]] | None = None,
) -> "DataTree":
    """Draw ``f`` from a Gaussian state and gather all that is known.

    The group ``fit`` holds ``mean_vector``, ``variance``, ``covariance_matrix`` (not for a
    low-rank prior), ``alpha``, ``W`` and ``theta_<name>``; the hyperparameters are also constant
    draws of the posterior.
    """
    if not state.converged:
        warnings.warn(
            f"{type(method).__name__} stopped after {state.n_iter} iterations before its tolerance;"
            " raise its cap, or choose less extreme hyperparameters",
            ConvergenceWarning,
            stacklevel=4,
        )
    draws = max(100, min(draws, MOST // len(problem.y)))
    rng = np.random.default_rng(random_seed)
    posterior = {"f": state.sample(rng, draws)[None]}
    for name, value in theta.items():
        value = np.asarray(value, dtype=float)
        posterior[name] = np.broadcast_to(value, (1, draws, *value.shape))
    fit: dict[str, Any] = {"mean_vector": state.mean, "variance": state.var}
    fit |= {"alpha": state.alpha, "W": state.W}
    if isinstance(state.posterior, DensePosterior):
        fit["covariance_matrix"] = state.cov
    fit |= {f"theta_{name}": np.asarray(value, dtype=float) for name, value in theta.items()}
    kind = evidence_kind or getattr(method, "evidence_kind", None)
    own_dims = {name: ["obs"] for name in ("mean_vector", "alpha", "W", "variance")}
    tree = as_datatree(
        problem,
        method,
        posterior,
        random_seed=random_seed,
        independent=True,
        fit=fit,
        log_evidence=state.log_evidence,
        evidence_kind=kind,
        converged=state.converged,
        dims={**own_dims, "covariance_matrix": ["obs", "obs_bis"]},
        coords={"obs_bis": problem.coords().get("obs")},
    )
    for group, variables in (groups or {}).items():
        tree[group] = _plain_dataset(variables)
    return tree


def _plain_dataset(variables: Mapping[str, Any]) -> Any:
    """Make a dataset of ``(dims, values)`` pairs."""
    import xarray as xr

    return xr.Dataset(dict(variables))
