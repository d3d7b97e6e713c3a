"""Labels of the groups of measurements, such as the sensor that each comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from robustrank.backend import is_array, reject_masked, to_numpy

Vector = np.ndarray[Any, Any]


def numbered_groups(groups: Any, measurements: int) -> tuple[Vector, Vector]:
    """The number of the group of each measurement, and the labels of the groups, in order."""
    reject_masked(groups, "groups")
    labels = np.asarray(to_numpy(groups) if is_array(groups) else groups)
    if labels.shape != (measurements,):
        raise ValueError(
            f"groups has shape {labels.shape}; expected ({measurements},), the label of the group "
            "of each measurement"
        )
    if labels.dtype == object:
        labels = labels.astype(str)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            "groups contains NaN; expected the label of the group of each measurement (a "
            "measurement of no group can have a label of its own)"
        )
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.reshape(-1), names
