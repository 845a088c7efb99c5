import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from bayeskern.classic.fisher import (
    fisher_criterion,
    fisher_discriminant,
    fisher_scores,
    kernel_fisher,
    kernel_fisher_by_ridge,
    kernel_fisher_scores,
    least_squares_fisher,
)

PLUS = [(1.33, 1.07), (1.84, 1.30), (0.66, 1.56), (2.50, 2.15), (0.50, -0.07)]
MINUS = [(-0.62, 0.04), (-2.33, -0.22), (-1.25, -0.73), (-0.54, -0.32), (0.41, 1.04),
         (-0.13, 1.37), (-0.67, 0.35)]  # fmt: skip
D6 = np.array(PLUS + MINUS)
Y6 = np.array([1] * 5 + [-1] * 7)


def random_classes(seed, n=40, p=3, k=3):
    rng = np.random.default_rng(seed)
    labels = np.append(np.arange(k), rng.integers(k, size=n - k))
    centres = 2 * rng.normal(size=(k, p))
    return centres[labels] + rng.normal(size=(n, p)) @ rng.normal(size=(p, p)), labels


def rbf(X, scale=1.0):
    return np.exp(-((X[:, None] - X) ** 2).sum(-1) / (2 * scale**2))


def test_printed_numbers_of_the_primal_form():
    equal, empirical = fisher_discriminant(D6, Y6, prior="equal"), fisher_discriminant(D6, Y6)
    np.testing.assert_allclose(equal.means, [[-0.73285714, 0.21857143], [1.366, 1.202]], atol=1e-8)
    np.testing.assert_allclose(
        equal.within, [[0.60850524, 0.39026762], [0.39026762, 0.50864714]], atol=1e-8
    )
    np.testing.assert_allclose(equal.coefficients, [4.34957281, -1.40385897], atol=1e-8)
    assert equal.bias == pytest.approx(-0.37980951, abs=1e-8)
    assert empirical.bias == pytest.approx(-0.71628174, abs=1e-8)
    assert expit(empirical([[0.6, 0.4]]))[0] == pytest.approx(0.79115778, abs=1e-8)


@pytest.mark.parametrize(
    ("lam", "w", "b"),
    [(0.1, (4.06729490, -1.08887587), -0.51417638), (1, (2.91165358, 0.14044208), -1.02150034)],
)
def test_printed_numbers_of_the_kernel_form(lam, w, b):
    found = kernel_fisher(D6 @ D6.T, Y6, lam, prior="equal")
    np.testing.assert_allclose(D6.T @ found.coefficients, w, atol=1e-7)
    assert found.bias == pytest.approx(b, abs=1e-7)
    primal = fisher_discriminant(D6, Y6, prior="equal")
    formula = np.linalg.solve(
        primal.within + lam * np.linalg.inv(D6.T @ D6), primal.means[1] - primal.means[0]
    )
    np.testing.assert_allclose(D6.T @ found.coefficients, formula, rtol=1e-9)


def test_kernel_form_tends_to_the_primal_and_to_nearest_mean():
    K = D6 @ D6.T
    near = kernel_fisher(K, Y6, 1e-7)
    primal = fisher_discriminant(D6, Y6)
    np.testing.assert_allclose(near(K), primal(D6), atol=1e-4)
    far = kernel_fisher(K, Y6, 1e9, prior="equal")
    minus, plus = far.means
    np.testing.assert_allclose(1e9 * far.coefficients, plus - minus, rtol=1e-6)
    assert 1e9 * far.bias == pytest.approx((minus @ minus - plus @ plus) / 2, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scikit_learn(seed):
    X, labels = random_classes(seed)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, labels)
    scores = fisher_scores(X, labels)
    ours = scores(X)
    np.testing.assert_allclose(
        np.exp(ours - np.logaddexp.reduce(ours, axis=1)[:, None]), peer.predict_proba(X), atol=1e-9
    )
    X, labels = random_classes(seed, k=2)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(X, labels)
    binary = fisher_discriminant(X, 2 * labels - 1)
    np.testing.assert_allclose(binary.coefficients, peer.coef_[0], rtol=1e-9)
    assert binary.bias == pytest.approx(peer.intercept_[0], rel=1e-9)
    two = fisher_scores(X, labels)(X)
    np.testing.assert_allclose(two[:, 1] - two[:, 0], binary(X), atol=1e-9)


def test_log_odds_are_those_of_the_two_gaussians():
    from scipy.stats import multivariate_normal

    found = fisher_discriminant(D6, Y6, prior=0.3)
    new = np.random.default_rng(0).normal(size=(20, 2))
    minus, plus = (multivariate_normal(m, found.within).logpdf(new) for m in found.means)
    np.testing.assert_allclose(found(new), plus - minus + np.log(0.3 / 0.7), rtol=1e-9, atol=1e-10)


def test_predictions_do_not_depend_on_an_affine_map():
    A, a = np.array([[2.0, 1.0], [-0.5, 3.0]]), np.array([10.0, -4.0])
    moved = D6 @ A.T + a
    np.testing.assert_allclose(
        fisher_discriminant(moved, Y6)(moved), fisher_discriminant(D6, Y6)(D6), rtol=1e-8
    )


