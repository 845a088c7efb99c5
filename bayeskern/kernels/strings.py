"""Kernels on strings and on sequences of any hashable tokens.

In a PyMC model they are constants: the decay can be inferred by evidence maximisation, whose
gradient comes from `pullback`, but not sampled as a PyMC variable.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskern.checks import positive, whole
from bayeskern.kernels._sequences import (
    pairwise,
    read_sequences,
    selfwise,
    subsequences,
    substrings,
)
from bayeskern.kernels.base import Gradients, Kernel
from bayeskern.priors import Prior, is_tensor, parameter, read_parameter


class _OnSequences(Kernel):
    """A kernel on strings or token sequences."""

    def read(self, X: Any) -> tuple:
        """Read a list of strings, or a list of token sequences."""
        return read_sequences(X)


@dataclass(frozen=True, repr=False)
class BagOfWords(_OnSequences):
    r"""Common words of a lexicon, :math:`k(u, v) = \sum_b \beta_b^2\, n_b(u)\, n_b(v)`.

    :math:`n_b(v)` counts the places of :math:`v` at which the word :math:`b` occurs, overlaps
    included: "aa" occurs twice in "aaa". In a string a word is a substring; in a token sequence
    it is a token, or a tuple of tokens that follow one another.

    Parameters
    ----------
    lexicon : sequence of str, tokens or tuples of tokens
        The words :math:`b`, without repetition.
    weights : sequence of float, optional
        Their weights :math:`\beta_b \ge 0`, such as `idf_weights`; 1 by default.

    Examples
    --------
    >>> BagOfWords(("ab", "ba", "a"))(["abab", "ba", "aab"])
    array([[9., 3., 6.],
           [3., 2., 2.],
           [6., 2., 5.]])
    """

    lexicon: tuple[Hashable, ...]
    weights: tuple[float, ...] | None = None

    def __post_init__(self):
        if isinstance(self.lexicon, str) or not isinstance(self.lexicon, Sequence | np.ndarray):
            raise ValueError(f"lexicon must be a sequence of words, got {self.lexicon!r}")
        lexicon = tuple(self.lexicon)
        if not lexicon or "" in lexicon or () in lexicon:
            raise ValueError(f"lexicon must hold words that are not empty, got {lexicon!r}")
        if len(set(lexicon)) < len(lexicon):
            twice = next(w for w, n in Counter(lexicon).items() if n > 1)
            raise ValueError(f"lexicon must not hold a word twice, got {twice!r}")
        object.__setattr__(self, "lexicon", lexicon)
        if self.weights is not None:
            weights = tuple(positive(float(w), "a weight", zero=True) for w in self.weights)
            if len(weights) != len(lexicon):
                raise ValueError(
                    f"weights must have one entry per word, got {len(weights)} for {len(lexicon)}"
                )
            object.__setattr__(self, "weights", weights)

    @classmethod
    def from_documents(cls, documents: Any, *, idf: bool = True) -> Self:
        """Make the kernel of all tokens of some token sequences (or all characters of strings).

        With ``idf`` a word weighs the logarithm of the inverse share of documents that hold it.
        """
        documents = read_sequences(documents, "documents")
        words = dict.fromkeys(token for document in documents for token in document)
        if not words:
            raise ValueError("documents must hold some token, got empty ones only")
        lexicon = tuple(words)
        return cls(lexicon, idf_weights(lexicon, documents) if idf else None)

    def counts(self, X: Any) -> np.ndarray:
        """Occurrences, one row per sequence and one column per word."""
        X = self.read(X)
        text = isinstance(X[0], str)
        if text and not all(isinstance(w, str) for w in self.lexicon):
            odd = next(w for w in self.lexicon if not isinstance(w, str))
            raise ValueError(f"a lexicon for strings must hold strings, got {odd!r}")
        words = [w if text or isinstance(w, tuple) else (w,) for w in self.lexicon]
        place = {w: k for k, w in enumerate(words)}
        lengths = {len(w) for w in words}  # type: ignore[arg-type]
        N = np.zeros((len(X), len(words)))
        for row, sequence in zip(N, X, strict=True):
            for length in lengths:
                for start in range(len(sequence) - length + 1):
                    k = place.get(sequence[start : start + length])
                    if k is not None:
                        row[k] += 1.0
        return N

    def features(self, X: Any) -> np.ndarray:
        """Weighted occurrences."""
        N = self.counts(X)
        return N if self.weights is None else N * np.array(self.weights)

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Inner products of the weighted occurrences."""
        F = self.features(X)
        return F @ (F if Z is X else self.features(Z)).T

    def diag(self, X: Any) -> np.ndarray:
        """Squared lengths of the weighted occurrences."""
        return (self.features(X) ** 2).sum(axis=1)


