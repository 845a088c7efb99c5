from itertools import product
from math import comb

import numpy as np
import pytest

from bayeskern.classic.separability import in_version_space, is_separable

D1 = np.array([[2, 1], [1, 3], [3, 2], [-1, -2], [-2, 0], [0, -1]], dtype=float)
Y1 = np.array([1, 1, 1, -1, -1, -1])
D2 = np.vstack([D1, [[-1, 1], [1, 0.5]]])
Y2 = np.append(Y1, [1, -1])


def rbf(X, scale=1.0):
    return np.exp(-((X[:, None] - X) ** 2).sum(-1) / (2 * scale**2))


def test_witness_and_bound_prove_the_answer_on_separable_points():
    found = is_separable(D1, Y1)
    assert found
    assert np.abs(found.witness).max() <= 1
    assert (Y1 * (D1 @ found.witness)).min() == pytest.approx(found.epsilon)
    assert found.epsilon == pytest.approx(1.0)  # the corner (1, 1), held by (0, -1)
    assert found.upper == pytest.approx(found.epsilon)
    assert in_version_space(D1, Y1, found.witness)


def test_convex_weights_prove_that_points_are_not_separable():
    found = is_separable(D2, Y2)
    assert not found
    assert found.beta.min() >= 0
    assert found.beta.sum() == pytest.approx(1)
    np.testing.assert_allclose(D2.T @ (Y2 * found.beta), 0, atol=1e-12)


def test_gram_matrix_gives_expansion_coefficients():
    K = rbf(D2)
    found = is_separable(K, Y2)
    assert found
    assert in_version_space(K, Y2, found.witness)
    assert not is_separable(D2 @ D2.T, Y2)


def test_version_space_of_d1_is_the_open_quadrant():
    for degrees, inside in [(1, True), (89, True), (0, False), (90, False), (-1, False)]:
        angle = np.deg2rad(degrees)
        w = np.round([np.cos(angle), np.sin(angle)], 15)
        assert in_version_space(D1, Y1, w) is inside


@pytest.mark.parametrize(("p", "count"), [(1, 16), (2, 58), (3, 128)])
def test_number_of_separable_labelings_in_general_position(p, count):
    X = np.random.default_rng(p).normal(size=(8, p))
    found = sum(bool(is_separable(X, y, intercept=True)) for y in product([-1, 1], repeat=8))
    assert found == count == 2 * sum(comb(7, i) for i in range(p + 1))


def test_scaling_decides_nothing():
    X = np.random.default_rng(0).normal(size=(20, 3))
    y = np.where(X @ [1, 2, -1] > 0, 1, -1)
    for factor in (1e-8, 1e8):
        found = is_separable(factor * X, y)
        assert found
        assert found.epsilon == pytest.approx(factor * is_separable(X, y).epsilon)


def test_numerically_singular_gram_is_answered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    found = is_separable(rbf(X, 2.0), np.where(rng.random(150) < 0.5, 1, -1))
    assert not found
    assert found.upper < 1e-9


def test_a_zero_row_is_never_separated_and_one_class_may_be():
    assert not is_separable([[1.0, 0.0], [0.0, 0.0]], [1, 1])
    assert is_separable([[1.0, 0.0], [0.0, 1.0]], [1, 1])
    assert not is_separable(np.zeros((2, 2)), [1, -1])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"labels -1 and \+1 only, got 0"):
        is_separable([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="one entry per point, got 1 for 2 points"):
        is_separable([[1.0], [2.0]], [1])
