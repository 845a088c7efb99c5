"""Gaussian processes: the problem in parts and as PyMC, prediction, and the estimators."""

import pickle

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import bayeskern as bk
from bayeskern.estimators.gp import gaussian_kl
from bayeskern.infer.predict import predict, restore

X3, y3 = np.array([[-1.0], [0.0], [1.0]]), np.array([-1.0, 1.0, 1.0])


def threepoint(beta):
    return bk.GaussianProcess(X3, y3, bk.RBF(), bk.Logit(beta=beta))


class TestPrediction:
    @pytest.mark.parametrize(
        ("beta", "mean", "var", "p"),
        [
            (1.0, 0.66217554, 0.46791143, 0.72856687),
            (2.0, 0.53673513, 0.72363028, 0.61404984),
        ],
    )
    def test_threepoint_numbers(self, beta, mean, var, p):
        gp = threepoint(beta)
        told = predict(gp, bk.Laplace().run(gp, random_seed=0), [[0.5]])
        assert told.mean[0] == pytest.approx(mean, abs=1e-7)
        assert told.var()[0] == pytest.approx(var, abs=1e-7)
        assert told.response()[0] == pytest.approx(p, abs=1e-6)

    def test_regression_numbers(self):
        X, t = np.array([[0.0], [1.0], [2.0]]), [0.0, 1.0, 0.0]
        gp = bk.GaussianProcess(X, t, bk.RBF(), bk.Gaussian(np.sqrt(0.1)))
        tree = bk.Exact().run(gp, random_seed=0)
        told = predict(gp, tree, [[0.5], [1.0], [5.0]])
        np.testing.assert_allclose(told.mean, [0.57454783, 0.80174681, -0.01015198], atol=1e-7)
        expected = [0.18239524, 0.18017468, 1.09983411]
        np.testing.assert_allclose(told.var(noise=True), expected, atol=1e-7)
        np.testing.assert_allclose(told.var(), np.array(expected) - 0.1, atol=1e-7)
        assert tree.attrs["log_evidence"] == pytest.approx(-3.49357802, abs=1e-8)

    def test_weight_space_and_function_space_agree(self):
        rng = np.random.default_rng(0)
        X, t = rng.normal(size=(12, 3)), rng.normal(size=12)
        gp = bk.GaussianProcess(X, t, bk.Linear(), bk.Gaussian(0.5))
        tree = bk.Exact().run(gp, random_seed=0)
        new = rng.normal(size=(4, 3))
        told = predict(gp, tree, new)
        Sigma = np.linalg.inv(X.T @ X / 0.25 + np.eye(3))
        np.testing.assert_allclose(told.mean, new @ Sigma @ X.T @ t / 0.25, atol=1e-10)
        np.testing.assert_allclose(
            told.var(), np.einsum("ij,jk,ik->i", new, Sigma, new), atol=1e-10
        )

    def test_chains_and_gaussians_agree_where_the_posterior_is_gaussian(self):
        X, t = np.linspace(0, 3, 8)[:, None], np.sin(np.linspace(0, 3, 8))
        gp = bk.GaussianProcess(X, t, bk.RBF(), bk.Gaussian(0.3))
        exact = predict(gp, bk.Exact().run(gp, random_seed=0), [[1.3], [4.0]])
        chain = bk.EllipticalSlice(draws=3000, chains=2, moves=8).run(gp, random_seed=1)
        sampled = predict(gp, chain, [[1.3], [4.0]])
        spread = sampled.means.std(axis=0) / np.sqrt(1000)
        assert np.all(np.abs(sampled.mean - exact.mean) < 4.5 * spread)
        np.testing.assert_allclose(sampled.var(), exact.var(), rtol=0.1)
        y = np.array([0.9, -0.3])
        np.testing.assert_allclose(sampled.log_prob(y), exact.log_prob(y), atol=0.1)

    def test_draws_have_the_predictive_moments(self):
        gp = threepoint(1.0)
        told = predict(gp, bk.Laplace().run(gp, random_seed=0), [[0.5], [2.0]])
        f, y = told.sample(np.random.default_rng(0), 20_000)
        se = np.sqrt(told.var() / 20_000)
        assert np.all(np.abs(f.mean(axis=0) - told.mean) < 4.5 * se)
        assert np.all(np.abs((y > 0).mean(axis=0) - told.response()) < 4.5 * 0.5 / np.sqrt(20_000))


