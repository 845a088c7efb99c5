"""Kernel classifiers as probability models: what is public, each loaded on first use."""

from bayeskern._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    "bayeskern",
    {
        "bayes.gp": ["GaussianProcess"],
        "classic": [],
        "datasets": [],
        "errors": [],
        "likelihoods": ["Gaussian", "Hinge", "LabelFlip", "Likelihood", "Logit", "Probit", "Step"],
        "priors": ["Prior"],
    },
)
