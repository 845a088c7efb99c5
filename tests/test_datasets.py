import pickle

import numpy as np
import pytest
from scipy.stats import norm

from bayeskern import datasets
from bayeskern.datasets import load, names

GENERATED = (
    *("sinc", "ard", "noisy_sign", "two_moons", "banana", "ripley", "twonorm", "ringnorm"),
    *("waveform", "spirals", "noisy_xor", "dna"),
)
WITH_STRINGS = ("dna", "topics")


@pytest.mark.parametrize("name", names())
class TestEveryDataset:
    def test_record_is_complete(self, name):
        data = load(name)
        assert len(data.X) == len(data.y) > 1
        assert np.isfinite(data.y).all()
        assert data.description and data.source
        if name in WITH_STRINGS:
            assert data.X.ndim == 1 and all(isinstance(s, str) and s for s in data.X)
            assert len(data.feature_names) == 1
        else:
            assert data.X.shape[1] == len(data.feature_names)
            assert np.isfinite(data.X).all()
        if data.query is not None:
            assert data.query.shape[1] == data.X.shape[1]

    def test_two_classes_are_minus_and_plus_one(self, name):
        data = load(name)
        if data.task == "classification" and name != "cone4":
            assert set(data.y) == {-1.0, 1.0}

    def test_is_the_same_every_time(self, name):
        first, second = load(name), load(name)
        assert np.array_equal(first.X, second.X) and np.array_equal(first.y, second.y)

    def test_cannot_be_changed_and_pickles(self, name):
        data = load(name)
        with pytest.raises(ValueError, match="read-only"):
            data.y[0] = 5.0
        copy = pickle.loads(pickle.dumps(data))
        assert np.array_equal(copy.X, data.X)


@pytest.mark.parametrize("name", GENERATED)
def test_seed_changes_the_draw_and_n_the_size(name):
    first, second = load(name, n=30, seed=1), load(name, n=30, seed=2)
    assert len(first.X) == 30
    assert not np.array_equal(first.y, second.y) or not np.array_equal(first.X, second.X)


@pytest.mark.parametrize("name", GENERATED)
@pytest.mark.parametrize("n", [0, -3, 2.5, "10"])
def test_bad_size_is_refused(name, n):
    with pytest.raises(ValueError, match="n must be"):
        load(name, n=n)


@pytest.mark.parametrize(
    "name, setting",
    [
        ("sinc", {"noise": -1.0}),
        ("two_moons", {"noise": float("nan")}),
        ("noisy_xor", {"flip": 0.7}),
        ("dna", {"length": 3}),
        ("dna", {"mutation": 1.5}),
        ("spirals", {"turns": 0.0}),
        ("iris", {"plus": 3}),
        ("digits", {"plus": 3, "minus": 3}),
    ],
)
def test_bad_settings_are_refused(name, setting):
    with pytest.raises(ValueError, match="must"):
        load(name, **setting)


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"ripley.*got 'ripleys'"):
        load("ripleys")


def test_names_are_sorted_and_each_is_a_function():
    assert names() == sorted(names())
    assert all(callable(getattr(datasets, name)) for name in names())


def test_gram3_has_the_inner_products_it_promises():
    data = load("gram3")
    G = [[1, 0.5, 0.2], [0.5, 1, -0.3], [0.2, -0.3, 1]]
    np.testing.assert_allclose(data.X @ data.X.T, G, atol=1e-15)
    np.testing.assert_allclose(data.X @ data.query[0], [0.6, 0.3, 0.1], atol=1e-15)
    assert data.query[0] @ data.query[0] == pytest.approx(1)


def test_sinc_is_the_relevance_vector_example():
    data = load("sinc")
    x = np.linspace(-10, 10, 40)
    t = np.sin(x) / x + 0.1 * np.random.default_rng(1).normal(size=40)
    np.testing.assert_allclose(data.y, t, rtol=1e-14)


def test_overlap8_begins_with_separable6():
    six, eight = load("separable6"), load("overlap8")
    assert np.array_equal(eight.X[:6], six.X) and np.array_equal(eight.y[:6], six.y)


