"""What the references are made with: quadrature and geometry, on NumPy and SciPy alone.

Nothing here may import bayeskern, so that no reference is made by what it is to judge.
"""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr
from scipy.stats import chi

LEVELS = {"q05": 0.05, "q50": 0.5, "q95": 0.95}


def read(folder):
    """Read the columns of data.csv."""
    table = np.genfromtxt(Path(folder) / "data.csv", delimiter=",", names=True)
    return {name: np.asarray(table[name], dtype=float) for name in table.dtype.names}


def rbf(x, lengthscale=1.0):
    """Gram matrix of points on a line."""
    return np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / lengthscale**2)


def normal_logpdf(f, K):
    """Log density of N(0, K)."""
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, f)
    return float(-0.5 * z @ z - np.log(np.diag(L)).sum() - 0.5 * len(f) * np.log(2 * np.pi))


def write(folder, *, how, variables, log_evidence, log_density, log_evidence_mcse=0.0):
    """Write reference.json with its checksum.

    ``variables`` maps a name to mean, sd, q05, q50, q95 and mcse; ``log_density`` holds pairs of
    a point, by the names of PyMC's value variables, and its value, None for minus infinity.
    """
    content = {
        "how": how,
        "log_evidence": float(log_evidence),
        "log_evidence_mcse": float(log_evidence_mcse),
        "variables": {
            name: {key: np.asarray(value).tolist() for key, value in summary.items()}
            for name, summary in variables.items()
        },
        "log_density": [
            {"point": {k: np.asarray(v).tolist() for k, v in point.items()}, "value": value}
            for point, value in log_density
        ],
    }
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(plain.encode()).hexdigest()
    Path(folder, "reference.json").write_text(json.dumps(content, indent=1) + "\n")
    print(Path(folder).name, "log evidence", content["log_evidence"])
    for name, summary in content["variables"].items():
        print(f"  {name}: mean {np.round(summary['mean'], 6)}, sd {np.round(summary['sd'], 6)}")


def normal_summary(mean, sd):
    """Summarise independent normal marginals, known exactly."""
    z = {"q05": -1.6448536269514722, "q50": 0.0, "q95": 1.6448536269514722}
    quantiles = {name: mean + z[name] * sd for name in LEVELS}
    return {"mean": mean, "sd": sd, **quantiles, "mcse": np.zeros_like(mean)}


def mixture_summary(weights, means, sds):
    """Summarise mixtures of normals: weights (k,), means and sds (k, n)."""
    mean = weights @ means
    sd = np.sqrt(weights @ (sds**2 + means**2) - mean**2)
    out = {"mean": mean, "sd": sd}
    for name, level in LEVELS.items():
        out[name] = np.array(
            [
                brentq(
                    lambda t, i=i, level=level: (
                        weights @ ndtr((t - means[:, i]) / np.maximum(sds[:, i], 1e-12)) - level
                    ),
                    mean[i] - 12 * sd[i],
                    mean[i] + 12 * sd[i],
                )
                for i in range(len(mean))
            ]
        )
    return out | {"mcse": np.zeros_like(mean)}


def curve_summary(x, density):
    """Summarise one number from its density, not normalised, on a fine grid."""
    spline = CubicSpline(x, density)
    cdf = spline.antiderivative()
    total = cdf(x[-1])
    mean = CubicSpline(x, density * x).integrate(x[0], x[-1]) / total
    var = CubicSpline(x, density * (x - mean) ** 2).integrate(x[0], x[-1]) / total
    out = {"mean": float(mean), "sd": float(np.sqrt(var))}
    for name, level in LEVELS.items():
        out[name] = brentq(lambda t, level=level: cdf(t) / total - level, x[0], x[-1])
    return out | {"mcse": 0.0}


