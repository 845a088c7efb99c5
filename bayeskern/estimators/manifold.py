"""Embeddings with scikit-learn's manners."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayeskern.classic.diffusion import diffusion_map
from bayeskern.classic.manifold import kernel_pca
from bayeskern.estimators.affinity import Affinity
from bayeskern.estimators.cluster import _Pairwise


class DiffusionMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Pairwise):
    """Coordinates in which distance is that of random walks on the data.

    Parameters
    ----------
    n_components : int, default=2
    kernel : callable, "precomputed" or None
        As in `SpectralClusterer`; without one the weights are Gaussian.
    n_neighbors : int or None
        Keep only the edges of nearest neighbours, which makes thousands of points cheap.
    t : float, default=1
        Diffusion time.
    alpha : float in [0, 1], default=1
        How much of the sampling density is divided out.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
    eigenvalues_ : array
    map_ : Diffusion

    Examples
    --------
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> y = DiffusionMap(1).fit_transform(x).ravel()
    >>> bool((np.diff(y) > 0).all() or (np.diff(y) < 0).all())
    True
    """

    def __init__(self, n_components=2, *, kernel=None, n_neighbors=None, t=1, alpha=1.0):
        self.n_components = n_components
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.t = t
        self.alpha = alpha

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the coordinates of the points."""
        X = self._read(X, reset=True)
        self._affinity = Affinity(self.kernel, self.n_neighbors, weight="gauss")
        W = self._affinity.fit(X)
        self.map_ = diffusion_map(W, self.n_components, t=self.t, alpha=self.alpha)
        self.embedding_, self.eigenvalues_ = self.map_.coordinates, self.map_.eigenvalues
        self._n_features_out = self.embedding_.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the coordinates of the points."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of new points by Nyström extension."""
        check_is_fitted(self)
        return self.map_.transform(self._affinity.cross(self._read(X, reset=False)))


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Pairwise):
    """Principal components in the feature space of one of the package's kernels.

    Parameters
    ----------
    n_components : int, default=2
    kernel : callable, "precomputed" or None
        None is a Gaussian kernel with the local length scale of the data.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        Of the centred Gram matrix.

    Examples
    --------
    >>> KernelPCA(1).fit_transform([[0.0], [1.0], [2.0]]).shape
    (3, 1)
    """

    def __init__(self, n_components=2, *, kernel=None):
        self.n_components = n_components
        self.kernel = kernel

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components."""
        X = self._read(X, reset=True)
        self._affinity = Affinity(self.kernel, None)
        K = X if isinstance(self.kernel, str) else self._affinity.fit(X)
        self.result_ = kernel_pca(K, self.n_components)
        self.eigenvalues_ = self.result_.eigenvalues
        self._n_features_out = len(self.eigenvalues_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Scores of points."""
        check_is_fitted(self)
        return self.result_.transform(self._affinity.cross(self._read(X, reset=False)))