class TestEllipticalSlice:
    def test_reaches_the_exact_posterior(self):
        from arviz_stats import mcse

        tree = bk.EllipticalSlice(draws=2500, chains=2).run(threepoint(1.0), random_seed=1)
        mean = tree["posterior"]["f"].mean(("chain", "draw")).values
        error = mcse(tree)["f"].values
        z = (mean - np.array([-0.31346, 0.48655, 0.78879])) / error  # by quadrature
        assert np.abs(z).max() < 4.5

    def test_hyperparameters_agree_with_quadrature(self):
        from arviz_stats import mcse

        prior = bk.Prior("LogNormal", mu=0.0, sigma=0.5)
        gp = bk.GaussianProcess(X3, [0.5, -0.2, 0.4], bk.RBF(prior), bk.Gaussian(0.3))
        tree = bk.EllipticalSlice(draws=1500, tune=200, chains=2).run(gp, random_seed=2)
        u = np.linspace(-3, 3, 400)
        logs = [
            bk.Exact().at(gp, {"rbf_lengthscale": np.exp(v)}).log_evidence
            + prior.logp(np.exp(v)) + v
            for v in u
        ]  # fmt: skip
        w = np.exp(logs - np.max(logs))
        exact = (w * np.exp(u)).sum() / w.sum()
        mean = float(tree["posterior"]["rbf_lengthscale"].mean())
        assert abs(mean - exact) < 4.5 * float(mcse(tree)["rbf_lengthscale"])

    def test_step_is_sent_to_the_cone_samplers(self):
        gp = bk.GaussianProcess(X3, y3, bk.RBF(), bk.Step())
        with pytest.raises(ValueError, match="use ConeHMC or ConeSlice"):
            bk.EllipticalSlice().run(gp)
        with pytest.raises(ValueError, match="NUTS needs a likelihood with a gradient"):
            bk.NUTS().run(gp)


