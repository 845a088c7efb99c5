"""Bounds from the prior mass of what is consistent: MAP, Gibbs and Bayes (Herbrich 2002, ch. 5)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.pac_bayes import GIBBS
from bayeskern.classic.bounds.result import IID, PRIOR_FIRST, Bound, assemble, recorded, share
from bayeskern.classic.bounds.vc import Selection

PAC_LIKELIHOOD = (
    "the mass is that of the version space, the evidence of the PAC likelihood: a probit or logit"
    " evidence is not"
)


@recorded()
def map_bound(
    m: Any, delta: Any, prior_mass: Any, training_error: Any = 0.0, *, exact: bool = False
) -> Bound:
    r"""Risk of one hypothesis from its prior mass: a bound for the MAP classifier.

    .. math:: \frac1m\Big(\ln\frac1{P(h)}+\ln\frac1\delta\Big)\ \text{without training error, else}
              \quad R_{\rm emp}+\sqrt{\frac1{2m}\Big(\ln\frac1{P(h)}+\ln\frac1\delta\Big)} .

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    prior_mass : float
        Mass, not density, of the hypothesis under a prior on countably many.
    training_error : float
        Its training error.
    exact : bool
        Keep :math:`1-(\delta P(h))^{1/m}` for zero training error.

    Examples
    --------
    >>> round(map_bound(1000, 0.05, 1e-3).value, 12)
    0.009903487553
    """
    m, delta, P = domain.size(m), domain.failure(delta), domain.mass(prior_mass)
    q = domain.unit(training_error, "training_error")
    parts = {"prior": -np.log(P), "confidence": -np.log(delta)}
    budget = (parts["prior"] + parts["confidence"]) / m
    linear = -np.expm1(-budget) if exact else budget
    return assemble(
        "MAP bound",
        {
            "training error": q,
            **share(np.where(q == 0, linear, np.sqrt(budget / 2)), parts),
        },
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis has at most this risk, in"
        " terms of its prior mass.",
        reference="Herbrich (2002), Theorems 5.1 and 5.6",
        assumptions=(IID, PRIOR_FIRST),
    )


@recorded()
def gibbs_bound(m: Any, delta: Any, log_prior_mass: Any, training_error: Any = 0.0) -> Bound:
    r"""Risk of the Gibbs classifier on a subset H of version space, all subsets at once.

    .. math:: \frac1m\Big(\ln\frac1{P(H)}+2\ln m+\ln\frac1\delta+1\Big)

    `pac_bayes_kl` with ``kl=-log_prior_mass`` is always smaller.

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    log_prior_mass : float
        :math:`\ln P(H)`; for the whole version space the log evidence of the PAC likelihood.

    Examples
    --------
    >>> round(gibbs_bound(1000, 0.05, np.log(0.01)).value, 11)
    0.02241641302
    """
    m, delta, parts = _gibbs_parts(m, delta, log_prior_mass)
    _zero(training_error, "gibbs_bound", "gibbs_bound_errors")
    return assemble(
        "Gibbs bound",
        parts,
        delta=delta,
        statement="With probability at least 1 - delta, for every subset of version space at once,"
        " the classifier drawn from it has at most this risk.",
        reference="Herbrich (2002), Theorem 5.2",
        assumptions=(IID, PRIOR_FIRST, ZERO_ERROR, PAC_LIKELIHOOD, GIBBS),
    )


def bayes_from_gibbs(gibbs_risk: Any, n_classes: int = 2, form: str = "tight") -> Any:
    r"""Risk of the vote from the risk of the Gibbs classifier: at most twice as large.

    Where the vote errs the true class has a share of at most 1/2, whatever the number of
    classes. ``form="book"`` gives the factor :math:`|\mathcal Y|` of Herbrich (2002), Lemma 5.3.

    Examples
    --------
    >>> bayes_from_gibbs(0.1, n_classes=5), bayes_from_gibbs(0.1, n_classes=5, form="book")
    (0.2, 0.5)
    """
    risk = domain.positive(gibbs_risk, "gibbs_risk", zero=True)
    classes = domain.count(n_classes, "n_classes", least=2)
    out = (2.0 if domain.choice(form, "form", ("tight", "book")) == "tight" else classes) * risk
    return out.item() if np.ndim(out) == 0 else out


@recorded()
def bayes_bound(
    m: Any, delta: Any, log_prior_mass: Any, n_classes: int = 2, form: str = "tight"
) -> Bound:
    r"""Risk of the Bayes classifier over version space V: twice the Gibbs bound.

    .. math:: \frac2m\Big(\ln\frac1{P(V)}+2\ln m+\ln\frac1\delta+1\Big)

    Examples
    --------
    >>> round(bayes_bound(1000, 0.05, np.log(0.01)).value, 11)
    0.04483282604
    """
    m, delta, parts = _gibbs_parts(m, delta, log_prior_mass)
    return assemble(
        "Bayes bound",
        {key: bayes_from_gibbs(part, n_classes, form) for key, part in parts.items()},
        delta=delta,
        statement="With probability at least 1 - delta the vote of all consistent classifiers,"
        " weighted by the prior, has at most this risk.",
        reference="Herbrich (2002), Theorem 5.4",
        assumptions=(IID, PRIOR_FIRST, ZERO_ERROR, PAC_LIKELIHOOD),
    )


def evidence_selection_bound(
    log_evidences: Sequence[float],
    m: int,
    delta: float = 0.05,
    prior: Sequence[float] | None = None,
) -> Selection:
    r"""Evidence maximisation over a few models, each at its share of delta.

    .. math:: \frac2m\Big(-\ln P^{(i)}(V)+\ln\frac1{P_S(i)}+2\ln m+\ln\frac1\delta+1\Big)

    Parameters
    ----------
    log_evidences : sequence of float
        Log evidence of the PAC likelihood (log prior volume of version space) per model.
    m, delta : int, float
        Sample size, failure probability of all statements together.
    prior : sequence of float, optional
        Weights of the models, fixed before the data; uniform by default.

    Examples
    --------
    >>> evidence_selection_bound([-30, -20, -40], 1000).best
    1
    """
    evidences = np.atleast_1d(domain.log_mass(log_evidences, "log_evidences"))
    weights = domain.prior_vector(prior, len(evidences))
    if len(weights) != len(evidences):
        raise ValueError("log_evidences and prior must have equal length")
    each = float(domain.failure(delta)) * weights
    found = tuple(bayes_bound(m, d, e) for d, e in zip(each, evidences, strict=True))
    return Selection(int(np.argmin([bound.raw for bound in found])), found)


@recorded()
def gibbs_bound_errors(
    m: Any, delta: Any, gibbs_training_error: Any, log_prior_mass: Any, sharp: bool = False
) -> Bound:
    r"""Risk of the Gibbs classifier on any subset H of hypothesis space, with training errors.

    .. math:: \hat R_H+\sqrt{\frac1{2m}\Big(\ln\frac1{P(H)}+2\ln m+\ln\frac1\delta\Big)}+\frac1m

    With ``sharp`` the root is multiplied by :math:`\sqrt{(m-1)/m}`, as the proof allows.

    Examples
    --------
    >>> round(gibbs_bound_errors(1000, 0.05, 0.1, np.log(0.01)).value, 10)
    0.2044804644
    """
    m, delta = domain.size(m), domain.failure(delta)
    q = domain.unit(gibbs_training_error, "gibbs_training_error")
    parts = {
        "prior": -domain.log_mass(log_prior_mass, "log_prior_mass"),
        "confidence": 2 * np.log(m) - np.log(delta),
    }
    root = np.sqrt((parts["prior"] + parts["confidence"]) / (2 * m))
    if sharp:
        root = root * np.sqrt((m - 1) / m)
    return assemble(
        "Gibbs bound with errors",
        {"Gibbs training error": q, **share(root, parts), "discretisation": 1 / m},
        delta=delta,
        statement="With probability at least 1 - delta, for every subset of hypotheses at once,"
        " the classifier drawn from it has at most this risk.",
        reference="Herbrich (2002), Theorem 5.6",
        assumptions=(IID, PRIOR_FIRST, GIBBS),
    )


def log_orthant_probability(gram: Any, y: Any) -> float:
    r"""Log prior mass of version space for a Gaussian process.

    .. math:: \ln P(y_if(x_i)>0\ \forall i),\qquad f\sim N(0,G)

    Closed forms for up to three points (arcsines), numerical integration up to twenty.

    Examples
    --------
    >>> round(float(np.exp(log_orthant_probability([[1.0, 0.5], [0.5, 1.0]], [1, 1]))), 12)
    0.333333333333
    """
    G = domain.square(gram)
    y = domain.labels(y, len(G))
    scale = np.sqrt(np.diag(G))
    if (scale <= 0).any():
        raise ValueError("an input with zero feature norm has an undetermined sign")
    rho = np.clip((y[:, None] * G * y) / np.outer(scale, scale), -1.0, 1.0)
    m = len(G)
    if m == 1:
        return -LN2
    if m <= 3:
        angles = np.arcsin(rho[np.triu_indices(m, 1)]).sum()
        quarter = 0.25 + angles / (2 * np.pi) if m == 2 else 0.125 + angles / (4 * np.pi)
        with np.errstate(divide="ignore"):
            return float(np.log(max(quarter, 0.0)))
    if m > 20:
        raise ValueError(
            f"orthant probabilities are integrated for up to 20 points, got {m};"
            " sample version space instead"
        )
    from scipy.stats import multivariate_normal

    normal = multivariate_normal(np.zeros(m), rho, allow_singular=True, seed=0)
    with np.errstate(divide="ignore"):
        return float(np.log(normal.cdf(np.zeros(m), rng=np.random.default_rng(0))))


def _gibbs_parts(m: Any, delta: Any, log_prior_mass: Any) -> tuple[Any, Any, dict[str, Any]]:
    m, delta = domain.size(m), domain.failure(delta)
    log_mass = domain.log_mass(log_prior_mass, "log_prior_mass")
    return (
        m,
        delta,
        {"prior": -log_mass / m, "confidence": (2 * np.log(m) - np.log(delta) + 1) / m},
    )


def _zero(training_error: Any, name: str, alternative: str) -> None:
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"{name} needs zero training error, got {training_error!r}; use {alternative}"
        )
