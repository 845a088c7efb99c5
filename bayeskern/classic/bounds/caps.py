"""PAC-Bayesian margin bound: a spherical cap of version space around the classifier."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2, log_betainc
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded, share


def spherical_cap_log_measure(dim: Any, gamma: Any) -> Any:
    r"""Log of the share of the unit sphere within the angle :math:`\arcsin\Gamma` of a point.

    .. math:: P(\mathcal B)=\tfrac12I_{\Gamma^2}\big(\tfrac{d-1}2,\tfrac12\big)\ (d\ge2),
              \qquad\tfrac12\ (d=1) .

    Parameters
    ----------
    dim : int or array
        Dimension d of the space around the sphere.
    gamma : float or array
        Normalised margin in (0, 1].

    Examples
    --------
    >>> round(float(np.exp(spherical_cap_log_measure(2, 0.5))), 12)
    0.166666666667
    """
    d, gamma = np.broadcast_arrays(domain.count(dim, "dim", least=1), _normalised(gamma))
    out = np.where(d == 1, -LN2, log_betainc(np.maximum(d - 1, 1) / 2, 0.5, gamma**2) - LN2)
    return out.item() if out.ndim == 0 else out


def log_volume_ratio_bound(dim: Any, x: Any) -> Any:
    r"""Upper bound :math:`(d-2)\ln\frac1x+\ln2` of minus the log cap measure.

    :math:`x=1-\sqrt{1-\Gamma^2}`. Proved for odd :math:`d\ge3`; even d take the exponent
    :math:`d-1`, and d = 1 the exponent 0.

    Examples
    --------
    >>> round(log_volume_ratio_bound(3, 0.4), 6)
    1.609438
    """
    d, x = domain.count(dim, "dim", least=1), domain.mass(x, "x")
    exponent = np.where(d == 1, 0.0, np.where(d % 2 == 1, d - 2, d - 1))
    out = -exponent * np.log(x) + LN2
    return out.item() if np.ndim(out) == 0 else out


@recorded()
def pac_bayes_margin_bound(
    m: Any, delta: Any, normalised_margin: Any, dim: Any, method: str = "cap"
) -> Bound:
    r"""Risk of a linear classifier from its normalised margin, by PAC-Bayes over a cap.

    .. math:: \text{cap: }\tfrac2m\Big(\ln\tfrac1{P(\mathcal B)}+2\ln m+\ln\tfrac1\delta+1\Big),
              \quad\text{kl: }2\Big(1-\exp\big(-\tfrac1m(\ln\tfrac1{P(\mathcal B)}
              +\ln\tfrac{2\sqrt m}\delta)\big)\Big)

    and, in the book, :math:`\frac2m\big(d\ln\frac1{1-\sqrt{1-\Gamma^2}}+2\ln m+\ln\frac1\delta
    +2\big)`.

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    normalised_margin : float
        :math:`\Gamma=\min_iy_i\langle w,x_i\rangle/(\|w\|\|x_i\|)\in(0,1]`.
    dim : int
        Dimension of feature space, or the rank of the Gram matrix if w lies in the span of the
        training points; at most m counts.
    method : {"cap", "kl", "book"}
        Each is smaller than the next: "kl", "cap", "book".

    Examples
    --------
    >>> round(pac_bayes_margin_bound(1000, 0.05, 0.5, 10).value, 11)
    0.05195920842
    """
    m, delta, gamma = domain.size(m), domain.failure(delta), _normalised(normalised_margin)
    d = np.minimum(domain.count(dim, "dim", least=1), m)
    domain.choice(method, "method", ("cap", "kl", "book"))
    if method == "book":
        x = gamma**2 / (1 + np.sqrt(1 - gamma**2))  # 1 - sqrt(1 - gamma^2) without cancellation
        prior = -d * np.log(x)
    else:
        prior = -np.asarray(spherical_cap_log_measure(d, gamma))
    if method == "kl":
        confidence = np.log(2 * np.sqrt(m)) - np.log(delta)
        total = -2 * np.expm1(-(prior + confidence) / m)
        terms = share(total, {"cap": prior, "confidence": confidence})
    else:
        constant = 2 if method == "book" else 1
        confidence = 2 * np.log(m) - np.log(delta) + constant
        terms = {"cap": 2 * prior / m, "confidence": 2 * confidence / m}
    return assemble(
        "PAC-Bayesian margin bound",
        terms,
        delta=delta,
        statement="With probability at least 1 - delta every linear classifier through the origin"
        " that separates the sample with this normalised margin has at most this risk.",
        reference="Herbrich (2002), Theorem 5.10",
        assumptions=(IID, ZERO_ERROR, "no offset; w lies in the span of the data if dim is a rank"),
        ingredients={"log_cap": -prior},
    )


def _normalised(gamma: Any) -> np.ndarray:
    gamma = domain.numbers(gamma, "normalised margin")
    odd = (gamma <= 0) | (gamma > 1)
    if odd.any():
        raise ValueError(f"normalised margin must lie in (0, 1], got {gamma[odd].flat[0].item()!r}")
    return gamma
