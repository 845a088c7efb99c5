"""Relevance vector machines with scikit-learn's manners."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.checks import positive
from bayeskern.infer.sparse_bayes import SparseInference
from bayeskern.infer.sparse_fit import SparseFit, sparse_tree
from bayeskern.infer.sparse_sequential import SparseSequential
from bayeskern.kernels.stationary import RBF
from bayeskern.likelihoods import Gaussian, Logit
from bayeskern.priors import Prior

CHUNK = 2_000_000  # entries of a block of new columns


class Relevance(NamedTuple):
    """The training points that carry the function.

    Attributes
    ----------
    indices : ndarray of int
        Rows of the training inputs (columns, for a basis of features).
    inputs : ndarray
        Those rows (for a basis of features, None).
    weights, sd : ndarray
        Posterior means of their weights, and error bars.
    theta : ndarray
        Prior variances of their weights.
    """

    indices: np.ndarray
    inputs: np.ndarray | None
    weights: np.ndarray
    sd: np.ndarray
    theta: np.ndarray


class _Machine:
    """One fitted relevance vector machine: predictions of the latent function."""

    def __init__(self, problem: RelevanceVector, method: Any, random_seed: Any):
        self.problem, self.method, self.random_seed = problem, method, random_seed
        self.tree: Any = None
        self.fit: SparseFit | None = None
        if isinstance(method, SparseInference):
            self.fit = method.fit(problem, random_seed=random_seed)
            self.w, self.hyper = None, [self.fit.hyper]
            self._remember(self.fit)
            return
        self.tree = method.run(problem, random_seed=random_seed)
        draws = self.tree["posterior"].dataset.transpose("chain", "draw", ...)
        posterior = {name: values.values for name, values in draws.items()}
        if "w" not in posterior:
            posterior = problem.complete(posterior, np.random.default_rng(random_seed))
        flat = {name: v.reshape(-1, *v.shape[2:]) for name, v in posterior.items()}
        self.w = flat["w"]
        others = problem.free().keys() - {"theta"}
        self.hyper = [{name: flat[name][i] for name in others} for i in range(len(self.w))]
        self.theta = flat["theta"].mean(axis=0) if "theta" in flat else self.problem.variances({})

    def _remember(self, fit: SparseFit) -> None:
        """Keep what a basis function at a query point will need."""
        problem = self.problem
        likelihood: Any = problem.likelihood_at(fit.hyper)
        self.Phi = problem.columns(fit.relevance, theta=fit.hyper)
        f = self.Phi @ fit.weights
        self.slope, self.W = likelihood.slope(problem.y, f), likelihood.curvature(problem.y, f)
        self.signal = float(np.mean(f**2))

    def data_tree(self) -> Any:
        if self.tree is None:
            assert self.fit is not None
            method, seed = self.method, self.random_seed
            self.tree = sparse_tree(self.problem, method, self.fit, method.draws, seed)
        return self.tree

    def noise_variance(self) -> float:
        """Mean noise variance."""
        levels = [self.problem.likelihood_at(h).sigma for h in self.hyper]  # type: ignore[attr-defined]
        return float(np.mean(np.square(levels)))

    def latent(self, X: np.ndarray, query: bool | float = False) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the function."""
        if self.fit is None:
            f = self.draws(X)
            return f.mean(axis=0), f.var(axis=0)
        mean, var = self.fit.latent(self.problem, X)
        return (mean, var) if query is False else self._at_query(X, mean, var, query)

    def draws(self, X: np.ndarray) -> np.ndarray:
        """Draws of the function, one row each."""
        assert self.w is not None
        if not self.problem._kernel_free():
            return self.w @ self.problem.columns(X_new=X).T
        pairs = zip(self.w, self.hyper, strict=True)
        return np.stack([self.problem.columns(X_new=X, theta=h) @ w for w, h in pairs])

    def log_odds(self, X: np.ndarray, query: bool | float) -> np.ndarray:
        """Log odds of +1 after averaging over the posterior."""
        likelihood = self.problem.likelihood
        if self.fit is None:
            f = self.draws(X)
            logs = [logsumexp(likelihood.logp(y, f), axis=0) for y in (1.0, -1.0)]
        else:
            mean, var = self.latent(X, query)
            logs = [likelihood.tilted(np.full(len(X), y), mean, var)[0] for y in (1.0, -1.0)]
        return logs[0] - logs[1]

    def _at_query(
        self, X: np.ndarray, mean: np.ndarray, var: np.ndarray, query: bool | float
    ) -> tuple[np.ndarray, np.ndarray]:
        fit = self.fit
        assert fit is not None
        kernel = self.problem.kernel_at(fit.hyper)
        if kernel is None:
            raise ValueError("query_basis needs a kernel, got a basis of features")
        mean, var = mean.copy(), var.copy()
        size = max(CHUNK // len(self.problem.y), 1)
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            new = X[part]
            here = np.array([kernel(x[None], x[None].copy())[0, 0] for x in new])
            columns = kernel(self.problem.X, new)
            WH = self.W[:, None] * columns
            cross = self.Phi.T @ WH
            solved = fit.cov @ cross
            S = np.einsum("ij,ij->j", columns, WH) - np.einsum("ij,ij->j", cross, solved)
            Q = columns.T @ self.slope
            phi = self.problem.columns(fit.relevance, new, fit.hyper)
            e = here - np.einsum("ij,ji->i", phi, solved)
            with np.errstate(divide="ignore"):
                theta = self.signal / here**2 if query is True else np.full(len(new), float(query))
                share = np.where(theta > 0, 1 / (1 / theta + np.maximum(S, 0.0)), 0.0)
            mean[part] += share * e * Q
            var[part] += share * e**2
        return mean, var

    def relevance(self) -> Relevance:
        problem = self.problem
        if self.fit is not None:
            index, weights, theta = self.fit.relevance, self.fit.weights, self.fit.theta
            sd = np.sqrt(self.fit.cov.diagonal())
        else:
            assert self.w is not None
            index, theta = np.arange(problem.n_basis), self.theta
            weights, sd = self.w.mean(axis=0), self.w.std(axis=0)
        body = index >= problem.bias
        rows = index[body] - problem.bias
        inputs = None if problem.kernel is None else problem.X[rows]
        return Relevance(rows, inputs, weights[body], sd[body], theta[body])

    def intercept(self) -> float:
        if not self.problem.bias:
            return 0.0
        if self.fit is None:
            assert self.w is not None
            return float(self.w[:, 0].mean())
        return float(self.fit.weights[self.fit.relevance == 0].sum())


class _RVM(BaseEstimator):
    """What both relevance vector machines share."""

    kernel: Any
    inference: Any
    bias: bool
    query_basis: bool | float
    random_state: Any

    def _make(self, X: np.ndarray, y: np.ndarray, likelihood: Any) -> _Machine:
        if self.query_basis is not True and self.query_basis is not False:
            positive(self.query_basis, "query_basis")
        kernel = self.kernel
        if kernel is None:
            spread = float(X.var())
            kernel = RBF(float(np.sqrt(X.shape[1] * spread / 2)) if spread > 0 else 1.0)
        elif isinstance(kernel, str):
            if kernel != "features":
                raise ValueError(
                    f"kernel must be a Kernel, a function, None or 'features', got {kernel!r}"
                )
            kernel = None
        method = SparseSequential() if self.inference is None else self.inference
        problem = RelevanceVector(X, y, kernel, likelihood, bias=self.bias)
        if self.query_basis is not False and not isinstance(method, SparseInference):
            raise ValueError(
                f"query_basis needs SparseSequential or SparseBayes, got {self.inference!r}"
            )
        return _Machine(problem, method, _seed(self.random_state))

    @property
    def problem_(self) -> Any:
        """The posterior that was treated; for several classes, a list."""
        check_is_fitted(self)
        return self._single([m.problem for m in self._machines])

    @property
    def model_(self) -> Any:
        """The posterior as a PyMC model; for several classes, a list."""
        check_is_fitted(self)
        return self._single([m.problem.model for m in self._machines])

    @property
    def idata_(self) -> Any:
        """The result as a DataTree; for several classes, a list."""
        check_is_fitted(self)
        return self._single([m.data_tree() for m in self._machines])

    @staticmethod
    def _single(values: list) -> Any:
        return values[0] if len(values) == 1 else values

    def _report(self, machines: list[_Machine]) -> None:
        self._machines = machines
        self.relevance_ = self._single([m.relevance() for m in machines])
        self.intercept_ = self._single([m.intercept() for m in machines])
        if all(m.fit is not None for m in machines):
            fits = [m.fit for m in machines if m.fit is not None]
            self.log_evidence_ = self._single([fit.log_evidence for fit in fits])
            self.evidence_trace_ = self._single([fit.trace for fit in fits])
            self.n_iter_ = max(len(fit.trace) for fit in fits)
        else:
            self.log_evidence_ = self._single([m.tree.attrs.get("log_evidence") for m in machines])

    def certificate_inputs(self, X: Any, y: Any) -> dict[str, Any]:
        """What generalisation bounds ask of this model on the sample ``(X, y)``.

        Returns
        -------
        dict
            ``kind``, ``margins`` (classifiers: the latent function times the label, or over the
            best other class; regressors: None), ``n_support`` (basis functions kept),
            ``log_evidence`` and ``prior_depends_on_data``: evidence maximisation sets the prior
            from the sample, and so do basis functions at the training inputs.
        """
        check_is_fitted(self)
        kept = {i for m in self._machines for i in m.relevance().indices.tolist()}
        sparse = any(m.fit is not None for m in self._machines)
        return {
            "kind": "rvm",
            "margins": self._margins(X, y),
            "n_support": len(kept),
            "log_evidence": self.log_evidence_,
            "prior_depends_on_data": sparse or self.kernel != "features",
        }

    def _margins(self, X: Any, y: Any) -> np.ndarray | None:
        return None


class RVMRegressor(RegressorMixin, _RVM):
    r"""Relevance vector regression.

    .. math:: y = \sum_i w_i k(x, x_i) + w_0 + \varepsilon, \qquad w_i \sim N(0, \theta_i),

    with the variances and the noise where the evidence is largest; most weights then are zero.

    The predictive variance is :math:`\sigma^2 + \phi(x)' \Sigma \phi(x)`. With localised basis
    functions it *shrinks* to the noise away from the relevance vectors, where nothing is known:
    the model has no function left to be unsure about. ``query_basis`` repairs this by adding a
    basis function at each query point (Rasmussen and Quiñonero-Candela 2005, Healing the relevance
    vector machine through augmentation), at the cost of one kernel value per training and query
    point.

    Parameters
    ----------
    kernel : Kernel, callable, "features" or None
        Basis functions at the training points, by a `Kernel` (its `Prior` parameters are chosen
        by evidence) or any function ``k(X, Z)``; the columns of ``X`` themselves; by default an
        `RBF` whose squared length scale is half the number of features times their variance.
    inference : Inference, optional
        `SparseSequential` by default; `SparseBayes`, `NUTS` and others that treat a
        `RelevanceVector`.
    bias : bool, default=True
        Have a constant basis function.
    sigma : float or Prior, optional
        Noise level; chosen by evidence by default.
    query_basis : bool or float, default=False
        Add a basis function at each query point; a number is the prior variance of its weight,
        and True makes the prior standard deviation of the function there the root mean square of
        the fitted function.
    random_state : int, RandomState or None
        Seed of the choice of candidates and of draws.

    Attributes
    ----------
    relevance_ : Relevance
        Indices, inputs, weights, error bars and prior variances of the relevance vectors.
    intercept_ : float
        Weight of the constant.
    log_evidence_ : float
        Log evidence at the hyperparameters chosen.
    evidence_trace_ : ndarray
        Log evidence after each step.
    sigma_ : float
        Noise level.
    idata_, problem_, model_
        The result as a DataTree, what was treated, and the same as a PyMC model.

    Examples
    --------
    >>> import bayeskern as bk
    >>> data = bk.datasets.sinc(100)
    >>> rvm = RVMRegressor(bk.RBF(2.0)).fit(data.X, data.y)
    >>> len(rvm.relevance_.indices) < 12
    True
    """

    def __init__(
        self,
        kernel=None,
        *,
        inference=None,
        bias=True,
        sigma=None,
        query_basis=False,
        random_state=None,
    ):
        self.kernel = kernel
        self.inference = inference
        self.bias = bias
        self.sigma = sigma
        self.query_basis = query_basis
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "RVMRegressor":
        """Choose the relevance vectors."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=float)
        y = y.astype(float, copy=False)
        sigma = self.sigma
        if sigma is None:
            # a scale for samplers; evidence maximisation does not look at it
            sigma = Prior("HalfCauchy", beta=float(y.std()) or 1.0)
        machine = self._make(X, y, Gaussian(sigma))
        self._report([machine])
        self.sigma_ = float(np.sqrt(machine.noise_variance()))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the mean of the target, and its standard deviation with the noise.

        See the class on the standard deviation far from the data.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        mean, var = self._machines[0].latent(X, self.query_basis)
        return (mean, np.sqrt(var + self.sigma_**2)) if return_std else mean


class RVMClassifier(ClassifierMixin, _RVM):
    r"""Relevance vector classification, by Laplace's approximation.

    .. math:: p(y | x) = p(y | f(x)), \qquad f(x) = \sum_i w_i k(x, x_i) + w_0, \qquad
              w_i \sim N(0, \theta_i) .

    Class probabilities are averaged over the posterior of the weights. Three or more classes are
    treated one against the rest, and their probabilities divided by their sum.

    Parameters
    ----------
    kernel, inference, bias, query_basis, random_state
        As in `RVMRegressor`.
    likelihood : Likelihood, optional
        `Logit` by default; `Probit` is another.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    relevance_, intercept_, log_evidence_, evidence_trace_, idata_, problem_, model_
        As in `RVMRegressor`; lists with an entry per class if there are three or more.

    Examples
    --------
    >>> import bayeskern as bk
    >>> data = bk.datasets.ripley(250)
    >>> rvm = RVMClassifier(bk.RBF(0.5)).fit(data.X, data.y)
    >>> bool(rvm.score(data.X, data.y) > 0.85), len(rvm.relevance_.indices) < 10
    (True, True)
    """

    def __init__(
        self,
        kernel=None,
        *,
        inference=None,
        likelihood=None,
        bias=True,
        query_basis=False,
        random_state=None,
    ):
        self.kernel = kernel
        self.inference = inference
        self.likelihood = likelihood
        self.bias = bias
        self.query_basis = query_basis
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "RVMClassifier":
        """Choose the relevance vectors."""
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        self.classes_, which = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must hold at least two classes, got 1 class: {self.classes_.tolist()}"
            )
        likelihood = Logit() if self.likelihood is None else self.likelihood
        positive_classes = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        signs = [np.where(which == k, 1.0, -1.0) for k in positive_classes]
        self._report([self._make(X, sign, likelihood) for sign in signs])
        return self

    def _machines_at(self, X: Any, question: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=float)
        return np.stack([question(m, X) for m in self._machines], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of the averaged probabilities, ``(n,)``, or against the rest, ``(n, classes)``.

        They shrink towards 0 where the latent function is uncertain; its posterior mean is not
        ordered in the same way.
        """
        odds = self._machines_at(X, lambda m, X: m.log_odds(X, self.query_basis))
        return odds[:, 0] if odds.shape[1] == 1 else odds

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, averaged over the posterior of the weights."""
        chance = expit(self.decision_function(X))
        if chance.ndim == 1:
            return np.column_stack([1 - chance, chance])
        chance = np.maximum(chance, np.finfo(float).tiny)
        return chance / chance.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        odds = self.decision_function(X)
        return self.classes_[(odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)]

    def _margins(self, X: Any, y: Any) -> np.ndarray:
        scores = self._machines_at(X, lambda m, X: m.latent(X, self.query_basis)[0])
        which = np.searchsorted(self.classes_, y)
        if scores.shape[1] == 1:
            return np.where(which == 1, scores[:, 0], -scores[:, 0])
        own = scores[np.arange(len(scores)), which]
        scores = scores.copy()
        scores[np.arange(len(scores)), which] = -np.inf
        return own - scores.max(axis=1)


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state
