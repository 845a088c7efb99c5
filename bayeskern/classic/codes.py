r"""Compression coefficients: how many bits per label a machine saves (von Luxburg 2004).

The labels are sent by coding a hyperplane through the origin of feature space, to a precision that
the margin allows, and correcting its mistakes. All logarithms are to base 2. The coefficients may
exceed one: then sending the labels themselves is shorter.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from bayeskern import checks
from bayeskern.classic.margin import SVMSolution

REGIONS = ("slab", "cone", "exact")


def integer_code(u: int) -> str:
    """Return the self-delimiting code of a positive integer: each bit twice, then 01.

    >>> integer_code(27)
    '111100111101'
    """
    return "".join(bit * 2 for bit in f"{checks.whole(u, 'u', least=1):b}") + "01"


def log_star(log_u: float) -> float:
    r"""Return :math:`\log u + \log\log u + \dots`, positive terms only, from :math:`\log_2 u`.

    It takes the logarithm, because ``u`` itself would overflow.

    >>> log_star(16.0)
    23.0
    """
    total = 0.0
    while log_u > 0:
        total += log_u
        log_u = math.log2(log_u)
    return total


def correction_bits(n: int, r: int, l: int, *, exact: bool = False) -> float:
    r"""Return the bits that name r uncertain points with their labels, and l wrong ones.

    Exactly :math:`\log n + \log\binom nr + r + \log(n-r) + \log\binom{n-r}l`; otherwise the upper
    bound :math:`(r + l + 2)\log n + r` that the coefficients use.

    >>> round(correction_bits(100, 5, 3), 3), round(correction_bits(100, 5, 3, exact=True), 3)
    (71.439, 61.458)
    """
    if not exact:
        return (r + l + 2) * math.log2(n) + r
    rest = math.log2(n - r) if r < n else 0.0
    return math.log2(n) + _log_binomial(n, r) + r + rest + _log_binomial(n - r, l)


@dataclass(frozen=True)
class CompressionCoefficients:
    """Bits per label of five codes.

    Parameters
    ----------
    C1, C2, C3, C4, C5 : float
        Sphere; ellipse of the data; ellipse of the support vectors; that after kernel PCA; support
        vectors only.
    log_u : tuple of float
        Logarithm of the size of the codebook, for the first four.
    n_support, n_inside, n_wrong : int
        Support vectors; points the margin does not protect; protected points that are wrong.
    n_components : int
        Dimension kept by the fourth code.
    """

    C1: float
    C2: float
    C3: float
    C4: float
    C5: float
    log_u: tuple[float, float, float, float]
    n_support: int
    n_inside: int
    n_wrong: int
    n_components: int


def compression_coefficients(
    K: np.ndarray,
    y: np.ndarray,
    solution: SVMSolution,
    *,
    region: str = "slab",
    rigorous: bool = False,
    best: bool = False,
) -> CompressionCoefficients:
    r"""Return the five compression coefficients of a machine without bias.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix, centred in feature space if the theory is to apply.
    y : ndarray of shape (n,)
        Labels -1 and +1, both present.
    solution : SVMSolution
        The machine, solved on ``K`` without bias.
    region : {"slab", "cone", "exact"}
        Which points the code leaves uncertain: bounded ones with :math:`|f| < 1`; those with
        :math:`|f(x)| < \|x\| / R`; or those with :math:`|f(x)| < \|z\|` in whitened coordinates.
    rigorous : bool, default=False
        Count cells of the ellipse with the factor :math:`\sqrt d` that its proof needs in more than
        four dimensions, in place of the printed 2.
    best : bool, default=False
        Let the fourth code take its shortest projection, not the smallest valid one.

    Returns
    -------
    CompressionCoefficients

    Notes
    -----
    The third and fourth code do not protect points that are not support vectors, so they are
    heuristics whatever the region.
    """
    K = checks.as_gram(K)
    y = checks.as_labels(y, len(K))
    checks.one_of(region, "region", REGIONS)
    n = len(K)
    if n < 2 or abs(y.sum()) == n:
        raise ValueError(f"y must hold both labels, got {y[0]:g} only")
    if solution.ordinary or solution.const:
        raise ValueError(
            "the machine must have no bias, since the code is of a hyperplane through 0"
        )
    spectrum = spectrum_of(K)
    beta = solution.coefficients
    f = K @ beta
    norm = math.sqrt(max(float(beta @ f), 0.0))
    if norm == 0:
        raise ValueError("the machine must not be zero, got a weight vector of length 0")
    radius = math.sqrt(float(np.diagonal(K).max()))
    inside = _inside(K, f, solution, region, spectrum, radius)
    wrong = ~inside & (y * f < 0)
    support = solution.support
    s, r, l = len(support), int(inside.sum()), int(wrong.sum())
    log_n = math.log2(n)
    fixes = correction_bits(n, r, l)

    def length(log_u: float, extra: float) -> float:
        return (log_star(log_u) + log_u + fixes + extra * log_n) / n

    sphere = 1 + (n - 1) * math.log2(max(1, _ceil(math.pi * radius * norm)))
    data = _ellipse(spectrum.values, norm, rigorous)
    gamma, V = np.linalg.eigh(K[np.ix_(support, support)])
    gamma, V = np.maximum(gamma[::-1], 0.0), V[:, ::-1]
    vectors = _ellipse(gamma, norm, rigorous)
    direction = np.sqrt(gamma) * (V.T @ beta[support]) / norm
    tail = np.append(np.cumsum(direction[::-1] ** 2)[::-1][1:], 0.0)
    c = radius * norm * np.sqrt(tail)
    choices = []
    for d in range(1, s + 1):
        if c[d - 1] < 1:
            u = _ellipse(gamma[:d], norm / math.sqrt(1 - c[d - 1] ** 2), rigorous)
            choices.append((length(u, s + 2), d, u))
            if not best:
                break
    C4, kept, projected = min(choices)
    idle = np.ones(n, bool)
    idle[support] = False
    missed = int((idle & (y * f < 0)).sum())
    return CompressionCoefficients(
        length(sphere, 0), length(data, 0), length(vectors, s + 1), C4,
        ((s + missed + 2) * log_n + s) / n, (sphere, data, vectors, projected), s, r, l, kept,
    )  # fmt: skip


class Spectrum(NamedTuple):
    """Eigenvalues in decreasing order, not below zero, and eigenvectors in columns."""

    values: np.ndarray
    vectors: np.ndarray


def spectrum_of(K: np.ndarray) -> Spectrum:
    """Decompose a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(K)
    if values[0] < -1e-8 * max(values[-1], np.finfo(float).tiny):
        checks.check_psd(K)
    return Spectrum(np.maximum(values[::-1], 0.0), vectors[:, ::-1])


def _inside(
    K: np.ndarray,
    f: np.ndarray,
    machine: SVMSolution,
    region: str,
    spectrum: Spectrum,
    radius: float,
) -> np.ndarray:
    """Say which points the code leaves uncertain; never a free support vector on the margin."""
    if region == "slab":
        return machine.bounded & (np.abs(f) < 1)
    if region == "cone":
        level = np.sqrt(np.diagonal(K)) / radius
    else:
        kept = spectrum.values > 1e-10 * spectrum.values[0]
        level = np.sqrt((spectrum.vectors[:, kept] ** 2).sum(axis=1))
    free = (machine.coefficients != 0) & ~machine.bounded
    return (np.abs(f) < level) & ~(free & (level > 1 - 1e-6))


def _ellipse(values: np.ndarray, norm: float, rigorous: bool) -> float:
    factor = math.sqrt(len(values)) if rigorous else 2.0
    cells = np.ceil(factor * np.sqrt(values) * norm - 1e-12)
    return float(np.log2(np.maximum(cells, 1.0)).sum())


def _ceil(x: float) -> int:
    return math.ceil(x - 1e-12)


def _log_binomial(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)) / math.log(2)
