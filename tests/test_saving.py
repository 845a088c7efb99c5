import numpy as np
import pytest

import bayeskern as bk


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).normal(size=(20, 2))
    return bk.GPClassifier(random_state=0).fit(X, X[:, 0] > 0), X


def test_round_trip_is_exact(fitted, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    model, X = fitted
    again = bk.load(bk.save(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.idata_.equals(model.idata_)
    assert again.idata_.attrs["method"] == model.idata_.attrs["method"]
    assert hasattr(model, "idata_")  # saving leaves the model whole


def test_a_strangers_file_is_not_unpickled(fitted, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    folder = bk.save(fitted[0], tmp_path / "m")
    (folder / "model.pkl").write_bytes(b"cos\nabort\n(tR.")  # would end the process
    with pytest.raises(ValueError, match="not saved by this user"):
        bk.load(folder)
    with pytest.raises(ValueError, match=r"no model\.pkl"):
        bk.load(tmp_path)
