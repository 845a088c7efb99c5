"""Stability: regularised learners change little when an example is left out."""

from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded

REGULARISED = (
    "the learner minimises mean loss + lam * |f|^2 without an unpenalised offset; lam, the kernel"
    " and its supremum were fixed before the sample was seen"
)


def uniform_stability(lam: Any, m: Any, kappa2: Any, lipschitz: Any = 1.0) -> Any:
    r"""Uniform stability of regularised risk minimisation, :math:`C^2\kappa^2/(2\lambda m)`.

    For :math:`\hat f=\arg\min\frac1m\sum_il(f(x_i),t_i)+\lambda\|f\|^2` with a convex loss of
    Lipschitz constant C and :math:`\kappa^2=\sup_xk(x,x)`. (Herbrich 2002, Theorem 5.31 takes
    :math:`\kappa=\sup_xk(x,x)`, which fails for kernels below 1.) It is attained by copies of
    one point under the hinge loss.

    Parameters
    ----------
    lam : float
        Regularisation; an SVC has :math:`C=1/(2\lambda m)`, kernel ridge :math:`\alpha=\lambda m`.
    m : int
        Sample size.
    kappa2 : float
        Supremum of k(x, x).
    lipschitz : float
        1 for the hinge, absolute, epsilon-insensitive and logistic losses.

    Examples
    --------
    >>> round(uniform_stability(1.0, 10, 0.01), 12)
    0.0005
    """
    lam, m = domain.positive(lam, "lam"), domain.size(m)
    kappa2, C = domain.positive(kappa2, "kappa2"), domain.positive(lipschitz, "lipschitz")
    out = C**2 * kappa2 / (2 * lam * m)
    return out.item() if np.ndim(out) == 0 else out


def _root(m: Any, delta: Any, constant: str) -> Any:
    factor = 1.0 if domain.choice(constant, "constant", ("sharp", "book")) == "sharp" else 2.0
    return factor * np.sqrt(-np.log(delta) / (2 * m))


def _from_training(
    name: str,
    reference: str,
    m: Any,
    delta: Any,
    loss: Any,
    beta: Any,
    b: Any,
    constant: str,
    extra: tuple[str, ...] = (),
) -> Bound:
    if (loss > b * (1 + 1e-12)).any():
        raise ValueError(f"training_loss must not exceed loss_bound, got {loss!r} above {b!r}")
    root = _root(m, delta, constant)
    return assemble(
        name,
        {
            "training loss": loss,
            "stability": 2 * beta + 4 * m * beta * root,
            "confidence": b * root,
        },
        delta=delta,
        trivial=b,
        statement="With probability at least 1 - delta the learner's risk exceeds its training"
        " loss by at most 2 beta + (4 m beta + b) sqrt(ln(1/delta) / 2m).",
        reference=reference,
        assumptions=(IID, *extra),
        ingredients={"beta": beta, "loss_bound": b},
    )


@recorded()
def stability_bound(
    m: Any, delta: Any, training_loss: Any, beta: Any, loss_bound: Any, constant: str = "sharp"
) -> Bound:
    r"""Risk of a uniformly stable learner from its training loss.

    .. math:: R_{\rm emp}+2\beta_m+(4m\beta_m+b)\sqrt{\frac{\ln(1/\delta)}{2m}}

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    training_loss : float
        Mean training loss, in [0, b].
    beta : float
        Uniform stability, see `uniform_stability`.
    loss_bound : float
        Upper end b of the range of the loss.
    constant : {"sharp", "book"}
        The book's root is twice as large, for want of the constant 2 in McDiarmid's inequality.

    Examples
    --------
    >>> round(stability_bound(1000, 0.05, 0.0, 0.005, 1.0).value, 10)
    0.8227477876
    """
    m, delta, b = domain.size(m), domain.failure(delta), domain.loss_range(loss_bound)
    loss = domain.positive(training_loss, "training_loss", zero=True)
    beta = domain.positive(beta, "beta", zero=True)
    return _from_training(
        "stability bound", "Herbrich (2002), Theorem 5.32; Bousquet and Elisseeff (2002)",
        m, delta, loss, beta, b, constant, ("the learner is beta-stable, beta known beforehand",),
    )  # fmt: skip


@recorded()
def stability_loo_bound(
    m: Any,
    delta: Any,
    loo_loss: Any,
    beta_m: Any,
    beta_m_minus_1: Any,
    loss_bound: Any,
    constant: str = "sharp",
) -> Bound:
    r"""Risk of a uniformly stable learner from its leave-one-out loss.

    .. math:: R_{\rm loo}+\beta_m+\big(2m(\beta_m+\beta_{m-1})+b\big)
              \sqrt{\frac{\ln(1/\delta)}{2m}}

    Examples
    --------
    >>> round(stability_loo_bound(1000, 0.05, 0.0, 0.005, 5 / 999, 1.0).value, 10)
    0.8181351978
    """
    m, delta, b = domain.size(m), domain.failure(delta), domain.loss_range(loss_bound)
    loss = domain.positive(loo_loss, "loo_loss", zero=True)
    beta = domain.positive(beta_m, "beta_m", zero=True)
    before = domain.positive(beta_m_minus_1, "beta_m_minus_1", zero=True)
    root = _root(m, delta, constant)
    return assemble(
        "leave-one-out stability bound",
        {
            "leave-one-out loss": loss,
            "stability": beta + 2 * m * (beta + before) * root,
            "confidence": b * root,
        },
        delta=delta,
        trivial=b,
        statement="With probability at least 1 - delta the learner's risk exceeds its"
        " leave-one-out loss by at most the stability terms.",
        reference="Herbrich (2002), Theorem 5.32; Bousquet and Elisseeff (2002)",
        assumptions=(IID, "the learner is beta-stable, beta known beforehand"),
    )


