import pickle
import warnings

import catalogue
import numpy as np
import pytest
from catalogue import FREE_KERNELS, KERNELS, STRATEGIES
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskern
from bayeskern import kernels as k
from bayeskern.errors import NotPSDError
from bayeskern.kernels import Kernel
from bayeskern.priors import Prior

VECTORS = [e for e in KERNELS if e.kind == "vectors"]
TENSORS = [e for e in VECTORS if not isinstance(e.kernel, k.Fisher | k.Mapped)]
LEARNED = [e for e in KERNELS if e.kernel._owned()]


def joined(X, Z):
    return np.vstack([X, Z]) if isinstance(X, np.ndarray) else [*X, *Z]


def value(kernel, name):
    return np.asarray(kernel._owned()[name], dtype=float)


def central_difference(kernel, name, number, h=1e-6):
    """Derivative of ``number(kernel)`` in every entry of one parameter."""
    at = value(kernel, name)
    slope = np.zeros(at.shape)
    for i in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[i] += h
        down[i] = max(down[i] - h, 0.0)
        change = number(kernel.with_values({name: up})) - number(kernel.with_values({name: down}))
        slope[i] = change / (up[i] - down[i])
    return slope


def assert_gradients(kernel, gradients, number):
    assert set(gradients) == set(kernel._owned())
    for name in gradients:
        expected = central_difference(kernel, name, number)
        assert np.shape(gradients[name]) == expected.shape
        if value(kernel, name).min() > 0:  # the one-sided difference at zero is not as good
            np.testing.assert_allclose(gradients[name], expected, rtol=1e-6, atol=1e-7)
        else:
            np.testing.assert_allclose(gradients[name], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("example", KERNELS, ids=str)
class TestEveryKernel:
    def test_gram_is_symmetric_to_the_last_bit(self, example):
        K = example.kernel(example.X)
        assert K.shape == (len(example.X),) * 2
        assert np.array_equal(K, K.T)
        assert np.isfinite(K).all()

    @settings(max_examples=25, deadline=None)
    @given(data=st.data())
    def test_gram_is_positive_semidefinite(self, example, data):
        X = data.draw(STRATEGIES[example.kind])
        K = example.kernel(X)
        assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(np.trace(K), 1e-300)
        np.testing.assert_allclose(np.diagonal(K), example.kernel.diag(X), rtol=1e-9, atol=1e-9)

    def test_diagonal(self, example):
        K = example.kernel(example.X)
        np.testing.assert_allclose(example.kernel.diag(example.X), np.diagonal(K), rtol=1e-12)

    def test_parts_of_the_gram_matrix_do_not_depend_on_the_rest(self, example):
        n = len(example.X)
        K = example.kernel(joined(example.X, example.Z))
        np.testing.assert_allclose(example.kernel(example.X), K[:n, :n], rtol=1e-9, atol=1e-12)
        cross = example.kernel(example.X, example.Z)
        np.testing.assert_allclose(cross, K[:n, n:], rtol=1e-9, atol=1e-12)
        back = example.kernel(example.Z, example.X)
        np.testing.assert_allclose(back, cross.T, rtol=1e-9, atol=1e-12)

    def test_explicit_features(self, example):
        try:
            F = example.kernel.features(example.X)
        except ValueError as error:
            assert "finite feature map" in str(error)
            return
        FZ = example.kernel.features(example.Z)
        cross = example.kernel(example.X, example.Z)
        np.testing.assert_allclose(F @ FZ.T, cross, rtol=1e-9, atol=1e-12)

    def test_pickles_and_compares(self, example):
        copy = pickle.loads(pickle.dumps(example.kernel))
        assert copy == example.kernel
        assert hash(copy) == hash(example.kernel)
        assert np.array_equal(copy(example.X), example.kernel(example.X))

    def test_repr_evaluates_back(self, example):
        names = {name: getattr(k, name) for name in k.__all__} | {"Prior": Prior}
        again = eval(repr(example.kernel), names | vars(catalogue))
        assert again == example.kernel

    def test_differs_from_every_other(self, example):
        assert sum(example.kernel == other.kernel for other in KERNELS) == 1

    @pytest.mark.parametrize("bad", [[], None, 3.0], ids=repr)
    def test_what_is_no_set_of_inputs_is_refused(self, example, bad):
        with pytest.raises(ValueError, match="must"):
            example.kernel(bad)


@pytest.mark.parametrize("example", LEARNED, ids=str)
class TestGradients:
    def test_pullback_on_one_set(self, example):
        kernel, X = example.kernel, example.X
        G = np.random.default_rng(1).normal(size=(len(X), len(X)))
        assert_gradients(kernel, kernel.pullback(X, G), lambda q: np.vdot(G, q(X)))

    def test_pullback_between_two_sets(self, example):
        kernel, X, Z = example.kernel, example.X, example.Z
        G = np.random.default_rng(2).normal(size=(len(X), len(Z)))
        assert_gradients(kernel, kernel.pullback(X, G, Z), lambda q: np.vdot(G, q(X, Z)))

    def test_pullback_of_the_diagonal(self, example):
        kernel, X = example.kernel, example.X
        g = np.random.default_rng(3).normal(size=len(X))
        assert_gradients(kernel, kernel.pullback_diag(X, g), lambda q: g @ q.diag(X))


class TestPyTensor:
    """All kernels in one function, so that there is one compilation."""

    def run(self, outputs, inputs):
        import pytensor

        return pytensor.function(list(inputs), outputs, mode="FAST_COMPILE")(*inputs.values())

    def test_tensor_inputs_agree_with_numpy(self):
        import pytensor.tensor as pt

        X, Z = (pt.matrix(shape=(None, 2)) for _ in range(2))
        examples = [e for e in TENSORS if not isinstance(e.kernel, k.Centred)]
        outputs = [out for e in examples for out in (e.kernel(X), e.kernel(X, Z), e.kernel.diag(X))]
        outputs = [pt.as_tensor(out) for out in outputs]
        results = iter(self.run(outputs, {X: VECTORS[0].X, Z: VECTORS[0].Z}))
        for e in examples:
            expected = (e.kernel(e.X), e.kernel(e.X, e.Z), e.kernel.diag(e.X))
            for expect in expected:
                np.testing.assert_allclose(next(results), expect, rtol=1e-9, atol=1e-9)

    def test_tensor_parameters_agree_and_their_gradient_is_the_pullback(self):
        import pytensor.tensor as pt

        examples = [e for e in VECTORS if e.kernel._owned()]
        G = np.random.default_rng(4).normal(size=(6, 6))
        outputs, inputs, expected = [], {}, []
        for e in examples:
            at = {name: value(e.kernel, name) for name in e.kernel._owned()}
            symbols = {n: pt.tensor(n, shape=v.shape, dtype=float) for n, v in at.items()}
            inputs |= {symbols[n]: at[n] for n in at}
            K = pt.as_tensor(e.kernel.with_values(symbols)(e.X))
            outputs += [K, *pt.grad((G * K).sum(), list(symbols.values()))]
            pulled = e.kernel.pullback(e.X, G)
            expected += [(e, e.kernel(e.X)), *((e, pulled[n]) for n in at)]
        results = self.run(outputs, inputs)
        for result, (e, expect) in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, expect, rtol=1e-6, atol=1e-8, err_msg=str(e))

    def test_kernels_on_strings_are_constants_in_a_model(self):
        import pytensor.tensor as pt

        amplitude = pt.scalar()
        texts = ["abab", "ba"]
        kernel = k.Constant(amplitude) * k.Subsequence(2)
        (K,) = self.run([kernel(texts)], {amplitude: 3.0})
        np.testing.assert_allclose(K, 3.0 * k.Subsequence(2)(texts))
        with pytest.raises(ValueError, match="cannot be a PyMC variable"):
            k.Subsequence(2, decay=pt.scalar())