def idf_weights(lexicon: Sequence[Hashable], documents: Any) -> tuple[float, ...]:
    r"""Inverse document frequencies :math:`\ln(M / \mathrm{df}_b)` over :math:`M` documents.

    A word in every document weighs nothing; a word in none is refused.

    Examples
    --------
    >>> idf_weights(("ab", "a"), ["abab", "ba"])
    (0.6931471805599453, 0.0)
    """
    frequency = (BagOfWords(tuple(lexicon)).counts(documents) > 0).sum(axis=0)
    if (frequency == 0).any():
        word = lexicon[int(np.argmin(frequency))]
        raise ValueError(f"a word must occur in some document to have a weight, got {word!r}")
    return tuple(math.log(len(documents) / int(df)) for df in frequency)


class _WithDecay(_OnSequences):
    """A kernel that weighs a common part by a power of its length."""

    length: int
    decay: Any
    name: str

    def __post_init__(self):
        object.__setattr__(self, "length", whole(self.length, "length", least=1))
        object.__setattr__(self, "decay", read_parameter(self.decay, "decay"))
        if is_tensor(self.decay):
            raise ValueError(
                "the decay of a kernel on strings cannot be a PyMC variable;"
                " infer it by EvidenceMax, or give it a number"
            )

    def _value(self) -> float:
        if isinstance(self.decay, Prior):
            raise ValueError(
                f"a kernel with a free parameter has no numbers yet: give {self.decay!r} a value"
                " with with_values"
            )
        return self.decay

    def _pairs(self, X: tuple, Z: tuple) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say how to compare sequences")

    def _selves(self, X: tuple) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say how to compare a sequence to itself")

    def _pair_slopes(self, X: tuple, Z: tuple) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say its derivative")

    def _self_slopes(self, X: tuple) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} does not say its derivative")

    def _finite(self, K: np.ndarray) -> np.ndarray:
        if not np.isfinite(K).all():
            raise ValueError(
                f"length {self.length} with decay {self.decay:g} overflows on sequences this long;"
                " lower the decay or the length"
            )
        return K

    def gram(self, X: Any, Z: Any) -> np.ndarray:
        """Dynamic program on every pair."""
        return self._finite(self._pairs(X, Z))

    def diag(self, X: Any) -> np.ndarray:
        """Dynamic program on each sequence with itself."""
        return self._finite(self._selves(self.read(X)))

    def pullback(self, X: Any, G: np.ndarray, Z: Any = None) -> Gradients:
        """Weighted derivatives with respect to the decay."""
        X, Z = self.read_both(X, Z)
        slopes = self._pair_slopes(X, X if Z is None else Z)
        return {f"{self.name}_decay": np.vdot(G, slopes)}

    def pullback_diag(self, X: Any, g: np.ndarray) -> Gradients:
        """Weighted derivatives with respect to the decay."""
        return {f"{self.name}_decay": np.vdot(g, self._self_slopes(self.read(X)))}


