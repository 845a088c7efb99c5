"""Risk bounds for finitely many hypotheses, and for hyperplanes through data points."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2, log_binomial
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded, share

FIXED_CLASS = "the class was fixed before the sample was seen"


@recorded()
def finite_class_bound(
    m: Any,
    n_hypotheses: Any = None,
    delta: Any = 0.05,
    training_error: Any = 0.0,
    two_sided: bool = True,
    *,
    log_n_hypotheses: Any = None,
) -> Bound:
    r"""Risk of any member of a finite class.

    .. math:: R_{\rm emp}+\sqrt{(\ln|\mathcal H|+\ln(2/\delta))/2m} .

    Parameters
    ----------
    m : int
        Sample size.
    n_hypotheses : int
        Size of the class; or pass ``log_n_hypotheses``.
    delta : float
        Failure probability.
    training_error : float
        Training error of the hypothesis.
    two_sided : bool
        If false, only risks above the training error are excluded and 2 becomes 1.
    log_n_hypotheses : float, optional
        Natural log of the size.

    Notes
    -----
    An exponent of :math:`-n\varepsilon^2/32` is also in print; -2 is true.

    Examples
    --------
    >>> round(finite_class_bound(1000, 1000, 0.05).value, 10)
    0.0727895416
    """
    m, delta = domain.size(m), domain.failure(delta)
    training_error = domain.unit(training_error, "training_error")
    log_size = _log_size(n_hypotheses, log_n_hypotheses)
    confidence = np.log((1.0 + two_sided) / delta)
    deviation = np.sqrt((log_size + confidence) / (2 * m))
    return assemble(
        "finite-class bound",
        {
            "training error": training_error,
            **share(deviation, {"class size": log_size, "confidence": confidence}),
        },
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class has risk at"
        " most its training error plus this deviation.",
        reference="Herbrich (2002), Theorem 4.6",
        assumptions=(IID, FIXED_CLASS),
    )


@recorded()
def finite_class_pac_bound(
    m: Any,
    n_hypotheses: Any = None,
    delta: Any = 0.05,
    training_error: Any = 0.0,
    *,
    exact: bool = False,
    log_n_hypotheses: Any = None,
) -> Bound:
    r"""Risk of a consistent member of a finite class, :math:`(\ln|\mathcal H|+\ln(1/\delta))/m`.

    With ``exact`` the tail :math:`(1-\varepsilon)^m` is kept:
    :math:`1-(\delta/|\mathcal H|)^{1/m}`. The expected risk, :math:`(1+\ln|\mathcal H|)/m`, is
    among the ingredients.

    Examples
    --------
    >>> round(finite_class_pac_bound(1000, 1000, 0.05).value, 12)
    0.009903487553
    """
    m, delta = domain.size(m), domain.failure(delta)
    _needs_zero_error(training_error, "finite_class_pac_bound", "finite_class_bound")
    log_size = _log_size(n_hypotheses, log_n_hypotheses)
    parts = {"class size": log_size / m, "confidence": -np.log(delta) / m}
    if exact:
        parts = share(-np.expm1(-(log_size - np.log(delta)) / m), parts)
    return assemble(
        "finite-class PAC bound",
        parts,
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class without"
        " training error has at most this risk.",
        reference="Herbrich (2002), equation 5.1",
        assumptions=(IID, FIXED_CLASS, "the hypothesis makes no training error"),
        ingredients={"expected_risk": (1 + log_size) / m},
    )


@recorded()
def linear_erm_bound(m: Any, dim: Any, delta: Any = 0.05, separable: bool = True) -> Bound:
    r"""Excess risk of the best hyperplane through ``dim`` sample points.

    Separable: :math:`\big(\ln2+\ln\binom md+\ln\frac1\delta\big)/(m-d)`. General:
    :math:`\big(2d+\sqrt{4d^2+2mA}\big)/m` with :math:`A=\ln(2\binom md+1)+\ln\frac1\delta`,
    above the best linear risk, for results in :math:`[2d/m,1]`.

    Parameters
    ----------
    m, dim : int
        Sample size and input dimension.
    delta : float
        Failure probability.
    separable : bool
        Whether some hyperplane has zero risk.

    Notes
    -----
    There are :math:`2\binom md` such hyperplanes, and the error to minimise is the one on the
    :math:`m-d` points that do not define the plane. Expectations are among the ingredients.

    Examples
    --------
    >>> round(linear_erm_bound(1000, 2).value, 11)
    0.01684393019
    """
    m, d, delta = domain.size(m), domain.count(dim, "dim", least=1), domain.failure(delta)
    log_count = LN2 + log_binomial(m, np.minimum(d, m))
    conditions: dict[str, Any] = {"more examples than dimensions": m > d}
    confidence = -np.log(delta)
    if separable:
        parts = {"hyperplanes": log_count / (m - d), "confidence": confidence / (m - d)}
        expected = (d * np.log(m) + 2) / (m - d)
    else:
        A = np.logaddexp(log_count, 0.0)
        total = (2 * d + np.sqrt(4 * d**2 + 2 * m * (A + confidence))) / m
        parts = {
            "defining points": 4 * d / m,
            **share(total - 4 * d / m, {"hyperplanes": A, "confidence": confidence}),
        }
        expected = np.sqrt(2 / m * ((d + 1) * np.log(m) + 2 * (d + 1)))
        conditions["2 d / m <= result <= 1"] = (total >= 2 * d / m) & (total <= 1)
    return assemble(
        "linear ERM bound",
        parts,
        delta=delta,
        kind="risk" if separable else "excess",
        statement="With probability at least 1 - delta the best hyperplane through dim sample"
        " points, judged on the others, exceeds the best linear risk by at most this.",
        reference="Devroye, Gyorfi and Lugosi (1996), Theorems 4.5 and 4.6",
        assumptions=(IID, "the inputs have a density"),
        conditions=conditions,
        ingredients={"expected": expected},
    )


def _log_size(n: Any, log_n: Any) -> np.ndarray:
    if (n is None) == (log_n is None):
        raise ValueError("pass exactly one of n_hypotheses and log_n_hypotheses")
    if log_n is not None:
        return domain.positive(log_n, "log_n_hypotheses", zero=True)
    return np.log(domain.count(n, "n_hypotheses", least=1))


def _needs_zero_error(training_error: Any, name: str, alternative: str) -> None:
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"{name} needs zero training error, got {training_error!r}; use {alternative}"
        )
