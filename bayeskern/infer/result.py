"""The one result form: every method returns the same groups of a DataTree."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import bayeskern
from bayeskern.bayes.problem import Problem

if TYPE_CHECKING:
    from xarray import DataTree

INDEPENDENT = "independent draws: R-hat and effective sample size do not apply"


def as_datatree(
    problem: Problem,
    method: Any,
    posterior: Mapping[str, np.ndarray],
    *,
    random_seed: Any = None,
    independent: bool = False,
    sample_stats: Mapping[str, np.ndarray] | None = None,
    fit: Mapping[str, Any] | None = None,
    log_evidence: float | None = None,
    evidence_kind: str | None = None,
    evidence_se: float | None = None,
    converged: bool = True,
    dims: Mapping[str, list[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
    **groups: Mapping[str, np.ndarray],
) -> "DataTree":
    """Gather draws and what is known about them.

    Parameters
    ----------
    problem, method
        What was asked, and how it was answered.
    posterior : mapping
        Variable name to draws of shape ``(chain, draw, ...)``.
    independent : bool
        The draws come from an approximation or a rejection sampler, not from a Markov chain;
        they are labelled so that nobody reads R-hat from them.
    sample_stats, fit : mapping, optional
        Statistics of chains ``(chain, draw, ...)``, or the numbers of an approximation.
    log_evidence, evidence_kind, evidence_se
        The log evidence, how it was found (``exact``, ``laplace``, ``ep``, ``splitting``, ...) and
        its Monte Carlo standard error.
    converged : bool
        Whether the method met its own tolerance.
    dims, coords : mapping, optional
        Beyond those of the problem, for extra variables.
    **groups : mapping
        Further groups, such as ``posterior_predictive``.
    """
    import arviz_base as az  # not arviz itself, which loads its plots

    posterior = {name: np.asarray(value) for name, value in posterior.items()}
    data: dict[str, Any] = {"posterior": posterior}
    data |= {name: dict(group) for name, group in groups.items() if group}
    log_likelihood = problem.log_likelihood(posterior)
    if log_likelihood and "log_likelihood" not in data:
        data["log_likelihood"] = log_likelihood
    if sample_stats:
        data["sample_stats"] = dict(sample_stats)
    plain = {"observed_data": problem.observed_data(), "constant_data": problem.constant_data()}
    if fit:
        plain["fit"] = dict(fit)
    attrs: dict[str, Any] = {
        "method": repr(method),
        "problem": type(problem).__name__,
        "random_seed": repr(random_seed),
        "converged": int(converged),
        "draws": INDEPENDENT if independent else "Markov chain",
        "bayeskern_version": bayeskern.__version__,
        "numpy_version": np.__version__,
        "arviz_base_version": az.__version__,
    }
    if log_evidence is not None:
        attrs |= {"log_evidence": float(log_evidence), "evidence_kind": evidence_kind or "unknown"}
    if evidence_se is not None:
        attrs["log_evidence_se"] = float(evidence_se)
    all_dims = {**problem.dims(), **(dims or {})}
    all_coords = {**problem.coords(), **(coords or {})}
    tree = az.from_dict(data, dims=all_dims, coords=all_coords)
    for group, variables in plain.items():
        if variables:
            tree[group] = _dataset(variables, all_dims, all_coords)
    tree.attrs.update(attrs)
    return tree


def _dataset(variables: Mapping[str, Any], dims: Mapping[str, list[str]], coords: Any) -> Any:
    """Make a dataset without chain and draw; unnamed dimensions get ArviZ's names."""
    import xarray as xr

    arrays = {}
    for name, value in variables.items():
        value = np.asarray(value)
        named = list(dims.get(name, []))[: value.ndim]
        named += [f"{name}_dim_{k}" for k in range(len(named), value.ndim)]
        own = {d: coords[d] for d in named if d in coords}
        arrays[name] = xr.DataArray(value, dims=named, coords=own)
    return xr.Dataset(arrays)
