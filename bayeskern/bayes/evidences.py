"""Evidences as values that know how they were found, and what they say of models."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayeskern.checks import as_array, positive
from bayeskern.errors import ZeroEvidenceError


class MixedEvidenceWarning(UserWarning):
    """Evidences found in different ways are compared as if their errors were one."""


@dataclass(frozen=True)
class Evidence:
    """The log evidence of a model for one data set.

    Parameters
    ----------
    log_value : float
        Log probability (or density) of the data; ``-inf`` if the model rules them out.
    kind : str, default="exact"
        How it was found: ``exact``, ``laplace``, ``ep``, ``splitting``, ``smc``, ...
    se : float, default=0.0
        Monte Carlo standard error of ``log_value``.

    Examples
    --------
    >>> Evidence(-1.5)
    Evidence(log_value=-1.5, kind='exact', se=0.0)
    """

    log_value: float
    kind: str = "exact"
    se: float = 0.0

    def __post_init__(self):
        if math.isnan(self.log_value) or self.log_value == math.inf:
            raise ValueError(f"log_value must be finite or -inf, got {self.log_value!r}")
        positive(self.se, "se", zero=True)

    @classmethod
    def of(cls, tree: Any) -> "Evidence":
        """Read the evidence that a method recorded in the attributes of its result.

        Parameters
        ----------
        tree : DataTree
            What a method returned.
        """
        attrs = tree.attrs
        if "log_evidence" not in attrs:
            raise ValueError(f"{attrs.get('method', 'the method')} recorded no evidence")
        return cls(
            float(attrs["log_evidence"]),
            str(attrs.get("evidence_kind", "unknown")),
            float(attrs.get("log_evidence_se", 0.0)),
        )


def model_posterior(evidences: Sequence[Evidence], log_prior: Any = None) -> np.ndarray:
    r"""Return the posterior over models, or hypothesis spaces.

    .. math:: P(\mathcal H_i | z) \propto E(\mathcal H_i; y) \, P(\mathcal H_i)

    Herbrich (2002), eq. 3.3. Comparing evidences of different kinds warns, since a Laplace and an
    exact evidence of the very same model differ.

    Parameters
    ----------
    evidences : sequence of Evidence
        One per model, all for the same data.
    log_prior : array of shape (models,), optional
        Log prior probabilities, up to a constant; equal by default.

    Returns
    -------
    ndarray of shape (models,)
        Probabilities.

    Examples
    --------
    >>> model_posterior([Evidence(np.log(0.1)), Evidence(np.log(1 / 32))]).round(7)
    array([0.7619048, 0.2380952])
    """
    if not evidences:
        raise ValueError("evidences must hold at least one model, got none")
    kinds = sorted({e.kind for e in evidences})
    if len(kinds) > 1:
        warnings.warn(
            f"evidences of different kinds are compared ({', '.join(kinds)}): their approximation"
            " errors do not cancel",
            MixedEvidenceWarning,
            stacklevel=2,
        )
    logs = np.array([e.log_value for e in evidences])
    logs = logs + log_weights(log_prior, len(logs))
    total = logsumexp(logs)
    if total == -np.inf:
        raise ZeroEvidenceError("no model with positive prior probability explains the data")
    return np.exp(logs - total)


def average_models(probabilities: Any, weights: Any) -> np.ndarray:
    r"""Return :math:`P(y | x, z) = \sum_i P(\mathcal H_i | z) P(y | x, z, \mathcal H_i)`.

    Parameters
    ----------
    probabilities : array of shape (models, ...)
        What each model predicts.
    weights : array of shape (models,)
        Posterior over models, as of `model_posterior`.

    Examples
    --------
    >>> average_models([[0.9, 0.1], [0.5, 0.5]], [0.75, 0.25])
    array([0.8, 0.2])
    """
    probabilities, weights = as_array(probabilities, "probabilities"), as_array(weights, "weights")
    if weights.shape != probabilities.shape[:1]:
        raise ValueError(
            f"weights must have one entry per model, got shape {weights.shape}"
            f" for {len(probabilities)} models"
        )
    if (weights < 0).any() or abs(weights.sum() - 1) > 1e-8:
        raise ValueError(f"weights must be non-negative and sum to 1, got {weights.tolist()}")
    return np.tensordot(weights, probabilities, axes=1)


def log_weights(log_prior: Any, n: int, name: str = "log_prior") -> np.ndarray:
    """Normalise a log prior over ``n`` things, equal by default; ``-inf`` rules one out.

    >>> np.exp(log_weights([0.0, -np.inf, 0.0], 3))
    array([0.5, 0. , 0.5])
    """
    if log_prior is None:
        return np.full(n, -math.log(n))
    values = np.asarray(log_prior, dtype=float)
    if values.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {values.shape}")
    if np.isnan(values).any() or (values == np.inf).any():
        raise ValueError(f"{name} must hold finite numbers or -inf, got {values.tolist()}")
    total = logsumexp(values)
    if total == -np.inf:
        raise ValueError(f"{name} must leave at least one possibility, got -inf only")
    return values - total