def test_no_public_kernel_is_missing_from_the_catalogue():
    public = {getattr(k, name) for name in k.__all__}
    public = {q for q in public if isinstance(q, type) and issubclass(q, Kernel)}
    models = {getattr(k, n) for n in k.__all__ if n.endswith(("Model", "Function"))}
    used = {type(e.kernel.model) for e in KERNELS if isinstance(e.kernel, k.Fisher)}
    assert public - {Kernel} <= {type(e.kernel) for e in KERNELS}
    assert models - {k.ScoreModel, k.RKHSFunction} <= used


def test_top_level_lends_the_same_kernels():
    assert bayeskern.RBF is k.RBF and bayeskern.Subsequence is k.Subsequence
    assert bayeskern.kernels is k


class TestFreeParameters:
    @pytest.mark.parametrize("kernel", FREE_KERNELS, ids=repr)
    def test_have_no_numbers_until_given(self, kernel):
        X = VECTORS[0].X
        with pytest.raises(ValueError, match="free parameter"):
            kernel(X)
        with pytest.raises(ValueError, match="free parameter"):
            kernel.pullback(X, np.ones((6, 6)))
        given = kernel.with_values({name: p.median() for name, p in kernel.free().items()})
        assert not given.free()
        assert np.isfinite(given(X)).all()

    @pytest.mark.parametrize("kernel", FREE_KERNELS, ids=repr)
    def test_survive_pickle_and_repr(self, kernel):
        names = {name: getattr(k, name) for name in k.__all__} | {"Prior": Prior}
        assert pickle.loads(pickle.dumps(kernel)) == kernel == eval(repr(kernel), names)

    def test_two_owners_of_a_variable_are_refused(self):
        prior = Prior("HalfNormal", sigma=1.0)
        with pytest.raises(ValueError, match="both own the variable 'rbf_lengthscale'"):
            (k.RBF(prior) + k.RBF(prior) * k.Linear()).free()

    def test_decay_of_strings_can_be_free(self):
        kernel = k.Subsequence(2, decay=Prior("Exponential", lam=2.0))
        assert list(kernel.free()) == ["subsequence_decay"]
        with pytest.raises(ValueError, match="free parameter"):
            kernel(["ab", "ba"])


