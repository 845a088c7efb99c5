import numpy as np
import pytest

from bayeskern import linalg
from bayeskern.errors import NotPSDError


@pytest.fixture
def spd():
    A = np.random.default_rng(0).normal(size=(7, 9))
    return A @ A.T


def test_cholesky_needs_no_jitter_on_a_definite_matrix_and_reports_what_it_used(spd):
    factor = linalg.cholesky(spd)
    assert factor.jitter == 0
    np.testing.assert_allclose(factor.L @ factor.L.T, spd)
    assert 0 < linalg.cholesky(np.ones((3, 3))).jitter <= 1e-6


def test_cholesky_refuses_an_indefinite_matrix():
    with pytest.raises(NotPSDError, match="not positive semidefinite"):
        linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_solves_inverse_and_logdet_match_numpy(spd):
    factor, b = linalg.cholesky(spd), np.arange(7.0)
    np.testing.assert_allclose(factor.solve(b), np.linalg.solve(spd, b))
    np.testing.assert_allclose(linalg.cho_inverse(factor.L), np.linalg.inv(spd), atol=1e-12)
    assert factor.logdet == pytest.approx(np.linalg.slogdet(spd)[1])


def test_rank_one_update_is_the_factor_of_the_sum(spd):
    x = np.linspace(-1, 1, 7)
    L = linalg.rank_one_update(linalg.cholesky(spd).L, x)
    np.testing.assert_allclose(L @ L.T, spd + np.outer(x, x))


def test_low_rank_plus_diagonal_matches_dense_algebra():
    rng = np.random.default_rng(1)
    V, d, B = rng.normal(size=(8, 3)), rng.uniform(0.5, 2, 8), rng.normal(size=(8, 2))
    dense, fast = V @ V.T + np.diag(d), linalg.LowRankPlusDiagonal(V, d)
    np.testing.assert_allclose(fast.solve(B), np.linalg.solve(dense, B))
    np.testing.assert_allclose(fast.solve(B[:, 0]), np.linalg.solve(dense, B[:, 0]))
    np.testing.assert_allclose(fast.matmul(B), dense @ B)
    assert fast.logdet == pytest.approx(np.linalg.slogdet(dense)[1])
