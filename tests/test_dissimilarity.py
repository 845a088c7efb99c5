import numpy as np
import pytest
from scipy.spatial.distance import cdist

from bayeskern.classic.dissimilarity import (
    as_distances,
    check_dissimilarity,
    check_similarity,
    distances_from_similarity,
    euclidean_by_shift,
    euclidean_by_squares,
    gram_from_distances,
    kuratowski_embedding,
    kuratowski_norm,
    metric_by_constant,
    nonnegative_offset,
    pivot_distances,
    schoenberg,
    similarity_from_distances,
    transform_metric,
)

CYCLE = np.array([[0, 2, 1, 1], [2, 0, 1, 1], [1, 1, 0, 2], [1, 1, 2, 0]], dtype=float)
STAR = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]], dtype=float)
SQUARES = np.array([[0.0, 1, 4], [1, 0, 1], [4, 1, 0]])  # squared distances of 0, 1, 2


def random_dissimilarity(seed, n=6):
    rng = np.random.default_rng(seed)
    D = rng.uniform(0.5, 5, (n, n))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


class TestAxioms:
    def test_squared_distances_break_only_the_triangle(self):
        report = check_dissimilarity(SQUARES)
        assert report.kind == "dissimilarity"
        assert report["triangle"].violation == 2 and report["triangle"].where == (0, 1, 2)
        assert all(report[a] for a in ("zero diagonal", "non-negative", "symmetric", "definite"))
        assert "fails by 2 at (0, 1, 2)" in str(report)

    def test_the_named_triple_is_the_worst(self):
        D = random_dissimilarity(0)
        i, j, k = check_dissimilarity(D)["triangle"].where
        brute = max(
            D[a, c] - D[a, b] - D[b, c] for a in range(6) for b in range(6) for c in range(6)
        )
        assert D[i, k] - D[i, j] - D[j, k] == pytest.approx(brute)

    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
    def test_invariant_under_scaling_and_permutation(self, scale):
        order = np.array([2, 0, 3, 1])
        for D in (CYCLE, STAR):
            assert check_dissimilarity(scale * D[np.ix_(order, order)]).kind == "metric"
        assert check_dissimilarity(scale * SQUARES).kind == "dissimilarity"

    def test_each_failure_is_located(self):
        D = CYCLE.copy()
        D[1, 1] = 0.5
        assert check_dissimilarity(D)["zero diagonal"].where == (1, 1)
        D = CYCLE.copy()
        D[0, 1] = -2
        report = check_dissimilarity(D)
        assert report.kind == "" and report["non-negative"].where == (0, 1)
        D = CYCLE.copy()
        D[2, 3] = 1.5
        assert set(check_dissimilarity(D)["symmetric"].where) == {2, 3}

    def test_duplicates_make_a_semi_metric(self):
        D = cdist([[0.0], [0.0], [1.0]], [[0.0], [0.0], [1.0]])
        assert check_dissimilarity(D).kind == "semi-metric"
        assert check_dissimilarity(D)["definite"].where == (0, 1)
        assert check_dissimilarity(D, duplicates=True).kind == "metric"

    def test_similarity_axioms(self):
        X = np.random.default_rng(0).standard_normal((8, 3))
        linear = X @ X.T
        report = check_similarity(linear)
        assert report.kind == "kernel" and not report["non-negative"]
        report = check_similarity(-(cdist(X, X) ** 2))
        assert report["conditionally positive"] and not report["positive semidefinite"]
        assert check_similarity(-np.eye(2)).kind == ""


class TestSchoenberg:
    def test_rectangle(self):
        X = np.array([[0, 0], [3, 0], [0, 4], [3, 4]], dtype=float)
        test = schoenberg(cdist(X, X))
        assert test.euclidean and test.rank == 2 and test.witness is None
        np.testing.assert_allclose(np.sort(test.eigenvalues)[-2:], [9, 16])

    @pytest.mark.parametrize(
        ("D", "spectrum"),
        [(CYCLE, [-1, 0, 2, 2]), (STAR, [-0.25, 0, 2, 2]), (np.sqrt(CYCLE), [0, 0, 1, 1])],
    )
    def test_small_metrics(self, D, spectrum):
        test = schoenberg(D)
        np.testing.assert_allclose(test.eigenvalues, spectrum, atol=1e-14)
        assert test.euclidean == (spectrum[0] >= 0)

    def test_the_witness_refutes(self):
        c = schoenberg(CYCLE).witness
        assert abs(c.sum()) < 1e-12
        assert -c @ CYCLE**2 @ c == pytest.approx(-2 * c @ c)  # 2 * lambda_min
        known = np.array([1, 1, -1, -1])
        assert -known @ CYCLE**2 @ known == -8


