import json

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bayeskern import cli, datasets
from bayeskern.comparison import compare
from bayeskern.report import as_json, write_report
from bayeskern.standard import model_named


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=80) > 0, "yes", "no")


@pytest.fixture(scope="module")
def models():
    return {"logistic": LogisticRegression(), "bayes": GaussianNB()}


@pytest.fixture(scope="module")
def comparison(data, models):
    return compare(models, *data, folds=4, repeats=2, random_state=3)


class TestCompare:
    def test_scores_are_those_of_scikit_learn_on_the_same_folds(self, comparison, data, models):
        from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate

        folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=3)
        scores = cross_validate(
            models["logistic"],
            *data,
            cv=folds,
            scoring=["accuracy", "neg_log_loss", "roc_auc"],
        )
        report = comparison.models["logistic"]
        np.testing.assert_allclose(report.errors, 1 - scores["test_accuracy"])
        np.testing.assert_allclose(report.log_losses, -scores["test_neg_log_loss"])
        np.testing.assert_allclose(report.aucs, scores["test_roc_auc"])

    def test_table_holds_means_and_an_interval(self, comparison):
        row = comparison.table().loc["bayes"]
        assert row["error"] == pytest.approx(comparison.models["bayes"].errors.mean())
        assert row["error_low"] <= row["error"] <= row["error_high"]

    def test_elpd_adds_up_the_log_probabilities_of_the_labels(self, comparison):
        p = comparison.models["bayes"].probabilities
        expected = np.log(np.where(comparison.y, p, 1 - p)).mean(axis=0).sum()
        assert comparison.elpd("bayes")[0] == pytest.approx(expected)

    def test_reliability_counts_every_point_once(self, comparison):
        curve = comparison.reliability("bayes")
        assert curve["count"].sum() == 80
        assert (curve["observed"] * curve["count"]).sum() == pytest.approx(comparison.y.sum())
        k, n = round(curve["observed"][0] * curve["count"][0]), curve["count"][0]
        assert curve["low"][0] == pytest.approx(beta(k + 0.5, n - k + 0.5).ppf(0.05))

    def test_same_seed_same_table(self, comparison, data, models):
        again = compare(models, *data, folds=4, repeats=2, random_state=3)
        columns = ["error", "log_loss", "brier", "ece", "auc", "elpd_cv"]
        np.testing.assert_array_equal(again.table()[columns], comparison.table()[columns])

    def test_processes_do_not_change_the_result(self, comparison, data, models):
        again = compare(models, *data, folds=4, repeats=2, random_state=3, n_jobs=2)
        np.testing.assert_array_equal(again.table()["log_loss"], comparison.table()["log_loss"])

    def test_a_model_that_fails_is_reported_in_its_own_words(self, data):
        class Broken(GaussianNB):
            def fit(self, X, y):
                raise ValueError("this data is not for me")

        result = compare({"fine": GaussianNB(), "broken": Broken()}, *data, folds=2, repeats=1)
        assert result.models["broken"].failure == "this data is not for me"
        assert list(result.working) == ["fine"]
        assert "broken: not fitted, this data is not for me" in str(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(80) % 3}, "compare is for two classes, got 3"),
        ({"y": np.ones(80)}, "compare is for two classes, got 1"),
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"models": ["gp", "svn"]}, "got 'svn'; did you mean 'svm'?"),
        ({"models": {}}, "at least one classifier"),
        ({"y": np.ones(79)}, "one label per row of X, got 79 for 80"),
        ({"y": np.r_[np.zeros(78), 1, 1], "folds": 4}, "must have 4 points"),
    ],
)
def test_bad_input_is_refused_in_words(data, models, change, message):
    arguments = {"models": models, "X": data[0], "y": data[1], **change}
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        compare(**arguments)


