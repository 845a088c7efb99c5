"""One instance of everything public, with inputs that suit it; contract tests run over these."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayeskern import kernels as k
from bayeskern.priors import Prior


class Example(NamedTuple):
    """A kernel and what kind of inputs it takes."""

    kernel: k.Kernel
    kind: str = "vectors"

    @property
    def X(self) -> Any:
        return INPUTS[self.kind][0]

    @property
    def Z(self) -> Any:
        return INPUTS[self.kind][1]

    def __str__(self) -> str:
        return repr(self.kernel)[:60]


_rng = np.random.default_rng(7)
INPUTS: dict[str, tuple[Any, Any]] = {
    "vectors": (_rng.normal(size=(6, 2)), _rng.normal(size=(4, 2))),
    "binary": (_rng.integers(0, 2, (6, 2)) * 1.0, _rng.integers(0, 2, (4, 2)) * 1.0),
    "strings": (["abab", "ba", "aab", "bbbab", "a"], ["ab", "abba", "bab"]),
    "tokens": ([["a", "b"], ["b"], ["a", "a", "b"]], [["b", "a"], ["a"]]),
    "sets": ([{1, 2}, {3}, {1, 2, 3}], [{2, 3}, set()]),
    "indices": ([0, 1, 2, 1], [2, 0, 0]),
}


def _texts(least):
    return st.lists(st.text("ab", min_size=least, max_size=6), min_size=1, max_size=5)


_numbers = st.floats(-9, 9, allow_subnormal=False, width=32)
STRATEGIES: dict[str, st.SearchStrategy] = {
    "vectors": arrays(float, st.tuples(st.integers(1, 6), st.just(2)), elements=_numbers),
    "binary": arrays(
        float, st.tuples(st.integers(1, 6), st.just(2)), elements=st.sampled_from([0.0, 1.0])
    ),
    "strings": _texts(1),
    "tokens": st.lists(st.lists(st.sampled_from("ab"), max_size=6), min_size=1, max_size=5),
    "sets": st.lists(st.sets(st.integers(1, 3)), min_size=1, max_size=5),
    "indices": st.lists(st.integers(0, 2), min_size=1, max_size=5),
}


def polar(X):
    """Length and direction, as a map for pull-backs."""
    return np.column_stack([np.hypot(X[:, 0], X[:, 1]), np.arctan2(X[:, 1], X[:, 0])])


def poisson_score(X):
    """Score of a Poisson law of mean 2, in its mean, by column."""
    return X / 2.0 - 1.0


_MIXTURE = k.MixtureModel(
    [0.4, 0.6], [[-1.0, 0.0], [1.5, 0.5]], [np.eye(2).tolist(), [[1.0, 0.3], [0.3, 0.5]]]
)
_CHAIN = k.MarkovModel("ab", [0.4, 0.6], [[0.7, 0.3], [0.2, 0.8]], length=4)
_GRAM = [[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]]

KERNELS = [
    Example(k.RBF(0.7)),
    Example(k.RBF((0.7, 1.9))),
    Example(k.ARD((0.5, 2.0))),
    Example(k.Mahalanobis(1.3)),
    Example(k.Mahalanobis((0.5, 2.0))),
    Example(k.Laplacian(0.8)),
    Example(k.Matern(0.6, nu=0.5)),
    Example(k.Matern((0.6, 1.1), nu=1.5)),
    Example(k.Matern(0.6, nu=2.5)),
    Example(k.RationalQuadratic(0.9, alpha=0.6)),
    Example(k.RationalQuadratic((0.9, 2.0), alpha=3.0)),
    Example(k.Periodic(0.8, period=1.7)),
    Example(k.Constant(1.7)),
    Example(k.White(0.3)),
    Example(k.Linear()),
    Example(k.Linear((0.5, 2.0))),
    Example(k.Polynomial(3)),
    Example(k.Polynomial(2, offset=1.5)),
    Example(k.RBF(0.7) + k.Linear(0.5)),
    Example(k.Sum(k.RBF(0.7), k.White(0.1))),
    Example(k.Product(k.Constant(2.0), k.RBF(0.7))),
    Example(k.Product(k.RBF(1.2), k.Periodic(1.0, period=2.0))),
    Example(k.Power(k.Linear() + 1.0, 2)),
    Example(k.Exp(k.Linear(), 3.0)),
    Example(k.FeatureRBF(k.Polynomial(2, offset=1.0), 4.0)),
    Example(k.Normalised(k.Linear(0.7) + 1.0)),
    Example(k.Centred(k.RBF(0.9), [[0.0, 1.0], [1.0, 0.5], [-1.0, 0.2]])),
    Example(k.Columns(k.RBF(0.8), (1,))),
    Example(k.Additive(k.RBF(0.8), ((0,), (1,), (0, 1)))),
    Example(k.Mapped(k.RBF(0.8), polar)),
    Example(k.Nystroem(k.RBF(1.1), [[0.0, 1.0], [1.0, 0.5], [-1.0, 0.2]])),
    Example(k.RandomFourier(k.RBF((0.9, 1.4)), draws=20)),
    Example(k.RandomFourier(k.Matern(0.9, nu=1.5), draws=20, seed=3)),
    Example(k.Fisher(k.GaussianModel([0.3, -0.2], [[1.0, 0.4], [0.4, 2.0]]))),
    Example(k.Fisher(k.GaussianModel([0.3, -0.2], [[1.0, 0.4], [0.4, 2.0]], of="both"))),
    Example(k.Fisher(_MIXTURE)),
    Example(k.Fisher(k.BernoulliModel((0.25, 0.6))), "binary"),
    Example(k.Fisher(k.BernoulliModel((0.25, 0.6)), naive=True), "binary"),
    Example(k.Fisher(k.ScoreFunction(poisson_score, [[0.5, 0.0], [0.0, 0.5]])), "vectors"),
    Example(k.Fisher(_CHAIN), "strings"),
    Example(k.BagOfWords(("ab", "ba", "a")), "strings"),
    Example(k.BagOfWords(("a", ("a", "b")), weights=(2.0, 0.5)), "tokens"),
    Example(k.Substring(3, decay=0.6), "strings"),
    Example(k.Substring(2, decay=1.2), "tokens"),
    Example(k.Subsequence(2, decay=0.6), "strings"),
    Example(k.Subsequence(1, decay=0.9), "tokens"),
    Example(2.0 * k.Normalised(k.Substring(2, decay=0.6)), "strings"),
    Example(k.Matching(), "strings"),
    Example(k.Intersection(), "sets"),
    Example(k.Intersection(((1, 0.5), (2, 1.0), (3, 2.0))), "sets"),
    Example(k.Precomputed(_GRAM), "indices"),
]

FREE_KERNELS = [
    k.RBF(Prior("InverseGamma", alpha=3, beta=2)),
    k.ARD(Prior("InverseGamma", alpha=3, beta=2, size=2)),
    Prior("HalfNormal", sigma=2.0) * k.Matern(Prior("Gamma", alpha=2, beta=1)) + k.White(),
    k.Periodic(1.0, period=Prior("LogNormal")),
    k.Polynomial(2, offset=Prior("Exponential", lam=1.0)),
    k.Exp(k.Linear(), Prior("HalfNormal", sigma=2.0)),
    k.Centred(k.RBF(Prior("HalfNormal", sigma=2.0)), [[0.0, 1.0], [1.0, 0.5]]),
]
