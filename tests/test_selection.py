"""Leave-one-out, its bounds, the criteria and the compression coefficients: printed numbers."""

import math
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_svm import G2, TIGHT, XOR, Y2, YXOR, noisy

from bayeskern.classic import selection
from bayeskern.classic.codes import (
    compression_coefficients,
    correction_bits,
    integer_code,
    log_star,
    spectrum_of,
)
from bayeskern.classic.margin import C_of_lambda
from bayeskern.classic.selection import (
    CRITERIA,
    loo_bound,
    loo_error,
    loo_margins,
    loo_scores,
    select,
    span_estimate,
    squared_spans,
    support_bound,
)
from bayeskern.classic.support import nu_svm, svm
from bayeskern.errors import NotPSDError
from bayeskern.kernels import RBF

SIX = np.array([-2.0, -1, -0.5, 0.5, 1, 2])[:, None]
YSIX = np.sign(SIX[:, 0])


def centred(K):
    J = np.eye(len(K)) - 1 / len(K)
    return J @ K @ J


def six(sigma):
    return centred(RBF(sigma / np.sqrt(2))(SIX))


def case(K, y, C, **settings):
    return selection._Case(K, y, svm(K, y, C, **TIGHT), C, spectrum_of(K), settings)


class TestLeaveOneOut:
    def test_golden_numbers(self):
        C = C_of_lambda(0.05, 8)
        s = svm(G2, Y2, C, **TIGHT)
        exact = [-0.1578302823, 0.1191513243, 0.4814310801, 0.3818402728, -0.3078241440,
                 0.5555639496, -0.4894955233, -0.4109374532]  # fmt: skip
        bound = [-0.4000873829, 0.1131759123, 0.4779132806, 0.2850873636, -0.3470836328,
                 0.4860018353, -0.6290387889, -0.7625533822]  # fmt: skip
        assert_allclose(loo_margins(G2, Y2, C, **TIGHT), exact, atol=1e-8)
        assert_allclose(loo_scores(s, G2), bound, atol=1e-8)
        assert (loo_error(G2, Y2, C), loo_bound(s, G2), support_bound(s)) == (0.5, 0.5, 1)
        hard = [-0.1802315881, 0.1322544405, 0.7662153470, 0.3543130321, -0.3413751997,
                0.7277651642, -0.5597543179, -0.4439695693]  # fmt: skip
        assert_allclose(loo_margins(G2, Y2, np.inf, **TIGHT), hard, atol=1e-8)

    def test_xor_is_tight(self):
        K = (XOR @ XOR.T + 1) ** 2
        s = svm(K, YXOR, np.inf, **TIGHT)
        assert_allclose(loo_scores(s, K), -1 / 8, atol=1e-9)
        assert_allclose(loo_margins(K, YXOR, np.inf, **TIGHT), -1 / 11, atol=1e-8)
        assert loo_error(K, YXOR, np.inf) == loo_bound(s, K) == 1

    def test_one_point_is_a_tie_and_an_error(self):
        K = np.ones((1, 1))
        assert loo_error(K, [1], 5.0) == loo_bound(svm(K, [1], 5.0, **TIGHT), K) == 1

    @pytest.mark.parametrize("loss", ["linear", "quadratic"])
    def test_chain_of_bounds(self, loss):
        rng = np.random.default_rng(3)
        for _ in range(25):
            n = rng.integers(3, 11)
            X, y = rng.standard_normal((n, 2)), rng.choice([-1.0, 1.0], n)
            K, C = RBF(1.0)(X), 10 ** rng.uniform(-1, 1.5)
            s = svm(K, y, C, loss=loss, tol=1e-10)
            exact = loo_margins(K, y, C, loss=loss, tol=1e-10)
            scores = loo_scores(s, K)
            assert (exact >= scores - 1e-7).all()
            assert_allclose(exact[s.alpha == 0], scores[s.alpha == 0], atol=1e-7)
            assert np.mean(exact <= -1e-7) <= np.mean(scores <= 0) <= support_bound(s)

    def test_keeping_lambda_can_break_the_bound(self):
        x = np.array([[1, 0.5], [-1, -0.1], [-1.2, 1.2]])
        K, y = x @ x.T + 1, np.ones(3)
        s = svm(K, y, C_of_lambda(0.5, 3), **TIGHT)
        assert_allclose(loo_scores(s, K), [0.00120, 0.0763, 0.8267], atol=1e-4)
        assert loo_bound(s, K) == 0
        others = [1, 2]
        part, row = K[np.ix_(others, others)], K[[0]][:, others]
        refits = [svm(part, y[1:], C, **TIGHT)(row)[0] for C in (C_of_lambda(0.5, 2), 1 / 3)]
        assert_allclose(refits, [-0.0249, 0.0149], atol=1e-4)

    def test_expectation_is_the_risk_one_point_earlier(self):
        x = np.array([-1, 0.5, 2])[:, None]
        px, plus = np.array([0.3, 0.4, 0.3]), np.array([0.2, 0.6, 0.9])
        G = RBF(1.0)(x)
        points = [(i, -1, px[i] * (1 - plus[i])) for i in range(3)]
        points += [(i, 1, px[i] * plus[i]) for i in range(3)]
        risk = loo = 0.0
        for i, s, p in points:
            for j, u, q in points:
                pair = svm(G[np.ix_([i, j], [i, j])], [s, u], 0.4, **TIGHT)
                for k, v, w in points:
                    risk += p * q * w * (v * pair(G[[k]][:, [i, j]])[0] <= 1e-12)
                    names = [(i, s), (j, u), (k, v)]
                    if names == sorted(names):  # the error does not depend on the order
                        count = len(set(permutations(names)))
                        sub = np.ix_([i, j, k], [i, j, k])
                        margins = loo_margins(G[sub], [s, u, v], 0.4, **TIGHT)
                        loo += count * p * q * w * np.mean(margins <= 1e-12)
        assert risk == pytest.approx(0.51504, abs=1e-9)
        assert loo == pytest.approx(0.51504, abs=1e-9)

    def test_span_is_exact_when_no_multiplier_changes_kind(self):
        s = svm(G2, Y2, np.inf, **TIGHT)
        exact = loo_margins(G2, Y2, np.inf, **TIGHT)
        predicted = s.margins - s.alpha * squared_spans(s, G2)
        rest = []
        for i in range(8):
            part = np.delete(np.delete(G2, i, 0), i, 1)
            rest.append(svm(part, np.delete(Y2, i), np.inf, **TIGHT))
        same = np.array([(r.alpha > 0).all() for r in rest])
        assert same.sum() >= 3
        assert_allclose(predicted[same], exact[same], atol=1e-7)

    def test_span_with_bias_and_bounded_points_is_near_the_truth(self):
        X, y = noisy(80)
        K = RBF(1.0)(X)
        for bias in ("none", "ordinary", 1.0):
            s = svm(K, y, 1.0, bias=bias)
            assert abs(span_estimate(s, K) - loo_error(K, y, 1.0, bias=bias)) < 0.05

    def test_machines_outside_the_theorem_are_refused(self):
        for machine in (svm(G2, Y2, 1.0, bias="ordinary"), nu_svm(G2, Y2, 0.6)):
            with pytest.raises(ValueError, match="without an ordinary bias"):
                loo_bound(machine, G2)


