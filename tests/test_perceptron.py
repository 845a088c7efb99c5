import numpy as np
import pytest
from sklearn.linear_model import Perceptron

from bayeskern.classic.perceptron import kernel_perceptron, novikoff_bound, primal_perceptron
from bayeskern.errors import ConvergenceWarning, NotSeparableError

D1 = np.array([[2, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1]], dtype=float)
Y1 = np.array([1, 1, 1, -1, -1, -1])
D2 = np.vstack([D1, [[-1, 1], [1, 0.5]]])
Y2 = np.append(Y1, [1, -1])
XOR = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]], dtype=float)
YX = np.array([1, 1, -1, -1])
P2, YP = np.array([[10.0, 0.0], [1.0, -1.0]]), np.array([1, -1])


def separable(seed, n=40, p=3):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=p)
    X = rng.normal(size=(3 * n, p))
    X = X[np.abs(X @ w) > 0.15][:n]
    return X, np.where(X @ w > 0, 1, -1), w / np.linalg.norm(w)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shuffle", [False, True])
def test_three_algorithms_make_the_same_mistakes(seed, shuffle):
    X, y, _ = separable(seed)
    settings = {"shuffle": shuffle, "random_seed": seed}
    primal = primal_perceptron(X, y, **settings)
    cached = kernel_perceptron(X @ X.T, y, **settings)
    plain = kernel_perceptron(X @ X.T, y, cached=False, **settings)
    for dual in (cached, plain):
        assert dual.mistakes.tolist() == primal.mistakes.tolist()
        np.testing.assert_allclose(X.T @ dual.coefficients, primal.coefficients)
        assert dual.margin == pytest.approx(primal.margin)
    np.testing.assert_array_equal(cached.coefficients, plain.coefficients)
    assert np.abs(cached.coefficients).sum() == cached.n_mistakes == primal.n_mistakes
    assert (cached.coefficients * y >= 0).all()
    assert (cached.coefficients == np.round(cached.coefficients)).all()
    assert primal.converged
    assert primal.objective == primal.gap == 0


@pytest.mark.parametrize("seed", range(8))
def test_novikoff_inequalities_along_the_run(seed):
    X, y, best = separable(seed)
    run = primal_perceptron(X, y)
    delta, M = (y * (X @ best)).min(), (X**2).sum(axis=1).max()
    path = np.cumsum(y[run.mistakes, None] * X[run.mistakes], axis=0)
    t = np.arange(1, run.n_mistakes + 1)
    assert (path @ best >= t * delta - 1e-9).all()
    assert ((path**2).sum(axis=1) <= t * M + 1e-9).all()
    assert run.n_mistakes <= novikoff_bound(M**0.5, delta)
    assert run.n_mistakes <= run.novikoff


@pytest.mark.parametrize("seed", range(5))
def test_bound_from_another_start(seed):
    X, y, best = separable(seed)
    start = np.random.default_rng(seed).normal(size=3)
    run = primal_perceptron(X, y, start=start)
    delta, R = (y * (X @ best)).min(), run.radius
    bound = novikoff_bound(
        R, delta, start_norm=np.linalg.norm(start), start_inner=float(start @ best)
    )
    assert run.n_mistakes <= bound
    a = start @ best  # the root makes the two inequalities meet
    assert a + bound * delta == pytest.approx(np.sqrt(start @ start + bound * R**2))


def test_bound_is_tight_on_unit_vectors_and_xor():
    for n in (1, 4, 9):
        run = kernel_perceptron(np.eye(n), np.ones(n))
        assert run.n_mistakes == run.novikoff == n
    run = kernel_perceptron((XOR @ XOR.T) ** 2, YX)
    assert run.coefficients.tolist() == [1, 0, -1, 0]
    assert (run.n_mistakes, run.n_iter) == (2, 2)
    assert (run.radius, run.margin) == pytest.approx((2, np.sqrt(2)))
    assert run.novikoff == 2


def test_two_points_that_need_six_updates_of_one():
    run = primal_perceptron(P2, YP)
    assert run.mistakes.tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert (run.n_mistakes, run.n_iter) == (7, 7)
    assert run.coefficients.tolist() == [4, 6]
    assert novikoff_bound(10.0, 1 / np.sqrt(1.22)) == pytest.approx(122)


@pytest.mark.parametrize("signs", [(1, -1, -1, 1), (1, -1, 1, -1), (1, 1, -1, -1)])
def test_complete_quadratic_kernel_on_xor(signs):
    points = {1: iter([(1, 1), (-1, -1)]), -1: iter([(1, -1), (-1, 1)])}
    X = np.array([next(points[s]) for s in signs])
    run = kernel_perceptron((1 + X @ X.T) ** 2, signs)
    assert run.coefficients.tolist() == list(signs)
    assert run.n_mistakes == 4
    assert run.n_iter == (3 if signs == (1, 1, -1, -1) else 2)


