r"""Observation models p(y | f): each method that one has unlocks some inference.

========== ========================================= ========== ====== =================
likelihood p(y | f)                                  derivatives tilted used by
========== ========================================= ========== ====== =================
Gaussian   N(y; f, sigma^2)                          yes        yes    every method
Logit      expit(2 y f / beta)                       yes        yes    Laplace, EP, MCMC
Probit     Phi(y f / scale)                          yes        yes    Laplace, EP, MCMC
Step       1[y f > 0]                                no         yes    EP, version space
LabelFlip  1 - q if y f > 0 else q                   no         yes    EP, kernel Gibbs
Hinge      exp(-hinge) normalised over y             first      yes    EP, MCMC
========== ========================================= ========== ====== =================
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr

from bayeskern._tilted import Moments, hazard, shifted_hazard, sigmoid_moments, step_moments
from bayeskern.checks import as_labels, as_targets, positive, within
from bayeskern.priors import HasPriors, Prior, parameter, read_parameter

_LOG_2PI = float(np.log(2 * np.pi))


class Likelihood(HasPriors):
    """One observation given its latent value, as a frozen value.

    Every likelihood has ``logp(y, f)``, ``tilted(y, mean, var)``, ``predict(mean, var)``,
    ``sample(rng, f)`` and ``observe(name, f, y)``. Differentiable ones add ``slope``,
    ``curvature`` (minus the second derivative) and ``third``; all are elementwise.
    """

    classifies: ClassVar[bool] = True

    def read(self, y: Any, n: int) -> np.ndarray:
        """Check the observations of ``n`` points."""
        return as_labels(y, n) if self.classifies else as_targets(y, n)

    def logp(self, y: Any, f: Any) -> np.ndarray:
        """Log probability of the observation."""
        raise TypeError(f"{type(self).__name__} does not say its log probability")

    def tilted(self, y: Any, mean: Any, var: Any) -> Moments:
        r""":math:`\log Z`, mean and variance of :math:`p(y|f) N(f; mean, var) / Z`."""
        raise TypeError(f"{type(self).__name__} does not say its tilted moments")

    def predict(self, mean: Any, var: Any) -> np.ndarray:
        """Probability of ``+1`` (or mean of ``y``) when ``f`` is Gaussian."""
        mean = np.asarray(mean, dtype=float)
        return np.exp(self.tilted(np.ones_like(mean), mean, var)[0])

    def sample(self, rng: np.random.Generator, f: Any) -> np.ndarray:
        """Draw labels given latent values."""
        f = np.asarray(f, dtype=float)
        chance = np.exp(self.logp(np.ones_like(f), f))
        return np.where(rng.random(f.shape) < chance, 1.0, -1.0)

    def pullback(self, K: np.ndarray, G: np.ndarray) -> dict[str, Any]:
        """Gradient of the evidence for the likelihood's own parameters.

        ``G`` is its gradient with respect to the prior covariance ``K`` of the latent values.
        """
        return {}

    def observe(self, name: str, f: Any, y: Any, **kwargs: Any) -> Any:
        """Add the observed variable to the current PyMC model."""
        raise TypeError(f"{type(self).__name__} cannot be observed in a PyMC model")


@dataclass(frozen=True)
class Gaussian(Likelihood):
    r"""Targets with noise, :math:`y \sim N(f, \sigma^2)`.

    It is the inverse-loss likelihood of the squared loss with :math:`\sigma^2 = \beta / 2`.

    Parameters
    ----------
    sigma : float or Prior, default=0.1
        Standard deviation of the noise.
    name : str, default="noise"
        Its variable is ``<name>_sigma``.

    Examples
    --------
    >>> Gaussian(0.5).logp(1.0, 1.0).round(6)
    np.float64(-0.225791)
    """

    sigma: float | Prior = parameter(0.1)
    name: str = "noise"
    classifies: ClassVar[bool] = False

    def __post_init__(self):
        object.__setattr__(self, "sigma", read_parameter(self.sigma, "sigma"))

    def logp(self, y, f):
        """Log density."""
        return -0.5 * ((y - f) / self.sigma) ** 2 - np.log(self.sigma) - 0.5 * _LOG_2PI

    def slope(self, y, f):
        """Derivative of ``logp`` in ``f``."""
        return (y - f) / self.sigma**2

    def curvature(self, y, f):
        """Minus the second derivative."""
        return np.full(np.shape(f), self.sigma**-2)

    def third(self, y, f):
        """Third derivative: none."""
        return np.zeros(np.shape(f))

    def tilted(self, y, mean, var):
        """Product of two Gaussians."""
        total = var + self.sigma**2
        log_z = -0.5 * (y - mean) ** 2 / total - 0.5 * np.log(total) - 0.5 * _LOG_2PI
        return log_z, mean + var / total * (y - mean), var * self.sigma**2 / total

    def predict(self, mean, var):
        """Mean of the target."""
        return np.asarray(mean, dtype=float)

    def sample(self, rng, f):
        """Draw noisy targets."""
        return np.asarray(f) + self.sigma * rng.standard_normal(np.shape(f))

    def pullback(self, K, G):
        """The noise enters as ``K + sigma^2 I``."""
        return {f"{self.name}_sigma": 2 * self.sigma * np.trace(G)}

    def observe(self, name, f, y, **kwargs):
        """Add a normal variable."""
        import pymc as pm

        return pm.Normal(name, mu=f, sigma=self.sigma, observed=y, **kwargs)


@dataclass(frozen=True)
class Logit(Likelihood):
    r"""Labels with :math:`p(y | f) = \operatorname{expit}(2 y f / \beta)`.

    Herbrich (2002), eq. 3.16. His appendix B.7 writes the same model with :math:`1 / \beta`; here
    ``beta=2``, the default, is the ordinary logistic link. The posterior depends on ``beta`` and
    the kernel's amplitude :math:`s^2` only through :math:`s / \beta`, so never infer both.

    Parameters
    ----------
    beta : float or Prior, optional
        Noise level; 2 if neither is given.
    slope : float, optional
        The same told as the slope :math:`c = 2 / \beta`; give one or the other.
    name : str, default="logit"
        Its variable is ``<name>_beta``.

    Examples
    --------
    >>> Logit(beta=1.0) == Logit(slope=2.0)
    True
    >>> np.exp(Logit().logp(1, 0.0))
    np.float64(0.5)
    """

    beta: float | Prior = parameter(2.0)
    name: str = "logit"

    def __init__(self, beta: Any = None, *, slope: Any = None, name: str = "logit"):
        if beta is not None and slope is not None:
            raise ValueError(f"give beta or slope, not both, got beta={beta!r}, slope={slope!r}")
        if slope is not None:
            beta = 2.0 / positive(slope, "slope")
        if isinstance(beta, int | float) and beta == 0:
            raise ValueError("beta must be positive, got 0; the limit of no noise is Step()")
        object.__setattr__(self, "beta", read_parameter(2.0 if beta is None else beta, "beta"))
        object.__setattr__(self, "name", name)

    @property
    def _c(self):
        return 2.0 / self.beta

    def logp(self, y, f):
        """Log probability, free of overflow."""
        return log_expit(self._c * y * f)

    def slope(self, y, f):
        """Derivative of ``logp`` in ``f``."""
        return self._c * y * expit(-self._c * y * f)

    def curvature(self, y, f):
        """Minus the second derivative; positive."""
        return self._c**2 * expit(self._c * f) * expit(-self._c * f)

    def third(self, y, f):
        """Third derivative."""
        return -self._c * self.curvature(y, f) * (expit(-self._c * f) - expit(self._c * f))

    def tilted(self, y, mean, var):
        """Moments by a trapezoid rule, or by splitting off a step where the Gaussian is wide."""
        c = self._c
        mean, var = np.asarray(mean, dtype=float), np.asarray(var, dtype=float)
        log_z, centre, spread = sigmoid_moments(y, c * mean, c**2 * var, lambda t: t)
        return log_z, centre / c, spread / c**2

    def pullback(self, K, G):
        """The evidence depends on ``c^2 K`` alone."""
        return {f"{self.name}_beta": -2.0 / self.beta * np.vdot(G, K)}

    def observe(self, name, f, y, **kwargs):
        """Add a Bernoulli variable that is 1 where ``y`` is +1."""
        import pymc as pm

        return pm.Bernoulli(name, logit_p=self._c * f, observed=_ones_and_zeros(y), **kwargs)


@dataclass(frozen=True)
class Probit(Likelihood):
    r"""Labels with :math:`p(y | f) = \Phi(y f / s)`.

    The same as a `Step` seen through latent noise of variance :math:`s^2`: the slack
    :math:`\lambda = s^2` of a Bayes point machine.

    Parameters
    ----------
    scale : float or Prior, default=1.0
        The scale :math:`s > 0`.
    name : str, default="probit"
        Its variable is ``<name>_scale``.

    Examples
    --------
    >>> Probit().predict(1.0, 3.0).round(6)
    np.float64(0.691462)
    """

    scale: float | Prior = parameter(1.0)
    name: str = "probit"

    def __post_init__(self):
        object.__setattr__(self, "scale", read_parameter(self.scale, "scale"))

    def logp(self, y, f):
        """Log probability."""
        return log_ndtr(y * np.asarray(f, dtype=float) / self.scale)

    def slope(self, y, f):
        """Derivative of ``logp`` in ``f``."""
        return y * hazard(y * np.asarray(f, dtype=float) / self.scale) / self.scale

    def curvature(self, y, f):
        """Minus the second derivative; positive."""
        z = y * np.asarray(f, dtype=float) / self.scale
        return hazard(z) * shifted_hazard(z) / self.scale**2

    def third(self, y, f):
        """Third derivative."""
        z = y * np.asarray(f, dtype=float) / self.scale
        far = np.where(z < -100.0, z, -100.0)
        r, u = hazard(z), shifted_hazard(z)
        value = np.where(z < -100.0, -2 / far**3 + 24 / far**5, r * (u * (u + r) - 1))
        return y * value / self.scale**3

    def tilted(self, y, mean, var):
        """Moments in closed form."""
        return step_moments(y, np.asarray(mean, dtype=float), var, self.scale**2)

    def predict(self, mean, var):
        """Probability of +1 in closed form."""
        return ndtr(np.asarray(mean, dtype=float) / np.sqrt(self.scale**2 + var))

    def pullback(self, K, G):
        """The evidence depends on ``K / scale^2`` alone."""
        return {f"{self.name}_scale": -2.0 / self.scale * np.vdot(G, K)}

    def observe(self, name, f, y, **kwargs):
        """Add a Bernoulli variable that is 1 where ``y`` is +1."""
        import pymc as pm

        z = f / self.scale
        log_odds = _log_ndtr(z) - _log_ndtr(-z)  # a probability would round to 0 or 1
        return pm.Bernoulli(name, logit_p=log_odds, observed=_ones_and_zeros(y), **kwargs)


@dataclass(frozen=True)
class Step(Likelihood):
    r"""The PAC likelihood :math:`p(y | f) = 1[y f > 0]`: labels without noise.

    Its evidence is the prior mass of version space. It is the limit of `Logit` as ``beta`` tends
    to 0, where the value at :math:`f = 0` is one half for every ``beta``.
    """

    name: str = "step"

    def logp(self, y, f):
        """Zero inside version space, minus infinity outside."""
        z = y * np.asarray(f, dtype=float)
        with np.errstate(divide="ignore"):
            return np.log(np.where(z > 0, 1.0, np.where(z == 0, 0.5, 0.0)))

    def tilted(self, y, mean, var):
        """Moments of a truncated normal."""
        return step_moments(y, np.asarray(mean, dtype=float), var)

    def predict(self, mean, var):
        """Probability of +1; a step where ``f`` is certain."""
        mean, var = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(var, dtype=float))
        certain = var <= 0
        z = mean / np.sqrt(np.where(certain, 1.0, var))
        return np.where(certain, np.heaviside(mean, 0.5), ndtr(z))

    def observe(self, name, f, y, **kwargs):
        """Add the constraint as a binary variable of probability one or zero."""
        return _flip(name, f, y, 0.0, **kwargs)


@dataclass(frozen=True)
class LabelFlip(Likelihood):
    r"""Labels flipped at random: :math:`p(y | f) = 1 - q` if :math:`y f > 0` and :math:`q` if not.

    The inverse-loss likelihood of the zero-one loss, with :math:`q = 1 / (1 + e^{1/\beta})`.

    Parameters
    ----------
    q : float, default=0.1
        Flip rate, in [0, 1/2).

    Examples
    --------
    >>> round(LabelFlip.from_beta(1.0).q, 7)
    0.2689414
    """

    q: float = 0.1
    name: str = "labelflip"

    def __post_init__(self):
        object.__setattr__(self, "q", within(self.q, "q", 0, 0.5, closed="left"))

    @classmethod
    def from_beta(cls, beta: float) -> "LabelFlip":
        """Make it from the noise level of the inverse-loss likelihood; ``beta=0`` is PAC."""
        beta = positive(beta, "beta", zero=True)
        return cls(float(expit(-1.0 / beta)) if beta else 0.0)

    def logp(self, y, f):
        """Log probability."""
        z = y * np.asarray(f, dtype=float)
        with np.errstate(divide="ignore"):
            return np.log(np.where(z > 0, 1 - self.q, np.where(z == 0, 0.5, self.q)))

    def tilted(self, y, mean, var):
        """Moments of a mixture of a Gaussian and its truncation."""
        mean, var = np.asarray(mean, dtype=float), np.asarray(var, dtype=float)
        log_step, step_mean, step_var = step_moments(y, mean, var)
        inside = (1 - 2 * self.q) * np.exp(log_step)
        z = self.q + inside
        if self.q == 0:
            return log_step, step_mean, step_var
        share = inside / z
        centre = mean + share * (step_mean - mean)
        spread = share * (step_var + (step_mean - centre) ** 2)
        spread = spread + (1 - share) * (var + (mean - centre) ** 2)
        return np.log(z), centre, spread

    def predict(self, mean, var):
        """Probability of +1; a step between q and 1 - q where ``f`` is certain."""
        return self.q + (1 - 2 * self.q) * Step().predict(mean, var)

    def observe(self, name, f, y, **kwargs):
        """Add a binary variable with two probabilities; gradient-free samplers only."""
        return _flip(name, f, y, self.q, **kwargs)


@dataclass(frozen=True)
class Hinge(Likelihood):
    r"""The support vector machine's loss as a likelihood, :math:`p(y | f) = e^{-C l(y f)} / Z(f)`.

    With :math:`l(u) = \max(1 - u, 0)`, the sum :math:`Z(f)` over both labels is not constant, so
    the un-normalised exponential is no likelihood (Herbrich 2002, remark 3.13). Divided by it, the
    probability is :math:`\operatorname{expit}(y g(f))` with :math:`g` odd and piecewise linear:
    slope :math:`2C` up to :math:`|f| = 1`, then :math:`C`. It is not log-concave, so Laplace is
    not offered; EP and MCMC are.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.

    Examples
    --------
    >>> np.exp(Hinge().logp(1, np.array([0.0, 1.0]))).round(6)
    array([0.5     , 0.880797])
    """

    C: float = 1.0
    name: str = "hinge"

    def __post_init__(self):
        object.__setattr__(self, "C", positive(self.C, "C"))

    def _g(self, f, xp=np):
        return self.C * (f + xp.clip(f, -1.0, 1.0))

    def logp(self, y, f):
        """Log probability, normalised over the two labels."""
        return log_expit(y * self._g(np.asarray(f, dtype=float)))

    def slope(self, y, f):
        """Derivative of ``logp``, with a jump at margins of one."""
        f = np.asarray(f, dtype=float)
        rate = self.C * np.where(np.abs(f) < 1, 2.0, 1.0)
        return y * rate * expit(-y * self._g(f))

    def tilted(self, y, mean, var):
        """Moments by Gauss-Legendre panels that end at the kinks."""
        C = self.C
        mean, var = np.asarray(mean, dtype=float), np.asarray(var, dtype=float)
        log_z, centre, spread = sigmoid_moments(
            y, C * mean, C**2 * var, lambda t: t + np.clip(t, -C, C), kinks=(C,)
        )
        return log_z, centre / C, spread / C**2

    def observe(self, name, f, y, **kwargs):
        """Add a Bernoulli variable that is 1 where ``y`` is +1."""
        import pymc as pm
        import pytensor.tensor as pt

        log_odds = self._g(f, pt)
        return pm.Bernoulli(name, logit_p=log_odds, observed=_ones_and_zeros(y), **kwargs)


def _ones_and_zeros(y: Any) -> np.ndarray:
    return (np.asarray(y) > 0).astype(int)


def _log_ndtr(z: Any) -> Any:
    """Log of the normal distribution function in PyTensor, to full precision.

    PyMC's own ``invprobit`` and normal ``logcdf`` hold the square root of two in single precision,
    an error of 1e-8 that the comparison of two forms of one model would see.
    """
    import pytensor.tensor as pt

    u = z / np.sqrt(np.float64(2.0))
    lower = pt.log(0.5 * pt.erfcx(-pt.minimum(u, 0.0))) - pt.minimum(u, 0.0) ** 2
    upper = pt.log1p(-0.5 * pt.erfc(pt.maximum(u, 0.0)))
    return pt.switch(pt.lt(z, 0.0), lower, upper)


def _flip(name: str, f: Any, y: Any, q: float, **kwargs: Any) -> Any:
    import pymc as pm

    p = pm.math.switch(pm.math.gt(f, 0.0), 1.0 - q, q)
    return pm.Bernoulli(name, p=p, observed=_ones_and_zeros(y), **kwargs)
