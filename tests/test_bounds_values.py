"""Reference values, identities and orderings of the generalisation bounds."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from bayeskern.classic import bounds as b

LN = np.log
HALF_PLANES = b.log_growth("hyperplanes", 1000, d=2)
MISSED = np.r_[0.0, np.ones(10**6 - 1)]

# every formula against numbers computed independently of this code
PINS = [
    (b.chebyshev, (0.09, 0.1, 100), {}, 0.09),
    (b.hoeffding, (100, 0.1), {}, 0.1353352832),
    (b.hoeffding, (100, 0.1), {"two_sided": True}, 0.2706705665),
    (b.hoeffding_deviation, (100, 0.05), {}, 0.1223873415),
    (b.hoeffding_deviation, (100, 0.05), {"two_sided": True}, 0.1358101516),
    (b.bennett, (100, 0.1, 0.09, 1), {}, 0.01503952363),
    (b.bernstein, (100, 0.1, 0.09, 1), {"form": "book"}, 0.02811565975),
    (b.bernstein, (100, 0.1, 0.09, 1), {}, 0.01735188637),
    (b.bernstein_deviation, (100, 0.05, 0.09, 1), {"form": "book"}, 0.08992316343),
    (b.bernstein_deviation, (100, 0.05, 0.09, 1), {}, 0.08409403141),
    (b.mcdiarmid, (0.1, np.full(100, 0.01)), {}, 0.1353352832),
    (b.mcdiarmid, (0.1, np.full(100, 0.01)), {"constant": 0.5}, 0.6065306597),
    (b.empirical_bernstein_bound, (1000, 0.05, 0.1, 0.05), {}, 0.1278224572),
    (b.dkw_deviation, (1000, 0.05), {}, 0.04294694083),
    (b.finite_class_bound, (1000, 1000, 0.05), {}, 0.07278954160),
    (b.finite_class_bound, (1000, 1000, 0.05), {"two_sided": False}, 0.07036862778),
    (b.finite_class_pac_bound, (1000, 1000, 0.05), {}, 0.009903487553),
    (b.finite_class_pac_bound, (1000, 1000, 0.05), {"exact": True}, 0.009854609507),
    (b.vc_bound, (1000, 0.05, 0.0), {"vc_dim": 3}, 0.4507147727),
    (b.vc_bound, (1000, 0.05, 0.0), {"vc_dim": 3, "growth": "simple"}, 0.4638007947),
    (b.pac_bound, (1000, 0.05), {"vc_dim": 3}, 0.09879931446),
    (b.pac_bound, (1000, 0.05), {"vc_dim": 3, "growth": "simple"}, 0.1047829999),
    (b.pac_bound, (1000, 0.05), {"vc_dim": 3, "tight": True}, 0.07126864051),
    (b.pac_bound, (1000, 0.05), {"vc_dim": 3, "tight": True, "growth": "simple"}, 0.07558495714),
    (b.erm_excess_bound, (1000, 0.05), {"vc_dim": 3}, 0.9014295455),
    (b.erm_excess_bound, (1000, 0.05), {"vc_dim": 3, "growth": "simple"}, 0.9276015894),
    (b.vc_bound_vapnik, (1000, 0.05, 0.0, 3), {}, 0.1639783435),
    (b.vc_bound_vapnik, (1000, 0.05, 0.0, 1), {}, 0.1139426570),
    (b.vc_bound, (1000, 0.05, 0.0), {"log_growth": LN(2001)}, 0.3096246627),
    (b.pac_bound, (1000, 0.05), {"log_growth": LN(2001)}, 0.04516112715),
    (b.vc_bound_relative, (1000, 0.05, 0.05, 3), {}, 0.1947164032),
    (b.vc_bound_dgl, (1000, 0.05, 0.0, HALF_PLANES), {}, 0.7774766543),
    (b.linear_erm_bound, (1000, 2, 0.05), {}, 0.01684393019),
    (b.linear_erm_bound, (1000, 2, 0.05), {"separable": False}, 0.1874025263),
    (b.pac_luckiness_bound, (1000, 0.05, 3), {}, 0.07864385619),
    (b.empirical_vc_luckiness_bound, (1000, 0.05, 1), {}, 0.7325754248),
    (b.empirical_vc_luckiness_bound, (1000, 0.05, 2), {}, 0.7745754248),
    (b.covering_bound, (1000, 0.05, 10), {}, 0.04857542476),
    (b.fat_shattering_bound, (10**6, 0.05, 100), {}, 0.08846050699),
    (b.pac_margin_bound, (10**5, 0.05, 1.0, 1.0), {}, 0.4167986314),
    (b.pac_margin_bound, (10**6, 0.05, 0.5, 1.0), {}, 0.2090685070),
    (b.robust_margin_bound, (10**6, 0.05, MISSED, 1.0), {"method": "book"}, 0.7443148414),
    (b.robust_margin_bound, (10**6, 0.05, MISSED, 1.0), {}, 0.2091846819),
    (b.map_bound, (1000, 0.05, 1e-3), {}, 0.009903487553),
    (b.map_bound, (1000, 0.05, 1e-3), {"exact": True}, 0.009854609507),
    (b.map_bound, (1000, 0.05, 1e-3, 0.1), {}, 0.1703686278),
    (b.gibbs_bound, (1000, 0.05, LN(0.01)), {}, 0.02241641302),
    (b.bayes_bound, (1000, 0.05, LN(0.01)), {}, 0.04483282604),
    (b.bayes_bound, (1000, 0.05 / 5, -20), {}, 0.07884136149),
    (b.gibbs_bound_errors, (1000, 0.05, 0.1, LN(0.01)), {}, 0.2044804644),
    (b.gibbs_bound_errors, (1000, 0.05, 0.1, LN(0.01)), {"sharp": True}, 0.2044287112),
    (b.pac_bayes_mcallester, (1000, 0.05, 0.1, 5.0), {}, 0.1919563579),
    (b.pac_bayes_kl, (1000, 0.05, 0.1, 5.0), {}, 0.1531096282),
    (b.pac_bayes_kl, (1000, 0.05, 0.0, -LN(0.01)), {}, 0.01167918982),
    (b.pac_bayes_catoni, (1000, 0.05, 0.1, 5.0, 0.4), {}, 0.1421443574),
    (b.pac_bayes_lambda, (1000, 0.05, 0.1, 5.0), {}, 0.1628970472),
    (b.pac_bayes_linear, (np.full(1000, 0.5), 0.05), {}, 0.03020366968),
    (b.pac_bayes_linear, (np.full(1000, 0.1), 0.05), {}, 0.2470337107),
    (b.compression_bound, (100, 5), {"method": "book"}, 0.2709234463),
    (b.compression_bound, (100, 5), {"method": "book", "ordered": True}, 0.3213180963),
    (b.compression_bound, (100, 5), {}, 0.2373251203),
    (b.compression_bound, (100, 5), {"method": "book", "extra_bits": 8}, 0.3292937352),
    (b.compression_bound, (1000, 50), {"method": "book"}, 0.2163871121),
    (b.compression_bound, (1000, 50), {}, 0.1945765476),
    (b.lossy_compression_bound, (1000, 50, 50), {"method": "hoeffding"}, 0.3870403359),
    (b.lossy_compression_bound, (1000, 50, 50), {}, 0.3154037997),
    (b.mistake_compression_bound, (1000, 10), {"form": "book"}, 0.1779620807),
    (b.mistake_compression_bound, (1000, 10), {"form": "sorted"}, 0.1319103788),
    (b.mistake_compression_bound, (1000, 10), {}, 0.06244161624),
    (b.longest_survivor_bound, (1000, 0.05, 10), {}, 0.05992919496),
    (b.stability_bound, (1000, 0.05, 0.0, 0.005, 1.0), {}, 0.8227477876),
    (b.stability_bound, (1000, 0.05, 0.0, 0.005, 1.0), {"constant": "book"}, 1.635495575),
    (b.stability_loo_bound, (1000, 0.05, 0.0, 0.005, 5 / 999, 1.0), {}, 0.8181351978),
    (
        b.stability_loo_bound,
        (1000, 0.05, 0.0, 0.005, 5 / 999, 1.0),
        {"constant": "book"},
        1.631270396,
    ),
    (b.svr_stability_bound, (10**5, 0.05, 0.05, 0.1, 1.0, 1.0), {}, 0.1436135129),
    (b.svm_stability_bound, (10**5, 0.05, [0.95], [1], 0.1, 1.0), {}, 0.1313747788),
    (
        b.svm_stability_bound,
        (10**5, 0.05, [-0.95], [-1], 0.1, 1.0),
        {"constant": "book"},
        0.2126495575,
    ),
    (b.rademacher_excess_bound, (1000, 0.05, 1000**-0.5), {}, 0.1491394349),
    (b.rademacher_excess_bound, (1000, 0.05, 1000**-0.5), {"form": "book"}, 0.2813002088),
    (b.rademacher_absolute_bound, (1000, 0.05, 0.0, 1000**-0.5), {}, 0.2350333165),
    (b.rademacher_margin_bound, (1000, 0.05, [1.0], 1.0, 1.0, 1.0), {}, 0.1019478288),
    (b.test_set_bound, (0, 100), {}, 0.02951304961),
    (b.test_set_bound, (5, 100), {}, 0.1022533776),
]
for (m, d, gamma), values in {
    (1000, 10, 0.5): (0.07782458721, 0.05195920842, 0.0303889985),
    (1000, 100, 0.5): (0.4396435012, 0.1790225410, 0.1516295819),
    (1000, 10, 0.1): (0.1435386444, 0.08115134464, 0.05892878381),
    (500, 500, 0.95): (0.8183592612, 0.1795991527, 0.1362228877),
    (1000, 10, 1.0): (0.03762248566, 0.03700878002, 0.01561056722),
}.items():
    for method, value in zip(("book", "cap", "kl"), values, strict=True):
        PINS.append((b.pac_bayes_margin_bound, (m, 0.05, gamma, d, method), {}, value))


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "value"),
    PINS,
    ids=[f"{i}-{p[0].__name__}" for i, p in enumerate(PINS)],
)
def test_reference_value_and_terms(function, args, kwargs, value):
    bound = function(*args, **kwargs)
    assert bound.raw == pytest.approx(value, rel=2e-9)
    assert sum(bound.terms.values()) == pytest.approx(bound.raw, rel=1e-12)
    assert bound.value == min(bound.raw, bound.trivial)
    assert bound.vacuous == (bound.raw >= bound.trivial)
    assert bound.statement.endswith(".") and bound.reference and bound.assumptions
    assert bound.name in str(bound) and bound.reference in str(bound)


def test_ingredients_against_reference_values():
    assert b.finite_class_pac_bound(1000, 1000).ingredients["expected_risk"] == pytest.approx(
        0.007907755279, rel=1e-9
    )
    assert b.linear_erm_bound(1000, 2).ingredients["expected"] == pytest.approx(0.01584720497)
    assert b.linear_erm_bound(1000, 2, separable=False).ingredients["expected"] == pytest.approx(
        0.2311850594
    )
    lucky = b.empirical_vc_luckiness_bound(1000, 0.05, 1).ingredients
    assert (round(lucky["x"], 8), lucky["d"]) == (51.93171638, 349)
    assert b.empirical_vc_luckiness_bound(1000, 0.05, 5).ingredients["d"] == 430
    assert b.robust_margin_bound(10**6, 0.05, MISSED, 1.0).ingredients["d_eff"] == pytest.approx(
        256.14402025, rel=1e-9
    )
    book = b.robust_margin_bound(10**6, 0.05, MISSED, 1.0, method="book").ingredients
    assert book["d_eff"] == pytest.approx(1040, rel=1e-12) and book["gamma"] == 1.0
    krr = b.krr_stability_bound(1000, 0.05, 0.0, 0.1, 1.0, 1.0).ingredients
    assert krr["loss_bound"] == pytest.approx(17.32455532)
    assert krr["beta"] == pytest.approx(8.32455532**2 / 200)
    assert b.pac_bayes_linear(np.full(1000, 0.5)).ingredients["mu"] == pytest.approx(
        6.126, abs=1e-3
    )
    assert b.pac_bayes_lambda(1000, 0.05, 0.1, 5.0).ingredients["lambda"] == pytest.approx(
        0.3861153306
    )


def test_sample_sizes():
    size = b.sample_size
    assert size(b.finite_class_bound, 0.05, n_hypotheses=1000, delta=0.05) == 2120
    assert size(b.finite_class_pac_bound, 0.05, n_hypotheses=1000, delta=0.05) == 199
    vc = {"delta": 0.05, "training_error": 0.0, "vc_dim": 3}
    assert size(b.vc_bound, 0.1, **vc, growth="simple") == 29646
    assert size(b.vc_bound, 0.1, **vc) == 28341
    assert size(b.pac_bound, 0.1, delta=0.05, vc_dim=3, growth="simple") == 1055
    assert size(b.pac_margin_bound, 1.0, delta=0.05, margin=1.0, radius=1.0) == 34833
    assert size(b.empirical_vc_luckiness_bound, 1.0, delta=0.05, empirical_vc_dim=1) == 652
    assert size(b.empirical_vc_luckiness_bound, 1.0, delta=0.05, empirical_vc_dim=3) == 756
    assert b.rademacher_margin_bound(1000, 0.05, [1.0], 1.0, 1.0).sample_size(1.0) == 11


def test_growth_of_named_classes():
    assert b.log_growth_bound(2000, 50) == pytest.approx(230.9756872614, rel=1e-12)
    assert b.log_growth_bound(2000, 50, "simple") == pytest.approx(234.4439727057, rel=1e-12)
    exact = lambda m, v: sum(math.comb(m, i) for i in range(v + 1))  # noqa: E731
    for m in (1, 2, 7, 40):
        for v in (0, 1, 3, 20, 39, 60):
            assert b.log_growth_bound(m, v) == pytest.approx(math.log(exact(m, v)), rel=1e-13)
            assert b.log_growth_bound(m, v, "simple") >= b.log_growth_bound(m, v) - 1e-12
            assert b.log_growth_bound(m, v, "simple") <= m * math.log(2) + 1e-12
    assert b.log_growth_bound(10**9, 5) == pytest.approx(math.log(exact(10**9, 5)), rel=1e-12)
    assert b.log_growth_bound(7, np.inf) == pytest.approx(7 * LN(2))
    assert b.vc_dimension("boxes", d=3) == 6
    assert b.vc_dimension("homogeneous_polynomial", d=2, degree=2, offset=True) == 4
    assert b.vc_dimension("finite", size=1000) == 9
    assert b.vc_dimension("rbf") == math.inf
    assert np.exp(b.log_growth("half_lines_both", 5)) == pytest.approx(10)
    assert b.margin_vc_dimension(1.0, np.sqrt(6)).raw == 6  # never floored to 5
    assert b.margin_vc_dimension(1.0, 3.0, dim=4).raw == 4


def test_linear_programs_count_what_cover_counts():
    rng = np.random.default_rng(0)
    for m, n, count in [(4, 2, 8), (5, 2, 10), (5, 3, 22), (6, 3, 32)]:
        assert b.count_linear_dichotomies(rng.standard_normal((m, n))) == count
        assert np.exp(b.log_cover_count(m, n)) == pytest.approx(count)
        assert b.log_cover_count(m, n) <= b.log_growth_bound(m, n) + 1e-12


def test_shattering_checks():
    rng = np.random.default_rng(1)
    assert b.is_shattered_linear(rng.standard_normal((4, 3)))
    five = rng.standard_normal((5, 3))
    answer = b.is_shattered_linear(five)
    assert not answer
    flat = np.column_stack([five, np.ones(5)])
    from scipy.optimize import linprog

    y = answer.labelling
    program = linprog(np.zeros(4), -y[:, None] * flat, -np.ones(5), bounds=[(None, None)] * 4)
    assert program.status == 2  # the certificate is infeasible indeed
    assert b.is_shattered_linear(gram=five @ five.T).shattered is False
    assert b.is_shattered_boxes(np.vstack([np.eye(3), -np.eye(3)]))
    assert not b.is_shattered_boxes(rng.standard_normal((5, 2)))
    assert not b.is_shattered_boxes([[0, 1], [0, -1], [1, 0], [-1, 0], [0, 0]])

    def sine(x, y):
        w = np.pi * (1 + sum((1 - y) / 2 * 10.0 ** np.arange(1, len(y) + 1)))
        return bool((np.sign(np.sin(w * x)) == y).all())

    assert b.is_shattered_by(10.0 ** -np.arange(1.0, 5.0), sine)
    assert len({tuple(np.sin(w * np.arange(1, 5)) > 0) for w in np.linspace(0, 7, 200001)}) == 12
    patterns = np.array([[(i >> j) & 1 for j in range(3)] for i in range(8)])
    assert b.is_shattered(patterns) and not b.is_shattered(patterns[:7])
    assert b.count_dichotomies(patterns[:7]) == 7
    assert b.empirical_vc_dimension(patterns) == 3
    assert b.empirical_vc_dimension(patterns[:7]) == 2
    with pytest.raises(ValueError, match=r"enumeration over 2\*\*21 labellings refused"):
        b.is_shattered_boxes(np.zeros((21, 2)))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_orthonormal_vectors_are_fat_shattered_up_to_their_scale(k):
    edge = 1 / math.sqrt(k)
    assert b.is_gamma_shattered_linear(np.eye(k), edge * (1 - 1e-6))
    assert not b.is_gamma_shattered_linear(np.eye(k), edge * (1 + 1e-6))
    assert b.fat_shattering_linear(edge, 1.0) == pytest.approx(k)


def test_covering_of_the_unit_interval():
    grid = np.linspace(0, 1, 2001)[:, None]
    for eps in (0.07, 0.13, 0.31):
        low, high = b.covering_number_bounds(grid, eps)
        assert low <= math.ceil(1 / (2 * eps)) <= high == math.ceil(1 / eps)
    for n in (1, 2, 5):
        low, high = b.entropy_number(grid, n)
        assert low <= 1 / (2 * n) + 1e-3 and high >= 1 / (2 * n) - 1e-3
    assert len(b.function_cover(grid, 0.3)) >= len(b.function_cover(grid, 0.4))
    assert b.log2_cover_from_fat(1000, 5, 2, 0.1) == pytest.approx(1485.767893)
    assert b.log2_cover_from_fat(4, 5, 2, 0.1) == math.inf


def test_identities_between_bounds():
    fat = b.fat_shattering_bound(10**6, 0.05, 64 * 9)
    assert b.pac_margin_bound(10**6, 0.05, 1 / 3, 1.0).raw == pytest.approx(fat.raw, rel=1e-12)
    slacks, norm = np.array([0.5, 2.0, 0.0]), 2.0
    margins = (1 - slacks) / norm
    margins[2] = 1.0
    svm = b.robust_margin_bound_svm(10**7, 0.05, norm, slacks, 1.0).raw
    seen = b.robust_margin_bound(10**7, 0.05, margins, 1.0, gamma=1 / norm, method="book").raw
    assert svm == pytest.approx(seen, rel=1e-12)
    assert b.map_bound(1000, 0.05, 1e-3).raw == b.finite_class_pac_bound(1000, 1000).raw
    both = b.map_bound(1000, 0.05, 1e-3, 0.2).raw
    assert both == pytest.approx(b.finite_class_bound(1000, 1000, 0.05, 0.2, False).raw)
    one = b.srm([0.1, 0.2], [3, 4], 1000, 0.05, prior=[1.0 - 1e-15, 1e-300])
    assert one.bounds[0].raw == pytest.approx(b.vc_bound(1000, 0.05, 0.1, vc_dim=3).raw)
    assert b.mcdiarmid(0.1, np.full(50, 2 / 50)).raw == pytest.approx(
        b.hoeffding(50, 0.1, -1, 1).raw, rel=1e-12
    )
    tail = b.lossy_compression_bound(1000, 50, 0).raw
    assert tail == pytest.approx(b.compression_bound(1000, 50).raw, rel=1e-12)
    infimum = min(
        b.pac_bayes_catoni(1000, 0.05, 0.1, 5.0, C).raw for C in np.linspace(0.3, 0.5, 401)
    )
    assert infimum == pytest.approx(b.kl_inverse(0.1, (5 + LN(20)) / 1000), rel=1e-6)
    kernel = b.pac_bayes_margin_bound(100, 0.05, 0.8, 3).ingredients["log_cap"]
    assert kernel == pytest.approx(-LN(5))
    srm = b.srm([0.0] * 10, [3] * 10, 1000, 0.05)
    assert srm.bounds[0].raw == pytest.approx(0.4707063704, rel=1e-9)
    pac = b.srm([0.0] * 10, [3] * 10, 1000, 0.05, kind="pac").bounds[0].raw
    assert pac == pytest.approx(0.1080096548, rel=1e-9)
    doubled = b.srm([0.0] * 20, [3] * 20, 1000, 0.05, kind="pac").bounds[0].raw
    assert doubled - pac == pytest.approx(4 / 1000 * LN(2))
    assert b.evidence_selection_bound([-20] * 5, 1000).bounds[0].raw == pytest.approx(0.07884136149)


def test_margin_summary_agrees_with_explicit_features():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 4)), np.where(rng.random(12) < 0.5, -1.0, 1.0)
    a = rng.standard_normal(12)
    w = X.T @ a
    found = b.margin_summary(X @ X.T, y, a)
    margins = y * (X @ w) / np.linalg.norm(w)
    np.testing.assert_allclose(found.margins, margins, rtol=1e-10)
    lengths = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(found.normalised_margins, margins / lengths, rtol=1e-10)
    assert (found.rank, found.mistakes) == (4, int((margins <= 0).sum()))
    assert found.norm == pytest.approx(np.linalg.norm(w))
    assert found.empirical_radius == pytest.approx(lengths.max())


def test_adaptive_margin_bound():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 3))
    G, y = X @ X.T, np.sign(X[:, 0])
    alpha = rng.random(8)
    f = y * (G @ (alpha * y))
    slacks = np.maximum(0, 1 - f + 0.3 * alpha * np.diag(G))
    both = [b.amm_bound(8, 0.05, alpha, slacks, 0.3, G, y, 3.0, n) for n in ("l1", "l2")]
    assert both[0].ingredients["d_eff"] >= both[1].ingredients["d_eff"]
    true = b.robust_margin_bound_svm(
        8, 0.05, np.sqrt((alpha * y) @ G @ (alpha * y)), np.maximum(0, 1 - f), 3.0, "l1"
    )
    assert true.ingredients["d_eff"] <= both[0].ingredients["d_eff"] * (1 + 1e-12)
    with pytest.raises(ValueError, match="not feasible for the adaptive margin program"):
        b.amm_bound(8, 0.05, alpha, 0 * slacks, 0.3, 1e-3 * G, y, 3.0)


def test_orderings():
    rng = np.random.default_rng(4)
    n, k = 200, rng.integers(0, 199, 40)
    cp = b.test_set_bound(k, n).raw
    kl = b.kl_inverse(k / n, LN(20) / n)
    assert (cp <= kl + 1e-12).all() and (kl <= k / n + np.sqrt(LN(20) / 2 / n) + 1e-12).all()
    assert b.kl_inverse(0.05, LN(20) / 100) == pytest.approx(0.1215270364)
    eps, variance = rng.random(50), rng.random(50) ** 2 + 1e-3
    tails = [b.bennett(30, eps, variance), b.bernstein(30, eps, variance)]
    tails.append(b.bernstein(30, eps, variance, form="book"))
    for smaller, larger in itertools.pairwise(tails):
        assert (smaller.raw <= larger.raw * (1 + 1e-12)).all()
    m, d = np.array([20, 100, 1000]), np.array([3, 40, 300])
    exact = b.compression_bound(m, d).raw
    assert (exact <= b.compression_bound(m, d, method="book").raw).all()
    shortfall = rng.normal(0.7, 0.4, 500).clip(-1, 1)
    grid = b.robust_margin_bound(10**9, 0.05, shortfall, 1.0, gamma=0.5)
    assert (
        grid.raw <= b.robust_margin_bound(10**9, 0.05, shortfall, 1.0, gamma=0.5, method="book").raw
    )
    sizes = 10 ** np.arange(1, 8)
    for log_mass in (-0.1, -5.0, -100.0):
        assert (
            b.pac_bayes_kl(sizes, 0.05, 0.0, -log_mass).raw
            <= b.gibbs_bound(sizes, 0.05, log_mass).raw
        ).all()
    assert b.lossy_compression_bound(100, 13, 0, method="hoeffding").raw == pytest.approx(
        0.529, abs=1e-3
    )
    assert b.compression_bound(1000, 500, method="book").raw == pytest.approx(1.3987, abs=1e-4)
    assert b.compression_bound(1000, 500, method="simple").raw == pytest.approx(1.7130, abs=1e-4)
    assert b.lossy_compression_bound(1000, 500, 0, method="hoeffding").raw == pytest.approx(
        0.8404, abs=1e-4
    )


def test_caps_of_the_sphere():
    measure = b.spherical_cap_log_measure
    for (d, gamma), value in {
        (2, 0.5): -1.791759469,
        (3, 0.8): -LN(5),
        (10, 0.5): -8.168361381,
        (100, 0.3): -122.3661528,
        (5000, 0.3): -6023.790398,
        (1, 0.3): -LN(2),
        (7, 1.0): -LN(2),
    }.items():
        assert measure(d, gamma) == pytest.approx(value, rel=1e-9)
    g = np.array([1e-8, 0.1, 0.7, 0.99])
    np.testing.assert_allclose(np.exp(measure(2, g)), np.arcsin(g) / np.pi, rtol=1e-12)
    x = g**2 / (1 + np.sqrt(1 - g**2))
    np.testing.assert_allclose(np.exp(measure(3, g)), x / 2, rtol=1e-12)
    assert np.isfinite(measure(10**5, 0.99)) and np.isfinite(measure(10**5, 1e-8))
    for d in range(1, 40):
        assert (-measure(d, g) <= b.log_volume_ratio_bound(d, x) + 1e-9).all()
    rng = np.random.default_rng(5)
    for _ in range(100):  # the cap lies in version space
        X = rng.standard_normal((3, 3))
        G, y = X @ X.T, np.where(rng.random(3) < 0.5, -1.0, 1.0)
        w = X.T @ np.linalg.solve(G, y)
        gamma = (y * (X @ w) / np.linalg.norm(w) / np.linalg.norm(X, axis=1)).min()
        assert b.log_orthant_probability(G, y) >= measure(3, gamma) - 1e-9


def test_bollmann_inequality():
    for j in (1, 3, 6):
        for x in (Fraction(1, 10), Fraction(1, 4), Fraction(9, 20)):
            left = sum(math.comb(2 * i, i) * x**i * (1 - x) ** i for i in range(1, j + 1))
            assert left <= 2 * x * (1 - (2 * x) ** (2 * j)) / (1 - 2 * x)


def test_orthant_probabilities():
    assert b.log_orthant_probability([[2.0]], [1]) == pytest.approx(LN(0.5))
    R = np.array([[1, 0.3, 0.2], [0.3, 1, -0.4], [0.2, -0.4, 1]])
    three = 1 / 8 + np.arcsin([0.3, 0.2, -0.4]).sum() / (4 * np.pi)
    assert np.exp(b.log_orthant_probability(R, [1, 1, 1])) == pytest.approx(three)
    four = np.eye(4)
    four[:3, :3] = R
    assert np.exp(b.log_orthant_probability(four, [1, 1, 1, -1])) == pytest.approx(
        three / 2, abs=1e-4
    )


def test_gaussian_divergence_and_gibbs_error():
    K = np.array([[1, 0.5], [0.5, 1]])
    assert b.gaussian_kl([1, 0.5], 0.25 * np.eye(2), K) == pytest.approx(1.075786658, rel=1e-9)
    assert b.gaussian_gibbs_error([1, 0.5], [0.25, 0.25], [1, -1]) == pytest.approx(0.4320474390)
    assert b.gaussian_kl([1.0], [[0.25]], [[1.0]]) == pytest.approx(0.8181471806)
    rng = np.random.default_rng(6)
    A = rng.standard_normal((5, 5))
    prior, mean, W = A @ A.T + np.eye(5), rng.standard_normal(5), rng.random(5)
    cov = np.linalg.inv(np.linalg.inv(prior) + np.diag(W))
    shift = rng.standard_normal(5)
    direct = 0.5 * (
        np.trace(np.linalg.solve(prior, cov))
        + (mean - shift) @ np.linalg.solve(prior, mean - shift)
        - 5
        + LN(np.linalg.det(prior) / np.linalg.det(cov))
    )
    assert b.gaussian_kl(mean, cov, prior, shift) == pytest.approx(direct, rel=1e-9)
    assert b.gaussian_kl(shift, prior, prior, shift) == pytest.approx(0, abs=1e-12)


def test_bayes_posterior_minimises_risk_plus_divergence():
    loss, prior, m = np.array([0.2, 0.5, 0.9]), np.array([0.2, 0.3, 0.5]), 10
    posterior = prior * np.exp(-m * loss)
    posterior /= posterior.sum()

    def objective(q):
        return q @ loss + (q * LN(q / prior)).sum() / m

    rng = np.random.default_rng(7)
    assert all(objective(posterior) <= objective(q) + 1e-12 for q in rng.dirichlet(np.ones(3), 500))


def test_calibration_by_brute_force():
    losses = {
        "hinge": lambda t: np.maximum(0, 1 + t),
        "logistic": lambda t: np.log1p(np.exp(t)),
        "logistic_exact": lambda t: np.log1p(np.exp(t)),
        "square": lambda t: (1 + t) ** 2,
        "exponential": np.exp,
    }
    eta, z = np.linspace(0.005, 0.995, 100)[:, None], np.linspace(-8, 8, 1601)
    for name, loss in losses.items():
        risk = eta * loss(-z) + (1 - eta) * loss(z)
        excess = risk - risk.min(1, keepdims=True)
        wrong = np.where(z > 0, np.maximum(1 - 2 * eta, 0), np.maximum(2 * eta - 1, 0))
        assert (wrong <= b.calibration_excess(excess + 1e-4, name) + 1e-9).all(), name
    assert b.calibration_excess(0.1308120359, "logistic_exact") == pytest.approx(0.5, rel=1e-8)
    assert b.calibration_excess(np.log(2), "logistic_exact") == pytest.approx(1.0)
    # without the factor 2 the logistic transform would fail
    assert 0.5 > np.sqrt(0.1308120359)


def test_nearest_neighbours():
    x = (np.arange(20000) + 0.5) / 20000
    assert b.bayes_risk(x) == pytest.approx(0.25, abs=1e-8)
    values = [b.nn_asymptotic_risk(x, k=k) for k in (1, 3, 5, 11, 51)]
    for k, value in zip((1, 3, 5, 11, 51), values, strict=True):
        assert value == pytest.approx((k + 3) / (4 * (k + 2)), abs=1e-7)
        assert value <= b.knn_risk_bound(0.25, values[0], k).raw
    assert values == sorted(values, reverse=True)
    for risk, nearest in ((0.1, 0.18), (0.3, 0.42)):
        assert b.nn_asymptotic_risk([risk]) == pytest.approx(nearest)
        assert b.cover_hart_bounds(risk)[1] == pytest.approx(nearest)
        assert b.bayes_risk_from_nn(nearest) == pytest.approx(risk)
    u = (np.arange(100000) + 0.5) / 100000 * 4
    assert b.bayes_risk(u / (u + 1)) == pytest.approx(0.25 * LN(5 * np.e / 4), abs=1e-8)


def test_plug_in_rule_by_quadrature():
    x = np.linspace(-12, 12, 20001)
    w = x[1] - x[0]
    joint = np.stack([stats.norm.pdf(x, 1), stats.norm.pdf(x, -1)]) / 2
    for shift in (0.3, 1.5):
        guess = np.stack([stats.norm.pdf(x, 1 + shift), stats.norm.pdf(x, -1 + shift)]) / 2
        chosen = guess.argmax(0)
        risk = joint[1 - chosen, np.arange(len(x))].sum() * w
        excess = risk - joint.min(0).sum() * w
        assert 0 < excess <= b.plug_in_excess(np.abs(joint - guess).sum() * w).raw


def test_rademacher_complexity():
    ball = b.rademacher_ball
    identical = np.ones((2, 2))
    true = b.empirical_rademacher(np.array([[1, 1], [-1, -1]]))  # the ball's extreme functions
    assert ball(identical, 1.0) / true == pytest.approx(math.sqrt(2))
    assert ball(np.eye(9), 2.0, "mc", 50) == pytest.approx(ball(np.eye(9), 2.0), rel=1e-12)
    rank_one = ball(np.ones((400, 400)), 1.0) / ball(np.ones((400, 400)), 1.0, "mc", 20000)
    assert rank_one == pytest.approx(math.sqrt(math.pi / 2), rel=0.02)
    F = np.random.default_rng(8).standard_normal((6, 10))
    massart = np.linalg.norm(F, axis=1).max() * math.sqrt(2 * LN(6)) / 10
    assert 0 <= b.empirical_rademacher(F) <= massart
    assert b.empirical_rademacher(F, 20000) == pytest.approx(b.empirical_rademacher(F), rel=0.05)


def test_conformal_coverage():
    assert b.conformal_coverage(99, 0.1).marginal == pytest.approx(0.9)
    assert b.conformal_coverage(100, 0.1).marginal == pytest.approx(0.9009900990)
    assert b.conformal_coverage(1000, 0.1).conditional.ppf(0.05) == pytest.approx(0.8840754886)
    assert b.conformal_quantile(np.arange(5), 0.1) == math.inf
    assert b.conformal_coverage(5, 0.1).conditional is None
    rng = np.random.default_rng(9)
    scores = rng.random((20000, 100))
    threshold = np.sort(scores[:, :99], axis=1)[:, 89]
    assert b.conformal_quantile(scores[0, :99], 0.1) == threshold[0]
    covered = (scores[:, 99] <= threshold).mean()
    assert abs(covered - 0.9) < 4 * math.sqrt(0.09 / 20000)


def test_vote_is_at_most_twice_as_bad_whatever_the_number_of_classes():
    rng = np.random.default_rng(10)
    for classes in (2, 3, 5, 10):
        votes = rng.dirichlet(np.full(classes, 0.3), 5000)
        wrong = votes[:, 0] < votes[:, 1:].max(1)
        assert (wrong <= b.bayes_from_gibbs(1 - votes[:, 0], classes)).all()
    assert b.bayes_from_gibbs(0.1, 5, "book") == 0.5


def test_perceptron_equality_case_and_mistake_bounds():
    for k in (3, 6, 10):
        assert b.perceptron_mistake_bound(1.0, 1 / math.sqrt(k)) >= k
    assert b.halving_mistake_bound(2**70) == 70
    assert b.halving_mistake_bound([1, 2, 3, 1024]).tolist() == [0, 1, 1, 10]
    assert math.isinf(b.mistake_compression_bound(50, 136, form="sorted").raw)


def test_hinge_stability_is_attained():
    a, lam, m = 0.1, 1.0, 10
    w, w_less = a / (2 * lam), a * (m - 1) / m / (2 * lam)
    assert a * (w - w_less) == pytest.approx(b.uniform_stability(lam, m, a**2), rel=1e-12)


def test_one_versus_rest_adds_up():
    parts = [b.test_set_bound(k, 500, 0.05 / 3) for k in (1, 5, 9)]
    total = b.one_vs_rest_bound(parts, 0.05)
    assert total.raw == pytest.approx(sum(p.raw for p in parts))
    with pytest.raises(ValueError, match="each be computed at delta / n_classes"):
        b.one_vs_rest_bound(parts, 0.06)
