"""Draws the problem of a trial, with the data that a method is given, where it is solved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from experiments.definition import Data, Method, Place, SensingSetting
from robustrank.backend import like, move, namespace
from robustrank.simulate import Planted


def draw(setting: SensingSetting, trial: int, method: Method, place: Place) -> Planted:
    """The problem of a trial for a method, at a place."""
    source = Place() if setting.drawn_by_numpy else place
    planted = setting.plant(trial, source, corrupted=method.data is not Data.UNCORRUPTED)
    if method.data is Data.INLIERS:
        planted = only_inliers(planted)
    if source == place or place.device is None:
        return planted
    return replace(planted, A=move(planted.A, place.device), y=move(planted.y, place.device))


def only_inliers(planted: Planted) -> Planted:
    """The same problem without the corrupted measurements."""
    inliers = np.flatnonzero(~planted.outliers)
    xp = namespace(planted.A)
    rows = xp.asarray(inliers, **like(planted.A) | {"dtype": xp.int64})
    return replace(
        planted,
        A=xp.take(planted.A, rows, axis=0),
        y=xp.take(planted.y, rows, axis=0),
        outliers=np.zeros(len(inliers), bool),
    )


def origin(setting: SensingSetting, place: Place) -> str:
    """The place in a row: the library that drew the problem, and the device that solved it."""
    if not setting.drawn_by_numpy:
        return str(place)
    return str(Place()) if place.device is None else f"{Place()} on {place.device}"


def source(place: str) -> str:
    """What drew the problem of a row with this place; the same source draws the same data."""
    return place.partition(" on ")[0]
