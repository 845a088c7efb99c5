"""Small latent Gaussian problems for tests: given Gram matrices, and the reference data sets."""

import numpy as np

from bayeskern.bayes.problem import LatentGaussian


class GramProblem(LatentGaussian):
    """A latent Gaussian problem whose prior covariance is a given matrix."""

    def __init__(self, K, y, likelihood):
        self.K, self.likelihood = np.array(K, dtype=float), likelihood
        self.X, self.y = None, np.array(y, dtype=float)

    def prior_cov(self, theta):
        return self.K


D1_X = np.array([0, 1.4, 2.4, 3.3, 4.8, 5.6])[:, None]
D1_T = np.array([0.2, 0, -0.4, 0.1, -0.6, -1.9])
D2_X = np.array([-1.0, 0.0, 1.0])[:, None]
D2_Y = np.array([-1.0, 1.0, 1.0])
D4_K = np.array([[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]])
D4_Y = np.array([1.0, 1.0, -1.0])


def thirty_points():
    """Return the thirty points in the plane of the classification checks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, np.sign(X[:, 0] + 0.5 * rng.normal(size=30))


def gp_labels(n, d=2, seed=0, amplitude=2.0, scale=1.0):
    """Draw inputs and labels from a Gaussian process with a logistic link."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    D = ((X[:, None] - X) ** 2).sum(-1)
    K = amplitude**2 * np.exp(-0.5 * D / scale**2) + 1e-8 * np.eye(n)
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-f)), 1.0, -1.0)


def slope_along(evidence, K, rng, h=1e-5):
    """Return a symmetric direction and the central difference of ``evidence(K)`` along it."""
    E = rng.normal(size=K.shape)
    E = E @ E.T / len(K)
    return E, (evidence(K + h * E) - evidence(K - h * E)) / (2 * h)
