"""certify: every bound that a fitted classifier admits, and why the others do not apply."""

import dataclasses
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._candidates import (
    CANDIDATES,
    GIBBS,
    VOTE,
    Candidate,
    Inapplicable,
)
from bayeskern.classic.bounds._facts import Facts, latent_gaussian, refit, signs, split
from bayeskern.classic.bounds.holdout import test_set_bound
from bayeskern.classic.bounds.pac_bayes import (
    pac_bayes_kl,
    pac_bayes_lambda,
    pac_bayes_mcallester,
)
from bayeskern.classic.bounds.result import Bound, assemble
from bayeskern.classic.bounds.update import gaussian_update

TEMPERATURES = (0.0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
SHARPNESS = (1.0, 1 / 2, 1 / 4, 1 / 8)  # factors of the prior's standard deviations


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
        """Smallest rigorous bound on the risk of the classifier itself, with delta shared out."""
        fixed = [row.shared for row in self.applicable if row.of != GIBBS and row.shared]
        return min((f for f in fixed if f.rigorous), key=lambda f: f.raw, default=None)

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
