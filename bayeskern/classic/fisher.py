r"""Fisher's linear discriminant, in primal and in kernel form, and as a least-squares problem.

Both forms model the classes as Gaussians with one covariance, in the space of the features or of
the empirical kernel map :math:`x \mapsto (k(x_1, x), \dots, k(x_n, x))`, so that a solution called
at new points returns log odds.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayeskern.checks import as_gram, as_labels, as_matrix, one_of, positive, within
from bayeskern.classic._classes import one_hot
from bayeskern.classic.result import Solution
from bayeskern.linalg import Factor, cholesky

WEIGHTINGS = ("pooled", "equal")
PRIORS = ("empirical", "equal")


@dataclass(frozen=True, eq=False, kw_only=True)
class FisherSolution(Solution):
    r"""A Fisher discriminant; called with features or kernel rows it returns log odds.

    ``objective`` is minus the squared distance :math:`\Delta' S^{-1} \Delta` of the means (summed
    over pairs of classes, weighted by their priors, if there are more than two), and ``gap`` the
    relative residual of the linear system. With several classes ``coefficients`` and ``bias`` have
    one column each, and outputs are log probabilities up to a common constant.

    Attributes
    ----------
    means : ndarray of shape (classes, p)
        Class means, in the order -1, +1 or 0, 1, 2 and so on.
    within : ndarray of shape (p, p)
        The covariance within classes, regularised if asked for.
    priors : ndarray
        Class probabilities.
    """

    means: np.ndarray
    within: np.ndarray
    priors: np.ndarray


def fisher_discriminant(
    X: Any,
    y: Any,
    *,
    prior: str | float = "empirical",
    weighting: str = "pooled",
    ridge: float = 0.0,
) -> FisherSolution:
    r"""Separate two Gaussian classes that share a covariance.

    .. math:: w = \hat\Sigma^{-1} (\hat\mu_+ - \hat\mu_-) , \qquad
        b = \tfrac12 (\hat\mu_-' \hat\Sigma^{-1} \hat\mu_- - \hat\mu_+' \hat\Sigma^{-1} \hat\mu_+)
        + \log \frac{p}{1 - p} .

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    y : array of shape (n,)
        Labels -1 and +1, both present.
    prior : {"empirical", "equal"} or float, default="empirical"
        The probability of +1: its frequency, one half, or a number.
    weighting : {"pooled", "equal"}, default="pooled"
        Covariance of all deviations from the class means (maximum likelihood), or the mean of the
        two class covariances, whose direction maximises `fisher_criterion`. They agree in
        direction if the classes are of one size or of one covariance.
    ridge : float, default=0.0
        Added to the diagonal of the covariance.

    Returns
    -------
    FisherSolution
        With ``coefficients`` w and ``bias`` b.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the covariance is singular, for example with fewer points than features.

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.5], [3.0, 2.0], [2.5, 0.5]]
    >>> np.sign(fisher_discriminant(X, [-1, -1, 1, 1, 1])(X))
    array([-1., -1.,  1.,  1.,  1.])
    """
    X = as_matrix(X)
    hot = _two_classes(y, len(X))
    scores = _primal_scores(X, hot, _priors(prior, hot), weighting, ridge)
    return _difference(scores)


def fisher_scores(
    X: Any,
    labels: Any,
    *,
    prior: str | Any = "empirical",
    weighting: str = "pooled",
    ridge: float = 0.0,
) -> FisherSolution:
    r"""Separate several Gaussian classes that share a covariance.

    The score of class c is
    :math:`x' \hat\Sigma^{-1} \hat\mu_c - \frac12 \hat\mu_c' \hat\Sigma^{-1} \hat\mu_c + \log p_c`.

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    labels : array of int of shape (n,)
        Classes 0, 1, ..., each with a member.
    prior : {"empirical", "equal"} or array, default="empirical"
        Class probabilities.
    weighting, ridge
        As for `fisher_discriminant`.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.2, 0.0], [3.0, 0.0], [3.2, 0.3], [0.0, 3.0], [0.1, 3.4]]
    >>> fisher_scores(X, [0, 0, 1, 1, 2, 2])(X).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """
    X = as_matrix(X)
    hot = one_hot(labels, len(X))
    return _primal_scores(X, hot, _priors(prior, hot), weighting, ridge)


def kernel_fisher(
    K: Any, y: Any, lam: float, *, prior: str | float = "empirical"
) -> FisherSolution:
    r"""Fisher's discriminant on the empirical kernel map.

    .. math:: S = \tfrac1n K N K + \lambda I , \qquad \alpha = S^{-1} (k_+ - k_-) ,

    with :math:`k_c` the mean of the columns of class c and :math:`N` the projector that subtracts
    class means. With the linear kernel the weights are
    :math:`X' \alpha = (\hat\Sigma + \lambda (X'X)^{-1})^{-1} \hat\Delta`.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix; it need not be positive semidefinite.
    y : array of shape (n,)
        Labels -1 and +1, both present.
    lam : float
        Positive: without it :math:`S` has rank n - 2 at most.
    prior : {"empirical", "equal"} or float, default="empirical"
        The probability of +1.

    Returns
    -------
    FisherSolution
        With expansion coefficients and ``bias``.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.5]])
    >>> np.sign(kernel_fisher(X @ X.T, [-1, -1, 1, 1], 0.1)(X @ X.T))
    array([-1., -1.,  1.,  1.])
    """
    K = as_gram(K)
    hot = _two_classes(y, len(K))
    return _difference(_kernel_scores(K, hot, _priors(prior, hot), lam))


def kernel_fisher_scores(
    K: Any, labels: Any, lam: float, *, prior: str | Any = "empirical"
) -> FisherSolution:
    """Fisher scores of several classes on the empirical kernel map.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric matrix.
    labels : array of int of shape (n,)
        Classes 0, 1, ..., each with a member.
    lam : float
        Positive regularisation.
    prior : {"empirical", "equal"} or array, default="empirical"
        Class probabilities.

    Examples
    --------
    >>> kernel_fisher_scores(np.eye(3), [0, 1, 2], 0.1)(np.eye(3)).argmax(axis=1)
    array([0, 1, 2])
    """
    K = as_gram(K)
    hot = one_hot(labels, len(K))
    return _kernel_scores(K, hot, _priors(prior, hot), lam)


def fisher_criterion(w: Any, X: Any, y: Any) -> float:
    r"""Return :math:`J(w) = (\mu_+(w) - \mu_-(w))^2 / (\sigma_+^2(w) + \sigma_-^2(w))`.

    Means and variances are those of the projections :math:`w' x` in each class.

    Parameters
    ----------
    w : array of shape (p,)
        Direction; its length does not matter.
    X : array of shape (n, p)
        Points.
    y : array of shape (n,)
        Labels -1 and +1, both present.

    Examples
    --------
    >>> fisher_criterion([1.0], [[0.0], [2.0], [5.0], [7.0]], [-1, -1, 1, 1])
    12.5
    """
    X = as_matrix(X)
    hot = _two_classes(y, len(X))
    f = X @ np.asarray(w, dtype=float)
    minus, plus = f[hot[:, 0] == 1], f[hot[:, 1] == 1]
    spread = float(plus.var() + minus.var())
    if spread == 0:
        raise ValueError("the criterion is undefined: w projects each class onto a single point")
    return float((plus.mean() - minus.mean()) ** 2 / spread)


class LeastSquaresFisher(NamedTuple):
    """A regression on class codes: weights, offset, and its weights over Fisher's."""

    coefficients: np.ndarray
    bias: float
    factor: float


