"""Where a tangent map is stored: what fits is in memory, and the rest where it is faster."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robustrank.outofcore import tangent_storage as module
from robustrank.outofcore.tangent_storage import (
    Place,
    TangentStorage,
    default_storage,
    folder_beside,
)

MB, GB = 10**6, 10**9


def storage(folder: Path, **given: Any) -> TangentStorage:
    """Storage with a fast disk, and data that takes a second to read."""
    made = TangentStorage(budget=100 * MB, folder=str(folder), pass_seconds=1.0)
    vars(made).update({"_speeds": (GB, 2 * GB)} | given)
    return made


@pytest.mark.parametrize(
    ("size", "place"),
    [(1, Place.MEMORY), (100 * MB, Place.MEMORY), (100 * MB + 1, Place.DISK), (GB, Place.DISK)],
)
def test_map_that_does_not_fit_in_memory_is_in_a_file(
    size: int, place: Place, tmp_path: Path
) -> None:
    assert storage(tmp_path).place(size) is place


@pytest.mark.parametrize(("free", "place"), [(2.3, Place.NOWHERE), (2.5, Place.DISK)])
def test_disk_needs_room_for_two_maps(
    free: float, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def usage(folder: str) -> Any:
        asked.append(folder)
        return SimpleNamespace(free=int(free * GB))

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert storage(tmp_path).place(GB) is place
    assert asked == [str(tmp_path)]


@pytest.mark.parametrize(
    ("speeds", "seconds", "place"),
    [
        ((GB, GB), 1.0, Place.DISK),  # 1 s + 30 · 1 s against 60 · 1 s
        ((GB, GB), 0.5, Place.NOWHERE),  # against 30 s
        ((GB, GB), 0.52, Place.DISK),
        ((GB / 40, GB), 1.0, Place.NOWHERE),  # writing takes 40 s
        ((GB, GB / 3), 1.0, Place.NOWHERE),
        ((GB / 100, GB / 100), 100.0, Place.DISK),  # the data is slow, too
    ],
)
def test_slow_disk_is_not_used_if_the_data_is_read_faster(
    speeds: tuple[float, float], seconds: float, place: Place, tmp_path: Path
) -> None:
    made = storage(tmp_path, _speeds=speeds, pass_seconds=seconds)
    assert made.place(GB) is place


def test_places_are_described(tmp_path: Path) -> None:
    made = storage(tmp_path)
    assert str(made) == ""
    made.place(MB)
    made.place(23 * MB)
    made.place(5 * MB)
    assert str(made) == "tangent map of 0.023 GB in memory"
    made.place(2 * GB)
    made.pass_seconds = 0.0
    made.place(3 * GB)
    assert str(made) == (
        "tangent map of 0.023 GB in memory; tangent map of 2 GB in a temporary file; "
        "tangent map of 3 GB not stored, products take passes over the sensing data"
    )


def test_speeds_are_measured_in_the_folder_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PROBE_BYTES", 2**20)
    written, read = TangentStorage(budget=0, folder=str(tmp_path))._speeds
    assert 1e4 < written < 1e12
    assert 1e5 < read < 1e12
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    missing = TangentStorage(budget=0, folder=str(tmp_path / "missing"))
    assert missing._speeds == (1.0, 1.0)


def test_files_are_beside_the_data_if_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "A.npy")
    assert folder_beside(path) == str(tmp_path.resolve())
    assert folder_beside(None) is None
    assert default_storage(10, str(tmp_path), None).folder == str(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert folder_beside(path) is None


def test_limit_has_room_for_two_maps_besides_everything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "resident_memory", lambda: 300 * MB)
    monkeypatch.setattr(module, "available_memory", lambda: 8 * GB)
    m = 10**6
    others = module._BUFFERS + 8 * module._VECTORS * m
    assert default_storage(m, None, 2 * GB).budget == (2 * GB - 300 * MB - others) // 2
    assert default_storage(m, None, None).budget == (4 * GB - others) // 2
    assert default_storage(m, None, 100 * MB).budget == 0
