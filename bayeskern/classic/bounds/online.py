"""Mistake bounds of on-line learners and what they say about the risk."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.compression import SCHEME, compression_bound
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded, share


def perceptron_mistake_bound(radius: Any, margin: Any) -> Any:
    r"""Most updates a perceptron makes, :math:`(\max_i\|x_i\|/\gamma)^2` (Novikoff 1962).

    The radius is that of the sample, the margin that of any separating w; the hard-margin SVM
    gives the smallest value. It is never rounded down: in floating point the bound of an
    orthonormal set of six falls just below its six mistakes.

    Examples
    --------
    >>> round(perceptron_mistake_bound(1.0, 0.5), 9)
    4.0
    """
    radius, margin = domain.positive(radius, "radius"), domain.positive(margin, "margin")
    if (margin > radius * (1 + 1e-12)).any():
        raise ValueError(
            f"margin {margin.max().item()!r} exceeds radius {radius.max().item()!r};"
            " no vector inside the ball can have it"
        )
    out = (radius / margin) ** 2 * (1 + 1e-12)
    return out.item() if np.ndim(out) == 0 else out


def halving_mistake_bound(n_hypotheses: Any) -> Any:
    r"""Most mistakes of the halving algorithm, :math:`\lfloor\mathrm{ld}|\mathcal H|\rfloor`.

    It must predict with the majority vote: members of the surviving set need not be consistent.

    Examples
    --------
    >>> halving_mistake_bound(1000)
    9
    """
    if isinstance(n_hypotheses, int) and not isinstance(n_hypotheses, bool) and n_hypotheses >= 1:
        return n_hypotheses.bit_length() - 1
    count = domain.count(n_hypotheses, "n_hypotheses", least=1)
    out = (np.frexp(count)[1] - 1).astype(int)
    return out.item() if out.ndim == 0 else out


@recorded()
def mistake_compression_bound(
    m: Any, mistakes: Any, delta: Any = 0.05, form: str = "distinct", training_error: Any = 0.0
) -> Bound:
    r"""Risk of a mistake-driven learner run until it is consistent.

    Parameters
    ----------
    m : int
        Sample size.
    mistakes : int
        Number M of updates, or an a-priori bound of it; for "distinct" the number of distinct
        examples updated on.
    delta : float
        Failure probability.
    form : {"distinct", "sorted", "book"}
        "book": :math:`\frac2m(M\ln(em)+\ln m+\ln\frac1\delta)`; "sorted" has
        :math:`M\ln\frac{em}M` and needs :math:`M\le m`; "distinct" is `compression_bound`.

    Examples
    --------
    >>> round(mistake_compression_bound(1000, 10).value, 11)
    0.06244161624
    """
    m, delta = domain.size(m), domain.failure(delta)
    M = domain.positive(mistakes, "mistakes", zero=True)
    domain.choice(form, "form", ("distinct", "sorted", "book"))
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"mistake_compression_bound needs zero training error, got {training_error!r};"
            " use lossy_compression_bound"
        )
    if form == "distinct":
        return compression_bound(m, np.ceil(M), delta)
    safe = np.where(M > 0, M, 1.0)
    choices = M * np.log(np.e * m) if form == "book" else M * np.log(np.e * m / safe)
    return assemble(
        "mistake bound",
        {"mistakes": 2 * choices / m, "confidence": 2 * (np.log(m) - np.log(delta)) / m},
        delta=delta,
        statement="With probability at least 1 - delta a mistake-driven learner that makes this"
        " many updates until it is consistent has at most this risk.",
        reference="Herbrich (2002), Theorem 5.23",
        assumptions=(IID, ZERO_ERROR, SCHEME),
        conditions={"mistakes <= m": np.asarray(form == "book") | (M <= m)},
    )


@recorded()
def longest_survivor_bound(m: Any, delta: Any, mistake_bound: Any) -> Bound:
    r"""Risk of the hypothesis that survived longest in a single pass over the sample.

    .. math:: R\le\ln\frac{M+1}\delta\Big/\Big\lceil\frac{m-M}{M+1}\Big\rceil

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    mistake_bound : int
        Most mistakes M < m of the on-line learner, known beforehand.

    Examples
    --------
    >>> round(longest_survivor_bound(1000, 0.05, 10).value, 11)
    0.05992919496
    """
    m, delta = domain.size(m), domain.failure(delta)
    M = domain.count(mistake_bound, "mistake_bound")
    run = np.ceil((np.maximum(m, M + 1) - M) / (M + 1))
    parts = {"mistakes": np.log1p(M), "confidence": -np.log(delta)}
    return assemble(
        "longest-survivor bound",
        share((parts["mistakes"] + parts["confidence"]) / run, parts),
        delta=delta,
        statement="With probability at least 1 - delta the hypothesis with the longest run without"
        " mistakes in one pass over the sample has at most this risk.",
        reference="Gallant (1990); Littlestone (1989)",
        assumptions=(IID, "a single pass", "the mistake bound was known before the sample"),
        conditions={"mistake_bound < m": M < m},
        ingredients={"longest_run": run},
    )