def test_equal_weighting_maximises_the_criterion():
    best = minimize(lambda w: -fisher_criterion(w, D6, Y6), [1.0, 0.1], options={"gtol": 1e-9})
    equal = fisher_discriminant(D6, Y6, weighting="equal").coefficients
    pooled = fisher_discriminant(D6, Y6).coefficients
    assert fisher_criterion(equal, D6, Y6) == pytest.approx(-best.fun)
    assert fisher_criterion(pooled, D6, Y6) < fisher_criterion(equal, D6, Y6) - 1e-6
    assert fisher_criterion(-3 * equal, D6, Y6) == pytest.approx(-best.fun)
    # with the covariance of the criterion its maximum is half the squared distance
    assert -fisher_discriminant(D6, Y6, weighting="equal").objective / 2 == pytest.approx(-best.fun)


def test_weightings_agree_in_direction_for_classes_of_one_size():
    X, y = D6[:10], Y6[:10]
    equal, pooled = (
        fisher_discriminant(X, y, weighting=w).coefficients for w in ("equal", "pooled")
    )
    np.testing.assert_allclose(equal, pooled, rtol=1e-9)


def test_least_squares_has_the_direction_and_the_printed_factor():
    fit = least_squares_fisher(D6, Y6)
    assert fit.factor == pytest.approx(0.34682182, abs=1e-8)
    np.testing.assert_allclose(fit.coefficients, [1.50852675, -0.48688892], atol=1e-8)
    assert fit.bias == pytest.approx(0.09222058, abs=1e-8)
    fisher = fisher_discriminant(D6, Y6, prior="equal")
    np.testing.assert_allclose(fit.coefficients, fit.factor * fisher.coefficients)
    assert fit.bias != pytest.approx(fit.factor * fisher.bias, abs=0.1)
    even = least_squares_fisher(D6[:10], Y6[:10])
    same = fisher_discriminant(D6[:10], Y6[:10], prior="equal")
    assert even.bias == pytest.approx(even.factor * same.bias)


@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_ridge_regression_on_codes_has_the_kernel_direction(lam):
    X, labels = random_classes(7, n=25, k=2)
    K, y = rbf(X), 2 * labels - 1
    fit, fisher = kernel_fisher_by_ridge(K, y, lam), kernel_fisher(K, y, lam)
    np.testing.assert_allclose(fit.coefficients, fit.factor * fisher.coefficients, rtol=1e-6)


def test_scatter_has_rank_two_less_than_the_sample():
    X, labels = random_classes(3, n=25, k=2)
    S = kernel_fisher(rbf(X, 0.3), 2 * labels - 1, 0.01).within - 0.01 * np.eye(25)
    assert (np.linalg.eigvalsh(S) > 1e-10).sum() == 23


def test_kernel_scores_of_two_classes_are_the_binary_form():
    X, labels = random_classes(5, k=2)
    K = rbf(X)
    scores = kernel_fisher_scores(K, labels, 0.1)(K)
    np.testing.assert_allclose(
        scores[:, 1] - scores[:, 0], kernel_fisher(K, 2 * labels - 1, 0.1)(K), atol=1e-8
    )
    indefinite = K - 0.5 * np.eye(len(K))  # symmetric is enough here
    assert kernel_fisher(indefinite, 2 * labels - 1, 0.1).converged


def test_singular_covariance_says_what_to_do():
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(5, 8)), [1, 1, -1, -1, -1]
    with pytest.raises(np.linalg.LinAlgError, match=r"5 points of 8 features .* give a ridge"):
        fisher_discriminant(wide, y)
    assert fisher_discriminant(wide, y, ridge=0.1).converged
    constant = np.column_stack([rng.normal(size=20), np.ones(20)])
    with pytest.raises(np.linalg.LinAlgError, match="constant or collinear"):
        fisher_discriminant(constant, np.tile([1, -1], 10))
    with pytest.raises(np.linalg.LinAlgError, match="constant or collinear"):
        least_squares_fisher(constant, np.tile([1, -1], 10))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"y must hold both classes, got \+1 only"):
        fisher_discriminant(D6, np.ones(12))
    with pytest.raises(ValueError, match="lam must be positive, got 0"):
        kernel_fisher(np.eye(2), [1, -1], 0)
    with pytest.raises(ValueError, match="prior must be one of 'empirical', 'equal', got 'flat'"):
        fisher_discriminant(D6, Y6, prior="flat")
    with pytest.raises(ValueError, match=r"prior must be in \(0, 1\), got 1"):
        fisher_discriminant(D6, Y6, prior=1.0)
    with pytest.raises(ValueError, match="prior must hold 3 positive numbers"):
        fisher_scores(*random_classes(0), prior=[0.5, 0.5])
    with pytest.raises(ValueError, match="weighting must be one of"):
        fisher_discriminant(D6, Y6, weighting="none")
    with pytest.raises(ValueError, match="projects each class onto a single point"):
        fisher_criterion([0.0, 0.0], D6, Y6)
