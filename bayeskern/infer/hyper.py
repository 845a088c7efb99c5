"""Hyperparameter posteriors on the evidence of a conditional method."""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import gammaln, logsumexp

from bayeskern.bayes.problem import LatentGaussian, Problem
from bayeskern.checks import whole, within
from bayeskern.infer.base import Conditional, GaussianState, Inference
from bayeskern.infer.ep import EP
from bayeskern.infer.evidence import find_peaks
from bayeskern.infer.laplace import Laplace
from bayeskern.infer.objective import LogEvidence, LogTheta, curvature, few_threads, positive_part
from bayeskern.infer.result import as_datatree
from bayeskern.infer.weights import Weights, resample, smooth

if TYPE_CHECKING:
    from xarray import DataTree

GOOD_K = 0.7
FREEDOM = 5.0  # of Student's t at each mode
FEW = 3  # free parameters that importance sampling is for
PROPOSALS = 64  # of the latent vector for each draw of the hyperparameters, if exact


@dataclass(frozen=True, eq=False)
class _Bell:
    """A mode of the posterior of log theta, and a factor of its covariance there."""

    x: np.ndarray
    root: np.ndarray
    value: float
    state: GaussianState

    @property
    def log_mass(self) -> float:
        """Log integral of the bell."""
        p = len(self.x)
        return self.value + np.log(np.diagonal(self.root)).sum() + 0.5 * p * np.log(2 * np.pi)


def _bells(problem: LatentGaussian, inner: Conditional, rng, starts: int) -> list[_Bell]:
    """Modes of the posterior of log theta, best first, with their Gaussian shapes."""
    settings = {"prior": True, "jacobian": True}
    bells: list[_Bell] = []
    for peak in find_peaks(problem, inner, rng, starts=starts, tol=1e-3, **settings):  # type: ignore[arg-type]
        if bells and peak.value < bells[0].value - 12.0:
            break
        f = LogEvidence(problem, inner, prior=True, jacobian=True)
        f.state = peak.state
        H = positive_part(curvature(f, peak.x, 0.02), 0.05)
        root = np.linalg.cholesky(np.linalg.inv(H))
        bells.append(_Bell(peak.x, root, peak.value, peak.state))
    return bells


def _given_theta(
    problem: LatentGaussian, inner: Conditional, xs: np.ndarray, rng, warm: GaussianState | None
) -> np.ndarray:
    """Draw ``f`` once for each row of log hyperparameters."""
    f = LogEvidence(problem, inner)
    f.state = warm
    out = np.empty((len(xs), len(problem.y)))
    drawn = np.zeros(len(xs), dtype=bool)
    for i in _path(xs):
        if drawn[i]:
            continue
        again = np.flatnonzero((xs == xs[i]).all(axis=1))  # resampling repeats rows
        _, state = f.at(xs[i])
        if state is None:
            raise ValueError(
                f"the posterior of f could not be computed at theta = {f.log_theta.values(xs[i])}"
            )
        out[again] = state.sample_quickly(rng, len(again))
        drawn[again] = True
    return out


def _path(xs: np.ndarray) -> np.ndarray:
    """Order rows along their longest axis, so that each is near the one before."""
    return np.argsort(xs[:, np.argmax(xs.var(axis=0))]) if xs.shape[1] else np.arange(len(xs))


