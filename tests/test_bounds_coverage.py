"""Do the bounds hold as often as they say? Closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, kstwo, norm

from bayeskern.classic import bounds as b


def assert_rare(violations, runs, delta):
    """Hold the number of violations to the 0.999 quantile of the binomial."""
    assert violations <= binom.ppf(0.999, runs, delta), f"{violations} of {runs} at {delta}"


def test_clopper_pearson_covers_everywhere_and_just():
    n, delta = 60, 0.05
    upper = b.test_set_bound(np.arange(n + 1), n, delta).raw
    # the coverage dips to 1 - delta right after each limit, so look there
    grid = np.concatenate([upper[:-1], upper[:-1] * (1 + 1e-9), np.linspace(0.01, 0.99, 99)])
    grid = grid[grid < 1]
    coverage = np.array([binom.pmf(np.arange(n + 1), n, p)[upper >= p].sum() for p in grid])
    assert coverage.min() >= 0.95 - 1e-9
    assert coverage.min() < 0.9501
    lower = b.test_set_bound(np.arange(n + 1), n, delta, side="lower").raw
    misses = [binom.pmf(np.arange(n + 1), n, p)[lower > p].sum() for p in (0.01, 0.3, 0.9)]
    assert max(misses) <= 0.05 + 1e-12


def test_pac_bound_for_thresholds_in_closed_form():
    m = 1000
    true = brentq(lambda e: 2 * (1 - e) ** m - (1 - 2 * e) ** m - 0.05, 1e-6, 0.1, xtol=1e-15)
    assert true == pytest.approx(0.003669563945, rel=1e-8)
    assert true <= b.pac_bound(m, 0.05, log_growth=math.log(2 * m + 1)).raw
    eps = np.linspace(0.001, 0.49, 50)
    exact = 2 * (1 - eps) ** m - (1 - 2 * eps) ** m
    stated = 2 * (2 * m + 1) * np.exp(-m * eps / 4)
    assert (exact <= stated).all()


def test_uniform_deviation_over_half_lines_is_kolmogorov_smirnov():
    m = 1000
    quantile = kstwo.isf(0.05, m)
    assert quantile == pytest.approx(0.04277650046, rel=1e-8)
    for bound in (
        b.dkw_deviation(m, 0.05),
        b.vc_bound_vapnik(m, 0.05, 0.0, 1),
        b.vc_bound(m, 0.05, 0.0, log_growth=math.log(2 * m + 1)),
    ):
        assert quantile <= bound.raw


def test_test_set_bounds_by_simulation():
    rng = np.random.default_rng(0)
    n, runs, p = 200, 20000, 0.1
    errors = rng.binomial(n, p, runs)
    rates = {
        "cp": (b.test_set_bound(errors, n).raw < p).mean(),
        "kl": (b.kl_inverse(errors / n, math.log(20) / n) < p).mean(),
    }
    assert rates["cp"] == pytest.approx(binom.cdf(12, n, p), abs=0.006)  # 0.032, close to 0.05
    assert rates["kl"] <= rates["cp"]
    samples = rng.random((2000, n)) ** 3
    limit = b.empirical_bernstein_bound(n, 0.05, samples.mean(1), samples.var(1, ddof=1)).raw
    assert_rare((limit < 0.25).sum(), 2000, 0.05)


def test_threshold_learning_with_flipped_labels():
    rng = np.random.default_rng(1)
    m, runs, delta = 200, 1500, 0.05
    theta = np.linspace(0, 1, 101)
    risk = 0.1 + 0.8 * np.abs(theta - 0.5)
    chosen = np.empty((runs, 4))
    for i in range(runs):
        x = rng.random(m)
        y = (x > 0.5) ^ (rng.random(m) < 0.1)
        errors = ((x > theta[:, None]) != y).mean(1)
        best = np.argsort(errors, kind="stable")[:10]
        chosen[i] = errors[best[0]], risk[best[0]], errors[best].mean(), risk[best].mean()
    error, truth, q, gibbs_truth = chosen.T
    kl = math.log(101 / 10)
    for bound, true in (
        (b.finite_class_bound(m, 101, delta, error, False), truth),
        (b.map_bound(m, delta, 1 / 101, error), truth),
        (b.gibbs_bound_errors(m, delta, q, -kl), gibbs_truth),
        (b.pac_bayes_mcallester(m, delta, q, kl), gibbs_truth),
        (b.pac_bayes_catoni(m, delta, q, kl, 0.5), gibbs_truth),
        (b.pac_bayes_lambda(m, delta, q, kl), gibbs_truth),
        (b.pac_bayes_kl(m, delta, q, kl), gibbs_truth),
    ):
        assert_rare((bound.raw < true).sum(), runs, delta)


def test_clean_thresholds_and_structural_risk_minimisation():
    rng = np.random.default_rng(2)
    m, runs = 100, 400
    bad = {"pac": 0, "gibbs": 0, "srm": 0}
    for _ in range(runs):
        x = rng.random(m)
        y = x > 0.5
        low, high = x[~y].max(initial=0.0), x[y].min(initial=1.0)
        worst = max(0.5 - low, high - 0.5)
        mean = ((0.5 - low) ** 2 + (high - 0.5) ** 2) / (2 * (high - low))
        bad["pac"] += b.pac_bound(m, 0.05, log_growth=math.log(2 * m + 1)).raw < worst
        bad["gibbs"] += b.gibbs_bound(m, 0.05, math.log(high - low)).raw < mean
        chosen = b.srm([0.5, 0.0], [0, 1], m)
        bad["srm"] += chosen.bounds[chosen.best].raw < worst
    for count in bad.values():
        assert_rare(count, runs, 0.05)


def hard_margin(X, y):
    """Direction of the largest margin through the origin, by non-negative least squares."""
    from scipy.optimize import nnls

    Z = y[:, None] * X
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(X.shape[1]), 1.0))
    return Z.T @ a


def test_margin_bounds_on_a_sphere_with_a_gap():
    rng = np.random.default_rng(3)
    for n, m in ((2, 100), (5, 200)):
        bad = dict.fromkeys(("cap", "kl", "book", "linear"), 0)
        for _ in range(40):
            w = rng.standard_normal(n)
            w /= np.linalg.norm(w)

            def draw(size, w=w, n=n):
                X = rng.standard_normal((4 * size, n))
                X /= np.linalg.norm(X, axis=1, keepdims=True)
                return X[np.abs(X @ w) > 0.1][:size]

            X, T = draw(m), draw(4000)
            y = np.sign(X @ w)
            v = hard_margin(X, y)
            margins = y * (X @ v) / np.linalg.norm(v)
            risk = (np.sign(T @ v) != np.sign(T @ w)).mean()
            for method in ("cap", "kl", "book"):
                bound = b.pac_bayes_margin_bound(m, 0.05, margins.min(), n, method)
                bad[method] += bound.raw < risk
            bad["linear"] += 2 * b.pac_bayes_linear(margins, 0.05).raw < risk
        for count in bad.values():
            assert_rare(count, 40, 0.05)


def test_perceptron_is_a_compression_scheme_and_its_bound_holds():
    rng = np.random.default_rng(4)

    def perceptron(X, y):
        w, updates = np.zeros(2), np.zeros(len(y), int)
        while True:
            before = updates.sum()
            for i in range(len(y)):
                if y[i] * (X[i] @ w) <= 0:
                    w = w + y[i] * X[i]
                    updates[i] += 1
            if updates.sum() == before:
                return w, updates

    bad = 0
    for _ in range(60):
        X = rng.standard_normal((600, 2))
        X = X[np.abs(X[:, 0]) > 0.2][:200]
        y = np.sign(X[:, 0])
        w, updates = perceptron(X, y)
        used = updates > 0
        again, counts = perceptron(X[used], y[used])
        np.testing.assert_array_equal(w, again)
        np.testing.assert_array_equal(counts, updates[used])
        T = rng.standard_normal((5000, 2))
        T = T[np.abs(T[:, 0]) > 0.2]
        risk = (np.sign(T @ w) != np.sign(T[:, 0])).mean()
        bad += b.compression_bound(len(y), int(used.sum())).raw < risk
        margin = np.min(y * (X @ hard_margin(X, y))) / np.linalg.norm(hard_margin(X, y))
        radius = np.linalg.norm(X, axis=1).max()
        assert updates.sum() <= b.perceptron_mistake_bound(radius, margin)
    assert_rare(bad, 60, 0.05)
    for k in (3, 6):  # the equality case
        _, updates = perceptron_on_axes(k)
        assert updates == k <= b.perceptron_mistake_bound(1.0, 1 / math.sqrt(k))


def perceptron_on_axes(k):
    w, updates = np.zeros(k), 0
    for _ in range(2):
        for x in np.eye(k):
            if x @ w <= 0:
                w, updates = w + x, updates + 1
    return w, updates


def test_stability_bound_of_a_linear_svm():
    rng = np.random.default_rng(5)
    lam, m, bad, values = 0.25, 20000, 0, []
    for _ in range(40):
        x = rng.uniform(-1, 1, m)
        y = np.where(rng.random(m) < 0.5 + 0.4 * np.sign(x), 1.0, -1.0)
        grid = np.linspace(0, 1.2, 61)
        objective = [np.maximum(0, 1 - w * y * x).mean() + lam * w**2 for w in grid]
        w = grid[int(np.argmin(objective))]
        bound = b.svm_stability_bound(m, 0.05, w * x, y, lam, 1.0)
        values.append(bound.raw)
        bad += bound.raw < (0.1 if w > 0 else 0.9)
    assert np.mean(values) == pytest.approx(0.718, abs=0.01)
    assert_rare(bad, 40, 0.05)


def test_rademacher_margin_bound_on_two_gaussians():
    rng = np.random.default_rng(6)
    n, bad, values = 2000, 0, []
    for _ in range(100):
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        X = rng.standard_normal((n, 2)) + np.outer(y, [1.0, 0.0])
        X *= np.minimum(1, 4 / np.linalg.norm(X, axis=1))[:, None]
        w = X.T @ y
        w *= 2 / np.linalg.norm(w)
        bound = b.rademacher_margin_bound(n, 0.05, y * (X @ w), 2.0, 4.0, 1.0)
        values.append(bound.raw)
        bad += bound.raw < norm.cdf(-w[0] / 2)
    assert np.mean(values) == pytest.approx(0.615, abs=0.01)
    assert_rare(bad, 100, 0.05)


def test_luckiness_sees_the_subspace_not_the_ambient_dimension():
    rng = np.random.default_rng(7)
    m, bad = 1000, 0
    for _ in range(20):
        basis = np.linalg.qr(rng.standard_normal((50, 2)))[0]
        Z, w = rng.standard_normal((m, 2)), rng.standard_normal(2)
        X = Z @ basis.T
        assert np.linalg.matrix_rank(X) == 2
        bound = b.empirical_vc_luckiness_bound(m, 0.05, 2)
        v = hard_margin(Z, np.sign(Z @ w))
        risk = np.arccos(np.clip(v @ w / np.linalg.norm(v) / np.linalg.norm(w), -1, 1)) / np.pi
        bad += bound.raw < risk
    assert_rare(bad, 20, 0.05)


def test_monte_carlo_gibbs_error_covers_where_pooling_fails():
    rng = np.random.default_rng(8)
    draws, m, runs = 20, 100, 2000
    errors = np.where(rng.random((runs, draws)) < 0.5, 0.1, 0.9)
    limits = b.kl_inverse(errors.mean(1), math.log(20) / draws)
    assert b.monte_carlo_gibbs_error(errors[0], 0.05) == limits[0]
    assert_rare((limits < 0.5).sum(), runs, 0.05)
    pooled = b.test_set_bound(np.round(errors.sum(1) * m), draws * m).raw
    assert (pooled < 0.5).mean() > 0.3


def test_leave_one_out_chain_on_small_svms():
    rng = np.random.default_rng(9)
    for _ in range(4):
        X = rng.standard_normal((12, 2))
        y = np.where(rng.random(12) < 0.5 + 0.4 * np.sign(X[:, 0]), 1.0, -1.0)
        G = np.exp(-((X[:, None] - X) ** 2).sum(-1) / 2)

        def dual(G, y, C=2.0):
            """Coordinate ascent for the SVM without offset."""
            Q, alpha = y[:, None] * G * y, np.zeros(len(y))
            for _ in range(200):
                for i in range(len(y)):
                    alpha[i] = np.clip(alpha[i] + (1 - Q[i] @ alpha) / Q[i, i], 0, C)
            return alpha

        def learner(points, labels, G=G):
            index = points[:, 0].astype(int)
            alpha = dual(G[np.ix_(index, index)], labels)
            return lambda Z: G[Z[:, 0].astype(int)][:, index] @ (alpha * labels)

        alpha = dual(G, y)
        loo = b.loo_error(learner, np.arange(12.0)[:, None], y)
        middle = b.jaakkola_haussler_bound(G, y, alpha).raw
        assert loo <= middle <= b.sv_loo_bound(int((alpha > 1e-9).sum()), 12).raw


def test_leave_one_out_identity_by_enumeration():
    import itertools

    p = np.array([0.4, 0.3, 0.2, 0.1])
    points = [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)]

    def learner(X, y):
        table = {x: y[X[:, 0] == x].sum() + 0.5 for x in (0, 1)}
        return lambda Z: np.array([table[z] for z in Z[:, 0]])

    loo, risk = 0.0, 0.0
    for sample in itertools.product(range(4), repeat=3):
        X = np.array([[points[i][0]] for i in sample])
        loo += p[list(sample)].prod() * b.loo_error(learner, X, [points[i][1] for i in sample])
    for sample in itertools.product(range(4), repeat=2):
        X = np.array([[points[i][0]] for i in sample])
        f = learner(X, np.array([points[i][1] for i in sample]))
        wrong = sum(p[i] * (points[i][1] * f(np.array([[points[i][0]]]))[0] <= 0) for i in range(4))
        risk += p[list(sample)].prod() * wrong
    assert loo == pytest.approx(risk, rel=1e-12)
