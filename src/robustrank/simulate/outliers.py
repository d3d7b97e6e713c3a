"""Outlier models: the values of the corrupted measurements of a planted problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class OutlierContext:
    """What an outlier model may depend on; arrays have one value per corrupted measurement."""

    clean: Values  # the measurements before corruption
    previous: Values  # the last uncorrupted measurement before each of them
    impostor: Values  # the measurements of another matrix of the same rank and norm
    norm: float  # ‖M‖_F, the standard deviation of a Gaussian measurement
    median: float  # of |clean|, over all measurements
    strength: float  # the number after the colon in the name of the model
    rng: np.random.Generator

    def normal(self) -> Values:
        """Standard normal numbers, one per outlier."""
        return self.rng.standard_normal(len(self.clean))


@dataclass(frozen=True)
class OutlierModel:
    """The distribution of the corrupted measurements."""

    description: str
    corrupt: Callable[[OutlierContext], Values]
    strength: float | None = None  # of a model that has one, unless the name states another
    beyond_median: bool = False  # whether it changes only measurements beyond the median of |y|


def _swapped(context: OutlierContext) -> Values:
    """Exchange the values of neighboring pairs; an odd one out makes a cycle of three."""
    count = len(context.clean)
    if count == 1:
        raise ValueError("one outlier cannot be swapped with another; expected at least two")
    order = np.arange(count) ^ 1
    if count % 2:
        order[-3:] = [count - 1, count - 3, count - 2]
    swapped: Values = context.clean[order]
    return swapped


OUTLIER_MODELS: Mapping[str, OutlierModel] = {
    "huge": OutlierModel(
        "normal with standard deviation 100‖M‖, as in the paper",
        lambda context: 100 * context.norm * context.normal(),
    ),
    "scale": OutlierModel(
        "normal with standard deviation ‖M‖, like the measurements",
        lambda context: context.norm * context.normal(),
    ),
    "impostor": OutlierModel(
        "measurements of another matrix of the same rank and norm",
        lambda context: context.impostor,
    ),
    "constant": OutlierModel(
        "a stuck sensor: the constant 5‖M‖",
        lambda context: np.full_like(context.clean, 5 * context.norm),
    ),
    "flip": OutlierModel(
        "the clean measurement with the opposite sign",
        lambda context: -context.clean,
    ),
    "cauchy": OutlierModel(
        "Cauchy with scale ‖M‖, so that a few are extremely large",
        lambda context: context.norm * context.rng.standard_cauchy(len(context.clean)),
    ),
    "one-sided": OutlierModel(
        "the clean measurement plus a half-normal error of scale 10‖M‖",
        lambda context: context.clean + 10 * context.norm * np.abs(context.normal()),
    ),
    "offset": OutlierModel(
        "the clean measurement plus 0.3‖M‖ (offset:b adds b‖M‖)",
        lambda context: context.clean + context.strength * context.norm,
        strength=0.3,
    ),
    "gain": OutlierModel(
        "the clean measurement times 2 (gain:g multiplies by g)",
        lambda context: context.strength * context.clean,
        strength=2.0,
    ),
    "dead": OutlierModel(
        "zero, from a sensor that does not respond",
        lambda context: np.zeros_like(context.clean),
    ),
    "stuck": OutlierModel(
        "the last uncorrupted measurement before it, once more",
        lambda context: context.previous,
    ),
    "saturated": OutlierModel(
        "larger than the median of |y|, and clipped there",
        lambda context: context.median * np.sign(context.clean),
        beyond_median=True,
    ),
    "swapped": OutlierModel(
        "pairs of measurements that are exchanged",
        _swapped,
    ),
}


def find_outlier_model(name: str) -> tuple[OutlierModel, float]:
    """The outlier model with a name such as ``"huge"`` or ``"offset:0.1"``, and its strength.

    Parameters
    ----------
    name
        A key of ``OUTLIER_MODELS``. The strength of an offset or a gain may follow a colon.

    Returns
    -------
    model : OutlierModel
        The model; its ``description`` says what it does.
    strength : float
        The strength; zero if the model has none.

    Raises
    ------
    ValueError
        If there is no such model, or the number after the colon is not valid.

    See Also
    --------
    robustrank.simulate.plant : Uses the model.

    Examples
    --------
    >>> import robustrank as rr
    >>> model, strength = rr.simulate.find_outlier_model("gain:3")
    >>> model.description, strength
    ('the clean measurement times 2 (gain:g multiplies by g)', 3.0)
    """
    kind, colon, number = name.partition(":")
    if kind not in OUTLIER_MODELS:
        known = ", ".join(OUTLIER_MODELS)
        raise ValueError(f"outlier_model={name!r} is not known; expected one of {known}")
    model = OUTLIER_MODELS[kind]
    if not colon:
        return model, 0.0 if model.strength is None else model.strength
    if model.strength is None:
        raise ValueError(f"outlier_model={name!r}: {kind} has no strength; expected {kind!r}")
    try:
        strength = float(number)
    except ValueError:
        strength = math.nan
    if not math.isfinite(strength):
        raise ValueError(
            f'outlier_model={name!r}; expected a number after the colon, as in "{kind}:0.5"'
        )
    return model, strength
