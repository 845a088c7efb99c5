"""Gaussian mixtures with named components."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from bayeskern.bayes.problem import Problem
from bayeskern.checks import as_matrix, positive, whole


@dataclass(frozen=True, eq=False)
class GaussianMixture(Problem):
    r"""Posterior of a mixture of ``k`` Gaussians with independent coordinates.

    .. math:: w \sim \mathrm{Dirichlet}(c), \quad \sigma_{jd}^2 \sim \mathrm{InvGamma}(a, b), \quad
       \mu_{jd} | \sigma_{jd} \sim N(0, \sigma_{jd}^2 / \kappa), \quad
       x_i \sim \sum_j w_j N(\mu_j, \mathrm{diag}(\sigma_j^2))

    The posterior does not change when components are renamed. `complete` renames them in every
    draw, as close as can be to the reference partition, so that component ``j`` means one cluster.

    Parameters
    ----------
    X : array of shape (n, d)
        Points, standardised for the default prior to make sense.
    k : int
        Number of components.
    reference : array of shape (n,)
        Labels in 0..k-1 that name the components.
    concentration, kappa, shape, rate : float
        The prior's :math:`c, \kappa, a, b`.
    """

    X: np.ndarray
    k: int
    reference: np.ndarray
    concentration: float = 1.0
    kappa: float = 0.02
    shape: float = 2.0
    rate: float = 0.1

    def __post_init__(self):
        object.__setattr__(self, "X", as_matrix(self.X))
        labels = np.asarray(self.reference)
        whole(self.k, "k", least=1)
        if labels.shape != (len(self.X),) or not np.isin(labels, np.arange(self.k)).all():
            raise ValueError(
                f"reference must hold {len(self.X)} labels in 0..{self.k - 1}, got {labels!r}"
            )
        object.__setattr__(self, "reference", labels.astype(int))
        for name in ("concentration", "kappa", "shape", "rate"):
            positive(getattr(self, name), name)

    def build(self) -> Any:
        """Write the mixture with its allocations summed out."""
        import pymc as pm
        import pytensor.tensor as pt

        d = self.X.shape[1]
        centres = np.array(
            [
                self.X[self.reference == j].mean(axis=0)
                if (self.reference == j).any()
                else 0 * self.X[0]
                for j in range(self.k)
            ]
        )
        coords = {"component": range(self.k), "coordinate": range(d), "obs": range(len(self.X))}
        with pm.Model(coords=coords) as model:
            weight = (
                pm.Dirichlet("weight", np.full(self.k, self.concentration), dims="component")
                if self.k > 1
                else pt.ones(1)
            )
            dims = ("component", "coordinate")
            variance = pm.InverseGamma("variance", alpha=self.shape, beta=self.rate, dims=dims)
            mean = pm.Normal(
                "mean", 0.0, pt.sqrt(variance / self.kappa), dims=dims, initval=centres
            )
            square = (self.X[:, None, :] - mean) ** 2 / variance
            log_density = -0.5 * (square + pt.log(2 * np.pi * variance)).sum(axis=2)
            pm.Potential("points", pt.logsumexp(log_density + pt.log(weight), axis=1).sum())
        return model

    def coords(self) -> dict[str, Any]:
        """Return the coordinates of the result's dimensions."""
        return {
            "component": range(self.k),
            "coordinate": range(self.X.shape[1]),
            "obs": range(len(self.X)),
        }

    def dims(self) -> dict[str, list[str]]:
        """Return the dimensions of the result's variables."""
        return {
            "weight": ["component"],
            "mean": ["component", "coordinate"],
            "variance": ["component", "coordinate"],
            "x": ["obs"],
        }

    def constant_data(self) -> dict[str, Any]:
        """Return the reference partition."""
        return {"reference": self.reference}

    def _log_joint(self, posterior: Mapping[str, np.ndarray], X: np.ndarray) -> np.ndarray:
        """Log of weight times density, of shape (chain, draw, n, k)."""
        mean, variance = posterior["mean"], posterior["variance"]
        square = (X[:, None] - mean[:, :, None]) ** 2 / variance[:, :, None]
        log_density = -0.5 * (square + np.log(2 * np.pi * variance[:, :, None])).sum(axis=-1)
        if self.k == 1:
            return log_density
        return log_density + np.log(posterior["weight"])[:, :, None]

    def log_likelihood(self, posterior: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the log densities of the points."""
        return {"x": logsumexp(self._log_joint(posterior, self.X), axis=-1)}

    def responsibilities(
        self, posterior: Mapping[str, np.ndarray], X: np.ndarray | None = None
    ) -> np.ndarray:
        """Probabilities of the components given each draw, of shape (chain, draw, n, k)."""
        joint = self._log_joint(posterior, self.X if X is None else X)
        return np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))

    def memberships(
        self, posterior: Mapping[str, np.ndarray], X: np.ndarray | None = None
    ) -> np.ndarray:
        """Posterior probability of each component, for each point, shape (n, k)."""
        chains = [
            self.responsibilities({k: v[c : c + 1] for k, v in posterior.items()}, X)
            for c in range(len(posterior["mean"]))
        ]
        return np.mean([chain.mean(axis=(0, 1)) for chain in chains], axis=0)

    def complete(
        self, posterior: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Rename the components of every draw after the clusters of the reference they cover."""
        named = {name: np.array(value) for name, value in posterior.items()}
        member = np.equal.outer(np.arange(self.k), self.reference).astype(float)
        for c in range(len(named["mean"])):
            chain = {name: value[c : c + 1] for name, value in named.items()}
            overlap = member @ self.responsibilities(chain)[0]  # (draw, cluster, component)
            for s, table in enumerate(overlap):
                order = linear_sum_assignment(-table)[1]
                for value in named.values():
                    value[c, s] = value[c, s][order]
        return named
