"""More than two classes: machines against the rest, against each other, or all together."""

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bayeskern import checks
from bayeskern.classic._dual import Rows
from bayeskern.classic.margin import SVMSolution, relative_gap
from bayeskern.classic.support import as_rows, read_bias, svm
from bayeskern.errors import ConvergenceWarning

SCHEMES = ("one-vs-one", "one-vs-rest", "dag", "all-together")


@dataclass(frozen=True, eq=False)
class MulticlassSolution:
    """Several machines and the rule that makes one decision of them.

    Parameters
    ----------
    classes : ndarray of shape (k,)
        The labels, sorted.
    scheme : str
        How the machines were made and are combined.
    coefficients : ndarray of shape (n, m)
        One column per machine, over all points.
    bias : ndarray of shape (m,)
        One per machine.
    norms : ndarray of shape (m,)
        Length of each weight vector.
    gap : float
        Relative duality gap, the largest of the machines.
    converged : bool
        Whether every machine is.
    machines : tuple of SVMSolution
        The machines on their own points; empty when they were solved all together.
    """

    classes: np.ndarray
    scheme: str
    coefficients: np.ndarray
    bias: np.ndarray
    norms: np.ndarray
    gap: float
    converged: bool
    machines: tuple[SVMSolution, ...] = ()

    def decisions(self, K: np.ndarray) -> np.ndarray:
        """Return the output of every machine, from kernel values to the training points."""
        return np.asarray(K) @ self.coefficients + self.bias

    def scores(self, K: np.ndarray) -> np.ndarray:
        """Return one score per class; the largest wins."""
        return combine(self.decisions(K), len(self.classes), self.scheme)

    def predict(self, K: np.ndarray) -> np.ndarray:
        """Return a label for each row of kernel values."""
        return self.classes[self.scores(K).argmax(axis=1)]


def combine(decisions: np.ndarray, k: int, scheme: str) -> np.ndarray:
    """Turn the outputs of the machines into one score per class, the first largest wins.

    Duels are for pairs in lexicographic order, positive for the first class of the pair. Equal
    numbers of votes are broken by the sum of the real outputs, then by the order of the classes.
    In the DAG the first and the last class left duel, and the loser is dropped.
    """
    if scheme in ("one-vs-rest", "all-together"):
        return decisions
    duels = list(combinations(range(k), 2))
    scores = np.zeros((len(decisions), k))
    if scheme == "dag":
        place = {pair: m for m, pair in enumerate(duels)}
        first, last = np.zeros(len(decisions), int), np.full(len(decisions), k - 1)
        index = np.array([[place.get((a, b), 0) for b in range(k)] for a in range(k)])
        lines = np.arange(len(decisions))
        for round_ in range(k - 1):
            won = decisions[lines, index[first, last]] >= 0
            scores[lines, np.where(won, last, first)] = round_ - (k - 1)
            first, last = np.where(won, first, first + 1), np.where(won, last - 1, last)
        return scores
    sums = np.zeros_like(scores)
    for m, (a, b) in enumerate(duels):
        f = decisions[:, m]
        scores[:, a] += f >= 0
        scores[:, b] += f < 0
        sums[:, a] += f
        sums[:, b] -= f
    return scores + sums / (3 * (np.abs(sums) + 1))  # never worth a whole vote


