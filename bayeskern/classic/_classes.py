"""Read class labels 0, 1, 2 and so on, for functions of more than two classes."""

from typing import Any

import numpy as np

from bayeskern.checks import as_array


def one_hot(labels: Any, n: int) -> np.ndarray:
    """Return an ``(n, classes)`` matrix of zeros and ones; every class must have a member.

    >>> one_hot([1, 0], 2)
    array([[0., 1.],
           [1., 0.]])
    """
    values = as_array(labels, "labels", ndim=1)
    if len(values) != n:
        raise ValueError(f"labels must have one entry per point, got {len(values)} for {n} points")
    classes = np.unique(values)
    if len(classes) < 2 or (classes != np.arange(len(classes))).any():
        raise ValueError(
            "labels must be 0, 1, ... with every class present and at least two of them,"
            f" got {classes[:5].tolist()}"
        )
    return (values[:, None] == classes).astype(float)
