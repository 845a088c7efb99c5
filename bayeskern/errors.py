"""What can go wrong, by name; every error is a ``ValueError`` of one sentence."""


class NotPSDError(ValueError):
    """A matrix that must be positive semidefinite is not."""


class NotSeparableError(ValueError):
    """No hyperplane in feature space classifies every point correctly."""


class ZeroEvidenceError(ValueError):
    """No hypothesis with positive prior mass explains the data."""


class UnboundedEvidenceError(ValueError):
    """The evidence grows without limit, so it has no maximiser."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before its tolerance; the message says which setting to raise."""
