"""Every posterior told twice is one density, and every method is held to every reference."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import bayeskern as bk
from bayeskern import zoo
from bayeskern.cli import main

ENTRIES = zoo.list()
ROUNDING = 1e-9
SLOW = {"NUTS()", "HyperNUTS(Laplace())", "HyperNUTS(EP())", "HyperNUTS(Laplace(), exact=True)"}
SLOW |= {"EllipticalSlice()", "HyperImportance(EP(), exact=True)"}
SAMPLED = {  # where chains over everything are worth their minutes
    "NUTS()": {"bayes-fisher-twelve", "gp-logit-threepoint"},
    "EllipticalSlice()": {n for n in ENTRIES if n.endswith("threepoint")} | {"labelflip-cone3"},
}


def pairs():
    """Every method with every entry that it does not refuse."""
    for name in ENTRIES:
        problem = zoo.load(name).problem()
        for key, method in zoo.methods().items():
            if key.startswith("EvidenceMax") and not problem.free():
                continue  # the inner method, which is here anyway
            gaussian = isinstance(getattr(problem, "likelihood", None), bk.Gaussian)
            if gaussian and key.startswith("Hyper") and "Exact" not in key:
                continue  # Laplace and EP are exact here
            if name not in SAMPLED.get(key, ENTRIES):
                continue
            try:
                method.check(problem)
            except ValueError:
                continue
            yield pytest.param(name, key, marks=[pytest.mark.slow] if key in SLOW else [])


@pytest.mark.parametrize("name", ENTRIES)
class TestEveryEntry:
    def test_says_what_it_is(self, name):
        card = zoo.load(name).card
        wanted = {"title", "chapter", "question", "data", "licence", "level", "expected"}
        assert wanted <= set(card)
        assert card["level"] in {"exact", "quadrature", "two-samplers"}
        assert set(card["expected"]) <= set(zoo.methods())

    def test_has_a_whole_reference(self, name):
        reference = zoo.load(name).reference
        assert len(reference["log_density"]) >= 5
        assert np.isfinite(reference["log_evidence"])
        for summary in reference["variables"].values():
            assert set(summary) == {"mean", "sd", "q05", "q50", "q95", "mcse"}
            q05, q50, q95 = (np.asarray(summary[q]) for q in ("q05", "q50", "q95"))
            assert (q05 < q50).all() and (q50 < q95).all()

    def test_plain_model_does_not_use_the_package(self, name):
        assert "bayeskern" not in (zoo.load(name).folder / "model.py").read_text()
        assert "bayeskern" not in (zoo.load(name).folder / "make_reference.py").read_text()

    @pytest.mark.slow
    def test_package_and_plain_pymc_are_one_density(self, name):
        entry = zoo.load(name)
        plain = entry.model().compile_logp(mode="FAST_COMPILE")
        ours = entry.log_density(mode="FAST_COMPILE")
        for row in entry.reference["log_density"]:
            point = {k: np.asarray(v) for k, v in row["point"].items()}
            value = -np.inf if row["value"] is None else row["value"]
            assert float(plain(point)) == pytest.approx(value, rel=1e-8, abs=1e-8)
            assert float(ours(point)) == pytest.approx(value, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("name", "key"), [*pairs()])
def test_method_against_reference(name, key):
    entry = zoo.load(name)
    score = zoo.check(zoo.methods()[key], [name], random_seed=1, name=key)[name]
    assert score.outcome == "ran", score.message
    expected = entry.card["expected"].get(key)
    if expected is None:
        assert score.z < score.z_limit, score
        if not np.isnan(score.evidence_error):
            assert abs(score.evidence_error) < max(4 * score.evidence_se, ROUNDING)
        return
    # as bad as the card says: neither worse nor much better
    slack = 4 * score.noise + ROUNDING
    assert score.mean_error == pytest.approx(expected["mean"], rel=0.1, abs=slack)
    assert score.sd_error == pytest.approx(expected["sd"], rel=0.1, abs=slack)
    if "log_evidence" in expected:
        slack = 4 * score.evidence_se + ROUNDING
        found = abs(score.evidence_error)
        assert found == pytest.approx(expected["log_evidence"], rel=0.1, abs=slack)


def test_edited_reference_is_refused(tmp_path):
    entry = zoo.load("gp-regression-fixed")
    copy = zoo.Entry(entry.name, tmp_path / entry.name)
    shutil.copytree(entry.folder, copy.folder)
    assert zoo.Entry(copy.name, copy.folder).reference == entry.reference
    path = copy.folder / "reference.json"
    content = json.loads(path.read_text())
    content["variables"]["f"]["mean"][0] += 1e-9
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="does not match its checksum"):
        _ = copy.reference


@pytest.mark.parametrize("name", ["gp-regression-fixed", "bayespoint-gram3"])
def test_reference_can_be_made_again(name, tmp_path):
    entry = zoo.load(name)
    copy = zoo.Entry(name, tmp_path / name)
    shutil.copytree(entry.folder, copy.folder)
    shutil.copy(entry.folder.parent / "_oracles.py", tmp_path)
    (copy.folder / "reference.json").unlink()
    subprocess.run([sys.executable, copy.folder / "make_reference.py"], check=True)
    assert copy.reference["log_evidence"] == pytest.approx(entry.reference["log_evidence"])
    for variable, summary in entry.reference["variables"].items():
        for key, value in summary.items():
            made = copy.reference["variables"][variable][key]
            np.testing.assert_allclose(made, value, rtol=1e-8, atol=1e-10)


def test_command_lists_and_scores(capsys):
    assert main(["zoo"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ENTRIES)
    assert main(["zoo", "Exact()"]) == 0
    assert "gp-regression-fixed" in capsys.readouterr().out
    assert main(["zoo", "Exactly()"]) == 2
    assert "there is no method 'Exactly()'" in capsys.readouterr().err


def test_unknown_entry_is_named():
    with pytest.raises(ValueError, match=r"no entry .*; did you mean .gp-logit-threepoint"):
        zoo.load("gp-logit-threepoints")


class TestScorecard:
    def shifted(self, by):
        """Exact draws of the closed posterior, moved by some sds."""

        def method(problem):
            tree = bk.Exact().run(problem, random_seed=3)
            del tree["fit"]
            sd = np.asarray(zoo.load("gp-regression-fixed").reference["variables"]["f"]["sd"])
            tree["posterior"]["f"] = tree["posterior"]["f"] + by * sd
            tree.attrs["log_evidence"] += by
            return tree

        return method

    def test_finds_a_bias_and_nothing_else(self):
        right = zoo.check(self.shifted(0.0), ["gp-regression-fixed"])["gp-regression-fixed"]
        wrong = zoo.check(self.shifted(0.3), ["gp-regression-fixed"])["gp-regression-fixed"]
        assert right.z < right.z_limit < wrong.z
        assert wrong.mean_error == pytest.approx(0.3, abs=0.1)
        assert wrong.evidence_error == pytest.approx(0.3)
        assert right.ess_per_second > 0

    def test_own_function_may_refuse_or_fail(self):
        def method(problem):
            if isinstance(problem, bk.BayesPoint):
                raise RuntimeError("no")
            return bk.Exact().run(problem, random_seed=0)

        card = zoo.check(method, ["gp-regression-fixed", "gp-logit-threepoint", "bayespoint-gram3"])
        assert [s.outcome for s in card.scores] == ["ran", "refused", "failed"]
        assert "1 ran, 1 refused, 1 failed" in str(card)
        assert [s.entry for s in card.failures] == ["bayespoint-gram3"]
