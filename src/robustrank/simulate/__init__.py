"""Planted problems: measurements or entries of a known low-rank matrix, with known outliers.

``OUTLIER_MODELS`` has the values of ``outlier_model`` of ``plant`` and ``plant_seeded``:

``"huge"``
    Normal with standard deviation 100‖M‖, as in the paper.
``"scale"``
    Normal with standard deviation ‖M‖, like the measurements.
``"impostor"``
    Measurements of another matrix of the same rank and norm.
``"constant"``
    A stuck sensor: the constant 5‖M‖.
``"flip"``
    The clean measurement with the opposite sign.
``"cauchy"``
    Cauchy with scale ‖M‖, so that a few are extremely large.
``"one-sided"``
    The clean measurement plus a half-normal error of scale 10‖M‖.
``"offset"``
    The clean measurement plus 0.3‖M‖; ``"offset:b"`` adds b‖M‖.
``"gain"``
    The clean measurement times 2; ``"gain:g"`` multiplies by g.
``"dead"``
    Zero, from a sensor that does not respond.
``"stuck"``
    The last uncorrupted measurement before it, once more.
``"saturated"``
    Larger than the median of ``|y|``, and clipped there.
``"swapped"``
    Pairs of measurements that are exchanged.

``ENTRY_OUTLIER_MODELS`` has the values of ``outlier_model`` of ``plant_entries``: ``"huge"`` and
``"scale"`` (normal, with 100 times and with the standard deviation of an entry), ``"flip"``,
``"max"`` (plus or minus the largest entry of the matrix) and ``"offset"`` (the entry plus or minus
0.1 to 1 of the standard deviation of an entry).
"""

from robustrank.simulate.entries import ENTRY_OUTLIER_MODELS, PlantedEntries, plant_entries
from robustrank.simulate.outliers import OUTLIER_MODELS, find_outlier_model
from robustrank.simulate.planted import Planted, plant, plant_seeded
from robustrank.simulate.streams import sensing_seed

__all__ = [
    "ENTRY_OUTLIER_MODELS",
    "OUTLIER_MODELS",
    "Planted",
    "PlantedEntries",
    "find_outlier_model",
    "plant",
    "plant_entries",
    "plant_seeded",
    "sensing_seed",
]
