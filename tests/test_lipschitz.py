import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from scipy.stats import binom

from bayeskern.classic.lipschitz import (
    lipschitz_constant,
    lipschitz_extension,
    lipschitz_hard,
    lipschitz_norm,
    lipschitz_risk_bound,
    lipschitz_soft,
    nearest_difference,
)
from bayeskern.classic.lipschitz_lp import lipschitz_subspace, lp_machine
from bayeskern.classic.transport import arens_eells, lipschitz_rademacher, matching_cost

CYCLE = np.array([[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]], dtype=float)
SECOND = np.array(
    [[0, 2, 1, 1, 1], [2, 0, 1, 1, 1], [1, 1, 0, 2, 1], [1, 1, 2, 0, 2], [1, 1, 1, 2, 0]], float
)
THIRD = np.array(
    [[0, 1, 1, 1, 1], [1, 0, 1, 1, 2], [1, 1, 0, 2, 1], [1, 1, 2, 0, 1], [1, 2, 1, 1, 0]], float
)
SIGNS = np.array([1.0, 1, -1, -1])


def line(*x):
    x = np.array(x, dtype=float)
    return np.abs(x[:, None] - x)


def sample(n, seed=0, shift=0.8):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, -1.0, 1.0)
    X = rng.standard_normal((n, 2))
    X[:, 0] += shift * y
    return X, y


def full_program(D, y, C):
    """The soft program with all its variables and constraints, as printed (corrected)."""
    n = len(y)
    rows, b = [], []
    for i in range(n):
        row = np.zeros(2 * n + 1)
        row[i], row[n + i] = -y[i], -1
        rows.append(row)
        b.append(-1.0)
        for j in range(n):
            if i != j:
                row = np.zeros(2 * n + 1)
                row[i], row[j], row[-1] = 1, -1, -D[i, j]
                rows.append(row)
                b.append(0.0)
    cost = np.r_[np.zeros(n), np.full(n, C), 1.0]
    bounds = [(None, None)] * n + [(0, None)] * (n + 1)
    return linprog(cost, A_ub=np.array(rows), b_ub=b, bounds=bounds).fun


def matching_value(D, y, C):
    """The dual: twice the mass that can be moved with unit cost and at most C per point."""
    between = D[np.ix_(y > 0, y < 0)]
    far = 1e3 * between.max()
    least = [0.0]
    p, q = between.shape
    for m in range(1, min(p, q) + 1):  # cheapest matching of m pairs, by dummy partners
        big = np.full((p + q - m, p + q - m), 0.0)
        big[:p, :q] = between
        big[p:, q:] = far * (p + q)
        least.append(matching_cost(big))
    best = np.interp(1 / C, least, np.arange(len(least)))
    return 2 * C * best


class TestConstants:
    def test_constant_function(self):
        assert lipschitz_constant(line(0, 4), [1, 1]) == 0
        assert lipschitz_norm(line(0, 4), [1, 1]) == 0.25

    def test_norm_is_the_constant_when_the_sign_changes(self):
        rng = np.random.default_rng(0)
        D = cdist(*[rng.random((8, 2))] * 2)
        f = rng.standard_normal(8)
        f -= f.mean()
        assert lipschitz_norm(D, f) == lipschitz_constant(D, f)
        assert lipschitz_constant(D, f + 9) == pytest.approx(lipschitz_constant(D, f))
        brute = max(abs(f[i] - f[j]) / D[i, j] for i in range(8) for j in range(i))
        assert lipschitz_constant(D, f) == pytest.approx(brute)

    def test_touching_points(self):
        assert lipschitz_constant(line(0, 0, 1), [1, 1, 2]) == 1
        assert lipschitz_constant(line(0, 0, 1), [1, 2, 2]) == np.inf
        with pytest.raises(ValueError, match="positive diameter"):
            lipschitz_norm(line(0, 0), [1, 1])

    def test_the_opposite_order_of_the_two_norms(self):
        D = np.array([[0, 5, 3, 6], [5, 0, 4, 1], [3, 4, 0, 5], [6, 1, 5, 0]])
        assert lipschitz_norm(D, [-1, -1, -1, -1]) == pytest.approx(1 / 6)
        assert lipschitz_norm(D, [1, 0, 1, 0]) == pytest.approx(1 / 4)


