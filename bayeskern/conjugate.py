"""Conjugate pairs, whose posteriors stay in the family: Beta-binomial, normal-inverse-Wishart."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, multigammaln

from bayeskern.checks import as_array, as_gram, positive, whole
from bayeskern.linalg import Factor, cholesky


@dataclass(frozen=True)
class BetaBinomial:
    r"""A probability :math:`p \sim \mathrm{Beta}(a, b)` of which successes are counted.

    Parameters
    ----------
    a, b : float
        Positive; as if ``a`` successes and ``b`` failures had been seen.

    Examples
    --------
    >>> belief = BetaBinomial(2.0, 3.0)
    >>> belief.update(7, 3).mean
    0.6
    >>> round(float(np.exp(belief.log_evidence(7, 3))), 10)
    0.0799200799
    """

    a: float
    b: float

    def __post_init__(self):
        positive(self.a, "a")
        positive(self.b, "b")

    @property
    def mean(self) -> float:
        """Expected probability of a success."""
        return self.a / (self.a + self.b)

    def update(self, successes: int, failures: int) -> "BetaBinomial":
        """Return the belief after some trials."""
        return BetaBinomial(
            self.a + whole(successes, "successes"), self.b + whole(failures, "failures")
        )

    def log_evidence(self, successes: int, failures: int, *, ordered: bool = False) -> float:
        """Log probability of the counts or, if ``ordered``, of one sequence with these counts."""
        post = self.update(successes, failures)
        value = float(betaln(post.a, post.b) - betaln(self.a, self.b))
        if ordered:
            return value
        n = successes + failures
        return value + float(gammaln(n + 1) - gammaln(successes + 1) - gammaln(failures + 1))


@dataclass(frozen=True, eq=False)
class NormalInverseWishart:
    r"""Means of one or more Gaussian classes and the covariance that they share.

    .. math:: \Sigma \sim \mathrm{IW}(\Psi, \nu) , \qquad
              \mu_c | \Sigma \sim N(m_c, \Sigma / \kappa_c) .

    Parameters
    ----------
    m : array of shape (classes, p)
        Expected means.
    kappa : array of shape (classes,)
        Positive; how many points each expected mean is worth.
    nu : float
        Degrees of freedom, more than ``p - 1``.
    Psi : array of shape (p, p)
        Positive definite scale; :math:`E[\Sigma] = \Psi / (\nu - p - 1)` if that is positive.

    Examples
    --------
    >>> prior = NormalInverseWishart([[0.0]], [1.0], 3.0, [[1.0]])
    >>> post = prior.update([[1.0], [3.0]], [0, 0])
    >>> post.m.tolist(), post.kappa.tolist(), post.nu, post.Psi.round(3).tolist()
    ([[1.3333333333333333]], [3.0], 5.0, [[5.667]])
    """

    m: Any
    kappa: Any
    nu: float
    Psi: Any

    def __post_init__(self):
        m = as_array(self.m, "m", ndim=2)
        kappa, Psi = as_array(self.kappa, "kappa", ndim=1), as_gram(self.Psi, "Psi")
        if kappa.shape != m.shape[:1] or (kappa <= 0).any():
            raise ValueError(f"kappa must hold {len(m)} positive number(s), got {kappa.tolist()}")
        p = m.shape[1]
        if Psi.shape != (p, p):
            raise ValueError(f"Psi must have shape {(p, p)}, got {Psi.shape}")
        nu = positive(self.nu, "nu")
        if nu <= p - 1:
            raise ValueError(f"nu must be more than p - 1 = {p - 1} for {p} features, got {nu:g}")
        for name, value in (("m", m), ("kappa", kappa), ("nu", nu), ("Psi", Psi)):
            object.__setattr__(self, name, value)
        self._factor  # noqa: B018  # refuses a Psi that is not positive definite

    @cached_property
    def _factor(self) -> Factor:
        return cholesky(self.Psi, name="Psi", jitters=(0.0,))

    @property
    def n_features(self) -> int:
        """Dimension ``p`` of the points."""
        return self.m.shape[1]

    @property
    def mean_cov(self) -> np.ndarray:
        """Expected covariance."""
        excess = self.nu - self.n_features - 1
        if excess <= 0:
            raise ValueError(
                f"the covariance has no mean unless nu > p + 1 = {self.n_features + 1},"
                f" got {self.nu:g}"
            )
        return self.Psi / excess

    @property
    def log_normaliser(self) -> float:
        """Log constant of the density, up to what all updates share."""
        p = self.n_features
        return float(
            multigammaln(self.nu / 2, p)
            - self.nu / 2 * self._factor.logdet
            - p / 2 * np.log(self.kappa).sum()
        )

    def update(self, X: Any, index: Any) -> "NormalInverseWishart":
        """Return the belief after seeing points ``X`` of the classes ``index`` = 0, 1, ..."""
        X, index = as_array(X, "X", ndim=2), np.asarray(index)
        m, kappa, Psi = self.m.copy(), self.kappa.copy(), self.Psi.copy()
        for c in range(len(m)):
            own = X[index == c]
            if not len(own):
                continue
            mean = own.mean(axis=0)
            off, spread = mean - self.m[c], own - mean
            kappa[c] += len(own)
            m[c] = self.m[c] + len(own) / kappa[c] * off
            Psi += spread.T @ spread + self.kappa[c] * len(own) / kappa[c] * np.outer(off, off)
        return NormalInverseWishart(m, kappa, self.nu + len(X), Psi)

    def log_evidence(self, X: Any, index: Any) -> float:
        """Log density of points ``X`` of the classes ``index``, with all parameters out."""
        X = as_array(X, "X", ndim=2)
        grown = self.update(X, index).log_normaliser - self.log_normaliser
        return grown - X.size / 2 * float(np.log(np.pi))

    def log_predictive(self, X: Any) -> np.ndarray:
        r"""Log density of a new point in each class, ``(n, classes)``.

        Student's t with :math:`\nu - p + 1` degrees of freedom.
        """
        X, p = as_array(X, "X", ndim=2), self.n_features
        if X.shape[1] != p:
            raise ValueError(f"X must have {p} features, got {X.shape[1]}")
        widen = (self.kappa + 1) / self.kappa
        half = self._factor.half_solve((X[:, None, :] - self.m).reshape(-1, p).T)
        distance = (half**2).sum(axis=0).reshape(len(X), -1) / widen
        constant = gammaln((self.nu + 1) / 2) - gammaln((self.nu - p + 1) / 2)
        constant = constant - p / 2 * np.log(np.pi * widen) - self._factor.logdet / 2
        return constant - (self.nu + 1) / 2 * np.log1p(distance)

    def sample(self, rng: np.random.Generator, draws: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw means ``(draws, classes, p)`` and covariances ``(draws, p, p)``, by Bartlett."""
        p = self.n_features
        A = np.tril(rng.standard_normal((draws, p, p)), -1)
        chi = np.sqrt(rng.chisquare(self.nu - np.arange(p), size=(draws, p)))
        A[:, np.arange(p), np.arange(p)] = chi
        B = cholesky(self._factor.solve(np.eye(p)), name="Psi").L @ A  # precision is B B'
        inverse = np.linalg.inv(B)
        e = rng.standard_normal((draws, len(self.m), p)) / np.sqrt(self.kappa)[:, None]
        return self.m + e @ inverse, inverse.transpose(0, 2, 1) @ inverse