def latent_quadrature(K, loglik, step=0.1, reach=8.0):
    """Integrate three latent values by the trapezoid rule in whitened coordinates.

    For each value in turn the Cholesky factor starts with it, so that its marginal density is a
    curve on the grid. Returns the log evidence and the summary of ``f``.
    """
    v = np.arange(-reach, reach + step / 2, step)
    bell = np.exp(-0.5 * v**2) / np.sqrt(2 * np.pi) * step
    rows, evidence = [], []
    for i in range(3):
        order = [i, *(j for j in range(3) if j != i)]
        L = np.linalg.cholesky(K[np.ix_(order, order)])
        second = L[1, 0] * v[:, None] + L[1, 1] * v
        pair = np.exp(loglik(order[1], second)) * bell
        density = np.empty(len(v))
        for k, a in enumerate(v):
            third = L[2, 0] * a + L[2, 1] * v[:, None] + L[2, 2] * v
            density[k] = pair[k] @ (np.exp(loglik(order[2], third)) @ bell)
        density *= np.exp(loglik(i, L[0, 0] * v)) * bell
        evidence.append(density.sum())
        rows.append(curve_summary(L[0, 0] * v, density))
    assert np.ptp(evidence) < 1e-4 * evidence[0], "the three orders disagree"
    summary = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    return float(np.log(np.mean(evidence))), summary


def latent_draws(x, y, log_probability, draws=5, seed=1):
    """Prior draws of ``f`` with the log density of the model f ~ N(0, K), y given f."""
    K = rbf(x)
    L, rng = np.linalg.cholesky(K), np.random.default_rng(seed)
    out = []
    for _ in range(draws):
        f = L @ rng.standard_normal(len(x))
        out.append(({"f": f}, normal_logpdf(f, K) + float(log_probability(y * f).sum())))
    return out


def cells(A):
    """Yield the sign vector and the corners of each cell that planes cut from the sphere in R^3.

    Corners are the crossings of two great circles; a cell is spanned by those on its boundary.
    """
    m = len(A)
    unit = A / np.linalg.norm(A, axis=1, keepdims=True)
    crossings = []
    for i, j in itertools.combinations(range(m), 2):
        c = np.cross(unit[i], unit[j])
        c /= np.linalg.norm(c)
        crossings += [(c, {i, j}), (-c, {i, j})]
    for signs in itertools.product([1, -1], repeat=m):
        inside = [
            c
            for c, on in crossings
            if all(signs[k] * (unit[k] @ c) > 0 for k in range(m) if k not in on)
        ]
        if len(inside) < 3:
            continue
        corners = np.array(inside)
        centre = corners.mean(axis=0)
        frame = np.linalg.svd(centre[None])[2][1:]
        angles = np.arctan2(*(frame @ (corners - centre).T))
        yield np.array(signs), corners[np.argsort(angles)]


def sphere_nodes(corners, order=60):
    """Nodes and weights for a spherical polygon; the weights sum to its part of the sphere."""
    x, w = np.polynomial.legendre.leggauss(order)
    x, w = 0.5 * (x + 1), 0.5 * w
    s, t = np.meshgrid(x, x, indexing="ij")
    s, t = s.ravel(), t.ravel()
    flat = np.outer(w, w).ravel() * s  # Duffy: the square onto a triangle
    centre = corners.mean(axis=0)
    nodes, weights = [], []
    for b, c in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        p = centre + s[:, None] * ((b - centre) + t[:, None] * (c - b))
        length = np.linalg.norm(p, axis=1)
        nodes.append(p / length[:, None])
        volume = abs(np.linalg.det([centre, b, c]))
        weights.append(flat * volume / length**3 / (4 * np.pi))
    return np.concatenate(nodes), np.concatenate(weights)


def directional_summary(nodes, weights, C):
    """Summarise C w, where w has a direction of the given law and the length of a normal vector."""
    p = weights / weights.sum()
    u = nodes @ C.T
    mean = chi(3).mean() * (p @ u)
    sd = np.sqrt(3 * (p @ u**2) - mean**2)

    def cdf(t, i):
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(u[:, i] > 0, chi(3).cdf(t / u[:, i]), chi(3).sf(t / u[:, i]))
        return p @ up

    out = {"mean": mean, "sd": sd}
    for name, level in LEVELS.items():
        out[name] = np.array(
            [
                brentq(
                    lambda t, i=i, level=level: cdf(t, i) - level,
                    mean[i] - 12 * sd[i],
                    mean[i] + 12 * sd[i],
                    xtol=1e-12,
                )
                for i in range(len(C))
            ]
        )
    return out | {"mcse": np.zeros(len(C))}


def log_mean_exp(values, axis=0):
    """Logarithm of a mean of exponentials."""
    return logsumexp(values, axis=axis) - np.log(np.shape(values)[axis])