class TestCodes:
    def test_integers(self):
        assert integer_code(27) == "111100111101"
        values = [log_star(math.log2(u)) for u in (1, 2, 4, 16, 27, 65536)]
        assert_allclose(values, [0, 1, 3, 7, 8.399796, 23], atol=1e-6)

    @pytest.mark.parametrize(
        "r, l, exact, bound",
        [(0, 0, 13.287712, 13.287712), (5, 3, 61.458, 71.439), (20, 10, 142.409, 232.603)],
    )
    def test_corrections(self, r, l, exact, bound):
        assert correction_bits(100, r, l, exact=True) == pytest.approx(exact, abs=1e-3)
        assert correction_bits(100, r, l) == pytest.approx(bound, abs=1e-3)
        assert math.isfinite(correction_bits(100, 100, 0, exact=True))

    GOLDEN = pytest.mark.parametrize(
        "sigma, C, counts, log_u, coefficients, components",
        [
            (1, 10, (4, 0, 0), (15.036775, 9.491853, 7.643856),
             (7.016243, 4.977325, 6.417473, 6.447571, 3.251629), 3),
            (1, 0.5, (6, 4, 0), (12.609640, 6.906891, 6.906891),
             (8.526556, 6.359285, 9.375074, 7.721666, 4.446617), 1),
            (3, 10, (2, 0, 0), (17.609640, 6.643856, 3.169925),
             (7.943506, 3.862608, 3.610693, 3.224025, 2.056642), 1),
        ],
    )  # fmt: skip

    @GOLDEN
    def test_golden_coefficients(self, sigma, C, counts, log_u, coefficients, components):
        K = six(sigma)
        c = compression_coefficients(K, YSIX, svm(K, YSIX, C, **TIGHT))
        assert (c.n_support, c.n_inside, c.n_wrong) == counts
        assert_allclose(c.log_u[:3], log_u, atol=1e-6)
        assert_allclose([c.C1, c.C2, c.C3, c.C4, c.C5], coefficients, atol=1e-6)
        assert c.n_components == components

    def test_invariance(self):
        X, y = noisy(30)
        K = centred(RBF(1.0)(X))
        a = compression_coefficients(K, y, svm(K, y, 1.0, **TIGHT))
        b = compression_coefficients(4 * K, -y, svm(4 * K, -y, 0.25, **TIGHT))
        assert_allclose([a.C1, a.C2, a.C3, a.C4, a.C5], [b.C1, b.C2, b.C3, b.C4, b.C5], rtol=1e-9)
        best = compression_coefficients(K, y, svm(K, y, 1.0, **TIGHT), best=True)
        assert best.C4 <= a.C4
        assert compression_coefficients(K, y, svm(K, y, 1.0), rigorous=True).C2 >= a.C2

    def test_every_region_keeps_the_protected_points(self):
        X, y = noisy(40)
        K = centred(RBF(2.0)(X))
        machine = svm(K, y, 0.5, **TIGHT)
        w = machine.norm
        values, vectors = spectrum_of(K)
        kept = values > 1e-10
        Phi = vectors[:, kept] * np.sqrt(values[kept])
        unit = (vectors[:, kept].T @ machine.coefficients) * np.sqrt(values[kept]) / w
        rng = np.random.default_rng(0)
        radius = np.sqrt(np.diagonal(K).max())
        safe = np.abs(K @ machine.coefficients) >= np.linalg.norm(Phi, axis=1) / radius + 1e-6
        assert safe.any()
        for _ in range(200):  # move the scaled weight vector by up to the margin
            step = rng.standard_normal(len(unit))
            v = radius * unit + step / np.linalg.norm(step) / w
            assert (np.sign(Phi @ v) == np.sign(K @ machine.coefficients))[safe].all()
        n_inside = {
            r: compression_coefficients(K, y, machine, region=r).n_inside
            for r in ("slab", "cone", "exact")
        }
        assert n_inside["cone"] <= (~safe).sum()
        assert n_inside["exact"] <= n_inside["slab"]

    def test_bad_input(self):
        K = six(1)
        with pytest.raises(ValueError, match="no bias"):
            compression_coefficients(K, YSIX, svm(K, YSIX, 1.0, bias="ordinary"))
        with pytest.raises(ValueError, match="both labels"):
            compression_coefficients(K, np.ones(6), svm(K, np.ones(6), 1.0))
        with pytest.raises(NotPSDError):
            compression_coefficients(-np.eye(6), YSIX, svm(np.eye(6), YSIX, 1.0))
        with pytest.raises(ValueError, match="region must be one of"):
            compression_coefficients(K, YSIX, svm(K, YSIX, 1.0), region="ball")