def _exact_given_theta(
    problem: LatentGaussian, xs: np.ndarray, rng, warm: GaussianState | None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Unbiased estimates of ``p(y | theta)``, and one draw of ``f`` each, from EP's Gaussian.

    EP's posterior is the prior times Gaussian sites :math:`e^{-\tau f^2/2 + \nu f}` over a
    constant, so the prior cancels in the importance ratios.
    """
    ep = LogEvidence(problem, EP(tol=1e-4))
    ep.state = warm if warm is not None and "nu" in warm.extra else None
    fs, log_z = np.empty((len(xs), len(problem.y))), np.empty(len(xs))
    for i in _path(xs):
        theta, state = ep.at(xs[i])
        if state is None:
            raise ValueError(f"EP could not be computed at theta = {theta}")
        f = state.sample_quickly(rng, PROPOSALS)
        log_ratio = problem.likelihood_at(theta).logp(problem.y, f)
        log_ratio = (log_ratio + 0.5 * state.W * f**2 - state.extra["nu"] * f).sum(axis=1)
        normaliser = 0.5 * state.extra["nu"] @ state.mean - 0.5 * state.posterior.logdet
        log_z[i] = normaliser + logsumexp(log_ratio) - np.log(PROPOSALS)
        chance = np.exp(log_ratio - logsumexp(log_ratio))
        fs[i] = f[rng.choice(PROPOSALS, p=chance / chance.sum())]
    return fs, log_z


def _posterior(log_theta: LogTheta, xs: np.ndarray, f: np.ndarray, chains: int) -> dict[str, Any]:
    """Draws by variable name, ``(chain, draw, ...)``."""
    thetas = [log_theta.values(x) for x in xs]
    posterior = {name: np.array([theta[name] for theta in thetas]) for name in log_theta.priors}
    posterior["f"] = f
    return {k: v.reshape(chains, -1, *v.shape[1:]) for k, v in posterior.items()}


@dataclass(frozen=True)
class HyperNUTS(Inference):
    r"""NUTS over the hyperparameters alone, with ``f`` integrated out by a conditional method.

    The log density is :math:`\log \hat p(y | \theta) + \log p(\theta)` in the coordinates
    :math:`\log\theta`, started at its mode and whitened by the Hessian there; ``f`` is then drawn
    given each :math:`\theta`. Nothing is compiled.

    Parameters
    ----------
    inner : Conditional, default=Laplace()
        How ``f`` is treated given the hyperparameters; its error is inherited unless ``exact``.
    draws, tune, chains : int
        Kept and discarded iterations of each chain, and how many chains.
    target_accept : float, default=0.8
        Raise it towards 1 when divergences are reported.
    exact : bool, default=False
        Correct to the exact posterior by importance sampling, with EP as the proposal for ``f``.
        The draws returned are then resampled; ``attrs["pareto_k"]`` below 0.7 says that the
        weights can be trusted.

    Examples
    --------
    >>> import bayeskern as bk
    >>> bk.HyperNUTS(bk.EP(tol=1e-3), draws=1000).chains
    4
    """

    inner: Conditional = field(default_factory=Laplace)
    draws: int = 500
    tune: int = 200
    chains: int = 4
    target_accept: float = 0.8
    exact: bool = False
    solves: ClassVar[type] = LatentGaussian

    def __post_init__(self):
        for name in ("draws", "tune", "chains"):
            whole(getattr(self, name), name, least=1)
        within(self.target_accept, "target_accept", 0, 1, closed="neither")

    def check(self, problem: Problem) -> None:
        """Check what the inner method needs, and that there is something to sample."""
        _check(self, problem)

    def _run(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        with few_threads(problem):
            return self._sample(problem, random_seed)

    def _sample(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        rng = np.random.default_rng(random_seed)
        bell = _bells(problem, self.inner, rng, starts=2)[0]
        xs, stats = self.sample_theta(problem, bell, rng)
        log_theta = LogTheta(problem)
        if not self.exact:
            f = _given_theta(problem, self.inner, xs, rng, bell.state)
            posterior = _posterior(log_theta, xs, f, self.chains)
            return as_datatree(
                problem, self, posterior, random_seed=random_seed, sample_stats=stats
            )
        f, log_z = _exact_given_theta(problem, xs, rng, bell.state)
        approximate = LogEvidence(problem, self.inner)
        approximate.state = bell.state
        values = np.empty(len(xs))
        for i in _path(xs):
            values[i] = approximate.value(xs[i])
        found = smooth(log_z - values)
        return _resampled(self, problem, random_seed, xs, f, found, len(xs), rng)

    def sample_theta(self, problem: LatentGaussian, bell: _Bell, rng) -> tuple[np.ndarray, dict]:
        """Return log hyperparameters, ``(chains * draws, p)``, and the chains' statistics."""
        import nutpie
        from nutpie.compiled_pyfunc import from_pyfunc

        p = len(bell.x)

        def make_logp():
            f = LogEvidence(problem, self.inner, prior=True, jacobian=True)  # one for each chain
            f.state = bell.state

            def logp(z):
                value, slope = f(bell.x + bell.root @ z)
                return value, bell.root.T @ slope

            return logp

        def make_expand(*_):
            return lambda z: {"x": bell.x + bell.root @ z}

        compiled = from_pyfunc(
            p,
            make_logp,
            make_expand,
            [np.dtype(float)],
            [(p,)],
            ["x"],
            make_initial_point_fn=lambda seed: 0.5 * np.random.default_rng(seed).normal(size=p),
        )
        raw = nutpie.sample(
            compiled,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            cores=1,
            seed=int(rng.integers(2**31)),
            progress_bar=False,
            save_warmup=False,
            target_accept=self.target_accept,
        )
        stats = {
            name: raw.sample_stats[name].values
            for name in ("diverging", "logp", "n_steps", "step_size", "energy")
            if name in raw.sample_stats
        }
        return raw.posterior["x"].values.reshape(-1, p), stats


@dataclass(frozen=True)
class HyperImportance(Inference):
    r"""Importance sampling of the hyperparameters from Student's t at the mode or modes.

    With two or three hyperparameters it gives nearly independent draws from evidence values alone.
    Its diagnostic, the shape :math:`\hat k` of the tail of the weights, is in
    ``attrs["pareto_k"]``; above 0.7, or with more than three hyperparameters, `HyperNUTS` takes
    over, with a warning. ``attrs["log_evidence"]`` is :math:`\log p(y)`, the hyperparameters
    integrated out, and ``attrs["log_evidence_se"]`` its Monte Carlo error.

    Parameters
    ----------
    inner : Conditional, default=Laplace()
        How ``f`` is treated given the hyperparameters; its error is inherited unless ``exact``.
    draws : int, default=1000
        Proposals, and draws returned after resampling.
    exact : bool, default=False
        Correct to the exact posterior, with EP as the proposal for ``f``.

    Examples
    --------
    >>> import bayeskern as bk
    >>> bk.HyperImportance(bk.EP()).draws
    1000
    """

    inner: Conditional = field(default_factory=Laplace)
    draws: int = 1000
    exact: bool = False
    solves: ClassVar[type] = LatentGaussian

    def __post_init__(self):
        whole(self.draws, "draws", least=50)

    def check(self, problem: Problem) -> None:
        """Check what the inner method needs, and that there is something to sample."""
        _check(self, problem)

    def _run(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        with few_threads(problem):
            return self._sample(problem, random_seed)

    def _sample(self, problem: LatentGaussian, random_seed: Any) -> "DataTree":
        rng = np.random.default_rng(random_seed)
        log_theta = LogTheta(problem)
        if log_theta.size > FEW:
            return self._instead(
                problem, random_seed, f"{log_theta.size} free hyperparameters are more than {FEW}"
            )
        bells = _bells(problem, self.inner, rng, starts=4)
        xs, values, log_q = self.propose(problem, bells, rng)
        if self.exact:
            f, log_z = _exact_given_theta(problem, xs, rng, bells[0].state)
            values = log_z + np.array(
                [x.sum() + problem.log_prior(log_theta.values(x)) for x in xs]
            )
        found = smooth(values - log_q)
        if found.pareto_k > GOOD_K:
            why = f"the weights have a heavy tail, Pareto k = {found.pareto_k:.2f} > {GOOD_K}"
            return self._instead(problem, random_seed, why)
        if not self.exact:
            keep = resample(found.weights, self.draws, rng)
            xs = xs[keep]
            f = _given_theta(problem, self.inner, xs, rng, bells[0].state)
            return _tree(self, problem, random_seed, xs, f, found)
        return _resampled(self, problem, random_seed, xs, f, found, self.draws, rng)

    def propose(
        self, problem: LatentGaussian, bells: list[_Bell], rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return proposals of log theta, their log posterior and their log proposal density."""
        p = len(bells[0].x)
        mass = np.array([b.log_mass for b in bells])
        share = 0.9 * np.exp(mass - logsumexp(mass)) + 0.1 / len(bells)
        counts = np.bincount(resample(share, self.draws, rng), minlength=len(bells))
        parts = [
            b.x + _student_draws(int(n), p, rng) @ b.root.T
            for b, n in zip(bells, counts, strict=True)
        ]
        xs = np.concatenate(parts)
        each = [np.log(s) + _student_logpdf(xs, b) for s, b in zip(share, bells, strict=True)]
        f = LogEvidence(problem, self.inner, prior=True, jacobian=True)
        f.state = bells[0].state
        values = np.empty(len(xs))
        for i in _path(xs):
            values[i] = f.value(xs[i])
        return xs, values, logsumexp(each, axis=0)

    def _instead(self, problem: LatentGaussian, random_seed: Any, why: str) -> "DataTree":
        warnings.warn(f"{why}: HyperNUTS takes over from HyperImportance", stacklevel=6)
        chains = 4
        draws = -(-self.draws // chains)
        method = HyperNUTS(self.inner, draws=draws, chains=chains, exact=self.exact)
        return method._run(problem, random_seed)


def _student_draws(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, p)) / np.sqrt(rng.chisquare(FREEDOM, (n, 1)) / FREEDOM)


def _student_logpdf(xs: np.ndarray, bell: _Bell) -> np.ndarray:
    p = len(bell.x)
    z = np.linalg.solve(bell.root, (xs - bell.x).T)
    constant = gammaln((FREEDOM + p) / 2) - gammaln(FREEDOM / 2) - 0.5 * p * np.log(FREEDOM * np.pi)
    constant -= np.log(np.diagonal(bell.root)).sum()
    return constant - (FREEDOM + p) / 2 * np.log1p((z**2).sum(axis=0) / FREEDOM)


def _resampled(method, problem, random_seed, xs, f, found: Weights, size: int, rng) -> "DataTree":
    keep = resample(found.weights, size, rng)
    return _tree(method, problem, random_seed, xs[keep], f[keep], found)


def _tree(method, problem, random_seed, xs, f, found: Weights) -> "DataTree":
    """Gather resampled draws; only `HyperImportance` knows the evidence."""
    importance = isinstance(method, HyperImportance)
    kind = "importance over theta, " + ("exact" if method.exact else method.inner.evidence_kind)
    tree = as_datatree(
        problem,
        method,
        _posterior(LogTheta(problem), xs, f, 1),
        random_seed=random_seed,
        independent=True,
        log_evidence=found.log_mean if importance else None,
        evidence_kind=kind,
        evidence_se=found.log_mean_se if importance else None,
        converged=found.pareto_k <= GOOD_K,
    )
    tree.attrs["pareto_k"] = found.pareto_k
    tree.attrs["importance_ess"] = found.ess
    if found.pareto_k > GOOD_K:
        warnings.warn(
            f"the weights have a heavy tail, Pareto k = {found.pareto_k:.2f}: the correction"
            " cannot be trusted; use NUTS() or EllipticalSlice()",
            stacklevel=7,
        )
    return tree


def _check(method: Any, problem: Problem) -> None:
    method.inner.serve(problem)
    if not problem.free():
        raise ValueError(
            f"{type(method).__name__} samples hyperparameters, but none is free;"
            f" use {method.inner!r}, or give one a Prior"
        )
