"""Rademacher complexity: how well a class can follow random signs."""

import itertools
from typing import Any

import numpy as np

from bayeskern.classic.bounds import _domain as domain
from bayeskern.classic.bounds.result import IID, Bound, assemble, recorded

LIPSCHITZ = "the loss is Lipschitz in the output with this constant"


def rademacher_ball(
    gram: Any,
    radius: float,
    method: str = "trace",
    n_draws: int = 1000,
    random_state: int | None = 0,
) -> float:
    r"""Empirical Rademacher complexity of a ball of radius :math:`\Lambda` in an RKHS.

    .. math:: \frac\Lambda n\mathbf E_\varepsilon\sqrt{\varepsilon^\top G\varepsilon}
              \le\frac\Lambda n\sqrt{\mathrm{tr}\,G}\le\Lambda\kappa/\sqrt n

    Parameters
    ----------
    gram : array of shape (n, n)
        Gram matrix.
    radius : float
        Norm bound :math:`\Lambda`.
    method : {"trace", "mc"}
        The upper bound, at most :math:`\sqrt2` too large, or an average over random signs.

    Examples
    --------
    >>> round(rademacher_ball(np.eye(400), 2.0), 12)
    0.1
    """
    G, radius = domain.square(gram), float(domain.positive(radius, "radius"))
    if domain.choice(method, "method", ("trace", "mc")) == "trace":
        return radius * float(np.sqrt(np.trace(G))) / len(G)
    draws = int(domain.count(n_draws, "n_draws", least=1))
    signs = np.random.default_rng(random_state).choice([-1.0, 1.0], size=(draws, len(G)))
    lengths = np.sqrt(np.maximum(((signs @ G) * signs).sum(1), 0.0))
    return radius * float(lengths.mean()) / len(G)


def empirical_rademacher(F: Any, n_draws: int | None = None, random_state: int | None = 0) -> float:
    r"""Empirical Rademacher complexity of finitely many functions.

    .. math:: \frac1n\mathbf E_\varepsilon\max_f\sum_i\varepsilon_if(x_i)

    Parameters
    ----------
    F : array of shape (n_functions, n)
        Outputs of finitely many functions on the sample.
    n_draws : int, optional
        Number of random sign vectors; by default all of them, for n up to 20.

    Notes
    -----
    Massart's lemma bounds it by :math:`\max_f\|f\|_2\sqrt{2\ln N}/n`.

    Examples
    --------
    >>> empirical_rademacher([[1.0, 1.0], [-1.0, -1.0]])
    0.5
    """
    F = domain.numbers(F, "F")
    if F.ndim != 2:
        raise ValueError(f"F must have one row per function, got shape {F.shape}")
    n = F.shape[1]
    if n_draws is None:
        if n > 20:
            raise ValueError(f"enumeration over 2**{n} labellings refused for m > 20; pass n_draws")
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    else:
        signs = np.random.default_rng(random_state).choice([-1.0, 1.0], size=(n_draws, n))
    return float((signs @ F.T).max(1).mean()) / n


@recorded(size="n")
def rademacher_bound(
    n: Any,
    delta: Any,
    empirical_loss: Any,
    complexity: Any,
    loss_bound: Any = 1.0,
    lipschitz: Any = 1.0,
    empirical_complexity: bool = False,
) -> Bound:
    r"""Risk of every member of a class from its Rademacher complexity.

    .. math:: \hat R+2Q\mathcal R_n+b\sqrt{\frac{\ln(1/\delta)}{2n}}

    for losses in [0, b] of Lipschitz constant Q; with the complexity of the sample in place of
    its expectation the last term is :math:`3b\sqrt{\ln(2/\delta)/2n}`.

    Parameters
    ----------
    n, delta : int, float
        Sample size, failure probability.
    empirical_loss : float
        Mean training loss.
    complexity : float
        Rademacher complexity of the class, see `rademacher_ball`.
    loss_bound, lipschitz : float
        Range and Lipschitz constant of the loss.
    empirical_complexity : bool
        Whether ``complexity`` was computed on the sample.

    Examples
    --------
    >>> round(rademacher_bound(1000, 0.05, 0.0, 1000**-0.5).value, 10)
    0.1019478288
    """
    n, delta, b = domain.size(n, "n"), domain.failure(delta), domain.loss_range(loss_bound)
    loss = domain.positive(empirical_loss, "empirical_loss", zero=True)
    complexity = domain.positive(complexity, "complexity", zero=True)
    slope = domain.positive(lipschitz, "lipschitz")
    if empirical_complexity:
        confidence = 3 * b * np.sqrt(np.log(2 / delta) / (2 * n))
    else:
        confidence = b * np.sqrt(-np.log(delta) / (2 * n))
    return assemble(
        "Rademacher bound",
        {"training loss": loss, "complexity": 2 * slope * complexity, "confidence": confidence},
        delta=delta,
        trivial=b,
        statement="With probability at least 1 - delta every member of the class has at most this"
        " risk.",
        reference="Bartlett and Mendelson (2002)",
        assumptions=(IID, LIPSCHITZ, "the class was fixed before the sample was seen"),
    )


