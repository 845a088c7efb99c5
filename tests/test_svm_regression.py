"""Support vector regression: golden numbers, the link to classification, a peer's objective."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_svm import BIASES, G2, TIGHT, Y2

from bayeskern.classic.regression import nu_svr, svr
from bayeskern.classic.support import svm
from bayeskern.kernels import RBF

T2 = np.array([1, 2, 0.5, -1, 0, -0.5, 1.5, -2])


def curve(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)


def test_golden_numbers():
    s = svr(G2, T2, 1.25, epsilon=0.1, **TIGHT)
    d = [1.25, 1.25, 0, -0.8839988512, -0.2754402859, 0, 1.25, -1.25]
    assert_allclose(s.coefficients, d, atol=1e-9)
    assert s.dual == pytest.approx(5.8660250963, abs=1e-9)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_primal_is_dual(bias, epsilon):
    X, t = curve()
    s = svr(RBF(0.7)(X), t, 2.0, epsilon=epsilon, bias=bias, tol=1e-9)
    assert s.gap < 1e-8 and s.kkt < 1e-8
    inside = np.abs(s.residuals) < epsilon - 1e-7
    assert (s.coefficients[inside] == 0).all()


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_nu_is_the_tube_it_finds(bias, nu):
    X, t = curve()
    K = RBF(0.7)(X)
    s = nu_svr(K, t, 2.0, nu=nu, bias=bias, tol=1e-9)
    assert s.gap < 1e-8
    assert np.mean(np.abs(s.residuals) > s.epsilon + 1e-7) <= nu <= len(s.support) / len(t)
    same = svr(K, t, 2.0, epsilon=s.epsilon, bias=bias, tol=1e-9)
    assert_allclose(s(K), same(K), atol=1e-6)


def test_flat_exactly_when_the_targets_fit_in_the_tube():
    assert (svr(G2, T2, 1.0, epsilon=2.0).coefficients == 0).all()
    assert (svr(G2, T2, 1.0, epsilon=1.99, **TIGHT).coefficients != 0).any()


def test_odd_in_the_targets():
    a, b = svr(G2, T2, 1.25, **TIGHT), svr(G2, -T2, 1.25, **TIGHT)
    assert_allclose(a.coefficients, -b.coefficients, atol=1e-9)


def test_classification_is_regression_on_labels_above_the_threshold():
    machine = svm(G2, Y2, 0.3, **TIGHT)
    most = machine.margins.max()
    assert most < 1  # then every epsilon will do, so take a machine with a threshold
    machine = svm(G2, Y2, 1.25, **TIGHT)
    threshold = (machine.margins.max() - 1) / (machine.margins.max() + 1)
    for eps in (max(threshold, 0) + 0.01, 0.6):
        fit = svr(G2, Y2, (1 - eps) * 1.25, epsilon=eps, **TIGHT)
        assert_allclose(fit(G2), (1 - eps) * machine(G2), atol=1e-8)


@pytest.mark.parametrize("nu", [False, True])
def test_against_scikit_learn(nu):
    from sklearn.svm import SVR, NuSVR

    X, t = curve()
    K = RBF(0.7)(X)
    settings = dict(C=2.0, kernel="precomputed", tol=1e-8)
    if nu:
        peer, s = NuSVR(nu=0.4, **settings), nu_svr(K, t, 2.0, nu=0.4, bias="ordinary", tol=1e-8)
    else:
        peer, s = SVR(epsilon=0.2, **settings), svr(K, t, 2.0, epsilon=0.2, bias="ordinary")
    assert_allclose(s(K), peer.fit(K, t).predict(K), atol=1e-5)


def test_bad_input():
    with pytest.raises(ValueError, match="epsilon must be non-negative, got -1"):
        svr(G2, T2, epsilon=-1)
    with pytest.raises(ValueError, match="t must be finite"):
        svr(G2, [*T2[:7], np.nan])
    with pytest.raises(ValueError, match="t must have one entry per point"):
        svr(G2, T2[:7])
