"""PAC-Bayes: the risk of a randomised classifier from its divergence to a prior."""

from typing import Any

import numpy as np
from scipy.special import xlogy

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import excess
from bayeskern.classic.bounds.result import IID, PRIOR_FIRST, Bound, assemble, recorded, share

GIBBS = "it bounds the Gibbs (randomised) classifier; the vote has at most twice the risk"


def kl_inverse(q: Any, c: Any) -> Any:
    r"""Largest p with :math:`\mathrm{kl}(q\|p)\le c`, the binary divergence inverted upwards.

    .. math:: \mathrm{kl}(q\|p)=q\ln\frac qp+(1-q)\ln\frac{1-q}{1-p}

    Parameters
    ----------
    q : float or array
        Empirical risk in [0, 1].
    c : float or array
        Budget, non-negative.

    Returns
    -------
    float or array
        At most :math:`q+\sqrt{c/2}` (Pinsker).

    Examples
    --------
    >>> round(kl_inverse(0.1, 0.01), 10)
    0.1476755393
    """
    q, c = np.broadcast_arrays(domain.unit(q, "q"), domain.positive(c, "c", zero=True))
    with np.errstate(all="ignore"):
        # two upper limits of the increment e = p - q: Pinsker's, and the one for p near 1
        entropy = -xlogy(q, q) - xlogy(1 - q, 1 - q)
        e = np.minimum(np.sqrt(c / 2), (1 - q) * -np.expm1(-(c + entropy) / (1 - q) - np.log1p(-q)))
        for _ in range(100):  # the divergence is convex in e, so Newton's steps stay above the root
            step = (_kl_of_increment(q, e) - c) * (q + e) * (1 - q - e) / e
            step = np.where(np.isfinite(step), np.clip(step, 0.0, e), 0.0)
            e = e - step
            if not (step > 1e-15 * e).any():
                break
    out = np.where(q == 0, -np.expm1(-c), np.where(q == 1, 1.0, np.minimum(q + e, 1.0)))
    return out.item() if out.ndim == 0 else out


