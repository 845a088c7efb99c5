"""Bound: a number that a theorem gives, with its terms, its assumptions and what it would take."""

import dataclasses
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec

import numpy as np

from bayeskern.classic.bounds import _domain as domain

Value = Any  # a float, or an array of them when the arguments were arrays

IID = "the examples are independent and identically distributed"
NO_ATOMS = "no single point that misses the margin has positive probability"
PRIOR_FIRST = "the prior was fixed before the sample was seen"


@dataclass(frozen=True, eq=False, repr=False)
class Bound:
    """What a theorem says about a risk, a probability or a deviation.

    Attributes
    ----------
    name : str
        Short name of the theorem.
    value : float or ndarray
        ``min(raw, trivial)``: the number that is safe to report.
    raw : float or ndarray
        What the formula gives; infinite if a side condition of the theorem fails.
    delta : float or ndarray
        Failure probability; NaN for statements in expectation and asymptotic ones.
    terms : mapping of str to float
        Named summands; they add up to `raw`. The increment of a bound that is not a sum (a
        square root, an inverted divergence) is split in proportion to its ingredients.
    vacuous : bool or ndarray of bool
        ``raw >= trivial``: nothing is said.
    statement : str
        The theorem in one sentence.
    assumptions : tuple of str
        What must be true and the code cannot see, and what failed.
    reference : str
        Author, year, equation.
    kind : str
        "risk", "deviation", "excess", "tail", "expected", "asymptotic" or "loo".
    trivial : float
        What is known without a theorem: 1 for the zero-one loss.
    rigorous : bool
        False if a quantity that must be known beforehand was read off the sample.
    ingredients : mapping of str to float
        Intermediate numbers: effective dimensions, log probabilities, optimal scales.

    Examples
    --------
    >>> from bayeskern.classic.bounds import pac_bayes_kl
    >>> bound = pac_bayes_kl(m=1000, delta=0.05, gibbs_training_error=0.1, kl=5.0)
    >>> round(float(bound), 6)
    0.15311
    >>> abs(sum(bound.terms.values()) - bound.raw) < 1e-12
    True
    """

    name: str
    value: Value
    raw: Value
    delta: Value
    terms: Mapping[str, Value]
    vacuous: Value
    statement: str
    assumptions: tuple[str, ...]
    reference: str
    kind: str = "risk"
    trivial: Value = 1.0
    rigorous: bool = True
    ingredients: Mapping[str, Value] = field(default_factory=dict)
    call: "Call | None" = None

    @property
    def confidence(self) -> Value:
        """Probability with which the statement holds, ``1 - delta``."""
        return 1 - self.delta

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        value = f"{self.value:.6g}" if np.ndim(self.value) == 0 else f"array{self.value.shape}"
        return f"Bound({self.name!r}, value={value}, delta={self.delta})"

    def __str__(self) -> str:
        head = f"{self.name}: {_show(self.value)}"
        if not np.isnan(self.delta).all():
            head += f" with confidence 1 - {_show(self.delta)}"
        if np.any(self.vacuous):
            head += f"  [vacuous: the formula gives {_show(self.raw)}]"
        if not self.rigorous:
            head += "  [heuristic: see what it assumes]"
        lines = [
            head,
            *textwrap.wrap(self.statement, 92, initial_indent="  ", subsequent_indent="  "),
        ]
        width = max(map(len, [*self.terms, "total"]))
        lines += [f"    {name:<{width}}  {_show(value)}" for name, value in self.terms.items()]
        lines += [f"    {'total':<{width}}  {_show(self.raw)}"]
        if self.ingredients:
            lines += [
                "  with " + ", ".join(f"{k} = {_show(v)}" for k, v in self.ingredients.items())
            ]
        for assumption in self.assumptions:
            lines += textwrap.wrap(
                assumption, 90, initial_indent="  assumes: ", subsequent_indent="    "
            )
        return "\n".join([*lines, f"  reference: {self.reference}"])

    def at(self, **changes: Any) -> "Bound":
        """Evaluate the same bound with some arguments changed.

        >>> from bayeskern.classic.bounds import hoeffding_deviation
        >>> hoeffding_deviation(100, 0.05).at(n=400).value < hoeffding_deviation(100, 0.05).value
        True
        """
        if self.call is None:
            raise ValueError(
                f"the {self.name} was not made by a single call, so it has no arguments"
            )
        return self.call.function(**{**self.call.arguments, **changes})

    def sample_size(self, target: float | None = None, *, largest: float = 1e15) -> float:
        """Return the smallest sample for which the bound falls to ``target``, else infinity.

        The other arguments stay as they are, except counts of mistakes, which grow in
        proportion. The default target is half of the trivial value: what a coin achieves.
        """
        if np.ndim(self.raw):
            raise ValueError("sample_size needs a single bound, not an array of them")
        if self.call is None or self.call.size not in self.call.arguments:
            return math.nan
        target = float(self.trivial) / 2 if target is None else target
        return smallest(lambda m: self.call.resized(m).raw <= target, largest)  # type: ignore[union-attr]

    def explain(self, target: float | None = None) -> str:
        """Say which term dominates and what sample size would make the bound useful.

        Parameters
        ----------
        target : float, default=trivial / 2
            The value below which the bound would be of use.
        """
        if np.ndim(self.raw):
            raise ValueError("explain needs a single bound, not an array of them")
        target = float(self.trivial) / 2 if target is None else target
        top = max(self.terms, key=lambda name: self.terms[name])
        if math.isinf(self.raw):
            text = [f"The {self.name} says nothing: {self.assumptions[-1]}."]
        else:
            state = "is vacuous" if self.vacuous else f"gives {self.value:.4g}"
            part = self.terms[top] / self.raw if self.raw else 0.0
            text = [
                f"The {self.name} {state} (formula {self.raw:.4g});"
                f" its largest term is {top}, {self.terms[top]:.4g} or {part:.0%} of it."
            ]
        if self.raw <= target:
            text.append(f"It is below {target:.4g} already.")
        else:
            needed = self.sample_size(target)
            if math.isfinite(needed):
                now = self.call.arguments[self.call.size]  # type: ignore[union-attr]
                text.append(
                    f"With {int(needed):,} examples instead of {int(now):,} it would fall to"
                    f" {target:.4g}, other things equal."
                )
            elif math.isinf(needed):
                text.append(f"No sample size alone brings it to {target:.4g}.")
        return " ".join(text)


