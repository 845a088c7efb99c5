"""certify: every bound that a fitted classifier admits, and why the others do not apply."""

import dataclasses
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._facts import Facts, latent_gaussian, refit, signs, split
from bayeskern.classic.bounds.caps import pac_bayes_margin_bound
from bayeskern.classic.bounds.compression import compression_bound, lossy_compression_bound
from bayeskern.classic.bounds.gaussian import pac_bayes_linear
from bayeskern.classic.bounds.gibbs import bayes_bound, gibbs_bound
from bayeskern.classic.bounds.holdout import test_set_bound
from bayeskern.classic.bounds.luckiness import empirical_vc_luckiness_bound
from bayeskern.classic.bounds.margin import pac_margin_bound, robust_margin_bound
from bayeskern.classic.bounds.online import mistake_compression_bound
from bayeskern.classic.bounds.pac_bayes import (
    pac_bayes_kl,
    pac_bayes_lambda,
    pac_bayes_mcallester,
)
from bayeskern.classic.bounds.rademacher import rademacher_margin_bound
from bayeskern.classic.bounds.result import Bound, assemble
from bayeskern.classic.bounds.stability import svm_stability_bound
from bayeskern.classic.bounds.update import gaussian_update
from bayeskern.classic.bounds.vc import vc_bound

GIBBS, VOTE, FIXED = "a draw from the posterior", "the vote", "the classifier"
SPLIT_HINT = "certify(..., prior_fraction=0.5) learns them on one part and counts on the other"
TEMPERATURES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
SHARPNESS = (1.0, 1 / 2, 1 / 4, 1 / 8)  # factors of the prior's standard deviations


class Inapplicable(Exception):
    """A bound that does not apply, with the reason."""


