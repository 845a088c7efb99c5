import numpy as np
import pytest

from bayeskern.classic.lipschitz_capacity import (
    greedy_cover,
    interval_cover,
    lipschitz_ball_cover,
    lipschitz_rademacher_bound,
    rbf_rademacher,
    rbf_rademacher_bound,
)
from bayeskern.classic.transport import lipschitz_rademacher


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({"centred": True, "sharp": False}, (2.231, 0.7116, 0.2256)),
        ({"centred": True}, (1.373, 0.4401, 0.1398)),
        ({"sharp": False}, (4.737, 1.590, 0.5152)),
    ],
)
def test_entropy_bound_on_the_interval(settings, values):
    for n, value in zip((100, 1000, 10_000), values, strict=True):
        bound = lipschitz_rademacher_bound(interval_cover, n, 1.0, **settings)
        assert bound == pytest.approx(value, rel=2e-3)


def test_the_bound_holds_and_is_loose():
    x = np.random.default_rng(0).random(100)
    exact = lipschitz_rademacher(np.abs(x[:, None] - x), diameter=1.0)
    assert exact.value < lipschitz_rademacher_bound(interval_cover, 100, 1.0, centred=True)


def test_ball_cover():
    for eps in (0.01, 0.1, 0.4):
        for centred in (False, True):
            low, high = lipschitz_ball_cover(interval_cover, eps, 1.0, centred=centred)
            assert 0 < low <= high
    assert lipschitz_ball_cover(interval_cover, 1.0, 1.0) == (0.0, 0.0)


def test_greedy_cover_covers():
    x = np.linspace(0, 1, 101)
    D = np.abs(x[:, None] - x)
    for eps in (0.05, 0.1, 0.26):
        found = greedy_cover(D, eps)
        assert interval_cover(eps + 0.005) <= found <= 2 * interval_cover(eps)
    assert greedy_cover(D, 1.0) == 1


def test_distances_to_points_have_the_parametric_rate():
    rng = np.random.default_rng(0)
    scaled = []
    for n in (100, 400):
        runs = []
        for seed in range(6):
            x = rng.random(n)
            D = np.abs(x[:, None] - np.linspace(0, 1, 60))
            runs.append(rbf_rademacher(D, draws=300, random_state=seed).value)
        scaled.append(np.sqrt(n) * np.mean(runs))
    np.testing.assert_allclose(scaled, 0.64, rtol=0.1)


class TestEntropyOfDistanceFunctions:
    def test_interval(self):
        # The integrand is sqrt(ln k) for u between 1 / k and 1 / (k - 1).
        k = np.arange(2.0, 2_000_000)
        exact = 4 * np.sqrt(2) * (np.sqrt(np.log(k)) / (k * (k - 1))).sum()
        assert exact == pytest.approx(6.0772, abs=1e-4)
        for n in (100, 1_000_000):
            bound = np.sqrt(n) * rbf_rademacher_bound(interval_cover, n, 1.0)
            assert bound == pytest.approx(exact, rel=2e-4)

    def test_holds_for_distances_to_points(self):
        x = np.random.default_rng(0).random(100)
        average = rbf_rademacher(np.abs(x[:, None] - np.linspace(0, 1, 200)), draws=400)
        assert average.value + 5 * average.error < rbf_rademacher_bound(interval_cover, 100, 1.0)

    def test_two_profiles_are_counted_up_to_twice_their_distance(self):
        def one(eps):
            return np.ones_like(eps)

        def two(eps):  # two functions at distance 3, either of which covers both from there on
            return np.where(eps < 3, 2.0, 1.0)

        bound = rbf_rademacher_bound(one, 50, 1.0, profiles=two, profile_diameter=3.0)
        assert bound == pytest.approx(4 * np.sqrt(2 / 50) * 6 * np.sqrt(np.log(2)), rel=1e-6)

    def test_offset_costs(self):
        plain = rbf_rademacher_bound(interval_cover, 400, 1.0)
        assert rbf_rademacher_bound(interval_cover, 400, 1.0, offset=2.0) == pytest.approx(
            plain + 0.1
        )

    def test_scale(self):
        wide = rbf_rademacher_bound(lambda eps: interval_cover(eps, 5.0), 100, 5.0)
        assert wide == pytest.approx(5 * rbf_rademacher_bound(interval_cover, 100, 1.0), rel=1e-9)


def test_bad_input():
    with pytest.raises(ValueError, match="n must be at least 1"):
        rbf_rademacher_bound(interval_cover, 0, 1.0)
    with pytest.raises(ValueError, match="offset"):
        rbf_rademacher_bound(interval_cover, 10, 1.0, offset=-1.0)
    with pytest.raises(ValueError, match="n must be at least 1"):
        lipschitz_rademacher_bound(interval_cover, 0, 1.0)
    with pytest.raises(ValueError, match="eps must be positive"):
        greedy_cover([[0.0]], 0.0)
