"""Small named data sets: generated from a seed, written out here, or shipped with scikit-learn.

Nothing is downloaded. Labels of two classes are -1 and +1.

>>> data = load("two_moons", n=20, seed=1)
>>> data.X.shape, data.task
((20, 2), 'classification')
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskern._topics import ASTRONOMY, COOKING
from bayeskern.checks import as_array, positive, whole, within

HERBRICH = "Herbrich (2002), Learning Kernel Classifiers, MIT Press"
BREIMAN = "Breiman (1996), Bias, variance, and arcing classifiers"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs and outputs, and where they come from.

    Attributes
    ----------
    X : ndarray
        One row per point; for strings a vector of them, of dtype object.
    y : ndarray
        Labels -1 and +1, or real targets.
    feature_names : tuple of str
        One name per column, or a single one for strings.
    description : str
        What it is and what it is good for, in a sentence or two.
    source : str
        Where it comes from.
    query : ndarray, optional
        Points to predict at, for the sets whose predictions are known to many digits.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    description: str
    source: str
    query: np.ndarray | None = None

    def __post_init__(self):
        for array in (self.X, self.y, self.query):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Dataset({self.task}, X of shape {self.X.shape}: {self.description})"

    @property
    def task(self) -> str:
        """Classification if all targets are -1 or +1, else regression."""
        return "classification" if (np.abs(self.y) == 1).all() else "regression"

    def standardised(self) -> "Dataset":
        """Return a copy whose columns have mean 0 and standard deviation 1.

        A constant column becomes 0. The query points follow.
        """
        X = as_array(self.X, "X", ndim=2)
        mean, sd = X.mean(axis=0), X.std(axis=0)
        sd = np.where(sd > 0, sd, 1.0)
        query = None if self.query is None else (self.query - mean) / sd
        return dataclasses.replace(self, X=(X - mean) / sd, query=query)


_SETS: dict[str, Callable[..., Dataset]] = {}


def _named(function: Callable[..., Dataset]) -> Callable[..., Dataset]:
    _SETS[function.__name__] = function
    return function


def names() -> list[str]:
    """Return the names that `load` knows.

    >>> "ripley" in names()
    True
    """
    return sorted(_SETS)


def load(name: str, **settings: Any) -> Dataset:
    """Return a data set by name; ``settings`` go to the function of that name.

    >>> load("xor").y
    array([ 1.,  1., -1., -1.])
    """
    if name not in _SETS:
        raise ValueError(f"name must be one of {', '.join(names())}, got {name!r}")
    return _SETS[name](**settings)


# -- sets whose answers are known to many digits ----------------------------------------------


def _plain(X, y, description, *, query=None, source=HERBRICH, columns=None) -> Dataset:
    X, y = np.array(X, dtype=float), np.array(y, dtype=float)
    columns = columns or tuple(f"x{k + 1}" for k in range(X.shape[1]))
    query = None if query is None else np.array(query, dtype=float)
    return Dataset(X, y, columns, description, source, query)


@_named
def sixpoint() -> Dataset:
    """Six points on a line whose Gaussian-process evidence has two maxima."""
    x = [0.0, 1.4, 2.4, 3.3, 4.8, 5.6]
    t = [0.2, 0.0, -0.4, 0.1, -0.6, -1.9]
    what = "Six targets whose evidence has a short-scale and a long-scale maximum"
    return _plain(np.reshape(x, (-1, 1)), t, what)


@_named
def threepoint() -> Dataset:
    """Three labelled points on a line, small enough for quadrature."""
    what = "Three labelled points on a line, small enough for exact posteriors"
    return _plain([[-1.0], [0.0], [1.0]], [-1, 1, 1], what, query=[[0.5]])


@_named
def cone4() -> Dataset:
    """Four half-spaces through the origin of space, with a small common cone."""
    X = [[1.0, 0.2, 0.1], [-0.3, 1.0, 0.2], [0.1, -0.4, 1.0], [0.6, 0.5, -0.7]]
    return _plain(X, np.ones(4), "Four half-spaces in space, all labelled +1: a version space")


@_named
def gram3() -> Dataset:
    """Three points given by their inner products, and a fourth to predict.

    The linear kernel on ``X`` is the matrix (1, .5, .2; .5, 1, -.3; .2, -.3, 1); with the query
    it gives (.6, .3, .1), and the query has length 1. It lies outside the span of the points.
    """
    G = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
    L = np.linalg.cholesky(G)
    inside = np.linalg.solve(L, [0.6, 0.3, 0.1])
    query = np.append(inside, np.sqrt(1 - inside @ inside))
    what = "Three points given by their inner products, for the linear kernel"
    return _plain(np.column_stack([L, np.zeros(3)]), [1, 1, -1], what, query=query[None])


@_named
def twelve() -> Dataset:
    """Twelve points of two Gaussian-like classes in the plane."""
    plus = [(1.33, 1.07), (1.84, 1.30), (0.66, 1.56), (2.50, 2.15), (0.50, -0.07)]
    minus = [(-0.62, 0.04), (-2.33, -0.22), (-1.25, -0.73), (-0.54, -0.32)]
    minus += [(0.41, 1.04), (-0.13, 1.37), (-0.67, 0.35)]
    what = "Five and seven points of two overlapping classes, for Fisher discriminants"
    return _plain(plus + minus, [1] * 5 + [-1] * 7, what, query=[[0.6, 0.4]])


@_named
def separable6() -> Dataset:
    """Six points of the plane that a line through the origin separates."""
    X = [(2, 1), (1, 3), (3, 2), (-1, -2), (-2, 0), (0, -1)]
    return _plain(X, [1, 1, 1, -1, -1, -1], "Six points that a line through 0 separates")


@_named
def overlap8() -> Dataset:
    """The six separable points and two more, on the wrong sides."""
    six = separable6()
    X = np.vstack([six.X, [(-1, 1), (1, 0.5)]])
    what = "Eight points that a Gaussian kernel separates and a line through 0 does not"
    return _plain(X, np.append(six.y, [1, -1]), what)


@_named
def xor() -> Dataset:
    """Four corners of a square, labelled by the product of their coordinates."""
    X = [(1, 1), (-1, -1), (1, -1), (-1, 1)]
    return _plain(X, [1, 1, -1, -1], "Four corners of a square that no line separates")


@_named
def long_and_short() -> Dataset:
    """One long and one short point: a perceptron needs six updates on the second."""
    return _plain([(10, 0), (1, -1)], [1, -1], "Two points of very different length")


@_named
def line4() -> Dataset:
    """Three copies of 1 labelled +1 against one 2 labelled -1."""
    return _plain([[1], [1], [1], [2]], [1, 1, 1, -1], "Four points on a line, with repetitions")


# -- generated ---------------------------------------------------------------------------------


def _alternating(n: int, least: int = 2) -> np.ndarray:
    """Labels -1, +1, -1, ..., so that any first part is balanced."""
    return np.where(np.arange(whole(n, "n", least=least)) % 2 == 1, 1.0, -1.0)


@_named
def sinc(n: int = 40, noise: float = 0.1, seed: int = 1) -> Dataset:
    """Noisy values of sin(x) / x on an even grid from -10 to 10."""
    x = np.linspace(-10, 10, whole(n, "n", least=2))
    normal = np.random.default_rng(seed).normal(size=n)
    t = np.sinc(x / np.pi) + positive(noise, "noise", zero=True) * normal
    what = f"sin(x)/x at {n} points with Gaussian noise of sd {noise:g}"
    return _plain(x[:, None], t, what, source="generated, as in Tipping (2001)", columns=("x",))


@_named
def ard(n: int = 30, noise: float = 0.1, seed: int = 0) -> Dataset:
    """Noisy sine of the first of two inputs; the second is irrelevant."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (whole(n, "n", least=2), 2))
    t = np.sin(2 * X[:, 0]) + positive(noise, "noise", zero=True) * rng.normal(size=n)
    what = "A noisy sine of the first input, beside an irrelevant second one"
    return _plain(X, t, what, source="generated")