BAD_VECTORS = {
    "NaN": [[0.0, np.nan], [1.0, 2.0]],
    "infinity": [[0.0, np.inf], [1.0, 2.0]],
    "empty": np.zeros((0, 2)),
    "no columns": np.zeros((2, 0)),
    "ragged": [[0.0, 1.0], [2.0]],
    "vector": [1.0, 2.0],
    "cube": np.zeros((2, 2, 2)),
    "text": [["a", "b"], ["c", "d"]],
    "mixed": [[0.0, "a"], [1.0, 2.0]],
    "complex": [[1j, 0.0]],
}
BAD_STRINGS = {
    "bare string": "abc",
    "number among strings": ["abc", 3],
    "string among lists": [["a"], "b"],
    "mixed tokens": [["a", 1]],
    "real tokens": [[0.5, 1.5]],
    "unhashable tokens": [[["a"]]],
    "matrix": np.zeros((2, 2)),
    "missing": ["abc", None],
}
INDIFFERENT = (k.Constant, k.White)  # they look at the number of inputs alone


class TestBadInput:
    @pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS)
    @pytest.mark.parametrize(
        "example", [e for e in VECTORS if not isinstance(e.kernel, INDIFFERENT)], ids=str
    )
    def test_vectors(self, example, bad):
        with pytest.raises(ValueError, match=r"must"):
            example.kernel(bad)
        with pytest.raises(ValueError, match=r"must"):
            example.kernel(example.X, bad)
        with pytest.raises(ValueError, match=r"must"):
            example.kernel.diag(bad)

    @pytest.mark.parametrize("bad", BAD_STRINGS.values(), ids=BAD_STRINGS)
    @pytest.mark.parametrize("kernel", [k.BagOfWords(("a",)), k.Substring(), k.Subsequence()])
    def test_strings(self, kernel, bad):
        with pytest.raises(ValueError, match=r"must"):
            kernel(bad)
        with pytest.raises(ValueError, match=r"must"):
            kernel.diag(bad)

    @pytest.mark.parametrize(
        "make, message",
        [
            (lambda: k.RBF(-1.0), "lengthscale must be positive, got -1.0"),
            (lambda: k.RBF(0.0), "lengthscale must be positive"),
            (lambda: k.RBF(np.nan), "lengthscale must be a finite number, got nan"),
            (lambda: k.RBF("1"), "lengthscale must be a finite number, got '1'"),
            (lambda: k.RBF((1.0, -2.0)), "lengthscale must be positive, got -2.0"),
            (lambda: k.RBF([[1.0]]), "got shape"),
            (lambda: k.ARD(1.0), "one entry per input, got 1.0"),
            (lambda: k.Matern(nu=2.0), "nu must be 0.5, 1.5 or 2.5, got 2.0"),
            (lambda: k.RationalQuadratic(alpha=0), "alpha must be positive"),
            (lambda: k.Periodic(period=-1), "period must be positive"),
            (lambda: k.Periodic((1.0, 2.0)), "lengthscale must be a finite number"),
            (lambda: k.Linear(-1.0), "variance must be positive"),
            (lambda: k.Polynomial(2.5), "degree must be an integer, got 2.5"),
            (lambda: k.Polynomial(2.0), "degree must be an integer, got 2.0"),
            (lambda: k.Polynomial(0), "degree must be at least 1"),
            (lambda: k.Polynomial(2, offset=-1.0), "offset must be non-negative, got -1.0"),
            (lambda: k.RBF() ** 0.5, "exponent of a kernel must be an integer, got 0.5"),
            (lambda: k.RBF() ** True, "exponent of a kernel must be an integer"),
            (lambda: -1.0 * k.RBF(), "value must be positive, got -1.0"),
            (lambda: k.RBF() + -1.0, "value must be positive, got -1.0"),
            (lambda: k.RBF().exp(0.0), "scale must be positive"),
            (lambda: k.RBF().on(-1), "columns must be at least 0"),
            (lambda: k.RBF().on([]), "columns must be distinct and at least one"),
            (lambda: k.RBF().on([1, 1]), "columns must be distinct"),
            (lambda: k.RBF().on(1.5), "must be an integer"),
            (lambda: k.RBF().through("f"), "function must be callable"),
            (lambda: k.RBF().centre([[np.nan]]), "must be finite"),
            (lambda: k.Additive(k.RBF(), ()), "subsets must be a sequence"),
            (lambda: k.Substring(0), "length must be at least 1"),
            (lambda: k.Substring(1.5), "length must be an integer"),
            (lambda: k.Subsequence(2, decay=0.0), "decay must be positive"),
            (lambda: k.BagOfWords(()), "not empty"),
            (lambda: k.BagOfWords(("a", "")), "not empty"),
            (lambda: k.BagOfWords("ab"), "must be a sequence of words"),
            (lambda: k.BagOfWords(("a", "a")), "a word twice, got 'a'"),
            (lambda: k.BagOfWords(("a",), (1.0, 2.0)), "one entry per word"),
            (lambda: k.BagOfWords(("a",), (-1.0,)), "a weight must be non-negative"),
            (lambda: k.Intersection({1: -1.0}), "a weight must be non-negative"),
            (lambda: k.RandomFourier(k.Periodic()), "does not offer its spectral density"),
            (lambda: k.RandomFourier(k.Linear()), "must be a stationary kernel"),
            (lambda: k.RandomFourier(k.RBF(), draws=0), "draws must be at least 1"),
            (lambda: k.Fisher(k.RBF()), "must be a ScoreModel"),
            (lambda: k.BernoulliModel((0.0,)), "strictly between 0 and 1"),
            (lambda: k.GaussianModel([0.0], [[0.0]]), "must be positive definite"),
            (lambda: k.GaussianModel([0.0], [[1.0]], of="sd"), "of must be one of"),
            (lambda: k.MarkovModel("ab", [0.5, 0.6], np.eye(2), 3), "sum to 1"),
            (lambda: k.MarkovModel("ab", [0.5, 0.5], np.eye(2), 3), "must be positive and sum"),
            (lambda: k.MixtureModel([1.0], [[0.0]], [[[-1.0]]]), "must be positive definite"),
            (lambda: k.ScoreFunction(np.sin, [[1.0, 2.0], [2.0, 1.0]]), "positive semidefinite"),
        ],
    )
    def test_settings(self, make, message):
        with pytest.raises(ValueError, match=message):
            make()

    def test_wrong_number_of_columns(self):
        X = VECTORS[0].X
        with pytest.raises(ValueError, match="as many features, got 2 and 3"):
            k.RBF()(X, np.zeros((2, 3)))
        with pytest.raises(ValueError, match="one entry per feature, got 3 for 2"):
            k.RBF((1.0, 2.0, 3.0))(X)
        with pytest.raises(ValueError, match="one entry per feature, got 3 for 2"):
            k.Linear((1.0, 2.0, 3.0))(X)
        with pytest.raises(ValueError, match="columns must exist, got 2 of 2"):
            k.RBF().on(2)(X)

    def test_indefinite_gram_matrix(self):
        with pytest.raises(NotPSDError, match="smallest eigenvalue -1"):
            k.Precomputed([[1.0, 2.0], [2.0, 1.0]])
        with pytest.raises(ValueError, match="matrix must be symmetric"):
            k.Precomputed([[1.0, 2.0], [0.0, 1.0]])
        with pytest.raises(ValueError, match="matrix must be square"):
            k.Precomputed(np.ones((2, 3)))
        with pytest.raises(ValueError, match="indices from 0 to 1, got 2"):
            k.Precomputed(np.eye(2))([0, 2])
        with pytest.raises(ValueError, match=r"indices from 0 to 1, got 0\.5"):
            k.Precomputed(np.eye(2))([0.5])

    def test_overflow_is_said_and_never_returned(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="overflows"):
                k.Polynomial(200)([[1e3]])
            with pytest.raises(ValueError, match="overflows"):
                k.Linear().exp()([[1e3]])
            with pytest.raises(ValueError, match="overflows"):
                k.Subsequence(2, decay=3.0)(["a" * 400])

    def test_normalising_a_zero_is_refused_with_its_index(self):
        with pytest.raises(ValueError, match=r"k\(x, x\) = 0 .* at index 1"):
            k.Linear().normalise()([[1.0], [0.0]])
        with pytest.raises(ValueError, match="at index 0"):
            k.Subsequence(3).normalise()(["ab", "abc"])

    def test_strings_and_vectors_do_not_add(self):
        with pytest.raises(ValueError, match="must"):
            (k.RBF() + k.Substring())(["ab", "ba"])
        with pytest.raises(ValueError, match="must"):
            (k.Substring() + k.RBF())([[1.0], [2.0]])

    @pytest.mark.parametrize("other", ["a", None, [1.0], True])
    def test_only_kernels_numbers_and_priors_combine(self, other):
        with pytest.raises(TypeError):
            k.RBF() + other
        with pytest.raises(TypeError):
            other * k.RBF()
