"""Kernels of the distance between inputs: Gaussian, Matérn, rational quadratic, periodic."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskern.kernels._array import (
    namespace,
    row_blocks,
    safe_sqrt,
    sqdist,
    sqdist_blocks,
    vector,
)
from bayeskern.kernels.base import Gradients, Kernel, add_gradients
from bayeskern.priors import Prior, parameter, read_parameter


class Stationary(Kernel):
    r"""A kernel :math:`g(d^2)` of the distance :math:`d^2 = \sum_k (x_k - z_k)^2 / \ell_k^2`.

    Subclasses have a field ``lengthscale`` (one for all inputs, or one each) and say the profile
    :math:`g` and its derivative.
    """

    lengthscale: Any
    name: str
    scale_name: ClassVar[str] = "lengthscale"

    def __post_init__(self):
        value = read_parameter(self._scale(), self.scale_name, vector=True)
        object.__setattr__(self, self.scale_name, value)

    def profile(self, D: Any, xp: Any) -> Any:
        """The kernel as a function of the squared scaled distance, which it may overwrite."""
        raise TypeError(f"{type(self).__name__} does not say its profile")

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """Derivative of the profile; where it is infinite at zero, anything finite will do."""
        raise TypeError(f"{type(self).__name__} does not say the derivative of its profile")

    def frequencies(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Draw from the spectral density at unit scale (Bochner), for random Fourier features."""
        raise ValueError(f"{type(self).__name__} does not offer its spectral density")

    def _scale(self) -> Any:
        return getattr(self, self.scale_name)

    def _parameters(self) -> list[Any]:
        return [getattr(self, field) for field in self._fields()]

    def scaled(self, X: Any) -> Any:
        """Inputs in units of the length scales."""
        scale = vector(self._scale())
        if isinstance(scale, np.ndarray) and isinstance(X, np.ndarray) and len(scale) != X.shape[1]:
            raise ValueError(
                f"{self.scale_name} must have one entry per feature,"
                f" got {len(scale)} for {X.shape[1]} features"
            )
        return X / scale

    def gram(self, X: Any, Z: Any) -> Any:
        """Profile of the pairwise squared distances."""
        xp = namespace(X, Z, *self._parameters())
        A = self.scaled(X)
        D = sqdist(A, A if Z is X else self.scaled(Z), xp)
        if xp is not np:
            return self.profile(D, xp)
        for rows in row_blocks(*D.shape):
            D[rows] = self.profile(D[rows], np)
        return D

    def diag(self, X: Any) -> Any:
        """Ones."""
        return namespace(X, *self._parameters()).ones(self.read(X).shape[0])

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """One weighted pass over the distances, however many length scales there are."""
        namespace(*self._parameters())
        X, Z = self.read_both(X, Z)
        A = self.scaled(X)
        centre = A.mean(axis=0)
        A = A - centre
        B = A if Z is None else self.scaled(Z) - centre
        return add_gradients(self._pull(*block) for block in sqdist_blocks(A, B, G))

    def _pull(self, A: np.ndarray, B: np.ndarray, D: np.ndarray, G: np.ndarray) -> Gradients:
        M = self.profile_slope(D)
        M *= G
        scale = np.asarray(self._scale(), dtype=float)
        return {f"{self.name}_{self.scale_name}": -2.0 * _moments(M, A, B, D, scale.ndim) / scale}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Zero: the diagonal does not depend on any parameter."""
        return {f"{self.name}_{f}": np.zeros(np.shape(getattr(self, f))) for f in self._fields()}


def _moments(M: np.ndarray, A: np.ndarray, B: np.ndarray, D: np.ndarray, ndim: int) -> Any:
    """Sum of ``M * D``, or apart for each feature, without an array for each."""
    if ndim == 0:
        return np.vdot(M, D)
    moments = (A**2).T @ M.sum(axis=1) + (B**2).T @ M.sum(axis=0)
    return moments - 2.0 * np.einsum("ik,ik->k", A, M @ B)


@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    r"""Gaussian kernel, :math:`k(x, z) = \exp(-\|x - z\|^2 / 2\ell^2)`.

    Parameters
    ----------
    lengthscale : float, sequence of float or Prior, default=1.0
        The scale :math:`\ell > 0`, in the units of the inputs; several make an `ARD` kernel.
    name : str, default="rbf"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> RBF(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    lengthscale: float | tuple[float, ...] | Prior = parameter(1.0)
    name: str = "rbf"

    def profile(self, D: Any, xp: Any) -> Any:
        """exp(-d^2 / 2)."""
        if xp is not np:
            return xp.exp(-0.5 * D)
        D *= -0.5
        return np.exp(D, out=D)

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """-exp(-d^2 / 2) / 2."""
        M = -0.5 * D
        np.exp(M, out=M)
        M *= -0.5
        return M

    def frequencies(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Standard normal."""
        return rng.standard_normal((n, d))


@dataclass(frozen=True, repr=False)
class ARD(RBF):
    r"""Gaussian kernel with one length scale per input, :math:`e^{-\sum_k(x_k-z_k)^2/2\ell_k^2}`.

    A large scale removes its input (automatic relevance determination). In the form of
    `Mahalanobis`, :math:`\sigma_k = \sqrt 2\,\ell_k`.

    Parameters
    ----------
    lengthscale : sequence of float or Prior with a size
        The scales :math:`\ell_k > 0`, in the units of the inputs.
    name : str, default="ard"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> ARD((1.0, 1e6))([[0.0, 0.0], [1.0, 5.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    lengthscale: tuple[float, ...] | Prior = parameter()
    name: str = "ard"

    def __post_init__(self):
        super().__post_init__()
        _one_each(self.lengthscale, "lengthscale", "RBF")


@dataclass(frozen=True, repr=False)
class Mahalanobis(Stationary):
    r"""Herbrich's ARD kernel, :math:`k(x, z) = \exp(-\sum_k (x_k - z_k)^2 / \sigma_k^2)`.

    .. warning:: There is no factor 1/2 here, as there is in `RBF` and `ARD`: with all scales
       :math:`\sigma_k = s` it is ``RBF(s / sqrt(2))``, and the length scale of a Gaussian process
       (PyMC's ``ExpQuad``) is :math:`\ell_k = \sigma_k / \sqrt 2`.

    Parameters
    ----------
    scale : float, sequence of float or Prior, default=1.0
        The scales :math:`\sigma_k > 0`, in the units of the inputs.
    name : str, default="mahalanobis"
        Its variable is ``<name>_scale``.

    Examples
    --------
    >>> Mahalanobis(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])

    References
    ----------
    Herbrich (2002), Learning Kernel Classifiers, table 2.1.
    """

    scale: float | tuple[float, ...] | Prior = parameter(1.0)
    name: str = "mahalanobis"
    scale_name: ClassVar[str] = "scale"

    def profile(self, D: Any, xp: Any) -> Any:
        """exp(-d^2)."""
        return xp.exp(-D)

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """-exp(-d^2)."""
        return -np.exp(-D)

    def frequencies(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Normal of variance 2."""
        return np.sqrt(2.0) * rng.standard_normal((n, d))


class _OfDistance(Stationary):
    """A kernel that says its profile in the distance itself, and the slope over the distance."""

    def of_distance(self, r: Any, xp: Any) -> Any:
        raise TypeError(f"{type(self).__name__} does not say its profile")

    def slope_over_r(self, r: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say the derivative of its profile")

    def profile(self, D: Any, xp: Any) -> Any:
        """The profile at the root of the squared distance."""
        return self.of_distance(safe_sqrt(D, xp), xp)

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """Half the slope over the distance."""
        return 0.5 * self.slope_over_r(np.sqrt(D))


def _exponential_slope(r: np.ndarray) -> np.ndarray:
    return np.divide(-np.exp(-r), r, out=np.zeros_like(r), where=r > 0)


@dataclass(frozen=True, repr=False)
class Laplacian(_OfDistance):
    r"""Exponential kernel, :math:`k(x, z) = \exp(-\|x - z\|_2 / \ell)`; Matérn with nu = 1/2.

    The norm is Euclidean; scikit-learn's ``laplacian_kernel`` has the sum of absolute values.

    Parameters
    ----------
    lengthscale : float, sequence of float or Prior, default=1.0
        The scale :math:`\ell > 0`, or one for each input.
    name : str, default="laplacian"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> Laplacian(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    lengthscale: float | tuple[float, ...] | Prior = parameter(1.0)
    name: str = "laplacian"

    def of_distance(self, r: Any, xp: Any) -> Any:
        """exp(-r)."""
        return xp.exp(-r)

    def slope_over_r(self, r: np.ndarray) -> np.ndarray:
        """-exp(-r) / r."""
        return _exponential_slope(r)

    def frequencies(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Multivariate Cauchy."""
        return _student(rng, n, d, 1.0)


@dataclass(frozen=True, repr=False)
class Matern(_OfDistance):
    r"""Matérn kernel with smoothness :math:`\nu` of 1/2, 3/2 or 5/2.

    With :math:`r = \|x - z\| / \ell`, it is :math:`e^{-r}`,
    :math:`(1 + \sqrt 3 r) e^{-\sqrt 3 r}` or :math:`(1 + \sqrt 5 r + 5 r^2 / 3) e^{-\sqrt 5 r}`.

    Parameters
    ----------
    lengthscale : float, sequence of float or Prior, default=1.0
        The scale :math:`\ell > 0`, or one for each input.
    nu : {0.5, 1.5, 2.5}, default=1.5
        Functions drawn with this covariance are differentiable fewer than ``nu`` times.
    name : str, default="matern"
        Its variable is ``<name>_lengthscale``.

    Examples
    --------
    >>> Matern(1.0, nu=2.5)([[0.0], [1.0]]).round(4)
    array([[1.   , 0.524],
           [0.524, 1.   ]])
    """

    lengthscale: float | tuple[float, ...] | Prior = parameter(1.0)
    nu: float = 1.5
    name: str = "matern"

    def __post_init__(self):
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5) or isinstance(self.nu, bool):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")
        object.__setattr__(self, "nu", float(self.nu))

    def of_distance(self, r: Any, xp: Any) -> Any:
        """A polynomial times an exponential."""
        if self.nu == 0.5:
            return xp.exp(-r)
        s = np.sqrt(2 * self.nu) * r
        return (1 + s if self.nu == 1.5 else 1 + s + s**2 / 3) * xp.exp(-s)

    def slope_over_r(self, r: np.ndarray) -> np.ndarray:
        """-exp(-r) / r, -3 exp(-s) or -5/3 (1 + s) exp(-s)."""
        if self.nu == 0.5:
            return _exponential_slope(r)
        s = np.sqrt(2 * self.nu) * r
        return -3.0 * np.exp(-s) if self.nu == 1.5 else -5.0 / 3.0 * (1 + s) * np.exp(-s)

    def frequencies(self, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        """Student's t with 2 nu degrees of freedom."""
        return _student(rng, n, d, 2 * self.nu)


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    r"""A mixture of Gaussian kernels, :math:`(1 + \|x - z\|^2 / 2\alpha\ell^2)^{-\alpha}`.

    Parameters
    ----------
    lengthscale : float, sequence of float or Prior, default=1.0
        The scale :math:`\ell > 0`, or one for each input.
    alpha : float or Prior, default=1.0
        How alike the mixed scales are: the limit of a large :math:`\alpha > 0` is `RBF`.
    name : str, default="rational_quadratic"
        Its variables are ``<name>_lengthscale`` and ``<name>_alpha``.

    Examples
    --------
    >>> RationalQuadratic(1.0, alpha=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    lengthscale: float | tuple[float, ...] | Prior = parameter(1.0)
    alpha: float | Prior = parameter(1.0)
    name: str = "rational_quadratic"

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "alpha", read_parameter(self.alpha, "alpha"))

    def profile(self, D: Any, xp: Any) -> Any:
        """Power of 1 + d^2 / 2 alpha."""
        a: Any = self.alpha
        return xp.exp(-a * xp.log1p(D / (2.0 * a)))

    def profile_slope(self, D: np.ndarray) -> np.ndarray:
        """Half of the same with the power one lower."""
        a: Any = self.alpha
        return -0.5 * np.exp(-(a + 1.0) * np.log1p(D / (2.0 * a)))

    def _pull(self, A: np.ndarray, B: np.ndarray, D: np.ndarray, G: np.ndarray) -> Gradients:
        a: Any = self.alpha
        ratio = D / (2.0 * a)
        logs = np.log1p(ratio)
        slope = np.exp(-a * logs) * (ratio / (1.0 + ratio) - logs)
        return super()._pull(A, B, D, G) | {f"{self.name}_alpha": np.vdot(G, slope)}


@dataclass(frozen=True, repr=False)
class Periodic(Stationary):
    r"""Periodic kernel, :math:`k(x, z) = \exp(-\tfrac{2}{\ell^2}\sum_k\sin^2(\pi(x_k-z_k)/p))`.

    It is the Gaussian kernel on circles of circumference :math:`p`, wound around each input.

    Parameters
    ----------
    lengthscale : float or Prior, default=1.0
        The scale :math:`\ell > 0`, relative to the radius of the circle.
    period : float or Prior, default=1.0
        The period :math:`p > 0`, in the units of the inputs.
    name : str, default="periodic"
        Its variables are ``<name>_lengthscale`` and ``<name>_period``.

    Examples
    --------
    >>> Periodic(1.0, period=2.0)([[0.0], [1.0], [2.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    lengthscale: float | Prior = parameter(1.0)
    period: float | Prior = parameter(1.0)
    name: str = "periodic"

    def __post_init__(self):
        for field in ("lengthscale", "period"):
            object.__setattr__(self, field, read_parameter(getattr(self, field), field))

    def _turns(self, X: Any, xp: Any) -> tuple[Any, Any]:
        period: Any = self.period
        angle = (2.0 * np.pi / period) * X
        return xp.cos(angle), xp.sin(angle)

    def _sqdist(self, X: Any, Z: Any, xp: Any) -> Any:
        A = xp.concatenate(self._turns(X, xp), axis=1)
        B = A if Z is X else xp.concatenate(self._turns(Z, xp), axis=1)
        return sqdist(A, B, xp)

    def gram(self, X: Any, Z: Any) -> Any:
        """Gaussian profile of the distances on the circles."""
        xp = namespace(X, Z, *self._parameters())
        ell: Any = self.lengthscale
        return xp.exp(self._sqdist(X, Z, xp) * (-0.5 / ell**2))

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Weighted sums of the distances, and of sines of the differences for the period."""
        namespace(*self._parameters())
        X, Z = self.read_both(X, Z)
        Z = X if Z is None else Z
        ell: Any = self.lengthscale
        p: Any = self.period
        D = self._sqdist(X, Z, np)
        M = G * np.exp(-0.5 * D / ell**2)
        (c, s), (c2, s2) = self._turns(X, np), self._turns(Z, np)
        # sum of M (x - z) sin(x - z), with the sine of a difference written as products
        left = X * (s * (M @ c2) - c * (M @ s2))
        right = s * (M @ (Z * c2)) - c * (M @ (Z * s2))
        return {
            f"{self.name}_lengthscale": np.vdot(M, D) / ell**3,
            f"{self.name}_period": 2.0 * np.pi * (left - right).sum() / (p * ell) ** 2,
        }


def _student(rng: np.random.Generator, n: int, d: int, freedom: float) -> np.ndarray:
    return rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(freedom, (n, 1)) / freedom)


def _one_each(value: Any, what: str, other: str) -> None:
    if isinstance(value, float) or (isinstance(value, Prior) and value.size is None):
        raise ValueError(
            f"{what} must hold one entry per input, got {value!r}; {other} takes a single one"
        )
