"""Comparing models, comparing methods, and whether a posterior is right at all."""

import numpy as np
import pytest

import bayeskern as bk
from bayeskern.diagnostics import (
    Calibration,
    calibrate,
    in_words,
    posterior_predictive_check,
    prior_predictive,
    simulate,
)
from bayeskern.methods import compare_methods, compare_models

X = np.linspace(-2, 2, 12)[:, None]


@pytest.fixture(scope="module")
def problem():
    y = np.array([-1, -1, 1, -1, -1, 1, -1, 1, 1, 1, 1, 1.0])
    return bk.GaussianProcess(X, y, 4.0 * bk.RBF(), bk.Logit())


@pytest.fixture(scope="module")
def fits(problem):
    return {
        "laplace": bk.Laplace().run(problem, random_seed=0),
        "ep": bk.EP().run(problem, random_seed=0),
        "slice": bk.EllipticalSlice(draws=2000, chains=2).run(problem, random_seed=0),
    }


def test_ep_is_nearer_to_the_chain_than_laplace(fits):
    table = compare_methods(fits, reference="slice")
    assert table.loc[("ep", "f"), "error"] < 0.15 < table.loc[("laplace", "f"), "error"] * 2
    assert table.loc[("ep", "f"), "wasserstein"] < table.loc[("laplace", "f"), "wasserstein"]
    assert 0.8 < table.loc[("ep", "f"), "sd_ratio"] < 1.25


def test_an_answer_beside_itself_has_no_error(fits):
    table = compare_methods({"a": fits["ep"]}, reference=fits["ep"].copy())
    row = table.loc[("a", "f")]
    assert row["error"] == row["wasserstein"] == row["evidence_error"] == 0
    assert row["sd_ratio"] == 1


def test_models_are_ranked_by_leave_one_out(problem, fits):
    import dataclasses

    rigid = dataclasses.replace(problem, kernel=4.0 * bk.RBF(50.0))  # nearly constant
    table = compare_models(
        {
            "smooth": (problem, fits["ep"]),
            "rigid": (rigid, bk.EP().run(rigid, random_seed=0)),
        }
    )
    assert table.index[0] == "smooth"
    with pytest.raises(ValueError, match="two or more fits, got 1"):
        compare_models({"one": fits["ep"]})


def test_analytic_and_sampled_leave_one_out_agree(problem, fits):
    table = compare_models({"ep": (problem, fits["ep"]), "slice": fits["slice"]})
    assert abs(np.diff(table["elpd"].astype(float))[0]) < 0.4


class TestCalibration:
    def test_exact_posterior_is_calibrated(self):
        gp = bk.GaussianProcess(X[:6], np.zeros(6), bk.RBF(), bk.Gaussian(0.5))
        result = calibrate(gp, bk.Exact(), simulations=150, random_seed=1)
        assert result.ranks["f"].shape == (900,)
        # entries of one simulation are dependent, so look at one entry
        one = Calibration({"f0": result.ranks["f"][::6]}, result.draws)
        assert one.p_values()["f0"] > 0.01
        assert abs(one.coverage(0.8)["f0"] - 0.8) < 4 * np.sqrt(0.16 / 150)

    def test_a_wrong_noise_level_is_found(self):
        gp = bk.GaussianProcess(X[:6], np.zeros(6), bk.RBF(), bk.Gaussian(0.5))

        class Overconfident(bk.Exact):
            def at(self, problem, theta, warm=None):
                import dataclasses

                sure = dataclasses.replace(problem, likelihood=bk.Gaussian(0.05))
                return super().at(sure, theta, warm)

        result = calibrate(gp, Overconfident(), simulations=150, random_seed=1)
        one = Calibration({"f0": result.ranks["f"][::6]}, result.draws)
        assert one.p_values()["f0"] < 1e-4
        assert "miscalibrated" in str(one)

    def test_uniform_ranks_pass_and_skewed_ones_fail(self):
        rng = np.random.default_rng(0)
        good = Calibration({"x": rng.integers(0, 100, 2000)}, 99)
        bad = Calibration({"x": rng.binomial(99, 0.5, 2000)}, 99)
        assert good.p_values()["x"] > 0.01 > bad.p_values()["x"]


def test_simulated_labels_follow_the_model(problem):
    y = prior_predictive(problem, 400, random_seed=0)
    assert set(np.unique(y)) == {-1.0, 1.0}
    assert abs((y > 0).mean() - 0.5) < 0.1  # neighbours are alike, so few independent labels
    same, truth = simulate(problem, np.random.default_rng(0))
    assert truth["f"].shape == (12,) and same.y.shape == (12,)


def test_a_statistic_that_the_model_reproduces(problem, fits):
    p, values = posterior_predictive_check(problem, fits["slice"])
    assert 0.05 < p < 0.95 and values.shape == (4000,)


def test_diagnostics_in_words(fits):
    assert any("independent draws" in line for line in in_words(fits["ep"]))
    assert any(line.startswith("R-hat is at most 1.0") for line in in_words(fits["slice"]))