class TestProblem:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((X3, [0, 1, 1], bk.RBF(), bk.Logit()), r"labels -1 and \+1 only, got 0"),
            ((X3, y3[:2], bk.RBF(), bk.Logit()), "got 2 for 3 points"),
            ((X3 * np.nan, y3, bk.RBF(), bk.Logit()), "X must be finite"),
            ((X3[:, 0], y3, bk.RBF(), bk.Logit()), r"reshape\(-1, 1\)"),
            (
                (X3, y3, bk.Prior("HalfNormal") * bk.RBF(), bk.Logit(bk.Prior("HalfNormal"))),
                "only the ratio of constant_value and logit_beta",
            ),
        ],
    )
    def test_bad_input_is_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            bk.GaussianProcess(*arguments)

    def test_free_hyperparameters_are_refused_by_conditional_methods(self):
        gp = bk.GaussianProcess(X3, y3, bk.RBF(bk.Prior("HalfNormal")), bk.Logit())
        with pytest.raises(ValueError, match=r"rbf_lengthscale is free; use EvidenceMax\(Laplace"):
            bk.Laplace().run(gp)

    @pytest.mark.slow
    def test_parts_and_model_are_one_density(self):
        from scipy.stats import multivariate_normal

        prior = bk.Prior("InverseGamma", alpha=3, beta=2)
        gp = bk.GaussianProcess(X3, y3, 2.0 * bk.RBF(prior), bk.Probit())
        logp = gp.model.compile_logp(mode="FAST_COMPILE")
        rng = np.random.default_rng(0)
        for _ in range(4):
            theta = gp.sample_theta(rng)
            K = gp.prior_cov(theta) + gp.jitter * np.eye(3)
            f = rng.multivariate_normal(np.zeros(3), K)
            parts = gp.log_prior(theta) + np.log(float(theta["rbf_lengthscale"]))
            parts += multivariate_normal(np.zeros(3), K).logpdf(f)
            parts += gp.likelihood.logp(y3, f).sum()
            point = {"rbf_lengthscale_log__": np.log(theta["rbf_lengthscale"]), "f": f}
            assert logp(point) == pytest.approx(parts, rel=1e-8)

    def test_pickles_without_its_model(self):
        again = pickle.loads(pickle.dumps(threepoint(1.0)))
        np.testing.assert_array_equal(again.prior_cov({}), threepoint(1.0).prior_cov({}))

    @pytest.mark.slow
    @pytest.mark.parametrize("sampler", ["nutpie", "pymc"])
    def test_nuts_reaches_the_exact_posterior(self, sampler):
        from arviz_stats import mcse

        method = bk.NUTS(draws=1000, tune=500, chains=2, sampler=sampler)
        tree = method.run(threepoint(1.0), random_seed=1)
        mean = tree["posterior"]["f"].mean(("chain", "draw")).values
        z = (mean - np.array([-0.31346, 0.48655, 0.78879])) / mcse(tree)["f"].values
        assert np.abs(z).max() < 4.5
        assert {"constant_data", "observed_data", "log_likelihood"} <= set(tree.children)

    @pytest.mark.slow
    def test_elliptical_step_reaches_the_exact_posterior(self):
        import pymc as pm
        from arviz_stats import mcse

        from bayeskern.infer.elliptical_step import EllipticalSliceStep

        gp = threepoint(1.0)
        with gp.model:
            tree = pm.sample(
                1500, tune=100, chains=2, cores=1, random_seed=1, progressbar=False,
                step=EllipticalSliceStep([gp.model["f"]]),
            )  # fmt: skip
        mean = tree["posterior"]["f"].mean(("chain", "draw")).values
        z = (mean - np.array([-0.31346, 0.48655, 0.78879])) / mcse(tree)["f"].values
        assert np.abs(z).max() < 4.5


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, "b", "a")


