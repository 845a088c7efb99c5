"""Sequences of symbols: reading, encoding, and the dynamic programs that compare them.

The programs run over many pairs at once: one sequence against up to `LANES` others, which lie
interleaved in memory so that the innermost loop is over pairs and needs no recurrence.
"""

import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numba import njit

LANES = 64
NEVER = -1.0  # the code of padding, equal to no symbol


def read_sequences(X: Any, name: str = "X") -> tuple:
    """Return strings as a tuple of them, token sequences as a tuple of tuples."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise ValueError(f"{name} must be a list of strings or token sequences, got {X!r}")
    if isinstance(X, np.ndarray) and X.dtype.kind in "fc":
        raise ValueError(f"{name} must hold strings or tokens, got numbers of type {X.dtype}")
    items = tuple(X)
    if not items:
        raise ValueError(f"{name} must not be empty, got {X!r}")
    if all(isinstance(item, str) for item in items):
        return tuple(str(item) for item in items)
    for item in items:
        if isinstance(item, str) or not isinstance(item, list | tuple | np.ndarray):
            raise ValueError(
                f"{name} must hold only strings or only token sequences, got {item!r} among them"
            )
    return tuple(_read_tokens(item, name) for item in items)


def _read_tokens(item: Any, name: str) -> tuple[Hashable, ...]:
    tokens = tuple(item)
    for token in tokens:
        if not isinstance(token, Hashable):
            raise ValueError(f"the tokens of {name} must be hashable, got {token!r}")
        if isinstance(token, float | np.floating):
            raise ValueError(f"the tokens of {name} must be symbols, got the real number {token!r}")
    kinds = {isinstance(token, Number) for token in tokens}
    if len(kinds) == 2:
        raise ValueError(f"the tokens of {name} must not mix numbers and others, got {tokens[:5]}")
    return tokens


class Encoded(NamedTuple):
    """Sequences as codes, one per column, in the order of their lengths."""

    codes: np.ndarray  # (longest, n)
    lengths: np.ndarray
    order: np.ndarray


def encode(sequences: tuple, alphabet: dict[Hashable, int]) -> Encoded:
    """Number the symbols, adding new ones to the alphabet."""
    lengths = np.array([len(s) for s in sequences], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    codes = np.full((max(int(lengths.max()), 1), len(sequences)), NEVER)
    for column, i in enumerate(order):
        sequence = sequences[i]
        codes[: len(sequence), column] = [alphabet.setdefault(t, len(alphabet)) for t in sequence]
    return Encoded(codes, lengths[order], order)


def pairwise(program: Callable, X: tuple, Z: tuple, *settings: Any, dtype: Any = float):
    """Run a program on all pairs, on every core; ``Z is X`` computes one half of them."""
    alphabet: dict[Hashable, int] = {}
    A = encode(X, alphabet)
    B = A if Z is X else encode(Z, alphabet)
    out = np.zeros((len(X), len(Z)), dtype=dtype)
    rows = np.ascontiguousarray(A.codes.T)
    work = float(A.lengths.sum()) * float(B.lengths.sum())
    workers = 1 if work < 1e7 else (getattr(os, "process_cpu_count", os.cpu_count)() or 1)

    def run(start: int) -> None:
        share = (start, workers, Z is X)
        program(rows, A.lengths, B.codes, B.lengths, share, settings, out)

    if workers == 1:
        run(0)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, range(workers)))
    if Z is X:
        out = np.triu(out) + np.triu(out, 1).T
    result = np.empty_like(out)
    result[np.ix_(A.order, B.order)] = out
    return result


def selfwise(program: Callable, X: tuple, *settings: Any, dtype: Any = float) -> np.ndarray:
    """Run a program on each sequence with itself."""
    return np.array([pairwise(program, (x,), (x,), *settings, dtype=dtype)[0, 0] for x in X])


@njit(cache=True, nogil=True)
def subsequences(rows, row_lengths, codes, lengths, share, settings, out):
    """Common subsequences of a length, weighted by decay to the power of the gaps.

    ``out`` has the type of the decay. It lacks a factor ``decay ** (2 * length)``, so that long
    subsequences do not underflow on the way.
    """
    start, step, triangular = share
    length, decay = settings
    longest, m = codes.shape
    lanes = min(LANES, (m + 7) // 8 * 8)
    prime = np.zeros((length, longest + 1, lanes), dtype=out.dtype)
    prime[0] = 1.0
    run = np.zeros(lanes, dtype=out.dtype)
    others = np.zeros((longest, lanes))
    for i in range(start, len(rows), step):
        for first in range(i if triangular else 0, m, lanes):
            width = min(lanes, m - first)
            L = lengths[first + width - 1]
            others[:L, :width] = codes[:L, first : first + width]
            others[:L, width:] = NEVER
            _block(rows[i, : row_lengths[i]], others, L, decay, prime, run)
            out[i, first : first + width] = run[:width]


@njit(cache=True, nogil=True)
def _block(u, others, L, decay, prime, run):
    """One sequence against all lanes; the sums are left in ``run``.

    ``prime[l, j]`` is K'_l(i, j) of Herbrich (2002), appendix B.2.2, for the rows i so far:
    subsequences whose weight counts up to the ends of both prefixes. The layers are updated from
    the top, so that each still finds the row before in the one below.
    """
    lanes = len(run)
    prime[1:, : L + 1] = 0.0
    total = np.zeros_like(run)
    for c in u:
        below = prime[-1]
        for j in range(L):
            for w in range(lanes):
                b = below[j, w]
                total[w] += b if others[j, w] == c else b * 0.0
        for l in range(len(prime) - 1, 0, -1):
            layer, below = prime[l, 1:], prime[l - 1]
            run[:] = 0.0
            for j in range(L):
                for w in range(lanes):
                    b = below[j, w]
                    r = decay * run[w] + (b if others[j, w] == c else b * 0.0)
                    run[w] = r
                    layer[j, w] = decay * layer[j, w] + r
    run[:] = total


@njit(cache=True, nogil=True)
def substrings(rows, row_lengths, codes, lengths, share, settings, out):
    """Sum of ``table[length of the common run that ends here]`` over all pairs of places."""
    start, step, triangular = share
    (table,) = settings
    longest = len(table) - 1
    run = np.zeros(codes.shape[0] + 1, dtype=np.int64)
    other = np.empty(codes.shape[0])
    for i in range(start, len(rows), step):
        for k in range(i if triangular else 0, codes.shape[1]):
            L = lengths[k]
            for j in range(L):
                other[j] = codes[j, k]
            run[: L + 1] = 0
            total = 0.0
            for a in range(row_lengths[i]):
                c = rows[i, a]
                for j in range(L, 0, -1):
                    r = min(run[j - 1] + 1, longest) if other[j - 1] == c else 0
                    run[j] = r
                    total += table[r]
            out[i, k] = total
