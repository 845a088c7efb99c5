"""Leave-one-out error and its bounds, and one-versus-rest."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.result import Bound, assemble, recorded


def loo_error(learner: Callable[[Any, Any], Callable[[Any], Any]], X: Any, y: Any) -> float:
    """Leave-one-out error by refitting, an almost unbiased estimate of the risk at m - 1.

    Parameters
    ----------
    learner : callable
        ``learner(X, y)`` returns a function of inputs with real outputs; 0 counts as an error.
    X, y : arrays
        Sample, labels -1 and +1.

    Examples
    --------
    >>> def majority(X, y):
    ...     return lambda Z: np.full(len(Z), y.sum())
    >>> loo_error(majority, np.zeros((3, 1)), [1, 1, -1])
    1.0
    """
    X = np.asarray(X)
    y = domain.labels(y, len(X))
    keep = ~np.eye(len(y), dtype=bool)
    outputs = [float(np.ravel(learner(X[rest], y[rest])(X[~rest]))[0]) for rest in keep]
    return float((y * np.array(outputs) <= 0).mean())


@recorded(size="")
def jaakkola_haussler_bound(gram: Any, y: Any, alpha: Any) -> Bound:
    r"""Leave-one-out error of a dual learner without refitting.

    .. math:: \frac1m\#\Big\{i:y_i\sum_{j\ne i}\alpha_jy_jk(x_i,x_j)\le0\Big\}

    Parameters
    ----------
    gram, y : arrays
        Gram matrix, labels -1 and +1.
    alpha : array of shape (m,)
        Non-negative dual coefficients, maximising
        :math:`-\frac12\alpha^\top YGY\alpha+\sum_iJ(\alpha_i)` in a fixed box, without offset.

    Examples
    --------
    >>> jaakkola_haussler_bound(np.eye(2), [1, -1], [1.0, 1.0]).value
    1.0
    """
    G = domain.square(gram)
    y = domain.labels(y, len(G))
    alpha = np.atleast_1d(domain.positive(alpha, "alpha", zero=True))
    if len(alpha) != len(G):
        raise ValueError(
            f"alpha must have one entry per point, got {len(alpha)} for {len(G)} points"
        )
    left_out = y * (G @ (alpha * y)) - alpha * np.diag(G)
    return assemble(
        "Jaakkola-Haussler bound",
        {"errors left out": (left_out <= 0).mean()},
        delta=np.nan,
        kind="loo",
        statement="The leave-one-out error is at most the share of points that the others do not"
        " classify by themselves.",
        reference="Jaakkola and Haussler (1999); Herbrich (2002), Theorem 2.37",
        assumptions=("no offset, box kept fixed", "an estimate of the risk, not a bound of it"),
    )


@recorded(proportional=("n_support",))
def sv_loo_bound(n_support: Any, m: Any) -> Bound:
    r"""Leave-one-out error of an SVM, at most the share of support vectors.

    Examples
    --------
    >>> sv_loo_bound(10, 100).value
    0.1
    """
    m, n = domain.size(m), domain.count(n_support, "n_support")
    if (n > m).any():
        raise ValueError(f"n_support must be at most m, got {n_support!r} with m={m!r}")
    return assemble(
        "support-vector bound",
        {"support vectors": n / m},
        delta=np.nan,
        kind="loo",
        statement="The leave-one-out error of an SVM is at most its share of support vectors.",
        reference="Vapnik (1998); Herbrich (2002), Theorem 2.37",
        assumptions=("hinge loss, no offset", "an estimate of the risk, not a bound of it"),
    )


def one_vs_rest_bound(binary_results: Sequence[Bound], delta: float) -> Bound:
    r"""Risk of the arg-max over K binary classifiers, :math:`R\le\sum_kR_k`.

    Parameters
    ----------
    binary_results : sequence of Bound
        One per class, each computed at ``delta / n_classes``.
    delta : float
        Failure probability of the sum.

    Examples
    --------
    >>> from bayeskern.classic.bounds import test_set_bound
    >>> parts = [test_set_bound(2, 1000, 0.05 / 3) for _ in range(3)]
    >>> round(one_vs_rest_bound(parts, 0.05).value, 4)
    0.0232
    """
    delta, K = float(domain.failure(delta)), len(binary_results)
    if K < 2:
        raise ValueError(f"binary_results must hold one bound per class, got {K}")
    if any(abs(b.delta - delta / K) > 1e-12 for b in binary_results):
        raise ValueError("binary bounds must each be computed at delta / n_classes")
    assumptions = dict.fromkeys(a for b in binary_results for a in b.assumptions)
    return assemble(
        "one-versus-rest bound",
        {f"class {k}": b.raw for k, b in enumerate(binary_results)},
        delta=delta,
        rigorous=all(b.rigorous for b in binary_results),
        statement="With probability at least 1 - delta the arg-max of the binary classifiers errs"
        " at most as often as any of them does.",
        reference="union bound",
        assumptions=tuple(assumptions),
    )