@_named
def noisy_sign(n: int = 30, noise: float = 0.5, seed: int = 0) -> Dataset:
    """Gaussian points labelled by the sign of the first coordinate plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(whole(n, "n", least=2), 2))
    y = np.where(X[:, 0] + positive(noise, "noise", zero=True) * rng.normal(size=n) > 0, 1, -1)
    return _plain(X, y, "Gaussian points, labelled by a noisy first coordinate", source="generated")


@_named
def two_moons(n: int = 100, noise: float = 0.15, seed: int = 0) -> Dataset:
    """Two interleaved half circles of radius 1."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(y[:, None] < 0, upper, np.array([1.0, 0.5]) - upper)
    X += positive(noise, "noise", zero=True) * rng.normal(size=(n, 2))
    return _plain(X, y, "Two interleaved half circles", source="generated")


@_named
def banana(n: int = 200, noise: float = 1.0, seed: int = 0) -> Dataset:
    """Two bent clouds that hook into each other, arcs of radius 5."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    angle = np.pi * np.where(y < 0, 0.125, 0.375)
    angle -= np.pi * 1.25 * y * rng.uniform(size=n)
    X = 5.0 * np.column_stack([np.sin(angle), np.cos(angle)]) - 3.75 * (y[:, None] > 0)
    X += positive(noise, "noise", zero=True) * rng.normal(size=(n, 2))
    what = "Two banana-shaped clouds that hook into each other"
    return _plain(X, y, what, source="generated, as in Duin's PRTools")


@_named
def ripley(n: int = 250, seed: int = 0) -> Dataset:
    """Two classes, each an even mixture of two round Gaussians of variance 0.03.

    The best possible error is 8.9 %.
    """
    y, rng = _alternating(n), np.random.default_rng(seed)
    minus, plus = np.array([(-0.7, 0.3), (0.3, 0.3)]), np.array([(-0.3, 0.7), (0.4, 0.7)])
    side = rng.integers(2, size=n)
    X = np.where(y[:, None] < 0, minus[side], plus[side])
    X = X + np.sqrt(0.03) * rng.normal(size=(n, 2))
    what = "Two overlapping classes, each with two centres"
    return _plain(X, y, what, source="generated, as in Ripley (1994)")


@_named
def twonorm(n: int = 200, seed: int = 0, dim: int = 20) -> Dataset:
    """Two unit Gaussians whose means are 4 apart; the best possible error is 2.3 %."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    X = rng.normal(size=(n, whole(dim, "dim", least=1))) + 2 / np.sqrt(dim) * y[:, None]
    return _plain(X, y, "Two unit Gaussians with opposite means", source=f"generated: {BREIMAN}")