def _kl_of_increment(q: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Return kl(q || q + e) as a sum of two positive parts."""
    with np.errstate(all="ignore"):
        ratio = e / q
        upper = np.where(ratio < 0.1, q * excess(ratio), e - xlogy(q, 1 + ratio))
        lower = (1 - q) * excess(-e / (1 - q))
    return np.where(e >= 1 - q, np.inf, np.where(q == 0, e, upper) + lower)


def _maurer(m: Any, delta: Any) -> Any:
    """Return ln(2 sqrt(m) / delta)."""
    return np.log(2 * np.sqrt(m)) - np.log(delta)


def _posterior(m: Any, delta: Any, q: Any, kl: Any) -> tuple:
    return (
        domain.size(m),
        domain.failure(delta),
        domain.unit(q, "gibbs_training_error"),
        domain.divergence(kl),
    )


@recorded()
def pac_bayes_kl(m: Any, delta: Any, gibbs_training_error: Any, kl: Any) -> Bound:
    r"""PAC-Bayes-kl bound (Seeger 2002, Maurer 2004).

    With probability at least :math:`1-\delta`, for all posteriors Q at once,

    .. math:: \mathrm{kl}(\hat R_Q\|R_Q)\le\frac1m\Big(\mathrm{KL}(Q\|P)
              +\ln\frac{2\sqrt m}\delta\Big) .

    The prior P must not depend on the sample: a lengthscale set from the data voids the bound.

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    gibbs_training_error : float
        Average training error of a classifier drawn from Q.
    kl : float
        :math:`\mathrm{KL}(Q\|P)`.

    Examples
    --------
    >>> round(pac_bayes_kl(1000, 0.05, 0.1, 5.0).value, 10)
    0.1531096282
    """
    m, delta, q, kl = _posterior(m, delta, gibbs_training_error, kl)
    parts = {"divergence": kl / m, "confidence": _maurer(m, delta) / m}
    value = np.asarray(kl_inverse(q, parts["divergence"] + parts["confidence"]))
    return assemble(
        "PAC-Bayes-kl bound",
        {"Gibbs training error": q, **share(value - q, parts)},
        delta=delta,
        statement="With probability at least 1 - delta, for every posterior Q at once, the binary"
        " divergence of the Gibbs risks is at most (KL(Q||P) + ln(2 sqrt(m) / delta)) / m.",
        reference="Seeger (2002); Maurer (2004)",
        assumptions=(IID, PRIOR_FIRST, GIBBS),
        ingredients={"kl": kl},
    )


@recorded()
def pac_bayes_mcallester(m: Any, delta: Any, gibbs_training_error: Any, kl: Any) -> Bound:
    r"""McAllester's bound for any posterior.

    .. math:: \hat R_Q+\sqrt{\frac{\mathrm{KL}(Q\|P)+\ln m+\ln\frac1\delta+2}{2m-1}}

    Examples
    --------
    >>> round(pac_bayes_mcallester(1000, 0.05, 0.1, 5.0).value, 10)
    0.1919563579
    """
    m, delta, q, kl = _posterior(m, delta, gibbs_training_error, kl)
    parts = {"divergence": kl, "confidence": np.log(m) - np.log(delta) + 2}
    root = np.sqrt((kl + parts["confidence"]) / (2 * m - 1))
    return assemble(
        "McAllester bound",
        {"Gibbs training error": q, **share(root, parts)},
        delta=delta,
        statement="With probability at least 1 - delta, for every posterior Q at once, the Gibbs"
        " classifier has at most this risk.",
        reference="Herbrich (2002), Remark 5.7; McAllester (1999)",
        assumptions=(IID, PRIOR_FIRST, GIBBS),
        ingredients={"kl": kl},
    )


@recorded()
def pac_bayes_catoni(m: Any, delta: Any, gibbs_training_error: Any, kl: Any, C: Any) -> Bound:
    r"""Catoni's bound at a constant C fixed in advance.

    .. math:: R_Q\le\frac{1-\exp\{-C\hat R_Q-\frac1m(\mathrm{KL}(Q\|P)+\ln\frac1\delta)\}}
              {1-e^{-C}}

    Its infimum over C is ``kl_inverse(q, (kl + log(1 / delta)) / m)``, which is therefore not a
    bound; on a grid of C share delta out with `best_of`.

    Examples
    --------
    >>> round(pac_bayes_catoni(1000, 0.05, 0.1, 5.0, 0.4).value, 10)
    0.1421443574
    """
    m, delta, q, kl = _posterior(m, delta, gibbs_training_error, kl)
    C = domain.positive(C, "C")
    parts = {
        "Gibbs training error": C * q,
        "divergence": kl / m,
        "confidence": -np.log(delta) / m,
    }
    exponent = C * q + kl / m - np.log(delta) / m
    return assemble(
        "Catoni bound",
        share(np.expm1(-exponent) / np.expm1(-C), parts),
        delta=delta,
        statement="With probability at least 1 - delta, for every posterior Q at once, the Gibbs"
        " classifier has at most this risk.",
        reference="Catoni (2007), Theorem 1.2.6",
        assumptions=(IID, PRIOR_FIRST, GIBBS, "C was fixed before the sample was seen"),
        ingredients={"kl": kl},
    )


@recorded()
def pac_bayes_lambda(
    m: Any, delta: Any, gibbs_training_error: Any, kl: Any, lam: Any = None
) -> Bound:
    r"""PAC-Bayes-lambda bound, uniform in :math:`\lambda\in(0,2)`, by default at the best one.

    .. math:: \frac{\hat R_Q}{1-\lambda/2}
              +\frac{\mathrm{KL}(Q\|P)+\ln(2\sqrt m/\delta)}{m\lambda(1-\lambda/2)}

    Examples
    --------
    >>> round(pac_bayes_lambda(1000, 0.05, 0.1, 5.0).value, 10)
    0.1628970472
    """
    m, delta, q, kl = _posterior(m, delta, gibbs_training_error, kl)
    confidence = _maurer(m, delta)
    if lam is None:
        lam = 2 / (1 + np.sqrt(1 + 2 * m * q / (kl + confidence)))
    lam = domain.positive(lam, "lam")
    if (lam >= 2).any():
        raise ValueError(f"lam must lie in (0, 2), got {lam.max().item()!r}")
    scale = 1 / (m * lam * (1 - lam / 2))
    return assemble(
        "PAC-Bayes-lambda bound",
        {
            "Gibbs training error": q / (1 - lam / 2),
            "divergence": scale * kl,
            "confidence": scale * confidence,
        },
        delta=delta,
        statement="With probability at least 1 - delta, for every posterior Q and lambda at once,"
        " the Gibbs classifier has at most this risk.",
        reference="Thiemann, Igel, Wintenberger and Seldin (2017), Theorem 3",
        assumptions=(IID, PRIOR_FIRST, GIBBS),
        ingredients={"lambda": lam, "kl": kl},
    )


def monte_carlo_gibbs_error(errors: Any, delta: Any) -> Any:
    r"""Upper limit of the Gibbs training error from independent draws of the posterior.

    The mean of N training errors, each of one classifier drawn from Q, is raised to
    ``kl_inverse(mean, log(1 / delta) / N)`` (Langford and Caruana 2002). Spend this delta
    besides the one of the bound. The m outcomes of one draw depend on each other: do not pool
    them into a binomial limit. Draws of a Markov chain are not independent.

    Parameters
    ----------
    errors : array of shape (N,)
        Training error of each drawn classifier.
    delta : float
        Probability that the limit fails.

    Examples
    --------
    >>> round(monte_carlo_gibbs_error(np.full(1000, 0.1), 0.01), 4)
    0.1312
    """
    errors = np.atleast_1d(domain.unit(errors, "errors"))
    return kl_inverse(errors.mean(), -np.log(domain.failure(delta)) / len(errors))
