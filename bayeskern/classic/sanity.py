r"""Can a spectral clustering be trusted? What the theory asks for, measured on the result.

The eigenvectors of the unnormalised Laplacian converge with growing samples only for eigenvalues
below the range of the degrees, those of the normalised ones only away from one (von Luxburg 2004).
An eigenvalue that gets there tends to a Dirac function: a vector that singles out one point.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskern.classic.graph import positive_degrees
from bayeskern.classic.spectral import embedding_rows, spectrum_of

WARN_RATIO, FAIL_RATIO = 0.8, 0.9


@dataclass(frozen=True)
class SanityReport:
    """What `sanity` found; ``print`` it for words.

    Attributes
    ----------
    verdict : "trustworthy", "doubtful" or "not trustworthy"
    reasons : tuple of str
        What speaks against the result; empty for a trustworthy one.
    ratios : array
        Each eigenvalue used beyond the first, over the bottom of the essential spectrum (the
        least degree, or one for a normalised Laplacian). From 0.8 on doubtful, from 0.9 on bad.
    concentration : array
        The largest share of a single point in each eigenvector's squared norm; above one half the
        vector is nearly a Dirac function.
    leaving : array
        Probability that one step of the random walk leaves each cluster.
    gap : float
        Relative gap between the last eigenvalue used and the next.
    stability : float
        Mean adjusted Rand index between the clusters of subsamples and of the whole; NaN if not
        asked for.
    degree_range : tuple of float
    n_components : int
    """

    verdict: str
    reasons: tuple[str, ...]
    ratios: np.ndarray = field(repr=False)
    concentration: np.ndarray = field(repr=False)
    leaving: np.ndarray = field(repr=False)
    gap: float
    stability: float
    degree_range: tuple[float, float]
    n_components: int

    def __str__(self) -> str:
        lines = [self.verdict]
        lines += [f"  {reason}" for reason in self.reasons]
        low, high = self.degree_range
        lines.append(
            f"  eigenvalues reach {self.ratios.max(initial=0.0):.3f} of the essential spectrum"
            f" (degrees {low:.4g} to {high:.4g}), gap {self.gap:.3f},"
            f" walk leaves with probability {self.leaving.max():.3f}"
        )
        if np.isfinite(self.stability):
            lines.append(f"  subsamples agree to {self.stability:.3f} (adjusted Rand index)")
        return "\n".join(lines)


def leaving_probabilities(W: Any, labels: Any) -> np.ndarray:
    r"""Probability that the stationary random walk leaves each cluster in one step.

    .. math:: P(\text{leave } A) = \sum_{i \in A, j \notin A} W_{ij} / \sum_{i \in A} d_i

    For two clusters their sum is the normalised cut.

    >>> leaving_probabilities(np.array([[1.0, 0.5], [0.5, 1.0]]), [0, 1]).round(4)
    array([0.3333, 0.3333])
    """
    labels = np.asarray(labels)
    parts = np.unique(labels)
    member = (labels[:, None] == parts).astype(float)
    flow = member.T @ (W @ member)
    volume = flow.sum(axis=1)
    with np.errstate(invalid="ignore"):
        leave = (volume - flow.diagonal()) / volume
    return np.where(volume > 0, np.maximum(leave, 0.0), 0.0)


def diffusion_norms(W: Any, labels: Any) -> np.ndarray:
    """Spectral norms of the blocks of the walk matrix, one row and column per cluster.

    Clusters are well separated when the off-diagonal norms are small beside the diagonal ones.

    >>> W = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> diffusion_norms(W, [0, 1]).round(4)
    array([[0.6667, 0.3333],
           [0.3333, 0.6667]])
    """
    labels = np.asarray(labels)
    dense = W.toarray() if hasattr(W, "toarray") else np.asarray(W, dtype=float)
    H = dense / positive_degrees(dense)[:, None]
    parts = [np.flatnonzero(labels == part) for part in np.unique(labels)]
    return np.array([[np.linalg.norm(H[np.ix_(a, b)], 2) for b in parts] for a in parts])


def sanity(
    result: Any, *, n_subsamples: int = 2, fraction: float = 0.8, random_state: int | None = 0
) -> SanityReport:
    """Judge a spectral clustering by the conditions under which it converges.

    Parameters
    ----------
    result : SpectralResult
        From `spectral_clustering`, `spectral_bipartition` or `diffusion_clustering`.
    n_subsamples, fraction : int, float
        How many random parts of the points, of which size, are clustered again to measure
        stability; no part is drawn with ``n_subsamples=0``.

    Returns
    -------
    SanityReport

    Examples
    --------
    >>> from bayeskern.classic.cluster import spectral_clustering
    >>> W = np.kron(np.eye(2), np.ones((5, 5))) + 0.01
    >>> sanity(spectral_clustering(W, 2)).verdict
    'trustworthy'
    """
    spec, k = result.spectrum, result.n_clusters
    n = len(result.labels)
    if n < 2:
        raise ValueError("result must have at least two points, got one: no second eigenvalue")
    used = spec.eigenvalues[1:k]
    bottom = float(spec.degrees.min()) if spec.kind == "unnormalised" else 1.0
    ratios = used / bottom if bottom > 0 else np.full(len(used), np.inf)
    squares = spec.vectors[:, 1:k] ** 2
    if spec.kind == "rw":
        squares = squares * spec.degrees[:, None]
    concentration = squares.max(axis=0) / squares.sum(axis=0) if k > 1 else np.zeros(0)
    leaving = leaving_probabilities(result.W, result.labels)
    gap = 1.0
    if len(spec.eigenvalues) > k:
        last, following = spec.eigenvalues[k - 1 : k + 1]
        gap = float((following - last) / following) if following > 0 else 0.0
    stability = float("nan")
    if n_subsamples and k > 1:
        stability = _stability(result, n_subsamples, fraction, random_state)

    bad, weak = [], []
    where = "the least degree" if spec.kind == "unnormalised" else "one"
    if len(ratios) and ratios.max() >= FAIL_RATIO:
        bad.append(f"an eigenvalue is {ratios.max():.3f} of {where}, within the essential spectrum")
    elif len(ratios) and ratios.max() > WARN_RATIO:
        weak.append(f"an eigenvalue is {ratios.max():.3f} of {where}, near the essential spectrum")
    if len(concentration) and concentration.max() > 0.5 and n > 4:
        j = int(concentration.argmax())
        bad.append(
            f"eigenvector {j + 2} is nearly a Dirac function: point"
            f" {int(squares[:, j].argmax())} holds {concentration[j]:.0%} of it"
        )
    if leaving.max() > 0.5:
        bad.append(f"the walk leaves cluster {int(leaving.argmax())} more often than it stays")
    elif leaving.max() > 0.25:
        weak.append(
            f"the walk leaves cluster {int(leaving.argmax())} with probability {leaving.max():.2f}"
        )
    if gap < 1e-6:
        bad.append("no gap follows the eigenvalues used, so their vectors are arbitrary")
    elif gap < 0.05:
        weak.append(f"only a gap of {gap:.1%} follows the eigenvalues used")
    if stability < 0.6:
        bad.append(f"subsamples agree with the whole only to {stability:.2f}")
    elif stability < 0.9:
        weak.append(f"subsamples agree with the whole to {stability:.2f}")
    verdict = "not trustworthy" if bad else "doubtful" if weak else "trustworthy"
    return SanityReport(
        verdict,
        tuple(bad + weak),
        ratios,
        concentration,
        leaving,
        gap,
        stability,
        (float(spec.degrees.min()), float(spec.degrees.max())),
        spec.n_components,
    )


def _stability(result: Any, n_subsamples: int, fraction: float, random_state: int | None) -> float:
    """Mean adjusted Rand index of subsampled clusterings, started from the whole one, with it."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(random_state)
    n, k = len(result.labels), result.n_clusters
    size = max(round(fraction * n), min(n, 2 * k))
    scores = []
    for _ in range(n_subsamples):
        chosen = np.sort(rng.choice(n, size, replace=False))
        labels = result.labels[chosen]
        part = result.W[chosen][:, chosen]
        if len(np.unique(labels)) < k or (part.sum(axis=1) <= 0).any():
            scores.append(0.0)  # a cluster or a vertex is left with nothing
            continue
        spec = spectrum_of(part, k, result.kind)
        if spec.n_components > k:
            scores.append(0.0)
            continue
        rows = embedding_rows(spec.vectors, result.kind)
        start = np.array([rows[labels == c].mean(axis=0) for c in range(k)])
        again = KMeans(k, init=start, n_init=1).fit(rows).labels_
        scores.append(adjusted_rand_score(labels, again))
    return float(np.mean(scores))
