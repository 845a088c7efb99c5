"""Read what a caller passed, or refuse it in one sentence that names the argument."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayeskern.errors import NotPSDError


def as_array(value: Any, name: str, *, ndim: int | None = None) -> np.ndarray:
    """Return ``value`` as a finite float array, without ever casting text or objects.

    >>> as_array([1, 2], "t", ndim=1)
    array([1., 2.])
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(
            f"{name} must be a rectangular array of numbers, got ragged rows"
        ) from None
    if array.dtype == object:
        try:
            array = array.astype(float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold numbers only, got {_first_odd(array)!r} among them"
            ) from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got {array.dtype} such as {_first(array)!r}")
    array = array.astype(float, copy=False)
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]} in it")
    return array


def as_matrix(value: Any, name: str = "X") -> np.ndarray:
    """Return inputs as an ``(n, d)`` matrix; a vector is refused with the way to reshape it."""
    array = as_array(value, name)
    if array.ndim == 1:
        raise ValueError(
            f"{name} must be a matrix with one row per point, got shape {array.shape};"
            f" a single feature is {name}.reshape(-1, 1)"
        )
    if array.ndim != 2:
        raise ValueError(f"{name} must be a matrix with one row per point, got shape {array.shape}")
    return array


def as_labels(y: Any, n: int | None = None, name: str = "y") -> np.ndarray:
    """Return labels as floats in {-1, +1}; anything else is refused, never recoded."""
    array = as_array(y, name, ndim=1)
    odd = array[(array != 1) & (array != -1)]
    if odd.size:
        raise ValueError(f"{name} must hold labels -1 and +1 only, got {odd[0]:g}; see as_pm1")
    return _of_length(array, n, name)


def as_targets(t: Any, n: int | None = None, name: str = "y") -> np.ndarray:
    """Return real targets as a finite vector of length ``n``."""
    return _of_length(as_array(t, name, ndim=1), n, name)


def as_pm1(y: Any) -> np.ndarray:
    """Recode any two labels as -1 (the smaller) and +1 (the larger).

    >>> as_pm1(["ham", "spam", "ham"])
    array([-1.,  1., -1.])
    """
    values, index = np.unique(np.asarray(y), return_inverse=True)
    if len(values) != 2:
        raise ValueError(f"y must hold two labels, got {len(values)}: {values[:5].tolist()}")
    return np.where(index == 1, 1.0, -1.0)


def as_gram(K: Any, name: str = "K", *, psd: bool = False) -> np.ndarray:
    """Return a square symmetric matrix, exactly symmetrised; with ``psd`` also check its sign."""
    K = as_array(K, name, ndim=2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be square, got shape {K.shape}")
    if np.abs(K - K.T).max() > 1e-8 * max(np.abs(K).max(), np.finfo(float).tiny):
        i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
        raise ValueError(
            f"{name} must be symmetric, got {K[i, j]:.6g} at ({i}, {j})"
            f" and {K[j, i]:.6g} at ({j}, {i})"
        )
    K = (K + K.T) / 2
    if psd:
        check_psd(K, name)
    return K


def check_psd(K: np.ndarray, name: str = "K") -> None:
    """Raise `NotPSDError` unless the smallest eigenvalue is non-negative up to rounding."""
    spectrum = np.linalg.eigvalsh(K)
    if spectrum[0] < -1e-8 * max(spectrum[-1], np.finfo(float).tiny):
        raise NotPSDError(
            f"{name} must be positive semidefinite, got smallest eigenvalue {spectrum[0]:.3g}"
            f" beside the largest {spectrum[-1]:.3g}"
        )


def positive(value: Any, name: str, *, zero: bool = False) -> float:
    """Return a finite positive number (or zero, if allowed)."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    if value < 0 or (value == 0 and not zero):
        raise ValueError(f"{name} must be {'non-negative' if zero else 'positive'}, got {value!r}")
    return float(value)


def within(value: Any, name: str, low: float, high: float, *, closed: str = "both") -> float:
    """Return a number of the interval from ``low`` to ``high``; ``closed`` as in pandas."""
    left, right = closed in ("both", "left"), closed in ("both", "right")
    text = f"{'[' if left else '('}{low:g}, {high:g}{']' if right else ')'}"
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be a number in {text}, got {value!r}")
    number = float(value)
    if not (low < number < high or (left and number == low) or (right and number == high)):
        raise ValueError(f"{name} must be in {text}, got {value!r}")
    return number


def whole(value: Any, name: str, *, least: int = 0) -> int:
    """Return an integer of at least ``least``; 2.0 is not an integer here."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def one_of(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return one of a few names."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def _of_length(array: np.ndarray, n: int | None, name: str) -> np.ndarray:
    if n is not None and len(array) != n:
        raise ValueError(f"{name} must have one entry per point, got {len(array)} for {n} points")
    return array


def _first(array: np.ndarray) -> Any:
    return array.flat[0] if array.size else None


def _first_odd(array: np.ndarray) -> Any:
    return next((v for v in array.flat if not isinstance(v, Real)), _first(array))
