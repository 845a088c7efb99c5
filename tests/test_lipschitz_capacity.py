import numpy as np
import pytest

from bayeskern.classic.lipschitz_capacity import (
    greedy_cover,
    interval_cover,
    lipschitz_ball_cover,
    lipschitz_rademacher_bound,
    rbf_rademacher,
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


def test_bad_input():
    with pytest.raises(ValueError, match="n must be at least 1"):
        lipschitz_rademacher_bound(interval_cover, 0, 1.0)
    with pytest.raises(ValueError, match="eps must be positive"):
        greedy_cover([[0.0]], 0.0)
