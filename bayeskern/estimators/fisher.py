"""The Bayesian discriminant with scikit-learn's manners, on inputs or kernel coordinates."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.bayes.fisher import BayesFisher
from bayeskern.checks import as_matrix, whole
from bayeskern.conjugate import NormalInverseWishart
from bayeskern.estimators.inputs import is_text, read_inputs
from bayeskern.infer.conjugate import Conjugate
from bayeskern.kernels.base import Kernel

MOST = 10  # kernel coordinates that the evidence chooses among


@dataclass(frozen=True, eq=False)
class KernelCoordinates:
    """Leading principal coordinates of a kernel, each of unit variance on the training inputs.

    Parameters
    ----------
    kernel : Kernel
        With fixed parameters.
    X : inputs
        As the kernel reads them.
    n : int
        How many coordinates at most; fewer if the centred Gram matrix has a smaller rank.

    Examples
    --------
    >>> import bayeskern as bk
    >>> coordinates = KernelCoordinates(bk.Linear(), np.array([[0.0], [1.0], [5.0]]), 4)
    >>> np.abs(coordinates([[2.0], [5.0]])).round(3)
    array([[0.   ],
           [1.389]])
    """

    kernel: Kernel
    X: Any
    n: int

    def __post_init__(self):
        from sklearn.decomposition import KernelPCA

        whole(self.n, "n", least=1)
        K = self.kernel(self.X)
        n = min(self.n, len(K) - 1)
        pca = KernelPCA(n, kernel="precomputed", eigen_solver="dense").fit(K)
        keep = pca.eigenvalues_ > 1e-8 * max(pca.eigenvalues_[0], np.trace(K) * 1e-8)
        if not keep.any():
            raise ValueError("the kernel is constant on the inputs, so it has no coordinates")
        object.__setattr__(self, "_pca", pca)
        object.__setattr__(self, "_scale", np.sqrt(pca.eigenvalues_[keep] / len(K)))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the coordinates of inputs, ``(k, n)``."""
        Z = self._pca.transform(self.kernel(X, self.X))  # type: ignore[attr-defined]
        return Z[:, : len(self._scale)] / self._scale  # type: ignore[attr-defined]


def coordinate_evidence(Z: Any, y: Any, kappa0: float = 0.1, *, shared: bool = True) -> np.ndarray:
    r"""Return the log evidence that the classes differ in the first 1, 2, ... coordinates only.

    The model of q coordinates gives the first q a mean for each class, and all others, given
    those, a normal law that is blind to the class. All models explain the same numbers, so that
    their evidences compare; relative to the model that is blind throughout they are

    .. math:: \log p(Z_{1:q} | y) - \log p(Z_{1:q}) ,

    since the prior with :math:`\nu_0 = q + 2` and :math:`\Psi_0 = I` for q coordinates is the
    marginal of that for more.

    Parameters
    ----------
    Z : array of shape (n, d)
        Coordinates, of unit scale.
    y : array of shape (n,)
        Labels -1 and +1.
    kappa0 : float, default=0.1
        How many points the prior mean is worth.
    shared : bool, default=True
        Whether the classes have one covariance.

    Returns
    -------
    ndarray of shape (d,)
        Log evidence ratios.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1, 1], 20)
    >>> Z = rng.normal(size=(40, 4))
    >>> Z[:, 1] += 2 * y
    >>> int(coordinate_evidence(Z, y).argmax()) + 1
    2
    """
    Z = as_matrix(Z, "Z")
    found = []
    for q in range(1, Z.shape[1] + 1):
        split = BayesFisher(Z[:, :q], y, kappa0, shared=shared).log_evidence_inputs
        blind = NormalInverseWishart(np.zeros((1, q)), [kappa0], q + 2.0, np.eye(q))
        found.append(split - blind.log_evidence(Z[:, :q], np.zeros(len(Z))))
    return np.array(found)


