"""Bayesian and margin classifiers on one data set, side by side."""

import time
import tracemalloc
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskern.checks import positive, whole, within
from bayeskern.paired import PairedDifference, correlated_t_test
from bayeskern.standard import model_named, standard_models

FEWEST = 1e-15  # probabilities are clipped here before a logarithm is taken


@dataclass(frozen=True, eq=False)
class ModelReport:
    """What is known of one model after a comparison.

    Attributes
    ----------
    errors, log_losses, briers, aucs : ndarray of shape (repeats * folds,)
        Per test fold, in the order of the common folds.
    probabilities : ndarray of shape (repeats, n)
        Out-of-fold probability of the second class, for each repeat.
    fit_seconds, predict_seconds : float
        CPU time of the fit on all data, and of predicting all of it.
    peak_mb : float
        Memory allocated at the peak of that fit.
    fitted : estimator
        The fit on all data.
    facts : dict
        ``log_evidence``, ``evidence_kind``, ``elpd_loo``, ``elpd_se``, ``n_support``,
        ``certificate``, ``certificate_name``, as far as the model has them.
    failure : str or None
        Why the model could not be fitted, in its own words.
    """

    name: str
    errors: np.ndarray
    log_losses: np.ndarray
    briers: np.ndarray
    aucs: np.ndarray
    probabilities: np.ndarray
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan
    peak_mb: float = np.nan
    fitted: Any = None
    facts: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcome of `compare`.

    Attributes
    ----------
    models : dict
        Name to `ModelReport`, best log loss first.
    y : ndarray
        True where a point has the second class.
    classes : list
        The two labels.
    settings : dict
        Folds, repeats, seed and versions that reproduce it.
    """

    models: dict[str, ModelReport]
    y: np.ndarray
    classes: list[Any]
    settings: dict[str, Any]

    @property
    def working(self) -> dict[str, ModelReport]:
        """The models that could be fitted."""
        return {name: m for name, m in self.models.items() if m.failure is None}

    def table(self) -> Any:
        """One row per model, as a pandas DataFrame."""
        import pandas as pd

        rho = 1 / self.settings["folds"]
        rows = {}
        for name, m in self.working.items():
            error = correlated_t_test(m.errors, rho)
            rows[name] = {
                "error": error.mean,
                "error_low": max(error.interval[0], 0.0),
                "error_high": min(error.interval[1], 1.0),
                "log_loss": m.log_losses.mean(),
                "brier": m.briers.mean(),
                "ece": self.calibration_error(name),
                "auc": m.aucs.mean(),
                "elpd_cv": self.elpd(name)[0],
                "elpd_cv_se": self.elpd(name)[1],
                "elpd_loo": m.facts.get("elpd_loo", np.nan),
                "elpd_loo_se": m.facts.get("elpd_se", np.nan),
                "log_evidence": m.facts.get("log_evidence", np.nan),
                "evidence_kind": m.facts.get("evidence_kind", ""),
                "n_support": m.facts.get("n_support", np.nan),
                "certificate": m.facts.get("certificate", np.nan),
                "certificate_name": m.facts.get("certificate_name", ""),
                "fit_s": m.fit_seconds,
                "predict_s": m.predict_seconds,
                "peak_mb": m.peak_mb,
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def pointwise(self, name: str) -> np.ndarray:
        """Log probability of each true label out of fold, averaged over the repeats."""
        p = np.clip(self.models[name].probabilities, FEWEST, 1 - FEWEST)
        return np.log(np.where(self.y, p, 1 - p)).mean(axis=0)

    def elpd(self, name: str) -> tuple[float, float]:
        """Expected log predictive density by cross-validation, and its standard error."""
        points = self.pointwise(name)
        return float(points.sum()), float(np.sqrt(len(points)) * points.std(ddof=1))

    def reliability(self, name: str, bins: int = 10) -> Any:
        """Observed frequency against predicted probability, with 90 % bands, as a DataFrame."""
        import pandas as pd
        from scipy.stats import beta

        p = self.models[name].probabilities.mean(axis=0)
        groups = [g for g in np.array_split(np.argsort(p, kind="stable"), bins) if len(g)]
        count = np.array([len(g) for g in groups])
        hits = np.array([self.y[g].sum() for g in groups])
        posterior = beta(hits + 0.5, count - hits + 0.5)
        return pd.DataFrame(
            {
                "predicted": [p[g].mean() for g in groups],
                "observed": hits / count,
                "low": posterior.ppf(0.05),
                "high": posterior.ppf(0.95),
                "count": count,
            }
        )

    def calibration_error(self, name: str, bins: int = 10) -> float:
        """Expected calibration error: mean distance of the reliability curve from the diagonal."""
        curve = self.reliability(name, bins)
        gap = (curve["predicted"] - curve["observed"]).abs()
        return float((gap * curve["count"]).sum() / curve["count"].sum())

    def paired(self, first: str, second: str, metric: str = "errors") -> PairedDifference:
        """Posterior of the difference of two models on the common folds (lower is better)."""
        a, b = (getattr(self.models[name], metric) for name in (first, second))
        rho, rope = 1 / self.settings["folds"], self.settings["rope"]
        return correlated_t_test(a - b, rho, rope=rope)

    def pairs(self, metric: str = "errors") -> Any:
        """Probability that the row's model is better than, as good as, or worse than another."""
        import pandas as pd

        names = list(self.working)
        rows = []
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                d = self.paired(a, b, metric)
                rows.append((a, b, d.mean, d.lower, d.equivalent, d.higher))
        columns = ["model", "other", "difference", "p_better", "p_equivalent", "p_worse"]
        return pd.DataFrame(rows, columns=columns)

    def __str__(self) -> str:
        from bayeskern.tables import text_table

        return text_table(self)


