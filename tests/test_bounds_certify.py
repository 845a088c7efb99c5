"""The certificate of a fitted classifier: what applies, what does not and why."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

from bayeskern.classic import bounds as b

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


class Fake:
    """A classifier by the first coordinate that tells what it is told to tell."""

    classes_ = np.array([-1.0, 1.0])

    def __init__(self, facts=None, flip=0):
        self.facts, self.flip = facts or {}, flip

    def get_params(self, deep=True):
        return {"facts": self.facts, "flip": self.flip}

    def fit(self, X, y):
        self.seen = len(y)
        return self

    def predict(self, X):
        out = np.where(np.asarray(X)[:, 0] > 0, 1.0, -1.0)
        out[: self.flip] *= -1
        return out

    def certificate_inputs(self, X, y):
        return self.facts


def svm_facts(**more):
    return {
        "kind": "svm",
        "margins": np.full(200, 1.2),
        "norm": 2.0,
        "radius": 1.0,
        "n_support": 7,
        "C": 0.05,
        "kernel_trace": 200.0,
        **more,
    }


def test_support_vector_machine():
    found = b.certify(Fake(svm_facts()), X, Y, delta=0.1)
    names = {row.name for row in found.applicable}
    assert names == {
        "compression",
        "PAC-Bayes, linear",
        "PAC-Bayes, linear, vote",
        "PAC-Bayes, margin",
        "PAC margin",
        "robust margin",
        "stability",
        "Rademacher margin",
    }
    assert found["compression"].raw == b.compression_bound(200, 7, 0.1).raw
    assert found["PAC-Bayes, margin"].raw == b.pac_bayes_margin_bound(200, 0.1, 0.6, 200, "kl").raw
    linear = b.pac_bayes_linear(np.full(200, 0.6), 0.1).raw
    assert found["PAC-Bayes, linear"].raw == linear
    assert found["PAC-Bayes, linear, vote"].raw == pytest.approx(2 * linear)
    lam = 1 / (2 * 0.05 * 200)
    values = np.full(200, 1.2)
    stable = b.svm_stability_bound(200, 0.1, values, np.ones(200), lam, 1.0)
    assert found["stability"].raw == stable.raw
    ball = b.rademacher_margin_bound(200, 0.1, values, lam**-0.5, 1.0)
    assert found["Rademacher margin"].raw == ball.raw
    raws = [row.alone.raw for row in found.applicable]
    assert raws == sorted(raws)
    assert set(found.refused) >= {"version space, Bayes", "PAC-Bayes-kl", "test set", "mistakes"}
    assert "does not tell its kl and gibbs_risk" in found.refused["PAC-Bayes-kl"]
    assert "prior_fraction" in found.refused["test set"]
    text = str(found)
    assert "does not apply:" in text and "compression" in text and "alone" in text


def test_delta_is_shared_out_when_the_minimum_is_taken():
    found = b.certify(Fake(svm_facts()), X, Y, delta=0.1)
    total = 17  # bounds tried, applicable or not: a number known before the data
    for row in found.applicable:
        assert row.alone.delta == 0.1
        assert row.shared.delta == pytest.approx(0.1 / total)
        assert row.shared.raw >= row.alone.raw
    assert found.best.raw == min(
        row.shared.raw for row in found.applicable if row.of != "a draw from the posterior"
    )


def test_mistakes_switch_to_the_lossy_form():
    found = b.certify(Fake(svm_facts(margins=np.r_[-0.1, np.full(199, 1.2)]), flip=1), X, Y)
    assert found["compression"].raw == b.lossy_compression_bound(200, 7, 1).raw
    assert "1 mistakes" in found.refused["PAC margin"]
    assert not math.isnan(found["robust margin"].raw)
    told = b.certify(Fake(svm_facts(support=np.arange(7)), flip=1), X, Y)
    assert told["compression"].raw == b.lossy_compression_bound(200, 7, 0).raw


def test_hyperparameters_from_the_sample_void_every_prior():
    facts = svm_facts(prior_depends_on_data=True, kl=1.0, gibbs_risk=0.1)
    found = b.certify(Fake(facts), X, Y)
    assert not found.applicable and found.best is None
    assert "voids the prior" in found.refused["PAC-Bayes-kl"]
    assert "prior_fraction=0.5" in found.refused["PAC-Bayes-kl"]
    with pytest.raises(KeyError, match="does not apply"):
        found["PAC-Bayes-kl"]
    with pytest.raises(KeyError, match="no bound named"):
        found["nonsense"]


def test_offset_and_unknown_lengths_are_refused():
    found = b.certify(Fake(svm_facts(offset=True)), X, Y)
    assert "constant feature kernel" in found.refused["PAC margin"]
    loose = b.certify(Fake(svm_facts(kernel_trace=150.0)), X, Y)
    assert not loose["PAC margin"].rigorous and "(heuristic)" in str(loose)
    signed = svm_facts(kernel_trace=150.0, margins=np.r_[-0.1, np.full(199, 1.2)])
    assert "normalised_margins" in b.certify(Fake(signed), X, Y).refused["PAC-Bayes, linear"]


def test_gaussian_process_bayes_point_and_perceptron():
    gp = b.certify(Fake({"kind": "gp", "kl": 5.0, "gibbs_risk": 0.05}), X, Y)
    assert gp["PAC-Bayes-kl"].raw == b.pac_bayes_kl(200, 0.05, 0.05, 5.0).raw
    assert gp["PAC-Bayes-kl, vote"].raw == pytest.approx(2 * gp["PAC-Bayes-kl"].raw)
    assert "not a compression scheme" in gp.refused["compression"]
    assert "another likelihood" in gp.refused["version space, Bayes"]
    point = b.certify(Fake({"kind": "bayes_point", "log_volume": -6.0}), X, Y)
    assert point["version space, Bayes"].raw == b.bayes_bound(200, 0.05, -6.0).raw
    assert not point["version space, Bayes"].rigorous  # a volume that was sampled
    assert point.best is None
    told = {"kind": "bayes_point", "log_volume": -6.0, "log_volume_exact": True}
    assert b.certify(Fake(told), X, Y)["version space, Bayes"].rigorous
    assert point["version space, kl"].raw == b.pac_bayes_kl(200, 0.05, 0.0, 6.0).raw
    walker = b.certify(Fake({"kind": "perceptron", "n_support": 5, "n_mistakes": 9}), X, Y)
    assert walker["mistakes"].raw == b.mistake_compression_bound(200, 9, 0.05, "sorted").raw
    assert walker["compression"].raw == b.compression_bound(200, 5).raw
    relevance = b.certify(Fake({"kind": "rvm", "n_support": 5}), X, Y)
    assert (
        "relevance vector machine is not a compression scheme" in relevance.refused["compression"]
    )


class Sure(Fake):
    """With a Gaussian posterior over latent values."""

    def latent_gaussian(self, X):
        x = np.asarray(X)
        return 3 * x[:, 0], 0.5 * np.exp(-((x[:, None] - x) ** 2).sum(-1))


def test_split_route():
    found = b.certify(Sure(), X, Y, prior_fraction=0.5, random_state=3)
    assert found.m == 100
    assert found["test set"].raw == b.test_set_bound(0, 100).raw
    assert found["PAC-Bayes-kl"].delta == 0.05
    assert "4 priors" in found["PAC-Bayes-kl"].assumptions[-1]
    # no worse than the prior itself, and it pays for the four priors
    first = np.sort(np.random.default_rng(3).permutation(200)[100:])
    mean, cov = Sure().latent_gaussian(X[first])
    still = ndtr(-Y[first] * mean / np.sqrt(np.diag(cov))).mean()
    assert found["PAC-Bayes-kl"].raw <= b.pac_bayes_kl(100, 0.05 / 4, still, 0.0).raw + 1e-12
    assert found["PAC-Bayes-kl"].raw >= b.pac_bayes_kl(100, 0.05 / 4, 0.0, 0.0).raw
    plain = b.certify(Fake(), X, Y, prior_fraction=0.25)
    assert plain.m == 150
    assert "no Gaussian posterior" in plain.refused["PAC-Bayes-kl"]
    with pytest.raises(ValueError, match=r"prior_fraction must lie in \(0, 1\)"):
        b.certify(Fake(), X, Y, prior_fraction=1.0)


def test_split_route_leaves_a_pipeline_alone():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    before = model[-1].coef_.copy()
    found = b.certify(model, X, Y, prior_fraction=0.5)
    np.testing.assert_array_equal(model[-1].coef_, before)
    assert found["test set"].raw < 0.2
    assert "voids the prior" in b.certify(model, X, Y).refused["PAC-Bayes, linear"]


def test_update_is_the_mode_and_its_divergence_is_right():
    x = np.linspace(-1, 1, 6)
    C = np.exp(-((x[:, None] - x) ** 2)) + 0.1 * np.eye(6)
    m0, y = np.sin(3 * x), np.where(x > 0.1, 1.0, -1.0)
    found = b.gaussian_update(m0, C, y, 0.7)

    def loss(f):
        return -0.7 * log_ndtr(y * f).sum() + 0.5 * (f - m0) @ np.linalg.solve(C, f - m0)

    np.testing.assert_allclose(minimize(loss, m0, tol=1e-12).x, found.mean, atol=1e-4)
    a, W = rng.standard_normal(6), rng.random(6)
    cov = np.linalg.inv(np.linalg.inv(C) + np.diag(W))
    kl, variance = b.site_kl(C, a, W)
    assert kl == pytest.approx(b.gaussian_kl(m0 + C @ a, cov, C, m0), rel=1e-9)
    np.testing.assert_allclose(variance, np.diag(cov), rtol=1e-9)
    spread = np.sqrt(found.variance)
    assert found.gibbs_error == pytest.approx(ndtr(-y * found.mean / spread).mean())
    singular = np.ones((6, 6))  # no jitter is needed
    assert 0 < b.gaussian_update(np.zeros(6), singular, np.ones(6)).kl < 5


def test_scikit_learn_machine_without_a_word_about_itself():
    from sklearn.svm import SVC

    model = SVC(kernel="linear").fit(X + Y[:, None], Y)
    found = b.certify(model, X + Y[:, None], Y)
    assert found["compression"].raw == b.compression_bound(200, len(model.support_)).raw
    assert "constant feature kernel" in found.refused["stability"]


def test_kernel_width_from_the_sample_is_noticed():
    from sklearn.svm import SVC

    assert "voids the prior" in b.certify(SVC().fit(X, Y), X, Y).refused["compression"]
    assert not b.certify(SVC(gamma=1.0).fit(X, Y), X, Y)["compression"].vacuous


def test_support_vector_machine_of_this_package():
    import bayeskern as bk
    from bayeskern.estimators.svm import SVMClassifier

    assert "voids the prior" in b.certify(SVMClassifier().fit(X, Y), X, Y).refused["compression"]
    biased = b.certify(SVMClassifier(bk.RBF(1.0)).fit(X, Y), X, Y)
    assert "constant feature kernel" in biased.refused["stability"]
    model = SVMClassifier(bk.RBF(1.0), C=0.1, bias="none", tol=1e-8).fit(X, Y)
    found = b.certify(model, X, Y)
    lam = 1 / (2 * 0.1 * 200)
    f = model.decision_function(X)
    assert found["stability"].raw == pytest.approx(
        b.svm_stability_bound(200, 0.05, f, Y, lam, 1.0).raw, rel=1e-9
    )
    assert found["compression"].value < 1 and found["PAC-Bayes, linear"].rigorous


def test_what_cannot_be_certified():
    with pytest.raises(ValueError, match="fitted must have predict, got object"):
        b.certify(object(), X, Y)
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\]"):
        b.certify(Fake(), X, Y, delta=0.0)


@pytest.mark.slow
def test_breast_cancer_certificate_is_not_vacuous():
    from sklearn.datasets import load_breast_cancer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import bayeskern as bk
    from bayeskern.estimators.gp import GPClassifier

    cells, y = load_breast_cancer(return_X_y=True)
    kernel = bk.Prior("LogNormal", mu=1.0, sigma=1.5) * bk.RBF(
        bk.Prior("LogNormal", mu=2.0, sigma=1.0)
    )
    model = make_pipeline(StandardScaler(), GPClassifier(kernel, random_state=0))
    for seed in range(3):
        found = b.certify(model, cells, y, delta=0.05, prior_fraction=0.5, random_state=seed)
        assert found["test set"].raw <= found["PAC-Bayes-kl"].raw < 0.15