class TestReport:
    def test_page_stands_alone_and_names_every_model(self, comparison, data, tmp_path):
        page = write_report(comparison, tmp_path, title="A <title>", X=data[0], y=data[1])
        text = page.read_text()
        assert "A &lt;title&gt;" in text and "http" not in text.replace("http-equiv", "")
        assert all(name in text for name in comparison.models)
        assert (tmp_path / "table.csv").exists()

    def test_json_is_json(self, comparison):
        told = json.loads(as_json(comparison))
        assert set(told["models"]) == {"logistic", "bayes"}
        assert told["settings"]["folds"] == 4


class TestCommand:
    def run(self, capsys, *arguments):
        code = cli.main(list(arguments))
        return code, *capsys.readouterr()

    @pytest.fixture
    def csv(self, tmp_path, data):
        X, y = data
        path = tmp_path / "own.csv"
        rows = [f"{a},{b},{'x' if a > 0 else 'z'},1,{c}" for (a, b), c in zip(X, y, strict=True)]
        path.write_text("\n".join(["first,second,kind,same,label", *rows]))
        return path

    def test_compares_models_on_a_csv(self, capsys, csv, tmp_path):
        out = tmp_path / "report"
        code, said, warned = self.run(
            capsys,
            *("compare", str(csv), "--models", "kernel-logistic", "--folds", "2"),
            *("--out", str(out)),
        )
        assert code == 0, warned
        assert "kernel-logistic" in said and str(out / "report.html") in said
        assert "left out 'same': constant" in warned

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--target", "lable"], "has no column 'lable'; did you mean 'label'?"),
            (["--target", "first"], "must hold two classes, got 80"),
            (["--models", "gpp"], "did you mean 'gp'?"),
        ],
    )
    def test_mistakes_end_in_a_sentence_and_code_2(self, capsys, csv, arguments, message):
        code, _, warned = self.run(capsys, "compare", str(csv), *arguments)
        assert code == 2 and message in warned and "Traceback" not in warned

    def test_unknown_file_suggests_a_data_set(self, capsys):
        code, _, warned = self.run(capsys, "compare", "riply")
        assert code == 2 and "did you mean 'ripley'?" in warned

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"\xff\xfe\x00\x81", "could not be read as CSV"),
            (b"", "could not be read as CSV"),
            (b"a,b\n1,2\n,3\n2,2\n", "missing values in 'a'"),
        ],
    )
    def test_bad_files(self, capsys, tmp_path, content, message):
        path = tmp_path / "bad.csv"
        path.write_bytes(content)
        code, _, warned = self.run(capsys, "compare", str(path))
        assert code == 2 and message in warned

    def test_too_many_rows_names_what_scales(self, capsys, tmp_path):
        path = tmp_path / "big.csv"
        path.write_text("a,b\n" + "\n".join(f"{i},{i % 2}" for i in range(6000)))
        code, _, warned = self.run(capsys, "compare", str(path))
        assert code == 2 and "6000 rows" in warned and "SVMClassifier" in warned

    def test_fit_then_predict(self, capsys, csv, tmp_path, data):
        saved = str(tmp_path / "model")
        code, _, warned = self.run(
            capsys, "fit", str(csv), "--model", "kernel-logistic", "--out", saved
        )
        assert code == 0, warned
        code, said, _ = self.run(capsys, "predict", saved, str(csv))
        predicted = [line.split(",")[0] for line in said.splitlines()[1:]]
        assert code == 0 and np.mean(np.array(predicted) == data[1]) > 0.7

    def test_lists_the_data_sets(self, capsys):
        code, said, _ = self.run(capsys, "datasets")
        assert code == 0 and all(name in said for name in datasets.names())


def test_every_standard_model_has_a_name():
    for name in ("gp", "gp-ep", "rvm", "bayes-point", "svm", "kernel-logistic", "kernel-fisher"):
        assert hasattr(model_named(name), "fit")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_serial_result(comparison, data, models):
    import joblib

    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as two,
        distributed.Client(two),
        joblib.parallel_config(backend="dask"),
    ):
        again = compare(models, *data, folds=4, repeats=2, random_state=3)
    np.testing.assert_array_equal(again.table()["log_loss"], comparison.table()["log_loss"])
