"""Bayes point machines: the posterior over version space."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskern.bayes.cone import Cone
from bayeskern.bayes.gp import GaussianProcess
from bayeskern.checks import positive
from bayeskern.kernels.base import Kernel
from bayeskern.likelihoods import LabelFlip, Likelihood, Probit, Step


@dataclass(frozen=True, eq=False)
class BayesPoint(GaussianProcess):
    r"""Posterior over linear classifiers: uniform on the sphere, and no label is wrong.

    .. math:: V = \{w : \|w\| = 1,\; y_i \langle x_i, w \rangle > 0 \text{ for all } i\}

    is version space; the posterior is uniform on it and the evidence is its prior mass. Since
    :math:`V` spans a cone, this is the Gaussian process with the `Step` likelihood, the limit of
    classification without noise. There is no offset: add a constant to the kernel for one.

    Parameters
    ----------
    X : array of shape (n, d), or a list of what the kernel reads
        Inputs.
    y : array of shape (n,)
        Labels -1 and +1.
    kernel : Kernel
        Inner product of the feature space. Its scale does not matter, unless there is slack.
    likelihood : Step or LabelFlip, default=Step()
        Labels without noise, or flipped at a given rate.
    lam : float, default=0.0
        Slack: the variance of noise on each latent value before its sign is taken. The same as
        the likelihood ``Probit(sqrt(lam))``, which is what the problem then has. With slack every
        labelling is possible.
    jitter : float, default=0.0
        Added to the diagonal in the PyMC models.

    Examples
    --------
    >>> import bayeskern as bk
    >>> from bayeskern.kernels.dot import Linear
    >>> problem = bk.BayesPoint([[1.0, 0.0], [0.5, 0.75**0.5]], [1, 1], Linear())
    >>> round(bk.log_volume(problem).prior_mass, 10)
    0.3333333333
    """

    X: Any
    y: Any
    kernel: Kernel
    likelihood: Likelihood = Step()
    jitter: float = 0.0
    lam: float = 0.0

    def __post_init__(self):
        lam = positive(self.lam, "lam", zero=True)
        object.__setattr__(self, "lam", lam)
        if lam > 0:
            if not isinstance(self.likelihood, Step) and self.likelihood != Probit(math.sqrt(lam)):
                raise ValueError(
                    f"give slack or label noise, not both, got lam={lam:g} and {self.likelihood!r}"
                )
            object.__setattr__(self, "likelihood", Probit(math.sqrt(lam)))
        elif isinstance(self.likelihood, LabelFlip) and self.likelihood.q == 0:
            object.__setattr__(self, "likelihood", Step())
        elif not isinstance(self.likelihood, Step | LabelFlip):
            raise ValueError(
                f"a BayesPoint has the likelihood Step or LabelFlip, got {self.likelihood!r};"
                " for others use GaussianProcess"
            )
        super().__post_init__()

    @property
    def flip_rate(self) -> float:
        """Probability that a label was flipped."""
        return self.likelihood.q if isinstance(self.likelihood, LabelFlip) else 0.0

    @property
    def smooth(self) -> bool:
        """Whether NUTS can run on `whitened`: with slack, or when the Gram matrix is invertible."""
        return self.lam > 0 or (self.flip_rate == 0 and self.cone.invertible)

    @cached_property
    def cone(self) -> Cone:
        """Version space, as a cone; slack is part of it, label noise is not."""
        if self.free():
            raise ValueError(
                f"version space needs a fixed kernel, but {', '.join(self.free())} is free;"
                " use EvidenceMax(EP()) to fix it"
            )
        return Cone.of(self._fixed_gram + self.lam * np.eye(len(self.y)), self.y)

    def dims(self) -> dict[str, list[str]]:
        """``alpha`` and ``u`` belong to the observations too."""
        return super().dims() | {"alpha": ["obs"], "u": ["obs"]}

    def build(self) -> Any:
        r"""Write the orthant form, :math:`u = y \circ f > 0`, if there is no noise.

        It needs an invertible Gram matrix. With slack or label noise it is the Gaussian process.
        """
        return super().build() if self._noisy else self._orthant()

    def build_whitened(self) -> Any:
        """The same as `build` without noise: the orthant form is what NUTS can sample."""
        return super().build_whitened() if self._noisy else self._orthant()

    @property
    def _noisy(self) -> bool:
        return self.lam > 0 or self.flip_rate > 0

    def _orthant(self) -> Any:
        import pymc as pm
        import pytensor.tensor as pt

        cone = self.cone
        if not (cone.invertible or self.jitter > 0):
            raise ValueError(
                f"the orthant form needs an invertible Gram matrix, got rank {cone.rank} for"
                f" {len(self.y)} points; use ConeHMC, cone_model or jitter > 0"
            )
        G = self._fixed_gram + self.jitter * np.eye(len(self.y))
        with pm.Model(coords=self._model_coords()) as model:
            u = pm.HalfFlat("u", dims="obs")
            signed = self.y[:, None] * G * self.y
            pm.Potential("gp_prior", pm.logp(pm.MvNormal.dist(np.zeros(len(G)), cov=signed), u))
            f = pm.Deterministic("f", self.y * u, dims="obs")
            pm.Deterministic("alpha", pt.linalg.solve(G, f, assume_a="pos"), dims="obs")
        return model

    @cached_property
    def cone_model(self) -> Any:
        """The posterior as a PyMC model of independent normals ``z`` with a hard constraint.

        For ``ConeStep([z], A=problem.cone.A)``; NUTS diverges on it.
        """
        import pymc as pm
        import pytensor.tensor as pt

        cone = self.cone
        inside = cone.coordinates(cone.start)
        with pm.Model(coords=self._model_coords() | {"rank": np.arange(cone.rank)}) as model:
            z = pm.Normal("z", 0.0, 1.0, dims="rank", initval=inside)
            u = pt.as_tensor_variable(cone.A) @ z
            pm.Potential("version_space", pt.switch(pt.all(u > 0), 0.0, -np.inf))
            pm.Deterministic("f", self.y * cone.scales * u, dims="obs")
        return model