def compare(
    models: Mapping[str, Any] | Sequence[str] | None,
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    repeats: int = 2,
    rope: float = 0.01,
    delta: float = 0.05,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Put classifiers side by side on one data set with two classes.

    Parameters
    ----------
    models : dict of estimators, list of names, or None
        None takes all of `standard_models`. Estimators follow scikit-learn and have
        ``predict_proba``.
    X, y : data
        Inputs and labels of two kinds.
    folds, repeats : int
        Stratified cross-validation; every model sees the same folds.
    rope : float, default=0.01
        Differences of error below this are practically nothing.
    delta : float, default=0.05
        Confidence of the certificates.
    random_state : int
        Seed of the folds and of every model.
    n_jobs : int, optional
        For joblib; results do not depend on it.
    progress : bool
        Show a bar.

    Returns
    -------
    Comparison
        Prints as a table.
    """
    import joblib
    from sklearn.base import clone
    from sklearn.model_selection import RepeatedStratifiedKFold

    whole(folds, "folds", least=2)
    whole(repeats, "repeats", least=1)
    within(rope, "rope", 0, 1)
    positive(delta, "delta")
    chosen = _choose(models)
    X, y = _take_rows(X), np.asarray(y)
    if len(X) != len(y):
        raise ValueError(f"y must have one label per row of X, got {len(y)} for {len(X)}")
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(
            f"compare is for two classes, got {len(classes)}: {classes[:5].tolist()};"
            " compare one class against the rest"
        )
    smallest = int(np.bincount(index).min())
    if smallest < folds:
        raise ValueError(f"the smaller class must have {folds} points (one a fold), got {smallest}")
    truth = index == 1
    splits = list(
        RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state).split(
            np.zeros(len(y)), index
        )
    )
    names = list(chosen)
    seeded = {name: _seeded(clone(chosen[name]), random_state) for name in names}
    jobs = [(name, k) for name in names for k in range(len(splits))]
    tasks = (joblib.delayed(_one_fold)(seeded[n], X, y, classes, *splits[k]) for n, k in jobs)
    results = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    outcomes: dict[tuple[str, int], Any] = dict(
        zip(jobs, _watched(results, jobs, progress), strict=True)
    )
    reports = {}
    for name in names:
        found = [outcomes[name, k] for k in range(len(splits))]
        reports[name] = _gather(name, found, splits, truth, seeded[name], X, y, repeats, delta)
    ranked = sorted(names, key=lambda name: _rank(reports[name]))
    settings = {
        "folds": folds,
        "repeats": repeats,
        "rope": rope,
        "delta": delta,
        "random_state": random_state,
        "n": len(y),
        "versions": _versions(),
        "models": {name: repr(chosen[name]) for name in names},
    }
    return Comparison({n: reports[n] for n in ranked}, truth, classes.tolist(), settings)


def _rank(report: ModelReport) -> float:
    return float(report.log_losses.mean()) if report.failure is None else np.inf


def _choose(models: Any) -> dict[str, Any]:
    if models is None:
        return standard_models()
    if isinstance(models, Mapping):
        if not models:
            raise ValueError("models must name at least one classifier, got an empty dict")
        return dict(models)
    return {name: model_named(name) for name in models}


def _take_rows(X: Any) -> Any:
    """Keep tables and arrays as they are, and make a list of strings one that can be indexed."""
    if isinstance(X, list | tuple) and X and isinstance(X[0], str):
        return np.asarray(X, dtype=object)
    return X if hasattr(X, "shape") else np.asarray(X)


def _seeded(estimator: Any, seed: int) -> Any:
    names = [p for p in estimator.get_params() if p.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(names, seed))


def _rows(X: Any, index: np.ndarray) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]


def _one_fold(estimator: Any, X: Any, y: Any, classes: Any, train: Any, test: Any) -> Any:
    """Probability of the second class on a test fold, or why there is none."""
    from sklearn.base import clone

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all data speaks for the model
            fitted = clone(estimator).fit(_rows(X, train), y[train])
            probability = fitted.predict_proba(_rows(X, test))
            predicted = fitted.predict(_rows(X, test))
    except ValueError as error:
        return str(error)
    column = list(fitted.classes_).index(classes[1])
    return probability[:, column], predicted == classes[1]


def _gather(
    name: str,
    found: list[Any],
    splits: list[Any],
    truth: np.ndarray,
    estimator: Any,
    X: Any,
    y: np.ndarray,
    repeats: int,
    delta: float,
) -> ModelReport:
    from sklearn.metrics import roc_auc_score

    failure = next((f for f in found if isinstance(f, str)), None)
    empty = np.empty(0)
    if failure is not None:
        return ModelReport(name, empty, empty, empty, empty, empty, failure=failure)
    per_repeat = len(splits) // repeats
    probabilities = np.full((repeats, len(truth)), np.nan)
    errors, losses, briers, aucs = [], [], [], []
    for k, ((p, predicted), (_, test)) in enumerate(zip(found, splits, strict=True)):
        probabilities[k // per_repeat, test] = p
        t = truth[test]
        clipped = np.clip(p, FEWEST, 1 - FEWEST)
        errors.append(np.mean(predicted != t))
        losses.append(-np.mean(np.log(np.where(t, clipped, 1 - clipped))))
        briers.append(np.mean((p - t) ** 2))
        aucs.append(roc_auc_score(t, p))
    fitted, costs, failure = _fit_all(estimator, X, y)
    facts = _facts(fitted, X, y, delta) if fitted is not None else {}
    seconds, predict_seconds, peak = costs
    return ModelReport(
        name=name,
        errors=np.array(errors),
        log_losses=np.array(losses),
        briers=np.array(briers),
        aucs=np.array(aucs),
        probabilities=probabilities,
        fit_seconds=seconds,
        predict_seconds=predict_seconds,
        peak_mb=peak,
        fitted=fitted,
        facts=facts,
        failure=failure,
    )


def _fit_all(estimator: Any, X: Any, y: np.ndarray) -> tuple[Any, tuple[float, ...], str | None]:
    from sklearn.base import clone

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            fitted = clone(estimator).fit(X, y)
            middle = time.process_time()
            fitted.predict_proba(X)
            end = time.process_time()
            tracemalloc.start()
            clone(estimator).fit(X, y)
            peak = tracemalloc.get_traced_memory()[1] / 1e6
    except ValueError as error:
        return None, (np.nan,) * 3, str(error)
    finally:
        tracemalloc.stop()
    return fitted, (middle - start, end - middle, peak), None


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the estimator at the end of a pipeline, and the inputs as it sees them."""
    if not hasattr(estimator, "steps"):
        return estimator, X
    for _, step in estimator.steps[:-1]:
        X = step.transform(X)
    return estimator.steps[-1][1], X


def _facts(fitted: Any, X: Any, y: np.ndarray, delta: float) -> dict[str, Any]:
    """What only some models have: evidence, leave-one-out, sparsity, a certificate."""
    model, inputs = last_step(fitted, X)
    facts: dict[str, Any] = {}
    tree = getattr(model, "idata_", None)
    if tree is not None and "log_evidence" in tree.attrs:
        facts["log_evidence"] = float(tree.attrs["log_evidence"])
        facts["evidence_kind"] = str(tree.attrs["evidence_kind"])
    problem = getattr(model, "problem_", None)
    if problem is not None and tree is not None and "fit" in tree.children:
        facts |= _analytic_loo(problem, tree)
    if hasattr(model, "certificate_inputs"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.certificate_inputs(inputs, y)
            if "n_support" in found:
                facts["n_support"] = int(found["n_support"])
            facts |= _best_certificate(fitted, model, X, inputs, y, delta)
    return facts


def _analytic_loo(problem: Any, tree: Any) -> dict[str, float]:
    from bayeskern.infer.loo import leave_one_out

    try:
        elpd = leave_one_out(problem, tree)
    except ValueError:
        return {}
    return {"elpd_loo": float(elpd.elpd), "elpd_se": float(elpd.se)}


def _best_certificate(
    fitted: Any, model: Any, X: Any, inputs: Any, y: np.ndarray, delta: float
) -> dict[str, Any]:
    """The smallest bound on the risk; where the data set the kernel, one from half of them."""
    from bayeskern.classic.bounds import certify

    best = certify(model, inputs, y, delta=delta).best
    if best is not None and not best.vacuous:
        return {"certificate": float(best.value), "certificate_name": best.name}
    best = certify(fitted, X, y, delta=delta, prior_fraction=0.5).best
    if best is None or best.vacuous:
        return {}
    return {"certificate": float(best.value), "certificate_name": f"{best.name}, fitted to half"}


def _watched(results: Any, jobs: list[tuple[str, int]], progress: bool) -> Any:
    if not progress:
        yield from results
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), transient=True) as bar:
        task = bar.add_task("comparing", total=len(jobs))
        for (name, _), result in zip(jobs, results, strict=True):
            bar.update(task, advance=1, description=f"comparing: {name}")
            yield result


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    names = ("bayeskern", "numpy", "scipy", "scikit-learn", "pymc", "arviz", "numba")
    return {name: version(name) for name in names}