def multiclass_svm(
    K: np.ndarray | Rows,
    y: np.ndarray,
    C: float = 1.0,
    *,
    scheme: str = "one-vs-one",
    normalise: bool = False,
    sample_weight: np.ndarray | None = None,
    **settings: Any,
) -> MulticlassSolution:
    r"""Fit support vector machines to any number of classes.

    ``"one-vs-rest"`` fits a machine per class and takes the largest output; ``"one-vs-one"`` fits
    one per pair and counts votes; ``"dag"`` fits the same and eliminates, k - 1 duels a point;
    ``"all-together"`` solves one problem (Crammer and Singer 2001),

    .. math:: \min_w\ \tfrac12\sum_r\|w_r\|^2
        + C\sum_i \max_r\big(f_r(x_i) + 1 - \delta_{r y_i}\big) - f_{y_i}(x_i) .

    Parameters
    ----------
    K : ndarray of shape (n, n), or Rows
        Gram matrix, or a source of its rows.
    y : ndarray of shape (n,)
        Labels of any kind.
    C : float, default=1.0
        Weight of the summed loss.
    scheme : {"one-vs-one", "one-vs-rest", "dag", "all-together"}
        See above.
    normalise : bool, default=False
        Divide each machine against the rest by its norm, so that outputs are distances.
    sample_weight : ndarray of shape (n,), optional
        Positive factors of ``C`` by point.
    **settings
        ``loss``, ``bias``, ``tol`` and ``max_iter`` of `svm`; the all-together machine knows the
        linear loss only, and no ordinary bias.

    Returns
    -------
    MulticlassSolution

    Examples
    --------
    >>> X = np.array([[1.0, 0], [0, 1], [-1, -1]])
    >>> multiclass_svm(X @ X.T, ["a", "b", "c"], 10.0).predict(X @ X.T).tolist()
    ['a', 'b', 'c']
    """
    rows = as_rows(K)
    checks.one_of(scheme, "scheme", SCHEMES)
    classes, label = np.unique(np.asarray(y), return_inverse=True)
    k, n = len(classes), rows.n
    if len(label) != n:
        raise ValueError(f"y must have one entry per point, got {len(label)} for {n} points")
    if k < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}")
    weight = np.ones(n)
    if sample_weight is not None:
        weight = checks.as_targets(sample_weight, n, "sample_weight")
    if scheme == "all-together":
        return _all_together(rows, classes, label, checks.positive(C, "C") * weight, **settings)
    if scheme == "one-vs-rest":
        signs = [np.where(label == r, 1.0, -1.0) for r in range(k)]
        machines = [svm(rows, s, C, sample_weight=weight, **settings) for s in signs]
        coefficients = np.column_stack([m.coefficients for m in machines])
    else:
        duels = list(combinations(range(k), 2))
        coefficients, machines = np.zeros((n, len(duels))), []
        for m, (a, b) in enumerate(duels):
            members = np.flatnonzero((label == a) | (label == b))
            side = np.where(label[members] == a, 1.0, -1.0)
            part, weights = rows.subset(members), weight[members]
            machines.append(svm(part, side, C, sample_weight=weights, **settings))
            coefficients[members, m] = machines[-1].coefficients
    bias = np.array([m.bias for m in machines])
    norms = np.array([m.norm for m in machines])
    if normalise and scheme == "one-vs-rest":
        scale = np.where(norms > 0, norms, 1.0)
        coefficients, bias = coefficients / scale, bias / scale
    return MulticlassSolution(
        classes, scheme, coefficients, bias, norms, max(m.gap for m in machines),
        all(m.converged for m in machines), tuple(machines),
    )  # fmt: skip


def _all_together(
    rows: Rows,
    classes: np.ndarray,
    label: np.ndarray,
    C: np.ndarray,
    *,
    bias: str | float = "none",
    tol: float = 1e-6,
    max_iter: int = 100_000,
) -> MulticlassSolution:
    from bayeskern.classic._crammer import ascend

    const, ordinary = read_bias(bias)
    if ordinary:
        raise ValueError("bias must be 'none' or a number for 'all-together', got 'ordinary'")
    if rows.K is None:
        raise ValueError("'all-together' needs the whole Gram matrix, got a source of rows")
    n, k = rows.n, len(classes)
    K = rows.K + const
    tau, f = np.zeros((n, k)), np.zeros((n, k))
    n_epochs = max(1, min(max_iter, 100_000))
    _, worst = ascend(K, label, C, tau, f, tol, n_epochs)
    if worst > tol:
        warnings.warn(
            f"stopped after max_iter={n_epochs} epochs with a violation of {worst:.3g}, above"
            f" tol={tol:g}; raise max_iter",
            ConvergenceWarning,
            stacklevel=3,
        )
    f = K @ tau
    norms2 = np.einsum("ir,ir->r", tau, f)
    here = np.arange(n), label
    hinge = f + 1.0
    hinge[here] -= 1.0
    primal = 0.5 * norms2.sum() + float(C @ (hinge.max(axis=1) - f[here]))
    dual = float(tau[here].sum()) - 0.5 * norms2.sum()
    return MulticlassSolution(
        classes, "all-together", tau, const * tau.sum(axis=0), np.sqrt(np.maximum(norms2, 0.0)),
        relative_gap(primal, dual), worst <= tol,
    )  # fmt: skip
