import numpy as np
import pytest
from scipy.stats import t as student

from bayeskern.paired import correlated_t_test, signed_rank_test


def test_without_correlation_it_is_students_t():
    d = np.array([0.03, -0.01, 0.02, 0.04, 0.0])
    test = correlated_t_test(d, 0.0, rope=0.01)
    posterior = student(4, d.mean(), d.std(ddof=1) / np.sqrt(5))
    assert test.lower == pytest.approx(posterior.cdf(-0.01))
    assert test.higher == pytest.approx(posterior.sf(0.01))
    assert test.interval == pytest.approx((posterior.ppf(0.05), posterior.ppf(0.95)))


def test_correlation_widens_by_nadeau_and_bengios_factor():
    d = np.array([0.03, -0.01, 0.02, 0.04, 0.0])
    plain, wide = (correlated_t_test(d, rho).interval for rho in (0.0, 0.2))
    assert np.ptp(wide) / np.ptp(plain) == pytest.approx(np.sqrt((1 / 5 + 0.25) * 5))


def test_probabilities_add_to_one_and_mirror():
    d = np.random.default_rng(0).normal(0.01, 0.02, 20)
    one, other = correlated_t_test(d, 0.1, rope=0.01), correlated_t_test(-d, 0.1, rope=0.01)
    assert one.lower + one.equivalent + one.higher == pytest.approx(1)
    assert (one.lower, one.higher) == pytest.approx((other.higher, other.lower))


def test_equal_results_are_equivalent():
    test = correlated_t_test(np.zeros(10), 0.1, rope=0.01)
    assert (test.lower, test.equivalent, test.higher) == (0, 1, 0)


def test_signed_rank_with_one_data_set_matches_its_beta_integral():
    # weights (w0, w) ~ Dirichlet(1/2, 1); the pair sums are 0 (w0^2), d (2 w0 w) and 2d (w^2);
    # with rope between d/2 and d, "higher" holds only 2d: it wins where w^2 > 1 - w^2
    from scipy.stats import beta

    test = signed_rank_test([0.03], rope=0.02, draws=200_000)
    expected = beta(1.0, 0.5).sf(np.sqrt(0.5))
    assert test.higher == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(200_000))
    assert test.lower == 0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"rho must be in \[0, 1\), got 1"):
        correlated_t_test([0.1, 0.2], 1)
    with pytest.raises(ValueError, match="differences must be finite"):
        signed_rank_test([np.nan])
