"""Test-set bound: the risk from errors on examples that training never saw."""

from typing import Any

import numpy as np
from scipy.special import betaincinv

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds._special import tail_inverse
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded


@recorded(size="n", proportional=("errors",))
def test_set_bound(errors: Any, n: Any, delta: Any = 0.05, side: str = "upper") -> Bound:
    r"""Clopper-Pearson limit of the risk, by inverting the binomial tail.

    .. math:: \max\{p:P(\mathrm{Bin}(n,p)\le k)\ge\delta\}

    Smaller than the inversion of the binary divergence and than Hoeffding's bound.

    Parameters
    ----------
    errors, n : int
        Errors on n held-out examples.
    delta : float
        Failure probability.
    side : {"upper", "lower"}
        The largest, or the smallest plausible risk.

    Examples
    --------
    >>> round(test_set_bound(5, 100).value, 10)
    0.1022533776
    """
    k, n, delta = domain.count(errors, "errors"), domain.size(n, "n"), domain.failure(delta)
    if (k > n).any():
        raise ValueError(f"errors must be at most n, got {errors!r} with n={n!r}")
    k, n, delta = np.broadcast_arrays(k, n, delta)
    if domain.choice(side, "side", ("upper", "lower")) == "upper":
        value = tail_inverse(k, n, np.log(delta))
    else:
        value = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, delta), 0.0)
    return assemble(
        "test-set bound",
        {"test error": k / n, "confidence": value - k / n},
        delta=delta,
        statement="With probability at least 1 - delta the classifier's risk is at"
        f" {'most' if side == 'upper' else 'least'} this.",
        reference="Clopper and Pearson (1934); Langford (2005)",
        assumptions=(IID, "the classifier does not depend on the held-out examples"),
    )


test_set_bound.__test__ = False  # type: ignore[attr-defined]  # a bound, whatever pytest thinks
