"""Compression: a classifier that a few of its examples determine cannot overfit by much."""

from typing import Any

import numpy as np
from scipy.special import gammaln

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2, log_binomial, tail_inverse
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded, share

SCHEME = "the same algorithm run on the compression set alone returns the same classifier"


def _choices(m: Any, d: Any, ordered: bool, extra_bits: Any = 0) -> np.ndarray:
    """Log number of ways to pick (and order) d examples, plus side information."""
    inside = np.minimum(d, m)
    order = gammaln(inside + 1) if ordered else 0.0
    return log_binomial(m, inside) + order + domain.count(extra_bits, "extra_bits") * LN2


@recorded()
def compression_bound(
    m: Any,
    d: Any,
    delta: Any = 0.05,
    *,
    ordered: bool = False,
    extra_bits: Any = 0,
    method: str = "exact",
    training_error: Any = 0.0,
) -> Bound:
    r"""Risk of a consistent classifier that d of its m examples determine.

    .. math:: R\le1-e^{-c},\qquad c=\frac1{m-d}\Big(\ln\binom md+[\ln d!]+b\ln2+\ln m
              +\ln\frac1\delta\Big)

    Parameters
    ----------
    m, d : int
        Sample size, size of the compression set (support vectors, or examples updated on).
    delta : float
        Failure probability.
    ordered : bool
        True only if the compression set comes in an arbitrary order, as for a perceptron with
        reshuffled epochs; a sorted set costs no factorial.
    extra_bits : int
        Side information b; it costs :math:`b\ln2/(m-d)`, not the printed b/m.
    method : {"exact", "book", "simple"}
        "book" is c itself, "simple" :math:`\frac2m(d\ln\frac{em}d+\ln m+\ln\frac1\delta)`.

    Examples
    --------
    >>> round(compression_bound(100, 5).value, 10)
    0.2373251203
    """
    m, d, delta = domain.size(m), domain.count(d, "d"), domain.failure(delta)
    domain.choice(method, "method", ("exact", "book", "simple"))
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"compression_bound needs zero training error, got {training_error!r};"
            " use lossy_compression_bound"
        )
    parts = {
        "compression set": _choices(m, d, ordered, extra_bits),
        "confidence": np.log(m) - np.log(delta),
    }
    if method == "simple":
        safe = np.where(d > 0, d, 1.0)
        parts["compression set"] = np.where(d > 0, d * np.log(np.e * m / safe), 0.0)
        terms = {key: 2 * part / m for key, part in parts.items()}
    else:
        c = sum(parts.values(), np.zeros(())) / (m - d)
        terms = share(-np.expm1(-c) if method == "exact" else c, parts)
    return assemble(
        "compression bound",
        terms,
        delta=delta,
        statement="With probability at least 1 - delta every consistent classifier that d of the"
        " examples determine has at most this risk.",
        reference="Herbrich (2002), Theorem 5.17; Littlestone and Warmuth (1986)",
        assumptions=(IID, ZERO_ERROR, SCHEME),
        conditions={"d < m": d < m},
    )


@recorded(proportional=("mistakes",))
def lossy_compression_bound(
    m: Any,
    d: Any,
    mistakes: Any,
    delta: Any = 0.05,
    *,
    ordered: bool = False,
    method: str = "tail",
    outside_only: bool = True,
) -> Bound:
    r"""Risk of a classifier that d examples determine and that errs on some of the others.

    "hoeffding":
    :math:`\frac q{m-d}+\sqrt{\frac{\ln\binom md+[\ln d!]+2\ln m+\ln(1/\delta)}{2(m-d)}}`;
    "tail": the largest p with
    :math:`P(\mathrm{Bin}(m-d,p)\le q)\ge\delta/(m\binom md)`, always smaller.

    Parameters
    ----------
    m, d : int
        Sample size, size of the compression set.
    mistakes : int
        Number q of training mistakes.
    delta : float
        Failure probability.
    ordered : bool
        As in `compression_bound`.
    method : {"tail", "hoeffding"}
        The exact binomial tail, or Herbrich (2002), Theorem 5.18.
    outside_only : bool
        Whether ``mistakes`` counts only those outside the compression set, as the proofs allow.
        If it counts all, the bound holds too: it is then only larger.

    Examples
    --------
    >>> round(lossy_compression_bound(1000, 50, 50).value, 10)
    0.3154037997
    """
    m, d, delta = domain.size(m), domain.count(d, "d"), domain.failure(delta)
    k = domain.count(mistakes, "mistakes")
    if outside_only and ((k > m - d) & (d < m)).any():
        raise ValueError(
            f"mistakes outside the compression set are at most m - d, got {mistakes!r}"
        )
    domain.choice(method, "method", ("tail", "hoeffding"))
    rest = np.maximum(m - d, 1)
    k = np.minimum(k, rest)
    log_choices = _choices(m, d, ordered)
    rate = k / rest
    if method == "tail":
        parts = {"compression set": log_choices, "confidence": np.log(m) - np.log(delta)}
        value = tail_inverse(k, rest, np.log(delta) - np.log(m) - log_choices)
        terms = {"mistakes": rate, **share(value - rate, parts)}
    else:
        parts = {"compression set": log_choices, "confidence": 2 * np.log(m) - np.log(delta)}
        root = np.sqrt((log_choices + parts["confidence"]) / (2 * rest))
        terms = {"mistakes": rate, **share(root, parts)}
    return assemble(
        "lossy compression bound",
        terms,
        delta=delta,
        statement="With probability at least 1 - delta every classifier that d of the examples"
        " determine has at most this risk, in terms of its mistakes on the others.",
        reference="Langford (2005); Herbrich (2002), Theorem 5.18",
        assumptions=(IID, SCHEME),
        conditions={"d < m": d < m},
    )


NOT_A_SCHEME = {
    "rvm": "the relevance vector machine",
    "gp": "a Gaussian process",
    "ridge": "kernel ridge regression",
    "bayes_point": "the Bayes point machine",
    "fisher": "the Fisher discriminant",
}


def compression_set(estimator: Any) -> np.ndarray:
    """Indices of the training examples that determine a fitted classifier.

    Support vectors of an SVM, examples updated on by a perceptron; other learners depend on
    all their examples and are refused. An SVM refitted on its support vectors is the same only
    if the box C is kept, not the regularisation constant lambda.

    Parameters
    ----------
    estimator : object
        With ``support_`` (as scikit-learn's SVC), or a name of its kind in ``kind``.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> compression_set(SVC(kernel="linear").fit([[0.0], [1.0], [5.0]], [-1, 1, 1])).tolist()
    [0, 1]
    """
    kind = getattr(estimator, "kind", None) or type(estimator).__name__.lower()
    for key, label in NOT_A_SCHEME.items():
        if key in kind or key.replace("_", "") in kind:
            raise ValueError(
                f"{label} is not a compression scheme: its coefficients depend on all examples"
            )
    support = getattr(estimator, "support_", None)
    if support is None:
        raise ValueError(f"{type(estimator).__name__} does not tell its support_")
    return np.sort(np.asarray(support))
