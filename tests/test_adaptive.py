import numpy as np
import pytest
from scipy.optimize import linprog

from bayeskern.classic.adaptive import adaptive_margin, leave_one_out_machine

D2 = np.array([[2, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1], [-1, 1], [1, 0.5]])
Y2 = np.array([1, 1, 1, -1, -1, -1, 1, -1])


def rbf(X, scale=1.0):
    return np.exp(-((X[:, None] - X) ** 2).sum(-1) / (2 * scale**2))


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(3, 13)
    X = rng.normal(size=(n, 2))
    K = rbf(X, 0.7) if seed % 2 else X @ X.T + 0.5
    return K, np.where(rng.random(n) < 0.5, 1, -1)


@pytest.mark.parametrize(
    ("lam", "value"),
    [(0.25, 0), (0.9, 0), (1, 1.6615355307), (1.2, 3.0824824774), (1.5, 7.8619842159), (2, 8)],
)
def test_printed_values(lam, value):
    found = adaptive_margin(rbf(D2), Y2, lam)
    assert found.objective == pytest.approx(value, abs=1e-7)
    assert found.threshold == pytest.approx(1.5461485993, abs=1e-10)
    assert found.gap < 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_certificate_and_complementary_slackness(seed):
    K, y = random_problem(seed)
    for lam in (0.0, 0.5, 1.0, 1.7):
        found = adaptive_margin(K, y, lam)
        Q = y[:, None] * K * y - lam * np.diag(K.diagonal())
        assert found.alpha.min() >= 0
        assert (Q @ found.alpha + found.slacks >= 1 - 1e-9).all()
        assert found.dual.min() >= 0
        assert found.dual.max() <= 1
        assert (Q @ found.dual).max() <= 1e-7 * np.abs(Q).max()
        assert found.dual.sum() == pytest.approx(found.objective, abs=1e-6)
        assert found.converged
        # weights only where the dual constraint is active, slack only where its weight is 1
        assert np.abs(found.alpha * (Q @ found.dual)).max() < 1e-5
        assert np.abs(found.slacks * (1 - found.dual)).max() < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_dual_program_solved_on_its_own(seed):
    K, y = random_problem(seed)
    Q = y[:, None] * K * y - 0.8 * np.diag(K.diagonal())
    dual = linprog(-np.ones(len(y)), A_ub=Q, b_ub=np.zeros(len(y)), bounds=(0, 1))
    assert adaptive_margin(K, y, 0.8).objective == pytest.approx(-dual.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_value_grows_with_the_correction_up_to_an_exact_threshold(seed):
    K, y = random_problem(seed)
    values = [adaptive_margin(K, y, lam).objective for lam in (0, 0.3, 0.7, 1, 1.5, 3)]
    assert (np.diff(values) >= -1e-6).all()
    assert -1e-9 <= min(values)
    assert max(values) <= len(y) + 1e-9
    threshold = adaptive_margin(K, y).threshold
    if threshold > 0:
        above, below = (adaptive_margin(K, y, threshold * c) for c in (1 + 1e-6, 1 - 1e-2))
        assert above.objective == pytest.approx(len(y), abs=1e-6)
        assert below.objective < len(y) - 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_leave_one_out_machine_counts_what_it_promises(seed):
    K, y = random_problem(seed)
    found = leave_one_out_machine(K, y)
    others = K - np.diag(K.diagonal())
    np.testing.assert_allclose(found.loo_margins, y * (others @ found.coefficients), atol=1e-9)
    assert (found.loo_margins <= 0).sum() <= found.objective + 1e-6
    assert (y * found(K))[found.loo_margins > 1e-9].min(initial=1) > 0
    hinge = np.maximum(1 - y * found(K), 0)
    bound = np.maximum(found.slacks - found.alpha * K.diagonal(), 0)
    assert (hinge <= bound + 1e-7).all()


def test_kernel_scale_leaves_the_function():
    one, many = adaptive_margin(rbf(D2), Y2, 1.2), adaptive_margin(1000 * rbf(D2), Y2, 1.2)
    assert many.objective == pytest.approx(one.objective)
    np.testing.assert_allclose(1000 * many.alpha, one.alpha, atol=1e-8)


@pytest.mark.parametrize("c", [0.0, 0.4, 0.8])
def test_two_points_in_closed_form(c):
    K = np.array([[1, c], [c, 1]])
    for y, limit in (([1, 1], 1 + c), ([1, -1], 1 - c)):
        assert adaptive_margin(K, y, limit - 1e-3).objective == pytest.approx(0, abs=1e-6)
        assert adaptive_margin(K, y, limit + 1e-3).objective == pytest.approx(2, abs=1e-6)


def test_correction_is_by_the_diagonal_and_not_by_the_number():
    K, y = np.array([[4.0, 1.0], [1.0, 4.0]]), np.array([1, -1])
    assert adaptive_margin(K, y, 1).objective == pytest.approx(2)
    Q = y[:, None] * K * y
    assert ((Q - np.eye(2)) @ [0.5, 0.5] >= 1).all()  # the misprinted program has value 0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="lam must be non-negative, got -1"):
        adaptive_margin(np.eye(2), [1, -1], -1)
    with pytest.raises(ValueError, match="positive diagonal, got 0 at 1"):
        adaptive_margin(np.diag([1.0, 0.0]), [1, -1])
    with pytest.raises(ValueError, match=r"labels -1 and \+1 only"):
        adaptive_margin(np.eye(2), [0, 1])
