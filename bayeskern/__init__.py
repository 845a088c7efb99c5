"""Kernel classifiers as probability models: what is public, each loaded on first use."""

from bayeskern._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    "bayeskern",
    {
        "bayes.bayespoint": ["BayesPoint"],
        "bayes.gp": ["GaussianProcess"],
        "bayes.mixture": ["GaussianMixture"],
        "bayes.rvm": ["RelevanceVector"],
        "classic": [],
        "datasets": [],
        "errors": [],
        "infer.billiard": ["Billiard"],
        "infer.cone_hmc": ["ConeHMC"],
        "infer.cone_slice": ["ConeSlice"],
        "infer.elliptical": ["EllipticalSlice"],
        "infer.ep": ["EP"],
        "infer.evidence": ["EvidenceMax"],
        "infer.exact": ["Exact"],
        "infer.kernel_gibbs": ["KernelGibbs"],
        "infer.hyper": ["HyperImportance", "HyperNUTS"],
        "infer.laplace": ["Laplace"],
        "infer.nuts": ["NUTS"],
        "infer.perceptron_sampling": ["PerceptronSampling"],
        "infer.volume": ["log_volume"],
        "infer.sparse_bayes": ["SparseBayes"],
        "infer.sparse_sequential": ["SparseSequential"],
        "infer.sparse_variational": ["SparseVariational"],
        "estimators.bayespoint": ["BayesPointClassifier"],
        "estimators.cluster": ["BayesSpectralClusterer"],
        "estimators.gp": ["GPClassifier", "GPRegressor"],
        "estimators.rvm": ["RVMClassifier", "RVMRegressor"],
        "kernels": [],
        "kernels.algebra": ["FeatureRBF"],
        "kernels.approximate": ["Nystroem", "RandomFourier"],
        "kernels.base": ["Constant", "Kernel", "White"],
        "kernels.dot": ["Linear", "Polynomial"],
        "kernels.generative": ["Fisher"],
        "kernels.precomputed": ["Precomputed"],
        "kernels.stationary": [
            *("ARD", "Laplacian", "Mahalanobis", "Matern", "Periodic", "RBF"),
            *("RationalQuadratic",),
        ],
        "kernels.strings": ["BagOfWords", "Subsequence", "Substring"],
        "likelihoods": ["Gaussian", "Hinge", "LabelFlip", "Likelihood", "Logit", "Probit", "Step"],
        "priors": ["Prior"],
    },
)