def least_squares_fisher(X: Any, y: Any) -> LeastSquaresFisher:
    r"""Regress the codes :math:`t_i = n y_i / n_{y_i}` on the points and a constant.

    The weights are :math:`c \hat\Sigma^{-1} \hat\Delta` with
    :math:`1 / c = 1 + \frac{n_+ n_-}{n^2} \hat\Delta' \hat\Sigma^{-1} \hat\Delta`: Fisher's
    direction. The offset :math:`-\bar x' w` is Fisher's, with equal priors, only for classes of
    one size.

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    y : array of shape (n,)
        Labels -1 and +1, both present.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0], [5.0], [7.0]])
    >>> fit = least_squares_fisher(X, [-1, -1, 1, 1])
    >>> fisher = fisher_discriminant(X, [-1, -1, 1, 1])
    >>> bool(np.isclose(fit.coefficients[0], fit.factor * fisher.coefficients[0]))
    True
    """
    X = as_matrix(X)
    hot = _two_classes(y, len(X))
    mean = X.mean(axis=0)
    w, _, rank, _ = np.linalg.lstsq(X - mean, fisher_codes(y), rcond=None)
    if rank < X.shape[1]:
        raise np.linalg.LinAlgError(_singular(X))
    n = len(X)
    minus, plus = hot.sum(axis=0)
    distance = -fisher_discriminant(X, y).objective
    return LeastSquaresFisher(w, -float(mean @ w), 1 / (1 + plus * minus / n**2 * distance))


def kernel_fisher_by_ridge(K: Any, y: Any, lam: float) -> LeastSquaresFisher:
    r"""Solve :math:`(K H K + n \lambda I) \alpha = K H t` for class codes, ``H`` centring.

    The solution is `kernel_fisher`'s times ``factor``: ridge regression on the empirical kernel map
    with a free offset, so that the evidence of that regression can choose ``lam``.

    Parameters
    ----------
    K, y, lam
        As for `kernel_fisher`.

    Examples
    --------
    >>> fit = kernel_fisher_by_ridge(np.eye(3), [-1, 1, 1], 0.5)
    >>> fisher = kernel_fisher(np.eye(3), [-1, 1, 1], 0.5)
    >>> bool(np.allclose(fit.coefficients, fit.factor * fisher.coefficients))
    True
    """
    K = as_gram(K)
    n = len(K)
    hot = _two_classes(y, n)
    centred, t = K - K.mean(axis=0), fisher_codes(y)
    S = centred.T @ centred + n * positive(lam, "lam") * np.eye(n)
    alpha = cholesky(S).solve(centred.T @ t)
    minus, plus = hot.sum(axis=0)
    distance = -kernel_fisher(K, y, lam).objective
    bias = -float(K.mean(axis=0) @ alpha)
    return LeastSquaresFisher(alpha, bias, 1 / (1 + plus * minus / n**2 * distance))


