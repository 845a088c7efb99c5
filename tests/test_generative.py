"""Fisher kernels against closed forms, enumeration and quadrature."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from bayeskern.kernels import (
    BernoulliModel,
    Fisher,
    GaussianModel,
    MarkovModel,
    MixtureModel,
    ScoreFunction,
    empirical_information,
)


def test_bernoulli_by_hand():
    K = Fisher(BernoulliModel((0.25,)))([[1.0], [0.0]])
    np.testing.assert_allclose(K, [[3, -1], [-1, 1 / 3]])
    K = Fisher(BernoulliModel((0.3,)))([[1.0], [0.0]])
    np.testing.assert_allclose(K, [[7 / 3, -1], [-1, 3 / 7]])


def test_gaussian_mean_and_naive():
    model = GaussianModel([0.3, -0.2], [[1.0, 0.4], [0.4, 2.0]])
    X, Z = [[1.0, 0.5]], [[-0.7, 1.2]]
    assert Fisher(model)(X, Z)[0, 0] == pytest.approx(-0.28913043, abs=1e-8)
    assert Fisher(model, naive=True)(X, Z)[0, 0] == pytest.approx(-0.62358223, abs=1e-8)


def test_gaussian_mean_and_variance():
    kernel = Fisher(GaussianModel([1.3], [[0.7]], of="both"))
    assert kernel([[2.0]], [[-0.4]])[0, 0] == pytest.approx(-2.1692857143, abs=1e-10)


def test_gaussian_mean_and_covariance_in_two_dimensions():
    mean, S = np.array([0.3, -0.2]), np.array([[1.0, 0.4], [0.4, 2.0]])
    X = np.random.default_rng(0).normal(size=(4, 2))
    Zw = np.linalg.solve(np.linalg.cholesky(S), (X - mean).T).T
    inner, length = Zw @ Zw.T, (Zw**2).sum(axis=1)
    expected = inner + 0.5 * (inner**2 - length[:, None] - length + 2)
    K = Fisher(GaussianModel(mean, S, of="both"))(X)
    np.testing.assert_allclose(K, expected, rtol=1e-10)


def central(logp, theta, h=1e-6):
    steps = h * np.eye(len(theta))
    return np.array([(logp(theta + s) - logp(theta - s)) / (2 * h) for s in steps]).T


def test_gaussian_score_is_the_derivative_of_its_log_density():
    mean, S = np.array([0.3, -0.2]), np.array([[1.0, 0.4], [0.4, 2.0]])
    X = np.random.default_rng(1).normal(size=(5, 2))

    def logp(theta):
        cov = [[theta[2], theta[3]], [theta[3], theta[4]]]
        return stats.multivariate_normal(theta[:2], cov).logpdf(X)

    scores = GaussianModel(mean, S, of="both").score(X)
    theta = np.array([*mean, 1.0, 0.4, 2.0])
    np.testing.assert_allclose(scores, central(logp, theta), atol=1e-8)


def test_markov_chain_by_enumeration_of_all_strings():
    initial, A, length = (
        np.array([0.2, 0.5, 0.3]),
        np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]]),
        4,
    )
    model = MarkovModel("abc", initial, A, length)
    strings = ["".join(s) for s in product("abc", repeat=length)]
    place = {c: i for i, c in enumerate("abc")}
    p = np.array(
        [
            initial[place[s[0]]] * np.prod([A[place[x], place[y]] for x, y in pairwise(s)])
            for s in strings
        ]
    )
    assert p.sum() == pytest.approx(1)
    F = model.score(strings)
    np.testing.assert_allclose(p @ F, 0, atol=1e-12)
    np.testing.assert_allclose((F * p[:, None]).T @ F, model.information(), atol=1e-12)
    K = Fisher(model)(strings)
    assert p @ np.diagonal(K) == pytest.approx(2 + 3 * 2)  # one less than symbols, each
    np.testing.assert_allclose(K @ (p[:, None] * K), K, atol=1e-10)  # it reproduces itself


def test_markov_fit_counts():
    model = MarkovModel.fit(["aab", "ab"], smoothing=1e-9)
    np.testing.assert_allclose(model.initial.array, [1, 0], atol=1e-8)
    np.testing.assert_allclose(model.transition.array[0], [1 / 3, 2 / 3], atol=1e-8)
    with pytest.raises(ValueError, match="symbols of the chain only, got 'z'"):
        model.read(["az"])
    with pytest.raises(ValueError, match="at least one symbol"):
        model.read(["a", ""])


class TestMixtures:
    pi, means = np.array([0.4, 0.6]), np.array([-1.0, 1.5])
    model = MixtureModel(pi, means[:, None], np.ones((2, 1, 1)))

    def test_scores_by_hand(self):
        r = self.model.responsibilities([[0.7]])[0]
        np.testing.assert_allclose(r / self.pi, [0.44481411, 1.37012392], atol=1e-8)
        score = self.model.score([[0.7]])[0]
        np.testing.assert_allclose(score[1:], [0.30247360, -0.65765948], atol=1e-8)
        assert score[0] == pytest.approx(r[0] - 0.4)

    def test_score_is_the_derivative_of_the_log_density(self):
        x = np.linspace(-3, 3, 7)

        def logp(theta):
            logits = np.array([theta[0], 0.0])
            parts = stats.norm.logpdf(x[:, None], theta[1:]) + logits - logsumexp(logits)
            return logsumexp(parts, axis=1)

        theta = np.array([np.log(0.4 / 0.6), *self.means])
        np.testing.assert_allclose(self.model.score(x[:, None]), central(logp, theta), atol=1e-8)

    def test_information_is_the_expected_outer_product(self):
        x = np.linspace(-12, 12, 20_001)
        density = (self.pi * stats.norm.pdf(x[:, None], self.means)).sum(axis=1)
        F, w = self.model.score(x[:, None]), density * (x[1] - x[0])
        np.testing.assert_allclose(w @ F, 0, atol=1e-10)
        np.testing.assert_allclose((F * w[:, None]).T @ F, self.model.information(), atol=1e-8)
        K = Fisher(self.model).diag(x[:, None])
        assert w @ K == pytest.approx(3, abs=1e-7)

    @pytest.mark.parametrize("d", [2, 3])
    def test_information_in_more_dimensions(self, d):
        rng = np.random.default_rng(d)
        model = MixtureModel([0.3, 0.7], [[0.0] * d, [1.0] * d], [np.eye(d), 0.5 * np.eye(d)])
        n = 100_000
        pick = rng.uniform(size=n) < 0.3
        X = np.where(
            pick[:, None], rng.normal(size=(n, d)), 1 + np.sqrt(0.5) * rng.normal(size=(n, d))
        )
        products = np.einsum("ni,nj->nij", model.score(X), model.score(X))
        error = np.abs(products.mean(axis=0) - model.information())
        assert (error < 5 * products.std(axis=0) / np.sqrt(n) + 1e-3).all()

    def test_fit_finds_two_clouds(self):
        rng = np.random.default_rng(5)
        X = np.vstack([rng.normal(size=(80, 2)), rng.normal(size=(40, 2)) + 6])
        model = MixtureModel.fit(X, 2)
        np.testing.assert_allclose(sorted(model.weights.array), [1 / 3, 2 / 3], atol=0.02)
        np.testing.assert_allclose(model.score(X).sum(axis=0), 0, atol=0.2)


class TestPoissonMixture:
    """Two Poisson laws of rates 2 and 6 with weights 0.3 and 0.7, summed exactly."""

    x = np.arange(200.0)[:, None]

    def parts(self, X):
        logs = np.log([0.3, 0.7]) + stats.poisson.logpmf(X, [2, 6])
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True)), np.exp(
            logsumexp(logs, axis=1)
        )

    def score(self, X):
        r, _ = self.parts(X)
        rates = r * (X - [2, 6])  # in the logarithms of the rates
        return np.column_stack([rates, r[:, 0] / 0.3 - r[:, 1] / 0.7])

    def free_score(self, X):
        r, _ = self.parts(X)
        return np.column_stack([r * (X - [2, 6]), r / [0.3, 0.7]])

    def information(self, score):
        F, p = score(self.x), self.parts(self.x)[1]
        return (F * p[:, None]).T @ F

    def test_known_values(self):
        np.testing.assert_allclose(
            self.score(np.array([[3.0]]))[0], [0.4642772868, -1.6071681395, 0.7822727944], atol=1e-9
        )
        I = self.information(self.score)
        np.testing.assert_allclose(
            I[np.triu_indices(3)],
            [0.2877834631, -0.1246544411, -0.5200844975, 3.1908013665, -1.3498250888, 2.5358219211],
            atol=1e-9,
        )
        kernel = Fisher(ScoreFunction(self.score, I))
        K = kernel([[0.0], [5.0], [2.0], [9.0]])
        np.testing.assert_allclose(
            [K[0, 0], K[0, 1], K[1, 1], K[2, 3]],
            [14.0905180288, -0.4734389238, 1.5298592366, -0.8848990597],
            atol=1e-8,
        )
        assert self.parts(self.x)[1] @ kernel.diag(self.x) == pytest.approx(3, abs=1e-9)

    def test_unconstrained_weights_add_one(self):
        kernel = Fisher(ScoreFunction(self.score, self.information(self.score)))
        free = Fisher(ScoreFunction(self.free_score, self.information(self.free_score)))
        np.testing.assert_allclose(free(self.x[:12]), kernel(self.x[:12]) + 1, atol=1e-8)


def test_kernel_does_not_depend_on_the_parametrisation_but_the_naive_one_does():
    p = 0.3
    plain = BernoulliModel((p,))
    logit = ScoreFunction(lambda X: X - p, [[p * (1 - p)]])
    X = [[1.0], [0.0]]
    np.testing.assert_allclose(Fisher(plain)(X), Fisher(logit)(X), rtol=1e-12)
    assert Fisher(plain, naive=True)(X)[0, 0] == pytest.approx(11.111, abs=1e-3)
    assert Fisher(logit, naive=True)(X)[0, 0] == pytest.approx(0.49)


def test_empirical_information_makes_a_projection():
    X = np.random.default_rng(6).normal(size=(9, 2))
    scores = GaussianModel.fit(X, of="both").score(X)
    np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-10)
    model = ScoreFunction(GaussianModel.fit(X, of="both").score, empirical_information(scores))
    P = Fisher(model)(X) / 9
    np.testing.assert_allclose(P @ P, P, atol=1e-10)
    assert np.trace(P) == pytest.approx(5)


def test_redundant_parameters_change_nothing():
    doubled = ScoreFunction(lambda X: np.hstack([X, X]), [[1.0, 1.0], [1.0, 1.0]])
    single = ScoreFunction(lambda X: X, [[1.0]])
    X = [[1.0], [2.0]]
    np.testing.assert_allclose(Fisher(doubled)(X), Fisher(single)(X), rtol=1e-12)


def test_bad_inputs_of_models():
    with pytest.raises(ValueError, match=r"zeros and ones, got 0\.5"):
        Fisher(BernoulliModel((0.5,)))([[0.5]])
    with pytest.raises(ValueError, match="must have 1 columns, got 2"):
        Fisher(GaussianModel([0.0], [[1.0]]))([[0.5, 1.0]])
    with pytest.raises(ValueError, match=r"score must have shape \(1, 1\)"):
        Fisher(ScoreFunction(lambda X: np.ones((2, 1)), [[1.0]]))([[0.5]])
    with pytest.raises(ValueError, match="the score must be finite"):
        Fisher(ScoreFunction(lambda X: X * np.nan, [[1.0]]))([[0.5]])
