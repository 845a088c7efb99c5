"""Every example runs and saves its picture."""

import os
import runpy
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


def test_there_are_examples_and_they_are_short():
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        assert len(path.read_text().splitlines()) <= 100, path.name


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore")
def test_example_saves_a_picture(path):
    before = {p: os.stat(p).st_mtime_ns for p in (FOLDER / "figures").glob("*.png")}
    runpy.run_path(str(path), run_name="__main__")
    matplotlib.pyplot.close("all")
    after = {p: os.stat(p).st_mtime_ns for p in (FOLDER / "figures").glob("*.png")}
    assert any(after[p] != before.get(p) for p in after), f"{path.name} saved nothing"
