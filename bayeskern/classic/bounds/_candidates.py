"""What each bound asks of a fitted classifier, and when it does not apply."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayeskern.classic.bounds._facts import Facts
from bayeskern.classic.bounds.caps import pac_bayes_margin_bound
from bayeskern.classic.bounds.compression import compression_bound, lossy_compression_bound
from bayeskern.classic.bounds.gaussian import pac_bayes_linear
from bayeskern.classic.bounds.gibbs import bayes_bound, gibbs_bound
from bayeskern.classic.bounds.luckiness import empirical_vc_luckiness_bound
from bayeskern.classic.bounds.margin import pac_margin_bound, robust_margin_bound
from bayeskern.classic.bounds.online import mistake_compression_bound
from bayeskern.classic.bounds.pac_bayes import (
    pac_bayes_kl,
    pac_bayes_lambda,
    pac_bayes_mcallester,
)
from bayeskern.classic.bounds.rademacher import rademacher_margin_bound
from bayeskern.classic.bounds.result import Bound
from bayeskern.classic.bounds.stability import svm_stability_bound
from bayeskern.classic.bounds.vc import vc_bound

GIBBS, VOTE, FIXED = "a draw from the posterior", "the vote", "the classifier"
SPLIT_HINT = "certify(..., prior_fraction=0.5) learns them on one part and counts on the other"

Candidate = Callable[[Any], Callable[[float], Bound]]


class Inapplicable(Exception):
    """A bound that does not apply, with the reason."""


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


def _estimated(facts: Facts) -> bool:
    """Whether a volume or a Gibbs risk comes from a sampler, without a confidence limit."""
    sampled = bool(facts.get("gibbs_risk_sampled", False))
    return sampled or (facts.kind == "bayes_point" and not facts.get("log_volume_exact", False))


def _of_volume(function: Callable[[int, float, float], Bound]) -> Candidate:
    def candidate(facts: Facts) -> Callable[[float], Bound]:
        volume, exact = _volume(facts), not _estimated(facts)
        return lambda delta: dataclasses.replace(function(facts.m, delta, volume), rigorous=exact)

    return candidate


def _volume_kl(m: int, delta: float, volume: float) -> Bound:
    return pac_bayes_kl(m, delta, 0.0, -volume)


def _posterior(function: Callable[..., Bound]) -> Candidate:
    def candidate(facts: Facts) -> Callable[[float], Bound]:
        _fixed_beforehand(facts)
        kl, q = _need(facts, "kl", "gibbs_risk")
        exact = not _estimated(facts)
        return lambda delta: dataclasses.replace(function(facts.m, delta, q, kl), rigorous=exact)

    return candidate


def _held_out(facts: Facts) -> Callable[[float], Bound]:
    raise Inapplicable("all examples were trained on; prior_fraction sets some aside")


CANDIDATES: Mapping[str, tuple[str, Candidate]] = {
    "PAC-Bayes-kl": (GIBBS, _posterior(pac_bayes_kl)),
    "PAC-Bayes-lambda": (GIBBS, _posterior(pac_bayes_lambda)),
    "McAllester": (GIBBS, _posterior(pac_bayes_mcallester)),
    "PAC-Bayes, linear": (GIBBS, _linear),
    "PAC-Bayes, margin": (FIXED, _cap),
    "version space, kl": (GIBBS, _of_volume(_volume_kl)),
    "version space, Gibbs": (GIBBS, _of_volume(gibbs_bound)),
    "version space, Bayes": (VOTE, _of_volume(bayes_bound)),
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