class TestExtension:
    X = np.random.default_rng(1).random((15, 2))
    Z = np.random.default_rng(2).uniform(-1, 2, (200, 2))
    a = np.random.default_rng(3).standard_normal(15)

    def test_interpolates_and_keeps_the_constant(self):
        D = cdist(self.X, self.X)
        L = lipschitz_constant(D, self.a)
        both = np.vstack([self.X, self.Z])
        for alpha in (0, 0.3, 0.5, 1):
            f = lipschitz_extension(cdist(both, self.X), self.a, L, alpha=alpha)
            np.testing.assert_allclose(f[:15], self.a, atol=1e-12)
            assert lipschitz_constant(cdist(both, both), f) == pytest.approx(L)
        half = lipschitz_extension(cdist(self.Z, self.X), self.a, L)
        assert self.a.min() - 1e-12 <= half.min() and half.max() <= self.a.max() + 1e-12

    def test_every_extension_lies_between(self):
        D, cross = cdist(self.X, self.X), cdist(self.Z, self.X)
        L = lipschitz_constant(D, self.a)
        low = lipschitz_extension(cross, self.a, L, alpha=0)
        high = lipschitz_extension(cross, self.a, L, alpha=1)
        assert (low <= high + 1e-12).all()
        flipped = lipschitz_extension(cross, -self.a, L, alpha=1)
        np.testing.assert_allclose(flipped, -low)
        np.testing.assert_allclose(lipschitz_extension(cross, self.a + 3, L, alpha=0), low + 3)

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\]"):
            lipschitz_extension([[1.0]], [1.0], 1.0, alpha=1.5)
        with pytest.raises(ValueError, match="one column per value"):
            lipschitz_extension([[1.0]], [1.0, 2.0], 1.0)


class TestHard:
    def test_margin_and_nearest_neighbour(self):
        X, y = sample(40, shift=3)
        D = cdist(X, X)
        fit = lipschitz_hard(D, y)
        gap = D[np.ix_(y > 0, y < 0)].min()
        assert fit.constant == pytest.approx(2 / gap) and fit.margin == pytest.approx(gap / 2)
        assert lipschitz_constant(D, y) == pytest.approx(fit.constant)
        Z = np.random.default_rng(5).uniform(-6, 6, (10_000, 2))
        cross = cdist(Z, X)
        f = fit.decision(cross)
        g = nearest_difference(cross[:, y > 0].min(axis=1), cross[:, y < 0].min(axis=1), gap)
        np.testing.assert_allclose(f, np.clip(g, -1, 1), atol=1e-12)
        np.testing.assert_array_equal(np.sign(f), y[cross.argmin(axis=1)])

    def test_program_has_the_closed_form_value(self):
        X, y = sample(12, shift=3)
        D = cdist(X, X)
        assert full_program(D, y, 1e4) == pytest.approx(lipschitz_hard(D, y).objective)

    def test_scaling(self):
        X, y = sample(20, shift=3)
        D = cdist(X, X)
        one, five = lipschitz_hard(D, y), lipschitz_hard(5 * D, y)
        assert five.constant == pytest.approx(one.constant / 5)
        np.testing.assert_allclose(five.decision(5 * D), one.decision(D))

    def test_touching_classes_and_one_class(self):
        with pytest.raises(ValueError, match=r"touch at points \(1, 0\); use the soft margin"):
            lipschitz_hard(line(0, 0, 1), [-1, 1, 1])
        with pytest.raises(ValueError, match=r"both labels, got only \+1"):
            lipschitz_hard(line(0, 1), [1, 1])
        with pytest.raises(ValueError, match="labels -1 and"):
            lipschitz_hard(line(0, 1), [0, 1])