class TestClassifier:
    @pytest.mark.slow
    @pytest.mark.parametrize("estimator", [bk.GPClassifier(), bk.GPRegressor()], ids=repr)
    @pytest.mark.filterwarnings("ignore")
    def test_scikit_learn_contract(self, estimator):
        for candidate, check in estimator_checks_generator(estimator):
            try:
                check(candidate)
            except Exception as error:
                if type(error).__name__ != "SkipTest":
                    raise

    def test_labels_are_translated_and_probabilities_agree_with_predictions(self, labelled):
        X, y = labelled
        gp = bk.GPClassifier(random_state=0).fit(X, y)
        p = gp.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert np.array_equal(gp.predict(X), gp.classes_[p.argmax(axis=1)])
        assert np.array_equal(gp.predict(X) == "b", gp.decision_function(X) > 0)
        assert gp.score(X, y) > 0.85

    def test_precomputed_gram_is_the_kernel_it_came_from(self, labelled):
        X, y = labelled
        kernel, new = bk.RBF(1.5), X[:5] + 0.1
        amplitude = bk.Prior("LogNormal", mu=1.0, sigma=1.5)
        direct = bk.GPClassifier(amplitude * kernel, random_state=0).fit(X, y)
        given = bk.GPClassifier("precomputed", random_state=0).fit(kernel(X), y)
        expected = direct.predict_proba(new)
        np.testing.assert_allclose(given.predict_proba(kernel(new, X)), expected, atol=1e-6)

    def test_precomputed_gram_with_a_varying_diagonal_needs_the_new_one(self, labelled):
        X, y = labelled
        kernel = bk.Linear()
        gp = bk.GPClassifier("precomputed", random_state=0).fit(kernel(X) + np.eye(40), y)
        with pytest.raises(ValueError, match="needs diag="):
            gp.predict(kernel(X[:3], X))
        assert gp.predict(kernel(X[:3], X), diag=kernel.diag(X[:3])).shape == (3,)

    def test_strings_work_with_a_string_kernel(self):
        from bayeskern.kernels.strings import Substring

        words = ["abab", "abba", "baba", "aabb", "xyxy", "xyyx", "yxyx", "xxyy"]
        labels = [0] * 4 + [1] * 4
        gp = bk.GPClassifier(Substring(2), random_state=0).fit(words, labels)
        assert gp.predict(["abab", "yyxx"]).tolist() == [0, 1]

    def test_three_classes(self):
        X = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2], [6.0], [6.1], [6.2]])
        gp = bk.GPClassifier(random_state=0).fit(X, list("aaabbbccc"))
        assert gp.predict([[0.1], [3.1], [6.1]]).tolist() == ["a", "b", "c"]
        np.testing.assert_allclose(gp.predict_proba(X).sum(axis=1), 1)

    def test_divergence_from_the_prior(self):
        gp = threepoint(1.0)
        state, _ = restore(gp, bk.Laplace().run(gp, random_seed=0))
        K = gp.prior_cov({})
        S, m = state.cov, state.mean
        log_ratio = np.linalg.slogdet(S)[1] - np.linalg.slogdet(K)[1]
        direct = np.trace(np.linalg.solve(K, S)) + m @ np.linalg.solve(K, m) - 3 - log_ratio
        assert gaussian_kl(state) == pytest.approx(direct / 2, rel=1e-9)

    @pytest.mark.parametrize("seed", range(5))
    def test_pure_noise_and_duplicates_are_fitted(self, seed):
        rng = np.random.default_rng(seed)
        X = np.repeat(rng.normal(size=(15, 2)), 2, axis=0)
        X[:, 1] = 1.0  # a constant feature
        y = rng.permutation(np.repeat([0, 1], 15))
        p = bk.GPClassifier(random_state=0).fit(X * 1e8, y).predict_proba(X * 1e8)
        assert np.isfinite(p).all()

    @pytest.mark.parametrize(
        ("kernel", "y", "message"),
        [
            (None, np.zeros(40), "needs two or more classes, got one class"),
            ("rbf", None, "kernel must be a Kernel, 'precomputed' or None, got 'rbf'"),
            (3, None, "kernel must be a Kernel, 'precomputed' or None, got 3"),
        ],
    )
    def test_bad_input_is_refused(self, labelled, kernel, y, message):
        with pytest.raises(ValueError, match=message):
            bk.GPClassifier(kernel).fit(labelled[0], labelled[1] if y is None else y)


class TestRegressor:
    def test_three_lines(self):
        X = np.linspace(0, 6, 40)[:, None]
        rng = np.random.default_rng(0)
        gp = bk.GPRegressor(random_state=0).fit(X, 5 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=40))
        mean, sd = gp.predict([[1.0], [30.0]], return_std=True)
        assert mean[0] == pytest.approx(5 + np.sin(1.0), abs=0.15)
        assert sd[1] > 3 * sd[0]  # far from the data it knows that it does not know
        _, quiet = gp.predict([[1.0], [30.0]], return_std=True, include_noise=False)
        assert np.all(quiet < sd)
        assert gp.sample_y([[1.0]], 5, random_state=0).shape == (5, 1)

    def test_noiseless_data_leave_nothing_to_draw(self):
        X = np.linspace(0, 3, 12)[:, None]
        gp = bk.GPRegressor(bk.RBF(1.0), noise=1e-7, random_state=0).fit(X, np.sin(X[:, 0]))
        assert float(gp.idata_["posterior"]["f"].std("draw").max()) < 1e-5