@recorded()
def svr_stability_bound(
    m: Any,
    delta: Any,
    mean_slack: Any,
    lam: Any,
    kappa2: Any,
    target_bound: Any,
    constant: str = "sharp",
) -> Bound:
    r"""Risk of support vector regression, epsilon-insensitive loss, :math:`|t|\le B`.

    .. math:: \frac1m\sum_i\xi_i+\frac{\kappa^2}{\lambda m}+\Big(\frac{2\kappa^2}\lambda+b\Big)
              \sqrt{\frac{\ln(1/\delta)}{2m}},\qquad b=B+\kappa\sqrt{B/\lambda} .

    The book inserts the bound of the targets for b, but b must bound the loss.

    Examples
    --------
    >>> round(svr_stability_bound(10**5, 0.05, 0.05, 0.1, 1.0, 1.0).value, 10)
    0.1436135129
    """
    m, delta = domain.size(m), domain.failure(delta)
    slack = domain.positive(mean_slack, "mean_slack", zero=True)
    beta = np.asarray(uniform_stability(lam, m, kappa2))
    B = domain.positive(target_bound, "target_bound")
    b = B + np.sqrt(domain.positive(kappa2, "kappa2") * B / domain.positive(lam, "lam"))
    return _from_training(
        "stability bound of support vector regression", "Herbrich (2002), Example 5.33",
        m, delta, slack, beta, b, constant, (REGULARISED, "targets lie in [-B, B]"),
    )  # fmt: skip


@recorded()
def krr_stability_bound(
    m: Any,
    delta: Any,
    training_loss: Any,
    lam: Any,
    kappa2: Any,
    target_bound: Any,
    clipped: bool = False,
    constant: str = "sharp",
) -> Bound:
    r"""Risk of kernel ridge regression under the squared loss, :math:`|t|\le B`.

    On the reachable range the loss has Lipschitz constant :math:`C=2B(1+\kappa/\sqrt\lambda)`
    and bound :math:`b=B^2(1+\kappa/\sqrt\lambda)^2`. Predictions clipped to [-B, B] have
    :math:`b=4B^2` and :math:`\beta_m=4BC\kappa^2/(2\lambda m)`.

    A Gaussian process with noise variance :math:`\sigma^2` has :math:`\lambda=\sigma^2/m`: for
    fixed noise its stability does not improve with m.

    Examples
    --------
    >>> bound = krr_stability_bound(10**5, 0.05, 0.05, 0.1, 1.0, 1.0)
    >>> round(bound.ingredients["loss_bound"], 8)
    17.32455532
    """
    m, delta = domain.size(m), domain.failure(delta)
    loss = domain.positive(training_loss, "training_loss", zero=True)
    lam, kappa2 = domain.positive(lam, "lam"), domain.positive(kappa2, "kappa2")
    B = domain.positive(target_bound, "target_bound")
    reach = 1 + np.sqrt(kappa2 / lam)
    lipschitz = 2 * B * reach
    slope = 4 * B if clipped else lipschitz
    beta = slope * lipschitz * kappa2 / (2 * lam * m)
    b = 4 * B**2 if clipped else (B * reach) ** 2
    return _from_training(
        "stability bound of kernel ridge regression", "after Bousquet and Elisseeff (2002)",
        m, delta, loss, beta, b, constant, (REGULARISED, "targets lie in [-B, B]"),
    )  # fmt: skip


@recorded()
def svm_stability_bound(
    m: Any,
    delta: Any,
    decision_values: Any,
    y: Any,
    lam: Any,
    kappa2: Any,
    tau: Any = 1.0,
    constant: str = "sharp",
) -> Bound:
    r"""Misclassification risk of a hinge-loss SVM without offset, from stability.

    .. math:: R^\tau_{\rm emp}+\frac{\kappa^2}{\lambda m\tau}+\Big(\frac{2\kappa^2}{\lambda\tau}
              +1\Big)\sqrt{\frac{\ln(1/\delta)}{2m}}

    with the mean of :math:`\min\{1,\max\{0,1-y_if(x_i)/\tau\}\}` on the sample. (Herbrich 2002,
    Theorem 5.34 has :math:`\tau^2`, too small for :math:`\tau>1`, and 1 for :math:`\tau` in the
    first case of the loss.)

    Parameters
    ----------
    m, delta : int, float
        Sample size, failure probability.
    decision_values, y : arrays of shape (m,)
        Outputs on the training sample, and labels -1 and +1.
    lam : float
        :math:`\lambda=1/(2Cm)` for a box C.
    kappa2 : float
        Supremum of k(x, x).
    tau : float
        Scale of the clipped loss, fixed in advance.

    Examples
    --------
    >>> round(svm_stability_bound(10**5, 0.05, [0.95], [1], 0.1, 1.0).value, 10)
    0.1313747788
    """
    m, delta = domain.size(m), domain.failure(delta)
    f = np.atleast_1d(domain.numbers(decision_values, "decision_values"))
    y, tau = domain.labels(y, len(f)), domain.positive(tau, "tau")
    clipped = np.clip(1 - (y * f) / tau[..., None], 0, 1).mean(-1)
    beta = np.asarray(uniform_stability(lam, m, kappa2)) / tau
    return _from_training(
        "stability bound of the SVM", "Herbrich (2002), Theorem 5.34",
        m, delta, clipped, beta, np.asarray(1.0), constant,
        (REGULARISED, "tau was fixed before the sample was seen"),
    )  # fmt: skip
