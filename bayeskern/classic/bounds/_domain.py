"""Read the arguments of a bound, scalars or arrays, or refuse them by name and domain."""

from typing import Any

import numpy as np


def numbers(value: Any, name: str, *, infinite: bool = False) -> np.ndarray:
    """Return a number or an array of numbers as floats; NaN, text and booleans are refused."""
    array = np.asarray(value)
    if array.dtype == object:  # integers beyond 64 bits
        try:
            array = array.astype(float)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name} must be a number, got {value!r}") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be a number, got {value!r}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty")
    array = array.astype(float)
    if np.isnan(array).any() or (not infinite and np.isinf(array).any()):
        raise ValueError(f"{name} must be finite, got {_first(array, ~np.isfinite(array))!r}")
    return array


def _first(array: np.ndarray, odd: np.ndarray) -> Any:
    return array[odd].flat[0].item()


def _require(array: np.ndarray, fine: np.ndarray, message: str) -> np.ndarray:
    if not fine.all():
        raise ValueError(f"{message}, got {_first(array, ~fine)!r}")
    return array


def size(m: Any, name: str = "m") -> np.ndarray:
    """Return a sample size: whole numbers of at least 1."""
    array = numbers(m, name)
    return _require(
        array, (array >= 1) & (array == np.floor(array)), f"{name} must be a positive integer"
    )


def count(k: Any, name: str, *, least: int = 0, infinite: bool = False) -> np.ndarray:
    """Return whole numbers of at least ``least``, or infinity where that is allowed."""
    array = numbers(k, name, infinite=infinite)
    kind = "a non-negative integer" if least == 0 else f"an integer of at least {least}"
    fine = (array >= least) & (array == np.floor(array))
    return _require(array, fine, f"{name} must be {kind}{' or inf' if infinite else ''}")


def failure(delta: Any, name: str = "delta") -> np.ndarray:
    """Return a failure probability in (0, 1]."""
    array = numbers(delta, name)
    return _require(array, (array > 0) & (array <= 1), f"{name} must lie in (0, 1]")


def unit(p: Any, name: str) -> np.ndarray:
    """Return a risk or a probability in [0, 1]."""
    array = numbers(p, name)
    return _require(array, (array >= 0) & (array <= 1), f"{name} must lie in [0, 1]")


def mass(p: Any, name: str = "prior mass") -> np.ndarray:
    """Return a probability in (0, 1]."""
    array = numbers(p, name)
    return _require(array, (array > 0) & (array <= 1), f"{name} must lie in (0, 1]")


def log_mass(p: Any, name: str) -> np.ndarray:
    """Return the logarithm of a probability, that is a number of at most 0."""
    array = numbers(p, name)
    return _require(array, array <= 0, f"{name} must be the log of a probability, at most 0")


def positive(x: Any, name: str, *, zero: bool = False) -> np.ndarray:
    """Return positive numbers (or zero, if allowed)."""
    array = numbers(x, name)
    fine = array >= 0 if zero else array > 0
    return _require(array, fine, f"{name} must be {'non-negative' if zero else 'positive'}")


def loss_range(b: Any, name: str = "loss_bound") -> np.ndarray:
    """Return the upper end of the range of a loss."""
    array = numbers(b, name, infinite=True)
    return _require(array, (array > 0) & np.isfinite(array), f"{name} must be positive and finite")


def divergence(kl: Any, name: str = "kl") -> np.ndarray:
    """Return a Kullback-Leibler divergence."""
    array = numbers(kl, name)
    if (array < 0).any():
        raise ValueError(
            f"{name} must be non-negative, got {_first(array, array < 0)!r};"
            " the Monte-Carlo estimate is unusable"
        )
    return array


def prior_vector(prior: Any, length: int, name: str = "prior") -> np.ndarray:
    """Return weights over ``length`` models that sum to at most 1; None stands for uniform."""
    if prior is None:
        return np.full(length, 1.0 / length)
    array = np.atleast_1d(numbers(prior, name))
    if (array <= 0).any() or array.sum() > 1 + 1e-12:
        raise ValueError(
            f"{name} must be positive and sum to at most 1, got sum {float(array.sum())!r}"
        )
    return array


def choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return one of a few names."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def labels(y: Any, length: int | None = None) -> np.ndarray:
    """Return labels -1 and +1."""
    array = np.atleast_1d(numbers(y, "y"))
    if not np.isin(array, (-1.0, 1.0)).all():
        raise ValueError("y must contain only -1 and +1")
    if length is not None and len(array) != length:
        raise ValueError(f"y must have one entry per point, got {len(array)} for {length} points")
    return array


def square(G: Any, name: str = "gram") -> np.ndarray:
    """Return a square matrix."""
    array = numbers(G, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {array.shape}")
    return array
