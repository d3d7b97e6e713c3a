"""Labels of the groups of measurements, such as the sensor that each comes from."""

from __future__ import annotations

from collections.abc import Iterable
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
    if any(map(_is_missing, _scalars(groups, labels))):
        raise ValueError(
            "groups contains NaN or None; expected the label of the group of each measurement (a "
            "measurement of no group can have a label of its own)"
        )
    if labels.dtype == object:
        labels = labels.astype(str)
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.reshape(-1), names


def _scalars(groups: Any, labels: Vector) -> Iterable[Any]:
    """The labels that could be missing: an array of text may come from a list with NaN."""
    if labels.dtype.kind in "fcmM":
        return list(labels[labels != labels][:1])
    if labels.dtype.kind in "OU":
        return list(groups if isinstance(groups, list | tuple) else labels)
    return ()


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or a missing value of pandas."""
    if label is None:
        return True
    try:
        return not bool(label == label)
    except TypeError:  # of pandas.NA
        return True