@dataclass(frozen=True, eq=False)
class Call:
    """How a bound was computed, so that it can be computed again for another sample size."""

    function: Callable[..., Bound]
    arguments: Mapping[str, Any]
    size: str
    proportional: tuple[str, ...] = ()

    def resized(self, m: int) -> Bound:
        """Evaluate the bound for a sample of ``m``, counts of mistakes grown in proportion."""
        changes: dict[str, Any] = {self.size: m}
        for name in self.proportional:
            grown = self.arguments[name] * m / self.arguments[self.size]
            changes[name] = math.ceil(grown - 1e-9)  # rounding up is on the safe side
        return self.function(**{**self.arguments, **changes})


P = ParamSpec("P")


def recorded(size: str = "m", proportional: tuple[str, ...] = ()):
    """Let a function that returns a `Bound` note its own arguments on it.

    Floating-point flags are silenced inside: where a side condition fails the formula may not
    be computable, and `assemble` then puts infinity in its place.
    """

    def decorate(function: Callable[P, Bound]) -> Callable[P, Bound]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Bound:
            bound_arguments = signature.bind(*args, **kwargs)
            with np.errstate(all="ignore"):
                result = function(*args, **kwargs)
            bound_arguments.apply_defaults()
            call = Call(wrapper, bound_arguments.arguments, size, proportional)
            return dataclasses.replace(result, call=call)

        return wrapper

    return decorate