@dataclass(frozen=True, repr=False)
class Substring(_WithDecay):
    r"""Common substrings of all lengths up to :math:`r`, each weighing :math:`\lambda^{2s}`.

    :math:`k(u, v) = \sum_{s=1}^r \lambda^{2s} \sum_{|b|=s} n_b(u)\, n_b(v)`, in time
    :math:`|u||v|` from the length of the common run at each pair of places.

    Parameters
    ----------
    length : int, default=3
        The longest substring :math:`r`.
    decay : float or Prior, default=0.5
        The weight :math:`\lambda > 0` of each symbol.
    name : str, default="substring"
        Its variable is ``<name>_decay``.

    Examples
    --------
    >>> Substring(2)(["cat", "car"])
    array([[0.875 , 0.5625],
           [0.5625, 0.875 ]])

    References
    ----------
    Herbrich (2002), eqs. 2.25 to 2.27; the second argument of the recursion printed as (2.26) must
    be the suffix of v that begins at j.
    """

    length: int = 3
    decay: float | Prior = parameter(0.5)
    name: str = "substring"

    def _table(self, slope: bool = False) -> np.ndarray:
        s, decay = np.arange(1, self.length + 1), self._value()
        terms = 2 * s * decay ** (2 * s - 1) if slope else decay ** (2 * s)
        return np.append(0.0, np.cumsum(terms))

    def _pairs(self, X: tuple, Z: tuple) -> np.ndarray:
        return pairwise(substrings, X, Z, self._table())

    def _selves(self, X: tuple) -> np.ndarray:
        return selfwise(substrings, X, self._table())

    def _pair_slopes(self, X: tuple, Z: tuple) -> np.ndarray:
        return pairwise(substrings, X, Z, self._table(slope=True))

    def _self_slopes(self, X: tuple) -> np.ndarray:
        return selfwise(substrings, X, self._table(slope=True))


@dataclass(frozen=True, repr=False)
class Subsequence(_WithDecay):
    r"""Common subsequences of length :math:`r`, gaps allowed but weighed down.

    :math:`k(u, v) = \sum_{|b|=r}\ \sum_{u[i]=b}\ \sum_{v[j]=b} \lambda^{l(i) + l(j)}`, where
    :math:`l` is the length of the stretch that a subsequence spans, in time :math:`r|u||v|`.

    Parameters
    ----------
    length : int, default=3
        The number :math:`r` of symbols.
    decay : float or Prior, default=0.5
        The weight :math:`\lambda > 0` of each symbol spanned.
    name : str, default="subsequence"
        Its variable is ``<name>_decay``.

    Examples
    --------
    >>> Subsequence(2)(["cat", "car", "bar"])
    array([[0.140625, 0.0625  , 0.      ],
           [0.0625  , 0.140625, 0.0625  ],
           [0.      , 0.0625  , 0.140625]])

    Notes
    -----
    Long subsequences make the diagonal dominate the Gram matrix; see `diagonal_dominance`.

    References
    ----------
    Herbrich (2002), eqs. 2.28 to 2.30 and appendix B.2.2; the printed exponent |v| - j is |v| - t.
    """

    length: int = 3
    decay: float | Prior = parameter(0.5)
    name: str = "subsequence"

    def _pairs(self, X: tuple, Z: tuple) -> np.ndarray:
        decay = self._value()
        K = pairwise(subsequences, X, Z, self.length, decay)
        return K * decay ** (2 * self.length)

    def _selves(self, X: tuple) -> np.ndarray:
        decay = self._value()
        return selfwise(subsequences, X, self.length, decay) * decay ** (2 * self.length)

    def _pair_slopes(self, X: tuple, Z: tuple) -> np.ndarray:
        return self._slopes(pairwise, X, Z)

    def _self_slopes(self, X: tuple) -> np.ndarray:
        return self._slopes(selfwise, X)

    def _slopes(self, run: Any, *sequences: tuple) -> np.ndarray:
        # k is a polynomial in the decay: an imaginary step has no cancellation, so it may be tiny
        step = 1e-100
        decay = complex(self._value(), step)
        K = run(subsequences, *sequences, self.length, decay, dtype=complex)
        return (K * decay ** (2 * self.length)).imag / step
