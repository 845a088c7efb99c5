"""Kernels: inputs to Gram matrices; one formula serves NumPy and PyTensor."""

from bayeskern._lazy import attach

__getattr__, __dir__, __all__ = attach(
    "bayeskern.kernels",
    {
        "base": ["Constant", "Kernel", "Power", "Product", "Sum", "White"],
        "dot": ["Linear", "Polynomial"],
        "stationary": [
            *("ARD", "Laplacian", "Mahalanobis", "Matern", "Periodic", "RBF"),
            *("RationalQuadratic",),
        ],
    },
)
