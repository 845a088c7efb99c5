import numpy as np
import pytest

import bayeskern as bk
from bayeskern.bayes.spherical import chi_mean, exact_region
from bayeskern.infer.kernel_gibbs import choose_segment
from bayeskern.kernels.dot import Linear
from tests.version_spaces import D3, assert_agrees, cone4, z_scores


def cells(q):
    """Evidence, mean direction and mean errors with label noise, summed over the sign cells."""
    from itertools import product

    evidence, mean, errors, count = 0.0, np.zeros(3), 0.0, 0
    for signs in product([1, -1], repeat=4):
        try:
            region = exact_region(D3 * np.array(signs)[:, None])
        except bk.errors.NotSeparableError:
            continue
        e = signs.count(-1)
        weight = region.prior_mass * (1 - q) ** (4 - e) * q**e
        count += 1
        evidence += weight
        mean += weight * region.mean
        errors += weight * e
    return evidence, mean / evidence, errors / evidence, count


def test_cells_have_the_published_sums():
    evidence, mean, errors, count = cells(0.2)
    assert count == 14
    assert evidence == pytest.approx(0.05963408, rel=1e-6)
    assert mean == pytest.approx([0.3836769, 0.3658424, 0.2018781], rel=1e-6)
    assert errors == pytest.approx(0.84830574, rel=1e-7)


@pytest.mark.parametrize("q", [0.05, 0.2, 0.4])
def test_label_noise(q):
    problem = cone4(likelihood=bk.LabelFlip(q))
    tree = bk.KernelGibbs(draws=4000).run(problem, random_seed=7)
    _, mean, errors, _ = cells(q)
    f = tree["posterior"]["f"].values
    wrong = tree["sample_stats"]["n_errors"].values[..., None].astype(float)
    z = [*z_scores(f, problem.X @ mean * chi_mean(3)), *z_scores(wrong, errors)]
    assert_agrees(z)
    assert ((f * problem.y < 0).sum(axis=-1) == wrong[..., 0]).all()


def test_no_noise_is_a_step():
    assert cone4(likelihood=bk.LabelFlip(0.0)).likelihood == bk.Step()


def test_segments_follow_their_weights():
    """Frequencies on one circle against a fine grid over the same circle."""
    rng = np.random.default_rng(2)
    u, v, odds = rng.standard_normal(5), rng.standard_normal(5), 0.3
    grid = (np.arange(200_000) + 0.5) / 200_000 * 2 * np.pi
    errors = ((np.outer(np.cos(grid), u) + np.outer(np.sin(grid), v)) <= 0).sum(axis=1)
    density = odds**errors
    mean = (density * errors).sum() / density.sum()
    found = [choose_segment(u, v, (k + 0.5) / 2000, np.log(odds)) for k in range(2000)]
    assert np.mean([f[2] for f in found]) == pytest.approx(mean, abs=2e-3)
    for low, width, count in found[::100]:
        middle = low + width / 2
        assert count == ((u * np.cos(middle) + v * np.sin(middle)) <= 0).sum()


def test_non_separable_data_with_noise():
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    problem = bk.BayesPoint(X, [1, 1, -1, -1], Linear(), bk.LabelFlip(0.3))
    tree = bk.KernelGibbs(draws=500).run(problem, random_seed=1)
    # any line through the origin is right on exactly two of the four, so the prior remains
    assert (tree["sample_stats"]["n_errors"] == 2).all()
    f = tree["posterior"]["f"].values
    assert_agrees([z_scores(f, 0.0), z_scores(f**2, 2.0)])
