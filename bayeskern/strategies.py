r"""Three ways to decide with a posterior: its most probable member, its vote, or a draw from it.

They work on the fitted two-class estimators `GPClassifier`, `BayesPointClassifier`,
`RVMClassifier` and `BayesFisherClassifier`, whatever method fitted them. The Bayes strategy errs at
most twice as often as the Gibbs strategy: where it errs, at least half of the posterior does
(Herbrich 2002, lemma 5.3).
"""

from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from bayeskern.bayes.bayespoint import BayesPoint
from bayeskern.bayes.fisher import BayesFisher
from bayeskern.estimators.fisher import BayesFisherClassifier
from bayeskern.estimators.rvm import RVMClassifier
from bayeskern.infer.laplace import Laplace
from bayeskern.infer.strategies import decide, predict_latent


def vote(fit: Any, X: Any) -> np.ndarray:
    r"""Return the posterior probability that a member says the second class, :math:`P(f(x) > 0)`.

    This is the vote of classifiers, not the probability of a label, which has noise too.

    Parameters
    ----------
    fit : estimator
        Fitted, of two classes.
    X : inputs
        As for its ``predict``.

    Examples
    --------
    >>> import bayeskern as bk
    >>> fit = bk.GPClassifier(bk.RBF(), inference=bk.Laplace()).fit([[0.0], [1.0]], ["a", "b"])
    >>> vote(fit, [[0.5]]).round(3), bayes(fit, [[0.0], [1.0]]).tolist()
    (array([0.5]), ['a', 'b'])
    """
    _check(fit)
    if isinstance(fit, BayesFisherClassifier):
        return (_log_odds(fit.problem_, fit.draws(), fit.features(X)) >= 0).mean(axis=0)
    means, variances = _latent(fit, X)
    return ndtr(means / np.sqrt(np.maximum(variances, 1e-300))).mean(axis=0)


def bayes(fit: Any, X: Any) -> np.ndarray:
    """Classify by the majority of the posterior; a tie goes to the second class.

    Parameters
    ----------
    fit, X
        As for `vote`.
    """
    return _labels(fit, vote(fit, X) >= 0.5)


def gibbs(fit: Any, X: Any, rng: np.random.Generator | None = None) -> np.ndarray:
    """Classify every input by a member drawn anew from the posterior.

    Parameters
    ----------
    fit, X
        As for `vote`.
    rng : Generator, optional
        Source of the draws.
    """
    p = vote(fit, X)
    rng = rng or np.random.default_rng()
    return _labels(fit, rng.random(len(p)) < p)


def map(fit: Any, X: Any) -> np.ndarray:
    """Classify by the most probable member of the posterior.

    For a Gaussian process that is the mode of the function at the hyperparameters of the fit (their
    posterior means, if they were sampled); for a Bayes point machine, whose posterior is flat, the
    draw of largest margin; for the Bayesian discriminant the mode of means, covariance and class
    probability.

    Parameters
    ----------
    fit, X
        As for `vote`.
    """
    _check(fit)
    problem = fit.problem_
    if isinstance(fit, BayesFisherClassifier):
        mode = fisher_mode(problem)
        return _labels(fit, _log_odds(problem, mode, fit.features(X)) >= 0)
    if isinstance(problem, BayesPoint):
        return _labels(fit, decide(problem, fit.idata_, fit._new(X), "map") > 0)
    if isinstance(fit, RVMClassifier):
        if fit._machines[0].fit is None:
            raise ValueError(
                "map needs the mode of the weights, which a chain of them does not have"
            )
        return _labels(fit, _latent(fit, X)[0][0] >= 0)
    theta, new = fit.theta_, fit._new(X)
    state = Laplace().at(problem, theta)
    mean, _ = state.predict(problem.cross_cov(theta, new), problem.prior_var(theta, new))
    return _labels(fit, mean >= 0)


def fisher_mode(problem: BayesFisher) -> dict[str, np.ndarray]:
    r"""Return the mode of the closed-form posterior over ``mu``, ``cov`` and ``p``.

    With c classes to a covariance it is :math:`\Psi / (\nu + d + 1 + c)`, since each mean brings a
    factor :math:`|\Sigma|^{-1/2}`.

    Parameters
    ----------
    problem : BayesFisher
        With a closed form.

    Examples
    --------
    >>> mode = fisher_mode(BayesFisher([[0.0], [2.0]], [-1, 1]))
    >>> mode["mu"].round(3).tolist(), round(float(mode["p"]), 3)
    ([[0.0], [1.818]], 0.5)
    """
    known, d = problem.posterior, problem.X.shape[1]
    scales = [part.Psi / (part.nu + d + 1 + len(part.m)) for part in known.parts]
    a, b = known.plus.a, known.plus.b
    return {
        "mu": np.vstack([part.m for part in known.parts]),
        "cov": scales[0] if problem.shared else np.stack(scales),
        "p": np.array((a - 1) / (a + b - 2)),
    }


def _check(fit: Any) -> None:
    check_is_fitted(fit)
    if len(getattr(fit, "classes_", ())) != 2:
        raise ValueError(f"strategies are for a fitted classifier of two classes, got {fit!r}")
    if not hasattr(fit, "problem_") or not hasattr(fit, "idata_"):
        raise ValueError(f"strategies need a posterior, which {type(fit).__name__} does not have")


def _labels(fit: Any, second: np.ndarray) -> np.ndarray:
    return fit.classes_[second.astype(int)]


def _log_odds(problem: BayesFisher, draws: Any, Z: np.ndarray) -> np.ndarray:
    joint = problem.log_joint(draws, Z)
    return joint[..., 1] - joint[..., 0]


def _latent(fit: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the latent function, a row for each component of the posterior."""
    if isinstance(fit.problem_, BayesPoint):
        known = predict_latent(fit.problem_, fit.idata_, fit._new(X))
        return known.means, known.variances
    if isinstance(fit, RVMClassifier):
        X, machine = np.asarray(X, dtype=float), fit._machines[0]
        if machine.fit is None:
            draws = machine.draws(X)
            return draws, np.zeros(draws.shape)
        mean, var = machine.latent(X, fit.query_basis)
        return mean[None], var[None]
    known = fit.predictive(X)
    return known.means, known.variances
