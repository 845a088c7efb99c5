"""Leave-one-out without refitting, for Gaussian states."""

from typing import Any

import numpy as np

from bayeskern.bayes.problem import LatentGaussian


def leave_one_out(problem: LatentGaussian, tree: Any) -> Any:
    r"""Expected log predictive density of each observation given the others.

    A Gaussian posterior is the prior times one Gaussian site per observation. Without site
    :math:`i` the marginal of :math:`f_i` is its cavity, and

    .. math:: \log p(y_i | y_{-i}) \approx \log \int p(y_i | f) N(f; \mu_{-i}, \sigma^2_{-i}) df .

    Exact for `Exact` (equal to n refits); for `EP` the other sites stay as they are, for `Laplace`
    they are those of the mode. Hyperparameters are held at the values of the fit.

    Parameters
    ----------
    problem : LatentGaussian
        What was fitted.
    tree : DataTree
        The result of `Exact`, `Laplace`, `EP` or `EvidenceMax` on that problem.

    Returns
    -------
    arviz.ELPDDataLOO
        Which ``az.compare`` takes beside PSIS-LOO of sampled fits.

    Examples
    --------
    >>> import bayeskern as bk
    >>> gp = bk.GaussianProcess([[0.0], [1.0], [2.0]], [0, 1, 0], bk.RBF(), bk.Gaussian(0.3))
    >>> round(leave_one_out(gp, bk.Exact().run(gp, random_seed=1)).elpd, 3)
    -3.776

    References
    ----------
    Rasmussen and Williams (2006), 5.4.2; Vehtari et al. (2016), JMLR 17(103).
    """
    import arviz as az
    import xarray as xr

    if "fit" not in tree.children or "alpha" not in tree["fit"]:
        raise ValueError(
            "leave_one_out needs the result of Exact, Laplace, EP or EvidenceMax, got"
            f" {tree.attrs.get('method', 'no method')}; for draws use az.loo"
        )
    fit = tree["fit"]
    theta = {k[6:]: v.values for k, v in fit.data_vars.items() if str(k).startswith("theta_")}
    theta = {k: float(v) if v.ndim == 0 else v for k, v in theta.items()}
    mean, var = fit["mean_vector"].values, fit["variance"].values
    W, alpha = fit["W"].values, fit["alpha"].values
    likelihood = problem.likelihood_at(theta)
    # the site's own terms: mean = Sigma nu gives nu = alpha + W mean
    precision = np.maximum(1.0 / var - W, np.finfo(float).tiny)
    cavity_mean = (mean / var - alpha - W * mean) / precision
    elpd_i = likelihood.tilted(problem.y, cavity_mean, 1.0 / precision)[0]
    own_i = likelihood.tilted(problem.y, mean, var)[0]
    n = len(problem.y)
    return az.ELPDDataLOO(
        elpd=float(elpd_i.sum()),
        se=float(np.sqrt(n * np.var(elpd_i))),
        p=float((own_i - elpd_i).sum()),
        n_samples=1,
        n_data_points=n,
        scale="log",
        warning=False,
        good_k=0.7,
        elpd_i=xr.DataArray(elpd_i, dims=["obs"], coords={"obs": np.arange(n)}, name="y"),
        pareto_k=xr.DataArray(np.zeros(n), dims=["obs"], coords={"obs": np.arange(n)}),
    )
