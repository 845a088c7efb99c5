import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from bayeskern.classic.neighbors import (
    asymptotic_bounds,
    asymptotic_error,
    kernel_distances,
    neighbor_votes,
)
from bayeskern.classic.risk import bayes_risk
from bayeskern.errors import NotPSDError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Z = RNG.normal(size=(9, 3))
LABELS = RNG.integers(3, size=40)


def distances(Z, X):
    return np.sqrt(((Z[:, None] - X) ** 2).sum(-1))


def test_linear_kernel_gives_euclidean_distances():
    np.testing.assert_allclose(kernel_distances(X @ X.T), distances(X, X), atol=1e-7)
    found = kernel_distances(Z @ X.T, (Z**2).sum(1), (X**2).sum(1))
    np.testing.assert_allclose(found, distances(Z, X), atol=1e-7)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_gaussian_kernel_keeps_the_neighbours_and_a_polynomial_does_not(scale):
    square = distances(X, X) ** 2
    D = kernel_distances(np.exp(-square / (2 * scale**2)))
    np.testing.assert_allclose(D**2, 2 - 2 * np.exp(-square / (2 * scale**2)), atol=1e-12)
    off = square + np.diag(np.full(40, np.inf))
    assert (off.argmin(1) == (D + np.diag(np.full(40, np.inf))).argmin(1)).all()
    P = kernel_distances((1 + X @ X.T) ** 3)
    assert (off.argmin(1) != (P + np.diag(np.full(40, np.inf))).argmin(1)).any()


def test_kernel_distance_is_a_metric():
    D = kernel_distances((1 + X @ X.T) ** 2)
    assert (D <= (D[:, :, None] + D[None]).min(axis=1) + 1e-9).all()


def test_iris_leave_one_out_errors():
    X, y = load_iris(return_X_y=True)
    D = distances(X, X)
    errors = [
        int((neighbor_votes(D, y, k, leave_one_out=True).labels != y).sum())
        for k in (1, 3, 5, 7, 9)
    ]
    assert errors == [6, 6, 5, 5, 5]


def test_shares_agree_with_scikit_learn():
    peer = KNeighborsClassifier(5).fit(X, LABELS)
    found = neighbor_votes(distances(Z, X), LABELS, 5)
    np.testing.assert_allclose(found.shares, peer.predict_proba(Z))
    np.testing.assert_allclose(found.shares.sum(axis=1), 1)


def test_extreme_numbers_of_neighbours():
    assert (neighbor_votes(distances(X, X), LABELS, 1).labels == LABELS).all()
    majority = np.bincount(LABELS).argmax()
    assert (neighbor_votes(distances(Z, X), LABELS, 40).labels == majority).all()


def test_tie_rules():
    D, labels = [[0.1, 0.2, 0.3, 0.4]], ["c", "b", "b", "c"]
    with pytest.warns(UserWarning, match="k = 4 neighbours of two classes can tie"):
        assert neighbor_votes(D, labels, 4).labels == ["c"]
    with pytest.warns(UserWarning, match="use an odd k"):
        assert neighbor_votes(D, labels, 4, tie="lowest").labels == ["b"]
    assert neighbor_votes([[1.0, 1.0]], [5, 4], 1).labels == [5]  # the same distance: by index


def grid(a=4, n=400_000):
    x = a * (np.arange(n) + 0.5) / n
    return x / (x + 1), np.full(n, 1 / n)


def test_asymptotic_errors_of_the_hyperbola():
    eta, weights = grid()
    values = {1: (np.log(5) - 0.8) / 2, 3: 0.3730261, 5: 0.3556181, 7: 0.3445980, 11: 0.3317462,
              21: 0.3190677, 51: 0.3109319, 101: 0.3083229}  # fmt: skip
    found = [asymptotic_error(eta, weights, k) for k in values]
    np.testing.assert_allclose(found, list(values.values()), atol=2e-7)
    least = bayes_risk(eta, weights)
    assert (np.diff([*found, least]) < 0).all()
    bounds = asymptotic_bounds(least)
    assert bounds.one_neighbor == pytest.approx(0.4245618, abs=1e-6)
    assert bounds.lower <= found[0] <= bounds.one_neighbor
    for k, value in zip(values, found, strict=True):
        assert value <= asymptotic_bounds(least, k).k_neighbors


def test_simulated_error_approaches_the_limit():
    rng = np.random.default_rng(1)
    n, m = 4000, 20_000
    x, z = np.sort(4 * rng.random(n)), 4 * rng.random(m)
    y, label = rng.random(n) < x / (x + 1), rng.random(m) < z / (z + 1)
    place = np.clip(np.searchsorted(x, z), 1, n - 1)
    nearest = np.where(z - x[place - 1] < x[place] - z, place - 1, place)
    error, limit = np.mean(y[nearest] != label), (np.log(5) - 0.8) / 2
    assert abs(error - limit) < 5 * np.sqrt(0.25 / m + 0.25 / n)


def test_no_noise_no_error():
    assert asymptotic_error([0.0, 1.0], [0.5, 0.5]) == 0


def test_bad_input_is_refused():
    with pytest.raises(NotPSDError, match="squared distance of -2"):
        kernel_distances([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="k must be at most the 2 points that can vote, got 3"):
        neighbor_votes(np.zeros((3, 3)), [1, 2, 3], 3, leave_one_out=True)
    with pytest.raises(ValueError, match="k must be odd"):
        asymptotic_error([0.5], [1.0], 2)
    with pytest.raises(ValueError, match="one entry per column of D"):
        neighbor_votes(np.zeros((2, 3)), [1, 2], 1)
    with pytest.raises(ValueError, match=r"bayes must be in \[0, 0.5\]"):
        asymptotic_bounds(0.7)
