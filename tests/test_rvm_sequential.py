"""The fast sequential algorithm, kernel widths by evidence, and variational Bayes."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad

import bayeskern as bk
from bayeskern.errors import ConvergenceWarning
from bayeskern.infer import _sparse_moves as moves
from bayeskern.infer._candidates import Candidates
from bayeskern.infer._weights import evidence_slopes
from bayeskern.infer.sparse_bayes import sparsity_quality
from bayeskern.infer.sparse_fit import climb, posterior_mode

FREE = bk.Gaussian(bk.Prior("HalfNormal"))
WIDTH = bk.Prior("InverseGamma", alpha=3, beta=6)


def evidence(X, t, theta, sigma2):
    C = (X * theta) @ X.T + sigma2 * np.eye(len(t))
    return stats.multivariate_normal(np.zeros(len(t)), C).logpdf(t)


class Direct:
    """The state of the moves, each number from its definition."""

    def __init__(self, X, t, active, theta, sigma2):
        Phi = X[:, active]
        C = (Phi * theta) @ Phi.T + sigma2 * np.eye(len(t))
        self.S = np.einsum("ij,ij->j", X, np.linalg.solve(C, X))
        self.Q = X.T @ np.linalg.solve(C, t)
        self.Sigma = np.linalg.inv(Phi.T @ Phi / sigma2 + np.diag(1 / theta))
        self.mu = self.Sigma @ Phi.T @ t / sigma2
        self.H = X.T @ Phi / sigma2

    def arrays(self, theta, room=8):
        M = len(theta)
        A, mu = np.zeros(room), np.zeros(room)
        Sigma, H = np.zeros((room, room)), np.zeros((len(self.S), room))
        A[:M], mu[:M], Sigma[:M, :M], H[:, :M] = 1 / theta, self.mu, self.Sigma, self.H
        return H, self.S.copy(), self.Q.copy(), A, Sigma, mu


class TestMoves:
    def setup_method(self):
        rng = np.random.default_rng(0)
        self.X, self.t = rng.normal(size=(15, 6)), rng.normal(size=15)
        self.active, self.theta, self.s2 = np.array([1, 4, 2]), np.array([0.7, 0.2, 1.9]), 0.3
        self.state = Direct(self.X, self.t, self.active, self.theta, self.s2)

    def check(self, arrays, M, active, theta):
        H, S, Q, A, Sigma, mu = arrays
        want = Direct(self.X, self.t, active, theta, self.s2)
        np.testing.assert_allclose(S, want.S, rtol=1e-10)
        np.testing.assert_allclose(Q, want.Q, rtol=1e-9)
        np.testing.assert_allclose(Sigma[:M, :M], want.Sigma, atol=1e-12)
        np.testing.assert_allclose(mu[:M], want.mu, atol=1e-12)
        np.testing.assert_allclose(H[:, :M], want.H, atol=1e-12)
        np.testing.assert_allclose(A[:M], 1 / theta)

    def value(self, active, theta):
        return evidence(self.X[:, active], self.t, theta, self.s2)

    def test_add(self):
        arrays = self.state.arrays(self.theta)
        S, Q = self.state.S[5], self.state.Q[5]
        M = moves.add(5, 1 / 0.4, self.X.T @ self.X[:, 5] / self.s2, *arrays, 3)
        active, theta = np.append(self.active, 5), np.append(self.theta, 0.4)
        self.check(arrays, M, active, theta)
        gain = self.value(active, theta) - self.value(self.active, self.theta)
        A = 1 / 0.4
        assert 2 * gain == pytest.approx(np.log(A / (A + S)) + Q**2 / (A + S), rel=1e-9)

    def test_reestimate(self):
        arrays = self.state.arrays(self.theta)
        moves.reestimate(1, 1 / 3.0, *arrays, 3)
        theta = np.array([0.7, 3.0, 1.9])
        self.check(arrays, 3, self.active, theta)
        S, Q = self.state.S[4], self.state.Q[4]
        change = 3.0 - 0.2
        gain = self.value(self.active, theta) - self.value(self.active, self.theta)
        table = Q**2 / (S + 1 / change) - np.log(1 + S * change)
        assert 2 * gain == pytest.approx(table, rel=1e-9)

    def test_delete(self):
        arrays = self.state.arrays(self.theta)
        active = np.zeros(8, dtype=np.int64)
        active[:3] = self.active
        M = moves.delete(0, *arrays, active, 3)
        assert active[:2].tolist() == [2, 4]
        self.check(arrays, M, active[:2], np.array([1.9, 0.2]))
        S, Q, A = self.state.S[1], self.state.Q[1], 1 / 0.7
        gain = self.value(self.active[1:], self.theta[1:]) - self.value(self.active, self.theta)
        assert 2 * gain == pytest.approx(Q**2 / (S - A) - np.log(1 - S / A), rel=1e-9)

    def test_best_variance_of_one_column(self):
        s, q = 2.0, 3.0
        best = (q**2 - s) / s**2
        grid = best * np.geomspace(0.01, 100, 2001)
        values = [moves.gain_at(theta, s, q) for theta in grid]
        assert np.argmax(values) == 1000
        assert max(values) == pytest.approx(q**2 / s - 1 - np.log(q**2 / s))

    def test_labels_have_the_slope_for_quality(self):
        data = bk.datasets.ripley(30)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(0.5), bk.Logit())
        X, theta = rvm.columns(), np.array([2.0, 1.0, 3.0])
        Phi = X[:, [0, 4, 9]]
        mode = posterior_mode(rvm, Phi, theta, {})
        S, Q, _ = sparsity_quality(X, Phi, mode.state, mode.W, mode.slope)
        C = np.diag(1 / mode.W) + (Phi * theta) @ Phi.T
        working = mode.f + mode.slope / mode.W
        np.testing.assert_allclose(Q, X.T @ np.linalg.solve(C, working), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(S, np.einsum("ij,ij->j", X, np.linalg.solve(C, X)), rtol=1e-4)


class TestSequential:
    def test_sinc(self):
        data = bk.datasets.sinc()
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), FREE)
        fit = bk.SparseSequential(tol=1e-9).fit(rvm)
        assert fit.converged
        # the evidence has several maxima: 25.3857 and 25.7303 are two of them
        assert 25.3857 < fit.log_evidence < 25.7304
        assert (np.diff(fit.trace) > -1e-9).all()
        assert fit.log_evidence == pytest.approx(fit.trace[-1], abs=1e-8)

    @pytest.mark.parametrize("seed", range(3))
    def test_end_is_a_stationary_point(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 15))
        t = X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=40)
        rvm = bk.RelevanceVector(X, t, None, FREE, bias=False)
        fit = bk.SparseSequential(tol=1e-11).fit(rvm)
        s2 = fit.hyper["noise_sigma"] ** 2
        full = Direct(X, t, fit.relevance, fit.theta, s2)
        kept = np.isin(np.arange(15), fit.relevance)
        np.testing.assert_allclose(full.Q[kept] ** 2, full.S[kept], rtol=1e-3)
        assert (full.Q[~kept] ** 2 <= full.S[~kept] * (1 + 1e-4)).all()
        one = bk.SparseBayes(tol=1e-8).fit(rvm)  # here the maximum is the same
        assert fit.log_evidence == pytest.approx(one.log_evidence, abs=1e-6)
        np.testing.assert_array_equal(fit.relevance, one.relevance)

    def test_labels_agree_with_the_fixed_point(self):
        data = bk.datasets.ripley(100)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(0.5), bk.Logit())
        fit = bk.SparseSequential(tol=1e-8).fit(rvm)
        assert (np.diff(fit.trace) > 0).all()
        X = rvm.columns()
        Phi = X[:, fit.relevance]
        mode = posterior_mode(rvm, Phi, fit.theta, {})
        np.testing.assert_allclose(fit.theta, mode.w**2 / mode.state.zeta, rtol=5e-3)
        assert fit.log_evidence > bk.SparseBayes().fit(rvm).log_evidence - 1.0

    def test_streamed_columns_give_the_same_fit(self):
        data = bk.datasets.sinc(60)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), FREE)
        kept = bk.SparseSequential().fit(rvm)
        streamed = bk.SparseSequential(max_bytes=8 * 60 * 7).fit(rvm)
        assert streamed.log_evidence == pytest.approx(kept.log_evidence, rel=1e-10)
        pool = Candidates(rvm, {}, np.arange(61), 8 * 60 * 7)
        assert max(B.shape[1] for _, B in pool.blocks()) == 7
        labels = bk.datasets.ripley(60)
        rvm = bk.RelevanceVector(labels.X, labels.y, bk.RBF(0.5), bk.Logit())
        few = bk.SparseSequential(max_bytes=1).fit(rvm)
        assert few.log_evidence == pytest.approx(bk.SparseSequential().fit(rvm).log_evidence)

    def test_some_candidates_only(self):
        data = bk.datasets.sinc(300)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), FREE)
        few = bk.SparseSequential(candidates=50)
        fit = few.fit(rvm, random_seed=3)
        assert fit.screened == 51
        np.testing.assert_array_equal(fit.relevance, few.fit(rvm, random_seed=3).relevance)
        assert fit.log_evidence > bk.SparseSequential().fit(rvm).log_evidence - 3

    def test_more_active_columns_than_room(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 60))
        t = X @ rng.normal(size=60) + 0.1 * rng.normal(size=200)
        fit = bk.SparseSequential().fit(bk.RelevanceVector(X, t, None, FREE, bias=False))
        assert len(fit.relevance) > 50 and fit.converged
        assert fit.log_evidence == pytest.approx(fit.trace[-1], rel=1e-8)

    def test_stops_at_its_limit(self):
        data = bk.datasets.sinc(60)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), FREE)
        with pytest.warns(ConvergenceWarning, match="SparseSequential stopped"):
            assert not bk.SparseSequential(max_iter=2).fit(rvm).converged

    def test_one_result_form(self):
        data = bk.datasets.ripley(60)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(0.5), bk.Logit())
        tree = bk.SparseSequential(draws=50).run(rvm, random_seed=0)
        assert tree["posterior"]["w"].shape == (1, 50, 61)
        assert tree.attrs["evidence_kind"] == "laplace"
        assert (np.diff(tree["fit"]["trace"].values) > 0).all()


class TestKernelByEvidence:
    @pytest.mark.parametrize("labels", [False, True])
    def test_gradient_for_the_basis_reaches_the_width(self, labels):
        data = bk.datasets.ripley(30) if labels else bk.datasets.sinc(30)
        likelihood = bk.Logit() if labels else bk.Gaussian(0.2)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(WIDTH), likelihood)
        index, theta = np.array([0, 3, 11, 20]), np.array([0.5, 1.0, 2.0, 0.3])

        def value(width):
            hyper = {"rbf_lengthscale": width}
            return posterior_mode(rvm, rvm.columns(index, theta=hyper), theta, hyper)

        Phi = rvm.columns(index, theta={"rbf_lengthscale": 0.9})
        _, slope = evidence_slopes(Phi, value(0.9), data.y, likelihood)
        got = bk.RBF(0.9).pullback(data.X, slope[:, 1:], data.X[index[1:] - 1])
        numeric = (value(0.9 + 1e-5).log_evidence - value(0.9 - 1e-5).log_evidence) / 2e-5
        assert got["rbf_lengthscale"] == pytest.approx(numeric, rel=1e-4)

    def test_width_beats_its_neighbours(self):
        data = bk.datasets.sinc(200)
        free = bk.RelevanceVector(data.X, data.y, bk.RBF(WIDTH), FREE)
        fit = bk.SparseSequential().fit(free)
        width = float(fit.hyper["rbf_lengthscale"])
        assert 1.0 < width < 3.0
        again = climb(free, fit)
        assert again.log_evidence - fit.log_evidence < 0.05
        for factor in (0.5, 2.0):
            fixed = bk.RelevanceVector(data.X, data.y, bk.RBF(width * factor), FREE)
            assert bk.SparseSequential().fit(fixed).log_evidence < fit.log_evidence

    def test_fixed_point_also_learns_it(self):
        data = bk.datasets.sinc(40)
        free = bk.RelevanceVector(data.X, data.y, bk.RBF(WIDTH), FREE)
        fit = bk.SparseBayes().fit(free)
        assert fit.log_evidence > 25.7302


class TestVariational:
    def test_bound_rises_and_stays_below(self):
        """One weight, so that the evidence is an integral over two variables."""
        x, t, a, rate = np.array([1.0, 0.5, -0.7]), np.array([1.2, 0.4, -1.0]), 1.5, 0.8
        prior = bk.Prior("InverseGamma", alpha=a, beta=rate)
        noise = bk.Prior("HalfNormal", sigma=1.0)
        rvm = bk.RelevanceVector(x[:, None], t, None, bk.Gaussian(noise), bias=False, theta=prior)
        tree = bk.SparseVariational().run(rvm, random_seed=0)
        trace = tree["fit"]["trace"].values
        assert (np.diff(trace) > -1e-10).all()

        def joint(u, v):
            theta, sigma = np.exp(u), np.exp(v)
            C = theta * np.outer(x, x) + sigma**2 * np.eye(3)
            _, logdet = np.linalg.slogdet(2 * np.pi * C)
            logp = -0.5 * (logdet + t @ np.linalg.solve(C, t)) + u + v
            return np.exp(logp + prior.logp(theta) + noise.logp(sigma))

        truth = np.log(dblquad(joint, -7, 3, -6, 12, epsabs=1e-9)[0])
        assert truth - 0.6 < trace[-1] < truth

    def test_limit_is_the_em_update(self):
        """With a -> 0 and b -> infinity the mean precision is 1 / (Sigma_ii + mu_i^2)."""
        data = bk.datasets.sinc(20)
        flat = bk.Prior("InverseGamma", alpha=0.01, beta=1e-9)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(2.0), bk.Gaussian(0.1), theta=flat)
        with pytest.warns(UserWarning):
            tree = bk.SparseVariational(max_iter=3, tol=1e-12).run(rvm)
        fit = tree["fit"]
        em = fit["weights"].values ** 2 + fit["covariance_matrix"].values.diagonal()
        np.testing.assert_allclose(fit["theta"].values * 1.02, em, rtol=1e-4)

    def test_labels(self):
        data = bk.datasets.ripley(80)
        rvm = bk.RelevanceVector(data.X, data.y, bk.RBF(0.5), bk.Logit())
        tree = bk.SparseVariational().run(rvm, random_seed=0)
        assert (np.diff(tree["fit"]["trace"].values) > -1e-10).all()
        f = tree["posterior"]["f"].values[0].mean(axis=0)
        assert np.mean(np.sign(f) == data.y) > 0.85

    def test_refuses_what_has_no_closed_update(self):
        data = bk.datasets.ripley(20)
        for settings, message in [
            ({"theta": bk.Prior("HalfNormal")}, "InverseGamma prior"),
            ({"likelihood": bk.Probit()}, "Gaussian and Logit"),
            ({"kernel": bk.RBF(WIDTH)}, "without free parameters"),
        ]:
            parts = {"kernel": bk.RBF(0.5), "likelihood": bk.Logit(), **settings}
            with pytest.raises(ValueError, match=message):
                bk.SparseVariational().run(bk.RelevanceVector(data.X, data.y, **parts))
