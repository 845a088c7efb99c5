import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import check_estimator

from bayeskern.classic.bounds import certify
from bayeskern.errors import ConvergenceWarning
from bayeskern.estimators.adaptive import AdaptiveMarginClassifier, LeaveOneOutMachineClassifier
from bayeskern.estimators.discriminant import FisherClassifier, KernelFisherClassifier
from bayeskern.estimators.logistic import KernelLogisticClassifier
from bayeskern.estimators.perceptron import PerceptronClassifier
from bayeskern.estimators.ridge import KernelRidge
from bayeskern.kernels import RBF, Intersection, Linear, Substring

ESTIMATORS = [
    PerceptronClassifier(max_epochs=50),
    AdaptiveMarginClassifier(),
    LeaveOneOutMachineClassifier(),
    KernelRidge(),
    KernelLogisticClassifier(),
    FisherClassifier(),
    KernelFisherClassifier(),
]
BINARY = [e for e in ESTIMATORS if not isinstance(e, KernelRidge)]
KERNEL = [e for e in BINARY if not isinstance(e, FisherClassifier)]
X, Y = make_moons(80, noise=0.15, random_state=0)
NAMES = np.array(["left", "right"])[Y]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_scikit_learn_contract(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)


@pytest.mark.parametrize("estimator", BINARY, ids=lambda e: type(e).__name__)
def test_labels_scores_and_bounds(estimator):
    model = type(estimator)(**estimator.get_params()).fit(X, NAMES)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X) == "right", scores >= 0)
    assert model.score(X, NAMES) > 0.8
    facts = model.certificate_inputs(X, NAMES)
    signs = np.where(NAMES == "right", 1, -1)
    np.testing.assert_allclose(facts["margins"], signs * scores)
    certificate = certify(model, X, NAMES)
    assert all(row.alone.value <= 1 for row in certificate.applicable)


@pytest.mark.parametrize("estimator", KERNEL, ids=lambda e: type(e).__name__)
def test_precomputed_gram_matrix_and_norm(estimator):
    kernel, new = RBF(0.5), X[:7] + 0.1
    settings = {**estimator.get_params(), "kernel": kernel}
    model = type(estimator)(**settings).fit(X, NAMES)
    given = type(estimator)(**{**settings, "kernel": "precomputed"}).fit(kernel(X), NAMES)
    np.testing.assert_allclose(
        given.decision_function(kernel(new, X)), model.decision_function(new), rtol=1e-9
    )
    facts = model.certificate_inputs(X, NAMES)
    beta = model.dual_coef_
    assert facts["norm"] == pytest.approx(np.sqrt(beta @ kernel(X) @ beta))
    assert facts["radius"] == pytest.approx(1)
    assert facts["kernel_trace"] == pytest.approx(80)
    assert not facts["radius_from_sample"]
    assert not facts["prior_depends_on_data"]
    assert given.certificate_inputs(kernel(X), NAMES)["norm"] == pytest.approx(facts["norm"])


@pytest.mark.parametrize("combine", ["last", "averaged", "voted"])
def test_ways_to_combine_the_perceptrons(combine):
    model = PerceptronClassifier(RBF(0.5), combine=combine, shuffle=True, random_state=1)
    model.fit(X, NAMES)
    run, K = model.solution_, RBF(0.5)(X)
    expected = {"last": run(K), "averaged": K @ run.averaged(), "voted": run.vote(K)}[combine]
    np.testing.assert_allclose(model.decision_function(X), expected)
    facts = model.certificate_inputs(X, NAMES)
    assert (facts["kind"] == "perceptron") == (combine == "last")
    assert ("norm" in facts) == (combine != "voted")
    assert facts["n_mistakes"] == run.n_mistakes


