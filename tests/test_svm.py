"""Support vector machines: golden numbers, exact thresholds, certificates, a peer's objective."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayeskern.classic import _smo
from bayeskern.classic._dual import Rows, expand
from bayeskern.classic.margin import C_of_lambda, C_of_nu, lambda_of_C, nu_of_C
from bayeskern.classic.support import hard_margin, least_nu, nu_svm, svm, svm_path
from bayeskern.errors import ConvergenceWarning, NotPSDError, NotSeparableError
from bayeskern.kernels import RBF

X1 = np.array([[2.0, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1]])
Y1 = np.array([1.0, 1, 1, -1, -1, -1])
X2 = np.vstack([X1, [[-1.0, 1], [1, 0.5]]])
Y2 = np.append(Y1, [1.0, -1])
XOR = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
YXOR = np.array([1.0, 1, -1, -1])
N4, YN4 = np.array([[1.0], [1], [1], [2]]), np.array([1.0, 1, 1, -1])
G2 = RBF(1.0)(X2)
L2 = X2 @ X2.T
TIGHT = dict(tol=1e-11)
BIASES = ["none", "ordinary", 0.5]


def noisy(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + X[:, 1] ** 2 - 1 + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


class TestGoldenNumbers:
    def test_hard_margin(self):
        s = svm(G2, Y2, np.inf, **TIGHT)
        expected = [2.0247322499, 0.8767770187, 0.2825382609, 0.7551862805, 1.5674759891,
                    0.3354379933, 1.8449669716, 2.2691385639]  # fmt: skip
        assert_allclose(s.alpha, expected, atol=1e-9)
        assert_allclose([s.dual, s.margin], [4.9781266640, 0.3169217394], atol=1e-9)

    @pytest.mark.parametrize(
        "sigma, gamma",
        [(0.05, 0.3535533906), (0.3, 0.3535114166), (1, 0.3169217394), (3, 0.0977446462)],
    )
    def test_hard_margin_by_width(self, sigma, gamma):
        assert svm(RBF(sigma)(X2), Y2, np.inf, **TIGHT).margin == pytest.approx(gamma, abs=1e-9)

    def test_linear_soft_margin(self):
        s = svm(G2, Y2, C_of_lambda(0.05, 8), **TIGHT)
        alpha = [1.25, 0.8868240877, 0.5220867194, 0.7149126364, 1.25, 0.5139981647, 1.25, 1.25]
        margins = [0.8499126171, 1, 1, 1, 0.9029163672, 1, 0.6209612111, 0.4874466178]
        assert_allclose(s.alpha, alpha, atol=1e-9)
        assert_allclose(s.margins, margins, atol=1e-9)
        assert s.dual == pytest.approx(4.5306377958, abs=1e-9)

    def test_quadratic_soft_margin(self):
        s = svm(G2, Y2, C_of_lambda(0.05, 8), loss="quadratic", **TIGHT)
        alpha = [0.9952196532, 0.6517996750, 0.4505744169, 0.5507163354, 0.9301386092,
                 0.4289698642, 1.0699621745, 1.1514741267]  # fmt: skip
        assert_allclose(s.alpha, alpha, atol=1e-9)
        assert s.dual == pytest.approx(3.1144274275, abs=1e-9)
        assert_allclose(s.slacks, 0.05 * 8 * s.alpha, atol=1e-9)
        flat = svm(L2, Y2, C_of_lambda(0.05, 8), loss="quadratic", **TIGHT)
        assert_allclose(X2.T @ flat.coefficients, [0.0994119294, 0.6440772893], atol=1e-9)

    def test_nu(self):
        s = nu_svm(G2, Y2, 0.6, **TIGHT)
        alpha = [0.1167564238, 0.0549335540, 0.0208134504, 0.0462495608, 0.0976891568,
                 0.0246576002, 0.1139002540, 0.125]  # fmt: skip
        assert_allclose(s.alpha, alpha, atol=1e-9)
        assert_allclose([s.rho, s.dual], [0.0628029200, -0.0181445275], atol=1e-9)

    @pytest.mark.parametrize(
        "nu, w, rho",
        [(0.6, (0.2, 0.2875), 0.6875), (0.8, (0.425, 0.7125), 2.5625), (0.5, (0, 0.1875), 0.1875)],
    )
    def test_nu_with_linear_kernel(self, nu, w, rho):
        s = nu_svm(L2, Y2, nu, **TIGHT)
        assert_allclose(X2.T @ s.coefficients, w, atol=1e-8)
        assert s.rho == pytest.approx(rho, abs=1e-8)

    def test_separable_lines(self):
        s = svm(X1 @ X1.T, Y1, np.inf, **TIGHT)
        assert_allclose(s.alpha, [0, 0, 0, 0, 0.25, 1], atol=1e-9)
        assert_allclose(s.margins, [2, 3.5, 3.5, 2.5, 1, 1], atol=1e-9)
        w = X1.T @ s.coefficients
        assert np.degrees(np.arctan2(w[1], w[0])) == pytest.approx(63.4349, abs=1e-4)
        unit = X1 / np.linalg.norm(X1, axis=1)[:, None]
        w = unit.T @ svm(unit @ unit.T, Y1, np.inf, **TIGHT).coefficients
        assert np.degrees(np.arctan2(w[1], w[0])) == pytest.approx(45, abs=1e-6)

    @pytest.mark.parametrize("bias", ["none", "ordinary"])
    def test_xor(self, bias):
        s = svm((XOR @ XOR.T + 1) ** 2, YXOR, np.inf, bias=bias, **TIGHT)
        assert_allclose(s.alpha, 0.125, atol=1e-10)
        assert_allclose([s.bias, s.norm**2, 2 * s.margin], [0, 0.5, 2 * np.sqrt(2)], atol=1e-9)
        f = s((np.array([[0.3, -2.0]]) @ XOR.T + 1) ** 2)
        assert_allclose(f, -0.6, atol=1e-9)

    def test_ordinary_bias_by_hand(self):
        z = np.array([[-1.0, 1], [0, 0], [1, 1]])
        s = svm(z @ z.T, [-1, 1, -1], np.inf, bias="ordinary", **TIGHT)
        assert_allclose(s.alpha, [1, 2, 1], atol=1e-8)
        assert_allclose([*(z.T @ s.coefficients), s.bias], [0, -2, 1], atol=1e-8)
        x = np.array([[0.0], [1], [2], [3], [1.5]])
        s = svm(x @ x.T, [-1, -1, 1, 1, -1], 0.5, bias="ordinary", **TIGHT)
        assert_allclose([*(x.T @ s.coefficients), s.bias], [1, -2], atol=1e-8)

    @pytest.mark.parametrize("C", [0.1, 0.3, 0.5, 2.0])
    def test_two_points_on_a_line(self, C):
        x = np.array([[1.0], [-1.0]])
        s = svm(x @ x.T, [1, -1], C, bias="ordinary", **TIGHT)
        assert_allclose(s.alpha, min(C, 0.5), atol=1e-9)
        assert s.bias_unique == (C >= 0.5)
        assert s.bias == pytest.approx(0, abs=1e-9)

    @pytest.mark.parametrize("C", [0.1, 0.2, 0.4, 0.7, 1.0, 2.0])
    def test_one_class_without_bias_is_a_problem_like_any_other(self, C):
        x = np.array([[1.0], [2.0]])
        w = x.T @ svm(x @ x.T, [1, 1], C, **TIGHT).coefficients
        assert w[0] == pytest.approx(np.clip(C, min(3 * C, 0.5), 1.0), abs=1e-9)


class TestThresholds:
    def test_the_soft_margin_becomes_hard(self):
        hard = svm(G2, Y2, np.inf, **TIGHT)
        limit = lambda_of_C(hard.alpha.max(), 8)
        assert limit == pytest.approx(0.0275434921, abs=1e-9)
        above, below = (svm(G2, Y2, C_of_lambda(f * limit, 8), **TIGHT) for f in (0.999, 1.001))
        assert_allclose(above.alpha, hard.alpha, atol=1e-9)
        assert np.abs(below.alpha - hard.alpha).max() > 1e-4

    def test_the_soft_margin_becomes_parzen(self):
        limit = (np.outer(Y2, Y2) * G2).sum(axis=1).max() / 16
        assert limit == pytest.approx(0.0966342875, abs=1e-9)
        above, below = (C_of_lambda(f * limit, 8) for f in (1.001, 0.999))
        assert (svm(G2, Y2, above, **TIGHT).alpha == above).all()
        assert not (svm(G2, Y2, below, **TIGHT).alpha == below).all()

    def test_nu_min(self):
        assert least_nu(L2, Y2) == pytest.approx(0.28125, abs=1e-9)
        assert least_nu(G2, Y2) == pytest.approx(0, abs=1e-9)
        with pytest.raises(ValueError, match=r"nu must exceed 0\.75"):
            nu_svm(N4 @ N4.T, YN4, 0.74)

    @pytest.mark.parametrize("nu", [0.8, 0.95])
    def test_nu_closed_form(self, nu):
        s = nu_svm(N4 @ N4.T, YN4, nu, **TIGHT)
        assert_allclose([s.rho, *(N4.T @ s.coefficients)], nu - 0.75, atol=1e-9)
        assert lambda_of_C(C_of_nu(s), 4) == pytest.approx((nu - 0.75) / 2, abs=1e-9)

    def test_nu_and_C_are_one_family(self):
        a = nu_svm(G2, Y2, 0.6, **TIGHT)
        b = svm(G2, Y2, C_of_nu(a), **TIGHT)
        assert_allclose(a.alpha, a.rho * b.alpha, atol=1e-8)
        assert nu_of_C(b, C_of_nu(a)) == pytest.approx(0.6, abs=1e-8)

    def test_nu_brackets_the_margin_errors(self):
        X, y = noisy(60)
        s = nu_svm(RBF(1.0)(X), y, 0.43)
        assert np.mean(s.margins < s.rho - 1e-6) <= 0.43 <= np.mean(s.alpha > 0)


class TestCertificates:
    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("loss", ["linear", "quadratic"])
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    def test_primal_is_dual(self, bias, loss, C):
        X, y = noisy(120)
        s = svm(RBF(1.5)(X), y, C, loss=loss, bias=bias, tol=1e-9)
        assert s.converged and s.gap < 1e-8 and s.kkt < 1e-8
        assert s.alpha.sum() == pytest.approx(
            s.norm**2 + (C * s.slacks.sum() if loss == "linear" else 2 * C * (s.slacks**2).sum()),
            rel=1e-7,
        )

    @pytest.mark.parametrize("bias", BIASES)
    def test_hard_margin_is_certified(self, bias):
        X, y = noisy(80)
        s = svm(RBF(0.7)(X), y, np.inf, bias=bias, tol=1e-9)
        assert s.gap < 1e-8 and s.margins.min() == pytest.approx(1, abs=1e-8)
        assert s.alpha.sum() == pytest.approx(s.norm**2, rel=1e-8)

    @pytest.mark.parametrize("bias", BIASES)
    def test_nu_is_certified(self, bias):
        X, y = noisy(80)
        s = nu_svm(RBF(0.7)(X), y, 0.4, bias=bias, tol=1e-9)
        assert s.gap < 1e-8 and s.kkt < 1e-9

    def test_a_wrong_answer_has_a_gap(self):
        X, y = noisy(120)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            s = svm(RBF(1.5)(X), y, 10.0, max_iter=20)
        assert not s.converged and s.gap > 1e-2

    def test_penalised_bias_is_a_kernel_plus_a_constant(self):
        X, y = noisy(80)
        K = RBF(1.0)(X)
        a, b = svm(K, y, 2.0, bias=0.7, **TIGHT), svm(K + 0.7, y, 2.0, **TIGHT)
        assert_allclose(a.margins, b.margins, atol=1e-8)
        assert a.objective == pytest.approx(b.objective, rel=1e-10)
        wide = svm(K, y, 2.0, bias=1e5, tol=1e-9)
        assert wide.bias == pytest.approx(svm(K, y, 2.0, bias="ordinary", **TIGHT).bias, abs=1e-4)

    def test_class_weights_move_the_errors(self):
        X, y = noisy(150)
        K = RBF(1.5)(X)
        plain, weighted = svm(K, y, 0.1), svm(K, y, 0.1, class_weight={1: 5.0})
        assert (weighted.upper[y > 0] == 0.5).all() and weighted.gap < 1e-5
        assert np.mean(weighted.margins[y > 0] <= 0) < np.mean(plain.margins[y > 0] <= 0)

    def test_path_agrees_with_single_fits(self):
        X, y = noisy(120)
        K, Cs = RBF(1.0)(X), np.logspace(-2, 2, 9)
        for bias in BIASES:
            for C, s in zip(Cs, svm_path(K, y, Cs, bias=bias, tol=1e-8), strict=True):
                single = svm(K, y, C, bias=bias, tol=1e-8)
                assert s.objective == pytest.approx(single.objective, rel=1e-7)
                assert s.gap < 1e-7


class TestAgainstScikitLearn:
    def dual(self, K, y, beta):
        return y @ beta - 0.5 * beta @ K @ beta

    @pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
    def test_svc(self, C):
        from sklearn.svm import SVC

        X, y = noisy(200)
        K = RBF(1.2)(X)
        peer = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
        beta = np.zeros(200)
        beta[peer.support_] = peer.dual_coef_[0]
        s = svm(K, y, C, bias="ordinary", tol=1e-8)
        assert s.dual == pytest.approx(self.dual(K, y, beta), rel=1e-8)
        assert_allclose(s(K), peer.decision_function(K), atol=1e-6 * max(C, 1))

    def test_nu_svc(self):
        from sklearn.svm import NuSVC

        X, y = noisy(150)
        K = RBF(1.2)(X)
        peer = NuSVC(nu=0.4, kernel="precomputed", tol=1e-9).fit(K, y)
        s = nu_svm(K, y, 0.4, bias="ordinary", tol=1e-9)
        assert_allclose(s(K) / s.rho, peer.decision_function(K), atol=1e-6)

    @pytest.mark.parametrize("loss, power", [("hinge", 1), ("squared_hinge", 2)])
    def test_linear_svc_without_intercept(self, loss, power):
        from sklearn.svm import LinearSVC

        X, y = noisy(100)
        peer = LinearSVC(C=0.3, loss=loss, fit_intercept=False, tol=1e-10, max_iter=10**6)
        w = peer.fit(X, y).coef_[0]
        s = svm(X @ X.T, y, 0.3, loss="linear" if power == 1 else "quadratic", tol=1e-9)
        slack = np.maximum(1 - y * (X @ w), 0)
        assert s.objective == pytest.approx(w @ w / 2 + 0.3 * (slack**power).sum(), rel=1e-8)


class TestRowsOnDemand:
    def test_fast_rows_are_the_kernel(self):
        X, _ = noisy(300, d=11)
        S = Rows(kernel=RBF(0.4), X=1e3 + X).S
        row, acc = np.empty(300, np.float32), np.empty(_smo.TILE, np.float32)
        for i in (0, 17, 299):
            _smo.fill_row(S, i, acc, row)
            assert_allclose(row, RBF(0.4)(X)[i], rtol=2e-5, atol=1e-7)
            assert row[i] == 1

    @pytest.mark.parametrize("bias", BIASES)
    def test_rbf_rows_with_evictions(self, bias):
        X, y = noisy(600)
        kernel = RBF(1.0)
        tiny = Rows(kernel=kernel, X=X, cache_mb=0.02)
        assert len(tiny.rows) < 10
        a = svm(tiny, y, 1.0, bias=bias, tol=1e-4)
        b = svm(kernel(X), y, 1.0, bias=bias, tol=1e-4)
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
        assert a.gap < 1e-3 and a.kkt < 1.2e-4

    def test_path_on_rows(self):
        X, y = noisy(300)
        Cs = [0.1, 1.0, 10.0]
        rows = Rows(kernel=RBF(1.0), X=X)
        for a, C in zip(svm_path(rows, y, Cs, tol=1e-4), Cs, strict=True):
            assert a.dual == pytest.approx(svm(RBF(1.0)(X), y, C).dual, rel=1e-6)

    def test_rows_of_any_callable(self, monkeypatch):
        monkeypatch.setattr("bayeskern.classic._dual.GRAM_MB", 0.0)
        X, y = noisy(200)

        def kernel(A, B=None):
            return (A @ (A if B is None else B).T + 1.0) ** 2

        for cache_mb in (0.004, 1.0):
            rows = Rows(kernel=kernel, X=X, cache_mb=cache_mb)
            assert rows.source == _smo.ASK
            for bias in BIASES:
                a = svm(rows, y, 0.1, bias=bias, tol=1e-4)
                assert a.objective == pytest.approx(
                    svm(kernel(X), y, 0.1, bias=bias, tol=1e-4).objective, rel=1e-5
                )

    def test_expansion_is_the_matrix_product(self):
        X, y = noisy(700)
        for kernel in (RBF(0.8), RBF([1.0, 2, 1, 3, 1]), lambda A, B: A @ B.T):
            assert_allclose(
                expand(kernel, X, X[:300], y[:300]), kernel(X, X[:300]) @ y[:300], atol=1e-10
            )


class TestInvariance:
    def test_scaling_the_kernel(self):
        a, b = svm(G2, Y2, 1.0, **TIGHT), svm(4 * G2, Y2, 0.25, **TIGHT)
        assert_allclose(a.alpha, 4 * b.alpha, atol=1e-9)
        assert_allclose(a.margins, b.margins, atol=1e-9)

    @pytest.mark.parametrize("bias", BIASES)
    def test_flipping_labels_and_dropping_idle_points(self, bias):
        X, y = noisy(60)
        K = RBF(2.0)(X)
        a, b = svm(K, y, 1.0, bias=bias, **TIGHT), svm(K, -y, 1.0, bias=bias, **TIGHT)
        assert_allclose(a(K), -b(K), atol=1e-8)
        kept = a.support
        c = svm(K[np.ix_(kept, kept)], y[kept], 1.0, bias=bias, **TIGHT)
        assert_allclose(c(K[:, kept]), a(K), atol=1e-7)

    def test_duplicating_the_sample_at_equal_lambda(self):
        K = np.tile(G2, (2, 2))
        a = svm(G2, Y2, C_of_lambda(0.05, 8), **TIGHT)
        b = svm(K, np.tile(Y2, 2), C_of_lambda(0.05, 16), **TIGHT)
        assert_allclose(b(K)[:8], a(G2), atol=1e-8)


class TestBadInput:
    def test_labels(self):
        with pytest.raises(ValueError, match="labels -1 and \\+1 only, got 0"):
            svm(G2, (Y2 + 1) / 2, 1.0)
        with pytest.raises(ValueError, match="both labels for a machine with bias"):
            svm(G2, np.ones(8), 1.0, bias="ordinary")

    @pytest.mark.parametrize("bias", BIASES)
    def test_not_separable(self, bias):
        with pytest.raises(NotSeparableError, match="hulls meet"):
            svm(XOR @ XOR.T, YXOR, np.inf, bias=bias)

    def test_lines_need_the_bias(self):
        with pytest.raises(NotSeparableError):
            svm(L2, Y2, np.inf)
        assert svm(L2, Y2, np.inf, bias="ordinary").margin == pytest.approx(0.25, abs=1e-6)

    def test_indefinite(self):
        with pytest.raises(NotPSDError, match="semidefinite"):
            svm(np.array([[1.0, 2], [2, 1]]), [1, -1], 1.0)

    def test_numbers(self):
        for C in (0, -1.0, np.nan):
            with pytest.raises(ValueError, match="C must be"):
                svm(G2, Y2, C)
        with pytest.raises(ValueError, match=r"nu must be in \(0, 1\], got 1.2"):
            nu_svm(G2, Y2, 1.2)
        with pytest.raises(ValueError, match="nu must be at most"):
            nu_svm(G2[:5, :5], Y2[:5], 0.9, bias="ordinary")
        with pytest.raises(ValueError, match="class_weight must name labels that occur, got 2"):
            svm(G2, Y2, 1.0, class_weight={2: 1.0})
        with pytest.raises(ValueError, match="bias must be one of"):
            svm(G2, Y2, 1.0, bias="some")

    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("loss", ["linear", "quadratic"])
    def test_identical_points(self, bias, loss):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            s = svm(np.ones((5, 5)), [1, 1, 1, -1, -1], 1.0, bias=bias, loss=loss, tol=1e-9)
        assert s.gap < 1e-8
        with pytest.raises(NotSeparableError):
            hard_margin(np.ones((5, 5)), [1, 1, 1, -1, -1], bias=bias)

    def test_a_point_at_the_origin(self):
        x = np.array([[0.0], [1.0], [-1.0]])
        s = svm(x @ x.T, [1, 1, -1], 2.0, **TIGHT)
        assert s.gap < 1e-9 and s.alpha[0] == 2.0
