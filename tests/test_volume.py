import numpy as np
import pytest
from scipy.special import gammaln

import bayeskern as bk
from bayeskern.infer.volume import closed_form, log_volume
from bayeskern.kernels.dot import Linear
from tests.version_spaces import D3_MASS, D4_MASS, cone4, gram3


def of_gram(S, y=None):
    L = np.linalg.cholesky(S)
    return bk.BayesPoint(L, np.ones(len(S)) if y is None else y, Linear())


def equicorrelated(m):
    return of_gram(np.full((m, m), 0.5) + 0.5 * np.eye(m)), -np.log(m + 1)


def random_walk(m):
    i = np.arange(1.0, m + 1)
    return of_gram(np.minimum(i[:, None], i)), gammaln(2 * m + 1) - 2 * gammaln(m + 1) - m * np.log(
        4
    )


def independent(m):
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    return of_gram(np.diag(np.linspace(0.1, 9, m)), y), -m * np.log(2)


def test_closed_forms():
    assert log_volume(cone4()).value == pytest.approx(np.log(D3_MASS), rel=1e-6)
    volume = log_volume(gram3())
    assert volume.prior_mass == pytest.approx(D4_MASS, abs=5e-11)
    assert (volume.kind, volume.se) == ("exact", 0.0)
    assert closed_form(independent(4)[0].cone) is None


@pytest.mark.parametrize(
    ("case", "particles"),
    [
        (equicorrelated(50), 500),
        (equicorrelated(200), 200),
        (random_walk(100), 500),
        (independent(20), 500),
        (independent(50), 200),
        ((gram3(), np.log(D4_MASS)), 1000),
        ((cone4(), np.log(D3_MASS)), 1000),
    ],
    ids=["equi50", "equi200", "walk", "id20", "id50", "D4", "D3"],
)
def test_splitting_within_three_standard_errors(case, particles):
    problem, exact = case
    found = log_volume(problem, particles=particles, exact=False, random_seed=11)
    assert found.kind == "splitting"
    assert abs(found.value - exact) < 3 * found.se
    assert found.se < 0.4
    spread = found.replicates.std(ddof=1) / np.sqrt(8)
    assert found.se == pytest.approx(max(spread, found.se_levels))
    assert 0.3 < spread / found.se_levels < 3


def test_levels_are_not_biased():
    """Log of the kept part, without the correction, would be off by 1.6 here."""
    problem, exact = independent(50)
    found = log_volume(problem, particles=24, replicates=200, random_seed=3)
    assert found.n_levels > 20
    assert found.se < 0.2
    assert abs(found.value - exact) < 3.5 * found.se


@pytest.mark.slow
def test_a_volume_of_e_to_the_minus_350():
    problem, exact = independent(500)
    found = log_volume(problem, particles=24, random_seed=5)
    assert exact < -346
    assert abs(found.value - exact) < 3 * found.se
    assert found.se < 4


def test_slack_is_in_the_volume():
    for lam, mass in ((0.1, 0.1699814), (1.0, 0.1491184), (10.0, 0.1293420)):
        assert log_volume(gram3(lam=lam)).prior_mass == pytest.approx(mass, abs=5e-8)


def test_value_of_ep_beside_it():
    assert np.exp(log_volume(gram3(), ep=True).ep) == pytest.approx(0.174292, abs=1e-6)
    assert np.isnan(log_volume(gram3()).ep)


def test_scale_and_label_symmetry():
    problem = cone4()
    other = bk.BayesPoint(
        problem.X * np.array([[2.0], [0.1], [3.0], [1.0]]), -problem.y, 7.0 * Linear()
    )
    assert log_volume(other).value == pytest.approx(log_volume(problem).value, rel=1e-10)


def test_bad_input():
    with pytest.raises(ValueError, match="noise leave no version space"):
        log_volume(gram3(likelihood=bk.LabelFlip(0.1)))
    with pytest.raises(ValueError, match="for a BayesPoint, got a str"):
        log_volume("cone")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="particles must be at least 20, got 3"):
        log_volume(gram3(), particles=3)