class TestSoft:
    @pytest.mark.parametrize(
        ("C", "value"), [(0.05, 0.2), (1 / 6, 4 / 6), (0.3, 0.8), (0.5, 1.0), (7.0, 1.0)]
    )
    def test_four_points(self, C, value):
        fit = lipschitz_soft(line(0, 1, 3, 4), [-1, -1, 1, 1], C)
        assert fit.objective == pytest.approx(value) and fit.gap < 1e-9

    @pytest.mark.parametrize(("C", "value"), [(0.25, 1.0), (0.5, 2.0), (2.0, 2.0)])
    def test_alternating_points(self, C, value):
        assert lipschitz_soft(line(0, 1, 2, 3), [-1, 1, -1, 1], C).objective == pytest.approx(value)

    @pytest.mark.parametrize("C", [0.01, 0.05, 0.3, 3.0])
    @pytest.mark.parametrize("seed", [0, 1])
    def test_primal_program_and_matching_dual(self, C, seed):
        X, y = sample(24, seed)
        D = cdist(X, X)
        fit = lipschitz_soft(D, y, C)
        assert fit.objective == pytest.approx(full_program(D, y, C), rel=1e-8)
        assert fit.objective == pytest.approx(matching_value(D, y, C), rel=1e-8)
        assert fit.constant == pytest.approx(lipschitz_constant(D, fit.values))
        assert fit.constant + C * fit.slack.sum() == pytest.approx(fit.objective)

    def test_limits(self):
        X, y = sample(30, shift=1.5)
        D = cdist(X, X)
        between = D[np.ix_(y > 0, y < 0)]
        assert lipschitz_soft(D, y, 1.01 / between.min()).objective == pytest.approx(
            2 / between.min()
        )
        small = 0.99 / matching_cost(between)
        few = min((y > 0).sum(), (y < 0).sum())
        flat = lipschitz_soft(D, y, small)
        assert flat.objective == pytest.approx(2 * small * few)
        assert flat.constant == pytest.approx(0, abs=1e-9) and len(set(flat.values)) == 1

    def test_value_is_concave_and_rising_in_the_price(self):
        X, y = sample(40)
        D = cdist(X, X)
        values = [lipschitz_soft(D, y, C).objective for C in np.linspace(0.02, 0.6, 12)]
        steps = np.diff(values)
        assert (steps >= -1e-9).all() and (np.diff(steps) <= 1e-8).all()

    def test_other_dissimilarities_need_all_pairs(self):
        rng = np.random.default_rng(4)
        D = rng.uniform(0.2, 5, (14, 14))
        D = (D + D.T) / 2
        np.fill_diagonal(D, 0)
        y = np.where(np.arange(14) % 2, 1.0, -1.0)
        for C in (0.1, 0.4, 2.0):
            fit = lipschitz_soft(D, y, C)
            assert fit.objective == pytest.approx(full_program(D, y, C), rel=1e-7)
            assert lipschitz_constant(D, fit.values) <= fit.constant * (1 + 1e-9)

    def test_duplicates_with_opposite_labels(self):
        D = line(0, 0, 1, 2)
        y = np.array([1.0, -1, -1, 1])
        fit = lipschitz_soft(D, y, 3.0)
        assert fit.values[0] == pytest.approx(fit.values[1])
        assert fit.objective == pytest.approx(full_program(D, y, 3.0))

    def test_larger_sample_certifies_itself(self):
        X, y = sample(400)
        fit = lipschitz_soft(cdist(X, X), y, 0.05)
        assert fit.gap < 1e-8 * fit.objective and fit.n_constraints < 0.1 * 400 * 399

    def test_bad_price(self):
        with pytest.raises(ValueError, match="C must be positive"):
            lipschitz_soft(line(0, 1), [-1, 1], 0.0)


class TestSpans:
    def test_lp_machine(self):
        fit = lp_machine(line(0, 1, 3, 4), [-1, -1, 1, 1])
        assert fit.objective == pytest.approx(1)
        np.testing.assert_allclose(fit.decision(line(0, 1, 3, 4)), [-1, -1, 1, 1], atol=1e-9)

    def test_the_sum_of_weights_is_a_loose_bound(self):
        D, y = line(0, 1, 2, 3), [-1, 1, -1, 1]
        assert lp_machine(D, y).objective == pytest.approx(6)
        assert lipschitz_subspace(D, D, y).objective == pytest.approx(2)

    def test_cycle_is_not_separable_by_its_distances(self):
        with pytest.raises(ValueError, match="not separable in the span"):
            lp_machine(CYCLE, SIGNS)
        assert lp_machine(CYCLE, SIGNS, C=1.0).objective == pytest.approx(4)
        with pytest.raises(ValueError, match="no solution"):
            lipschitz_subspace(CYCLE, CYCLE, SIGNS)
        np.testing.assert_allclose(lipschitz_hard(CYCLE, SIGNS).decision(CYCLE), SIGNS)

    def test_an_unlabelled_point_helps(self):
        with pytest.raises(ValueError, match="no solution"):
            lipschitz_subspace(SECOND[:, :4], SECOND, SIGNS)
        assert lipschitz_subspace(SECOND, SECOND, SIGNS).objective == pytest.approx(2)

    def test_the_constant_grows_off_the_sample(self):
        sub = THIRD[:4, :4]
        assert lipschitz_subspace(sub, sub, SIGNS).objective == pytest.approx(2)
        assert lipschitz_subspace(THIRD[:, :4], THIRD, SIGNS).objective == pytest.approx(4)
        assert lipschitz_subspace(THIRD, THIRD, SIGNS).objective == pytest.approx(4)

    def test_soft_subspace_is_no_better_than_all_functions(self):
        X, y = sample(30)
        D = cdist(X, X)
        narrow = lipschitz_subspace(D[:, :5], D, y, C=0.1).objective
        wide = lipschitz_subspace(D[:, :15], D, y, C=0.1).objective
        assert lipschitz_soft(D, y, 0.1).objective <= wide * (1 + 1e-7) <= narrow * (1 + 1e-6)