@_named
def ringnorm(n: int = 200, seed: int = 0, dim: int = 20) -> Dataset:
    """A Gaussian of variance 4 around one of variance 1; the best possible error is 1.2 %."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    X = rng.normal(size=(n, whole(dim, "dim", least=1)))
    X = np.where(y[:, None] > 0, 2 * X, X + 2 / np.sqrt(dim))
    return _plain(X, y, "A narrow Gaussian inside a wide one", source=f"generated: {BREIMAN}")


@_named
def waveform(n: int = 200, seed: int = 0) -> Dataset:
    """Two of the three waveform classes: 21 noisy values of a mix of two triangular waves."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    place = np.arange(1, 22)
    first, second, third = (np.maximum(6 - np.abs(place - c), 0) for c in (11, 15, 7))
    u = rng.uniform(size=(n, 1))
    X = u * first + (1 - u) * np.where(y[:, None] < 0, second, third) + rng.normal(size=(n, 21))
    source = "generated: Breiman, Friedman, Olshen and Stone (1984), classes 1 and 2"
    return _plain(X, y, "Noisy mixtures of two triangular waves", source=source)


@_named
def spirals(n: int = 200, noise: float = 0.05, seed: int = 0, turns: float = 1.5) -> Dataset:
    """Two spirals around each other, of outer radius 1."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    r = np.sqrt(rng.uniform(0.05, 1, n))  # so that the points are even along the curve
    angle = 2 * np.pi * positive(turns, "turns") * r
    X = y[:, None] * np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    X += positive(noise, "noise", zero=True) * rng.normal(size=(n, 2))
    return _plain(X, y, "Two spirals around each other", source="generated")


@_named
def noisy_xor(n: int = 100, noise: float = 0.4, flip: float = 0.0, seed: int = 0) -> Dataset:
    """Gaussian clouds at the corners of a square, labelled crosswise, a share ``flip`` wrongly."""
    y, rng = _alternating(n), np.random.default_rng(seed)
    first = rng.choice([-1.0, 1.0], n)
    X = np.column_stack([first, first * y])
    X += positive(noise, "noise", zero=True) * rng.normal(size=(n, 2))
    y = np.where(rng.uniform(size=n) < within(flip, "flip", 0, 0.5), -y, y)
    what = f"Four clouds labelled crosswise, {100 * flip:g} % of them wrongly"
    return _plain(X, y, what, source="generated")


def _strings(texts: list[str], y, feature: str, description: str, source: str) -> Dataset:
    X = np.empty(len(texts), dtype=object)
    X[:] = texts
    return Dataset(X, np.array(y, dtype=float), (feature,), description, source)


@_named
def dna(n: int = 60, length: int = 40, mutation: float = 0.1, seed: int = 0) -> Dataset:
    """DNA-like strings of two families, each with its own motif at a random place.

    The rest is drawn from one background for both, so that only the motif tells them apart;
    each of its letters is replaced at random with probability ``mutation``.
    """
    y, rng = _alternating(n), np.random.default_rng(seed)
    motifs = {-1.0: "TATAATGC", 1.0: "GGCCAATC"}
    length, letters = whole(length, "length", least=8), np.array(list("ACGT"))
    mutation = within(mutation, "mutation", 0, 1)
    texts = []
    for label in y:
        text = rng.choice(letters, length)
        motif = np.array(list(motifs[float(label)]))
        start = rng.integers(length - len(motif) + 1)
        changed = rng.uniform(size=len(motif)) < mutation
        text[start : start + len(motif)] = np.where(changed, rng.choice(letters, 8), motif)
        texts.append("".join(text))
    what = "DNA-like strings of two families that differ in one short motif"
    return _strings(texts, y, "sequence", what, "generated")


@_named
def topics() -> Dataset:
    """Forty short sentences about cooking (-1) and astronomy (+1)."""
    pairs = [text for both in zip(COOKING, ASTRONOMY, strict=True) for text in both]
    what = "Short sentences about cooking and astronomy"
    return _strings(pairs, _alternating(len(pairs)), "text", what, "written for this package")


# -- real, shipped with scikit-learn -----------------------------------------------------------


def _shipped(loader: str, positive_class: int, negative_class: int, source: str) -> Dataset:
    from sklearn import datasets

    data = getattr(datasets, f"load_{loader}")()
    classes = [str(c) for c in data.target_names]
    for label in (positive_class, negative_class):
        if whole(label, "a class") >= len(classes):
            raise ValueError(f"a class of {loader} must be below {len(classes)}, got {label}")
    if positive_class == negative_class:
        raise ValueError(f"the two classes must differ, got {positive_class} twice")
    keep = (data.target == positive_class) | (data.target == negative_class)
    y = np.where(data.target[keep] == positive_class, 1.0, -1.0)
    columns = tuple(str(c) for c in data.feature_names)
    what = f"{loader}: {classes[positive_class]} (+1) against {classes[negative_class]} (-1)"
    return Dataset(np.array(data.data[keep], dtype=float), y, columns, what, source)


@_named
def breast_cancer() -> Dataset:
    """Measurements of cell nuclei: malignant (+1) against benign (-1)."""
    source = "Wolberg, Mangasarian and Street (1995), UCI; shipped with scikit-learn"
    return _shipped("breast_cancer", 0, 1, source)


@_named
def iris(plus: int = 2, minus: int = 1) -> Dataset:
    """Two of three species of iris; virginica against versicolor unless told otherwise."""
    return _shipped("iris", plus, minus, "Fisher (1936); shipped with scikit-learn")


@_named
def wine(plus: int = 1, minus: int = 0) -> Dataset:
    """Chemical analysis of wines of two of three growers."""
    return _shipped("wine", plus, minus, "Forina et al. (1991), UCI; shipped with scikit-learn")


@_named
def digits(plus: int = 8, minus: int = 3) -> Dataset:
    """Two of the ten digits, 8 by 8 grey values from 0 to 16."""
    source = "Alpaydin and Kaynak (1998), UCI; shipped with scikit-learn"
    return _shipped("digits", plus, minus, source)


@_named
def diabetes() -> Dataset:
    """Progression of diabetes after a year, from ten standardised measurements."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes()
    what = "Progression of diabetes after a year"
    source = "Efron, Hastie, Johnstone and Tibshirani (2004); shipped with scikit-learn"
    return Dataset(
        np.array(data.data), np.array(data.target), tuple(data.feature_names), what, source
    )
