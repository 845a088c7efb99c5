"""How far a mean of independent variables can stray: Markov, Chebyshev, Chernoff to McDiarmid.

Each inequality comes as a tail (probability of a deviation) and, where it can be inverted, as
the deviation that is exceeded with probability at most ``delta``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import excess
from bayeskern.classic.bounds.result import Bound, assemble, recorded, share

INDEPENDENT = "the variables are independent"


def _tail(name: str, log_prob: Any, statement: str, reference: str, *assumptions: str) -> Bound:
    return assemble(
        name,
        {"probability": np.exp(log_prob)},
        delta=np.nan,
        kind="tail",
        statement=statement,
        reference=reference,
        assumptions=assumptions,
        ingredients={"log_prob": log_prob},
    )


@recorded(size="")
def markov(mean: Any, threshold: Any) -> Bound:
    r"""Markov's inequality, :math:`P(X \ge t) \le \mathbf E X / t` for :math:`X \ge 0`.

    Parameters
    ----------
    mean : float
        :math:`\mathbf E X \ge 0`.
    threshold : float
        :math:`t > 0`.

    Examples
    --------
    >>> markov(1, 2).value
    0.5
    """
    mean = domain.positive(mean, "mean", zero=True)
    threshold = domain.positive(threshold, "threshold")
    return _tail(
        "Markov inequality",
        np.log(mean) - np.log(threshold),
        "A non-negative variable exceeds t with probability at most its mean over t.",
        "Herbrich (2002), Theorem A.109",
        "the variable is non-negative",
    )


@recorded(size="n")
def chebyshev(variance: Any, eps: Any, n: Any = 1) -> Bound:
    r"""Chebyshev's inequality, :math:`P(|\bar X_n-\mu|\ge\varepsilon)\le\sigma^2/(n\varepsilon^2)`.

    Examples
    --------
    >>> round(chebyshev(0.09, 0.1, n=100).value, 12)
    0.09
    """
    variance = domain.positive(variance, "variance", zero=True)
    eps, n = domain.positive(eps, "eps"), domain.size(n, "n")
    return _tail(
        "Chebyshev inequality",
        np.log(variance) - np.log(n) - 2 * np.log(eps),
        "A mean of n variables strays by eps from its expectation with probability at most"
        " variance / (n eps^2).",
        "Herbrich (2002), Theorem A.110",
        INDEPENDENT,
    )


@recorded(size="n")
def chernoff(
    log_mgf: Callable[[float], float],
    eps: float,
    n: int = 1,
    s_bounds: tuple[float, float] = (0.0, 1e4),
) -> Bound:
    r"""Chernoff's method, :math:`\inf_{s>0}\exp(n\Lambda(s/n)-s\varepsilon)`, numerically.

    Parameters
    ----------
    log_mgf : callable
        :math:`\Lambda(s)=\ln\mathbf E e^{s(X-\mu)}` of the centred variable.
    eps : float
        Deviation of the mean.
    n : int
        Number of variables.
    s_bounds : tuple of float
        Interval searched for :math:`s/n`. Every value in it gives a valid bound.

    Examples
    --------
    >>> round(chernoff(lambda s: s**2 / 2, 0.5, 10).value, 6) == round(float(np.exp(-1.25)), 6)
    True
    """
    size, deviation = float(domain.size(n, "n")), float(domain.positive(eps, "eps"))
    low, high = s_bounds
    if not 0 <= low < high:
        raise ValueError(f"s_bounds must satisfy 0 <= low < high, got {s_bounds!r}")

    def exponent(s: float) -> float:
        value = size * (log_mgf(s) - s * deviation)
        return value if np.isfinite(value) else np.finfo(float).max

    upper = high
    while upper / 2 > low and exponent(upper / 2) <= exponent(upper):  # the exponent is convex
        upper /= 2
    found = minimize_scalar(
        exponent, bounds=(low, min(4 * upper, high)), method="bounded", options={"xatol": 1e-12}
    )
    return _tail(
        "Chernoff bound",
        min(float(found.fun), 0.0),
        "A mean of n independent variables exceeds its expectation by eps with at most this"
        " probability.",
        "Herbrich (2002), equation A.44",
        INDEPENDENT,
        "log_mgf is the log moment generating function of the centred variable",
    )


@recorded(size="n")
def hoeffding(
    n: Any, eps: Any, lower: Any = 0.0, upper: Any = 1.0, two_sided: bool = False
) -> Bound:
    r"""Hoeffding's inequality, :math:`P(\bar X-\mu>\varepsilon)\le e^{-2n\varepsilon^2/(b-a)^2}`.

    The variables need not share a mean. The curvature argument of Herbrich (2002), Lemma A.111
    claims :math:`p(1-p)` where only 1/4 is true, so there is no variance form here.

    Examples
    --------
    >>> round(hoeffding(100, 0.1).value, 10)
    0.1353352832
    """
    n, eps, width = (
        domain.size(n, "n"),
        domain.positive(eps, "eps", zero=True),
        _width(lower, upper),
    )
    return _tail(
        "Hoeffding inequality",
        -2 * n * eps**2 / width**2 + np.log(1 + two_sided),
        "A mean of n independent variables in [a, b] strays by eps with at most this probability.",
        "Herbrich (2002), Theorem A.112",
        INDEPENDENT,
        "the variables lie in [lower, upper]",
    )


@recorded(size="n")
def hoeffding_deviation(
    n: Any, delta: Any, lower: Any = 0.0, upper: Any = 1.0, two_sided: bool = False
) -> Bound:
    r"""Deviation exceeded with probability at most delta, :math:`(b-a)\sqrt{\ln(c/\delta)/2n}`.

    :math:`c` is 1, or 2 for deviations in both directions.

    Examples
    --------
    >>> round(hoeffding_deviation(100, 0.05).value, 10)
    0.1223873415
    """
    n, delta, width = domain.size(n, "n"), domain.failure(delta), _width(lower, upper)
    return assemble(
        "Hoeffding inequality",
        {"confidence": width * np.sqrt((np.log(1.0 + two_sided) - np.log(delta)) / (2 * n))},
        delta=delta,
        kind="deviation",
        trivial=width,
        statement="With probability at least 1 - delta the mean is this close to its expectation.",
        reference="Herbrich (2002), Theorem A.112",
        assumptions=(INDEPENDENT, "the variables lie in [lower, upper]"),
    )


@recorded(size="n")
def bennett(n: Any, eps: Any, variance: Any, c: Any = 1.0) -> Bound:
    r"""Bennett's inequality for the mean of centred variables with :math:`|X_i|\le c`.

    .. math:: P(\bar X>\varepsilon)\le\exp\Big(-\frac{n\sigma^2}{c^2}\,
              h\Big(\frac{c\varepsilon}{\sigma^2}\Big)\Big),\quad h(u)=(1+u)\ln(1+u)-u .

    Herbrich (2002), A.113 states it for the sum; the two agree.

    Examples
    --------
    >>> round(bennett(100, 0.1, 0.09).value, 11)
    0.01503952363
    """
    n, eps = domain.size(n, "n"), domain.positive(eps, "eps", zero=True)
    variance, c = domain.positive(variance, "variance", zero=True), domain.positive(c, "c")
    u = c * eps / np.where(variance > 0, variance, 1.0)
    exponent = n * variance / c**2 * (u**2 - (1 + u) * excess(u))
    # h(u) = u^2 - (1+u)(u - log1p(u)) cancels for large u, where the plain form is exact
    exponent = np.where(u > 0.1, n * variance / c**2 * ((1 + u) * np.log1p(u) - u), exponent)
    exponent = np.where(variance > 0, exponent, np.where(eps > 0, np.inf, 0.0))
    return _tail(
        "Bennett inequality",
        -exponent,
        "A mean of n centred variables exceeds eps with at most this probability.",
        "Herbrich (2002), Theorems A.113 and A.114",
        INDEPENDENT,
        "the variables are centred, bounded by c in absolute value and have this variance",
    )


@recorded(size="n")
def bernstein(n: Any, eps: Any, variance: Any, c: Any = 1.0, form: str = "standard") -> Bound:
    r"""Bernstein's inequality, :math:`\exp(-n\varepsilon^2/(2\sigma^2+\frac23c\varepsilon))`.

    Parameters
    ----------
    form : {"standard", "book"}
        "book" has :math:`c\varepsilon` in place of :math:`\frac23c\varepsilon` (Herbrich 2002,
        A.115) and is larger everywhere.

    Examples
    --------
    >>> round(bernstein(100, 0.1, 0.09).value, 11)
    0.01735188637
    """
    n, eps = domain.size(n, "n"), domain.positive(eps, "eps")
    variance, slope = domain.positive(variance, "variance", zero=True), _slope(c, form)
    return _tail(
        "Bernstein inequality",
        -n * eps**2 / (2 * variance + slope * eps),
        "A mean of n centred variables exceeds eps with at most this probability.",
        "Herbrich (2002), Theorem A.115",
        INDEPENDENT,
        "the variables are centred, bounded by c in absolute value and have this variance",
    )


@recorded(size="n")
def bernstein_deviation(
    n: Any, delta: Any, variance: Any, c: Any = 1.0, form: str = "standard"
) -> Bound:
    r"""Deviation exceeded with probability at most delta by Bernstein's inequality.

    .. math:: \varepsilon=\frac{c'L+\sqrt{c'^2L^2+8n\sigma^2L}}{2n},\quad L=\ln\tfrac1\delta,
              \; c'=\tfrac23c .

    Examples
    --------
    >>> round(bernstein_deviation(100, 0.05, 0.09).value, 11)
    0.08409403141
    """
    n, delta = domain.size(n, "n"), domain.failure(delta)
    variance, slope = domain.positive(variance, "variance", zero=True), _slope(c, form)
    log = -np.log(delta)
    total = (slope * log + np.sqrt((slope * log) ** 2 + 8 * n * variance * log)) / (2 * n)
    return assemble(
        "Bernstein inequality",
        share(total, {"variance": np.sqrt(8 * n * variance * log), "range": slope * log}),
        delta=delta,
        kind="deviation",
        trivial=domain.positive(c, "c"),
        statement="With probability at least 1 - delta the mean exceeds 0 by no more than this.",
        reference="Herbrich (2002), Theorem A.115",
        assumptions=(INDEPENDENT, "the variables are centred and bounded by c in absolute value"),
    )


@recorded(size="n")
def binomial_zero_tail(n: Any, p: Any) -> Bound:
    r"""Probability of no success in n trials, :math:`(1-p)^n`, with :math:`e^{-np}` beside it.

    Examples
    --------
    >>> tail = binomial_zero_tail(10, 0.1)
    >>> round(tail.value, 6), round(tail.ingredients["exponential"], 6)
    (0.348678, 0.367879)
    """
    n, p = domain.size(n, "n"), domain.unit(p, "p")
    bound = _tail(
        "Binomial zero tail",
        np.where(p < 1, n * np.log1p(-p), -np.inf),
        "n independent trials of success probability p all fail with exactly this probability.",
        "Herbrich (2002), Theorem A.116",
        INDEPENDENT,
    )
    bound.ingredients["exponential"] = _scalar(np.exp(-n * p))  # type: ignore[index]
    return bound


@recorded(size="")
def mcdiarmid(eps: Any, c: Any, constant: float = 2.0) -> Bound:
    r"""McDiarmid's bounded differences, :math:`\exp(-2\varepsilon^2/\sum_ic_i^2)`.

    Parameters
    ----------
    eps : float or array
        Deviation of the function from its expectation.
    c : array of shape (n,)
        Largest change of the function when coordinate i alone changes.
    constant : float
        2 is true and sharp; Herbrich (2002), A.119 proves 1/2.

    Examples
    --------
    >>> round(mcdiarmid(0.1, np.full(100, 0.01)).value, 10)
    0.1353352832
    """
    eps, c = domain.positive(eps, "eps", zero=True), np.atleast_1d(_differences(c))
    return _tail(
        "McDiarmid inequality",
        -float(domain.positive(constant, "constant")) * eps**2 / (c**2).sum(),
        "A function whose coordinate i moves it by at most c_i exceeds its expectation by eps with"
        " at most this probability.",
        "McDiarmid (1989); Herbrich (2002), Theorem A.119",
        INDEPENDENT,
    )


@recorded(size="")
def mcdiarmid_deviation(delta: Any, c: Any, constant: float = 2.0) -> Bound:
    r"""Deviation exceeded with probability at most delta, :math:`\sqrt{\sum c_i^2\ln(1/\delta)/2}`.

    Examples
    --------
    >>> round(mcdiarmid_deviation(0.05, np.full(100, 0.01)).value, 10)
    0.1223873415
    """
    delta, c = domain.failure(delta), np.atleast_1d(_differences(c))
    constant = float(domain.positive(constant, "constant"))
    return assemble(
        "McDiarmid inequality",
        {"confidence": np.sqrt(-(c**2).sum() * np.log(delta) / constant)},
        delta=delta,
        kind="deviation",
        trivial=c.sum(),
        statement="With probability at least 1 - delta the function exceeds its expectation by no"
        " more than this.",
        reference="McDiarmid (1989); Herbrich (2002), Theorem A.119",
        assumptions=(INDEPENDENT,),
    )


@recorded(size="n")
def empirical_bernstein_bound(n: Any, delta: Any, mean_loss: Any, variance: Any) -> Bound:
    r"""Expected loss from the sample mean and the unbiased sample variance V.

    .. math:: \bar X+\sqrt{2V\ln(2/\delta)/n}+\frac{7\ln(2/\delta)}{3(n-1)} .

    Examples
    --------
    >>> round(empirical_bernstein_bound(1000, 0.05, 0.1, 0.05).value, 10)
    0.1278224572
    """
    n, delta = domain.count(n, "n", least=2), domain.failure(delta)
    mean_loss = domain.unit(mean_loss, "mean_loss")
    variance = domain.positive(variance, "variance", zero=True)
    log = np.log(2 / delta)
    return assemble(
        "empirical Bernstein bound",
        {
            "mean loss": mean_loss,
            "variance": np.sqrt(2 * variance * log / n),
            "range": 7 * log / (3 * (n - 1)),
        },
        delta=delta,
        statement="With probability at least 1 - delta the expected loss is at most this.",
        reference="Maurer and Pontil (2009), Theorem 4",
        assumptions=(INDEPENDENT, "losses lie in [0, 1]", "variance is the unbiased one (ddof=1)"),
    )


@recorded(size="n")
def dkw_deviation(n: Any, delta: Any) -> Bound:
    r"""Largest deviation over all half-lines, :math:`\sqrt{\ln(2/\delta)/2n}`, both directions.

    Examples
    --------
    >>> round(dkw_deviation(1000, 0.05).value, 11)
    0.04294694083
    """
    n, delta = domain.size(n, "n"), domain.failure(delta)
    return assemble(
        "Dvoretzky-Kiefer-Wolfowitz inequality",
        {"confidence": np.sqrt(np.log(2 / delta) / (2 * n))},
        delta=delta,
        kind="deviation",
        statement="With probability at least 1 - delta the empirical distribution function is this"
        " close to the true one everywhere.",
        reference="Massart (1990)",
        assumptions=(INDEPENDENT,),
    )


def _width(lower: Any, upper: Any) -> np.ndarray:
    width = domain.numbers(upper, "upper") - domain.numbers(lower, "lower")
    if (width <= 0).any():
        raise ValueError(f"upper must exceed lower, got [{lower!r}, {upper!r}]")
    return width


def _slope(c: Any, form: str) -> np.ndarray:
    factor = 2 / 3 if domain.choice(form, "form", ("standard", "book")) == "standard" else 1.0
    return factor * domain.positive(c, "c")


def _differences(c: Any) -> np.ndarray:
    c = domain.positive(c, "c", zero=True)
    if not (c > 0).any():
        raise ValueError("c must have a positive entry")
    return c


def _scalar(value: Any) -> Any:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
