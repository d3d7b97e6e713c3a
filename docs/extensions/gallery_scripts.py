"""The scripts of the gallery: their order, and which can run here.

Three of them use data that other packages provide.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

_ORDER = (
    "first_recovery",
    "outlier_kinds",
    "faulty_sensor",
    "choosing_rank",
    "error_bars",
    "planning",
    "ratings",
    "weather",
    "background",
    "table",
    "weather_stations",
    "spectra_with_spikes",
    "field_with_gaps",
    "damaged_image",
    "multiple_imputation",
    "sklearn_pipeline",
    "from_disk",
    "local_cluster",
    "gpu",
)


def place_in_gallery(script: str) -> int:
    """The position of a script, such as ``plot_planning.py``; those not listed come last."""
    name = script.removeprefix("plot_").removesuffix(".py")
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def pattern_of_runnable_examples() -> str:
    """A regular expression for the paths of the scripts whose data is installed."""
    missing = [name for name, found in _data_is_installed().items() if not found]
    return rf"plot_(?!{'|'.join(missing)})" if missing else "plot_"


def _data_is_installed() -> dict[str, bool]:
    video = Path("/usr/share/doc/opencv-doc/examples/data/vtest.avi")
    stations = Path("/usr/lib/R/site-library/fields/data/COmonthlyMet.rda")
    return {
        "background": video.is_file() and _has_module("av"),
        "ratings": _has_distribution("recbole"),
        "weather": stations.is_file() and _has_module("rdata"),
    }


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _has_distribution(name: str) -> bool:
    return any(True for _ in importlib.metadata.distributions(name=name))
