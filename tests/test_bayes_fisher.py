"""The Bayesian discriminant: closed forms, PyMC model, missing labels, estimator."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp
from sklearn.utils.estimator_checks import check_estimator

import bayeskern as bk
from bayeskern.bayes.fisher import BayesFisher
from bayeskern.classic.fisher import fisher_discriminant
from bayeskern.conjugate import NormalInverseWishart
from bayeskern.estimators.fisher import KernelCoordinates

PLUS = [(1.33, 1.07), (1.84, 1.30), (0.66, 1.56), (2.50, 2.15), (0.50, -0.07)]
MINUS = [(-0.62, 0.04), (-2.33, -0.22), (-1.25, -0.73), (-0.54, -0.32)]
MINUS += [(0.41, 1.04), (-0.13, 1.37), (-0.67, 0.35)]
X, Y = np.array(PLUS + MINUS), np.repeat([1.0, -1.0], [5, 7])
QUERY = np.array([[0.6, 0.4]])
SETTINGS = {"kappa0": 0.5, "nu0": 5.0, "m0": 0.0, "Psi0": 2.0}


def twelve(**changes):
    return BayesFisher(**({"X": X, "y": Y} | SETTINGS | changes))


class TestClosedForm:
    def test_known_numbers(self):
        problem = twelve()
        assert problem.predict_proba(QUERY)[0] == pytest.approx(0.65463683, abs=5e-9)
        expected = [[0.74291870, 0.38248519], [0.38248519, 0.62734208]]
        np.testing.assert_allclose(problem.posterior.parts[0].mean_cov, expected, atol=5e-9)
        assert problem.log_evidence_inputs == pytest.approx(-32.75987381, abs=5e-9)
        assert problem.log_evidence_labels == pytest.approx(-9.23951075, abs=5e-9)

    @pytest.mark.parametrize("shared", [True, False])
    def test_evidence_is_the_product_of_one_step_predictives(self, shared):
        problem = twelve(shared=shared)
        belief, log = problem.prior, 0.0
        for x, y in zip(X[:, None], Y, strict=True):
            log += belief.log_joint(x)[0, int(y > 0)]
            belief = belief.update(x, np.array([y]))
        assert problem.log_evidence == pytest.approx(log, abs=1e-11)

    @pytest.mark.parametrize("shared", [True, False])
    def test_divergence_is_expected_log_likelihood_less_evidence(self, shared):
        problem = twelve(shared=shared)
        draws = problem.posterior.sample(np.random.default_rng(5), 20_000)
        total = problem.log_likelihood(draws)["y"].sum(axis=-1) - problem.log_evidence
        error = total.std() / np.sqrt(len(total))
        assert abs(total.mean() - problem.kl) < 4 * error
        assert problem.kl > 0

    def test_log_joint_of_draws_is_the_normal_density(self):
        draws = twelve(shared=False).posterior.sample(np.random.default_rng(1), 3)
        got = twelve(shared=False).log_joint(draws, X)
        for k in range(3):
            for c in range(2):
                weight = draws["p"][k] if c else 1 - draws["p"][k]
                normal = stats.multivariate_normal(draws["mu"][k, c], draws["cov"][k, c])
                np.testing.assert_allclose(got[k, :, c], np.log(weight) + normal.logpdf(X))

    @pytest.mark.parametrize("shared", [True, False])
    def test_draws_give_the_same_predictions(self, shared):
        problem = twelve(shared=shared)
        tree = bk.Conjugate(draws=40_000).run(problem, random_seed=0)
        drawn = {name: tree["posterior"][name].values for name in ("mu", "cov", "p")}
        new = np.vstack([QUERY, X[::3]])
        np.testing.assert_allclose(
            problem.predict_from(drawn, new), problem.predict_proba(new), atol=0.01
        )

    def test_many_points_tend_to_the_plug_in_rule(self):
        rng = np.random.default_rng(2)
        y = np.where(rng.random(20_000) < 0.3, 1.0, -1.0)
        Z = rng.normal(size=(20_000, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + 0.6 * y[:, None]
        problem, plug_in = BayesFisher(Z, y), fisher_discriminant(Z, y)
        new = rng.normal(size=(50, 2))
        p = problem.predict_proba(new)
        np.testing.assert_allclose(np.log(p / (1 - p)), plug_in(new), atol=0.01)

    def test_boundary_is_straight_only_for_classes_of_one_size(self):
        def bend(problem):
            def cross(height):
                return brentq(lambda x: problem.predict_proba([[x, height]])[0] - 0.5, -20, 20)

            return abs(cross(-4.0) - 2 * cross(0.0) + cross(4.0))

        assert bend(twelve(X=X[:10], y=Y[:10])) < 1e-9
        assert bend(twelve()) > 1e-2

    def test_more_features_than_points(self):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(6, 20))
        Z[:, 3] = 1.0  # and one that is constant
        p = BayesFisher(Z, [1, 1, 1, -1, -1, -1]).predict_proba(Z)
        assert ((p > 0.5) == [1, 1, 1, 0, 0, 0]).all()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": np.ones(12)}, r"both classes, got \+1 only"),
        ({"y": np.zeros(12)}, "both classes, got no label"),
        ({"y": np.arange(12)}, "0 for a missing one, got 2"),
        ({"y": Y[:5]}, "one entry per point, got 5 for 12"),
        ({"y": ["a"] * 12}, "must hold labels"),
        ({"nu0": 1.0}, "more than p - 1 = 1"),
        ({"kappa0": 0.0}, "kappa0 must be positive"),
        ({"a0": -1.0}, "a must be positive"),
        ({"m0": [0.0, 0.0, 0.0]}, "m0 must be a number or have shape"),
        ({"Psi0": [[1.0, 2.0], [2.0, 1.0]]}, "Psi"),
        ({"X": np.where(X > 2, np.nan, X)}, "X must be finite"),
        ({"scale_prior": "jeffreys"}, "scale_prior must be one of"),
        ({"scale_prior": "lkj", "y": np.r_[Y[:-1], 0]}, "missing labels need"),
    ],
)
def test_bad_input(changes, text):
    with pytest.raises(ValueError, match=text):
        twelve(**changes)


@pytest.mark.parametrize("changes", [{"y": np.r_[Y[:-1], 0]}, {"scale_prior": "lkj"}])
def test_what_has_no_closed_form_says_so(changes):
    problem = twelve(**changes)
    with pytest.raises(ValueError, match=r"use NUTS\(\)"):
        problem.predict_proba(QUERY)
    with pytest.raises(ValueError, match=r"use NUTS\(\)"):
        bk.Conjugate().run(problem)


@pytest.mark.parametrize(
    "estimator", [bk.BayesFisherClassifier(), bk.BayesFisherClassifier(bk.RBF())]
)
def test_scikit_learn_contract(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(estimator)


class TestClassifier:
    def test_is_the_closed_form(self):
        settings = SETTINGS | {"random_state": 0}
        model = bk.BayesFisherClassifier(**settings).fit(X, np.where(Y > 0, "yes", "no"))
        assert model.predict_proba(QUERY)[0, 1] == pytest.approx(0.65463683, abs=5e-9)
        assert model.log_evidence_ == pytest.approx(-32.75987381 - 9.23951075, abs=1e-8)
        assert model.predict(QUERY)[0] == "yes"
        p = model.predict_proba(X)[:, 1]
        np.testing.assert_allclose(model.decision_function(X), np.log(p / (1 - p)), atol=1e-9)

    def test_default_scale_makes_units_irrelevant(self):
        one = bk.BayesFisherClassifier(random_state=0).fit(X, Y)
        other = bk.BayesFisherClassifier(random_state=0).fit(X * [1e3, 1e-3] + 7, Y)
        np.testing.assert_allclose(
            one.predict_proba(X), other.predict_proba(X * [1e3, 1e-3] + 7), atol=1e-9
        )

    def test_kernel_coordinates_bend_the_boundary(self):
        rng = np.random.default_rng(0)
        angle, y = rng.uniform(0, 2 * np.pi, 120), np.arange(120) % 2
        radius = np.where(y, 2.0, 0.8) + 0.15 * rng.normal(size=120)
        Z = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        flat = bk.BayesFisherClassifier(random_state=0).fit(Z[:80], y[:80])
        bent = bk.BayesFisherClassifier(bk.RBF(1.0), random_state=0).fit(Z[:80], y[:80])
        assert flat.score(Z[80:], y[80:]) < 0.8 < 0.95 < bent.score(Z[80:], y[80:])
        assert bent.evidence_path_.argmax() + 1 == bent.n_components_ >= 3

    def test_coordinates_of_a_linear_kernel_are_principal_components(self):
        coordinates = KernelCoordinates(bk.Linear(), X, 5)(X)
        _, _, V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        by_hand = (X - X.mean(axis=0)) @ V.T
        np.testing.assert_allclose(np.abs(coordinates), np.abs(by_hand / by_hand.std(axis=0)))

    def test_coordinate_models_explain_the_same_numbers(self):
        """The prior for one coordinate is the marginal of that for two."""
        two = NormalInverseWishart(np.zeros((1, 2)), [0.1], 4.0, np.eye(2))
        one = NormalInverseWishart(np.zeros((1, 1)), [0.1], 3.0, np.eye(1))
        for x in (0.0, 1.7):
            mass = quad(lambda v: np.exp(two.log_predictive([[x, v]])[0, 0]), -np.inf, np.inf)[0]  # noqa: B023
            assert np.log(mass) == pytest.approx(one.log_predictive([[x]])[0, 0], abs=1e-8)

    def test_text(self):
        words = ["abab", "aabb", "abba", "baab", "cdcd", "ccdd", "dccd", "cddc"]
        kernel = bk.Substring(2, decay=0.8)
        model = bk.BayesFisherClassifier(kernel, random_state=0).fit(words, list("xxxxyyyy"))
        assert model.predict(["abaa", "dcdd"]).tolist() == ["x", "y"]

    def test_pickles(self):
        model = bk.BayesFisherClassifier(bk.RBF(), random_state=0).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))

    def test_facts_for_bounds(self):
        model = bk.BayesFisherClassifier(**SETTINGS, random_state=0).fit(X, Y)
        facts = model.certificate_inputs(X, Y)
        assert ((facts["margins"] > 0) == (model.predict(X) == Y)).all()
        assert facts["kl"] == pytest.approx(model.problem_.kl)
        assert not facts["prior_depends_on_data"] and 0 < facts["gibbs_risk"] < 0.5
        rows = {row.name: row for row in bk.classic.bounds.certify(model, X, Y).applicable}
        assert not rows["PAC-Bayes-kl"].alone.rigorous  # its Gibbs risk is an average over draws

    def test_three_classes(self):
        with pytest.raises(ValueError, match="got 3 classes"):
            bk.BayesFisherClassifier().fit(X, np.arange(12) % 3)

    def test_missing_labels_need_a_sampler(self):
        with pytest.raises(ValueError, match=r"2 of 12 labels are missing.*use NUTS\(\)"):
            bk.BayesFisherClassifier(unlabelled=0).fit(X, np.r_[Y[:10], 0, 0])


def importance_evidence(model, draws=6000, seed=0):
    """Log evidence of a PyMC model from a Student-t around its mode, and its standard error."""
    logp = model.compile_logp(mode="FAST_COMPILE")
    gradient = model.compile_dlogp(mode="FAST_COMPILE")
    start = model.initial_point()
    names = [v.name for v in model.value_vars]
    sizes = [np.size(start[name]) for name in names]

    def point(x):
        parts = np.split(x, np.cumsum(sizes)[:-1])
        return {n: v.reshape(np.shape(start[n])) for n, v in zip(names, parts, strict=True)}

    def slope(x):
        return -np.asarray(gradient(point(x)))

    x0 = np.concatenate([np.ravel(start[name]) for name in names])
    mode = minimize(lambda x: -float(logp(point(x))), x0, jac=slope, method="BFGS").x
    steps = 1e-4 * np.eye(len(mode))
    H = np.array([(slope(mode + h) - slope(mode - h)) / 2e-4 for h in steps])
    q = stats.multivariate_t(mode, 1.3 * np.linalg.inv((H + H.T) / 2), 7, seed=seed)
    x = q.rvs(draws)
    log = np.array([float(logp(point(row))) for row in x]) - q.logpdf(x)
    weights = np.exp(log - log.max())
    return logsumexp(log) - np.log(draws), weights.std() / weights.mean() / np.sqrt(draws)


@pytest.mark.slow
class TestPyMC:
    @pytest.mark.parametrize("shared", [True, False])
    def test_evidence_of_the_model_is_the_closed_form(self, shared):
        problem = twelve(shared=shared)
        value, error = importance_evidence(problem.model)
        assert error < 0.03
        assert abs(value - problem.log_evidence) < min(4 * error, 0.1)

    def test_missing_labels_are_summed_out(self):
        """Evidence with two labels missing is the sum over the four ways to fill them in."""
        y = Y.copy()
        y[[2, 9]] = np.nan
        value, error = importance_evidence(twelve(y=y).model)
        logs = []
        for a in (-1.0, 1.0):
            for b in (-1.0, 1.0):
                y[[2, 9]] = a, b
                logs.append(twelve(y=y).log_evidence)
        assert error < 0.03
        assert abs(value - logsumexp(logs)) < min(4 * error, 0.1)

    def test_nuts_finds_the_closed_form(self):
        import arviz_stats as az

        problem = twelve()
        tree = bk.NUTS(draws=1000, tune=500, chains=2).run(problem, random_seed=3)
        posterior = tree["posterior"]
        exact = problem.posterior
        truth = {
            "mu": exact.parts[0].m,
            "cov": exact.parts[0].mean_cov,
            "p": np.array(exact.plus.mean),
        }
        assert set(posterior.data_vars) == set(truth)
        for name, value in truth.items():
            draws = posterior[name]
            size = np.asarray(az.ess(posterior.dataset[[name]], method="mean")[name])
            error = draws.std(("chain", "draw")).values / np.sqrt(size)
            assert (np.abs(draws.mean(("chain", "draw")).values - value) / error).max() < 4.5
        drawn = {name: posterior[name].values for name in truth}
        assert problem.predict_from(drawn, QUERY)[0] == pytest.approx(0.65463683, abs=0.01)

    def test_lkj_gives_a_proper_posterior(self):
        tree = bk.NUTS(draws=300, tune=500, chains=2).run(twelve(scale_prior="lkj"), random_seed=1)
        S = tree["posterior"]["cov"].mean(("chain", "draw")).values
        assert np.linalg.eigvalsh(S).min() > 0
        assert np.abs(S - twelve().posterior.parts[0].mean_cov).max() < 0.35

    def test_unlabelled_points_sharpen_the_classifier(self):
        rng = np.random.default_rng(6)
        y = np.where(rng.random(150) < 0.5, 1, -1)
        Z = rng.normal(size=(150, 2)) + 1.8 * y[:, None] * [1.0, -1.0]
        few = np.r_[np.flatnonzero(y > 0)[:2], np.flatnonzero(y < 0)[:2]]
        partial = np.zeros(150, int)
        partial[few] = y[few]
        nuts = bk.NUTS(draws=300, tune=500, chains=2)
        settings = {"m0": 0.0, "Psi0": 1.0, "random_state": 2}
        all_points = bk.BayesFisherClassifier(unlabelled=0, inference=nuts, **settings)
        all_points.fit(Z, partial)
        labelled = bk.BayesFisherClassifier(**settings).fit(Z[few], y[few])
        truth = bk.BayesFisherClassifier(**settings).fit(Z, y)
        new = rng.normal(size=(200, 2)) * 3
        target = truth.predict_proba(new)[:, 1]
        errors = [
            np.abs(m.predict_proba(new)[:, 1] - target).mean() for m in (all_points, labelled)
        ]
        assert errors[0] < 0.5 * errors[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sequential_monte_carlo_finds_the_evidence():
    import pymc as pm

    problem = twelve()
    with problem.model:
        tree = pm.sample_smc(draws=2000, chains=2, cores=1, random_seed=1, progressbar=False)
    values = tree["sample_stats"]["log_marginal_likelihood"].values
    last = [float(np.ravel(np.asarray(chain, dtype=object))[-1]) for chain in values]
    found = np.logaddexp(*last) - np.log(2)
    assert found == pytest.approx(problem.log_evidence, abs=0.1)