def test_tie_rule_changes_the_path():
    strict = primal_perceptron(np.eye(2), [1, -1])
    lenient = primal_perceptron(np.eye(2), [1, -1], tie="positive")
    assert (strict.coefficients.tolist(), strict.n_mistakes) == ([1, -1], 2)
    assert (lenient.coefficients.tolist(), lenient.n_mistakes) == ([0, -1], 1)


def test_kernel_scale_and_label_flip():
    K = np.exp(-((D2[:, None] - D2) ** 2).sum(-1) / 2)
    run = kernel_perceptron(K, Y2)
    scaled, flipped = kernel_perceptron(4 * K, Y2), kernel_perceptron(K, -Y2)
    assert scaled.mistakes.tolist() == flipped.mistakes.tolist() == run.mistakes.tolist()
    np.testing.assert_array_equal(scaled.coefficients, run.coefficients)
    np.testing.assert_array_equal(flipped.coefficients, -run.coefficients)
    assert run.radius == 1
    assert run.n_mistakes <= 2 * 4.9781266640  # norm of the hard margin solution, squared


def test_updates_grow_polynomially_as_two_points_oppose():
    counts = []
    for eps in (0.2, 0.1, 0.05, 0.02, 0.01):
        X = np.array([[1.0, 0.0], [np.cos(np.pi - eps), np.sin(np.pi - eps)]])
        counts.append(primal_perceptron(X, [1, 1], start=[0.3, -0.9], max_epochs=10**6).n_mistakes)
    slope = np.polyfit(np.log([0.2, 0.1, 0.05, 0.02, 0.01]), np.log(counts), 1)[0]
    assert -2.2 < slope < -1.7


def test_agrees_with_scikit_learn():
    X, y, _ = separable(11)
    peer = Perceptron(fit_intercept=False, shuffle=False, tol=None, eta0=1).fit(X, y)
    np.testing.assert_allclose(primal_perceptron(X, y).coefficients, peer.coef_[0])


def test_averaged_and_voted_by_replaying_the_run():
    X, y, _ = separable(3)
    K = X @ X.T
    run = kernel_perceptron(K, y, shuffle=True, random_seed=5)
    vectors, alpha = [], np.zeros(len(y))
    rng, mistakes = np.random.default_rng(5), []
    for _ in range(run.n_iter):
        for j in rng.permutation(len(y)):
            if y[j] * (K[j] @ alpha) <= 0:
                alpha = alpha.copy()
                alpha[j] += y[j]
                mistakes.append(int(j))
            vectors.append(alpha)
    assert mistakes == run.mistakes.tolist()
    assert len(vectors) == run.n_seen
    np.testing.assert_allclose(run.averaged(), np.mean(vectors, axis=0))
    new = np.random.default_rng(1).normal(size=(9, 3)) @ X.T
    np.testing.assert_allclose(run.vote(new), np.mean(np.sign(new @ np.transpose(vectors)), axis=1))


def test_inseparable_data_warn_and_stop():
    with pytest.warns(ConvergenceWarning, match="still errs after 20 passes; raise max_epochs"):
        run = primal_perceptron(D2, Y2, max_epochs=20)
    assert not run.converged
    assert run.n_iter == 20
    assert run.objective == np.mean(Y2 * (D2 @ run.coefficients) <= 0) > 0
    assert run.novikoff == np.inf


def test_order_is_seeded():
    X, y, _ = separable(2)
    runs = [primal_perceptron(X, y, shuffle=True, random_seed=s) for s in (0, 0, 1)]
    assert runs[0].mistakes.tolist() == runs[1].mistakes.tolist() != runs[2].mistakes.tolist()


def test_bad_input_is_refused():
    with pytest.raises(NotSeparableError, match="point 1 has norm 0"):
        primal_perceptron([[1.0], [0.0]], [1, -1])
    with pytest.raises(NotSeparableError, match="point 0 has norm 0"):
        kernel_perceptron([[0.0, 0.0], [0.0, 1.0]], [1, -1])
    with pytest.raises(ValueError, match="must be symmetric"):
        kernel_perceptron([[1.0, 0.5], [0.0, 1.0]], [1, -1])
    with pytest.raises(ValueError, match="tie must be one of 'error', 'positive', got 'never'"):
        primal_perceptron(P2, YP, tie="never")
    with pytest.raises(ValueError, match="max_epochs must be at least 1"):
        primal_perceptron(P2, YP, max_epochs=0)
    with pytest.raises(ValueError, match="start must have 2 entries"):
        primal_perceptron(P2, YP, start=[1.0])
