"""Uniform bounds from the growth function: VC, PAC, ERM excess and structural risk minimisation."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2
from bayeskern.classic.bounds.finite import FIXED_CLASS
from bayeskern.classic.bounds.growth import log_growth_bound
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded, share


def _log_growth(m: np.ndarray, vc_dim: Any, log_growth: Any, form: str) -> np.ndarray:
    """Growth function at sample size ``m``: given, or bounded through the VC dimension."""
    if (vc_dim is None) == (log_growth is None):
        raise ValueError("pass exactly one of vc_dim and log_growth")
    if log_growth is not None:
        return domain.positive(log_growth, "log_growth", zero=True)
    return np.asarray(log_growth_bound(m, vc_dim, form))


def _root(scale: Any, parts: dict[str, Any]) -> dict[str, Any]:
    """Split the root of ``scale`` times the sum of the parts."""
    return share(np.sqrt(scale * sum(parts.values(), np.zeros(()))), parts)


@recorded()
def vc_bound(
    m: Any,
    delta: Any,
    training_error: Any,
    *,
    vc_dim: Any = None,
    log_growth: Any = None,
    growth: str = "sauer",
) -> Bound:
    r"""VC bound, :math:`R_{\rm emp}+\sqrt{\frac8m(\ln\frac4\delta+\mathcal G_{\mathcal H}(2m))}`.

    Parameters
    ----------
    m : int
        Sample size.
    delta : float
        Failure probability.
    training_error : float
        Of the hypothesis, chosen in any way.
    vc_dim : int or inf
        VC dimension of the class; or pass ``log_growth``.
    log_growth : float
        Growth function :math:`\mathcal G(2m)`, at twice the sample size.
    growth : {"sauer", "simple"}
        Which bound of the growth function to use with ``vc_dim``.

    Examples
    --------
    >>> round(vc_bound(1000, 0.05, 0.0, vc_dim=3).value, 10)
    0.4507147727
    """
    m, delta = domain.size(m), domain.failure(delta)
    training_error = domain.unit(training_error, "training_error")
    G = _log_growth(2 * m, vc_dim, log_growth, growth)
    return assemble(
        "VC bound",
        {
            "training error": training_error,
            **_root(8 / m, {"capacity": G, "confidence": np.log(4 / delta)}),
        },
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class has risk"
        " within the deviation of its training error.",
        reference="Herbrich (2002), Theorem 4.7, equation 4.14",
        assumptions=(IID, FIXED_CLASS),
        ingredients={"log_growth": G},
    )


@recorded()
def pac_bound(
    m: Any,
    delta: Any,
    *,
    vc_dim: Any = None,
    log_growth: Any = None,
    growth: str = "sauer",
    tight: bool = False,
    training_error: Any = 0.0,
) -> Bound:
    r"""PAC bound for zero training error, :math:`\frac4m(\ln\frac2\delta+\mathcal G(2m))`.

    With ``tight`` the factor :math:`2^{-m\varepsilon/2}` of the proof is kept:
    :math:`\frac2m\mathrm{ld}(2\mathcal N(2m)/\delta)`, smaller by :math:`1/(2\ln2)`.

    Examples
    --------
    >>> round(pac_bound(1000, 0.05, vc_dim=3).value, 11)
    0.09879931446
    """
    m, delta = domain.size(m), domain.failure(delta)
    if (domain.unit(training_error, "training_error") > 0).any():
        raise ValueError(
            f"pac_bound needs zero training error, got {training_error!r}; use vc_bound"
        )
    G = _log_growth(2 * m, vc_dim, log_growth, growth)
    scale = 2 / (m * LN2) if tight else 4 / m
    return assemble(
        "PAC bound",
        {"capacity": scale * G, "confidence": scale * np.log(2 / delta)},
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class without"
        " training error has at most this risk.",
        reference="Herbrich (2002), Theorem 4.7, equation 4.15",
        assumptions=(IID, FIXED_CLASS, "the hypothesis makes no training error"),
        ingredients={"log_growth": G},
    )


@recorded()
def erm_excess_bound(
    m: Any, delta: Any, *, vc_dim: Any = None, log_growth: Any = None, growth: str = "sauer"
) -> Bound:
    r"""Excess risk of the empirical minimiser.

    .. math:: \sqrt{\frac{32}m(\ln\frac4\delta+\mathcal G(2m))} .

    Examples
    --------
    >>> round(erm_excess_bound(1000, 0.05, vc_dim=3).value, 10)
    0.9014295455
    """
    m, delta = domain.size(m), domain.failure(delta)
    G = _log_growth(2 * m, vc_dim, log_growth, growth)
    return assemble(
        "ERM excess bound",
        _root(32 / m, {"capacity": G, "confidence": np.log(4 / delta)}),
        delta=delta,
        kind="excess",
        statement="With probability at least 1 - delta the minimiser of the training error"
        " exceeds the smallest risk in the class by at most this.",
        reference="Herbrich (2002), equation 4.13",
        assumptions=(IID, FIXED_CLASS, "the training error is minimised exactly"),
        ingredients={"log_growth": G},
    )


@recorded()
def vc_bound_vapnik(
    m: Any, delta: Any, training_error: Any, vc_dim: Any, *, add_one_over_m: bool = False
) -> Bound:
    r"""Vapnik's form.

    .. math:: R_{\rm emp}+\sqrt{\frac1m(\vartheta(\ln\frac{2m}\vartheta+1)-\ln\frac\delta4)} .

    Parameters
    ----------
    m, delta, training_error, vc_dim
        As in `vc_bound`; needs :math:`1\le\vartheta<2m`.
    add_one_over_m : bool
        Add :math:`1/m`, as published proofs of this form require.

    Examples
    --------
    >>> round(vc_bound_vapnik(1000, 0.05, 0.0, 3).value, 10)
    0.1639783435
    """
    m, delta = domain.size(m), domain.failure(delta)
    training_error = domain.unit(training_error, "training_error")
    v, fits = _vapnik_range(m, vc_dim)
    parts = _root(
        1 / m, {"capacity": v * (np.log(2 * m / v) + 1), "confidence": -np.log(delta / 4)}
    )
    if add_one_over_m:
        parts["correction"] = 1 / m
    return assemble(
        "Vapnik bound",
        {"training error": training_error, **parts},
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class has risk at"
        " most its training error plus this deviation.",
        reference="Vapnik (1998), section 4.5",
        assumptions=(IID, FIXED_CLASS),
        conditions={"1 <= vc_dim < 2 m": fits},
    )


@recorded()
def vc_bound_relative(m: Any, delta: Any, training_error: Any, vc_dim: Any) -> Bound:
    r"""Vapnik's relative form, :math:`R_{\rm emp}+\frac E2(1+\sqrt{1+4R_{\rm emp}/E})`.

    :math:`E=\frac4m\big(\vartheta(\ln\frac{2m}\vartheta+1)-\ln\frac\delta4\big)`. Of order 1/m
    when the training error is zero.

    Examples
    --------
    >>> round(vc_bound_relative(1000, 0.05, 0.05, 3).value, 10)
    0.1947164032
    """
    m, delta = domain.size(m), domain.failure(delta)
    training_error = domain.unit(training_error, "training_error")
    v, fits = _vapnik_range(m, vc_dim, closed=True)
    parts = {"capacity": v * (np.log(2 * m / v) + 1), "confidence": -np.log(delta / 4)}
    E = 4 / m * (parts["capacity"] + parts["confidence"])
    deviation = E / 2 * (1 + np.sqrt(1 + 4 * training_error / E))
    return assemble(
        "relative VC bound",
        {"training error": training_error, **share(deviation, parts)},
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class has at most"
        " this risk.",
        reference="Vapnik (1998), section 4.5",
        assumptions=(IID, FIXED_CLASS),
        conditions={"1 <= vc_dim <= 2 m": fits},
        ingredients={"E": E},
    )


@recorded()
def vc_bound_dgl(m: Any, delta: Any, training_error: Any, log_growth_m: Any) -> Bound:
    r"""VC bound with the growth function at m.

    .. math:: R_{\rm emp}+\sqrt{\frac{32}m(\ln\frac8\delta+\mathcal G(m))} .

    Examples
    --------
    >>> from bayeskern.classic.bounds import log_growth
    >>> G = log_growth("hyperplanes", 1000, d=2)
    >>> round(vc_bound_dgl(1000, 0.05, 0.0, G).value, 10)
    0.7774766543
    """
    m, delta = domain.size(m), domain.failure(delta)
    training_error = domain.unit(training_error, "training_error")
    G = domain.positive(log_growth_m, "log_growth_m", zero=True)
    return assemble(
        "VC bound at m",
        {
            "training error": training_error,
            **_root(32 / m, {"capacity": G, "confidence": np.log(8 / delta)}),
        },
        delta=delta,
        statement="With probability at least 1 - delta every hypothesis of the class has risk"
        " within the deviation of its training error.",
        reference="Devroye, Gyorfi and Lugosi (1996), Theorem 12.6",
        assumptions=(IID, FIXED_CLASS),
    )


@recorded()
def erm_expected_excess(m: Any, log_growth_m: Any) -> Bound:
    r"""Expected excess risk of the empirical minimiser, :math:`16\sqrt{(\mathcal G(m)+4)/2m}`.

    Examples
    --------
    >>> round(erm_expected_excess(10**6, 10.0).value, 4)
    0.0423
    """
    m, G = domain.size(m), domain.positive(log_growth_m, "log_growth_m", zero=True)
    return assemble(
        "expected ERM excess",
        _root(128 / m, {"capacity": G, "constant": np.full_like(G, 4.0)}),
        delta=np.nan,
        kind="expected",
        statement="The minimiser of the training error exceeds the smallest risk in the class by"
        " at most this, in expectation over samples.",
        reference="Devroye, Gyorfi and Lugosi (1996), Corollary 12.1",
        assumptions=(IID, FIXED_CLASS, "the training error is minimised exactly"),
    )


class Selection(NamedTuple):
    """Bounds for a list of models and the index of the smallest."""

    best: int
    bounds: tuple[Bound | None, ...]


def srm(
    training_errors: Sequence[float],
    vc_dims: Sequence[float],
    m: int,
    delta: float = 0.05,
    prior: Sequence[float] | None = None,
    kind: str = "vc",
    growth: str = "sauer",
) -> Selection:
    r"""Structural risk minimisation: a bound for each class, at :math:`\delta P_S(i)`.

    .. math:: R\le R_{\rm emp}+\sqrt{\tfrac8m\Big(\ln\tfrac4\delta+\ln\tfrac1{P_S(i)}
              +\mathcal G_i(2m)\Big)}

    Parameters
    ----------
    training_errors, vc_dims : sequences of equal length
        Of the hypothesis chosen in each class. Nesting is not required.
    m, delta : int, float
        Sample size, failure probability of all statements together.
    prior : sequence of float, optional
        Weights of the classes, fixed before the data; uniform by default.
    kind : {"vc", "pac"}
        "pac" considers only classes that reach zero training error.

    Returns
    -------
    Selection
        ``best`` index and ``bounds``; classes that were skipped have None.

    Examples
    --------
    >>> srm([0.3, 0.02, 0.0], [2, 4, 400], 10000).best
    1
    """
    domain.choice(kind, "kind", ("vc", "pac"))
    errors = np.atleast_1d(domain.unit(training_errors, "training_errors"))
    dims = np.atleast_1d(domain.count(vc_dims, "vc_dim", infinite=True))
    weights = domain.prior_vector(prior, len(errors))
    if not len(errors) == len(dims) == len(weights):
        raise ValueError("training_errors, vc_dims and prior must have equal length")
    share_of = float(domain.failure(delta)) * weights
    found: list[Bound | None] = []
    for error, v, d in zip(errors, dims, share_of, strict=True):
        if kind == "vc":
            found.append(vc_bound(m, d, error, vc_dim=v, growth=growth))
        else:
            found.append(pac_bound(m, d, vc_dim=v, growth=growth) if error == 0 else None)
    if not any(found_one is not None for found_one in found):
        raise ValueError('no class reaches zero training error; use kind="vc"')
    return Selection(int(np.argmin([np.inf if b is None else b.raw for b in found])), tuple(found))


def _vapnik_range(m: np.ndarray, vc_dim: Any, closed: bool = False) -> tuple[Any, Any]:
    v = domain.count(vc_dim, "vc_dim", infinite=True)
    fits = (v >= 1) & ((v <= 2 * m) if closed else (v < 2 * m))
    return np.where(fits, v, 1.0), fits
