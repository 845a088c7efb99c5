"""Support vector machines with scikit-learn's manners, on vectors, strings or Gram matrices."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern import checks
from bayeskern.classic._dual import CACHE_MB, MAX_ITER, Rows, expand
from bayeskern.classic.margin import SVMSolution, bias_of, certified
from bayeskern.classic.multiclass import combine, multiclass_svm
from bayeskern.classic.regression import SVRSolution, certified_tube, tube_optimum
from bayeskern.classic.support import check_definite, dual_optimum, read_bias
from bayeskern.estimators.calibration import METHODS, calibrate, held_out_scores

_NO_TARGET = object()


class _KernelMachine(BaseEstimator):
    """Inputs, kernel and expansion, which classifier and regressor share."""

    kernel: Any
    cache_mb: float

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _read(self, X: Any, y: Any = _NO_TARGET, *, reset: bool) -> Any:
        """Check the inputs: numbers as scikit-learn does, other objects as they come."""
        if isinstance(self.kernel, str) and not self._precomputed:
            raise ValueError(f"kernel must be a kernel or 'precomputed', got {self.kernel!r}")
        if self.kernel is not None and not self._precomputed and _holds_objects(X):
            X = list(X)
            if y is _NO_TARGET:
                return X
            if len(X) != len(y):
                raise ValueError(f"y must have one entry per point, got {len(y)} for {len(X)}")
            return X, np.asarray(y)
        if y is _NO_TARGET:
            return validate_data(self, X, reset=reset)
        numeric = isinstance(self, RegressorMixin)
        X, y = validate_data(self, X, y, reset=reset, y_numeric=numeric)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square Gram matrix, got shape {X.shape}")
        return X, y

    def _rows(self, X: Any) -> Rows:
        if self._precomputed:
            K = np.ascontiguousarray(checks.as_gram(X, "X"))
            check_definite(K)
            self.kernel_ = None
            return Rows(K)
        if self.kernel is None:
            from bayeskern.kernels import RBF

            spread = float(X.var()) * X.shape[1]
            self.kernel_ = RBF(float(np.sqrt(0.5 * spread)) if spread > 0 else 1.0)
        else:
            self.kernel_ = self.kernel
        return Rows(kernel=self.kernel_, X=X, cache_mb=checks.positive(self.cache_mb, "cache_mb"))

    def _keep(self, X: Any, coefficients: np.ndarray, bias: Any) -> None:
        """Store the support vectors and their weights, one row of ``dual_coef_`` per machine."""
        used = coefficients != 0
        self.support_ = np.flatnonzero(used if used.ndim == 1 else used.any(axis=1))
        self.dual_coef_ = np.atleast_2d(coefficients[self.support_].T)
        self.intercept_ = np.atleast_1d(np.asarray(bias, dtype=float))
        if not self._precomputed:
            take = isinstance(X, np.ndarray)
            self.support_vectors_ = X[self.support_] if take else [X[i] for i in self.support_]

    def _expand(self, X: Any) -> np.ndarray:
        """Return the outputs of all machines, one column each."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        if not len(self.support_):
            return np.tile(self.intercept_, (len(X), 1))
        if self._precomputed:
            values = X[:, self.support_] @ self.dual_coef_.T
        elif len(self.dual_coef_) == 1:
            values = expand(self.kernel_, X, self.support_vectors_, self.dual_coef_[0])[:, None]
        else:
            values = expand(self.kernel_, X, self.support_vectors_, self.dual_coef_.T)
        return values + self.intercept_