class TestRepairs:
    def test_pivot_is_a_semi_metric_on_a_line(self):
        P = pivot_distances(random_dissimilarity(1), 2)
        assert check_dissimilarity(P, duplicates=True).kind == "metric"
        assert schoenberg(P).rank <= 1

    @pytest.mark.parametrize("seed", [0, 1, 3, 4])
    def test_additive_constant_is_sharp(self, seed):
        D = random_dissimilarity(seed)
        repaired, c = metric_by_constant(D)
        assert c > 0 and check_dissimilarity(repaired).kind == "metric"
        less = D + (c - 1e-3) * (1 - np.eye(6))
        assert check_dissimilarity(less).kind == "dissimilarity"

    def test_shifted_squares(self):
        repaired, h = euclidean_by_squares(CYCLE)
        assert h == pytest.approx(2)
        np.testing.assert_allclose(schoenberg(repaired).eigenvalues, [0, 0, 3, 3], atol=1e-12)

    @pytest.mark.parametrize("D", [CYCLE, STAR, random_dissimilarity(3)])
    def test_shifted_distances_are_sharp(self, D):
        repaired, k = euclidean_by_shift(D)
        assert schoenberg(repaired, tol=1e-7).euclidean
        assert not schoenberg(D + (k - 1e-3) * (1 - np.eye(len(D)))).euclidean

    def test_shifted_cycle(self):
        repaired, k = euclidean_by_shift(CYCLE)
        assert k == pytest.approx(np.sqrt(2))
        expected = [0, 0, 5.828427125, 5.828427125]
        np.testing.assert_allclose(schoenberg(repaired).eigenvalues, expected, atol=1e-7)

    @pytest.mark.parametrize("how", ["root", "bounded", "log", "arctan", "shift"])
    def test_functions_of_a_metric_are_metrics(self, how):
        D = metric_by_constant(random_dissimilarity(4))[0]
        assert check_dissimilarity(transform_metric(D, how, 1.5)).kind == "metric"

    def test_bad_parameters(self):
        with pytest.raises(ValueError, match="at least 1 for a root"):
            transform_metric(CYCLE, "root", 0.5)
        with pytest.raises(ValueError, match="c must be positive"):
            transform_metric(CYCLE, "bounded", 0)
        with pytest.raises(ValueError, match="positive off its diagonal"):
            metric_by_constant(np.zeros((3, 3)))
        with pytest.raises(ValueError, match="pivot must be a row"):
            pivot_distances(CYCLE, 4)


class TestConversions:
    def test_gauss_kernel_distance(self):
        X = np.random.default_rng(1).standard_normal((6, 2))
        D = cdist(X, X)
        S = similarity_from_distances(D, "gauss", t=2.0)
        np.testing.assert_allclose(distances_from_similarity(S) ** 2, 2 - 2 * S, atol=1e-15)
        assert check_similarity(S).kind == "kernel"

    def test_inner_products_are_recovered(self):
        X = np.random.default_rng(2).standard_normal((6, 3))
        S = similarity_from_distances(cdist(X, X), "inner", origin=2)
        np.testing.assert_allclose(S, (X - X[2]) @ (X - X[2]).T, atol=1e-13)
        np.testing.assert_allclose(distances_from_similarity(S), cdist(X, X), atol=1e-7)

    def test_inner_products_of_the_cycle_are_indefinite(self):
        S = similarity_from_distances(CYCLE, "inner")
        expected = [-1.464101615, 0, 2, 5.464101615]
        np.testing.assert_allclose(np.linalg.eigvalsh(S), expected, atol=1e-9)
        with pytest.raises(ValueError, match="t must be positive"):
            similarity_from_distances(CYCLE, t=0.0)

    def test_complement_is_no_metric(self):
        S = np.array([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]])
        D = distances_from_similarity(S, "complement")
        assert check_dissimilarity(D)["triangle"].violation == pytest.approx(0.8)
        with pytest.raises(ValueError, match="unit diagonal"):
            distances_from_similarity(2 * S, "complement")

    def test_indefinite_similarity_is_refused(self):
        with pytest.raises(ValueError, match="points 0 and 1 would be -2"):
            distances_from_similarity([[0.0, 1.0], [1.0, 0.0]])

    def test_offset_keeps_the_centred_matrix(self):
        X = np.random.default_rng(3).standard_normal((5, 2))
        S, c = nonnegative_offset(X @ X.T)
        assert S.min() == 0 and c > 0
        J = np.eye(5) - 0.2
        np.testing.assert_allclose(J @ S @ J, J @ X @ X.T @ J, atol=1e-14)
        Z = X - X.mean(axis=0)
        np.testing.assert_allclose(gram_from_distances(cdist(X, X)), Z @ Z.T, atol=1e-13)


class TestKuratowski:
    D = np.array([[0, 5, 3, 6], [5, 0, 4, 1], [3, 4, 0, 5], [6, 1, 5, 0]], dtype=float)

    def test_isometry_into_the_supremum_norm(self):
        E = kuratowski_embedding(CYCLE)
        np.testing.assert_allclose(cdist(E, E, "chebyshev"), CYCLE)
        with pytest.raises(ValueError, match=r"triangle inequality by 2 at points \(0, 1, 2\)"):
            kuratowski_embedding(SQUARES)

    @pytest.mark.parametrize(("c", "norm"), [((-1, -1, -1, -1), 26 / 71), ((1, 0, 1, 0), 20 / 71)])
    def test_norms(self, c, norm):
        assert kuratowski_norm(self.D, c) == pytest.approx(norm)
        assert np.abs(np.linalg.solve(self.D, np.array(c, float))).sum() == pytest.approx(norm)

    def test_a_functional_outside_the_span_has_no_norm(self):
        assert kuratowski_norm(CYCLE, [1, 1, -1, -1]) == np.inf


@pytest.mark.parametrize(
    ("D", "message"),
    [
        ([[0, 1], [2, 0]], "symmetric"),
        ([[1, 1], [1, 0]], "zero diagonal, got 1 at"),
        ([[0, -1], [-1, 0]], "non-negative, got -1"),
        ([[0, np.inf], [np.inf, 0]], "finite"),
        ([[0, 1, 2], [1, 0, 1]], "square"),
        ([["a", "b"], ["b", "a"]], "numbers"),
    ],
)
def test_bad_distances_are_refused(D, message):
    with pytest.raises(ValueError, match=message):
        as_distances(D)
