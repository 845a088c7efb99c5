"""Margin bounds for linear classifiers through the origin, separable or not."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import ld
from bayeskern.classic.bounds.covering import fat_terms
from bayeskern.classic.bounds.luckiness import ZERO_ERROR
from bayeskern.classic.bounds.result import IID, NO_ATOMS, Bound, assemble, recorded

RADIUS = "every input lies within the radius with probability one, known beforehand"


class MarginSummary(NamedTuple):
    """What the margin bounds ask of a kernel classifier without offset."""

    mistakes: int
    norm: float
    functional_margin: float
    margin: float
    normalised_margin: float
    margins: np.ndarray
    normalised_margins: np.ndarray
    empirical_radius: float
    rank: int
    slacks: np.ndarray


def margin_summary(G: Any, y: Any, a: Any) -> MarginSummary:
    r"""Margins, norm, radius and rank of :math:`f=\sum_ia_ik(x_i,\cdot)`, from dual quantities.

    Parameters
    ----------
    G : array of shape (m, m)
        Gram matrix.
    y : array of shape (m,)
        Labels -1 and +1.
    a : array of shape (m,)
        Signed coefficients, :math:`a_i=\alpha_iy_i`.

    Examples
    --------
    >>> margin_summary(np.eye(2), [1, -1], [1.0, -1.0]).margin
    0.7071067811865475
    """
    G = domain.square(G)
    y, a = domain.labels(y, len(G)), np.atleast_1d(domain.numbers(a, "a"))
    if len(a) != len(G):
        raise ValueError(f"a must have one entry per point, got {len(a)} for {len(G)} points")
    norm = float(np.sqrt(max(a @ G @ a, 0.0)))
    if norm == 0:
        raise ValueError("a must describe a non-zero function: its norm is 0")
    lengths = np.sqrt(np.diag(G))
    if (lengths <= 0).any():
        raise ValueError("an input with zero feature norm has no normalised margin")
    functional = y * (G @ a)
    margins, normalised = functional / norm, functional / norm / lengths
    spectrum = np.linalg.eigvalsh(G)
    return MarginSummary(
        mistakes=int((functional <= 0).sum()),
        norm=norm,
        functional_margin=float(functional.min()),
        margin=float(margins.min()),
        normalised_margin=float(normalised.min()),
        margins=margins,
        normalised_margins=normalised,
        empirical_radius=float(lengths.max()),
        rank=int((spectrum > len(G) * np.finfo(float).eps * spectrum[-1]).sum()),
        slacks=np.maximum(0.0, 1.0 - functional),
    )


@recorded()
def pac_margin_bound(
    m: Any, delta: Any, margin: Any, radius: Any, *, rigorous_radius: bool = True
) -> Bound:
    r"""PAC margin bound for a separating hyperplane of geometrical margin gamma.

    .. math:: \frac2m\Big(\Big\lceil\frac{64\varsigma^2}{\gamma^2}\mathrm{ld}
              \frac{em\gamma^2}{8\varsigma^2}\,\mathrm{ld}(32m)\Big\rceil
              +\mathrm{ld}\frac{2m}\delta\Big),\qquad \gamma\ge\varsigma\sqrt{32/m} .

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    margin : float
        :math:`\min_iy_i\langle w,x_i\rangle/\|w\|>0`.
    radius : float
        Radius :math:`\varsigma` of a ball around the origin that holds all inputs.
    rigorous_radius : bool
        False if the radius was read off the sample.

    Examples
    --------
    >>> round(pac_margin_bound(10**5, 0.05, 1.0, 1.0).value, 10)
    0.4167986314
    """
    m, delta = domain.size(m), domain.failure(delta)
    margin, radius = _margin_and_radius(margin, radius)
    d_eff = 64 * (radius / margin) ** 2
    return assemble(
        "PAC margin bound",
        {
            "capacity": fat_terms(m, np.minimum(d_eff, 2 * m)),
            "level": 2 * ld(m) / m,
            "confidence": 2 * ld(2 / delta) / m,
        },
        delta=delta,
        rigorous=rigorous_radius,
        statement="With probability at least 1 - delta every hyperplane through the origin that"
        " separates the sample with this margin has at most this risk.",
        reference="Herbrich (2002), Theorem 4.32, equation 4.29",
        assumptions=(IID, ZERO_ERROR, RADIUS),
        conditions={"margin >= radius * sqrt(32 / m)": d_eff <= 2 * m * (1 + 1e-12)},
        ingredients={"d_eff": d_eff},
    )


@recorded()
def margin_distribution_bound(
    m: Any, delta: Any, norm: Any, D: Any, gamma: Any, radius: Any, Delta: Any
) -> Bound:
    r"""Margin bound with training errors, for a trade-off Delta fixed before the data.

    .. math:: d_{\rm eff}=\frac{64(\|w\|^2+(D/\Delta)^2)(\varsigma^2+\Delta^2)}{\gamma^2}\le2m,
              \qquad D^2=\sum_i\max(0,\gamma-y_i\langle w,x_i\rangle)^2

    inserted in `fat_shattering_bound`. Uniform in gamma in :math:`(0,\varsigma]`.

    Examples
    --------
    >>> margin_distribution_bound(10**6, 0.05, 1.0, 0.0, 1.0, 1.0, 0.001).ingredients["d_eff"]
    64.000064
    """
    m, delta = domain.size(m), domain.failure(delta)
    norm, D = domain.positive(norm, "norm"), domain.positive(D, "D", zero=True)
    gamma, radius = _margin_and_radius(gamma, radius)
    Delta = domain.positive(Delta, "Delta")
    d_eff = 64 * (norm**2 + (D / Delta) ** 2) * (radius**2 + Delta**2) / gamma**2
    return assemble(
        "margin-distribution bound",
        {
            "capacity": fat_terms(m, np.minimum(d_eff, 2 * m)),
            "level": 2 * ld(m) / m,
            "confidence": 2 * ld(2 / delta) / m,
        },
        delta=delta,
        statement="With probability at least 1 - delta every hyperplane through the origin with"
        " this norm and margin shortfall has at most this risk.",
        reference="Herbrich (2002), Lemma 4.34",
        assumptions=(IID, RADIUS, NO_ATOMS, "Delta was fixed before the sample was seen"),
        conditions={"d_eff <= 2 m": d_eff <= 2 * m},
        ingredients={"d_eff": d_eff},
    )


@recorded()
def robust_margin_bound(
    m: Any,
    delta: Any,
    margins: Any,
    radius: float,
    gamma: float | None = None,
    method: str = "grid",
    *,
    rigorous_radius: bool = True,
) -> Bound:
    r"""Robust margin bound from the margins of all training points, errors included.

    .. math:: \frac2m\Big(\Big\lceil d_{\rm eff}\,\mathrm{ld}\frac{8em}{d_{\rm eff}}
              \,\mathrm{ld}(32m)\Big\rceil+\mathrm{ld}\frac{(16+\mathrm{ld}\,m)m}\delta\Big),
              \qquad d_{\rm eff}=\frac{65(\varsigma+3D)^2}{\gamma^2}\le2m

    with :math:`D^2=\sum_i\max(0,\gamma-\gamma_i)^2`. All logarithms are to base 2; natural ones,
    as sometimes printed, would halve the bound without justification.

    Parameters
    ----------
    m, delta : int or array, float or array
        Sample size, failure probability.
    margins : array
        Geometrical margins :math:`y_i\langle w,x_i\rangle/\|w\|`.
    radius : float
        Radius of a ball around the origin that holds all inputs.
    gamma : float, optional
        Margin in :math:`(0,\varsigma]`; by default the best one, which costs nothing as the
        statement is uniform in it.
    method : {"grid", "book"}
        "grid" minimises over the geometric grid of the proof instead of bounding that minimum,
        and is never larger.

    Examples
    --------
    >>> margins = np.ones(10**6)
    >>> margins[0] = 0
    >>> round(robust_margin_bound(10**6, 0.05, margins, 1.0).value, 10)
    0.2091846819
    """
    m, delta = domain.size(m), domain.failure(delta)
    domain.choice(method, "method", ("grid", "book"))
    margins = _margins(margins)
    radius = float(domain.positive(radius, "radius"))

    def shortfall(g: float) -> float:
        return float(np.sqrt((np.maximum(0.0, g - margins) ** 2).sum()))

    if gamma is None:
        found = minimize_scalar(
            lambda g: (radius + 3 * shortfall(g)) / g,  # quasi-convex
            bounds=(0.0, radius),
            method="bounded",
            options={"xatol": 1e-10 * radius},
        )
        candidates = [found.x, radius]  # the search never tries the end points
        gamma = min(candidates, key=lambda g: (radius + 3 * shortfall(g)) / g)
    g = float(domain.positive(gamma, "gamma"))
    if g > radius * (1 + 1e-12):
        raise ValueError(
            f"margin {g!r} exceeds radius {radius!r}; no vector inside the ball can have it"
        )
    D = shortfall(g)
    return _robust("robust margin bound", m, delta, D, g, radius, method, rigorous_radius)


def _robust(name, m, delta, D, gamma, radius, method, rigorous, reference="Theorem 4.35"):
    if method == "book":
        d_eff = 65 * (radius + 3 * D) ** 2 / gamma**2 * np.ones_like(m)
        levels = (16 + ld(m)) / 2
    else:
        d_eff, levels = np.vectorize(_grid, otypes=[float, float])(m, D, gamma, radius)
    return assemble(
        name,
        {
            "capacity": fat_terms(m, np.minimum(d_eff, 2 * m)),
            "level": 2 * ld(2 * m * levels) / m,
            "confidence": -2 * ld(delta) / m,
        },
        delta=delta,
        rigorous=rigorous,
        statement="With probability at least 1 - delta every hyperplane through the origin has at"
        " most this risk, in terms of how far its margins fall short of gamma.",
        reference=f"Herbrich (2002), {reference}",
        assumptions=(IID, RADIUS, NO_ATOMS),
        conditions={"d_eff <= 2 m": d_eff <= 2 * m},
        ingredients={"d_eff": d_eff, "D": D, "gamma": gamma},
    )


def _grid(m: float, D: float, gamma: float, radius: float) -> tuple[float, float]:
    """Smallest effective dimension over the proof's grid of Delta, and the grid's size."""
    steps = int(np.ceil(ld(64 * np.sqrt(m)) - 1e-12)) + 1  # down to the first one <= radius / 32
    Delta = 2 * radius * np.sqrt(m) / 2.0 ** np.arange(steps)
    d_eff = 64 / gamma**2 * (1 + (D / Delta) ** 2) * (radius**2 + Delta**2)
    return float(d_eff.min()), float(steps)


@recorded()
def robust_margin_bound_svm(
    m: Any,
    delta: Any,
    norm: float,
    slacks: Any,
    radius: float,
    penalty: str = "l2",
    *,
    rigorous_radius: bool = True,
) -> Bound:
    r"""Robust margin bound of a soft-margin machine, at :math:`\gamma=1/\|w\|`.

    .. math:: d_{\rm eff}=65(\varsigma\|w\|+3\|\xi\|)^2

    with the 2-norm or (larger) the 1-norm of the slacks :math:`\xi_i=\max(0,1-y_if(x_i))`.

    Examples
    --------
    >>> round(robust_margin_bound_svm(10**6, 0.05, 1.0, np.zeros(5), 1.0).value, 6)
    0.059541
    """
    m, delta = domain.size(m), domain.failure(delta)
    order = {"l2": 2, "l1": 1}[domain.choice(penalty, "penalty", ("l2", "l1"))]
    norm, radius = float(domain.positive(norm, "norm")), float(domain.positive(radius, "radius"))
    slack = float(
        np.linalg.norm(np.atleast_1d(domain.positive(slacks, "slacks", zero=True)), order)
    )
    return _soft("soft-margin bound", m, delta, norm, slack, radius, rigorous_radius, "Remark 4.36")


def _soft(name, m, delta, norm, slack, radius, rigorous, reference):
    d_eff = 65 * (radius * norm + 3 * slack) ** 2 * np.ones_like(m)
    return assemble(
        name,
        {
            "capacity": fat_terms(m, np.minimum(d_eff, 2 * m)),
            "level": 2 * ld((16 + ld(m)) * m) / m,
            "confidence": -2 * ld(delta) / m,
        },
        delta=delta,
        rigorous=rigorous,
        statement="With probability at least 1 - delta the classifier has at most this risk, in"
        " terms of its norm and its slacks.",
        reference=f"Herbrich (2002), {reference}",
        assumptions=(IID, RADIUS, NO_ATOMS),
        conditions={
            "1/norm exceeds the radius; use robust_margin_bound(gamma=None)": np.asarray(
                radius * norm >= 1 - 1e-12
            ),
            "d_eff <= 2 m": d_eff <= 2 * m,
        },
        ingredients={"d_eff": d_eff},
    )


@recorded()
def amm_bound(
    m: Any,
    delta: Any,
    alpha: Any,
    slacks: Any,
    lam: float,
    gram: Any,
    y: Any,
    radius: float,
    norm_of: str = "l1",
    *,
    rigorous_radius: bool = True,
) -> Bound:
    r"""Margin bound of the adaptive margin machine with trade-off lambda.

    .. math:: d_{\rm eff}=65\Big(\varsigma\|w\|+3\sum_i\max\{0,\xi_i-\lambda\alpha_ik(x_i,x_i)\}
              \Big)^2,\qquad w=\sum_i\alpha_iy_i\phi(x_i)

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    alpha, slacks : arrays of shape (m,)
        Feasible for :math:`y_if(x_i)\ge1-\xi_i+\lambda\alpha_ik(x_i,x_i)` (a factor
        :math:`y_i` is missing in Herbrich 2002, equation 4.36).
    lam : float
        Trade-off of the linear program; 1 is the leave-one-out machine.
    gram, y : arrays
        Gram matrix and labels.
    radius : float
        Radius of a ball around the origin that holds all inputs.
    norm_of : {"l1", "l2"}
        "l2" takes the root of the sum of squares, which is smaller.

    Examples
    --------
    >>> bound = amm_bound(2, 0.05, [1.0, 1.0], [0.0, 0.0], 0.0, np.eye(2), [1, -1], 1.0)
    >>> round(bound.ingredients["d_eff"], 9)
    130.0
    """
    m, delta = domain.size(m), domain.failure(delta)
    G = domain.square(gram)
    y = domain.labels(y, len(G))
    alpha = np.atleast_1d(domain.positive(alpha, "alpha", zero=True))
    slacks = np.atleast_1d(domain.positive(slacks, "slacks", zero=True))
    lam = float(domain.positive(lam, "lam", zero=True))
    order = {"l2": 2, "l1": 1}[domain.choice(norm_of, "norm_of", ("l1", "l2"))]
    relief = lam * alpha * np.diag(G)
    f = G @ (alpha * y)
    if (y * f < 1 - slacks + relief - 1e-6 * (1 + np.abs(f).max())).any():
        raise ValueError("alpha and slacks are not feasible for the adaptive margin program")
    norm = float(np.sqrt(max((alpha * y) @ f, 0.0)))
    slack = float(np.linalg.norm(np.maximum(0.0, slacks - relief), order))
    radius = float(domain.positive(radius, "radius"))
    return _soft(
        "adaptive-margin bound", m, delta, norm, slack, radius, rigorous_radius, "Theorem 4.37"
    )


def _margins(margins: Any) -> np.ndarray:
    if np.size(margins) == 0:
        raise ValueError("margins must not be empty")
    return np.atleast_1d(domain.numbers(margins, "margins"))


def _margin_and_radius(margin: Any, radius: Any) -> tuple[np.ndarray, np.ndarray]:
    margin, radius = domain.positive(margin, "margin"), domain.positive(radius, "radius")
    if (margin > radius * (1 + 1e-12)).any():
        raise ValueError(
            f"margin {margin.max().item()!r} exceeds radius {radius.max().item()!r};"
            " no vector inside the ball can have it"
        )
    return margin, radius