class SVMClassifier(ClassifierMixin, _KernelMachine):
    r"""Support vector classification.

    .. math:: \min_{w, b}\ \tfrac12\|w\|^2 + C\sum_i \max(1 - y_i f(x_i), 0)^p

    Parameters
    ----------
    kernel : kernel, "precomputed" or None
        Any callable ``kernel(X, Z)``; None is an RBF kernel whose squared length scale is half the
        total variance of the inputs. With a kernel on strings, ``X`` is a list of them.
    C : float, default=1.0
        Weight of the summed loss.
    loss : {"linear", "quadratic"}
        Power of the slacks.
    bias : {"ordinary", "none"} or float
        A number c penalises the bias by :math:`b^2/2c`.
    class_weight : dict, "balanced" or None
        Factors of ``C`` by class.
    multiclass : {"one-vs-one", "one-vs-rest", "dag", "all-together"}
        What to do with more than two classes.
    probability : {"platt", "isotonic"} or None
        How to make probabilities; they cost five more fits, and always agree with ``predict``.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_iter : int
        Limit on two-variable steps.
    cache_mb : float, default=40
        Memory for kernel rows in megabytes; fits of any size stay within it.
    random_state : int, optional
        Of the folds for the probabilities.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, n_iter_, converged_
    kernel_ : kernel
        The kernel in use.

    Notes
    -----
    The solver is compiled. The first fit in a process loads it from disk, about half a second;
    after that a fit is several times faster than scikit-learn's. For a single fit of fewer than
    about 5000 points in a fresh process scikit-learn is the faster one. The fit works in single
    precision on Gaussian kernels; `solution_` proves its answer in double precision.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 2.0]]
    >>> SVMClassifier().fit(X, ["low", "low", "high", "high"]).predict([[0.5, 0.5]])
    array(['low'], dtype='<U4')
    """

    def __init__(
        self, kernel=None, C=1.0, *, loss="linear", bias="ordinary", class_weight=None,
        multiclass="one-vs-one", probability=None, tol=1e-3, max_iter=MAX_ITER,
        cache_mb=CACHE_MB, random_state=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.bias = bias
        self.class_weight = class_weight
        self.multiclass = multiclass
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.cache_mb = cache_mb
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and labels of two or more classes."""
        X, y = self._read(X, y, reset=True)
        check_classification_targets(y)
        self.classes_, label = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes, got one class only: {self.classes_[0]!r}"
            )
        checks.one_of(self.loss, "loss", ("linear", "quadratic"))
        rows = self._rows(X)
        if len(self.classes_) == 2:
            self._fit_two(rows, X, label)
        else:
            self._fit_many(rows, X, label)
        if self.probability is not None:
            checks.one_of(self.probability, "probability", METHODS)
            plain = clone(self).set_params(probability=None)
            scores = held_out_scores(plain, X, y, random_state=self.random_state)
            self.calibration_ = calibrate(scores, label, self.probability)
        return self

    def _fit_two(self, rows: Rows, X: Any, label: np.ndarray) -> None:
        signs = np.where(label == 1, 1.0, -1.0)
        const, ordinary = read_bias(self.bias)
        penalty = checks.positive(self.C, "C") * self._weights(label)
        tol = checks.positive(self.tol, "tol")
        optimum = dual_optimum(
            rows, signs, penalty, self.loss, const, ordinary, None, tol, self.max_iter
        )
        quadratic = self.loss == "quadratic"
        upper = np.full(len(signs), np.inf) if quadratic else penalty
        total = float(optimum.beta.sum())
        residuals = optimum.gradient + const * total
        bias, _ = bias_of(residuals, signs, optimum.beta, upper, ordinary, const)
        self._keep(X, optimum.beta, bias)
        self.n_iter_, self.converged_ = optimum.n_iter, optimum.converged
        self._problem = (rows.K if self._precomputed else X, signs, penalty)

    def _fit_many(self, rows: Rows, X: Any, label: np.ndarray) -> None:
        settings: dict[str, Any] = {"bias": self.bias, "tol": self.tol, "max_iter": self.max_iter}
        settings["sample_weight"] = self._weights(label)
        if self.multiclass != "all-together":
            settings["loss"] = self.loss
        elif self.bias == "ordinary":
            settings["bias"] = 1.0  # the joint problem has no ordinary bias, as in LinearSVC
        if self.multiclass == "all-together" and rows.K is None:
            rows = Rows(self.kernel_(X))  # type: ignore[misc]
        solution = multiclass_svm(
            rows, label, checks.positive(self.C, "C"), scheme=self.multiclass, **settings
        )
        self._keep(X, solution.coefficients, solution.bias)
        self.n_iter_ = max([m.n_iter for m in solution.machines], default=1)
        self.converged_ = solution.converged
        self.machines_ = solution

    def _weights(self, label: np.ndarray) -> np.ndarray:
        k = len(self.classes_)
        if isinstance(self.class_weight, str):
            checks.one_of(self.class_weight, "class_weight", ("balanced",))
            return (len(label) / (k * np.bincount(label)))[label]
        weights = np.ones(k)
        for name, weight in (self.class_weight or {}).items():
            place = np.flatnonzero(self.classes_ == name)
            if not len(place):
                raise ValueError(f"class_weight must name labels that occur, got {name!r}")
            weights[place[0]] = checks.positive(weight, f"class_weight[{name!r}]")
        return weights[label]

    @property
    def solution_(self) -> SVMSolution:
        """The binary machine with its certificate, computed afresh in double precision."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise AttributeError("solution_ is for two classes; machines_ has those of several")
        data, signs, penalty = self._problem
        beta = np.zeros(len(signs))
        beta[self.support_] = self.dual_coef_[0]
        const, ordinary = read_bias(self.bias)
        outputs = np.asarray(data) @ beta if self._precomputed else self._outputs(data)
        quadratic = self.loss == "quadratic"
        return certified(
            signs, beta, outputs, np.full(len(signs), np.inf) if quadratic else penalty,
            n_iter=self.n_iter_, converged=self.converged_, ordinary=ordinary, const=const,
            penalty=penalty if quadratic else None,
        )  # fmt: skip

    def _outputs(self, X: Any) -> np.ndarray:
        if not len(self.support_):
            return np.zeros(len(X))
        return expand(self.kernel_, X, self.support_vectors_, self.dual_coef_[0])

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x), positive for the second class; or one score per class."""
        values = self._expand(X)
        if len(self.classes_) == 2:
            return values[:, 0]
        return combine(values, len(self.classes_), self.multiclass)

    def predict(self, X: Any) -> np.ndarray:
        """Return a label for each point; a tie of two classes goes to the second."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    @available_if(lambda self: self.probability is not None)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities, calibrated on points left out; they agree with predict."""
        check_is_fitted(self)
        return self.calibration_(self.decision_function(X))

    @available_if(lambda self: self.probability is not None)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the class probabilities."""
        return np.log(self.predict_proba(X))

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """Return what a bound on the risk of this machine needs, measured on the sample (X, y)."""
        if len(self.classes_) > 2:
            raise ValueError(f"the bounds are for two classes, got {len(self.classes_)}")
        scores = self.decision_function(X)
        signs = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        if self._precomputed:
            diagonal = np.diagonal(np.asarray(X, dtype=float))
        else:
            diagonal = Rows(kernel=self.kernel_, X=self._read(X, reset=False)).diagonal
        const, _ = read_bias(self.bias)
        plain = self.loss == "linear" and self.class_weight is None
        return {
            "kind": "svm",
            "margins": signs * scores,
            "norm": self.solution_.norm,
            "radius": float(np.sqrt(diagonal.max() + const)),
            "n_support": len(self.support_),
            "support": self.support_,
            "C": float(self.C) if plain else None,  # stability is of the plain hinge loss
            "offset": self.bias == "ordinary",
            "kernel_trace": float(diagonal.sum() + const * len(diagonal)),
            "prior_depends_on_data": self.kernel is None or self.class_weight == "balanced",
        }


class SVMRegressor(RegressorMixin, _KernelMachine):
    r"""Support vector regression with the :math:`\varepsilon`-insensitive loss.

    Parameters
    ----------
    kernel, C, bias, tol, max_iter, cache_mb
        As for `SVMClassifier`.
    epsilon : float, default=0.1
        Half the width of the tube, in units of the target.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_iter_, converged_, kernel_

    Examples
    --------
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> fit = SVMRegressor(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(fit.predict(X) - np.sin(X[:, 0])).max() < 0.2)
    True
    """

    def __init__(
        self, kernel=None, C=1.0, *, epsilon=0.1, bias="ordinary", tol=1e-3, max_iter=MAX_ITER,
        cache_mb=CACHE_MB,
    ):  # fmt: skip
        self.kernel = kernel
        self.C = C
        self.epsilon = epsilon
        self.bias = bias
        self.tol = tol
        self.max_iter = max_iter
        self.cache_mb = cache_mb

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from inputs and real targets."""
        X, y = self._read(X, y, reset=True)
        y = checks.as_targets(y)
        rows = self._rows(X)
        const, ordinary = read_bias(self.bias)
        C, eps = checks.positive(self.C, "C"), checks.positive(self.epsilon, "epsilon", zero=True)
        tol = checks.positive(self.tol, "tol")
        optimum = tube_optimum(rows, y, C, eps, const, ordinary, tol, self.max_iter)
        fit = certified_tube(rows, y, C, eps, const, ordinary, optimum.beta, optimum)
        self._keep(X, fit.coefficients, fit.bias)
        self.n_iter_, self.converged_ = optimum.n_iter, optimum.converged
        self.solution_: SVRSolution = fit
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x)."""
        return self._expand(X)[:, 0]


def _holds_objects(X: Any) -> bool:
    """Whether the inputs are strings or other objects that are not rows of numbers."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OUS"
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | bytes)
