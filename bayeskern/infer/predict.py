"""From a fitted DataTree to predictions at new inputs, whatever method made it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayeskern.bayes.problem import LatentGaussian, Theta
from bayeskern.checks import whole
from bayeskern.covariance import as_prior
from bayeskern.infer.base import GaussianState
from bayeskern.likelihoods import Likelihood
from bayeskern.linalg import cholesky

DRAWS = 200  # draws of a chain that a prediction is averaged over, when each needs a factorisation


@dataclass(frozen=True, eq=False)
class Predictive:
    """What is believed about ``f`` and ``y`` at new inputs: an equal mixture of Gaussians.

    One component for a Gaussian posterior, one per draw for a chain.

    Attributes
    ----------
    means, variances : ndarray of shape (components, m)
        Of the latent function.
    likelihoods : list of Likelihood
        One per component, since their parameters may be inferred too.
    """

    means: np.ndarray
    variances: np.ndarray
    likelihoods: list[Likelihood]

    @property
    def mean(self) -> np.ndarray:
        """Posterior mean of the latent function."""
        return self.means.mean(axis=0)

    def var(self, *, noise: bool = False) -> np.ndarray:
        """Posterior variance of the latent function or, with ``noise``, of the target."""
        total = self.variances.mean(axis=0) + self.means.var(axis=0)
        if noise:
            total = total + float(np.mean([lik.sigma**2 for lik in self.likelihoods]))  # type: ignore[attr-defined]
        return total

    def response(self) -> np.ndarray:
        """Probability of ``+1``, averaged over the posterior, or mean of the target."""
        parts = zip(self.likelihoods, self.means, self.variances, strict=True)
        return np.mean([lik.predict(m, v) for lik, m, v in parts], axis=0)

    def log_prob(self, y: Any) -> np.ndarray:
        """Log predictive probability of each observation."""
        parts = zip(self.likelihoods, self.means, self.variances, strict=True)
        logs = [lik.tilted(y, m, v)[0] for lik, m, v in parts]
        return logsumexp(logs, axis=0) - np.log(len(logs))

    def sample(self, rng: np.random.Generator, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw ``f`` and ``y`` point by point, each of shape (draws, m)."""
        which = rng.integers(len(self.means), size=draws)
        spread = np.sqrt(self.variances[which]) * rng.standard_normal((draws, self.means.shape[1]))
        f = self.means[which] + spread
        y = np.stack(
            [self.likelihoods[k].sample(rng, row) for k, row in zip(which, f, strict=True)]
        )
        return f, y


def predict(problem: LatentGaussian, tree: Any, X_new: Any, *, draws: int = DRAWS) -> Predictive:
    """Return what a fitted posterior says at new inputs.

    Parameters
    ----------
    problem : LatentGaussian
        The problem that was fitted.
    tree : DataTree
        What a method returned for it: a Gaussian fit, or draws of ``f`` and hyperparameters.
    X_new : inputs
        As the kernel reads them.
    draws : int, default=200
        How many draws of a chain to average over, evenly spread, when hyperparameters vary.

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[-1.0], [0.0], [1.0]], [-1, 1, 1], bk.RBF(), bk.Logit(beta=1.0))
    >>> tree = bk.Laplace().run(gp, random_seed=0)
    >>> predict(gp, tree, [[0.5]]).response().round(5)
    array([0.72857])
    """
    if "fit" in tree.children and "alpha" in tree["fit"]:
        state, theta = restore(problem, tree)
        mean, var = state.predict(problem.cross_cov(theta, X_new), problem.prior_var(theta, X_new))
        return Predictive(mean[None], var[None], [problem.likelihood_at(theta)])
    whole(draws, "draws", least=1)
    posterior = tree["posterior"]
    names = [name for name in problem.free() if name in posterior]
    f = _flat(posterior["f"])
    if not names:
        mean, var = _given_f(problem, {}, f, X_new)
        return Predictive(mean, np.broadcast_to(var, mean.shape), [problem.likelihood] * len(f))
    keep = np.unique(np.linspace(0, len(f) - 1, min(draws, len(f))).round().astype(int))
    values = {name: _flat(posterior[name]) for name in names}
    means, variances, likelihoods = [], [], []
    for k in keep:
        theta = {name: value[k] for name, value in values.items()}
        mean, var = _given_f(problem, theta, f[k : k + 1], X_new)
        means.append(mean[0])
        variances.append(var)
        likelihoods.append(problem.likelihood_at(theta))
    return Predictive(np.array(means), np.array(variances), likelihoods)


def restore(problem: LatentGaussian, tree: Any) -> tuple[GaussianState, dict[str, Any]]:
    """Rebuild the Gaussian state, and the hyperparameters, that a fit recorded."""
    fit = tree["fit"]
    theta = {name: fit[f"theta_{name}"].values for name in problem.free()}
    prior = as_prior(problem.prior_cov(theta))
    state = GaussianState(
        posterior=prior.meet(fit["W"].values),
        alpha=fit["alpha"].values,
        mean=fit["mean_vector"].values,
        log_evidence=float(tree.attrs.get("log_evidence", np.nan)),
        converged=bool(tree.attrs.get("converged", 1)),
    )
    return state, theta


def _given_f(
    problem: LatentGaussian, theta: Theta, f: np.ndarray, X_new: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Mean ``(draws, m)`` and variance ``(m,)`` of the function at new inputs given draws of f."""
    K = problem.prior_cov(theta) + getattr(problem, "jitter", 0.0) * np.eye(len(problem.y))
    factor = cholesky(K)
    V = factor.half_solve(problem.cross_cov(theta, X_new))
    var = problem.prior_var(theta, X_new) - np.einsum("ij,ij->j", V, V)
    return factor.half_solve(f.T).T @ V, np.maximum(var, 0.0)


def _flat(array: Any) -> np.ndarray:
    values = array.transpose("chain", "draw", ...).values
    return values.reshape(-1, *values.shape[2:])