class BayesFisherClassifier(ClassifierMixin, BaseEstimator):
    """Gaussian classes with unknown means and covariance: a `BayesFisher` and a method to fit it.

    Parameters
    ----------
    kernel : Kernel or None
        Classify in the leading principal coordinates of a kernel; None in the inputs themselves.
    n_components : int or None
        How many coordinates of the kernel; None takes the number, up to 10, of largest evidence.
    kappa0, nu0, m0, Psi0, a0, b0, shared, scale_prior
        The prior, as for `BayesFisher`. With neither ``m0`` nor ``Psi0`` given it is put on inputs
        scaled to zero mean and unit variance.
    inference : Inference, optional
        ``Conjugate()`` by default, the closed form; ``NUTS()`` if labels are missing.
    unlabelled : label, optional
        Rows with this label count as points whose label is missing.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : ndarray
    problem_, model_, idata_ :
        What was asked, the same as a PyMC model, and what came out.
    evidence_path_ : ndarray
        What `coordinate_evidence` said, if it chose the number of coordinates.

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0], [2.5, 0.5]]
    >>> model = BayesFisherClassifier(random_state=0).fit(X, ["a", "a", "b", "b", "b"])
    >>> model.predict([[0.0, 0.0], [3.0, 1.0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        kernel=None,
        *,
        n_components=None,
        kappa0=0.1,
        nu0=None,
        m0=None,
        Psi0=None,
        a0=1.0,
        b0=1.0,
        shared=True,
        scale_prior="wishart",
        inference=None,
        unlabelled=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.kappa0 = kappa0
        self.nu0 = nu0
        self.m0 = m0
        self.Psi0 = Psi0
        self.a0 = a0
        self.b0 = b0
        self.shared = shared
        self.scale_prior = scale_prior
        self.inference = inference
        self.unlabelled = unlabelled
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Infer the two classes."""
        if isinstance(self.kernel, Kernel) and is_text(X):
            X, y = list(X), np.asarray(y)
            if len(X) != len(y):
                raise ValueError(f"y must have one label per input, got {len(y)} for {len(X)}")
        else:
            X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        known = np.ones(len(y), bool) if self.unlabelled is None else y != self.unlabelled
        self.classes_ = np.unique(y[known])
        if len(self.classes_) != 2:
            few = "one class" if len(self.classes_) == 1 else f"{len(self.classes_)} classes"
            raise ValueError(
                "Only binary classification is supported: BayesFisherClassifier needs two"
                f" classes, got {few}: {self.classes_[:5].tolist()}"
            )
        signs = np.where(known, np.where(y == self.classes_[1], 1.0, -1.0), 0.0)
        self._prepare(X, signs)
        self.problem_ = BayesFisher(
            self._features(X),
            signs,
            self.kappa0,
            self.nu0,
            0.0 if self.m0 is None else self.m0,
            1.0 if self.Psi0 is None else self.Psi0,
            self.a0,
            self.b0,
            self.shared,
            self.scale_prior,
        )
        method = self.inference or Conjugate()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.idata_ = method.run(self.problem_, random_seed=seed)
        return self

    def _prepare(self, X: Any, signs: np.ndarray) -> None:
        """Find the scale of the inputs, or the coordinates of the kernel."""
        self._coordinates: KernelCoordinates | None = None
        self._centre: Any = 0.0
        self._scale: Any = 1.0
        if self.kernel is not None:
            if not isinstance(self.kernel, Kernel):
                raise ValueError(f"kernel must be a Kernel or None, got {self.kernel!r}")
            self._coordinates = KernelCoordinates(self.kernel, X, self.n_components or MOST)
            self.n_components_ = len(self._coordinates._scale)  # type: ignore[attr-defined]
            if self.n_components is None:
                seen = signs != 0
                self.evidence_path_ = coordinate_evidence(
                    self._coordinates(X)[seen], signs[seen], self.kappa0, shared=self.shared
                )
                self.n_components_ = int(self.evidence_path_.argmax()) + 1
        elif self.m0 is None and self.Psi0 is None:
            self._centre, spread = X.mean(axis=0), X.std(axis=0)
            self._scale = np.where(spread > 0, spread, 1.0)

    def _features(self, X: Any) -> np.ndarray:
        if self._coordinates is not None:
            return self._coordinates(X)[:, : self.n_components_]
        return (X - self._centre) / self._scale

    def features(self, X: Any) -> np.ndarray:
        """Return new inputs as the problem sees them: scaled, or in kernel coordinates."""
        check_is_fitted(self)
        return self._features(read_inputs(self, X, reset=False))

    @property
    def model_(self) -> Any:
        """The fitted posterior as a PyMC model."""
        check_is_fitted(self)
        return self.problem_.model

    @property
    def log_evidence_(self) -> float:
        """Log density of the inputs, as the problem sees them, and labels; NaN if not known."""
        check_is_fitted(self)
        return float(self.idata_.attrs.get("log_evidence", np.nan))

    def draws(self) -> dict[str, np.ndarray]:
        """Posterior draws of ``mu``, ``cov`` and ``p``, with the draws as the first axis."""
        check_is_fitted(self)
        posterior = self.idata_["posterior"]
        found = {}
        for name in ("mu", "cov", "p"):
            values = posterior[name].transpose("chain", "draw", ...).values
            found[name] = values.reshape(-1, *values.shape[2:])
        return found

    def _plus(self, Z: np.ndarray) -> np.ndarray:
        if self.idata_.attrs.get("evidence_kind") == "exact":
            return self.problem_.predict_proba(Z)
        return self.problem_.predict_from(self.draws(), Z)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities with all parameters averaged out, in the order of ``classes_``."""
        p = self._plus(self.features(X))
        return np.stack([1 - p, p], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of the second class."""
        p = self.predict_proba(X)[:, 1]
        return logit(np.clip(p, 1e-300, 1 - 1e-16))

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class; a tie goes to the second."""
        second = self.predict_proba(X)[:, 1] >= 0.5
        return self.classes_[second.astype(int)]

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """What generalisation bounds need to know of this fit, measured on ``X`` and ``y``.

        ``kl`` is the divergence of the posterior from the prior, where it has a closed form; the
        Gibbs risk is an average over draws, so that bounds on it are marked heuristic.
        """
        Z = self.features(X)
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        joint = self.problem_.log_joint(self.draws(), Z)
        vote = (joint[..., 1] >= joint[..., 0]) != (signs > 0)
        found: dict[str, Any] = {
            "kind": "bayes_fisher",
            "margins": signs * self.decision_function(X),
            "gibbs_risk": float(vote.mean()),
            "gibbs_risk_sampled": True,
            "prior_depends_on_data": self.kernel is not None
            or (self.m0 is None and self.Psi0 is None),
        }
        if self.idata_.attrs.get("evidence_kind") == "exact":
            found["kl"] = self.problem_.kl
        return found
