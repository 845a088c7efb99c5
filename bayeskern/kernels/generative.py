"""Kernels made of a probability model: two inputs are alike if they pull its parameters alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.kernels.base import Kernel
from bayeskern.kernels.models import ScoreModel


@dataclass(frozen=True, repr=False)
class Fisher(Kernel):
    r"""Fisher kernel, :math:`k(x, z) = f(x)^\top I^{-1} f(z)` of scores :math:`f`.

    The score is the gradient of the log density in the parameters and :math:`I` its expected
    outer product, so that the kernel does not depend on how the model is parametrised. Where the
    information is singular, the kernel lives on its range. In a PyMC model it is a constant.

    Parameters
    ----------
    model : ScoreModel
        `BernoulliModel`, `GaussianModel`, `MarkovModel`, `MixtureModel` or, for any other, a
        `ScoreFunction`.
    naive : bool, default=False
        Leave the information out, :math:`k(x, z) = f(x)^\top f(z)`; this does depend on the
        parametrisation.

    Examples
    --------
    >>> from bayeskern.kernels import BernoulliModel
    >>> Fisher(BernoulliModel((0.25,)))([[1.0], [0.0]]).round(4)
    array([[ 3.    , -1.    ],
           [-1.    ,  0.3333]])

    References
    ----------
    Herbrich (2002), definitions 2.26 and 2.27.
    """

    model: ScoreModel
    naive: bool = False

    def __post_init__(self):
        if not isinstance(self.model, ScoreModel):
            raise ValueError(f"model must be a ScoreModel, got {self.model!r}")

    def read(self, X: Any) -> Any:
        """Read the inputs as the model does."""
        return self.model.read(X)

    def features(self, X: Any) -> np.ndarray:
        """Scores, whitened by the information unless naive."""
        F = self.model.score(X)
        if self.naive:
            return F
        spectrum, U = np.linalg.eigh(self.model.information())
        keep = spectrum > 1e-12 * spectrum[-1]
        return F @ (U[:, keep] / np.sqrt(spectrum[keep]))

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Inner products of the whitened scores."""
        F = self.features(X)
        return F @ (F if Z is X else self.features(Z)).T

    def diag(self, X: Any) -> np.ndarray:
        """Squared lengths of the whitened scores."""
        return (self.features(X) ** 2).sum(axis=1)