def test_twonorm_and_ringnorm_have_the_bayes_errors_of_breiman():
    n = 20_000
    two, ring = load("twonorm", n=n), load("ringnorm", n=n)
    errors = np.mean(np.sign(two.X.sum(axis=1)) != two.y)
    assert abs(errors - norm.cdf(-2)) < 4 * np.sqrt(0.023 / n)
    inside = norm.logpdf(ring.X, 2 / np.sqrt(20)).sum(axis=1)
    outside = norm.logpdf(ring.X, 0, 2).sum(axis=1)
    errors = np.mean(np.where(outside > inside, 1, -1) != ring.y)
    assert abs(errors - 0.0122) < 4 * np.sqrt(0.0122 / n)


def test_ripley_has_the_bayes_error_of_its_mixture():
    minus, plus = [(-0.7, 0.3), (0.3, 0.3)], [(-0.3, 0.7), (0.4, 0.7)]

    def density(X, centres):
        away = [((X - np.array(c)) ** 2).sum(axis=-1) for c in centres]
        return sum(np.exp(-a / 0.06) for a in away) / (2 * 0.06 * np.pi)

    line = np.linspace(-2, 2, 801)
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    both = np.minimum(density(grid, minus), density(grid, plus))
    exact = both.sum() * (line[1] - line[0]) ** 2 / 2
    data = load("ripley", n=20_000)
    rule = np.where(density(data.X, plus) > density(data.X, minus), 1, -1)
    assert abs(np.mean(rule != data.y) - exact) < 4 * np.sqrt(exact / 20_000)


def test_waveform_mean_is_the_mean_of_two_waves():
    data = load("waveform", n=4000)
    wave = np.maximum(6 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0)
    for label, other in ((-1, 1), (1, 2)):
        mean = data.X[data.y == label].mean(axis=0)
        np.testing.assert_allclose(mean, (wave[0] + wave[other]) / 2, atol=0.2)


def test_noisy_xor_flips_the_share_it_says():
    clean = load("noisy_xor", n=4000, noise=0.1)
    dirty = load("noisy_xor", n=4000, noise=0.1, flip=0.2)
    assert np.array_equal(clean.y, np.sign(clean.X.prod(axis=1)))
    assert np.mean(clean.y != dirty.y) == pytest.approx(0.2, abs=0.03)


def test_dna_without_mutation_holds_its_motif():
    data = load("dna", mutation=0.0)
    for text, label in zip(data.X, data.y, strict=True):
        assert len(text) == 40 and set(text) <= set("ACGT")
        assert ("GGCCAATC" if label > 0 else "TATAATGC") in text


def test_noise_free_moons_and_spirals_lie_on_their_curves():
    moons, spirals = load("two_moons", noise=0.0), load("spirals", noise=0.0)
    centre = np.where(moons.y[:, None] < 0, [0.0, 0.0], [1.0, 0.5])
    np.testing.assert_allclose(np.linalg.norm(moons.X - centre, axis=1), 1)
    r = np.linalg.norm(spirals.X, axis=1)
    np.testing.assert_allclose(spirals.y * spirals.X[:, 0], r * np.cos(3 * np.pi * r), atol=1e-12)


def test_standardised_columns_have_mean_zero_and_unit_spread():
    data = load("digits").standardised()
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    spread = data.X.std(axis=0)
    assert ((np.abs(spread - 1) < 1e-12) | (spread == 0)).all()
    with pytest.raises(ValueError, match="X must hold numbers"):
        load("topics").standardised()


def test_shipped_sets_have_their_known_sizes():
    assert load("breast_cancer").X.shape == (569, 30)
    assert (load("breast_cancer").y > 0).sum() == 212  # malignant
    assert load("iris").X.shape == (100, 4)
    assert load("wine").X.shape == (130, 13)
    assert load("digits", plus=1, minus=0).X.shape == (360, 64)
    assert load("diabetes").task == "regression"
