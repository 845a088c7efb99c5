"""Probability models with their scores, for kernels made of them.

A model reads its inputs, says the score of each (the gradient of its log density in the
parameters) and the Fisher information (the expected outer product of the score).
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp

from bayeskern.checks import as_array, as_gram, as_matrix, one_of, positive, whole
from bayeskern.kernels._array import FrozenArray
from bayeskern.kernels.base import nonempty, show


class ScoreModel:
    """A probability model at fixed parameters."""

    def read(self, X: Any) -> Any:
        """Check the inputs and return them as the model wants them."""
        return as_matrix(X)

    def score(self, X: Any) -> np.ndarray:
        """Gradient of the log density, one row per input and one column per parameter."""
        raise TypeError(f"{type(self).__name__} does not say its score")

    def information(self) -> np.ndarray:
        """Expected outer product of the score."""
        raise TypeError(f"{type(self).__name__} does not say its information")


def _keep(value: Any, name: str, ndim: int) -> FrozenArray:
    array = value.array if isinstance(value, FrozenArray) else value
    return FrozenArray(as_array(array, name, ndim=ndim))


def _distribution(row: np.ndarray, name: str) -> None:
    if (row <= 0).any() or abs(row.sum() - 1) > 1e-8:
        raise ValueError(f"{name} must be positive and sum to 1, got {row.tolist()}")


@dataclass(frozen=True)
class ScoreFunction(ScoreModel):
    """A model given by its score function and information matrix.

    Parameters
    ----------
    function : callable
        Takes all inputs at once and returns a matrix, one row of scores for each.
    matrix : array of shape (p, p)
        The Fisher information, or an estimate such as `empirical_information`.

    Examples
    --------
    >>> poisson = ScoreFunction(lambda X: X / 2.0 - 1.0, [[0.5]])
    >>> poisson.score([[2.0], [4.0]])
    array([[0.],
           [1.]])
    """

    function: Callable[[Any], np.ndarray]
    matrix: Any

    def __repr__(self) -> str:
        return f"ScoreFunction({show(self.function)}, {self.matrix!r})"

    def __post_init__(self):
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}")
        matrix = self.matrix.array if isinstance(self.matrix, FrozenArray) else self.matrix
        object.__setattr__(self, "matrix", FrozenArray(as_gram(matrix, "matrix", psd=True)))

    def read(self, X: Any) -> Any:
        """Read numbers as a matrix, and leave other inputs to the function."""
        return X if isinstance(nonempty(X)[0], str | tuple) else as_matrix(X)

    def score(self, X: Any) -> np.ndarray:
        """What the function returns, checked."""
        X = self.read(X)
        F = as_array(self.function(X), "the score", ndim=2)
        if F.shape != (len(X), len(self.matrix.array)):
            raise ValueError(
                f"the score must have shape {(len(X), len(self.matrix.array))}, got {F.shape}"
            )
        return F

    def information(self) -> np.ndarray:
        """The given matrix."""
        return self.matrix.array


def empirical_information(scores: Any) -> np.ndarray:
    """Mean outer product of scores, an estimate of the information from the data themselves.

    >>> empirical_information([[1.0], [3.0]])
    array([[5.]])
    """
    F = as_array(scores, "scores", ndim=2)
    return F.T @ F / len(F)


@dataclass(frozen=True)
class BernoulliModel(ScoreModel):
    """Independent zeros and ones; the parameters are the probabilities of a one.

    Parameters
    ----------
    p : sequence of float
        One probability in (0, 1) per column.
    """

    p: tuple[float, ...]

    def __post_init__(self):
        values = as_array(self.p, "p")
        if values.ndim > 1 or (values <= 0).any() or (values >= 1).any():
            raise ValueError(f"p must lie strictly between 0 and 1, got {self.p!r}")
        object.__setattr__(self, "p", tuple(np.atleast_1d(values).tolist()))

    @classmethod
    def fit(cls, X: Any) -> Self:
        """Share of ones in each column."""
        return cls(tuple(as_matrix(X).mean(axis=0)))

    def read(self, X: Any) -> np.ndarray:
        """Read a matrix of zeros and ones."""
        X = as_matrix(X)
        odd = X[(X != 0) & (X != 1)]
        if odd.size:
            raise ValueError(f"X must hold zeros and ones, got {odd[0]:g}")
        if X.shape[1] != len(self.p):
            raise ValueError(f"X must have {len(self.p)} columns, got {X.shape[1]}")
        return X

    def score(self, X: Any) -> np.ndarray:
        """(x - p) / p(1 - p)."""
        p = np.array(self.p)
        return (self.read(X) - p) / (p * (1 - p))

    def information(self) -> np.ndarray:
        """Diagonal, 1 / p(1 - p)."""
        p = np.array(self.p)
        return np.diag(1 / (p * (1 - p)))


@dataclass(frozen=True)
class GaussianModel(ScoreModel):
    """A Gaussian; the parameters are its mean, or its mean and covariance.

    Parameters
    ----------
    mean : array of shape (d,)
        The mean.
    covariance : array of shape (d, d)
        The positive definite covariance.
    of : {"mean", "both"}, default="mean"
        Which parameters the score is taken of.
    """

    mean: Any
    covariance: Any
    of: str = "mean"

    def __post_init__(self):
        object.__setattr__(self, "mean", _keep(self.mean, "mean", 1))
        kept = _keep(self.covariance, "covariance", 2)
        if len(as_gram(kept.array, "covariance", psd=True)) != len(self.mean.array):
            raise ValueError(
                f"covariance must have {len(self.mean.array)} rows, got {len(kept.array)}"
            )
        if np.linalg.cond(kept.array) > 1e12:
            raise ValueError("covariance must be positive definite, got a singular one")
        object.__setattr__(self, "covariance", kept)
        one_of(self.of, "of", ("mean", "both"))

    @classmethod
    def fit(cls, X: Any, of: str = "mean") -> Self:
        """Mean and covariance (over n) of the data."""
        X = as_matrix(X)
        return cls(X.mean(axis=0), np.cov(X.T, bias=True).reshape(X.shape[1], -1), of)

    def read(self, X: Any) -> np.ndarray:
        """Read a matrix with as many columns as the mean."""
        X = as_matrix(X)
        if X.shape[1] != len(self.mean.array):
            raise ValueError(f"X must have {len(self.mean.array)} columns, got {X.shape[1]}")
        return X

    def _symmetric(self) -> list[np.ndarray]:
        """Directions of the covariance: one per entry on or above the diagonal."""
        d = len(self.mean.array)
        directions = []
        for i in range(d):
            for j in range(i, d):
                E = np.zeros((d, d))
                E[i, j] = E[j, i] = 1.0
                directions.append(E)
        return directions

    def score(self, X: Any) -> np.ndarray:
        """Precision times deviation, then the deviation of its outer product."""
        precision = np.linalg.inv(self.covariance.array)
        F = (self.read(X) - self.mean.array) @ precision
        if self.of == "mean":
            return F
        E = np.array(self._symmetric())
        outer = np.einsum("ni,nj->nij", F, F) - precision
        return np.hstack([F, 0.5 * np.einsum("nij,kij->nk", outer, E)])

    def information(self) -> np.ndarray:
        """Precision of the mean, and half traces for the covariance."""
        precision = np.linalg.inv(self.covariance.array)
        if self.of == "mean":
            return precision
        P = np.array([precision @ E for E in self._symmetric()])
        d, both = len(precision), 0.5 * np.einsum("aij,bji->ab", P, P)
        information = np.zeros((d + len(both), d + len(both)))
        information[:d, :d], information[d:, d:] = precision, both
        return information


@dataclass(frozen=True)
class MarkovModel(ScoreModel):
    """A Markov chain over symbols; the parameters are the logits of its probabilities.

    One logit of each distribution is redundant, which leaves the kernel unchanged: it works on the
    range of the information.

    Parameters
    ----------
    symbols : sequence of hashable
        The states; a string or sequence may hold no others.
    initial : array of shape (s,)
        Probabilities of the first symbol.
    transition : array of shape (s, s)
        Row ``a`` holds the probabilities of what follows ``a``.
    length : int
        Length of the sequences the information is taken of.
    """

    symbols: tuple[Hashable, ...]
    initial: Any
    transition: Any
    length: int

    def __post_init__(self):
        symbols = tuple(self.symbols)
        if len(symbols) < 2 or len(set(symbols)) < len(symbols):
            raise ValueError(f"symbols must be two or more distinct ones, got {self.symbols!r}")
        object.__setattr__(self, "symbols", symbols)
        object.__setattr__(self, "initial", _keep(self.initial, "initial", 1))
        object.__setattr__(self, "transition", _keep(self.transition, "transition", 2))
        s = len(symbols)
        if self.initial.array.shape != (s,) or self.transition.array.shape != (s, s):
            raise ValueError(
                f"initial and transition must have shapes {(s,)} and {(s, s)},"
                f" got {self.initial.array.shape} and {self.transition.array.shape}"
            )
        _distribution(self.initial.array, "initial")
        for row in self.transition.array:
            _distribution(row, "a row of transition")
        whole(self.length, "length", least=1)

    @classmethod
    def fit(cls, sequences: Sequence, *, smoothing: float = 1.0) -> Self:
        """Relative frequencies with ``smoothing`` added to every count."""
        sequences = _read_nonempty(sequences)
        symbols = tuple(dict.fromkeys(t for s in sequences for t in s))
        place = {symbol: k for k, symbol in enumerate(symbols)}
        added = positive(smoothing, "smoothing")
        first, moves = np.full(len(symbols), added), np.full((len(symbols),) * 2, added)
        for sequence in sequences:
            codes = [place[t] for t in sequence]
            first[codes[0]] += 1
            np.add.at(moves, (codes[:-1], codes[1:]), 1)
        length = max(1, round(float(np.mean([len(s) for s in sequences]))))
        return cls(symbols, first / first.sum(), moves / moves.sum(axis=1, keepdims=True), length)

    def read(self, X: Any) -> tuple:
        """Read strings or token sequences over the known symbols, none of them empty."""
        X = _read_nonempty(X)
        known = set(self.symbols)
        for sequence in X:
            for token in sequence:
                if token not in known:
                    raise ValueError(f"X must hold symbols of the chain only, got {token!r}")
        return X

    def score(self, X: Any) -> np.ndarray:
        """Counts minus their expectation given the symbols before."""
        X, s = self.read(X), len(self.symbols)
        place = {symbol: k for k, symbol in enumerate(self.symbols)}
        F = np.zeros((len(X), s + s * s))
        for row, sequence in zip(F, X, strict=True):
            codes = np.array([place[t] for t in sequence])
            row[codes[0]] = 1.0
            row[:s] -= self.initial.array
            moves = np.zeros((s, s))
            np.add.at(moves, (codes[:-1], codes[1:]), 1.0)
            moves -= moves.sum(axis=1, keepdims=True) * self.transition.array
            row[s:] = moves.reshape(-1)
        return F

    def information(self) -> np.ndarray:
        """Covariances of single draws, times how often each state is left."""
        first, A, s = self.initial.array, self.transition.array, len(self.symbols)
        information = np.zeros((s + s * s, s + s * s))
        information[:s, :s] = np.diag(first) - np.outer(first, first)
        visits, now = np.zeros(s), first.copy()
        for _ in range(self.length - 1):
            visits += now
            now = now @ A
        for a in range(s):
            block = slice(s + a * s, s + (a + 1) * s)
            information[block, block] = visits[a] * (np.diag(A[a]) - np.outer(A[a], A[a]))
        return information


def _read_nonempty(sequences: Any) -> tuple:
    from bayeskern.kernels._sequences import read_sequences

    X = read_sequences(sequences)
    if not all(len(sequence) > 0 for sequence in X):
        raise ValueError("X must hold sequences of at least one symbol, got an empty one")
    return X


@dataclass(frozen=True)
class MixtureModel(ScoreModel):
    """A mixture of Gaussians; the parameters are the means and the logits of the weights.

    The last logit is fixed, since the weights sum to one.

    Parameters
    ----------
    weights : array of shape (k,)
        Positive, with sum 1.
    means : array of shape (k, d)
        The centres.
    covariances : array of shape (k, d, d)
        Positive definite.
    nodes : int, default=4096
        Points per component of the quadrature for the information, which has no closed form.
    """

    weights: Any
    means: Any
    covariances: Any
    nodes: int = 4096

    def __post_init__(self):
        for field, ndim in (("weights", 1), ("means", 2), ("covariances", 3)):
            object.__setattr__(self, field, _keep(getattr(self, field), field, ndim))
        _distribution(self.weights.array, "weights")
        k, d = self.means.array.shape
        if len(self.weights.array) != k or self.covariances.array.shape != (k, d, d):
            raise ValueError(
                f"weights, means and covariances must have shapes (k,), (k, d) and (k, d, d), got"
                f" {self.weights.array.shape}, {(k, d)} and {self.covariances.array.shape}"
            )
        for covariance in self.covariances.array:
            if np.linalg.eigvalsh(as_gram(covariance, "a covariance"))[0] <= 0:
                raise ValueError(
                    f"a covariance must be positive definite, got {covariance.tolist()}"
                )
        whole(self.nodes, "nodes", least=16)

    @classmethod
    def fit(cls, X: Any, components: int, *, seed: int = 0) -> Self:
        """Maximum likelihood by expectation maximisation, with scikit-learn."""
        from sklearn.mixture import GaussianMixture

        found = GaussianMixture(components, random_state=seed).fit(as_matrix(X))
        return cls(found.weights_, found.means_, found.covariances_)

    def read(self, X: Any) -> np.ndarray:
        """Read a matrix with as many columns as the means."""
        X = as_matrix(X)
        if X.shape[1] != self.means.array.shape[1]:
            raise ValueError(f"X must have {self.means.array.shape[1]} columns, got {X.shape[1]}")
        return X

    def _parts(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Responsibilities, and precisions times deviations by component."""
        logs, deviations = [], []
        for w, mean, S in zip(
            self.weights.array, self.means.array, self.covariances.array, strict=True
        ):
            u = np.linalg.solve(S, (X - mean).T).T
            quadratic = np.einsum("ni,ni->n", u, X - mean)
            logs.append(np.log(w) - 0.5 * (np.linalg.slogdet(2 * np.pi * S)[1] + quadratic))
            deviations.append(u)
        log = np.array(logs)
        return np.exp(log - logsumexp(log, axis=0)).T, np.array(deviations)

    def responsibilities(self, X: Any) -> np.ndarray:
        """Probability of each component given each input."""
        return self._parts(self.read(X))[0]

    def score(self, X: Any) -> np.ndarray:
        """Responsibilities minus weights, then responsibilities times scaled deviations."""
        r, u = self._parts(self.read(X))
        means = (r.T[:, :, None] * u).transpose(1, 0, 2).reshape(len(r), -1)
        return np.hstack([(r - self.weights.array)[:, :-1], means])

    def information(self) -> np.ndarray:
        """Quadrature by component: Gauss-Hermite in one or two dimensions, else quasi-random."""
        total: Any = 0.0
        d = self.means.array.shape[1]
        z, w = _normal_nodes(d, self.nodes)
        for weight, mean, S in zip(
            self.weights.array, self.means.array, self.covariances.array, strict=True
        ):
            F = self.score(mean + z @ np.linalg.cholesky(S).T)
            total = total + weight * (F * w[:, None]).T @ F
        return total


def _normal_nodes(d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for expectations under a standard normal."""
    if d <= 2:
        z, w = np.polynomial.hermite_e.hermegauss(min(round(n ** (1 / d)), 150))
        w = w / w.sum()
        if d == 1:
            return z[:, None], w
        grid = np.stack(np.meshgrid(z, z), axis=-1).reshape(-1, 2)
        return grid, np.outer(w, w).reshape(-1)
    from scipy.stats import norm, qmc

    m = int(np.ceil(np.log2(n)))
    u = qmc.Sobol(d, scramble=True, rng=0).random_base2(m)
    z = norm.ppf(np.clip(u, 1e-12, 1 - 1e-12))
    return z, np.full(len(z), 1 / len(z))
