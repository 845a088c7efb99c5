"""Combinations of machines: rules by hand, the two-class case, peers, and one problem for all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayeskern.classic.multiclass import SCHEMES, combine, multiclass_svm
from bayeskern.classic.support import svm
from bayeskern.kernels import RBF


def flowers():
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def test_rules_by_hand():
    duels = np.array([[1.0, -2.0, -1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])  # 0-1, 0-2, 1-2
    votes = combine(duels, 3, "one-vs-one")
    assert votes.argmax(axis=1).tolist() == [2, 0, 0]  # the cycle ties; sums 0, 0, 0: lowest index
    assert votes[0].round().tolist() == [1, 0, 2]
    # first against last: 2 beats 0, then 1 against 2
    assert combine(duels, 3, "dag").argmax(axis=1).tolist() == [2, 1, 0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_classes_are_the_binary_machine(scheme):
    X, y = flowers()
    X, y = X[50:], y[50:]
    K = RBF(1.0)(X)
    binary = svm(K, np.where(y == 1, 1, -1), 1.0)
    # all together, two classes share one margin of 2: half the function, half the constant
    s = multiclass_svm(K, y, 0.5 if scheme == "all-together" else 1.0, scheme=scheme)
    assert (s.predict(K) == np.where(binary(K) >= 0, 1, 2)).all()
    if scheme == "one-vs-rest":
        assert_allclose(s.decisions(K)[:, 0], -s.decisions(K)[:, 1], atol=1e-5)
    if scheme == "all-together":
        f = s.decisions(K)
        assert_allclose(f[:, 0] - f[:, 1], binary(K), atol=1e-4)


def test_against_scikit_learn():
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    X, y = flowers()
    K = RBF(np.sqrt(0.5 / (1 / (4 * X.var()))))(X)
    peer = SVC(kernel="precomputed", tol=1e-8)
    one = multiclass_svm(K, y, 1.0, bias="ordinary")
    assert (one.predict(K) == peer.fit(K, y).predict(K)).all()
    rest = multiclass_svm(K, y, 1.0, scheme="one-vs-rest", bias="ordinary")
    assert_allclose(
        rest.scores(K), OneVsRestClassifier(peer).fit(K, y).decision_function(K), atol=1e-5
    )
    assert [np.mean(m.predict(K) == y).round(4) for m in (rest, one)] == [0.9533, 0.9733]


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_all_together_is_certified_and_agrees(C):
    from sklearn.svm import LinearSVC

    X, y = flowers()
    X = (X - X.mean(0)) / X.std(0)
    s = multiclass_svm(X @ X.T, y, C, scheme="all-together", tol=1e-6)
    assert s.converged and s.gap < 1e-5
    peer = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8)
    w = peer.set_params(max_iter=10**6).fit(X, y).coef_
    assert_allclose(X.T @ s.coefficients, w.T, atol=1e-3)
    assert_allclose(s.coefficients.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_relabelling_permutes(scheme):
    X, y = flowers()
    K = RBF(1.0)(X)
    names = np.array(["c", "a", "b"])
    a, b = multiclass_svm(K, y, scheme=scheme), multiclass_svm(K, names[y], scheme=scheme)
    agree = names[a.predict(K)] == b.predict(K)
    assert agree.mean() > 0.98  # the order decides ties and the path of the DAG


def test_bad_input():
    with pytest.raises(ValueError, match="at least two classes"):
        multiclass_svm(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="scheme must be one of"):
        multiclass_svm(np.eye(3), [1, 2, 3], scheme="some")
    with pytest.raises(ValueError, match="'ordinary'"):
        multiclass_svm(np.eye(3), [1, 2, 3], scheme="all-together", bias="ordinary")