class TestTransport:
    def test_duality(self):
        rng = np.random.default_rng(0)
        D = cdist(*[rng.random((10, 2))] * 2)
        m = rng.standard_normal(10)
        m -= m.mean()
        i, j = np.nonzero(~np.eye(10, dtype=bool))
        A = np.zeros((len(i), 10))
        A[np.arange(len(i)), i], A[np.arange(len(i)), j] = 1, -1
        dual = -linprog(-m, A_ub=A, b_ub=D[i, j], bounds=(-5, 5)).fun
        assert arens_eells(D, m) == pytest.approx(dual)

    def test_unit_masses_are_matched(self):
        rng = np.random.default_rng(1)
        X = rng.random((12, 2))
        D = cdist(X, X)
        m = np.repeat([1.0, -1.0], 6)
        assert arens_eells(D, m) == pytest.approx(matching_cost(D[:6, 6:]))

    def test_leftovers_go_to_the_base_point(self):
        D = line(0, 1, 3)
        with pytest.raises(ValueError, match="sum to zero, got 1"):
            arens_eells(D, [1, 1, -1])
        assert arens_eells(D, [1, 1, -1], diameter=3) == pytest.approx(5)
        assert arens_eells(D, [1, 1, 1], diameter=3) == pytest.approx(9)

    def test_rademacher_average(self):
        exact = lipschitz_rademacher(line(0, 1, 3))
        assert exact.value == pytest.approx(11 / 6) and exact.error == 0

    def test_rademacher_average_by_sampling(self):
        x = np.random.default_rng(0).random(100)
        average = lipschitz_rademacher(line(*x), diameter=1.0, draws=400)
        assert average.value == pytest.approx(0.096, abs=0.02) and 0 < average.error < 0.01

    def test_discrepancy_on_the_interval(self):
        n = 50
        t = (np.arange(2000) + 0.5) / 2000
        F = binom.cdf(np.arange(n)[:, None], n, t)
        exact = 2 / n * (F * (1 - F)).sum(axis=0).mean()
        assert exact == pytest.approx(0.06220, abs=1e-4)
        rng = np.random.default_rng(0)
        draws = [np.abs(np.sort(rng.random(n)) - np.sort(rng.random(n))).mean() for _ in range(600)]
        x, z = rng.random((2, n, 1))
        assert matching_cost(cdist(x, z)) == pytest.approx(
            np.abs(np.sort(x[:, 0]) - np.sort(z[:, 0])).sum()
        )
        assert abs(np.mean(draws) - exact) < 4 * np.std(draws) / np.sqrt(600)


class TestRiskBound:
    def test_by_hand(self):
        # losses 0, 0.5, 1, 1 have mean 0.625; 2 * 3 * 0.1 = 0.6; sqrt(8 ln(40) / 4) = 2.716203
        bound = lipschitz_risk_bound([2.0, 0.5, 0.0, -4.0], 3.0, 0.1, 0.05)
        np.testing.assert_allclose(list(bound.terms.values()), [0.625, 0.6, 2.716203], rtol=1e-6)
        assert bound.raw == pytest.approx(3.941203, rel=1e-6)
        assert bound.vacuous and bound.value == 1 and bound.delta == 0.05

    def test_holds_for_the_best_function_on_a_sample(self):
        """Functions on [0, 1] of constant 8, labels by the half with a tenth of them flipped."""
        rng = np.random.default_rng(0)
        n, grid = 4000, np.linspace(0, 1, 2001)
        x = np.sort(rng.random(n))
        y = np.where((x > 0.5) ^ (rng.random(n) < 0.1), 1.0, -1.0)
        average = 0.97 / np.sqrt(n)  # of the unit ball of [0, 1], from its values .096 and .048
        for shift in np.linspace(-0.2, 0.2, 9):
            f = np.clip(8 * (x - 0.5 - shift), -1, 1)
            truth = np.clip(8 * (grid - 0.5 - shift), -1, 1)
            side = np.where(grid > 0.5, 1, -1)
            risk = np.mean(
                0.9 * np.clip(1 - side * truth, 0, 1) + 0.1 * np.clip(1 + side * truth, 0, 1)
            )
            bound = lipschitz_risk_bound(y * f, 8.0, average)
            assert risk < bound.raw < 1

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1.0], 1.0, 0.1, 0.0), "delta"),
            (([1.0], 1.0, 0.1, 1.0), "delta"),
            (([1.0], 1.0, -0.1), "complexity"),
            (([1.0], -1.0, 0.1), "constant"),
            (([], 1.0, 0.1), "margins"),
        ],
    )
    def test_refuses(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            lipschitz_risk_bound(*arguments)
