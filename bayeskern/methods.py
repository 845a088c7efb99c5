"""Two comparisons, because they answer two questions: of models, and of methods.

`compare_models` asks which model predicts one data set best; `compare_methods` asks how far
several answers to one posterior are from a reference.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskern.infer.loo import leave_one_out


def compare_models(fits: Mapping[str, Any]) -> Any:
    """Rank models of one data set by expected log predictive density, through ``az.compare``.

    Parameters
    ----------
    fits : mapping
        Name to a fitted estimator of the package, to a pair ``(problem, tree)``, to a DataTree
        with the group ``log_likelihood`` (PSIS-LOO is used), or to an ``ELPDDataLOO``. Gaussian
        fits get their analytic leave-one-out.

    Returns
    -------
    pandas.DataFrame
        As ``az.compare`` returns it.
    """
    import arviz as az

    if len(fits) < 2:
        raise ValueError(f"compare_models needs two or more fits, got {len(fits)}")
    return az.compare({name: _elpd(name, fit) for name, fit in fits.items()})


def _elpd(name: str, fit: Any) -> Any:
    import arviz as az

    if isinstance(fit, az.ELPDData):
        return fit
    problem, tree = None, fit
    if isinstance(fit, tuple):
        problem, tree = fit
    elif hasattr(fit, "idata_"):
        problem, tree = fit.problem_, fit.idata_
    if problem is not None and "fit" in tree.children and "alpha" in tree["fit"]:
        return leave_one_out(problem, tree)
    if not hasattr(tree, "children") or "log_likelihood" not in tree.children:
        raise ValueError(
            f"{name!r} has no log likelihood to leave one out of, got {type(fit).__name__}"
        )
    return az.loo(tree, pointwise=True)


def compare_methods(fits: Mapping[Any, Any], reference: Any) -> Any:
    """Measure how far several answers to one posterior are from a reference.

    Parameters
    ----------
    fits : mapping
        Method (or its name) to the DataTree it returned.
    reference : DataTree or key of ``fits``
        The answer to trust: exact, or long chains.

    Returns
    -------
    pandas.DataFrame
        One row per method and variable: ``error`` of the mean in reference standard deviations,
        ``z`` in Monte Carlo errors of both (``nan`` where an answer is not a chain), ``sd_ratio``,
        ``wasserstein`` distance in reference standard deviations, ``evidence_error`` in nats and
        ``cpu_seconds``. Vectors report their worst entry.
    """
    import pandas as pd

    trusted = reference if hasattr(reference, "children") else fits[reference]
    rows = []
    for method, tree in fits.items():
        if tree is trusted:
            continue
        shared = [v for v in trusted["posterior"].data_vars if v in tree["posterior"]]
        if not shared:
            raise ValueError(f"{method!r} has no variable in common with the reference")
        gap = tree.attrs.get("log_evidence", np.nan) - trusted.attrs.get("log_evidence", np.nan)
        for variable in shared:
            found = _distance(_draws(tree, variable), _draws(trusted, variable))
            z = _worst_z(tree, trusted, variable)
            extra = {"evidence_error": gap, "cpu_seconds": tree.attrs.get("cpu_seconds", np.nan)}
            rows.append({"method": str(method), "variable": variable, **found, "z": z, **extra})
    return pd.DataFrame(rows).set_index(["method", "variable"])


def _draws(tree: Any, variable: str) -> np.ndarray:
    """Draws as (draws, entries)."""
    values = tree["posterior"][variable].transpose("chain", "draw", ...).values
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _distance(draws: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    from scipy.stats import wasserstein_distance

    sd = reference.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    error = np.abs(draws.mean(axis=0) - reference.mean(axis=0)) / sd
    ratio = draws.std(axis=0) / sd
    pairs = zip(draws.T, reference.T, sd, strict=True)
    far = [wasserstein_distance(a, b) / s for a, b, s in pairs]
    worst = int(np.abs(np.log(np.maximum(ratio, 1e-12))).argmax())
    return {
        "error": float(error.max()),
        "sd_ratio": float(ratio[worst]),
        "wasserstein": float(np.max(far)),
    }


def _worst_z(tree: Any, reference: Any, variable: str) -> float:
    """Largest difference of means in Monte Carlo errors; an approximation has none of its own."""
    errors = [_mcse(t, variable) for t in (tree, reference)]
    gap = _draws(tree, variable).mean(axis=0) - _draws(reference, variable).mean(axis=0)
    scale = np.hypot(*errors)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.abs(gap) / scale
    return float(np.nanmax(z)) if np.isfinite(z).any() else np.nan


def _mcse(tree: Any, variable: str) -> np.ndarray:
    draws = _draws(tree, variable)
    if str(tree.attrs.get("draws", "")).startswith("independent"):
        return draws.std(axis=0) / np.sqrt(len(draws))
    from arviz_stats import mcse

    return np.ravel(mcse(tree["posterior"].to_dataset()[[variable]])[variable].values)
