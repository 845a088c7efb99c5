import numpy as np
import pytest

import bayeskern as bk
from bayeskern.bayes.sparse_gp import FourierGP, SparseGP
from bayeskern.covariance import Dense, LowRank
from bayeskern.infer.objective import LogEvidence
from bayeskern.kernels.stationary import ARD, RBF, Matern
from tests.latent import gp_labels, thirty_points

UNIT = bk.Prior("LogNormal", mu=0.0, sigma=1.0)


def test_low_rank_algebra_equals_dense():
    rng = np.random.default_rng(0)
    V, d, W = rng.normal(size=(12, 3)), rng.random(12), rng.random(12)
    d[3] = W[5] = 0.0
    sparse, dense = LowRank(V, d).meet(W), Dense(V @ V.T + np.diag(d)).meet(W)
    v, alpha, u = rng.normal(size=(3, 12))
    assert sparse.logdet == pytest.approx(dense.logdet)
    assert sparse.shrink(v) == pytest.approx(dense.shrink(v))
    assert sparse.var == pytest.approx(dense.var)
    assert sparse.cov == pytest.approx(dense.cov)
    K_cross = rng.normal(size=(12, 4))
    for full in (True, False):
        assert sparse.reduction(K_cross, full=full) == pytest.approx(
            dense.reduction(K_cross, full=full)
        )
    G, H = sparse.gradient(alpha, u), dense.gradient(alpha, u)
    assert G.diag == pytest.approx(np.diagonal(H))
    assert G.times(K_cross) == pytest.approx(H @ K_cross)
    draws = sparse.sample(rng, 20_000)
    assert np.cov(draws.T) == pytest.approx(dense.cov, abs=0.06)


@pytest.mark.parametrize("method", [bk.Laplace(), bk.EP()], ids=["laplace", "ep"])
def test_all_inputs_as_inducing_inputs_give_the_full_process(method):
    X, y = thirty_points()
    full = bk.GaussianProcess(X, y, 2.0 * RBF(0.7), bk.Probit())
    sparse = SparseGP(X, y, 2.0 * RBF(0.7), bk.Probit(), inducing=30)
    one, two = method.at(full, {}), method.at(sparse, {})
    assert two.log_evidence == pytest.approx(one.log_evidence, abs=1e-5)
    assert two.mean == pytest.approx(one.mean, abs=1e-5)
    new = np.array([[0.3, -0.4], [2.0, 1.0]])
    for a, b in zip(
        one.predict(full.cross_cov({}, new), full.prior_var({}, new)),
        two.predict(sparse.cross_cov({}, new), sparse.prior_var({}, new)),
        strict=True,
    ):
        assert b == pytest.approx(a, abs=1e-4)


@pytest.mark.parametrize(
    ("problem", "inner"),
    [
        (lambda X, y: SparseGP(X, y, UNIT * RBF(UNIT), bk.Logit(), inducing=6), bk.Laplace()),
        (lambda X, y: SparseGP(X, y, UNIT * Matern(UNIT), bk.Probit(), inducing=6), bk.EP(1e-9)),
        (lambda X, y: SparseGP(X, y, RBF(UNIT), bk.Probit(UNIT), inducing=6), bk.EP(1e-9)),
        (
            lambda X, y: SparseGP(
                X, y, UNIT * ARD(bk.Prior("LogNormal", size=2)), bk.Gaussian(UNIT), inducing=6
            ),
            bk.Exact(),
        ),
        (lambda X, y: FourierGP(X, y, UNIT * RBF(UNIT), bk.Logit(), frequencies=5), bk.Laplace()),
        (
            lambda X, y: FourierGP(
                X, y, ARD(bk.Prior("LogNormal", size=2)), bk.Gaussian(UNIT), frequencies=5
            ),
            bk.Exact(),
        ),
    ],
)
def test_evidence_is_differentiable(problem, inner):
    X, y = thirty_points()
    f = LogEvidence(problem(X, y), inner)
    x = np.linspace(-0.3, 0.4, f.log_theta.size)
    gradient = f(x)[1]
    for k in range(len(x)):
        e = np.zeros(len(x))
        e[k] = 1e-5
        slope = (f.value(x + e) - f.value(x - e)) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_fit_of_a_sparse_process_is_near_that_of_the_full_one():
    X, y = gp_labels(300, seed=8)
    full = bk.GaussianProcess(X, y, UNIT * RBF(UNIT), bk.Logit())
    sparse = SparseGP(X, y, UNIT * RBF(UNIT), bk.Logit(), inducing=60)
    one = bk.EvidenceMax(starts=1).run(full, random_seed=0)
    two = bk.EvidenceMax(starts=1).run(sparse, random_seed=0)
    assert two.attrs["log_evidence"] == pytest.approx(one.attrs["log_evidence"], abs=1.0)
    for name in ("theta_constant_value", "theta_rbf_lengthscale"):
        ratio = float(two.fit[name]) / float(one.fit[name])
        assert 0.7 < ratio < 1.4
    assert "covariance_matrix" not in two.fit
    assert two.fit["variance"].shape == (300,)


def test_fourier_features_tend_to_the_kernel():
    X, y = thirty_points()
    gp = FourierGP(X, y, 2.0 * RBF(0.8), bk.Logit(), frequencies=20_000)
    V = gp.prior_cov({}).V
    assert V @ V.T == pytest.approx(2.0 * RBF(0.8)(X), abs=0.06)
    few = FourierGP(X, y, 2.0 * RBF(0.8), bk.Logit(), frequencies=2000)
    full = bk.Laplace().at(bk.GaussianProcess(X, y, 2.0 * RBF(0.8), bk.Logit()), {})
    assert bk.Laplace().at(few, {}).log_evidence == pytest.approx(full.log_evidence, abs=0.2)


def test_duplicates_and_refusals():
    X = np.repeat(thirty_points()[0][:5], 4, axis=0)
    y = np.tile([1.0, -1.0], 10)
    state = bk.Laplace().at(SparseGP(X, y, RBF(1.0), bk.Logit(), inducing=10), {})
    assert state.converged
    with pytest.raises(ValueError, match="inducing must be at least 1"):
        SparseGP(X, y, RBF(1.0), bk.Logit(), inducing=0)
    with pytest.raises(ValueError, match="FourierGP needs a stationary kernel"):
        FourierGP(X, y, RBF(1.0) + RBF(2.0, name="b"), bk.Logit())
    with pytest.raises(ValueError, match="SparseGP has no PyMC model"):
        SparseGP(X, y, RBF(1.0), bk.Logit()).build()