def test_perceptron_gets_the_bounds_of_mistake_driven_learners():
    certificate = certify(PerceptronClassifier(RBF(0.5)).fit(X, NAMES), X, NAMES)
    assert {"compression"} <= {row.name for row in certificate.applicable}


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize(
    "estimator", [PerceptronClassifier, AdaptiveMarginClassifier, LeaveOneOutMachineClassifier]
)
def test_probabilities_agree_with_predictions(estimator, method):
    model = estimator(RBF(0.5), probability=method, random_state=0).fit(X, NAMES)
    new = np.random.default_rng(0).normal(size=(200, 2))
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(new))
    assert not hasattr(estimator(), "predict_proba")


def test_logistic_probabilities_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = KernelLogisticClassifier(lam=0.1).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    assert model.score(X, y) > 0.95
    binary = KernelLogisticClassifier(RBF(1.0)).fit(X[:100, :2], y[:100])
    scores = binary.decision_function(X[:100, :2])
    np.testing.assert_allclose(binary.predict_proba(X[:100, :2])[:, 1], expit(scores))
    with pytest.raises(ValueError, match="the bounds are for two classes, got 3"):
        model.certificate_inputs(X, y)


def test_fisher_agrees_with_scikit_learn_and_its_kernel_form():
    X, y = load_iris(return_X_y=True)
    ours, peer = FisherClassifier().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=0.02)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    lsqr = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), lsqr.predict_proba(X), atol=1e-6)
    dual = KernelFisherClassifier(Linear(), lam=1e-6).fit(X, y)
    np.testing.assert_array_equal(dual.predict(X), ours.predict(X))
    assert KernelFisherClassifier().fit(X, y).score(X, y) > 0.95


def test_ridge_picks_its_penalty_by_leave_one_out():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(60, 1))
    y = 5 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    lams = np.logspace(-6, 3, 10)
    model = KernelRidge(RBF(1.0), lam=lams).fit(X, y)
    losses = [
        np.mean(KernelRidge(RBF(1.0), lam=lam).fit(X, y).solution_.loo_residuals ** 2)
        for lam in lams
    ]
    assert model.lam_ == lams[np.argmin(losses)]
    assert 1e-4 < model.lam_ < 10
    assert model.predict([[0.0]])[0] == pytest.approx(5, abs=0.1)


@pytest.mark.parametrize("estimator", KERNEL, ids=lambda e: type(e).__name__)
def test_strings_tokens_and_sets(estimator):
    words = ["aab", "aba", "baa", "ccd", "cdc", "dcc"]
    kinds = {"strings": (words, Substring(2)), "tokens": ([list(w) for w in words], Substring(2)),
             "sets": ([set(w) for w in words], Intersection())}  # fmt: skip
    y = ["ab", "ab", "ab", "cd", "cd", "cd"]
    for X, kernel in kinds.values():
        settings = {**estimator.get_params(), "kernel": kernel}
        settings.update({"lam": 0.1} if "lam" in settings else {})
        model = type(estimator)(**settings).fit(X, y)
        assert model.predict(X).tolist() == y
        assert model.certificate_inputs(X, y)["kernel_trace"] > 0
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            type(estimator)(**settings).fit(X, y[:5])
    assert model.predict([{"a"}, {"d", "c"}]).tolist() == ["ab", "cd"]


def test_inseparable_perceptron_warns():
    with pytest.warns(ConvergenceWarning, match="raise max_epochs"):
        PerceptronClassifier(Linear(), max_epochs=3).fit(X, NAMES)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="kernel must be a kernel or 'precomputed', got 'rbf'"):
        KernelLogisticClassifier("rbf").fit(X, NAMES)
    with pytest.raises(ValueError, match="combine must be one of"):
        PerceptronClassifier(combine="best").fit(X, NAMES)
    with pytest.raises(ValueError, match=r"Only binary classification .* got 3 classes"):
        PerceptronClassifier().fit(X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="got one class"):
        FisherClassifier().fit(X, np.ones(80))
    with pytest.raises(np.linalg.LinAlgError, match="give a ridge"):
        FisherClassifier(ridge=0).fit(np.column_stack([X, X[:, 0]]), NAMES)
    with pytest.raises(ValueError, match="probability must be one of"):
        AdaptiveMarginClassifier(probability="maybe").fit(X, NAMES)