class TestCriteria:
    def test_golden_numbers(self):
        c = case(six(1), YSIX, 10.0)
        assert_allclose([c.ratio, c.rescaled_ratio], [3.886954, 1.925053], atol=1e-6)
        expected = {
            "radius-margin": 1.294065,
            "rescaled-radius-margin": 0.910695,
            "trace": 0.812908,
            "compression-scheme": 1.354025,
            "sparse-margin": 2.955804,
            "span": 0,
        }
        for name, value in expected.items():
            assert CRITERIA[name](c) == pytest.approx(value, abs=1e-6), name
        assert selection.radius_margin(c, power=2) == pytest.approx(2.080575, abs=1e-6)
        assert selection.trace(c, operator=True) == pytest.approx(0.331868, abs=1e-6)
        assert_allclose(squared_spans(c.solution, c.K)[:3], [0.307445, 0, 0.206919], atol=1e-6)
        wide = case(six(3), YSIX, 10.0)
        assert_allclose([wide.ratio, wide.rescaled_ratio], [9.541249, 7.412403], atol=1e-5)

    def test_rescaling_never_hurts_and_scale_does_not_matter(self):
        X, y = noisy(40)
        K = centred(RBF(1.5)(X))
        a, b = case(K, y, 1.0), case(4 * K, y, 0.25)
        assert a.rescaled_ratio <= a.ratio
        for name in set(CRITERIA) - {"trace", "loo"}:
            assert CRITERIA[name](a) == pytest.approx(CRITERIA[name](b), rel=1e-6), name
        assert CRITERIA["trace"](b) > CRITERIA["trace"](a)

    def test_all_support_vectors_are_no_compression(self):
        K = np.eye(6)
        c = case(K, YSIX, 1.0)
        assert CRITERIA["compression-scheme"](c) == CRITERIA["sparse-margin"](c) == math.inf
        assert CRITERIA["span"](c) == math.inf


