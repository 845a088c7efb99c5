"""The report in a real browser; skipped where there is none."""

import json
import shutil

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from bayeskern.comparison import compare
from bayeskern.report import write_report

SENT = "Network.requestWillBeSent"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")),
        reason="chromium and chromedriver are not installed",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = Service(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    models = {"zeta": LogisticRegression(), "alpha": GaussianNB()}
    comparison = compare(models, X, y, folds=2, repeats=1)
    path = write_report(comparison, tmp_path_factory.mktemp("report"), title="Test", X=X, y=y)
    browser.get(path.as_uri())
    return browser


def test_nothing_is_logged_or_requested(page):
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == SENT]
    inside = ("file:", "data:", "chrome:", "about:")
    assert asked and all(url.startswith(inside) for url in asked), asked


def test_pictures_load(page):
    widths = page.execute_script(
        "return Array.from(document.images).map(function (i) { return i.naturalWidth; })"
    )
    assert len(widths) >= 3 and min(widths) > 100


def test_table_sorts_on_a_click(page):
    def first():
        return page.execute_script(
            "return document.querySelector('#models tbody tr td').textContent"
        )

    button = page.find_elements("css selector", "#models th button")[0]
    button.click()
    assert first() == "alpha"
    button.click()
    assert first() == "zeta"


def test_a_phone_scrolls_the_table_and_not_the_page(page):
    page.set_window_size(500, 800)
    overflow = page.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