@dataclass(frozen=True, eq=False)
class Row:
    """One line of a certificate.

    Attributes
    ----------
    name : str
        The bound.
    of : str
        Whose risk it bounds: the classifier, the vote, or a draw from the posterior.
    alone : Bound or None
        At the full delta: valid if this bound was the one chosen beforehand.
    shared : Bound or None
        At its share of delta: all rows hold together, so the smallest may be picked.
    reason : str
        Why it does not apply; empty if it does.
    """

    name: str
    of: str
    alone: Bound | None = None
    shared: Bound | None = None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Every bound for one fitted classifier, smallest first, then those that do not apply.

    Attributes
    ----------
    rows : tuple of Row
        Sorted by value.
    delta : float
        Failure probability of each ``alone`` value, and of all ``shared`` ones together.
    m : int
        Number of examples whose errors were counted.
    """

    rows: tuple[Row, ...]
    delta: float
    m: int

    @property
    def applicable(self) -> tuple[Row, ...]:
        """The rows with a value."""
        return tuple(row for row in self.rows if not row.reason)

    @property
    def refused(self) -> dict[str, str]:
        """Bounds that do not apply, and why."""
        return {row.name: row.reason for row in self.rows if row.reason}

    @property
    def best(self) -> Bound | None:
        """Smallest bound on the risk of the classifier itself, with delta shared out."""
        fixed = [row.shared for row in self.applicable if row.of != GIBBS and row.shared]
        return min(fixed, key=lambda bound: bound.raw, default=None)

    def __getitem__(self, name: str) -> Bound:
        for row in self.rows:
            if row.name == name:
                if row.alone is None:
                    raise KeyError(f"{name} does not apply: {row.reason}")
                return row.alone
        raise KeyError(f"no bound named {name!r}; there are {', '.join(r.name for r in self.rows)}")

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        lines = [
            f"{self.m} examples counted, delta = {self.delta:g}",
            f"{'bound':<{width}}  {'alone':>8}  {'shared':>8}  of",
        ]
        for row in self.applicable:
            note = "" if row.alone and row.alone.rigorous else "  (heuristic)"
            values = [_cell(row.alone), _cell(row.shared)]
            lines.append(f"{row.name:<{width}}  {values[0]:>8}  {values[1]:>8}  {row.of}{note}")
        reasons: dict[str, list[str]] = {}
        for name, reason in self.refused.items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            text = f"{'; '.join(names)}: {reason}"
            lines += textwrap.wrap(
                text, 96, initial_indent="does not apply: ", subsequent_indent="  "
            )
        return "\n".join(lines)


def _cell(bound: Bound | None) -> str:
    if bound is None or math.isinf(bound.raw):
        return "vacuous"
    return f"{bound.value:.4f}" if not bound.vacuous else "vacuous"


def certify(
    fitted: Any,
    X: Any,
    y: Any,
    delta: float = 0.05,
    prior_fraction: float | None = None,
    *,
    random_state: int = 0,
) -> Certificate:
    r"""Return every bound on the risk of a fitted classifier that its training sample admits.

    Parameters
    ----------
    fitted : estimator
        A fitted classifier. What it knows of itself is read from its method
        ``certificate_inputs(X, y)`` if there is one, else from ``predict``.
    X, y : arrays
        The sample it was fitted on.
    delta : float
        Failure probability.
    prior_fraction : float, optional
        If hyperparameters were set on the sample, no prior was fixed before it and nothing can
        be said. With a fraction, a copy is fitted on that part of the sample, hyperparameters
        included. Its posterior is the prior of PAC-Bayes bounds that count errors on the other
        part only, for the posterior updated with that part; a test-set bound for the copy
        itself stands beside it. Four priors are tried, standard deviations times 1, 1/2, 1/4 and
        1/8, with delta shared out among them: a draw from a wide posterior errs more often than
        its mean does.
    random_state : int
        Seed of the split.

    Returns
    -------
    Certificate
        A table, smallest value first; print it.

    Notes
    -----
    The column ``shared`` divides delta by the number of bounds tried, a number fixed in
    advance, so that all of them hold together and the smallest may be picked.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X = np.random.default_rng(0).standard_normal((300, 2)) + 2
    >>> X[150:] -= 4
    >>> y = np.repeat([1, -1], 150)
    >>> certificate = certify(SVC(kernel="linear").fit(X, y), X, y)
    >>> certificate.applicable[0].name
    'compression'
    """
    delta = float(domain.failure(delta))
    if prior_fraction is not None:
        if not 0 < float(prior_fraction) < 1:
            raise ValueError(f"prior_fraction must lie in (0, 1), got {prior_fraction!r}")
        return _certify_split(fitted, X, y, delta, float(prior_fraction), random_state)
    facts = Facts.read(fitted, X, y)
    return _table(CANDIDATES, facts, delta, facts.m)


Candidate = Callable[[Any], Callable[[float], Bound]]


def _table(
    candidates: Mapping[str, tuple[str, Candidate]], facts: Any, delta: float, m: int
) -> Certificate:
    """Try each candidate at delta and at an equal share of it."""
    rows: list[Row] = []
    share = delta / len(candidates)
    for name, (of, candidate) in candidates.items():
        try:
            bound = candidate(facts)
        except Inapplicable as why:
            rows.append(Row(name, of, reason=str(why)))
            continue
        alone, shared = bound(delta), bound(share)
        rows.append(Row(name, of, alone, shared))
        if of == GIBBS:  # the same event bounds the vote, so no further delta is spent
            rows.append(Row(f"{name}, vote", VOTE, twice(alone), twice(shared)))
    rows.sort(key=lambda row: math.inf if row.alone is None else row.alone.raw)
    return Certificate(tuple(rows), delta, m)


def twice(bound: Bound) -> Bound:
    """Return the bound of the vote from that of the Gibbs classifier."""
    return assemble(
        f"{bound.name}, vote",
        {name: 2 * term for name, term in bound.terms.items()},
        delta=bound.delta,
        statement="The vote has at most twice the risk of the Gibbs classifier. " + bound.statement,
        reference=bound.reference,
        assumptions=bound.assumptions,
        rigorous=bound.rigorous,
        ingredients=bound.ingredients,
    )


def _need(facts: Facts, *keys: str) -> list[Any]:
    missing = [key for key in keys if facts.get(key) is None]
    if missing:
        raise Inapplicable(f"the estimator does not tell its {' and '.join(missing)}")
    return [facts[key] for key in keys]


def _fixed_beforehand(facts: Facts) -> None:
    if facts.get("prior_depends_on_data"):
        raise Inapplicable(
            f"hyperparameters were set on this very sample, which voids the prior; {SPLIT_HINT}"
        )


def _consistent(facts: Facts, alternative: str) -> None:
    if facts.mistakes:
        raise Inapplicable(
            f"needs zero training error, there are {facts.mistakes} mistakes; see {alternative}"
        )


def _no_offset(facts: Facts) -> None:
    if facts.get("offset"):
        raise Inapplicable(
            "stated for classifiers through the origin; refit with the constant feature kernel"
            " k + c**2"
        )


def _compression(facts: Facts) -> Callable[[float], Bound]:
    _fixed_beforehand(facts)
    if facts.kind not in ("svm", "perceptron"):
        raise Inapplicable(f"{facts.label} is not a compression scheme: it depends on all examples")
    (d,) = _need(facts, "n_support")
    if facts.mistakes == 0:
        return lambda delta: compression_bound(facts.m, d, delta)
    outside = facts.get("mistakes_outside", min(facts.mistakes, facts.m - d))
    return lambda delta: lossy_compression_bound(facts.m, d, outside, delta)


def _mistakes(facts: Facts) -> Callable[[float], Bound]:
    if facts.kind != "perceptron":
        raise Inapplicable("only for learners driven by their mistakes")
    _fixed_beforehand(facts)
    _consistent(facts, "compression")
    (updates,) = _need(facts, "n_mistakes")
    return lambda delta: mistake_compression_bound(facts.m, updates, delta, "sorted")


def _geometry(facts: Facts) -> tuple[np.ndarray, float]:
    """Geometrical margins and radius."""
    _fixed_beforehand(facts)
    _no_offset(facts)
    margins, norm, radius = _need(facts, "margins", "norm", "radius")
    return np.asarray(margins) / norm, float(radius)


def _radius_known(facts: Facts) -> bool:
    """Whether the largest length is that of every input, rather than read off the sample."""
    if facts.get("radius_from_sample") is not None:
        return not facts["radius_from_sample"]
    trace, radius = facts.get("kernel_trace"), facts.get("radius")
    return trace is not None and math.isclose(trace, facts.m * radius**2, rel_tol=1e-9)


def _margin(facts: Facts) -> Callable[[float], Bound]:
    margins, radius = _geometry(facts)
    _consistent(facts, "robust margin")
    known = _radius_known(facts)
    low = min(float(margins.min()), radius)
    return lambda delta: pac_margin_bound(facts.m, delta, low, radius, rigorous_radius=known)


def _robust(facts: Facts) -> Callable[[float], Bound]:
    margins, radius = _geometry(facts)
    known = _radius_known(facts)
    return lambda delta: robust_margin_bound(facts.m, delta, margins, radius, rigorous_radius=known)


def _normalised(facts: Facts) -> np.ndarray:
    if facts.get("normalised_margins") is not None:
        _fixed_beforehand(facts)
        _no_offset(facts)
        return np.asarray(facts["normalised_margins"])
    margins, radius = _geometry(facts)
    if not _radius_known(facts) and (margins < 0).any():
        raise Inapplicable("the estimator does not tell its normalised_margins")
    return np.minimum(margins / radius, 1.0)  # the largest length makes positive margins smaller


def _cap(facts: Facts) -> Callable[[float], Bound]:
    gamma = float(_normalised(facts).min())
    _consistent(facts, "PAC-Bayes, linear")
    rank = facts.get("rank") or facts.m
    return lambda delta: pac_bayes_margin_bound(facts.m, delta, gamma, rank, "kl")


def _linear(facts: Facts) -> Callable[[float], Bound]:
    gamma = np.clip(_normalised(facts), -1, 1)
    return lambda delta: pac_bayes_linear(gamma, delta)


def _luckiness(facts: Facts) -> Callable[[float], Bound]:
    _fixed_beforehand(facts)
    _no_offset(facts)
    _consistent(facts, "VC")
    (rank,) = _need(facts, "rank")
    return lambda delta: empirical_vc_luckiness_bound(facts.m, delta, rank)


def _vc(facts: Facts) -> Callable[[float], Bound]:
    _fixed_beforehand(facts)
    (dimension,) = _need(facts, "vc_dim")
    return lambda delta: vc_bound(facts.m, delta, facts.mistakes / facts.m, vc_dim=dimension)


def _lambda(facts: Facts) -> float:
    """Regularisation constant of mean hinge loss + lambda |f|^2."""
    if facts.kind != "svm":
        raise Inapplicable(f"{facts.label} does not minimise a regularised hinge loss")
    _fixed_beforehand(facts)
    _no_offset(facts)
    if facts.get("lambda_") is not None:
        return float(facts["lambda_"])
    (C,) = _need(facts, "C")
    if not math.isfinite(C):
        raise Inapplicable("a hard margin has no regularisation, hence no stability")
    return 1 / (2 * C * facts.m)


def _stability(facts: Facts) -> Callable[[float], Bound]:
    lam = _lambda(facts)
    margins, radius = _need(facts, "margins", "radius")
    ones, known = np.ones(facts.m), _radius_known(facts)
    return lambda delta: dataclasses.replace(
        svm_stability_bound(facts.m, delta, margins, ones, lam, radius**2), rigorous=known
    )


def _rademacher(facts: Facts) -> Callable[[float], Bound]:
    lam = _lambda(facts)
    margins, radius = _need(facts, "margins", "radius")
    # lambda |f|^2 <= hinge loss of f = 0, which is 1: a norm bound known beforehand
    known = _radius_known(facts)
    return lambda delta: dataclasses.replace(
        rademacher_margin_bound(facts.m, delta, margins, lam**-0.5, radius), rigorous=known
    )


def _volume(facts: Facts) -> float:
    if facts.kind != "bayes_point" and facts.get("evidence_kind") not in ("pac", "volume"):
        raise Inapplicable(
            "no prior volume of version space: its evidence is of another likelihood"
        )
    _fixed_beforehand(facts)
    _consistent(facts, "PAC-Bayes-kl")
    key = "log_volume" if facts.get("log_volume") is not None else "log_evidence"
    (volume,) = _need(facts, key)
    return min(float(volume), 0.0)


def _gibbs(facts: Facts) -> Callable[[float], Bound]:
    volume = _volume(facts)
    return lambda delta: gibbs_bound(facts.m, delta, volume)


def _bayes(facts: Facts) -> Callable[[float], Bound]:
    volume = _volume(facts)
    return lambda delta: bayes_bound(facts.m, delta, volume)


def _volume_kl(facts: Facts) -> Callable[[float], Bound]:
    volume = _volume(facts)
    return lambda delta: pac_bayes_kl(facts.m, delta, 0.0, -volume)


def _posterior(function: Callable[..., Bound]) -> Candidate:
    def candidate(facts: Facts) -> Callable[[float], Bound]:
        _fixed_beforehand(facts)
        kl, q = _need(facts, "kl", "gibbs_risk")
        return lambda delta: function(facts.m, delta, q, kl)

    return candidate


def _held_out(facts: Facts) -> Callable[[float], Bound]:
    raise Inapplicable("all examples were trained on; prior_fraction sets some aside")


CANDIDATES: Mapping[str, tuple[str, Candidate]] = {
    "PAC-Bayes-kl": (GIBBS, _posterior(pac_bayes_kl)),
    "PAC-Bayes-lambda": (GIBBS, _posterior(pac_bayes_lambda)),
    "McAllester": (GIBBS, _posterior(pac_bayes_mcallester)),
    "PAC-Bayes, linear": (GIBBS, _linear),
    "PAC-Bayes, margin": (FIXED, _cap),
    "version space, kl": (GIBBS, _volume_kl),
    "version space, Gibbs": (GIBBS, _gibbs),
    "version space, Bayes": (VOTE, _bayes),
    "compression": (FIXED, _compression),
    "mistakes": (FIXED, _mistakes),
    "PAC margin": (FIXED, _margin),
    "robust margin": (FIXED, _robust),
    "stability": (FIXED, _stability),
    "Rademacher margin": (FIXED, _rademacher),
    "luckiness": (FIXED, _luckiness),
    "VC": (FIXED, _vc),
    "test set": (FIXED, _held_out),
}


@dataclass(frozen=True, eq=False)
class Halves:
    """What the split-sample route needs: errors of the copy, and its posterior moved on."""

    m: int
    errors: int
    posterior: tuple[float, float] | None  # KL and Gibbs error of the best tempered update
    reason: str


def _certify_split(
    fitted: Any, X: Any, y: Any, delta: float, fraction: float, random_state: int
) -> Certificate:
    first, rest = split(len(np.asarray(y)), fraction, random_state)
    X1, X2 = _rows(X, first), _rows(X, rest)
    y = np.asarray(y)
    copy = refit(fitted, X1, y[first])
    errors = int((np.asarray(copy.predict(X2)) != y[rest]).sum())
    latent = latent_gaussian(copy, X2)
    if latent is None:
        reason = "the estimator has no Gaussian posterior over latent values"
        halves = Halves(len(rest), errors, None, reason)
    else:
        (mean, cov), target = latent, signs(copy, y[rest])
        found = [
            gaussian_update(mean, s**2 * cov, target, t) for s in SHARPNESS for t in TEMPERATURES
        ]
        # uniform in the posterior, so the weight that makes the bound smallest may be chosen
        best = min(found, key=lambda q: pac_bayes_kl(len(rest), delta, q.gibbs_error, q.kl).raw)
        halves = Halves(len(rest), errors, (best.kl, best.gibbs_error), "")
    return _table(SPLIT_CANDIDATES, halves, delta, len(rest))


def _rows(X: Any, index: np.ndarray) -> Any:
    return X[index] if isinstance(X, np.ndarray) else [X[i] for i in index]


def _split_posterior(function: Callable[..., Bound]) -> Candidate:
    def candidate(halves: Halves) -> Callable[[float], Bound]:
        if halves.posterior is None:
            raise Inapplicable(halves.reason)
        kl, q = halves.posterior
        note = (
            f"the smallest over {len(SHARPNESS)} priors made from the other part of the sample,"
            " delta shared out among them"
        )

        def bound(delta: float) -> Bound:
            found = function(halves.m, delta / len(SHARPNESS), q, kl)
            return dataclasses.replace(found, delta=delta, assumptions=(*found.assumptions, note))

        return bound

    return candidate


def _split_test(halves: Halves) -> Callable[[float], Bound]:
    return lambda delta: test_set_bound(halves.errors, halves.m, delta)


SPLIT_CANDIDATES: Mapping[str, tuple[str, Candidate]] = {
    "PAC-Bayes-kl": (GIBBS, _split_posterior(pac_bayes_kl)),
    "PAC-Bayes-lambda": (GIBBS, _split_posterior(pac_bayes_lambda)),
    "McAllester": (GIBBS, _split_posterior(pac_bayes_mcallester)),
    "test set": ("the classifier fitted on the prior's part", _split_test),
}
