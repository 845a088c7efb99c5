r"""Hyperparameters to infer, kept as data.

A number is fixed, a `Prior` is inferred. A `Prior` names a PyMC distribution on the positive
reals; its density is also written here in closed form, so that evidence maximisation and
hyperparameter sampling need no compiler.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import betaln, gammaln

from bayeskern.checks import positive, whole


class _Density(NamedTuple):
    """Parameters (``None``: required), log density, its slope, and the same in scipy.stats."""

    defaults: dict[str, float | None]
    logpdf: Callable
    slope: Callable
    scipy: Callable


def _log(x):
    with np.errstate(divide="ignore"):
        return np.log(x)


def _half_t(x, nu, sigma):
    normaliser = np.log(2.0) - 0.5 * np.log(nu) - np.log(sigma) - betaln(nu / 2, 0.5)
    return normaliser - (nu + 1) / 2 * np.log1p((x / sigma) ** 2 / nu)


_DENSITIES: dict[str, _Density] = {
    "Exponential": _Density(
        {"lam": 1.0},
        lambda x, lam: np.log(lam) - lam * x,
        lambda x, lam: np.full_like(x, -lam),
        lambda st, lam: st.expon(scale=1 / lam),
    ),
    "Gamma": _Density(
        {"alpha": None, "beta": None},
        lambda x, alpha, beta: (
            alpha * np.log(beta) - gammaln(alpha) + (alpha - 1) * _log(x) - beta * x
        ),
        lambda x, alpha, beta: (alpha - 1) / x - beta,
        lambda st, alpha, beta: st.gamma(alpha, scale=1 / beta),
    ),
    "HalfCauchy": _Density(
        {"beta": None},
        lambda x, beta: np.log(2 / np.pi / beta) - np.log1p((x / beta) ** 2),
        lambda x, beta: -2 * x / (beta**2 + x**2),
        lambda st, beta: st.halfcauchy(scale=beta),
    ),
    "HalfNormal": _Density(
        {"sigma": 1.0},
        lambda x, sigma: 0.5 * np.log(2 / np.pi) - np.log(sigma) - 0.5 * (x / sigma) ** 2,
        lambda x, sigma: -x / sigma**2,
        lambda st, sigma: st.halfnorm(scale=sigma),
    ),
    "HalfStudentT": _Density(
        {"nu": 1.0, "sigma": 1.0},
        _half_t,
        lambda x, nu, sigma: -(nu + 1) * x / (nu * sigma**2 + x**2),
        lambda st, nu, sigma: st.foldnorm(0, scale=sigma) if np.isinf(nu) else _FoldedT(nu, sigma),
    ),
    "InverseGamma": _Density(
        {"alpha": None, "beta": 1.0},
        lambda x, alpha, beta: (
            alpha * np.log(beta) - gammaln(alpha) - (alpha + 1) * _log(x) - beta / x
        ),
        lambda x, alpha, beta: (beta / x - alpha - 1) / x,
        lambda st, alpha, beta: st.invgamma(alpha, scale=beta),
    ),
    "LogNormal": _Density(
        {"mu": 0.0, "sigma": 1.0},
        lambda x, mu, sigma: (
            -0.5 * np.log(2 * np.pi) - np.log(sigma) - _log(x) - 0.5 * ((_log(x) - mu) / sigma) ** 2
        ),
        lambda x, mu, sigma: -(1 + (_log(x) - mu) / sigma**2) / x,
        lambda st, mu, sigma: st.lognorm(sigma, scale=np.exp(mu)),
    ),
    "Weibull": _Density(
        {"alpha": None, "beta": None},
        lambda x, alpha, beta: (
            np.log(alpha / beta) + (alpha - 1) * _log(x / beta) - (x / beta) ** alpha
        ),
        lambda x, alpha, beta: ((alpha - 1) - alpha * (x / beta) ** alpha) / x,
        lambda st, alpha, beta: st.weibull_min(alpha, scale=beta),
    ),
}


class _FoldedT:
    """The positive half of Student's t, which scipy.stats lacks."""

    def __init__(self, nu, sigma):
        from scipy import stats

        self._t, self._sigma = stats.t(nu), sigma

    def rvs(self, size, random_state):
        return self._sigma * np.abs(self._t.rvs(size=size, random_state=random_state))

    def median(self):
        return self._sigma * self._t.ppf(0.75)


