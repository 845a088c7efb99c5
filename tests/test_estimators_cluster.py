import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons, make_swiss_roll
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from bayeskern.estimators.cluster import KernelKMeans, SpectralClusterer
from bayeskern.estimators.lipschitz import LipschitzClassifier
from bayeskern.estimators.manifold import DiffusionMap, KernelPCA

ESTIMATORS = [
    SpectralClusterer(),
    SpectralClusterer(n_neighbors=5, laplacian="rw"),
    KernelKMeans(),
    DiffusionMap(),
    DiffusionMap(n_neighbors=8),
    KernelPCA(),
    LipschitzClassifier(),
    LipschitzClassifier(C=None),
]


def gauss(X, Z=None):
    return np.exp(-cdist(X, X if Z is None else Z, "sqeuclidean") / 0.04)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_contract(estimator):
    failed = []
    for candidate, check in estimator_checks_generator(estimator):
        try:
            check(candidate)
        except pytest.skip.Exception:
            pass
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                failed.append((check, error))
    assert not failed


class TestSpectralClusterer:
    @pytest.mark.parametrize(
        "settings",
        [{}, {"kernel": gauss}, {"n_neighbors": 12}, {"kernel": gauss, "n_neighbors": 12}],
        ids=["default", "kernel", "neighbours", "kernel-neighbours"],
    )
    @pytest.mark.parametrize("laplacian", ["sym", "rw", "unnormalised"])
    def test_moons(self, settings, laplacian):
        X, y = make_moons(300, noise=0.05, random_state=0)
        Z, truth = make_moons(200, noise=0.05, random_state=1)
        model = SpectralClusterer(2, laplacian=laplacian, random_state=0, **settings).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.98
        assert adjusted_rand_score(truth, model.predict(Z)) > 0.95
        assert model.sanity().verdict != "not trustworthy"

    def test_precomputed(self):
        X, y = make_moons(100, noise=0.05, random_state=0)
        model = SpectralClusterer(2, kernel="precomputed").fit(gauss(X))
        assert adjusted_rand_score(y, model.labels_) == 1
        np.testing.assert_array_equal(model.predict(gauss(X)), model.labels_)

    def test_clones_and_pickles(self):
        X, _ = make_moons(60, random_state=0)
        model = clone(SpectralClusterer(2, n_neighbors=8, random_state=0)).fit(X)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    def test_bad_kernel(self):
        with pytest.raises(ValueError, match="kernel must be callable"):
            SpectralClusterer(kernel="rbf").fit([[0.0], [1.0]])


def test_kernel_kmeans_finds_blobs():
    X, y = make_blobs(120, centers=3, random_state=2)
    model = KernelKMeans(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)


class TestDiffusionMap:
    def test_swiss_roll_is_unrolled(self):
        X, t = make_swiss_roll(1200, random_state=0)
        model = DiffusionMap(2, n_neighbors=20).fit(X)
        order = np.abs(np.corrcoef(np.argsort(np.argsort(model.embedding_[:, 0])), t)[0, 1])
        assert order > 0.98
        assert trustworthiness(X, model.embedding_, n_neighbors=12) > 0.85

    def test_new_points_fall_beside_old_ones(self):
        X, _ = make_swiss_roll(800, random_state=0)
        for settings in ({"n_neighbors": 20}, {}):
            model = DiffusionMap(2, **settings).fit(X)
            near = model.transform(X[:50] + 1e-3)
            spread = model.embedding_.std(axis=0)
            assert np.abs((near - model.embedding_[:50]) / spread).max() < 0.25

    @pytest.mark.parametrize("d", [2, 40])
    def test_old_points_keep_their_coordinates(self, d):
        X = np.random.default_rng(0).normal(size=(300, d))
        model = DiffusionMap(2, n_neighbors=8).fit(X)
        some = np.random.default_rng(1).permutation(300)[:70]
        np.testing.assert_allclose(
            model.transform(X[some]), model.embedding_[some], atol=1e-8 * np.ptp(model.embedding_)
        )


class TestLipschitzClassifier:
    def test_hard_margin_is_the_nearest_neighbour(self):
        X, y = make_moons(80, noise=0.2, random_state=0)
        Z, _ = make_moons(300, noise=0.3, random_state=1)
        peer = KNeighborsClassifier(1).fit(X, y)
        np.testing.assert_array_equal(
            LipschitzClassifier(C=None).fit(X, y).predict(Z), peer.predict(Z)
        )

    def test_soft_margin_forgives(self):
        X, y = make_moons(150, noise=0.15, random_state=0)
        flipped = y.copy()
        flipped[:8] = 1 - flipped[:8]
        Z, truth = make_moons(500, noise=0.15, random_state=1)
        hard = LipschitzClassifier(C=None).fit(X, flipped).score(Z, truth)
        soft = LipschitzClassifier(C=1.0).fit(X, flipped)
        assert soft.score(Z, truth) > hard
        assert soft.result_.gap < 1e-8

    def test_certificate_inputs(self):
        X, y = make_moons(60, noise=0.1, random_state=0)
        model = LipschitzClassifier(C=None).fit(X, y)
        facts = model.certificate_inputs(X, y)
        assert facts["kind"] == "lipschitz" and facts["n"] == 60
        np.testing.assert_allclose(facts["margins"], 1)
        assert facts["training_error"] == 0
        assert facts["diameter"] == cdist(X, X).max()
        between = cdist(X[y == 0], X[y == 1]).min()
        assert facts["lipschitz_constant"] == pytest.approx(2 / between)

    def test_precomputed_and_duplicates(self):
        X, y = make_moons(40, noise=0.1, random_state=0)
        X, y = np.r_[X, X[:1]], np.r_[y, 1 - y[0]]
        D = cdist(X, X)
        np.testing.assert_allclose(
            LipschitzClassifier("precomputed").fit(D, y).decision_function(D),
            LipschitzClassifier().fit(X, y).decision_function(X),
            atol=1e-9,
        )
        with pytest.raises(ValueError, match="classes touch"):
            LipschitzClassifier(C=None).fit(X, y)

    def test_three_classes_are_refused(self):
        with pytest.raises(ValueError, match="two classes, got 3"):
            LipschitzClassifier().fit([[0.0], [1], [2]], [0, 1, 2])
