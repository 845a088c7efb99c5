"""Evidence maximisation: hyperparameters where the data are most probable."""

import dataclasses
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayeskern.bayes.problem import LatentGaussian, Problem
from bayeskern.checks import positive, whole
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer.base import Conditional, Inference
from bayeskern.infer.climb import Peak, climb
from bayeskern.infer.laplace import Laplace
from bayeskern.infer.objective import LogEvidence, LogTheta, curvature, few_threads, positive_part

if TYPE_CHECKING:
    from xarray import DataTree

COARSE, MIDDLE = 120, 300  # points in the subsets that starting values are found with
SAME = 0.05  # optima nearer than this in every logarithm are one,
ROUGHLY = 0.3  # the same on a subset
PER_PARAMETER = 10  # points of a subset, at least
EQUAL = 1e-5  # and so are those of equal evidence: the ends of a flat ridge


@dataclass(frozen=True)
class EvidenceMax(Inference):
    r"""Hyperparameters that maximise the evidence of a conditional method, and its answer there.

    .. math:: \hat\theta = \arg\max_\theta \log p(y | \theta) \; (+ \log p(\theta))

    Quasi-Newton steps in :math:`\log\theta` with analytic gradients, from several starts: the
    medians of the priors and draws from them. With many points, the starts run on a subset and
    only the distinct optima found there are refined on all of them. All local optima are kept in
    the group ``optima`` of the result.

    Evidence alone can run off: where labels are separable, the amplitude grows without limit. A
    parameter that ends on a bound is warned about; ``prior=True`` weighs in the priors.

    Parameters
    ----------
    inner : Conditional, default=Laplace()
        How ``f`` is treated given the hyperparameters.
    prior : bool, default=False
        Maximise the posterior density of the hyperparameters instead of their likelihood.
    starts : int, default=4
        Number of starting points.
    tol : float, default=1e-5
        Stop when the gain still to be expected is below this, in nats.
    reach : float, default=1e5
        Bounds: a parameter stays within this factor of the median of its prior.

    Examples
    --------
    >>> import bayeskern as bk
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> kernel = bk.RBF(bk.Prior("InverseGamma", alpha=3, beta=2))
    >>> gp = bk.GaussianProcess(X, [0.0, 0.8, 0.9, 0.1, -0.8], kernel, bk.Gaussian(0.1))
    >>> tree = EvidenceMax(bk.Exact()).run(gp, random_seed=1)
    >>> round(float(tree.fit["theta_rbf_lengthscale"]), 2)
    1.68

    References
    ----------
    MacKay (1992); Herbrich (2002), example 3.11.
    """

    inner: Conditional = field(default_factory=Laplace)
    prior: bool = False
    starts: int = 4
    tol: float = 1e-5
    reach: float = 1e5
    solves: ClassVar[type] = LatentGaussian

    def __post_init__(self):
        whole(self.starts, "starts", least=1)
        positive(self.tol, "tol")
        if positive(self.reach, "reach") <= 1:
            raise ValueError(f"reach must be greater than 1, got {self.reach!r}")

    def check(self, problem: Problem) -> None:
        """Check what the inner method needs."""
        self.inner.serve(problem)

    def peaks(self, problem: LatentGaussian, rng: np.random.Generator) -> list[Peak]:
        """Return the distinct local optima, best first."""
        return find_peaks(
            problem,
            self.inner,
            rng,
            prior=self.prior,
            starts=self.starts,
            tol=self.tol,
            reach=self.reach,
        )

    def _run(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        from bayeskern.infer.gaussian import from_gaussian

        rng = np.random.default_rng(random_seed)
        with few_threads(problem):
            peaks = self.peaks(problem, rng)
        log_theta, best = LogTheta(problem), peaks[0]
        self._warn(log_theta, best)
        return from_gaussian(
            problem,
            self,
            best.state,
            log_theta.values(best.x),
            random_seed,
            evidence_kind=self.inner.evidence_kind,
            groups={"optima": _table(log_theta, peaks)},
        )

    def _warn(self, log_theta: LogTheta, best: Peak) -> None:
        ran_off = [log_theta.names[k] for k in np.flatnonzero(best.at_bound)]
        if ran_off:
            warnings.warn(
                f"the evidence grows towards the bound of {', '.join(ran_off)}; weigh in the"
                " priors with EvidenceMax(prior=True), or fix what the data do not determine",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif not best.converged:
            warnings.warn(
                "the evidence was not maximised to its tolerance; raise tol or starts",
                ConvergenceWarning,
                stacklevel=4,
            )


def find_peaks(
    problem: LatentGaussian,
    inner: Conditional,
    rng: np.random.Generator,
    *,
    prior: bool = False,
    jacobian: bool = False,
    starts: int = 4,
    tol: float = 1e-6,
    reach: float = 1e5,
) -> list[Peak]:
    """Return the distinct local maxima of the evidence, best first, each with its state."""
    log_theta = LogTheta(problem)
    centre = log_theta.vector({name: p.median() for name, p in log_theta.priors.items()})
    low, high = centre - np.log(reach), centre + np.log(reach)
    settings = {"prior": prior, "jacobian": jacobian}
    n = len(problem.y)

    points = [centre]
    if starts > 1 and any(size > 1 for size in log_theta.sizes.values()):
        # many inputs make distances grow, and a kernel of unit scales would see no neighbours
        shift = log_theta.vector_shift()
        points.append(centre + shift)
        if 2 < starts and log_theta.size <= 4:  # with few inputs short scales are as likely
            points.append(centre - (shift > 0))
    for _ in range(starts - len(points) if log_theta.size else 0):
        points.append(np.clip(log_theta.vector(problem.sample_theta(rng)), low + 1, high - 1))
    subset = getattr(problem, "subset", None)
    if n <= 2 * COARSE or subset is None or not log_theta.size:
        return _merge([_refine(problem, inner, x, low, high, tol, settings) for x in points])

    order = rng.permutation(n)
    size = min(n, max(COARSE, PER_PARAMETER * log_theta.size))
    small = subset(np.sort(order[:size])) if size < n else problem
    rough = 1e-4 if log_theta.size <= 4 else 1e-2  # many parameters have many flat directions
    found = _merge([_refine(small, inner, x, low, high, rough, settings) for x in points], ROUGHLY)
    if log_theta.size > 4:
        found = found[:1]
    if size == n:
        return found
    # what is far worse on the subset is further behind on all points
    found = [p for p in found if p.value > found[0].value - 3.0][:3]
    if n > 2 * MIDDLE > 2 * size:
        before, size = size, min(max(MIDDLE, n // 3), 700)
        middle = subset(np.sort(order[:size]))
        found = [
            _refine(middle, inner, p.x, low, high, 1e-4, settings, before / size * p.inverse)
            for p in found
        ]
        found = _merge(found, ROUGHLY)
        if log_theta.size <= 4:
            found = [_with_curvature(middle, inner, p, settings) for p in found]
    return _merge(
        [
            _refine(problem, inner, p.x, low, high, tol, settings, size / n * p.inverse)
            for p in found
        ]
    )


def _refine(problem, inner, x, low, high, tol, settings, inverse=None) -> Peak:
    f = LogEvidence(problem, inner, **settings)
    if not len(x):
        _, state = f.at(x)
        empty = np.zeros(0)
        return Peak(x, 0.0, empty, np.eye(0), True, empty.astype(bool), state)
    # a guess from a peak on the bound knows nothing across it
    inside = ((x > low + 1e-6) & (x < high - 1e-6)).all()
    peak = climb(f, x, low, high, inverse=inverse if inside else None, tol=tol)
    last = f.last_x is not None and np.array_equal(f.last_x, peak.x)
    return dataclasses.replace(peak, state=f.state if last else f.at(peak.x)[1])


def _with_curvature(problem, inner, peak: Peak, settings) -> Peak:
    """Replace what BFGS has learned by differences of the gradient."""
    if peak.at_bound.any():
        return peak
    f = LogEvidence(problem, inner, **settings)
    f.state = peak.state
    H = curvature(f, peak.x, 0.01)
    return dataclasses.replace(peak, inverse=np.linalg.inv(positive_part(H, 0.1)))


def _merge(peaks: list[Peak], near: float = SAME) -> list[Peak]:
    """Drop failures and repetitions, and put the best first."""
    peaks = sorted((p for p in peaks if p.state is not None), key=lambda p: -p.value)
    if not peaks:
        raise ValueError(
            "the evidence could not be computed at any starting point; check the scales of the"
            " inputs and the priors of the hyperparameters"
        )
    kept: list[Peak] = []
    for p in peaks:
        if not any(_same(p, q, near) for q in kept):
            kept.append(p)
    return kept


def _same(p: Peak, q: Peak, near: float) -> bool:
    return bool(np.abs(p.x - q.x).max(initial=0.0) < near) or abs(p.value - q.value) < EQUAL


def _table(log_theta: LogTheta, peaks: list[Peak]) -> dict[str, Any]:
    thetas = [log_theta.values(p.x) for p in peaks]
    table: dict[str, Any] = {
        "log_evidence": ("optimum", [p.state.log_evidence for p in peaks]),
        "gradient_norm": ("optimum", [float(np.linalg.norm(p.gradient)) for p in peaks]),
        "at_bound": ("optimum", [bool(p.at_bound.any()) for p in peaks]),
    }
    for name, prior in log_theta.priors.items():
        dims = ("optimum",) if prior.size is None else ("optimum", f"{name}_dim_0")
        table[name] = (dims, np.array([theta[name] for theta in thetas]))
    return table
