"""Evidence maximisation for relevance vector machines, one basis function at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern.bayes.rvm import RelevanceVector
from bayeskern.checks import positive, whole
from bayeskern.infer import _sparse_moves as moves
from bayeskern.infer._candidates import Candidates
from bayeskern.infer._weights import Mode, full_cov, laplace_mode
from bayeskern.infer.sparse_bayes import SparseInference, start_noise, unbounded
from bayeskern.infer.sparse_fit import (
    SparseFit,
    Values,
    as_sparse_fit,
    noise_name,
    noise_variance,
)
from bayeskern.linalg import cho_inverse, cholesky


@dataclass(frozen=True)
class SparseSequential(SparseInference):
    r"""Evidence maximisation by adding, re-estimating and deleting one basis function at a time.

    Given all others, the evidence of one variance has a single maximum in closed form,

    .. math:: \theta_i = (q_i^2 - s_i) / s_i^2 \text{ if } q_i^2 > s_i \text{ and 0 otherwise},

    with :math:`s_i = x_i' C_{-i}^{-1} x_i` and :math:`q_i = x_i' C_{-i}^{-1} t`. Each step takes
    the move that gains most, with rank-one updates of the whole state; a free noise level is
    updated in between. Labels are treated by Laplace's approximation around the current mode. The
    evidence never falls from one entry of the trace to the next. It starts from nothing and so may
    end in another maximum than `SparseBayes`, which starts from everything.

    Only the columns of active basis functions are needed at a time. All candidates are kept in
    memory where they fit in ``max_bytes``, and computed from the kernel block by block otherwise.

    Parameters
    ----------
    candidates : int, default=1000
        Where the basis has more functions, a random choice of this many competes and the others
        stay out, so that the cost is linear in the number of points.
    max_iter : int, default=1000
        Most additions and rounds of re-estimation.
    tol : float, default=1e-4
        A move that gains fewer nats is not made.
    max_bytes : int, default=400_000_000
        Memory for the candidates' columns.
    draws : int, default=500
        Independent draws of the weights in the result.

    References
    ----------
    Tipping and Faul (2003), Fast marginal likelihood maximisation for sparse Bayesian models.

    Examples
    --------
    >>> import numpy as np
    >>> import bayeskern as bk
    >>> noise = bk.Gaussian(1.0)
    >>> one = bk.RelevanceVector(np.eye(2), [2.0, 0.5], None, noise, bias=False)
    >>> bk.SparseSequential().fit(one).theta.round(4)
    array([3.])
    """

    candidates: int = 1000
    max_iter: int = 1000
    tol: float = 1e-4
    max_bytes: int = 400_000_000
    draws: int = 500

    def __post_init__(self):
        for name in ("candidates", "max_iter", "max_bytes", "draws"):
            whole(getattr(self, name), name, least=1)
        positive(self.tol, "tol")

    def _fit(self, problem: RelevanceVector, hyper: Values, random_seed: Any) -> SparseFit:
        hyper = dict(hyper)
        n_basis = problem.n_basis
        # a bias column does not count, so that 1000 points make their whole basis compete
        if n_basis - problem.bias > self.candidates:
            rng = np.random.default_rng(random_seed)
            body = rng.choice(n_basis - problem.bias, self.candidates, replace=False)
            index = np.sort(body) + problem.bias
            index = np.append(0, index) if problem.bias else index
        else:
            index = np.arange(n_basis)
        pool = Candidates(problem, hyper, index, self.max_bytes)
        steps = _classify if problem.likelihood.classifies else _regress
        active, theta, trace, converged = steps(problem, hyper, pool, self)
        facts = {"trace": np.array(trace), "converged": converged, "screened": len(pool)}
        return as_sparse_fit(problem, index[active], theta, hyper, **facts)


class State:
    """Arrays of the sequential algorithm, with room to grow; see ``_sparse_moves``."""

    def __init__(self, n: int, p: int, room: int = 32):
        self.M = 0
        self.closed = np.zeros(p, dtype=np.bool_)
        self.active = np.zeros(room, dtype=np.int64)
        self.A, self.mu = np.zeros(room), np.zeros(room)
        self.Sigma = np.zeros((room, room))
        self.Phi = np.zeros((n, room))
        self.H, self.P = np.zeros((p, room)), np.zeros((p, room))
        self.S, self.Q, self.plain = np.zeros(p), np.zeros(p), np.zeros(p)

    def make_room(self) -> None:
        """Double the room if it is used up."""
        room = len(self.A)
        if room > self.M:
            return
        for name in ("active", "A", "mu"):
            setattr(self, name, np.concatenate([getattr(self, name)] * 2))
        Sigma, self.Sigma = self.Sigma, np.zeros((2 * room, 2 * room))
        self.Sigma[:room, :room] = Sigma
        for name in ("Phi", "H", "P"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros_like(old)], axis=1))

    def append(self, k: int, column: np.ndarray, h: np.ndarray) -> None:
        """Add candidate ``k`` at its best variance; ``h`` are its products with all columns."""
        precision = self.enter(k, column)
        state = (self.H, self.S, self.Q, self.A, self.Sigma, self.mu)
        self.M = moves.add(k, precision, h, *state, self.M - 1)

    def enter(self, k: int, column: np.ndarray) -> float:
        """Make candidate ``k`` active with a weight of 0; return its best precision."""
        self.make_room()
        M, S, Q = self.M, self.S[k], self.Q[k]
        self.active[M], self.closed[k] = k, True
        self.Phi[:, M], self.mu[M] = column, 0.0
        self.A[M] = S * S / (Q * Q - S)
        self.M += 1
        return self.A[M]

    def settle(self, max_moves: int, tol: float) -> int:
        """Re-estimate and delete while that gains ``tol``; return the number of moves."""
        before = self.active[: self.M].copy()
        arrays = (self.A, self.Sigma, self.mu, self.active, self.closed)
        self.M, count, _ = moves.settle(self.H, self.S, self.Q, *arrays, self.M, max_moves, tol)
        if self.M < len(before):
            self.follow(before)
        return count

    def follow(self, before: np.ndarray) -> None:
        """Move columns to the places that deletions gave to their weights."""
        place = {k: j for j, k in enumerate(before)}
        source = [place[k] for k in self.active[: self.M]]
        self.Phi[:, : self.M] = self.Phi[:, source]
        self.P[:, : self.M] = self.P[:, source]

    def theta(self) -> np.ndarray:
        """Prior variances of the active weights."""
        return 1.0 / self.A[: self.M]


def _regress(
    problem: RelevanceVector, hyper: dict[str, Any], pool: Candidates, how: SparseSequential
) -> tuple[np.ndarray, np.ndarray, list[float], bool]:
    t, n = problem.y, len(problem.y)
    noise, floor = noise_name(problem), start_noise(problem, hyper)
    state = State(n, len(pool))
    squares, products = pool.sums(np.ones(n), t)
    sigma2 = noise_variance(problem, hyper)
    trace, turn = [rebuild(state, t, sigma2, squares, products)], 0
    for _ in range(how.max_iter):
        while True:
            k, gain = moves.best_addition(state.S, state.Q, state.plain, state.closed, how.tol)
            if not state.settle(200, gain):
                break
        if k >= 0:
            column = pool.column(k)
            h = pool.cross(column)
            state.append(k, column, h / sigma2)
            state.P[:, state.M - 1] = h
        moved, turn = 0.0, turn + 1
        if 0 <= k and turn > 8 and turn % 4:
            continue  # the noise hardly changes from one late move to the next
        if noise:
            residual = t - state.Phi[:, : state.M] @ state.mu[: state.M]
            used = state.M - state.A[: state.M] @ state.Sigma.diagonal()[: state.M]
            new = float(residual @ residual) / max(float(n - used), 1e-12)
            moved = abs(new / sigma2 - 1)
            sigma2 = max(new, floor)
        trace.append(rebuild(state, t, sigma2, squares, products))
        if noise and sigma2 <= floor and trace[-1] > trace[-2]:
            raise unbounded(sigma2)
        if k < 0 and moved < 1e-6:
            break
    if noise:
        hyper[noise] = float(np.sqrt(sigma2))
    return state.active[: state.M].copy(), state.theta(), trace, k < 0 and moved < 1e-6


def rebuild(
    state: State, t: np.ndarray, sigma2: float, squares: np.ndarray, products: np.ndarray
) -> float:
    """Compute the state afresh at a noise variance, which ends the drift of rank-one updates.

    ``squares`` and ``products`` are the candidates' squared norms and products with the targets.
    Returns the log evidence.
    """
    M, n = state.M, len(t)
    active = state.active[:M]
    state.plain = squares / sigma2
    base = n * np.log(2 * np.pi * sigma2)
    if not M:
        state.S, state.Q = state.plain.copy(), products / sigma2
        return float(-0.5 * (base + t @ t / sigma2))
    H = state.P[:, :M] / sigma2
    state.H[:, :M] = H
    root = 1 / np.sqrt(state.A[:M])
    scale = np.outer(root, root)
    factor = cholesky(np.eye(M) + H[active] * scale)
    Sigma = cho_inverse(factor.L) * scale
    right = products / sigma2
    mean = root * factor.solve(root * right[active])
    state.Sigma[:M, :M], state.mu[:M] = Sigma, mean
    state.S = state.plain - np.einsum("ij,ij->i", H @ Sigma, H)
    state.Q = right - H @ mean
    residual = t - state.Phi[:, :M] @ mean
    fit = residual @ residual / sigma2 + mean @ (state.A[:M] * mean)
    return float(-0.5 * (base + factor.logdet + fit))


def _classify(
    problem: RelevanceVector, hyper: dict[str, Any], pool: Candidates, how: SparseSequential
) -> tuple[np.ndarray, np.ndarray, list[float], bool]:
    likelihood, y = problem.likelihood_at(hyper), problem.y
    state = State(len(y), len(pool))
    mode = _mode(state, y, likelihood, None)
    trace, converged = [mode.log_evidence], False
    refused: set[int] = set()
    for _ in range(how.max_iter):
        state.plain, state.Q = pool.sums(mode.W, mode.slope)
        M = state.M
        state.S = state.plain.copy()
        if M:
            H = pool.cross(mode.W[:, None] * state.Phi[:, :M])
            state.S -= np.einsum("ij,ij->i", H @ state.Sigma[:M, :M], H)
        closed = state.closed.copy()
        closed[list(refused)] = True
        k, _ = moves.best_addition(state.S, state.Q, state.plain, closed, how.tol)
        if k < 0:
            converged = True
            break
        before = _copy(state), mode
        state.enter(k, pool.column(k))
        mode = _settle_mode(state, y, likelihood, mode, how.tol)
        if mode.log_evidence <= trace[-1] + how.tol:
            # Laplace's W moved too far for the promised gain: this column does not pay
            (state, mode), refused = before, refused | {k}
        else:
            trace.append(mode.log_evidence)
            refused = set()
    return state.active[: state.M].copy(), state.theta(), trace, converged


def _mode(state: State, y: np.ndarray, likelihood: Any, w: np.ndarray | None) -> Mode:
    """Laplace's approximation for the active columns, written into the state."""
    M = state.M
    Phi = state.Phi[:, :M]
    mode = laplace_mode(Phi, state.theta(), y, likelihood, w)
    cov = full_cov(Phi, state.theta(), mode.W, mode.state)
    state.mu[:M], state.Sigma[:M, :M] = mode.w, cov
    return mode


def _settle_mode(
    state: State, y: np.ndarray, likelihood: Any, mode: Mode, tol: float, rounds: int = 50
) -> Mode:
    """Alternate between the mode and moves at fixed curvature, for the active columns alone."""
    nothing = np.zeros((0, len(state.A))), np.zeros(0), np.zeros(0)  # no candidates
    for _ in range(rounds):
        M = state.M
        mode = _mode(state, y, likelihood, state.mu[:M])
        precisions, active = state.A[:M].copy(), state.active[:M].copy()
        cov = state.Sigma[:M, :M].copy()
        arrays = (state.A, state.Sigma, state.mu, state.active, state.closed)
        state.M, _, gain = moves.settle(*nothing, *arrays, M, 20 * M, tol)
        if state.M < M:
            state.follow(active)
        elif gain < 10 * tol:
            state.A[:M] = precisions
            state.mu[:M], state.Sigma[:M, :M] = mode.w, cov
            return mode
    return _mode(state, y, likelihood, state.mu[: state.M])


def _copy(state: State) -> State:
    copy = object.__new__(State)
    vars(copy).update(
        {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in vars(state).items()}
    )
    return copy
