"""The scikit-learn faces of the margin machines, and their probabilities."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_svm import BIASES, noisy

from bayeskern.classic.support import svm
from bayeskern.estimators.calibration import calibrate, held_out_scores
from bayeskern.estimators.svm import SVMClassifier, SVMRegressor
from bayeskern.kernels import RBF


@parametrize_with_checks(
    [SVMClassifier(), SVMClassifier(probability="platt", multiclass="one-vs-rest"), SVMRegressor()]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


class TestClassifier:
    def test_matches_svc(self):
        from sklearn.svm import SVC

        X, y = noisy(400)
        peer = SVC(C=2.0, tol=1e-5).fit(X, y)
        ours = SVMClassifier(C=2.0, tol=1e-5).fit(X, y)
        assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=2e-4)
        assert (ours.predict(X) == peer.predict(X)).all()

    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("loss", ["linear", "quadratic"])
    def test_solution_is_certified(self, bias, loss):
        X, y = noisy(300)
        model = SVMClassifier(RBF(1.0), C=1.0, bias=bias, loss=loss, tol=1e-4).fit(X, y)
        proof = model.solution_
        assert proof.gap < 1e-3 and proof.kkt < 2e-4
        assert proof.dual == pytest.approx(
            svm(RBF(1.0)(X), y, 1.0, bias=bias, loss=loss).dual, rel=1e-6
        )
        assert_allclose(proof.margins, y * model.decision_function(X), atol=1e-4)

    @pytest.mark.parametrize("scheme", ["one-vs-one", "one-vs-rest", "dag", "all-together"])
    def test_several_classes_on_inputs_and_on_a_gram_matrix(self, scheme):
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        kernel = RBF(1.5)
        a = SVMClassifier(kernel, multiclass=scheme).fit(X, y)
        b = SVMClassifier("precomputed", multiclass=scheme).fit(kernel(X), y)
        assert a.score(X, y) > 0.95
        assert (a.predict(X) == b.predict(kernel(X))).mean() > 0.99

    def test_strings(self):
        words = ["aab", "aba", "bba", "abb", "ccd", "cdc", "ddc", "cdd"]

        def letters(A, B=None):
            B = A if B is None else B
            count = [np.array([[float(s.count(c)) for c in "abcd"] for s in S]) for S in (A, B)]
            return count[0] @ count[1].T

        model = SVMClassifier(letters, probability="platt").fit(words, ["ab"] * 4 + ["cd"] * 4)
        assert model.predict(["bab", "dcd"]).tolist() == ["ab", "cd"]
        assert model.predict_proba(np.array(["bab"], dtype=object))[0].argmax() == 0

    def test_class_weights(self):
        X, y = noisy(300)
        X, y = np.vstack([X[y > 0][:20], X[y < 0]]), np.append(np.ones(20), -np.ones((y < 0).sum()))
        plain, fair = SVMClassifier(C=0.1).fit(X, y), SVMClassifier(C=0.1, class_weight="balanced")
        recall = [np.mean(m.predict(X[y > 0]) > 0) for m in (plain, fair.fit(X, y))]
        assert recall[1] > recall[0] + 0.2

    def test_pickle_and_certificate_inputs(self):
        X, y = noisy(100)
        model = SVMClassifier().fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert_allclose(again.decision_function(X), model.decision_function(X))
        facts = again.certificate_inputs(X, y)
        assert facts["n_support"] == len(facts["support"]) == len(model.support_)
        assert facts["offset"] and facts["prior_depends_on_data"]
        assert facts["radius"] == 1.0 and facts["kernel_trace"] == 100.0

    def test_bad_input(self):
        X, y = noisy(30)
        with pytest.raises(ValueError, match="kernel must be a kernel or 'precomputed', got 'rbf'"):
            SVMClassifier("rbf").fit(X, y)
        with pytest.raises(ValueError, match="square Gram matrix"):
            SVMClassifier("precomputed").fit(X, y)
        with pytest.raises(ValueError, match="C must be positive"):
            SVMClassifier(C=0).fit(X, y)
        with pytest.raises(ValueError, match="at least two classes"):
            SVMClassifier().fit(X, np.ones(30))


class TestProbabilities:
    @pytest.mark.parametrize("method", ["platt", "isotonic"])
    @pytest.mark.parametrize("shift", [0.0, 1.5])
    def test_agree_with_predict_even_when_one_class_is_rare(self, method, shift):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, 2))
        y = np.where(X[:, 0] + rng.standard_normal(400) > shift, "yes", "no")
        model = SVMClassifier(probability=method, random_state=0).fit(X, y)
        far = 3 * rng.standard_normal((3000, 2))
        p = model.predict_proba(far)
        assert_allclose(p.sum(axis=1), 1)
        assert (model.classes_[p.argmax(axis=1)] == model.predict(far)).all()

    def test_agree_for_several_classes(self):
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        rng = np.random.default_rng(0)
        far = X[rng.integers(150, size=500)] + 0.5 * rng.standard_normal((500, 4))
        for scheme in ("one-vs-one", "one-vs-rest", "dag"):
            model = SVMClassifier(multiclass=scheme, probability="platt", random_state=0).fit(X, y)
            assert (model.predict_proba(far).argmax(axis=1) == model.predict(far)).all()

    def test_scores_are_those_of_points_left_out(self):
        rng = np.random.default_rng(0)  # labels are noise: a narrow kernel fits, none predicts
        X, y = rng.standard_normal((120, 2)), np.where(rng.random(120) > 0.5, 1, -1)
        model = SVMClassifier(RBF(0.1), C=100.0)
        scores = held_out_scores(model, X, y, random_state=0)
        assert np.mean(model.fit(X, y).predict(X) == y) == 1.0
        assert 0.3 < np.mean((scores >= 0) == (y > 0)) < 0.7
        p = SVMClassifier(RBF(0.1), C=100.0, probability="platt", random_state=0).fit(X, y)
        assert p.predict_proba(X).max() < 0.8

    def test_recovers_the_slope_of_logistic_labels(self):
        rng = np.random.default_rng(1)
        f = rng.standard_normal(20000) * 2
        labels = (rng.random(20000) < 1 / (1 + np.exp(-1.7 * f))).astype(int)
        slopes = calibrate(f, labels).knots
        assert_allclose(slopes, 1.7, atol=0.15)
        steps = calibrate(f, labels, "isotonic")
        at = np.array([-2.0, -0.5, 0.5, 2.0])
        assert_allclose(steps(at)[:, 1], 1 / (1 + np.exp(-1.7 * at)), atol=0.08)

    def test_without_probability_there_is_no_method(self):
        assert not hasattr(SVMClassifier(), "predict_proba")

    def test_bad_input(self):
        X, y = noisy(30)
        with pytest.raises(ValueError, match="probability must be one of"):
            SVMClassifier(probability="beta").fit(X, y)
        with pytest.raises(ValueError, match="at least two points in every class"):
            SVMClassifier(probability="platt").fit(X, np.append(np.ones(29), 2))


def test_regressor_matches_svr():
    from sklearn.svm import SVR

    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 2))
    t = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    ours, peer = SVMRegressor(tol=1e-6).fit(X, t), SVR(tol=1e-6).fit(X, t)
    assert_allclose(ours.predict(X), peer.predict(X), atol=1e-4)
    assert ours.solution_.gap < 1e-5
