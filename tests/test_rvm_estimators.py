"""RVMRegressor and RVMClassifier."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import bayeskern as bk
from bayeskern.linalg import cholesky


@pytest.mark.parametrize("estimator", [bk.RVMRegressor(), bk.RVMClassifier()])
def test_scikit_learn_contract(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)


class TestRegressor:
    def test_finds_the_function_and_the_noise(self):
        data = bk.datasets.sinc(200)
        rvm = bk.RVMRegressor(bk.RBF(2.0)).fit(data.X, data.y)
        truth = np.sinc(data.X[:, 0] / np.pi)
        assert np.sqrt(np.mean((rvm.predict(data.X) - truth) ** 2)) < 0.03
        assert 0.08 < rvm.sigma_ < 0.12
        found = rvm.relevance_
        assert 3 <= len(found.indices) <= 12
        np.testing.assert_array_equal(found.inputs, data.X[found.indices])
        assert (found.sd > 0).all() and (found.theta > 0).all()
        by_hand = rvm.intercept_ + bk.RBF(2.0)(data.X, found.inputs) @ found.weights
        np.testing.assert_allclose(rvm.predict(data.X), by_hand, atol=1e-12)
        assert (np.diff(rvm.evidence_trace_) > -1e-9).all()
        assert rvm.log_evidence_ == pytest.approx(rvm.evidence_trace_[-1], abs=1e-6)

    def test_is_the_gaussian_process_of_its_variances(self):
        data = bk.datasets.sinc(60)
        rvm = bk.RVMRegressor(bk.RBF(2.0)).fit(data.X, data.y)
        problem, fit = rvm.problem_, rvm._machines[0].fit
        theta = np.zeros(problem.n_basis)
        theta[fit.relevance] = fit.theta
        A, new = problem.columns(), np.linspace(-12, 12, 7)[:, None]
        A_new = problem.columns(X_new=new)
        factor = cholesky((A * theta) @ A.T + rvm.sigma_**2 * np.eye(60))
        cross = (A_new * theta) @ A.T
        mean, sd = rvm.predict(new, return_std=True)
        np.testing.assert_allclose(mean, cross @ factor.solve(data.y), atol=1e-8)
        var = (A_new**2) @ theta - np.einsum("ij,ji->i", cross, factor.solve(cross.T))
        np.testing.assert_allclose(sd**2, var + rvm.sigma_**2, atol=1e-8)

    def test_query_basis_repairs_the_shrinking_variance(self):
        data = bk.datasets.sinc(100)
        far = np.array([[40.0]])
        plain = bk.RVMRegressor(bk.RBF(2.0), bias=False).fit(data.X, data.y)
        mean, sd = plain.predict(far, return_std=True)
        assert sd[0] == pytest.approx(plain.sigma_, rel=1e-9)  # the known failing
        healed = bk.RVMRegressor(bk.RBF(2.0), bias=False, query_basis=True).fit(data.X, data.y)
        signal = np.sqrt(np.mean(healed._machines[0].fit.latent(healed.problem_, data.X)[0] ** 2))
        mean, sd = healed.predict(far, return_std=True)
        assert mean[0] == pytest.approx(0.0, abs=1e-9)
        assert sd[0] == pytest.approx(np.hypot(signal, healed.sigma_), rel=1e-9)
        inside = healed.predict(data.X, return_std=True)[1]
        assert inside.max() < sd[0]

    def test_query_basis_is_the_posterior_with_one_column_more(self):
        data = bk.datasets.sinc(40)
        rvm = bk.RVMRegressor(bk.RBF(2.0), query_basis=0.7).fit(data.X, data.y)
        fit, x = rvm._machines[0].fit, np.array([[11.0]])
        kernel = bk.RBF(2.0)
        Phi = np.column_stack([rvm.problem_.columns(fit.relevance), kernel(data.X, x)])
        phi = np.append(rvm.problem_.columns(fit.relevance, x)[0], 1.0)
        precision = Phi.T @ Phi / rvm.sigma_**2 + np.diag(1 / np.append(fit.theta, 0.7))
        mu = np.linalg.solve(precision, Phi.T @ data.y / rvm.sigma_**2)
        mean, sd = rvm.predict(x, return_std=True)
        assert mean[0] == pytest.approx(phi @ mu, rel=1e-7)
        var = phi @ np.linalg.solve(precision, phi) + rvm.sigma_**2
        assert sd[0] ** 2 == pytest.approx(var, rel=1e-7)

    def test_features_as_a_basis(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 10))
        y = 2 * X[:, 3] - X[:, 7] + 1 + 0.1 * rng.normal(size=80)
        rvm = bk.RVMRegressor("features").fit(X, y)
        assert {3, 7} <= set(rvm.relevance_.indices.tolist())
        assert len(rvm.relevance_.indices) < 7
        assert rvm.intercept_ == pytest.approx(1, abs=0.1)
        with pytest.raises(ValueError, match="query_basis needs a kernel"):
            bk.RVMRegressor("features", query_basis=True).fit(X, y).predict(X)

    def test_width_by_evidence(self):
        data = bk.datasets.sinc(150)
        width = bk.Prior("InverseGamma", alpha=3, beta=6)
        rvm = bk.RVMRegressor(bk.RBF(width)).fit(data.X, data.y)
        fixed = bk.RVMRegressor(bk.RBF(4.0)).fit(data.X, data.y)
        assert rvm.log_evidence_ > fixed.log_evidence_
        assert "rbf_lengthscale" in rvm.idata_["posterior"]

    def test_other_methods(self):
        data = bk.datasets.sinc(40)
        rvm = bk.RVMRegressor(bk.RBF(2.0), inference=bk.SparseBayes(start=1.0))
        assert rvm.fit(data.X, data.y).log_evidence_ == pytest.approx(25.7302534, abs=1e-6)
        full = bk.RVMRegressor(bk.RBF(2.0), inference=bk.SparseVariational(), random_state=0)
        mean = full.fit(data.X, data.y).predict(data.X)
        assert np.mean((mean - rvm.predict(data.X)) ** 2) < 0.01
        assert len(full.relevance_.indices) == 40
        with pytest.raises(ValueError, match="query_basis needs SparseSequential"):
            clone(full).set_params(query_basis=True).fit(data.X, data.y)

    def test_bad_settings(self):
        X, y = np.arange(6.0)[:, None], np.arange(6.0)
        with pytest.raises(ValueError, match="kernel must be"):
            bk.RVMRegressor("rbf").fit(X, y)
        with pytest.raises(ValueError, match="query_basis must be positive"):
            bk.RVMRegressor(query_basis=-1.0).fit(X, y)
        with pytest.raises(NotFittedError):
            _ = bk.RVMRegressor().idata_


class TestClassifier:
    def test_probabilities_are_averaged(self):
        data = bk.datasets.ripley(100)
        rvm = bk.RVMClassifier(bk.RBF(0.5)).fit(data.X, data.y)
        x = np.array([[0.0, 0.5]])
        mean, var = rvm._machines[0].latent(x)
        truth, _ = quad(lambda f: expit(f) * norm.pdf(f, mean[0], var[0] ** 0.5), -30, 30)
        assert rvm.predict_proba(x)[0, 1] == pytest.approx(truth, abs=1e-7)
        assert abs(truth - expit(mean[0])) > 1e-4  # the mode plugged in is another number
        odds = rvm.decision_function(data.X)
        np.testing.assert_allclose(rvm.predict_proba(data.X)[:, 1], expit(odds), atol=1e-12)

    def test_ripley(self):
        data, test = bk.datasets.ripley(250), bk.datasets.ripley(5000, seed=1)
        rvm = bk.RVMClassifier(bk.RBF(0.5)).fit(data.X, data.y)
        assert 1 - rvm.score(test.X, test.y) < 0.11  # the best possible is 0.089
        assert len(rvm.relevance_.indices) < 10

    def test_three_classes(self):
        rng = np.random.default_rng(0)
        centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
        y = np.repeat(["a", "b", "c"], 40)
        X = np.repeat(centres, 40, axis=0) + rng.normal(size=(120, 2))
        rvm = bk.RVMClassifier(bk.RBF(1.5), likelihood=bk.Probit()).fit(X, y)
        assert rvm.score(X, y) > 0.88
        p = rvm.predict_proba(X)
        assert p.shape == (120, 3)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert len(rvm.relevance_) == len(rvm.log_evidence_) == 3
        assert [tree.attrs["problem"] for tree in rvm.idata_] == ["RelevanceVector"] * 3

    def test_certificate_inputs(self):
        data = bk.datasets.ripley(100)
        rvm = bk.RVMClassifier(bk.RBF(0.5)).fit(data.X, data.y)
        given = rvm.certificate_inputs(data.X, data.y)
        assert given["kind"] == "rvm" and given["prior_depends_on_data"]
        assert given["n_support"] == len(rvm.relevance_.indices)
        errors = np.mean(rvm.predict(data.X) != data.y)
        assert np.mean(given["margins"] < 0) == pytest.approx(errors)
        assert given["log_evidence"] == rvm.log_evidence_

    def test_separable_and_pickles(self):
        data = bk.datasets.separable6()
        rvm = bk.RVMClassifier().fit(data.X, data.y)
        copy = pickle.loads(pickle.dumps(rvm))
        p = copy.predict_proba(data.X)
        np.testing.assert_array_equal(p, rvm.predict_proba(data.X))
        assert np.isfinite(p).all() and (copy.predict(data.X) == data.y).all()

    def test_query_basis_makes_far_points_uncertain(self):
        data = bk.datasets.ripley(100)
        far = np.array([[0.4, 4.0]])
        healed = bk.RVMClassifier(bk.RBF(0.5), bias=False, query_basis=True).fit(data.X, data.y)
        assert healed.predict_proba(far)[0, 1] == pytest.approx(0.5, abs=1e-6)
        _, var = healed._machines[0].latent(far, True)
        assert var[0] > 0.5
