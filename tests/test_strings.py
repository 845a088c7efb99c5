"""Kernels on strings against enumeration and closed forms."""

from itertools import combinations, pairwise
from math import comb, log

import numpy as np
import pytest

from bayeskern.datasets import load
from bayeskern.kernels import (
    BagOfWords,
    Matching,
    Subsequence,
    Substring,
    diagonal_dominance,
    idf_weights,
)

SCIENCE = ["science is organized knowledge", "wisdom is organized life"]


def one(kernel, u, v):
    return kernel([u], [v])[0, 0]


def random_pairs(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        u, v = ("".join(rng.choice(list("abc"), rng.integers(0, 8))) for _ in range(2))
        yield u, v, int(rng.integers(1, 5)), float(rng.uniform(0.2, 1.5))


def enumerated_subsequences(u, v, r, decay):
    total = 0.0
    for i in combinations(range(len(u)), r):
        for j in combinations(range(len(v)), r):
            if [u[a] for a in i] == [v[b] for b in j]:
                total += decay ** (i[-1] - i[0] + 1 + j[-1] - j[0] + 1)
    return total


def enumerated_substrings(u, v, r, decay):
    total = 0.0
    for s in range(1, r + 1):
        for i in range(len(u) - s + 1):
            total += decay ** (2 * s) * sum(
                u[i : i + s] == v[j : j + s] for j in range(len(v) - s + 1)
            )
    return total


def test_subsequence_is_the_sum_over_index_tuples():
    for u, v, r, decay in random_pairs(150, 0):
        expected = enumerated_subsequences(u, v, r, decay)
        assert one(Subsequence(r, decay), u, v) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_substring_is_the_sum_over_windows():
    for u, v, r, decay in random_pairs(300, 1):
        expected = enumerated_substrings(u, v, r, decay)
        assert one(Substring(r, decay), u, v) == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_many_lanes_and_threads_give_what_single_pairs_give():
    texts = list(load("dna", n=150, length=60).X)
    texts += ["", "A", "ACGT" * 30]  # of very different lengths
    for kernel in (Subsequence(3), Substring(4)):
        K = kernel(texts)
        rng = np.random.default_rng(2)
        for i, j in rng.integers(len(texts), size=(40, 2)):
            assert K[i, j] == pytest.approx(one(kernel, texts[i], texts[j]), rel=1e-12)
        np.testing.assert_allclose(kernel(texts, texts[5:90]), K[:, 5:90], rtol=1e-12)


@pytest.mark.parametrize(
    "kernel, u, v, expected",
    [
        (Subsequence(2), "cat", "car", 0.5**4),
        (Subsequence(2), "cat", "cat", 2 * 0.5**4 + 0.5**6),
        (Subsequence(2), "cat", "bar", 0.0),
        (Subsequence(1), "aaaa", "aaaa", 4.0),
        (Subsequence(2), "aaaa", "aaaa", 1.12890625),
        (Subsequence(3), "aaaa", "aaaa", 0.140625),
        (Subsequence(1), "abab", "baba", 2.0),
        (Subsequence(2), "abab", "baba", 0.3125),
        (Subsequence(3), "abab", "baba", 0.03125),
        (Subsequence(2), "abcdef", "abcdef", 0.388916015625),
        (Subsequence(3), "abcdef", "abcdef", 0.0927734375),
        (Subsequence(3, decay=1.0), "a" * 7, "a" * 7, comb(7, 3) ** 2),
        (Subsequence(3), "ab", "abc", 0.0),
        (Substring(3), "aaaaa", "aaaa", 5.84375),
        (Substring(2), "cat", "car", 0.5625),
        (Substring(2), "cat", "cat", 0.875),
        (Substring(3), "cat", "cat", 0.875 + 0.5**6),
        (Substring(3), "", "cat", 0.0),
        (Matching(), "cat", "cat", 1.0),
        (Matching(), "cat", "car", 0.0),
    ],
)
def test_values_by_hand(kernel, u, v, expected):
    assert one(kernel, u, v) == pytest.approx(expected, rel=1e-12)
    assert one(kernel, u[::-1], v[::-1]) == pytest.approx(expected, rel=1e-12)


def test_normalised_subsequences_of_two_sentences():
    values = [Subsequence(r).normalise()(SCIENCE)[0, 1] for r in range(1, 7)]
    expected = [0.848679, 0.579814, 0.478455, 0.438871, 0.405745, 0.369156]
    np.testing.assert_allclose(values, expected, atol=5e-7)
    assert Subsequence(2).normalise()(["cat", "car"])[0, 1] == pytest.approx(1 / 2.25)


def test_without_gaps_subsequences_become_the_spectrum_kernel():
    u, v, tiny = "abcabca", "cabcab", 1e-4
    for r, expected in ((2, 10), (3, 6)):
        assert one(Subsequence(r, tiny), u, v) / tiny ** (2 * r) == pytest.approx(expected, 1e-3)
        step = one(Substring(r, 0.7), u, v) - (one(Substring(r - 1, 0.7), u, v) if r > 1 else 0)
        assert step == pytest.approx(expected * 0.7 ** (2 * r), rel=1e-12)


def test_length_one_is_the_same_for_both():
    for u, v, _, decay in random_pairs(20, 3):
        assert one(Subsequence(1, decay), u, v) == pytest.approx(one(Substring(1, decay), u, v))


def test_substring_is_a_weighted_bag_of_all_words():
    texts = ["abab", "ba", "aab"]
    words = [a + b for a in ("", "a", "b") for b in "ab"]
    bag = BagOfWords(tuple(words), tuple(0.5 ** len(w) for w in words))
    np.testing.assert_allclose(Substring(2)(texts), bag(texts), rtol=1e-12)


def test_tokens_and_characters_agree():
    texts = ["abab", "ba", "aab"]
    numbers = [[{"a": 7, "b": 9}[c] for c in t] for t in texts]
    for kernel in (Subsequence(2), Substring(2)):
        assert np.array_equal(kernel(texts), kernel([list(t) for t in texts]))
        assert np.array_equal(kernel(texts), kernel(numbers))
        assert np.array_equal(kernel(texts), kernel(np.array(texts, dtype=object)))


def test_long_subsequences_do_not_underflow_on_the_way():
    text = "ab" * 60
    value = Subsequence(60, decay=0.1).normalise()([text, text[1:]])[0, 1]
    assert 0 < value < 1


class TestBagOfWords:
    documents = ("abab", "ba", "aab")
    lexicon = ("ab", "ba", "a")

    def test_counts_overlap(self):
        expected = [[2, 1, 2], [0, 1, 1], [1, 0, 2]]
        np.testing.assert_array_equal(BagOfWords(self.lexicon).counts(self.documents), expected)
        assert BagOfWords(("aa",)).counts(["aaa"])[0, 0] == 2

    def test_gram_with_and_without_weights(self):
        plain = BagOfWords(self.lexicon)(self.documents)
        np.testing.assert_allclose(plain, [[9, 3, 6], [3, 2, 2], [6, 2, 5]])
        weights = idf_weights(self.lexicon, self.documents)
        np.testing.assert_allclose(weights, [log(1.5), log(1.5), 0])
        weighted = BagOfWords(self.lexicon, weights)(self.documents)
        np.testing.assert_allclose(
            weighted, 0.1644019539 * np.array([[5, 1, 2], [1, 1, 0], [2, 0, 1]])
        )

    def test_word_in_no_document_has_no_idf(self):
        with pytest.raises(ValueError, match=r"must occur in some document .* got 'z'"):
            idf_weights(("a", "z"), self.documents)

    def test_token_words_and_runs_of_tokens(self):
        bag = BagOfWords(("the", ("the", "cat")))
        np.testing.assert_array_equal(
            bag.counts([["the", "cat", "the"], ["cat"]]), [[2, 1], [0, 0]]
        )
        with pytest.raises(ValueError, match="must hold strings"):
            bag(["the cat"])

    def test_topics_are_told_apart_by_their_words(self):
        data = load("topics")
        words = [text.replace(",", "").split() for text in data.X]
        K = BagOfWords.from_documents(words)(words)
        np.fill_diagonal(K, -np.inf)
        assert np.mean(data.y[K.argmax(axis=1)] == data.y) > 0.85


def test_subsequences_have_a_ridge_that_grows_and_substrings_hardly():
    words = "the quick brown fox jumps over a lazy dog while many small birds sing".split()
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.permutation(words)) for _ in range(8)]
    ridge = [diagonal_dominance(Subsequence(r)(texts)) for r in range(1, 6)]
    assert all(a > b for a, b in pairwise(ridge))
    assert ridge[-1] < diagonal_dominance(Substring(5)(texts))
