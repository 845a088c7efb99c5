r"""Classes from one exponential family: the log odds are linear in its statistics.

With densities :math:`f(x | y) = a_0(\theta_y) \tau_0(x) e^{\theta_y' \tau(x)}` the log odds are
:math:`w' \tau(x) + b` with :math:`w = \theta_+ - \theta_-` and
:math:`b = \log \frac{a_0(\theta_+) \, p}{a_0(\theta_-) (1 - p)}` (Herbrich 2002, eq. 3.35).
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, gammaln, logit

from bayeskern.checks import as_labels, as_matrix, positive, within
from bayeskern.linalg import cho_inverse, cholesky


class ExponentialFamily(Protocol):
    """A family of densities on feature vectors, by its statistics and natural parameters."""

    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Return the statistics of each row."""
        ...

    def log_base(self, X: np.ndarray) -> np.ndarray:
        """Return the logarithm of the base measure at each row."""
        ...

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return natural parameters estimated from rows, and the log normaliser there."""
        ...


@dataclass(frozen=True)
class BernoulliFeatures:
    r"""Independent features 0 or 1: :math:`\tau(x) = x` and :math:`\theta` their logits.

    Parameters
    ----------
    smoothing : float, default=1.0
        Imaginary zeros and ones added to each count, so that no probability is 0 or 1.

    Examples
    --------
    >>> BernoulliFeatures().fit(np.array([[1.0], [1.0]]))[0].round(4)
    array([1.0986])
    """

    smoothing: float = 1.0

    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Return the features themselves, refusing any but 0 and 1."""
        if not np.isin(X, (0, 1)).all():
            raise ValueError(f"X must hold 0 and 1 only, got {X[(X != 0) & (X != 1)][0]:g}")
        return X

    def log_base(self, X: np.ndarray) -> np.ndarray:
        """Return 0."""
        return np.zeros(len(X))

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the logits and the log probability of all features being 0."""
        a = positive(self.smoothing, "smoothing")
        theta = logit((self.statistics(X).sum(axis=0) + a) / (len(X) + 2 * a))
        return theta, -float(np.logaddexp(0, theta).sum())


@dataclass(frozen=True)
class PoissonFeatures:
    r"""Independent counts: :math:`\tau(x) = x`, :math:`\theta_j` the log rate.

    Parameters
    ----------
    smoothing : float, default=1.0
        Imaginary observations of a count of 1, so that no rate is 0.

    Examples
    --------
    >>> PoissonFeatures().fit(np.array([[3.0], [5.0]]))[0].round(4)
    array([1.0986])
    """

    smoothing: float = 1.0

    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Return the counts themselves, refusing any but 0, 1, 2 and so on."""
        odd = (X < 0) | (np.floor(X) != X)
        if odd.any():
            raise ValueError(f"X must hold counts, got {X[odd][0]:g}")
        return X

    def log_base(self, X: np.ndarray) -> np.ndarray:
        """Return minus the log factorials."""
        return -gammaln(X + 1).sum(axis=1)

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the log rates and minus their sum of rates."""
        a = positive(self.smoothing, "smoothing")
        rates = (self.statistics(X).sum(axis=0) + a) / (len(X) + a)
        return np.log(rates), -float(rates.sum())


@dataclass(frozen=True)
class GaussianFeatures:
    r"""Gaussian vectors: :math:`\tau(x) = (x, x x')`, so the rule is quadratic in x.

    The natural parameters are :math:`(\Sigma^{-1} \mu, -\frac12 \Sigma^{-1})`. Classes that share
    a covariance have equal second parts, and the rule is linear: see `fisher_discriminant`.

    Parameters
    ----------
    diagonal : bool, default=False
        Independent features.
    ridge : float, default=0.0
        Added to the variances.

    Examples
    --------
    >>> GaussianFeatures().fit(np.array([[0.0], [2.0]]))[0]
    array([ 1. , -0.5])
    """

    diagonal: bool = False
    ridge: float = 0.0

    def statistics(self, X: np.ndarray) -> np.ndarray:
        """Return the features and their products, or their squares if they are independent."""
        if self.diagonal:
            return np.column_stack([X, X**2])
        return np.column_stack([X, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)])

    def log_base(self, X: np.ndarray) -> np.ndarray:
        """Return the constant of the Gaussian density."""
        return np.full(len(X), -X.shape[1] / 2 * np.log(2 * np.pi))

    def fit(self, X: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the natural parameters of mean and covariance, and the log normaliser."""
        mean, p = X.mean(axis=0), X.shape[1]
        S = (X - mean).T @ (X - mean) / len(X)
        S = S + positive(self.ridge, "ridge", zero=True) * np.eye(p)
        if self.diagonal:
            S = np.diag(S.diagonal())
        scale = np.sqrt(S.diagonal())
        if (scale == 0).any() or np.linalg.eigvalsh(S / np.outer(scale, scale))[0] < 1e-12:
            raise np.linalg.LinAlgError(
                f"the covariance of {len(X)} points of {p} features is singular; give a ridge"
            )
        factor = cholesky(S, jitters=(0.0,))
        inverse = cho_inverse(factor.L)
        log_a0 = -(float(mean @ inverse @ mean) + factor.logdet) / 2
        second = inverse.diagonal() if self.diagonal else inverse.ravel()
        return np.concatenate([inverse @ mean, -second / 2]), log_a0


