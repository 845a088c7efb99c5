"""The deterministic layer: functions of Gram or distance matrices that certify their answers."""

from bayeskern._lazy import attach

__getattr__, __dir__, __all__ = attach(
    "bayeskern.classic",
    {
        "bounds": [],
        "separability": ["Separability", "in_version_space", "is_separable"],
        "losses": [
            "ExponentialLoss",
            "HingeLoss",
            "LogisticLoss",
            "MarginLoss",
            "RampLoss",
            "SquaredHingeLoss",
            "SquaredLoss",
            "ZeroOneLoss",
            "cost_loss",
            "epsilon_insensitive",
            "is_calibrated",
        ],
        "risk": [
            "bayes_regressor",
            "bayes_risk",
            "bayes_rule",
            "empirical_risk",
            "excess_risk",
            "integrate_bayes_risk",
            "learning_curve",
            "lookup_classifier",
            "minimise_risk",
            "plug_in",
            "risk_decomposition",
            "true_risk",
        ],
        "erm": ["linear_erm"],
        "result": ["Solution"],
        "_dual": ["Rows"],
        "margin": ["C_of_lambda", "C_of_nu", "SVMSolution", "lambda_of_C", "nu_of_C"],
        "regression": ["SVRSolution", "nu_svr", "svr"],
        "support": ["hard_margin", "least_nu", "nu_svm", "svm", "svm_path"],
        "perceptron": [
            "PerceptronSolution",
            "kernel_perceptron",
            "novikoff_bound",
            "primal_perceptron",
        ],
        "adaptive": ["AdaptiveMarginSolution", "adaptive_margin", "leave_one_out_machine"],
        "ridge": [
            "RidgePath",
            "RidgeSolution",
            "kernel_ridge",
            "kernel_ridge_path",
            "linear_ridge",
        ],
    },
)
