"""One classifier of each kind, by name."""

from typing import Any


def standard_models() -> dict[str, Any]:
    """Return one classifier of each kind, by the names that `compare` and the command accept."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import bayeskern as bk
    from bayeskern import classic

    def scaled(estimator: Any) -> Any:
        return make_pipeline(StandardScaler(), estimator)

    return {
        "gp": bk.GPClassifier(),
        "gp-ep": bk.GPClassifier(
            likelihood=bk.Probit(), inference=bk.EvidenceMax(bk.EP(), prior=True)
        ),
        "rvm": scaled(bk.RVMClassifier()),
        "bayes-point": scaled(bk.BayesPointClassifier(slack="evidence")),
        "svm": scaled(classic.SVMClassifier(probability="platt")),
        "kernel-logistic": scaled(classic.KernelLogisticClassifier()),
        "kernel-fisher": scaled(classic.KernelFisherClassifier()),
    }


def model_named(name: str) -> Any:
    """Return the standard classifier of that name, or say which names there are."""
    import difflib

    models = standard_models()
    if name not in models:
        near = difflib.get_close_matches(name, models, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"models are {', '.join(models)}, got {name!r}{hint}")
    return models[name]