class TestSelect:
    def test_table_is_that_of_single_machines(self):
        X, y = noisy(40)
        kernels, Cs = [RBF(0.3), RBF(1.5)], [10.0, 0.1, 1.0]
        chosen = select(X, y, kernels, Cs, "loo", also=("C2", "loo-bound"), tol=1e-9)
        for a, kernel in enumerate(kernels):
            K = kernel(X)
            for b, C in enumerate(Cs):
                assert chosen.scores["loo"][a, b] == loo_error(K, y, C, tol=1e-9)
                s = svm(K, y, C, tol=1e-9)
                assert chosen.scores["loo-bound"][a, b] == loo_bound(s, K)
                assert chosen.scores["C2"][a, b] == pytest.approx(
                    compression_coefficients(K, y, s).C2, rel=1e-6
                )
        assert (
            chosen.scores["loo"].min()
            == chosen.scores["loo"][kernels.index(chosen.kernel), Cs.index(chosen.C)]
        )

    def test_ties_go_to_the_stronger_regularisation(self):
        chosen = select(None, YSIX, [SIX @ SIX.T], [100.0, 10.0, 50.0], "loo")
        assert (chosen.scores["loo"] == 0).all() and chosen.C == 10.0

    def test_span_prefers_a_sensible_width(self):
        X, y = noisy(120)
        kernels = [RBF(s) for s in (0.01, 1.5)]
        assert select(X, y, kernels, [1.0, 10.0], bias="ordinary").kernel == RBF(1.5)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="criterion must be one of"):
            select(SIX, YSIX, [RBF(1.0)], [1.0], "bic")
        with pytest.raises(ValueError, match="a kernel and a C, got 0 and 1"):
            select(SIX, YSIX, [], [1.0])
        with pytest.raises(ValueError, match="infinite on the whole grid"):
            select(None, YSIX, [np.eye(6)], [1.0], "span")


@pytest.mark.parametrize("name, printed", [("twonorm", 0.027), ("ringnorm", 0.021)])
def test_least_test_errors_of_the_printed_table(name, printed):
    import runpy
    from pathlib import Path

    example = Path(__file__).parents[1] / "examples" / "plot_which_svm.py"
    least, lost = runpy.run_path(str(example))["excesses"](name, 6, 3000)
    assert least == pytest.approx(printed, abs=0.005)
    assert lost["span"] < 0.02 < lost["C5"]