@dataclass(frozen=True, eq=False)
class ExponentialDiscriminant:
    """Two classes of one family; called at new points it returns the log odds of +1.

    Attributes
    ----------
    family : ExponentialFamily
    theta : ndarray of shape (2, q)
        Natural parameters of the classes -1 and +1.
    log_normaliser : ndarray of shape (2,)
    w : ndarray of shape (q,)
        Weights of the statistics.
    b : float
        Offset.
    """

    family: ExponentialFamily
    theta: np.ndarray
    log_normaliser: np.ndarray
    w: np.ndarray
    b: float

    def __call__(self, X: Any) -> np.ndarray:
        """Return the log odds at new points, linear in their statistics."""
        return self.family.statistics(as_matrix(X)) @ self.w + self.b

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of -1 and +1."""
        f = self(X)
        return np.column_stack([expit(-f), expit(f)])

    def log_density(self, X: Any) -> np.ndarray:
        """Return the log densities of the points in the classes -1 and +1, of shape (n, 2)."""
        X = as_matrix(X)
        inner = self.family.statistics(X) @ self.theta.T
        return inner + self.log_normaliser + self.family.log_base(X)[:, None]


def exponential_discriminant(
    X: Any, y: Any, family: ExponentialFamily, *, prior: float | None = None
) -> ExponentialDiscriminant:
    """Estimate both classes in one exponential family, and form their log odds.

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    y : array of shape (n,)
        Labels -1 and +1, both present.
    family : ExponentialFamily
        `GaussianFeatures`, `BernoulliFeatures`, `PoissonFeatures`, or anything with their methods.
    prior : float, optional
        The probability of +1, by default its frequency.

    Examples
    --------
    >>> X = [[0, 1], [1, 1], [5, 0], [7, 2]]
    >>> np.sign(exponential_discriminant(X, [-1, -1, 1, 1], PoissonFeatures())([[1, 1], [6, 1]]))
    array([-1.,  1.])
    """
    X = as_matrix(X)
    y = as_labels(y, len(X))
    if (y == y[0]).all():
        raise ValueError(f"y must hold both classes, got {y[0]:+g} only")
    family.statistics(X)  # refuses what the family cannot hold
    minus, plus = family.fit(X[y < 0]), family.fit(X[y > 0])
    p = float(np.mean(y > 0)) if prior is None else within(prior, "prior", 0, 1, closed="neither")
    return ExponentialDiscriminant(
        family,
        np.array([minus[0], plus[0]]),
        np.array([minus[1], plus[1]]),
        plus[0] - minus[0],
        float(plus[1] - minus[1] + logit(p)),
    )
