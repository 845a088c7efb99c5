"""The relevance vector machine as a problem, and its fixed-point methods."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import bayeskern as bk
from bayeskern.bayes.rvm import weight_log_density
from bayeskern.errors import ConvergenceWarning, UnboundedEvidenceError
from bayeskern.infer._weights import (
    evidence_slopes,
    full_cov,
    gaussian_log_evidence,
    laplace_mode,
    weights_given,
)

FREE = bk.Gaussian(bk.Prior("HalfNormal"))


def sinc_problem(likelihood=FREE, **settings):
    data = bk.datasets.sinc()
    return bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), likelihood, **settings)


def random_design(rng, m=12, n=5):
    return rng.normal(size=(m, n)), rng.normal(size=m), rng.gamma(1.0, size=n), rng.gamma(2.0) / 4


def direct_evidence(X, t, theta, sigma2):
    C = (X * theta) @ X.T + sigma2 * np.eye(len(t))
    return stats.multivariate_normal(np.zeros(len(t)), C).logpdf(t)


class TestWeights:
    @pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
    def test_posterior_and_evidence_are_the_textbook_ones(self, shape):
        rng = np.random.default_rng(0)
        X, t, theta, s2 = random_design(rng, *shape)
        W = np.full(len(t), 1 / s2)
        state = weights_given(X, theta, W, t / s2)
        Sigma = np.linalg.inv(X.T @ X / s2 + np.diag(1 / theta))
        C = (X * theta) @ X.T + s2 * np.eye(len(t))
        np.testing.assert_allclose(state.mean, Sigma @ X.T @ t / s2, rtol=1e-9)
        np.testing.assert_allclose(full_cov(X, theta, W, state), Sigma, atol=1e-12)
        np.testing.assert_allclose(state.var, np.diag(Sigma), rtol=1e-9)
        S = np.einsum("ij,ij->j", X, np.linalg.solve(C, X))
        np.testing.assert_allclose(state.zeta, theta * S, rtol=1e-9)
        # eq. B.19 and the trace identity of the effective number of parameters
        np.testing.assert_allclose(
            np.linalg.solve(C, t), (t - X @ state.mean) / s2, rtol=1e-8, atol=1e-10
        )
        assert np.trace(Sigma @ X.T @ X) == pytest.approx(s2 * state.zeta.sum())
        value = gaussian_log_evidence(X, t, theta, s2, state)
        assert value == pytest.approx(direct_evidence(X, t, theta, s2), rel=1e-9)

    def test_small_variances_do_not_cancel(self):
        rng = np.random.default_rng(1)
        X, t, theta, s2 = random_design(rng)
        theta[2] = 1e-14
        zeta = weights_given(X, theta, np.full(len(t), 1 / s2), t / s2).zeta
        C = (X * theta) @ X.T + s2 * np.eye(len(t))
        assert zeta[2] == pytest.approx(theta[2] * X[:, 2] @ np.linalg.solve(C, X[:, 2]), rel=1e-6)

    def test_gradient_of_the_laplace_evidence_is_total(self):
        rng = np.random.default_rng(2)
        X, _, theta, _ = random_design(rng, 20, 5)
        y, likelihood = np.sign(rng.normal(size=20)), bk.Logit(1.3)

        def evidence(X, theta):
            return laplace_mode(X, theta, y, likelihood, tol=1e-15).log_evidence

        mode = laplace_mode(X, theta, y, likelihood, tol=1e-15)
        log_theta, basis = evidence_slopes(X, mode, y, likelihood)
        h = 1e-5
        for i in range(5):
            step = np.exp(h * np.eye(5)[i])
            numeric = (evidence(X, theta * step) - evidence(X, theta / step)) / (2 * h)
            assert log_theta[i] == pytest.approx(numeric, rel=1e-6)
        bump = np.zeros_like(X)
        bump[3, 2] = h
        numeric = (evidence(X + bump, theta) - evidence(X - bump, theta)) / (2 * h)
        assert basis[3, 2] == pytest.approx(numeric, rel=1e-5)
        explicit = -0.5 * (mode.state.zeta - mode.w**2 / theta)
        assert np.abs(explicit - log_theta).max() > 1e-3  # the updates' gradient is not the whole

    def test_slope_of_the_link_is_a_scale_of_the_basis(self):
        rng = np.random.default_rng(3)
        X, _, theta, _ = random_design(rng, 20, 4)
        y, c = np.sign(rng.normal(size=20)), 1.7
        steep = laplace_mode(X, theta, y, bk.Logit(slope=c), tol=1e-14)
        scaled = laplace_mode(c * X, theta, y, bk.Logit(slope=1.0), tol=1e-14)
        assert steep.log_evidence == pytest.approx(scaled.log_evidence, rel=1e-12)
        np.testing.assert_allclose(steep.w, scaled.w, rtol=1e-6)


class TestProblem:
    def test_fixed_variances_make_a_gaussian_process(self):
        rng = np.random.default_rng(0)
        X, t, theta, _ = random_design(rng, 8, 3)
        rvm = bk.RelevanceVector(X, t, None, bk.Gaussian(0.3), bias=False, theta=theta)
        gp = bk.GaussianProcess(X * np.sqrt(theta), t, bk.Linear(), bk.Gaussian(0.3))
        new = rng.normal(size=(4, 3))
        np.testing.assert_allclose(rvm.prior_cov({}), gp.prior_cov({}), rtol=1e-12)
        scaled = new * np.sqrt(theta)
        np.testing.assert_allclose(rvm.cross_cov({}, new), gp.cross_cov({}, scaled), rtol=1e-12)
        np.testing.assert_allclose(rvm.prior_var({}, new), gp.prior_var({}, scaled), rtol=1e-12)
        np.testing.assert_allclose(rvm.new_cov({}, new), gp.new_cov({}, scaled), rtol=1e-12)

    def test_exact_and_laplace_of_the_shared_layer_serve_it(self):
        rng = np.random.default_rng(1)
        X, t, theta, s2 = random_design(rng, 10, 4)
        rvm = bk.RelevanceVector(X, t, None, bk.Gaussian(s2**0.5), bias=False, theta=theta)
        state = bk.Exact().at(rvm, {})
        assert state.log_evidence == pytest.approx(direct_evidence(X, t, theta, s2), rel=1e-9)
        y = np.sign(t)
        rvm = bk.RelevanceVector(X, y, None, bk.Logit(), bias=False, theta=theta)
        mode = laplace_mode(X, theta, y, bk.Logit(), tol=1e-14)
        assert bk.Laplace().at(rvm, {}).log_evidence == pytest.approx(mode.log_evidence, rel=1e-7)

    def test_pullback_is_the_gradient_of_every_part(self):
        data = bk.datasets.sinc(8)
        kernel = bk.RBF(bk.Prior("InverseGamma", alpha=3, beta=4))
        rvm = bk.RelevanceVector(data.X, data.y, kernel, FREE)
        rng = np.random.default_rng(0)
        G = rng.normal(size=(8, 8))
        G = G + G.T
        at = {"theta": rng.gamma(1.0, size=9), "rbf_lengthscale": 2.5, "noise_sigma": 0.3}
        got = rvm.pullback(at, G)

        def value(**changed):
            return np.vdot(G, rvm.prior_cov({**at, **changed}))

        h = 1e-6
        for i in (0, 4):
            bump = h * np.eye(9)[i]
            numeric = value(theta=at["theta"] + bump) - value(theta=at["theta"] - bump)
            assert got["theta"][i] == pytest.approx(numeric / (2 * h), rel=1e-6)
        numeric = value(rbf_lengthscale=2.5 + h) - value(rbf_lengthscale=2.5 - h)
        assert got["rbf_lengthscale"] == pytest.approx(numeric / (2 * h), rel=1e-6)
        assert got["noise_sigma"] == pytest.approx(2 * 0.3 * np.trace(G))
        assert list(got) == list(rvm.free())

    def test_any_function_makes_a_basis(self):
        data = bk.datasets.sinc(30)

        def sigmoid(X, Z):  # not positive semidefinite
            return np.tanh(X @ Z.T - 1.0)

        rvm = bk.RelevanceVector(data.X, data.y, sigmoid, FREE)
        K = sigmoid(data.X, data.X)
        assert np.linalg.eigvals(K).real.min() < -0.1
        np.testing.assert_array_equal(rvm.columns()[:, 1:], K)
        np.testing.assert_array_equal(rvm.columns([0, 7]), rvm.columns()[:, [0, 7]])
        assert np.isfinite(bk.SparseSequential().fit(rvm).log_evidence)
        with pytest.raises(ValueError, match="must return a matrix of shape"):
            bk.RelevanceVector(data.X, data.y, lambda X, Z: np.ones((2, 2)), FREE).columns()

    def test_pickles_and_names_its_dimensions(self):
        rvm = pickle.loads(pickle.dumps(sinc_problem()))
        assert rvm.n_basis == 41
        assert rvm.free()["theta"].size == 41
        assert rvm.dims()["w"] == ["basis"]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"theta": None}, "improper limit"),
            ({"theta": -1.0}, "theta must be non-negative"),
            ({"theta": [1.0, 2.0]}, "41 non-negative variances"),
            ({"theta": bk.Prior("Gamma", alpha=1, beta=1, size=3)}, "size 3 for 41"),
        ],
    )
    def test_bad_variances_are_refused(self, settings, message):
        with pytest.raises(ValueError, match=message):
            sinc_problem(**settings)

    def test_bad_data_are_refused(self):
        X = np.zeros((3, 1))
        for y, likelihood in [([1, 2], FREE), ([0, 1, 1], bk.Logit()), ([1, np.nan, 0], FREE)]:
            with pytest.raises(ValueError, match="y must"):
                bk.RelevanceVector(X, y, bk.RBF(), likelihood)
        with pytest.raises(ValueError, match="kernel must be"):
            bk.RelevanceVector(X, [1, 2, 3], "rbf", FREE)
        with pytest.raises(ValueError, match="only the ratio"):
            bk.RelevanceVector(X, [1, -1, 1], bk.RBF(), bk.Logit(bk.Prior("HalfNormal")))
        fixed = bk.RelevanceVector(X, [1, 2, 3], bk.RBF(), FREE, theta=1.0)
        with pytest.raises(ValueError, match="theta, which is fixed"):
            bk.SparseBayes().fit(fixed)

    def test_improper_limit_is_refused_for_models(self):
        tiny = bk.Prior("InverseGamma", alpha=1e-3, beta=1e-3)
        with pytest.raises(ValueError, match="proper prior"):
            sinc_problem(theta=tiny).build()
        bk.SparseBayes().fit(sinc_problem(theta=tiny))  # but its evidence has a maximum


class TestWeightPrior:
    def test_is_the_mixture_it_says(self):
        for a, b in [(0.5, 2.0), (1.0, 1.0), (3.0, 0.2)]:
            precision = stats.gamma(a, scale=b)
            for w in (0.0, 0.7, 3.0):
                mixed, _ = quad(
                    lambda p, w=w, d=precision: stats.norm.pdf(w, 0, p**-0.5) * d.pdf(p),
                    0,
                    np.inf,
                    epsabs=0,
                    epsrel=1e-12,
                    limit=400,
                )
                got = weight_log_density(w, a, b)
                assert got == pytest.approx(np.log(mixed), abs=1e-9)
                t = stats.t(2 * a, scale=1 / np.sqrt(a * b))
                assert got == pytest.approx(t.logpdf(w), abs=1e-12)

    def test_figure_3_6(self):
        table = {
            1e-3: (-3.80184, -4.69951, -6.91636),
            1e-2: (-2.66286, -2.86965, -4.66809),
            1e-1: (-1.62212, -1.65140, -2.69718),
            1.0: (-1.03972, -1.04720, -1.64792),
        }
        for a, values in table.items():
            got = weight_log_density([0.0, 0.1, 1.0], a, 1 / a)
            np.testing.assert_allclose(got, values, atol=6e-6)
        axis = weight_log_density([0.0, 2**0.5], 1e-3, 1e3).sum()
        assert axis - 2 * weight_log_density(1.0, 1e-3, 1e3) == pytest.approx(2.76775, abs=1e-5)

    def test_mass_escapes_to_zero_in_the_limit(self):
        expected = {1.0: 0.0038, 0.1: 0.0053, 0.01: 0.0114, 1e-4: 0.0747}
        w = np.concatenate([-np.geomspace(1e-12, 40, 40001)[::-1], np.geomspace(1e-12, 40, 40001)])
        for a, chance in expected.items():
            density = np.exp(weight_log_density(w, a, 1 / a)) * stats.norm.pdf(w, 1.0, 0.5)
            inside = np.abs(w) < 0.01
            got = np.trapezoid(density * inside, w) / np.trapezoid(density, w)
            assert got == pytest.approx(chance, abs=6e-4 if a > 1e-3 else 3e-3)


class TestSparseBayes:
    def test_reaches_the_known_maximum(self):
        fit = bk.SparseBayes(start=1.0).fit(sinc_problem())
        assert fit.log_evidence == pytest.approx(25.7302534, abs=1e-6)
        assert fit.hyper["noise_sigma"] ** 2 == pytest.approx(0.00883078, abs=1e-7)
        assert fit.relevance.tolist() == [7, 13, 21, 27, 33, 40]
        assert fit.converged

    def test_em_is_slow_but_sure(self):
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            fit = bk.SparseBayes("em", start=1.0, max_iter=2000).fit(sinc_problem())
        assert fit.log_evidence == pytest.approx(25.7211, abs=1e-3)
        assert len(fit.relevance) == 41

    @pytest.mark.parametrize("update", ["mackay", "em", "mm"])
    @pytest.mark.parametrize("noise", [FREE, bk.Gaussian(0.2)])
    def test_evidence_never_falls(self, update, noise):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for seed in range(3):
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(25, 12))
                t = X[:, 0] - 0.5 * X[:, 3] + 0.3 * rng.normal(size=25)
                rvm = bk.RelevanceVector(X, t, None, noise, bias=False)
                fit = bk.SparseBayes(update, max_iter=300).fit(rvm)
                scale = 1e-9 * (1 + np.abs(fit.trace[:-1]))
                assert (np.diff(fit.trace) >= -scale).all()

    def test_bound_behind_the_updates(self):
        rng = np.random.default_rng(5)
        for _ in range(300):
            X, t, theta, s2 = random_design(rng)
            state = weights_given(X, theta, np.full(len(t), 1 / s2), t / s2)
            r = ((t - X @ state.mean) ** 2).sum()
            trace = (len(t) - state.zeta.sum()) / s2
            new, s2_new = theta * rng.lognormal(size=5), s2 * rng.lognormal()
            S = state.zeta / theta
            bracket = (S * (new - theta) + state.mean**2 * (1 / new - 1 / theta)).sum()
            bracket += trace * (s2_new - s2) + r * (1 / s2_new - 1 / s2)
            gain = direct_evidence(X, t, new, s2_new) - direct_evidence(X, t, theta, s2)
            assert gain >= -0.5 * bracket - 1e-9

    def test_orthogonal_design_in_closed_form(self):
        rng = np.random.default_rng(0)
        d, s2 = 20.0, 0.5
        X = np.linalg.qr(rng.normal(size=(20, 6)))[0] * np.sqrt(d)
        t = X @ np.array([1.0, -0.5, 0.1, 0, 0, 0]) + s2**0.5 * rng.normal(size=20)
        ls = X.T @ t / d
        best = np.maximum(ls**2 - s2 / d, 0)
        rvm = bk.RelevanceVector(X, t, None, bk.Gaussian(s2**0.5), bias=False)
        for method in (bk.SparseBayes(), bk.SparseBayes("mm"), bk.SparseSequential(tol=1e-12)):
            fit = method.fit(rvm)
            theta, w = np.zeros(6), np.zeros(6)
            theta[fit.relevance], w[fit.relevance] = fit.theta, fit.weights
            np.testing.assert_allclose(theta, best, atol=1e-5)
            shrunk = ls * np.maximum(1 - s2 / (d * ls**2), 0)
            np.testing.assert_allclose(w, shrunk, atol=1e-4)

    def test_fixed_point_is_stationary(self):
        fit = bk.SparseBayes(tol=1e-9).fit(sinc_problem())
        X, t = sinc_problem().columns(fit.relevance), bk.datasets.sinc().y
        s2 = fit.hyper["noise_sigma"] ** 2
        np.testing.assert_allclose(fit.theta, fit.cov.diagonal() + fit.weights**2, rtol=1e-5)

        def evidence(log):
            return direct_evidence(X, t, np.exp(log[:-1]), np.exp(log[-1]))

        at = np.log(np.append(fit.theta, s2))
        for i in range(len(at)):
            e = 1e-4 * np.eye(len(at))[i]
            assert abs(evidence(at + e) - evidence(at - e)) / 2e-4 < 1e-4

    def test_updates_near_zero(self):
        """MacKay's factor is the ratio q^2/s; EM moves by theta^2 (q^2 - s) only."""
        rng = np.random.default_rng(4)
        X, t, theta, s2 = random_design(rng, 30, 3)
        t = t + 3 * X[:, 0]
        theta[0] = 1e-8
        C = (X[:, 1:] * theta[1:]) @ X[:, 1:].T + s2 * np.eye(30)
        s, q = X[:, 0] @ np.linalg.solve(C, X[:, 0]), X[:, 0] @ np.linalg.solve(C, t)
        state = weights_given(X, theta, np.full(30, 1 / s2), t / s2)
        mackay = state.mean[0] ** 2 / state.zeta[0]
        assert mackay / theta[0] == pytest.approx(q**2 / s, rel=1e-4)
        em = state.var[0] + state.mean[0] ** 2
        assert (em - theta[0]) / theta[0] ** 2 == pytest.approx(q**2 - s, rel=1e-3)

    def test_labels_reach_an_explicit_fixed_point(self):
        data = bk.datasets.ripley(60)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(0.5), bk.Logit())
        fit = bk.SparseBayes().fit(rvm)
        assert fit.converged and 1 <= len(fit.relevance) < 15
        X = rvm.columns(fit.relevance)
        mode = laplace_mode(X, fit.theta, data.y, bk.Logit(), tol=1e-14)
        np.testing.assert_allclose(fit.theta, mode.w**2 / mode.state.zeta, rtol=1e-3)
        assert fit.log_evidence >= fit.trace.max() - 1e-2

    def test_one_class_only_predicts_it(self):
        rvm = bk.RelevanceVector([[0.0], [1.0], [2.0]], [1, 1, 1], bk.RBF(), bk.Logit())
        for method in (bk.SparseBayes(max_iter=50000), bk.SparseSequential()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit = method.fit(rvm)
            assert (fit.latent(rvm, rvm.X)[0] > 0).all()

    def test_result_has_the_one_form(self):
        tree = bk.SparseBayes(draws=2000).run(sinc_problem(), random_seed=1)
        fit = tree["fit"]
        w = tree["posterior"]["w"].values[0]
        kept = fit["relevance_indices"].values
        assert (w[:, np.setdiff1d(np.arange(41), kept)] == 0).all()
        assert (fit["theta"].values > 0).sum() == len(kept)
        sd = np.sqrt(fit["covariance_matrix"].values.diagonal())
        z = (w[:, kept].mean(axis=0) - fit["mean_vector"].values) / sd * np.sqrt(2000)
        assert np.abs(z).max() < 4.5
        assert tree.attrs["log_evidence"] == pytest.approx(25.73025, abs=1e-4)
        assert "independent" in tree.attrs["draws"]
        assert tree["log_likelihood"]["y"].shape == (1, 2000, 40)

    def test_settings_are_checked(self):
        with pytest.raises(ValueError, match="update must be one of"):
            bk.SparseBayes("newton")
        with pytest.raises(ValueError, match="needs slope and curvature and third"):
            bk.SparseBayes().run(bk.RelevanceVector([[0.0], [1.0]], [1, -1], bk.RBF(), bk.Step()))


class TestBadData:
    methods = pytest.mark.parametrize(
        "method", [bk.SparseBayes(), bk.SparseSequential()], ids=["fixed", "sequential"]
    )

    def test_zero_column_is_left_out(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20, 3))
        X[:, 1] = 0
        rvm = bk.RelevanceVector(X, X[:, 0] + 0.1 * rng.normal(size=20), None, FREE, bias=False)
        with pytest.warns(UserWarning, match="basis function 1 is zero everywhere"):
            fit = bk.SparseBayes().fit(rvm)
        assert 1 not in fit.relevance and 0 in fit.relevance
        assert 1 not in bk.SparseSequential().fit(rvm).relevance

    @methods
    def test_zero_targets(self, method):
        X = np.arange(5.0)[:, None]
        with pytest.raises(UnboundedEvidenceError, match="all targets are 0"):
            method.fit(bk.RelevanceVector(X, np.zeros(5), bk.RBF(), FREE))
        fit = method.fit(bk.RelevanceVector(X, np.zeros(5), bk.RBF(), bk.Gaussian(0.5)))
        assert len(fit.relevance) == 0
        expected = stats.norm(0, 0.5).logpdf(np.zeros(5)).sum()
        assert fit.log_evidence == pytest.approx(expected)

    @methods
    def test_duplicate_columns(self, method):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(30, 2))
        t = x[:, 0] + 0.1 * rng.normal(size=30)
        once = method.fit(bk.RelevanceVector(x, t, None, FREE, bias=False))
        twice = method.fit(bk.RelevanceVector(np.hstack([x, x]), t, None, FREE, bias=False))
        assert twice.log_evidence == pytest.approx(once.log_evidence, abs=1e-3)
        assert np.isfinite(twice.weights).all()
        assert twice.theta.sum() == pytest.approx(once.theta.sum(), rel=1e-2)

    @methods
    def test_separable_classes_keep_weights_finite(self, method):
        data = bk.datasets.separable6()
        for kernel in (bk.RBF(1.0), None):
            fit = method.fit(bk.RelevanceVector(data.X, data.y, kernel, bk.Logit()))
            assert np.isfinite(fit.weights).all() and np.isfinite(fit.log_evidence)

    @methods
    @pytest.mark.parametrize("n", [1, 2])
    def test_one_or_two_points(self, method, n):
        X, t = np.arange(float(n))[:, None], np.array([1.0, -2.0])[:n]
        for noise in (FREE, bk.Gaussian(0.1)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit = method.fit(bk.RelevanceVector(X, t, bk.RBF(), noise))
            assert np.isfinite(fit.log_evidence) and np.isfinite(fit.weights).all()

    @methods
    def test_targets_without_noise_have_unbounded_evidence(self, method):
        X = np.random.default_rng(0).normal(size=(10, 2))
        with pytest.raises(UnboundedEvidenceError, match="still rises"):
            method.fit(bk.RelevanceVector(X, X[:, 0], None, FREE, bias=False))

    def test_pure_noise_may_prune_everything(self):
        rng = np.random.default_rng(8)
        X, t = np.ones((50, 1)), rng.normal(size=50)
        t -= t.mean()
        for method in (bk.SparseBayes(), bk.SparseSequential()):
            fit = method.fit(bk.RelevanceVector(X, t, None, FREE, bias=False))
            assert len(fit.relevance) == 0
            assert fit.hyper["noise_sigma"] == pytest.approx(np.sqrt(np.mean(t**2)), rel=1e-4)
