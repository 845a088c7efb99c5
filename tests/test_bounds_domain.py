"""Monotonicity, vectorisation, extreme arguments, thresholds and bad input of the bounds."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskern.classic import bounds as b
from bayeskern.classic.bounds._special import log_binomial, log_binomial_cdf, tail_inverse

# risk bounds as functions of (m, delta, hardness in [0, 1]); none may grow in m or delta
RISKS = {
    "finite": lambda m, d, h: b.finite_class_bound(m, 10.0, d, 0.4 * h),
    "finite_pac": lambda m, d, h: b.finite_class_pac_bound(m, d * 0 + 100, d),
    "vc": lambda m, d, h: b.vc_bound(m, d, 0.4 * h, vc_dim=np.floor(20 * h)),
    "pac": lambda m, d, h: b.pac_bound(m, d, vc_dim=np.floor(20 * h)),
    "dgl": lambda m, d, h: b.vc_bound_dgl(m, d, 0.4 * h, 5.0),
    "vapnik": lambda m, d, h: b.vc_bound_vapnik(m, d, 0.4 * h, 1 + np.floor(20 * h)),
    "relative": lambda m, d, h: b.vc_bound_relative(m, d, 0.4 * h, 1 + np.floor(20 * h)),
    "linear_erm": lambda m, d, h: b.linear_erm_bound(m, 1 + np.floor(5 * h), d),
    "luckiness": lambda m, d, h: b.luckiness_bound(m, d, 1 + np.floor(9 * h)),
    "fat": lambda m, d, h: b.fat_shattering_bound(m, d, 10 * h),
    "map": lambda m, d, h: b.map_bound(m, d, np.exp(-9 * h)),
    "gibbs": lambda m, d, h: b.gibbs_bound(m, d, -9 * h),
    "gibbs_errors": lambda m, d, h: b.gibbs_bound_errors(m, d, 0.3 * h, -9 * h),
    "mcallester": lambda m, d, h: b.pac_bayes_mcallester(m, d, 0.3 * h, 9 * h),
    "kl": lambda m, d, h: b.pac_bayes_kl(m, d, 0.3 * h, 9 * h),
    "lambda": lambda m, d, h: b.pac_bayes_lambda(m, d, 0.3 * h, 9 * h),
    "catoni": lambda m, d, h: b.pac_bayes_catoni(m, d, 0.3 * h, 9 * h, 0.5),
    "cap": lambda m, d, h: b.pac_bayes_margin_bound(m, d, 1 - 0.9 * h, 5),
    "compression": lambda m, d, h: b.compression_bound(m, np.floor(9 * h), d),
    "lossy": lambda m, d, h: b.lossy_compression_bound(m, 3, np.floor(0.4 * h * 16), d),
    "survivor": lambda m, d, h: b.longest_survivor_bound(m, d, 2.0),
    "stability": lambda m, d, h: b.stability_bound(m, d, h, 0.3 / m, 1.0),
    "rademacher": lambda m, d, h: b.rademacher_bound(m, d, h, 1 / np.sqrt(m)),
    "test_set": lambda m, d, h: b.test_set_bound(np.floor(5 * h), m, d),
    "bernstein": lambda m, d, h: b.empirical_bernstein_bound(m, d, 0.3 * h, 0.2 * h),
}


@pytest.mark.parametrize("name", RISKS)
@settings(max_examples=25, deadline=None, derandomize=True)
@given(d=st.floats(1e-12, 0.5), h=st.floats(0, 1), power=st.integers(5, 20))
def test_risk_bounds_are_monotone(name, d, h, power):
    risk = RISKS[name]
    m = 2**power
    raw = risk(m, d, h).raw
    slack = 1e-9 * (1 + raw if math.isfinite(raw) else 1)
    assert 0 <= raw
    assert risk(m, min(1.0, 2 * d), h).raw <= raw + slack
    assert risk(2 * m, d, h).raw <= raw + slack
    assert risk(m, d, min(1.0, h + 0.2)).raw >= raw - slack


@pytest.mark.parametrize("name", RISKS)
def test_arrays_give_what_scalars_give(name):
    m, d, h = np.array([[64], [4096]]), np.array([0.05, 1e-12, 1.0]), 0.4
    whole = RISKS[name](m, d, h)
    assert whole.raw.shape == (2, 3) == whole.value.shape == whole.vacuous.shape
    for i in range(2):
        for j in range(3):
            assert RISKS[name](int(m[i, 0]), d[j], h).raw == pytest.approx(
                whole.raw[i, j], rel=1e-12
            )
    total = sum(np.asarray(t, float) for t in whole.terms.values())
    np.testing.assert_allclose(np.broadcast_to(total, (2, 3)), whole.raw, rtol=1e-10)
    assert isinstance(str(whole), str)
    with pytest.raises(ValueError, match="single bound"):
        whole.explain()


@pytest.mark.parametrize("name", RISKS)
def test_extreme_arguments_stay_finite(name):
    for m in (10**7, 10**9):
        for d in (1e-12, 1e-300, 1.0):
            bound = RISKS[name](m, d, 0.5)
            assert math.isfinite(bound.raw) and bound.raw >= 0
            assert all(math.isfinite(t) for t in bound.terms.values())
    for m in (1, 2):
        if name not in ("bernstein", "lossy", "test_set"):
            assert RISKS[name](m, 0.05, 0.5).raw >= 0  # maybe infinite, never NaN


def test_no_precision_is_lost_in_the_far_tail():
    # exact: 1 - delta^(1/n)
    assert b.test_set_bound(0, 10**9, 1e-12).raw == pytest.approx(-math.log(1e-12) / 1e9, rel=1e-7)
    for k, n, log_delta in [
        (5, 100, math.log(1e-12)),
        (50, 950, -250.0),
        (50, 950, -900.0),
        (3, 10**6, -650.0),
    ]:
        p = float(tail_inverse(k, n, log_delta))
        terms = [
            math.log(math.comb(n, i)) + i * math.log(p) + (n - i) * math.log1p(-p)
            for i in range(k + 1)
        ]
        top = max(terms)
        exact = top + math.log(math.fsum(math.exp(t - top) for t in terms))
        assert exact == pytest.approx(log_delta, rel=1e-8)
        assert float(log_binomial_cdf(k, n, p)) == pytest.approx(log_delta, rel=1e-8)
    for n, k in [(10**9, 3), (10**9, 10**4), (10**7, 10**3), (10, 10), (10, 0)]:
        assert float(log_binomial(n, k)) == pytest.approx(math.log(math.comb(n, k)), rel=1e-12)


def test_kl_inverse_in_the_corners():
    assert b.kl_inverse(0.0, 1e-12) == pytest.approx(1e-12, rel=1e-9)
    assert b.kl_inverse(1e-300, 1e-12) == pytest.approx(1e-12, rel=1e-6)
    assert b.kl_inverse(1.0, 0.3) == 1.0
    assert b.kl_inverse(0.3, 0.0) == 0.3
    assert b.kl_inverse(0.3, 1e6) == 1.0
    # near q the divergence is quadratic: e = sqrt(2 q (1 - q) c)
    assert b.kl_inverse(0.3, 1e-20) - 0.3 == pytest.approx(math.sqrt(0.42e-20), rel=1e-3)
    q, c = np.meshgrid(np.linspace(0.01, 0.99, 25), np.geomspace(1e-6, 2, 25))
    p = b.kl_inverse(q, c)
    inner = p < 1 - 1e-9
    back = q * np.log(q / p) + (1 - q) * np.log((1 - q) / np.where(inner, 1 - p, 1))
    np.testing.assert_allclose(back[inner], c[inner], rtol=1e-5)
    assert (p <= q + np.sqrt(c / 2) + 1e-12).all()


def test_bennett_near_zero_has_no_cancellation():
    tail = b.bennett(1, 1e-12, 1.0)
    assert tail.ingredients["log_prob"] == pytest.approx(-0.5e-24, rel=1e-9)
    assert b.bennett(10, 0.1, 0.0).raw == 0.0


def test_chernoff_for_bernoulli_is_the_divergence():
    p, eps, n = 0.1, 0.15, 40
    mgf = lambda s: math.log1p(p * math.expm1(s)) - s * p if s < 700 else s * (1 - p) + math.log(p)  # noqa: E731
    kl = (p + eps) * math.log((p + eps) / p) + (1 - p - eps) * math.log((1 - p - eps) / (1 - p))
    found = b.chernoff(mgf, eps, n)
    assert found.ingredients["log_prob"] == pytest.approx(-n * kl, rel=1e-9)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.5])
def test_tail_bounds_dominate_exact_binomial_tails(p):
    from scipy.stats import binom

    n = 50
    for k in range(int(n * p) + 1, n + 1):
        eps, exact = k / n - p, binom.sf(k - 1, n, p)  # P(mean - p >= eps)
        variance = p * (1 - p)
        for bound in (
            b.markov(p, k / n),
            b.chebyshev(variance, eps, n),
            b.hoeffding(n, eps),
            b.bennett(n, eps, variance),
            b.bernstein(n, eps, variance),
            b.mcdiarmid(eps, np.full(n, 1 / n)),
        ):
            assert exact <= bound.raw * (1 + 1e-9), bound.name
    assert b.binomial_zero_tail(n, p).raw == pytest.approx(binom.pmf(0, n, p))


def test_side_conditions_on_both_sides():
    m = 3200  # margin >= radius * sqrt(32 / m) = 0.1
    assert math.isfinite(b.pac_margin_bound(m, 0.05, 0.1000001, 1.0).raw)
    below = b.pac_margin_bound(m, 0.05, 0.0999999, 1.0)
    assert math.isinf(below.raw) and below.vacuous and below.value == 1.0
    assert "margin >= radius" in below.assumptions[-1] and "says nothing" in below.explain()
    assert math.isfinite(b.fat_shattering_bound(10, 0.05, 20).raw)
    assert math.isinf(b.fat_shattering_bound(10, 0.05, 20.001).raw)
    assert math.isfinite(b.covering_bound(100, 0.05, 50).raw)
    assert math.isinf(b.covering_bound(100, 0.05, 50.01).raw)
    assert math.isfinite(b.compression_bound(10, 9).raw)
    assert math.isinf(b.compression_bound(10, 10).raw)
    assert math.isinf(b.lossy_compression_bound(10, 10, 0).raw)
    assert math.isinf(b.vc_bound_vapnik(10, 0.05, 0.0, 20).raw)
    assert math.isfinite(b.vc_bound_vapnik(10, 0.05, 0.0, 19).raw)
    assert math.isinf(b.vc_bound_vapnik(10, 0.05, 0.0, 0).raw)
    assert math.isfinite(b.vc_bound_relative(10, 0.05, 0.0, 20).raw)
    assert math.isinf(b.vc_bound_relative(10, 0.05, 0.0, 21).raw)
    assert math.isinf(b.linear_erm_bound(5, 5).raw)
    assert math.isinf(b.longest_survivor_bound(5, 0.05, 5).raw)
    assert math.isinf(b.robust_margin_bound_svm(10**6, 0.05, 0.9, [0.0], 1.0).raw)
    assert math.isfinite(b.robust_margin_bound_svm(10**6, 0.05, 1.0, [0.0], 1.0).raw)
    # infinite VC dimension: vacuous at every sample size, as the limit says
    assert b.vc_bound(10**6, 0.05, 0.0, vc_dim=np.inf).raw == pytest.approx(
        math.sqrt(8 * math.log(4)), rel=1e-5
    )
    assert b.pac_bound(10**6, 0.05, vc_dim=np.inf).raw == pytest.approx(4 * math.log(4), rel=1e-4)
    assert b.pac_luckiness_bound(50, 0.05, 300).vacuous
    assert not b.vc_bound(4400, 1.0, 0.0, vc_dim=100, growth="simple").raw > 1.03
    assert b.empirical_vc_luckiness_bound(10, 0.05, 3).ingredients["d"] == 20  # capped at 2 m


BAD = [
    (lambda: b.vc_bound(0, 0.05, 0.0, vc_dim=3), "m must be a positive integer, got 0"),
    (lambda: b.vc_bound(2.5, 0.05, 0.0, vc_dim=3), "m must be a positive integer, got 2.5"),
    (lambda: b.vc_bound(True, 0.05, 0.0, vc_dim=3), "m must be a number, got True"),
    (lambda: b.vc_bound("9", 0.05, 0.0, vc_dim=3), "m must be a number, got '9'"),
    (lambda: b.vc_bound(9, 0.0, 0.0, vc_dim=3), r"delta must lie in \(0, 1\], got 0.0"),
    (lambda: b.vc_bound(9, 1 + 1e-12, 0.0, vc_dim=3), r"delta must lie in \(0, 1\]"),
    (lambda: b.vc_bound(9, [0.1, 2.0], 0.0, vc_dim=3), r"delta must lie in \(0, 1\], got 2.0"),
    (lambda: b.vc_bound(9, 0.05, 1.2, vc_dim=3), r"training_error must lie in \[0, 1\], got 1.2"),
    (lambda: b.vc_bound(9, 0.05, np.nan, vc_dim=3), "training_error must be finite"),
    (lambda: b.vc_bound(9, 0.05, 0.0), "pass exactly one of vc_dim and log_growth"),
    (lambda: b.vc_bound(9, 0.05, 0.0, vc_dim=-1), "vc_dim must be a non-negative integer or inf"),
    (
        lambda: b.pac_bound(9, 0.05, vc_dim=3, training_error=0.1),
        "pac_bound needs zero training error",
    ),
    (lambda: b.luckiness_bound(9, 0.05, 1.5), r"take the ceiling of ld\(omega\)"),
    (lambda: b.map_bound(9, 0.05, 1.5), r"prior mass must lie in \(0, 1\], got 1.5"),
    (lambda: b.gibbs_bound(9, 0.05, 0.5), "log_prior_mass must be the log of a probability"),
    (lambda: b.srm([0.1], [3], 9, prior=[1.5]), "prior must be positive and sum to at most 1"),
    (lambda: b.srm([0.1], [3, 4], 9), "must have equal length"),
    (lambda: b.srm([0.1], [3], 9, kind="pac"), "no class reaches zero training error"),
    (lambda: b.pac_margin_bound(9, 0.05, 0.0, 1.0), "margin must be positive, got 0.0"),
    (lambda: b.pac_margin_bound(9, 0.05, 2.0, 1.0), "margin 2.0 exceeds radius 1.0"),
    (lambda: b.pac_bayes_margin_bound(9, 0.05, 1.1, 3), r"normalised margin must lie in \(0, 1\]"),
    (
        lambda: b.stability_bound(9, 0.05, 0.0, 0.1, np.inf),
        "loss_bound must be positive and finite",
    ),
    (lambda: b.robust_margin_bound(9, 0.05, [], 1.0), "margins must not be empty"),
    (lambda: b.rademacher_margin_bound(9, 0.05, [], 1.0, 1.0), "margins must not be empty"),
    (lambda: b.pac_bayes_linear([]), "margins must not be empty"),
    (lambda: b.pac_bayes_linear([1.5]), r"margins_normalised must lie in \[-1, 1\]"),
    (lambda: b.pac_bayes_kl(9, 0.05, 0.1, -1e-3), "the Monte-Carlo estimate is unusable"),
    (lambda: b.margin_summary(np.eye(2), [0, 1], [1.0, 1.0]), "y must contain only -1 and"),
    (lambda: b.margin_summary(np.diag([1.0, 0.0]), [1, 1], [1.0, 0.0]), "zero feature norm"),
    (lambda: b.knn_risk_bound(0.1, 0.2, 2), "k must be odd"),
    (lambda: b.cover_hart_bounds(0.6), r"bayes_risk must lie in \[0, 0.5\]"),
    (lambda: b.markov(-1, 1), "mean must be non-negative"),
    (lambda: b.markov(1, 0), "threshold must be positive"),
    (lambda: b.best_of([b.markov], 0.05, [1.5]), "weights must be positive and sum to at most 1"),
    (lambda: b.test_set_bound(11, 10), "errors must be at most n"),
    (lambda: b.conformal_quantile([1.0], 1.0), r"alpha must lie in \(0, 1\)"),
    (lambda: b.hoeffding(10, 0.1, 1.0, 0.0), "upper must exceed lower"),
    (
        lambda: b.gaussian_kl([0.0, 0.0], np.eye(2), np.ones((2, 2))),
        "prior_cov must be positive definite",
    ),
    (lambda: b.compression_bound(10, 2, training_error=0.1), "use lossy_compression_bound"),
    (lambda: b.log_growth("circles", 3), "name must be one of"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_by_name_and_domain(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_relevance_vectors_are_not_a_compression_set():
    class RVMClassifier:
        support_ = (0,)

    with pytest.raises(ValueError, match="relevance vector machine is not a compression scheme"):
        b.compression_set(RVMClassifier())


def test_svm_refitted_on_its_support_vectors_is_the_same_in_the_same_box():
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    for _ in range(5):
        X = rng.standard_normal((40, 2))
        y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(40))
        full = SVC(C=2.0, gamma=1.0, tol=1e-10).fit(X, y)
        chosen = b.compression_set(full)
        part = SVC(C=2.0, gamma=1.0, tol=1e-10).fit(X[chosen], y[chosen])
        np.testing.assert_allclose(full.decision_function(X), part.decision_function(X), atol=1e-5)


def test_bound_explains_itself():
    bound = b.vc_bound(100, 0.05, 0.1, vc_dim=3)
    assert bound.vacuous and bound.value == 1.0 and bound.confidence == 0.95 and float(bound) == 1.0
    text = bound.explain()
    assert (
        "vacuous" in text
        and "largest term is capacity" in text
        and "examples instead of 100" in text
    )
    needed = bound.sample_size(0.5)
    assert bound.at(m=needed).raw <= 0.5 < bound.at(m=needed - 1).raw
    assert f"{needed:,}" in text
    assert "No sample size alone" in b.vc_bound(100, 0.05, 0.6, vc_dim=3).explain()
    assert "already" in b.pac_bayes_kl(1000, 0.05, 0.1, 5.0).explain()
    # counts of mistakes grow with the sample
    held_out = b.test_set_bound(10, 100)
    needed = held_out.sample_size(0.12)
    assert b.test_set_bound(math.ceil(needed / 10), needed).raw <= 0.12
    assert 500 < needed < 1000
    assert math.isinf(held_out.sample_size(0.09))
    again = pickle.loads(pickle.dumps(bound))
    assert again.raw == bound.raw and again.at(m=200).raw == bound.at(m=200).raw
    block = str(bound)
    for part in (
        "VC bound: 1",
        "vacuous",
        "training error",
        "capacity",
        "total",
        "assumes",
        "reference",
    ):
        assert part in block
    assert repr(bound).startswith("Bound('VC bound'")


def test_best_of_shares_delta():
    calls = []

    def slow(delta):
        calls.append(delta)
        return b.hoeffding_deviation(100, delta)

    def fast(delta):
        calls.append(delta)
        return b.bernstein_deviation(100, delta, 0.01)

    best = b.best_of([slow, fast], 0.1, [0.25, 0.75])
    assert calls == [0.025, pytest.approx(0.075)]
    assert best.name == "Bernstein inequality" and best.delta == 0.1
    assert best.raw == b.bernstein_deviation(100, 0.075, 0.01).raw


def test_importing_bounds_is_light():
    import subprocess
    import sys

    code = (
        "import sys, bayeskern.classic.bounds as b; b.pac_bayes_kl, b.certify\n"
        "heavy = ('pymc', 'pytensor', 'sklearn', 'numba', 'matplotlib')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "[]\n"
    )
