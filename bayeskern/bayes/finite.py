"""Finitely many hypotheses: the whole of Bayesian learning in closed form."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from bayeskern.bayes.evidences import Evidence, log_weights
from bayeskern.bayes.problem import Problem
from bayeskern.checks import as_array, positive
from bayeskern.errors import ZeroEvidenceError

Loss = Callable[[np.ndarray, np.ndarray], Any]
TIE = 1e-12


def zero_one(output: np.ndarray, label: np.ndarray) -> np.ndarray:
    """One where an output is not the label.

    >>> zero_one(np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    array([1., 0.])
    """
    return (output != label).astype(float)


def inverse_loss(
    outputs: Any, labels: Any = (-1, 1), *, loss: Loss = zero_one, beta: float = 0.0
) -> np.ndarray:
    r"""Return the log likelihood of every label under each output.

    .. math:: \mathcal L(h, (x, y)) =
              \frac{e^{-l(h(x), y) / \beta}}{\sum_{\hat y} e^{-l(h(x), \hat y) / \beta}}

    Herbrich (2002), eq. 3.2. In the limit :math:`\beta = 0` the labels of least loss share all
    probability: with the zero-one loss this is the PAC likelihood :math:`1[h(x) = y]`.

    Parameters
    ----------
    outputs : array
        What hypotheses say; of any shape.
    labels : sequence of float
        The possible labels.
    loss : callable
        ``loss(outputs, labels)``, elementwise and non-negative or not, but finite.
    beta : float, default=0.0
        Noise level, at least 0.

    Returns
    -------
    ndarray
        Of the shape of ``outputs`` and one axis more, for the labels.

    Examples
    --------
    >>> np.exp(inverse_loss([1.0], beta=1.0)).round(7)
    array([[0.2689414, 0.7310586]])
    """
    outputs, beta = as_array(outputs, "outputs"), positive(beta, "beta", zero=True)
    losses = _losses(outputs, as_array(labels, "labels", ndim=1), loss)
    if beta > 0:
        return log_softmax(-losses / beta, axis=-1)
    least = losses <= losses.min(axis=-1, keepdims=True) + TIE
    with np.errstate(divide="ignore"):
        return np.log(least / least.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class FiniteBayes(Problem):
    r"""Posterior over finitely many hypotheses, given labels of some points.

    .. math:: P(h | z) = \frac{\prod_i \mathcal L(h, (x_i, y_i)) \, P(h)}
              {\sum_{h'} \prod_i \mathcal L(h', (x_i, y_i)) \, P(h')}

    Herbrich (2002), eq. 3.1; the distribution of the points cancels.

    Parameters
    ----------
    hypotheses : array of shape (H, m)
        What each hypothesis says at each point: a label, or any number that ``loss`` takes.
    y : array of shape (m,)
        The labels seen.
    log_prior_mass : array of shape (H,), optional
        Log prior probabilities, up to a constant; equal by default.
    loss : callable, default=zero_one
        ``loss(outputs, labels)``, elementwise; the losses of `bayeskern.classic` do.
    beta : float, default=0.0
        Noise level of the likelihood `inverse_loss`; 0 is the PAC limit.
    labels : sequence of float, default=(-1, 1)
        The possible labels. Ties go to the last.

    Examples
    --------
    >>> three = FiniteBayes([[1], [-1], [-1]], [1], np.log([0.3, 0.35, 0.35]), beta=2.0)
    >>> three.posterior.round(3)
    array([0.414, 0.293, 0.293])
    >>> float(three.map([[1], [-1], [-1]])[0]), float(three.bayes([[1], [-1], [-1]])[0])
    (1.0, -1.0)
    """

    hypotheses: Any
    y: Any
    log_prior_mass: Any = None
    loss: Loss = zero_one
    beta: float = 0.0
    labels: Any = (-1, 1)

    def __post_init__(self):
        hypotheses = as_array(self.hypotheses, "hypotheses", ndim=2)
        labels = as_array(self.labels, "labels", ndim=1)
        if len(labels) < 2 or len(np.unique(labels)) < len(labels):
            raise ValueError(f"labels must hold two or more values, each once, got {self.labels!r}")
        y = as_array(self.y, "y", ndim=1)
        if len(y) != hypotheses.shape[1]:
            raise ValueError(
                f"y must have one label per column of hypotheses, got {len(y)}"
                f" for {hypotheses.shape[1]}"
            )
        odd = y[~np.isin(y, labels)]
        if odd.size:
            raise ValueError(f"y must hold labels of {labels.tolist()}, got {odd[0]:g}")
        object.__setattr__(self, "hypotheses", hypotheses)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "y", y)
        prior = log_weights(self.log_prior_mass, len(hypotheses), "log_prior_mass")
        object.__setattr__(self, "log_prior_mass", prior)
        positive(self.beta, "beta", zero=True)

    @cached_property
    def fit(self) -> np.ndarray:
        """Log likelihood of the sample under each hypothesis, ``(H,)``."""
        table = inverse_loss(self.hypotheses, self.labels, loss=self.loss, beta=self.beta)
        return _select(table, (self.y[:, None] == self.labels).argmax(axis=1))

    @cached_property
    def evidence(self) -> Evidence:
        """Probability of the labels, averaged over the prior.

        In the PAC limit with the zero-one loss it is the prior mass of version space.
        """
        return Evidence(float(logsumexp(self.fit + self.log_prior_mass)))

    @cached_property
    def log_posterior(self) -> np.ndarray:
        """Log posterior probability of each hypothesis, ``(H,)``."""
        if self.evidence.log_value == -np.inf:
            raise ZeroEvidenceError(
                "no hypothesis with positive prior mass explains the labels at beta=0;"
                " a positive beta allows for errors"
            )
        return self.fit + self.log_prior_mass - self.evidence.log_value

    @property
    def posterior(self) -> np.ndarray:
        """Posterior probability of each hypothesis, ``(H,)``."""
        return np.exp(self.log_posterior)

    @property
    def most_probable(self) -> np.ndarray:
        """Indices of all hypotheses of the largest posterior probability."""
        return np.flatnonzero(self.log_posterior >= self.log_posterior.max() - TIE)

    def predict_proba(self, outputs: Any) -> np.ndarray:
        """Probability of each label at new points, averaged over the posterior, ``(k, labels)``.

        Parameters
        ----------
        outputs : array of shape (H, k)
            What each hypothesis says at the new points.
        """
        table = inverse_loss(self._new(outputs), self.labels, loss=self.loss, beta=self.beta)
        return np.tensordot(self.posterior, np.exp(table), axes=1)

    def decision(self, outputs: Any) -> np.ndarray:
        """Posterior mean of the outputs; its sign is the vote of two classes, 0 is a tie."""
        mean = self.posterior @ self._new(outputs)
        return np.where(np.abs(mean) <= TIE, 0.0, mean)

    def map(self, outputs: Any) -> np.ndarray:
        """Label by the most probable hypothesis, the first among equals."""
        return self._decide(self._new(outputs)[self.most_probable[0]])

    def bayes(self, outputs: Any) -> np.ndarray:
        r"""Label of least expected loss, :math:`\arg\min_y E_{H|z}[l(H(x), y)]`."""
        losses = _losses(self._new(outputs), self.labels, self.loss)
        return self._least(np.tensordot(self.posterior, losses, axes=1))

    def gibbs(self, outputs: Any, rng: np.random.Generator | None = None) -> np.ndarray:
        """Label by a hypothesis drawn anew from the posterior for every point."""
        outputs = self._new(outputs)
        rng = rng or np.random.default_rng()
        k = outputs.shape[1]
        which = rng.choice(len(outputs), size=k, p=self.posterior / self.posterior.sum())
        return self._decide(outputs[which, np.arange(k)])

    def build(self) -> Any:
        """One categorical variable ``h``; for small ``H``, as its sum is exact anyway."""
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model() as model:
            h = pm.Categorical("h", p=np.exp(self.log_prior_mass))
            pm.Potential("y", pt.as_tensor_variable(self.fit)[h])
        return model

    def observed_data(self) -> dict[str, Any]:
        """The labels."""
        return {"y": self.y}

    def _new(self, outputs: Any) -> np.ndarray:
        outputs = as_array(outputs, "outputs", ndim=2)
        if len(outputs) != len(self.hypotheses):
            raise ValueError(
                f"outputs must have one row per hypothesis, got {len(outputs)}"
                f" for {len(self.hypotheses)}"
            )
        return outputs

    def _decide(self, outputs: np.ndarray) -> np.ndarray:
        return self._least(_losses(outputs, self.labels, self.loss))

    def _least(self, losses: np.ndarray) -> np.ndarray:
        best = losses <= losses.min(axis=-1, keepdims=True) + TIE
        return self.labels[len(self.labels) - 1 - best[:, ::-1].argmax(axis=1)]


def evidence_surface(
    hypotheses: Any,
    log_prior: Any = None,
    *,
    loss: Loss = zero_one,
    beta: float = 0.0,
    labels: Any = (-1, 1),
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return every labelling of the points and its evidence; the evidences sum to one.

    Parameters
    ----------
    hypotheses, loss, beta, labels
        As for `FiniteBayes`.
    log_prior : array of shape (H,), optional
        Log prior probabilities, up to a constant; equal by default.

    Returns
    -------
    labellings : ndarray of shape (labels ** m, m)
        The first point varies slowest.
    log_evidence : ndarray of shape (labels ** m,)
        Log probability of each.

    Examples
    --------
    >>> labellings, log_evidence = evidence_surface([[1, 1], [1, -1]])
    >>> labellings[log_evidence > -np.inf].tolist(), float(np.exp(log_evidence).sum())
    ([[1, -1], [1, 1]], 1.0)
    """
    hypotheses = as_array(hypotheses, "hypotheses", ndim=2)
    prior = log_weights(log_prior, len(hypotheses))
    table = inverse_loss(hypotheses, labels, loss=loss, beta=beta)
    index = np.array(list(itertools.product(range(len(labels)), repeat=hypotheses.shape[1])))
    logs = np.array([logsumexp(_select(table, row) + prior) for row in index])
    return np.asarray(labels)[index], logs


def _losses(outputs: np.ndarray, labels: np.ndarray, loss: Loss) -> np.ndarray:
    """Loss of every output at every label, with the labels as the last axis."""
    columns = [loss(outputs, np.full(outputs.shape, label)) for label in labels]
    return as_array(np.stack(columns, axis=-1), "the loss")


def _select(table: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Sum over points the entries of ``(H, m, labels)`` at one label each."""
    return table[:, np.arange(table.shape[1]), index].sum(axis=1)
