"""Clusterers with scikit-learn's manners."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.classic.cluster import SanityReport, kernel_kmeans, sanity, spectral_clustering
from bayeskern.classic.diffusion import diffusion_map
from bayeskern.estimators.affinity import Affinity


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


class _Pairwise(BaseEstimator):
    """Inputs that may be a matrix of similarities."""

    kernel: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=1 + reset)


class SpectralClusterer(ClusterMixin, _Pairwise):
    """Spectral clustering that can predict, and says how far to trust it.

    Parameters
    ----------
    n_clusters : int, default=2
    kernel : callable, "precomputed" or None
        Similarities, ``kernel(X, Z=None)``. None is a Gaussian kernel with the local length scale
        of the data, or plain neighbourhood if ``n_neighbors`` is given.
    n_neighbors : int or None
        Keep only the edges of nearest neighbours.
    laplacian : "sym", "rw" or "unnormalised"
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : array of shape (n,)
    result_ : SpectralResult
        Eigenvalues, eigenvectors, graph.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]]
    >>> clusterer = SpectralClusterer(2, random_state=0).fit(X)
    >>> clusterer.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> clusterer.predict([[0.15], [2.9]])
    array([0, 1])
    >>> clusterer.sanity().verdict
    'trustworthy'
    """

    def __init__(
        self, n_clusters=2, *, kernel=None, n_neighbors=None, laplacian="sym", random_state=None
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.laplacian = laplacian
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the points."""
        X = self._read(X, reset=True)
        self._affinity = Affinity(self.kernel, self.n_neighbors)
        self.result_ = spectral_clustering(
            self._affinity.fit(X),
            self.n_clusters,
            self.laplacian,
            random_state=_seed(self.random_state),
        )
        self.labels_ = self.result_.labels
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster new points by extending the eigenvectors; -1 where that is impossible."""
        check_is_fitted(self)
        return self.result_.predict(self._affinity.cross(self._read(X, reset=False)))

    def sanity(self, *, n_subsamples: int = 2) -> SanityReport:
        """Judge the clustering, see `bayeskern.classic.sanity.sanity`."""
        check_is_fitted(self)
        return sanity(self.result_, n_subsamples=n_subsamples)


class KernelKMeans(ClusterMixin, _Pairwise):
    """k-means in the feature space of a kernel.

    Parameters
    ----------
    n_clusters : int, default=2
    kernel : callable, "precomputed" or None
        A positive semidefinite kernel; None is a Gaussian one with the local length scale.
    n_init, max_iter : int
        Starts, of which the best is kept, and iterations of each.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : array of shape (n,)
    inertia_ : float
        The energy in feature space.

    Examples
    --------
    >>> KernelKMeans(2, random_state=0).fit_predict([[0.0], [0.1], [3.0], [3.1]])
    array([0, 0, 1, 1])
    """

    def __init__(self, n_clusters=2, *, kernel=None, n_init=10, max_iter=300, random_state=None):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the points."""
        X = self._read(X, reset=True)
        self._affinity = Affinity(self.kernel, None)
        K = self._affinity.fit(X) if self.kernel != "precomputed" else X
        self.result_ = kernel_kmeans(
            K,
            self.n_clusters,
            restarts=self.n_init,
            max_iter=self.max_iter,
            random_state=_seed(self.random_state),
        )
        self.labels_, self.inertia_ = self.result_.labels, self.result_.energy
        self.n_iter_ = self.result_.n_iter
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label of the nearest centre."""
        check_is_fitted(self)
        return self.result_.predict(self._affinity.cross(self._read(X, reset=False)))


class BayesSpectralClusterer(ClusterMixin, _Pairwise):
    """Spectral clustering with posterior probabilities of membership.

    A Gaussian mixture on the diffusion coordinates, whose components are named after the spectral
    clusters in every draw, so that label switching does not blur them.

    Parameters
    ----------
    n_clusters : int, default=2
    kernel, n_neighbors
        As in `SpectralClusterer`.
    n_coordinates : int or None
        Diffusion coordinates, by default one less than clusters.
    inference : Inference or None
        How the posterior is explored; None is ``NUTS()``.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : array of shape (n,)
        The most probable cluster of each point.
    problem_, idata_
        The mixture as a posterior, and its draws.
    """

    def __init__(
        self,
        n_clusters=2,
        *,
        kernel=None,
        n_neighbors=None,
        n_coordinates=None,
        inference=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_coordinates = n_coordinates
        self.inference = inference
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the points and sample the mixture."""
        from bayeskern.bayes.mixture import GaussianMixture
        from bayeskern.infer.nuts import NUTS

        X = self._read(X, reset=True)
        self._affinity = Affinity(self.kernel, self.n_neighbors)
        W = self._affinity.fit(X)
        seed = _seed(self.random_state)
        spectral = spectral_clustering(W, self.n_clusters, "rw", random_state=seed)
        self.map_ = diffusion_map(W, self.n_coordinates or max(self.n_clusters - 1, 1), alpha=0.0)
        self._centre = self.map_.coordinates.mean(axis=0)
        self._scale = self.map_.coordinates.std(axis=0)
        Z = (self.map_.coordinates - self._centre) / self._scale
        self.problem_ = GaussianMixture(Z, self.n_clusters, spectral.labels)
        self.idata_ = (self.inference or NUTS()).run(self.problem_, random_seed=seed)
        self.membership_ = self._probabilities(Z)
        self.labels_ = self.membership_.argmax(axis=1)
        return self

    def _probabilities(self, Z: np.ndarray) -> np.ndarray:
        posterior = {str(k): v.values for k, v in self.idata_["posterior"].data_vars.items()}
        return self.problem_.memberships(posterior, Z)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each cluster, for new points."""
        check_is_fitted(self)
        cross = self._affinity.cross(self._read(X, reset=False))
        return self._probabilities((self.map_.transform(cross) - self._centre) / self._scale)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable cluster."""
        return self.predict_proba(X).argmax(axis=1)

    @property
    def model_(self) -> Any:
        """The fitted posterior as a PyMC model."""
        check_is_fitted(self)
        return self.problem_.model