def fisher_codes(y: Any) -> np.ndarray:
    """Return the regression targets ``n * y_i / n_{y_i}`` that make least squares find Fisher's w.

    >>> fisher_codes([1, -1, -1])
    array([ 3. , -1.5, -1.5])
    """
    y = as_labels(y)
    hot = _two_classes(y, len(y))
    return len(y) * y / (hot @ hot.sum(axis=0))


def _two_classes(y: Any, n: int) -> np.ndarray:
    y = as_labels(y, n)
    if (y == y[0]).all():
        raise ValueError(f"y must hold both classes, got {y[0]:+g} only")
    return np.column_stack([y < 0, y > 0]).astype(float)


def _priors(prior: Any, hot: np.ndarray) -> np.ndarray:
    k = hot.shape[1]
    if isinstance(prior, str):
        one_of(prior, "prior", PRIORS)
        return hot.mean(axis=0) if prior == "empirical" else np.full(k, 1 / k)
    if np.ndim(prior) == 0 and k == 2:
        p = within(prior, "prior", 0, 1, closed="neither")
        return np.array([1 - p, p])
    priors = np.asarray(prior, dtype=float)
    if priors.shape != (k,) or (priors <= 0).any() or abs(priors.sum() - 1) > 1e-8:
        raise ValueError(f"prior must hold {k} positive numbers that sum to 1, got {prior!r}")
    return priors


def _primal_scores(
    X: np.ndarray, hot: np.ndarray, priors: np.ndarray, weighting: str, ridge: float
) -> FisherSolution:
    one_of(weighting, "weighting", WEIGHTINGS)
    counts = hot.sum(axis=0)
    means = hot.T @ X / counts[:, None]
    deviations = X - hot @ means  # centred first: the difference of second moments cancels
    if weighting == "equal":
        deviations = deviations * np.sqrt(len(X) / (len(counts) * (hot @ counts)))[:, None]
    S = deviations.T @ deviations / len(X) + positive(ridge, "ridge", zero=True) * np.eye(
        X.shape[1]
    )
    scale = np.sqrt(S.diagonal())
    if (scale == 0).any():
        raise np.linalg.LinAlgError(_singular(X))
    spectrum = np.linalg.eigvalsh(S / np.outer(scale, scale))
    if spectrum[0] < 1e-12 * spectrum[-1]:
        raise np.linalg.LinAlgError(_singular(X))
    return _scores(means, S, cholesky(S, jitters=(0.0,)), priors)


def _kernel_scores(
    K: np.ndarray, hot: np.ndarray, priors: np.ndarray, lam: float
) -> FisherSolution:
    means = hot.T @ K / hot.sum(axis=0)[:, None]
    deviations = K - hot @ means
    S = deviations.T @ deviations / len(K) + positive(lam, "lam") * np.eye(len(K))
    return _scores(means, S, cholesky(S), priors)


def _scores(means: np.ndarray, S: np.ndarray, factor: Factor, priors: np.ndarray) -> FisherSolution:
    W = factor.solve(means.T)
    mean = priors @ means
    distance = float(priors @ ((means - mean) @ factor.solve((means - mean).T)).diagonal())
    residual = np.linalg.norm(S @ W - means.T) / max(np.linalg.norm(means), np.finfo(float).tiny)
    return FisherSolution(
        W,
        objective=-distance,
        gap=float(residual),
        n_iter=1,
        converged=bool(residual < 1e-6),
        bias=np.log(priors) - (means * W.T).sum(axis=1) / 2,
        means=means,
        within=S,
        priors=priors,
    )


def _difference(scores: FisherSolution) -> FisherSolution:
    w = scores.coefficients[:, 1] - scores.coefficients[:, 0]
    delta = scores.means[1] - scores.means[0]
    return FisherSolution(
        w,
        objective=-float(delta @ w),
        gap=scores.gap,
        n_iter=1,
        converged=scores.converged,
        bias=float(scores.bias[1] - scores.bias[0]),  # type: ignore[index]
        means=scores.means,
        within=scores.within,
        priors=scores.priors,
    )


def _singular(X: np.ndarray) -> str:
    return (
        f"the covariance of {len(X)} points of {X.shape[1]} features is singular within classes;"
        " drop constant or collinear features, give a ridge, or use the kernel form"
    )