@dataclass(frozen=True, init=False, repr=False)
class Prior:
    """The prior of a positive hyperparameter: the name of a PyMC distribution and its parameters.

    Parameters
    ----------
    distribution : str
        One of Exponential, Gamma, HalfCauchy, HalfNormal, HalfStudentT, InverseGamma, LogNormal
        and Weibull, as PyMC names and parametrises them.
    size : int, optional
        Length of a vector of independent parameters, such as one length scale per input.
    **parameters : float
        The distribution's own parameters, by PyMC's names.

    Examples
    --------
    >>> prior = Prior("InverseGamma", alpha=3, beta=2)
    >>> prior
    Prior('InverseGamma', alpha=3, beta=2)
    >>> float(prior.logp(1.0).round(6))
    -0.613706
    """

    distribution: str
    parameters: tuple[tuple[str, float], ...]
    size: int | None

    def __init__(self, distribution: str, *, size: int | None = None, **parameters: float):
        if distribution not in _DENSITIES:
            raise ValueError(
                f"a Prior must be one of {', '.join(_DENSITIES)} (positive and differentiable),"
                f" got {distribution!r}"
            )
        known = _DENSITIES[distribution].defaults
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"{distribution} has parameters {', '.join(known)}, got {name!r}")
            if name != "mu":
                positive(value, f"{distribution} {name}")
        missing = [n for n, v in known.items() if v is None and n not in parameters]
        if missing:
            raise ValueError(f"{distribution} needs {' and '.join(missing)}, got {parameters}")
        if size is not None:
            whole(size, "size", least=1)
        object.__setattr__(self, "distribution", distribution)
        object.__setattr__(self, "parameters", tuple(parameters.items()))
        object.__setattr__(self, "size", size)

    def __repr__(self) -> str:
        extra = {} if self.size is None else {"size": self.size}
        arguments = (f"{k}={v!r}" for k, v in {**dict(self.parameters), **extra}.items())
        return f"Prior({self.distribution!r}, {', '.join(arguments)})"

    def _full(self) -> dict[str, float]:
        return {**_DENSITIES[self.distribution].defaults, **dict(self.parameters)}  # type: ignore[dict-item]

    def logp(self, value: Any) -> np.ndarray:
        """Log density, summed over a vector parameter."""
        value = np.asarray(value, dtype=float)
        return np.sum(_DENSITIES[self.distribution].logpdf(value, **self._full()))

    def slope(self, value: Any) -> np.ndarray:
        """Derivative of the log density, elementwise."""
        return _DENSITIES[self.distribution].slope(np.asarray(value, dtype=float), **self._full())

    def sample(self, rng: np.random.Generator, draws: int | None = None) -> np.ndarray:
        """Draw values: ``(draws, size)``, leaving out what was not asked for."""
        shape = tuple(s for s in (draws, self.size) if s is not None)
        return np.asarray(self._scipy().rvs(size=shape or None, random_state=rng))

    def median(self) -> float | np.ndarray:
        """Return the median, where optimisers and chains may start."""
        middle = float(self._scipy().median())
        return middle if self.size is None else np.full(self.size, middle)

    def _scipy(self):
        from scipy import stats

        return _DENSITIES[self.distribution].scipy(stats, **self._full())

    def rv(self, name: str) -> Any:
        """Make the PyMC variable, inside the current model."""
        import pymc as pm

        shape = {} if self.size is None else {"shape": self.size}
        return getattr(pm, self.distribution)(name, **self._full(), **shape)


class HasPriors:
    """A frozen dataclass some of whose parameters may be a `Prior`.

    Its variables are called ``<name>_<parameter>``, after its field ``name``.
    """

    def _owned(self) -> dict[str, Any]:
        """Return all parameters that are numbers, vectors or priors, by variable name."""
        name = getattr(self, "name", type(self).__name__.lower())
        return {f"{name}_{field}": getattr(self, field) for field in self._fields()}

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        """Return the names of the fields that hold parameters."""
        return tuple(
            f.name
            for f in dataclasses.fields(cls)  # type: ignore[arg-type]
            if f.metadata.get("parameter")
        )

    def free(self) -> dict[str, Prior]:
        """Return the parameters to infer: variable name to prior."""
        return {k: v for k, v in self._owned().items() if isinstance(v, Prior)}

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Replace parameters, free or not, by the values given for their variable names."""
        names = dict(zip(self._owned(), self._fields(), strict=True))
        known = {names[k]: v for k, v in values.items() if k in names}
        return dataclasses.replace(self, **known) if known else self  # type: ignore[type-var]

    def in_model(self) -> Self:
        """Replace every prior by its PyMC variable, made in the current model."""
        return self.with_values({name: prior.rv(name) for name, prior in self.free().items()})


def parameter(default: Any = dataclasses.MISSING) -> Any:
    """Mark a dataclass field as a positive parameter that may be a `Prior`."""
    return dataclasses.field(default=default, metadata={"parameter": True})


def read_parameter(value: Any, name: str, *, vector: bool = False, zero: bool = False) -> Any:
    """Return a parameter as it is kept: a float, a tuple of floats, a `Prior` or a tensor."""
    if isinstance(value, Prior):
        if value.size is not None and not vector:
            raise ValueError(f"{name} must be a single number, got a Prior of size {value.size}")
        return value
    if is_tensor(value):
        return value
    if vector and isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0:
        if np.ndim(value) != 1 or len(value) == 0:
            raise ValueError(f"{name} must be a number or a vector, got shape {np.shape(value)}")
        return tuple(positive(_plain(v), name, zero=zero) for v in value)
    return positive(_plain(value), name, zero=zero)


def is_tensor(value: Any) -> bool:
    """Tell whether a value is a PyTensor variable, without importing PyTensor."""
    return hasattr(value, "owner") and hasattr(value, "type") and hasattr(value, "eval")


def _plain(value: Any) -> Any:
    return (
        value.item()
        if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0
        else value
    )