def assemble(
    name: str,
    terms: Mapping[str, Value],
    *,
    delta: Value,
    statement: str,
    reference: str,
    assumptions: Sequence[str] = (IID,),
    conditions: Mapping[str, Value] | None = None,
    kind: str = "risk",
    trivial: Value = 1.0,
    rigorous: bool = True,
    ingredients: Mapping[str, Value] | None = None,
) -> Bound:
    """Add up the terms of a bound; where a side condition of the theorem fails it is infinite."""
    holds = np.asarray(True)
    notes = list(assumptions)
    for text, fine in (conditions or {}).items():
        holds = holds & fine
        if not np.all(fine):
            notes.append(f"side condition fails: {text}")
    parts = {key: np.where(holds, term, 0.0) for key, term in terms.items()}
    if not holds.all():
        parts["failed side condition"] = np.where(holds, 0.0, np.inf)
    shape = np.broadcast_shapes(*(np.shape(part) for part in parts.values()), np.shape(trivial))
    raw = np.broadcast_to(sum(parts.values(), np.zeros(())), shape)
    return Bound(
        name=name,
        value=_plain(np.minimum(raw, trivial)),
        raw=_plain(raw),
        delta=_plain(delta),
        terms={key: _plain(part) for key, part in parts.items()},
        vacuous=_plain(raw >= trivial),
        statement=statement,
        assumptions=tuple(notes),
        reference=reference,
        kind=kind,
        trivial=_plain(trivial),
        rigorous=rigorous,
        ingredients={key: _plain(part) for key, part in (ingredients or {}).items()},
    )


def share(total: Value, parts: Mapping[str, Value]) -> dict[str, Value]:
    """Split ``total`` in proportion to non-negative ``parts``.

    >>> {k: float(v) for k, v in share(2.0, {"a": 1.0, "b": 3.0}).items()}
    {'a': 0.5, 'b': 1.5}
    """
    whole = sum(parts.values(), np.zeros(()))
    safe = np.where(whole > 0, whole, 1.0)
    even = 1.0 / len(parts)
    return {k: total * np.where(whole > 0, part / safe, even) for k, part in parts.items()}


def smallest(enough: Callable[[int], bool], largest: float = 1e15) -> float:
    """Return the smallest whole number from 1 on with ``enough(m)``, which must stay true."""
    high = 1
    while not enough(high):
        high *= 2
        if high > largest:
            return math.inf
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def sample_size(bound: Callable[..., Bound], eps: float, **arguments: Any) -> float:
    """Return the smallest sample size for which a bound is at most ``eps``.

    Parameters
    ----------
    bound : callable
        One of the functions of this package that take ``m``.
    eps : float
        The value wanted.
    **arguments
        The other arguments of ``bound``.

    Returns
    -------
    float
        A whole number, or infinity if 1e15 examples do not suffice.

    Examples
    --------
    >>> from bayeskern.classic.bounds import finite_class_pac_bound
    >>> sample_size(finite_class_pac_bound, 0.05, n_hypotheses=1000, delta=0.05)
    199
    """
    domain.positive(eps, "eps")
    return smallest(lambda m: bool(bound(m=m, **arguments).raw <= eps))


def best_of(
    bounds: Sequence[Callable[[float], Bound]],
    delta: float = 0.05,
    weights: Sequence[float] | None = None,
) -> Bound:
    r"""Evaluate several bounds with a shared failure probability and return the smallest.

    Taking the minimum after seeing the values is only valid if :math:`\delta` was split:
    bound :math:`i` is evaluated at :math:`\delta w_i` (Herbrich 2002, Lemma 4.14).

    Parameters
    ----------
    bounds : sequence of callables
        Each maps a failure probability to a `Bound`.
    delta : float
        Failure probability of the minimum.
    weights : sequence of float, optional
        Positive, with a sum of at most 1; uniform by default. Fix them before the data.

    Examples
    --------
    >>> from bayeskern.classic.bounds import hoeffding_deviation, bernstein_deviation
    >>> best_of([lambda d: hoeffding_deviation(100, d),
    ...          lambda d: bernstein_deviation(100, d, variance=0.01, c=1.0)]).name
    'Bernstein inequality'
    """
    delta = float(domain.failure(delta))
    if not bounds:
        raise ValueError("bounds must not be empty")
    split = np.full(len(bounds), 1 / len(bounds)) if weights is None else np.asarray(weights, float)
    if len(split) != len(bounds) or not (split > 0).all() or split.sum() > 1 + 1e-12:
        raise ValueError(f"weights must be positive and sum to at most 1, got {weights!r}")
    found = [bound(delta * w) for bound, w in zip(bounds, split, strict=True)]
    best = min(found, key=lambda b: b.raw)
    note = f"the smallest of {len(found)} bounds, delta shared out before any was seen"
    return dataclasses.replace(best, delta=delta, assumptions=(*best.assumptions, note))


def _plain(value: Value) -> Value:
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array


def _show(value: Value) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.6g}"
    return np.array2string(array, precision=4, threshold=6)
