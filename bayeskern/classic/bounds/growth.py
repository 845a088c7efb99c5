"""How many labellings a class can produce: growth functions and VC dimensions."""

import math
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import LN2, log_binomial_sum
from bayeskern.classic.bounds.result import Bound, assemble, recorded


def log_growth_bound(m: Any, vc_dim: Any, form: str = "sauer") -> Any:
    r"""Bound the growth function :math:`\mathcal G(m)`, the log number of labellings of m points.

    .. math:: \mathcal G(m)=m\ln2\ (m\le\vartheta),\qquad
       \mathcal G(m)\le\ln\sum_{i\le\vartheta}\binom mi\le\vartheta\Big(\ln\frac m\vartheta+1\Big) .

    Parameters
    ----------
    m : int or array
        Number of points.
    vc_dim : int, inf or array
        VC dimension :math:`\vartheta`.
    form : {"sauer", "simple"}
        The sum, or the closed form on its right (capped at :math:`m\ln2`).

    Examples
    --------
    >>> round(float(np.exp(log_growth_bound(10, 3))))
    176
    """
    m, v = domain.size(m), domain.count(vc_dim, "vc_dim", infinite=True)
    domain.choice(form, "form", ("sauer", "simple"))
    m, v = np.broadcast_arrays(m, v)
    capped = np.minimum(v, m)
    if form == "sauer":
        out = log_binomial_sum(m, capped)
    else:
        safe = np.maximum(capped, 1.0)
        out = np.where(v == 0, 0.0, np.minimum(safe * (np.log(m / safe) + 1), m * LN2))
        out = np.where(m <= v, m * LN2, out)
    return out.item() if out.ndim == 0 else out


def log_cover_count(m: Any, n: Any) -> Any:
    r"""Log of Cover's count :math:`2\sum_{i<n}\binom{m-1}i` of homogeneous linear labellings.

    Exact for m points in general position in n dimensions; at most the Sauer bound.

    Examples
    --------
    >>> round(float(np.exp(log_cover_count(6, 3))))
    32
    """
    m, n = domain.size(m), domain.count(n, "n", least=1)
    m, n = np.broadcast_arrays(m, n)
    out = np.where(
        n >= m, m * LN2, LN2 + log_binomial_sum(np.maximum(m - 1, 0), np.minimum(n - 1, m))
    )
    return out.item() if out.ndim == 0 else out


def _dim(p: dict, name: str) -> int:
    if name not in p:
        raise ValueError(f"this class needs the parameter {name}")
    return int(domain.count(p[name], name, least=1))


_POWER_SET = {
    "rbf": "Gaussian RBF kernel",
    "nearest_neighbor": "1-nearest neighbour",
    "sine": "sign sin(w x)",
}
_LINEAR = ("homogeneous_hyperplanes", "hyperplanes", "polynomial", "homogeneous_polynomial")
CLASSES = (
    "half_lines",
    "half_lines_both",
    "intervals",
    "boxes",
    *_LINEAR,
    "spheres",
    "spheres_both",
    "monotone_polynomials",
    *_POWER_SET,
    "function_space",
    "finite",
)


def vc_dimension(name: str, **p: Any) -> float:
    r"""VC dimension of a class by name.

    Parameters
    ----------
    name : str
        "half_lines" (1), "half_lines_both" orientations (2), "intervals" (2), "boxes" in ``d``
        dimensions (2d), "homogeneous_hyperplanes" through the origin of ``d`` dimensions (d),
        "hyperplanes" with offset (d + 1), "spheres" :math:`\mathrm{sign}(\|x\|^2-b)` (1),
        "spheres_both" signs (2), "monotone_polynomials" (1), "polynomial" kernel of ``degree``
        in ``d`` dimensions (:math:`\binom{d+n}n`), "homogeneous_polynomial"
        (:math:`\binom{d+n-1}n`, one more with ``offset=True``), "rbf", "nearest_neighbor" and
        "sine" (infinite), signs of a ``k``-dimensional "function_space" (at most k; one sees
        k + 1 in print, which is loose), and a "finite" class of ``size`` hypotheses (at most
        the floor of its binary logarithm).
    **p
        The parameters named above.

    Returns
    -------
    float
        An integer, or infinity.

    Examples
    --------
    >>> vc_dimension("hyperplanes", d=2), vc_dimension("polynomial", d=3, degree=2)
    (3, 10)
    """
    domain.choice(name, "name", CLASSES)
    if name in _POWER_SET:
        return math.inf
    if name == "boxes":
        return 2 * _dim(p, "d")
    if name in _LINEAR:
        return _linear_dimension(name, p)
    if name == "function_space":
        return _dim(p, "k")
    if name == "finite":
        return _dim(p, "size").bit_length() - 1
    return {"half_lines": 1, "spheres": 1, "monotone_polynomials": 1}.get(name, 2)


def _linear_dimension(name: str, p: dict) -> int:
    d = _dim(p, "d")
    if name == "homogeneous_hyperplanes":
        return d
    if name == "hyperplanes":
        return d + 1
    degree = _dim(p, "degree")
    if name == "polynomial":
        return math.comb(d + degree, degree)
    return math.comb(d + degree - 1, degree) + bool(p.get("offset", False))


def log_growth(name: str, m: Any, **p: Any) -> Any:
    r"""Growth function :math:`\ln\mathcal N(m)` of a class by name, exact wherever it is known.

    Half-lines give m + 1 labellings, both orientations 2m, intervals :math:`1+m(m+1)/2`, linear
    classes Cover's count; boxes and function spaces fall back on Sauer's bound.

    Examples
    --------
    >>> round(float(np.exp(log_growth("intervals", 4))))
    11
    """
    dimension = vc_dimension(name, **p)
    size = domain.size(m)
    if name in ("half_lines", "spheres", "monotone_polynomials"):
        out = np.log1p(size)
    elif name in ("half_lines_both", "spheres_both"):
        out = np.log(2 * size)
    elif name == "intervals":
        out = np.log1p(size * (size + 1) / 2)
    elif name in _LINEAR:
        out = np.asarray(log_cover_count(m, dimension))
    elif name == "finite":
        out = np.minimum(math.log(p["size"]), size * LN2)
    else:
        out = np.asarray(log_growth_bound(m, dimension))
    return out.item() if np.ndim(out) == 0 else out


@recorded(size="")
def margin_vc_dimension(radius: Any, norm: Any, dim: Any = None) -> Bound:
    r"""Complexity of canonical hyperplanes, :math:`\min(\lfloor R^2\Lambda^2\rfloor,d)`.

    The class depends on the sample, so inserting this into a VC bound is not a theorem: it is
    a complexity measure only, and is marked as not rigorous.

    Examples
    --------
    >>> margin_vc_dimension(1.0, 2.5).raw
    6.0
    """
    radius, norm = domain.positive(radius, "radius"), domain.positive(norm, "norm")
    product = (radius * norm) ** 2
    # (1/gamma)^2 falls just below whole numbers in floating point; rounding up is safe
    value = np.floor(product * (1 + 1e-9))
    if dim is not None:
        value = np.minimum(value, domain.count(dim, "dim", least=1))
    return assemble(
        "margin VC dimension",
        {"dimension": value},
        delta=np.nan,
        kind="expected",
        trivial=np.inf if dim is None else domain.count(dim, "dim", least=1),
        rigorous=False,
        statement="Canonical hyperplanes of norm at most norm on points within radius shatter at"
        " most this many of them; an offset adds one.",
        reference="Vapnik (1998), Theorem 10.3",
        assumptions=("a complexity measure only: the class depends on the sample",),
    )
