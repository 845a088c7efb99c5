"""The Bayesian discriminant: Gaussian classes whose parameters are inferred, not plugged in."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskern.bayes.problem import Problem
from bayeskern.checks import as_array, as_gram, as_matrix, one_of, positive
from bayeskern.conjugate import BetaBinomial, NormalInverseWishart

SCALE_PRIORS = ("wishart", "lkj")


@dataclass(frozen=True, eq=False)
class FisherPosterior:
    """What is known of two Gaussian classes: one belief if they share a covariance, else two.

    Parameters
    ----------
    parts : tuple of NormalInverseWishart
        One of two classes, or two of one class each, in the order -1, +1.
    plus : BetaBinomial
        The probability of +1.
    """

    parts: tuple[NormalInverseWishart, ...]
    plus: BetaBinomial

    def update(self, X: np.ndarray, y: np.ndarray) -> "FisherPosterior":
        """Return the belief after seeing points and their labels -1 and +1."""
        index = (y > 0).astype(int)
        parts: tuple[NormalInverseWishart, ...]
        if len(self.parts) == 1:
            parts = (self.parts[0].update(X, index),)
        else:
            parts = tuple(
                part.update(X[index == c], np.zeros((index == c).sum()))
                if (index == c).any()
                else part
                for c, part in enumerate(self.parts)
            )
        return FisherPosterior(parts, self.plus.update(int(index.sum()), int((1 - index).sum())))

    def log_joint(self, X: Any) -> np.ndarray:
        """Log predictive density of a new point with each label, ``(n, 2)``."""
        X = as_matrix(X)
        columns = np.hstack([part.log_predictive(X) for part in self.parts])
        return columns + np.log([1 - self.plus.mean, self.plus.mean])

    def sample(self, rng: np.random.Generator, draws: int) -> dict[str, np.ndarray]:
        """Draw ``mu``, ``cov`` and ``p`` independently, with the draws as the first axis."""
        found = [part.sample(rng, draws) for part in self.parts]
        mu = np.concatenate([means for means, _ in found], axis=1)
        cov = found[0][1] if len(found) == 1 else np.stack([S for _, S in found], axis=1)
        return {"mu": mu, "cov": cov, "p": rng.beta(self.plus.a, self.plus.b, size=draws)}


@dataclass(frozen=True, eq=False)
class BayesFisher(Problem):
    r"""Posterior over two Gaussian classes, by default with one covariance.

    .. math:: \Sigma \sim \mathrm{IW}(\Psi_0, \nu_0) , \quad
              \mu_y | \Sigma \sim N(m_0, \Sigma / \kappa_0) , \quad
              p \sim \mathrm{Beta}(a_0, b_0) , \qquad
              P(y = +1) = p , \quad x | y \sim N(\mu_y, \Sigma) .

    Posterior, evidence and predictive distribution are closed forms; a new point is Student-t in
    each class, so that the rule is not linear unless the classes are of one size. The model is one
    of the inputs too, and learns from points without a label; that has no closed form, so `NUTS`
    samples it with the missing labels summed out.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    y : array of shape (n,)
        Labels -1 and +1, both present; 0 or NaN marks a point whose label is missing.
    kappa0 : float, default=0.1
        How many points the prior mean is worth.
    nu0 : float, optional
        Degrees of freedom of the covariance, more than ``d - 1``; ``d + 2`` by default, with which
        it has a mean.
    m0 : array of shape (d,) or float, default=0.0
        Prior mean of both classes.
    Psi0 : array of shape (d, d) or float, default=1.0
        Scale of the covariance; a number stands for that multiple of the identity.
    a0, b0 : float, default=1.0
        Prior counts of +1 and of -1.
    shared : bool, default=True
        Whether the classes have one covariance; with two the rule is quadratic.
    scale_prior : {"wishart", "lkj"}
        The inverse-Wishart prior above; or correlations from LKJ(2) and half-normal standard
        deviations of scale :math:`\sqrt{\Psi_{0,jj} / \nu_0}`, without a closed form.

    Examples
    --------
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0], [2.5, 0.5]], [-1, -1, 1, 1, 1]
    >>> problem = BayesFisher(X, y)
    >>> problem.predict_proba([[0.0, 0.0], [3.0, 1.0]]).round(3)
    array([0.009, 0.991])
    """

    X: Any
    y: Any
    kappa0: float = 0.1
    nu0: Any = None
    m0: Any = 0.0
    Psi0: Any = 1.0
    a0: float = 1.0
    b0: float = 1.0
    shared: bool = True
    scale_prior: str = "wishart"

    def __post_init__(self):
        X = as_matrix(self.X)
        d = X.shape[1]
        m0 = as_array(self.m0, "m0")
        if m0.shape not in ((), (d,)):
            raise ValueError(f"m0 must be a number or have shape ({d},), got {m0.shape}")
        Psi0 = np.asarray(self.Psi0)
        Psi0 = (
            positive(float(Psi0), "Psi0") * np.eye(d) if Psi0.ndim == 0 else as_gram(Psi0, "Psi0")
        )
        values = {
            "X": X,
            "y": _partial_labels(self.y, len(X)),
            "m0": np.broadcast_to(m0, d).copy(),
            "Psi0": Psi0,
            "nu0": d + 2.0 if self.nu0 is None else positive(self.nu0, "nu0"),
            "kappa0": positive(self.kappa0, "kappa0"),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        one_of(self.scale_prior, "scale_prior", SCALE_PRIORS)
        if self.scale_prior == "lkj" and not self.labelled.all():
            raise ValueError("missing labels need scale_prior='wishart', got 'lkj'")
        self.prior  # noqa: B018  # refuses numbers that make no proper prior

    @property
    def labelled(self) -> np.ndarray:
        """Which points have a label."""
        return self.y != 0

    @cached_property
    def prior(self) -> FisherPosterior:
        """What is known before any point."""
        count = 2 if self.shared else 1
        part = NormalInverseWishart(
            np.tile(self.m0, (count, 1)),
            np.full(count, self.kappa0),
            self.nu0,
            self.Psi0,
        )
        parts = (part,) if self.shared else (part, part)
        return FisherPosterior(parts, BetaBinomial(self.a0, self.b0))

    @cached_property
    def posterior(self) -> FisherPosterior:
        """What is known after all points, in closed form."""
        self.check_closed_form()
        return self.prior.update(self.X, self.y)

    def check_closed_form(self) -> None:
        """Refuse what has no closed form, and say what to do."""
        if not self.labelled.all():
            raise ValueError(
                f"{(~self.labelled).sum()} of {len(self.y)} labels are missing, which leaves no"
                " closed form; use NUTS()"
            )
        if self.scale_prior != "wishart":
            raise ValueError(
                f"a closed form needs scale_prior='wishart', got {self.scale_prior!r}; use NUTS()"
            )

    @property
    def log_evidence_inputs(self) -> float:
        r"""Log density of the points given their labels, :math:`\log p(X | y)`."""
        self.check_closed_form()
        d, n = self.X.shape[1], len(self.X)
        before = sum(part.log_normaliser for part in self.prior.parts)
        after = sum(part.log_normaliser for part in self.posterior.parts)
        return after - before - n * d / 2 * float(np.log(np.pi))

    @property
    def log_evidence_labels(self) -> float:
        r"""Log probability of the labels, :math:`\log P(y)`."""
        self.check_closed_form()
        plus = int((self.y > 0).sum())
        return self.prior.plus.log_evidence(plus, len(self.y) - plus, ordered=True)

    @property
    def log_evidence(self) -> float:
        r"""Log density of all that was observed, :math:`\log p(X, y)`."""
        return self.log_evidence_inputs + self.log_evidence_labels

    @property
    def kl(self) -> float:
        """Divergence of the posterior from the prior, in closed form.

        It is the expected log likelihood under the posterior less the log evidence.
        """
        from scipy.special import digamma

        post, d = self.posterior, self.X.shape[1]
        index = (self.y > 0).astype(int)
        total = 0.0
        for c in range(2):
            part, k = (post.parts[0], c) if self.shared else (post.parts[c], 0)
            off = self.X[index == c] - part.m[k]
            distance = part.nu * np.einsum("ij,ji->", off, np.linalg.solve(part.Psi, off.T))
            logdet = (
                np.linalg.slogdet(part.Psi / 2)[1] - digamma((part.nu - np.arange(d)) / 2).sum()
            )
            n = len(off)
            total -= 0.5 * (n * (d * np.log(2 * np.pi) + logdet + d / part.kappa[k]) + distance)
            count = post.plus.a if c else post.plus.b
            total += n * float(digamma(count) - digamma(post.plus.a + post.plus.b))
        return float(total - self.log_evidence)

    def predict_proba(self, X_new: Any) -> np.ndarray:
        """Probability of +1 at new points, in closed form."""
        return _second(self.posterior.log_joint(X_new))

    def predict_from(self, draws: Mapping[str, np.ndarray], X_new: Any) -> np.ndarray:
        r"""Probability of +1 at new points from draws of ``mu``, ``cov`` and ``p``.

        The draws average the joint density of point and label,
        :math:`P(+1 | x, z) \propto E[p \, N(x | \mu_+, \Sigma)]`, since the new point is evidence
        on the parameters too; averaging each draw's probability would be something else.

        Parameters
        ----------
        draws : mapping
            Arrays with any leading axes for the draws, the same for all.
        X_new : array of shape (k, d)
            New points.
        """
        from scipy.special import logsumexp

        joint = self.log_joint(draws, X_new)
        return _second(logsumexp(joint.reshape(-1, *joint.shape[-2:]), axis=0))

    def log_joint(self, draws: Mapping[str, np.ndarray], X_new: Any) -> np.ndarray:
        r"""Log density of points with each label, ``(..., k, 2)``, under each draw."""
        X = as_matrix(X_new)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"X must have {self.X.shape[1]} features, got {X.shape[1]}")
        mu, cov, p = (np.asarray(draws[name]) for name in ("mu", "cov", "p"))
        if self.shared:
            cov = np.repeat(cov[..., None, :, :], 2, axis=-3)
        L = np.linalg.cholesky(cov)
        off = np.swapaxes(X - mu[..., :, None, :], -1, -2)  # (..., 2, d, k)
        half = np.linalg.solve(L, off)
        logdet = np.log(np.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)
        log = -0.5 * (half**2).sum(axis=-2) - logdet[..., None]
        log = log - X.shape[1] / 2 * np.log(2 * np.pi)
        with np.errstate(divide="ignore"):
            log = log + np.log(np.stack([1 - p, p], axis=-1))[..., None]
        return np.swapaxes(log, -1, -2)

    def log_likelihood(self, posterior: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Log density of each point with its label, or of the point alone if that is missing."""
        joint = self.log_joint(posterior, self.X)
        minus, plus = joint[..., 0], joint[..., 1]
        known = np.where(self.y > 0, plus, minus)
        return {"y": np.where(self.labelled, known, np.logaddexp(minus, plus))}

    def coords(self) -> dict[str, Any]:
        """Points, features and the two classes."""
        d = np.arange(self.X.shape[1])
        return {"obs": np.arange(len(self.y)), "feature": d, "feature_": d, "cls": [-1, 1]}

    def dims(self) -> dict[str, list[str]]:
        """Means belong to a class, covariances too unless they are shared."""
        matrix = ["feature", "feature_"]
        return {
            "mu": ["cls", "feature"],
            "cov": matrix if self.shared else ["cls", *matrix],
            "X": ["obs", "feature"],
            "y": ["obs"],
        }

    def observed_data(self) -> dict[str, Any]:
        """Points and labels, both of which the model explains."""
        return {"X": self.X, "y": self.y}

    def complete(
        self, posterior: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Keep the parameters, and leave out the coordinates that the sampler moved in."""
        return {name: posterior[name] for name in ("mu", "cov", "p")}

    def build(self) -> Any:
        r"""Write the posterior in independent coordinates, with missing labels summed out.

        By Bartlett's decomposition :math:`\Sigma^{-1} = B B'` with :math:`B` a factor of
        :math:`\Psi_0^{-1}` times a triangle of normals and roots of chi-squares, and
        :math:`\mu_y = m_0 + e_y B^{-1} / \sqrt{\kappa_0}` with :math:`e_y` normal. With missing
        labels the coordinates are those of the posterior given the labelled points, which is
        their prior for the others: chains then start with the classes the right way round.
        """
        import pymc as pm
        import pytensor.tensor as pt

        missing = not self.labelled.all()
        seen = dataclasses.replace(self, X=self.X[self.labelled], y=self.y[self.labelled])
        belief = seen.posterior if missing else self.prior
        rows = self.X[~self.labelled] if missing else self.X
        parts = belief.parts * 2 if self.shared else belief.parts
        index = (0, 1) if self.shared else (0, 0)
        with pm.Model(coords=self.coords()) as model:
            p = pm.Beta("p", belief.plus.a, belief.plus.b)
            e = pm.Normal("e", 0.0, 1.0, dims=("cls", "feature"))
            if self.shared:
                roots = [self._precision_root("", parts[0])] * 2
            else:
                names = ("_minus", "_plus")
                roots = [self._precision_root(*pair) for pair in zip(names, parts, strict=True)]
            inverses: list[Any] = [pt.linalg.inv(B) for B in roots]
            mu = [
                parts[c].m[k] + e[c] @ inverses[c] / np.sqrt(parts[c].kappa[k])
                for c, k in enumerate(index)
            ]
            pm.Deterministic("mu", pt.stack(mu), dims=("cls", "feature"))
            cov = [inverse.T @ inverse for inverse in inverses]
            together = cov[0] if self.shared else pt.stack(cov)
            pm.Deterministic("cov", together, dims=tuple(self.dims()["cov"]))
            logs = [
                pt.log(weight)
                + pt.log(pt.abs(pt.diagonal(B))).sum()
                - 0.5 * (((rows - m) @ B) ** 2).sum(axis=1)
                - rows.shape[1] / 2 * np.log(2 * np.pi)
                for weight, B, m in zip((1 - p, p), roots, mu, strict=True)
            ]
            if missing:
                pm.Potential("y", pt.logaddexp(*logs).sum() + seen.log_evidence)
            else:
                pm.Potential("y", pt.where(self.y > 0, logs[1], logs[0]).sum())
        return model

    def _precision_root(self, name: str, part: NormalInverseWishart) -> Any:
        """Triangular ``B`` with precision ``B B'``, made of independent variables."""
        import pymc as pm
        import pytensor.tensor as pt

        d = self.X.shape[1]
        if self.scale_prior == "lkj":
            sd = pm.HalfNormal.dist(sigma=np.sqrt(np.diagonal(part.Psi) / part.nu), shape=d)
            L, _, _ = pm.LKJCholeskyCov("chol" + name, eta=2.0, n=d, sd_dist=sd)
            inverse: Any = pt.linalg.inv(L)
            return inverse.T
        c2: Any = pm.ChiSquared("c2" + name, nu=part.nu - np.arange(d), shape=d)
        A = pt.diag(pt.sqrt(c2))
        if d > 1:
            z = pm.Normal("z" + name, 0.0, 1.0, shape=d * (d - 1) // 2)
            A = pt.set_subtensor(A[np.tril_indices(d, -1)], z)
        return np.linalg.cholesky(np.linalg.inv(part.Psi)) @ A


def _partial_labels(y: Any, n: int) -> np.ndarray:
    """Read labels -1, +1 and 0 or NaN for missing; both classes must be seen."""
    try:
        labels = np.asarray(y, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("y must hold labels -1 and +1, or 0 for a missing one") from None
    labels = as_array(np.where(np.isnan(labels), 0.0, labels), "y", ndim=1)
    if len(labels) != n:
        raise ValueError(f"y must have one entry per point, got {len(labels)} for {n} points")
    odd = labels[~np.isin(labels, (-1, 0, 1))]
    if odd.size:
        raise ValueError(f"y must hold labels -1 and +1, or 0 for a missing one, got {odd[0]:g}")
    seen = np.unique(labels[labels != 0])
    if len(seen) < 2:
        text = f"{seen[0]:+g} only" if len(seen) else "no label"
        raise ValueError(f"y must hold both classes, got {text}")
    return labels


def _second(log_joint: np.ndarray) -> np.ndarray:
    from scipy.special import expit

    return expit(log_joint[..., 1] - log_joint[..., 0])