@recorded(size="n")
def rademacher_absolute_bound(n: Any, delta: Any, empirical_loss: Any, complexity: Any) -> Bound:
    r"""Risk from the complexity with absolute values.

    .. math:: \hat R+2\mathcal R_n+\sqrt{8\ln(2/\delta)/n}

    For the clipped hinge loss and classes such as the Lipschitz functions of a metric space.

    Examples
    --------
    >>> round(rademacher_absolute_bound(1000, 0.05, 0.0, 1000**-0.5).value, 10)
    0.2350333165
    """
    n, delta = domain.size(n, "n"), domain.failure(delta)
    loss = domain.unit(empirical_loss, "empirical_loss")
    complexity = domain.positive(complexity, "complexity", zero=True)
    return assemble(
        "Rademacher bound, absolute form",
        {
            "training loss": loss,
            "complexity": 2 * complexity,
            "confidence": np.sqrt(8 * np.log(2 / delta) / n),
        },
        delta=delta,
        statement="With probability at least 1 - delta every member of the class has at most this"
        " risk.",
        reference="Bartlett and Mendelson (2002); von Luxburg and Bousquet (2004), Theorem 18",
        assumptions=(IID, "the class was fixed before the sample was seen"),
    )


@recorded(size="n")
def rademacher_excess_bound(
    n: Any,
    delta: Any,
    complexity: Any,
    loss_bound: Any = 1.0,
    lipschitz: Any = 1.0,
    form: str = "corrected",
) -> Bound:
    r"""Excess risk of the empirical minimiser over the best of its class.

    .. math:: 2Q\mathcal R_n+b\sqrt{\frac{2\ln(2/\delta)}n}

    The form :math:`4Q\mathcal R_n+2b\sqrt{2\ln(1/\delta)/n}` in print ("book") rests on a
    two-sided supremum with a one-sided complexity, which fails for a single function.

    Examples
    --------
    >>> round(rademacher_excess_bound(1000, 0.05, 1000**-0.5).value, 10)
    0.1491394349
    """
    n, delta, b = domain.size(n, "n"), domain.failure(delta), domain.loss_range(loss_bound)
    complexity = domain.positive(complexity, "complexity", zero=True)
    slope = domain.positive(lipschitz, "lipschitz")
    if domain.choice(form, "form", ("corrected", "book")) == "corrected":
        parts = (2 * slope * complexity, b * np.sqrt(2 * np.log(2 / delta) / n))
    else:
        parts = (4 * slope * complexity, 2 * b * np.sqrt(-2 * np.log(delta) / n))
    return assemble(
        "Rademacher excess bound",
        {"complexity": parts[0], "confidence": parts[1]},
        delta=delta,
        kind="excess",
        trivial=b,
        statement="With probability at least 1 - delta the minimiser of the training loss exceeds"
        " the smallest risk in the class by at most this.",
        reference="Bartlett and Mendelson (2002)",
        assumptions=(IID, LIPSCHITZ, "the class was fixed before the sample was seen"),
    )


@recorded(size="n")
def rademacher_margin_bound(
    n: Any, delta: Any, margins: Any, norm_bound: Any, kappa: Any, rho: Any = 1.0
) -> Bound:
    r"""Misclassification risk of functions in an RKHS ball, from the ramp loss.

    .. math:: \hat R_\rho+\frac{2\Lambda\kappa}{\rho\sqrt n}+\sqrt{\frac{\ln(1/\delta)}{2n}},
              \qquad\hat R_\rho=\frac1n\sum_i\min\{1,\max\{0,1-y_if(x_i)/\rho\}\}

    Parameters
    ----------
    n, delta : int, float
        Sample size, failure probability.
    margins : array
        Functional margins :math:`y_if(x_i)` of the training points.
    norm_bound, kappa, rho : float
        Norm bound :math:`\Lambda`, supremum of :math:`\sqrt{k(x,x)}` and margin scale, all fixed
        in advance (on a grid share delta out with `best_of`).

    Examples
    --------
    >>> round(rademacher_margin_bound(1000, 0.05, [2.0], 1.0, 1.0).value, 10)
    0.1019478288
    """
    n, delta = domain.size(n, "n"), domain.failure(delta)
    if np.size(margins) == 0:
        raise ValueError("margins must not be empty")
    values = np.atleast_1d(domain.numbers(margins, "margins"))
    norm, kappa = domain.positive(norm_bound, "norm_bound"), domain.positive(kappa, "kappa")
    rho = domain.positive(rho, "rho")
    ramp = np.clip(1 - values / rho[..., None], 0, 1).mean(-1)
    return assemble(
        "Rademacher margin bound",
        {
            "ramp loss": ramp,
            "complexity": 2 * norm * kappa / (rho * np.sqrt(n)),
            "confidence": np.sqrt(-np.log(delta) / (2 * n)),
        },
        delta=delta,
        statement="With probability at least 1 - delta every function of the ball has at most this"
        " misclassification risk.",
        reference="Bartlett and Mendelson (2002); Koltchinskii and Panchenko (2002)",
        assumptions=(IID, "norm_bound, kappa and rho were fixed before the sample was seen"),
    )
