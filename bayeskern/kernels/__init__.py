"""Kernels: inputs to Gram matrices; one formula serves NumPy and PyTensor."""

from bayeskern._lazy import attach

__getattr__, __dir__, __all__ = attach(
    "bayeskern.kernels",
    {
        "algebra": ["Centred", "Exp", "FeatureRBF", "Normalised"],
        "approximate": ["Nystroem", "RandomFourier"],
        "base": ["Constant", "Kernel", "Power", "Product", "Sum", "White"],
        "dot": ["Linear", "Polynomial"],
        "generative": ["Fisher"],
        "mercer": ["diagonal_dominance", "is_psd", "mercer_map", "mercer_spectrum"],
        "models": [
            *("BernoulliModel", "GaussianModel", "MarkovModel", "MixtureModel"),
            *("ScoreFunction", "ScoreModel", "empirical_information"),
        ],
        "precomputed": ["Precomputed"],
        "rkhs": ["RKHSFunction"],
        "sets": ["Intersection", "Matching"],
        "stationary": [
            *("ARD", "Laplacian", "Mahalanobis", "Matern", "Periodic", "RBF"),
            *("RationalQuadratic",),
        ],
        "strings": ["BagOfWords", "Subsequence", "Substring", "idf_weights"],
        "views": ["Additive", "Columns", "Mapped"],
    },
)
