from itertools import product

import numpy as np
import pytest

from bayeskern.classic.erm import linear_erm
from bayeskern.classic.separability import is_separable


def brute_force(X, y):
    """Fewest errors over all labelings that a hyperplane can produce."""
    realisable = (z for z in product([-1, 1], repeat=len(y)) if is_separable(X, z, intercept=True))
    return min(int((np.array(z) != y).sum()) for z in realisable)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_agrees_with_every_labeling(p):
    rng = np.random.default_rng(p)
    for _ in range(2):
        X, y = rng.normal(size=(8, p)), np.where(rng.random(8) < 0.5, 1, -1)
        found = linear_erm(X, y)
        assert found.n_errors == brute_force(X, y)
        assert (y * (X @ found.w + found.b) <= 0).sum() == found.n_errors
        assert found.risk == found.n_errors / 8


def test_moved_hyperplane_attains_the_count_on_larger_samples():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e4):
        X, y = scale * rng.normal(size=(40, 2)) + 3 * scale, np.where(rng.random(40) < 0.5, 1, -1)
        found = linear_erm(X, y)
        assert (y * (X @ found.w + found.b) <= 0).sum() == found.n_errors


def test_no_surrogate_beats_it():
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + rng.normal(size=30) > 0, 1, -1)
    hinge = LinearSVC(loss="hinge", max_iter=100_000).fit(X, y)
    assert linear_erm(X, y).n_errors <= (hinge.predict(X) != y).sum()


def test_separable_points_have_no_error():
    X = np.random.default_rng(0).normal(size=(25, 4))
    assert linear_erm(X, np.where(X[:, 1] > 0.2, 1, -1)).n_errors == 0


def test_bad_input_is_refused():
    X = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(ValueError, match="general position"):
        linear_erm(X, [1, -1, 1, 1, -1])
    with pytest.raises(ValueError, match="general position, got 2 points"):
        linear_erm([[1.0, 2.0], [1.0, 2.0]], [1, -1])
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="max_candidates is 10, but 20 points"):
        linear_erm(rng.normal(size=(20, 2)), np.tile([1, -1], 10), max_candidates=10)
