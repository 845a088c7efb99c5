import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bayeskern.classic.losses import (
    ExponentialLoss,
    HingeLoss,
    LogisticLoss,
    RampLoss,
    SquaredHingeLoss,
    SquaredLoss,
    ZeroOneLoss,
    binary_entropy,
    cost_loss,
    epsilon_insensitive,
    is_calibrated,
)

CONVEX = [
    HingeLoss(),
    SquaredHingeLoss(),
    LogisticLoss(),
    LogisticLoss(base2=True),
    ExponentialLoss(),
    SquaredLoss(),
]
ABOVE = [loss for loss in CONVEX if loss != LogisticLoss()] + [RampLoss(0.3), RampLoss(2.0)]
ETAS = [0.05, 0.2, 0.35, 0.45, 0.6, 0.9]
U = np.linspace(-4, 4, 801)

GAINS = {  # value at f = 0 less the least conditional risk
    HingeLoss(): lambda eta: abs(2 * eta - 1),
    SquaredHingeLoss(): lambda eta: (2 * eta - 1) ** 2,
    LogisticLoss(): lambda eta: np.log(2) - binary_entropy(eta),
    LogisticLoss(base2=True): lambda eta: 1 - binary_entropy(eta) / np.log(2),
    ExponentialLoss(): lambda eta: 1 - 2 * np.sqrt(eta * (1 - eta)),
    SquaredLoss(): lambda eta: (2 * eta - 1) ** 2,
}


@pytest.mark.parametrize("loss", ABOVE, ids=repr)
def test_surrogates_lie_above_the_zero_one_loss_and_meet_at_zero(loss):
    assert (loss.value(U) >= ZeroOneLoss().value(U)).all()
    assert loss.value(0.0) == pytest.approx(1)


def test_logistic_in_nats_does_not_lie_above():
    assert LogisticLoss().value(0.0) < ZeroOneLoss().value(0.0)


def test_printed_values():
    values = [[float(loss([m], [1])[0]) for m in (0.0, -1.0, 0.5)]
              for loss in (ZeroOneLoss(), HingeLoss(), SquaredHingeLoss())]  # fmt: skip
    assert values == [[1, 1, 0], [1, 2, 0.5], [1, 4, 0.25]]


@pytest.mark.parametrize("loss", CONVEX, ids=repr)
@pytest.mark.parametrize("eta", ETAS)
def test_bayes_output_and_gain_agree_with_a_numerical_minimum(loss, eta):
    best = minimize_scalar(
        lambda z: loss.conditional_risk(z, eta), bounds=(-6, 6), options={"xatol": 1e-10}
    )
    assert loss.conditional_risk(loss.bayes(eta), eta) <= best.fun + 1e-9
    assert loss.bayes(eta) == pytest.approx(best.x, abs=1e-4)
    assert loss.value(0.0) - best.fun == pytest.approx(GAINS[loss](eta), abs=1e-8)


@pytest.mark.parametrize("loss", CONVEX, ids=repr)
def test_gradient_by_differences(loss):
    u = U[np.abs(U + 1) > 1e-3]
    slope = (loss.value(u + 1e-6) - loss.value(u - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.grad(u), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", CONVEX, ids=repr)
def test_excess_transfers_to_the_zero_one_loss(loss):
    eta = np.linspace(0.001, 0.999, 999)
    bound = loss.transfer(np.maximum(GAINS[loss](eta), 0))
    assert (np.abs(2 * eta - 1) <= bound + 1e-9).all()


def test_transfer_constant_of_the_logistic_loss_is_root_two():
    eta = 0.45
    assert 0.1 / np.sqrt(GAINS[LogisticLoss()](eta)) == pytest.approx(1.4130, abs=1e-4)
    eta = 0.5001
    assert 2e-4 / np.sqrt(GAINS[LogisticLoss()](eta)) == pytest.approx(np.sqrt(2), rel=1e-4)


def test_calibration_and_the_kinked_counterexample():
    assert all(is_calibrated(loss.value) for loss in CONVEX)
    assert not is_calibrated(RampLoss().value)

    def kinked(u):
        return np.where(u >= 0, 1 + 2 * u, np.maximum(1 + u / 2, 0))

    assert not is_calibrated(kinked)
    z = np.linspace(-3, 3, 6001)
    risk = 0.6 * kinked(-z) + 0.4 * kinked(z)
    assert z[risk.argmin()] == pytest.approx(0, abs=1e-9)  # not +1, although eta > 1/2


def test_ramp_lies_between_and_is_lipschitz():
    for rho in (0.5, 1.0, 2.0):
        ramp = RampLoss(rho).value(U)
        assert (ZeroOneLoss().value(U) <= ramp).all()
        assert (ramp <= HingeLoss().value(U / rho) + 1e-15).all()
        assert (np.abs(np.diff(ramp)) <= np.diff(U) / rho + 1e-12).all()


def test_square_of_margin_is_square_of_residual():
    y, z = np.array([1.0, -1.0, 1.0]), np.array([0.3, 2.0, -1.5])
    np.testing.assert_allclose(SquaredLoss()(z, y), (y - z) ** 2)


def test_costs_can_make_both_constant_rules_equal():
    p = 0.1
    costs = [[0, 1 - p], [p, 0]]
    risks = [p * cost_loss(f, 1, costs) + (1 - p) * cost_loss(f, -1, costs) for f in (1.0, -1.0)]
    assert risks == pytest.approx([0.09, 0.09])
    assert cost_loss(0.0, 1, costs) == 0  # where the 0-1 loss is 1


def test_epsilon_insensitive_is_even_lipschitz_and_absolute_at_zero():
    r = np.linspace(-2, 2, 401)
    np.testing.assert_allclose(epsilon_insensitive(r, 0 * r, 0), np.abs(r))
    loss = epsilon_insensitive(r, 0 * r, 0.7)
    np.testing.assert_allclose(loss, loss[::-1], atol=1e-14)
    assert (np.abs(np.diff(loss)) <= np.diff(r) + 1e-12).all()


def test_overflow_free():
    assert LogisticLoss().value(1000.0) == 1000.0
    assert LogisticLoss().value(-1000.0) == 0.0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"labels -1 and \+1 only, got 0"):
        HingeLoss()([1.0], [0])
    with pytest.raises(ValueError, match=r"eta must be in \[0, 1\], got 1.5"):
        HingeLoss().bayes(1.5)
    with pytest.raises(ValueError, match="costs must be a 2 x 2 matrix"):
        cost_loss([1.0], [1], [[0, -1], [1, 0]])
    with pytest.raises(ValueError, match="epsilon must be non-negative, got -1"):
        epsilon_insensitive([1.0], [1.0], -1)
    with pytest.raises(ValueError, match="rho must be positive, got 0"):
        RampLoss(0)
