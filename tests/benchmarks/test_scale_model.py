"""The model of the time of large runs: its fit, its predictions and the table in the user guide."""

from __future__ import annotations

import itertools
from dataclasses import asdict, replace

import pytest

from benchmarks import scale_model
from benchmarks.scale_model import (
    Assumed,
    Constants,
    Work,
    extrapolate,
    fit,
    from_report,
    gigabytes,
    in_words,
    predict,
)
from robustrank.outofcore import sharded, tangent_storage

KNOWN = Constants(bandwidth=2e9, map_bandwidth=5e9, latency=0.02)
RUN = Work(workers=2, shards=8, data_bytes=2e9, map_bytes=1.5e8, passes=8, products=108, rounds=129)


def runs(constants: Constants) -> list[tuple[Work, float]]:
    """Runs of three sizes and two ranks, which take exactly the time of the model."""
    works = [
        replace(RUN, workers=workers, data_bytes=size, map_bytes=0.015 * rank * size, shards=4)
        for workers, size, rank in itertools.product((1, 2), (2.5e8, 5e8, 1e9), (2, 5))
    ]
    return [(work, predict(constants, work)) for work in works]


def test_the_time_is_reading_plus_products_plus_rounds() -> None:
    reading = 8 * 2e9 / (2 * 2e9)
    products = 108 * 1.5e8 / (2 * 5e9)
    assert predict(KNOWN, RUN) == pytest.approx(reading + products + 129 * 0.02)


@pytest.mark.parametrize(
    ("shards", "workers", "busy"), [(1, 2, 1), (4, 2, 2), (3, 2, 1.5), (8, 16, 8), (1024, 16, 16)]
)
def test_workers_without_shards_are_idle(shards: int, workers: int, busy: float) -> None:
    assert replace(RUN, shards=shards, workers=workers).parallel == busy


def test_fit_finds_the_constants_of_runs_that_follow_the_model() -> None:
    found = fit(runs(KNOWN))
    assert list(asdict(found).values()) == pytest.approx(list(asdict(KNOWN).values()))


def test_fit_has_no_negative_constants() -> None:
    free_map = [(work, work.passes * work.data_bytes / 1e9) for work, _ in runs(KNOWN)]
    single_worker = [(work, seconds) for work, seconds in free_map if work.workers == 1]
    found = fit(single_worker)
    assert found.bandwidth == pytest.approx(1e9)
    assert found.map_bandwidth > 1e15  # infinite, up to rounding
    assert 0 <= found.latency < 1e-9


def test_a_prediction_from_small_runs_is_exact_if_the_model_is() -> None:
    larger = replace(RUN, data_bytes=4e9, map_bytes=3e8, shards=15)
    assert predict(fit(runs(KNOWN)), larger) == pytest.approx(predict(KNOWN, larger))


def test_a_large_run_is_limited_by_storage_and_by_the_network_of_the_driver() -> None:
    assumed = Assumed(storage=1e9, network=2e9)
    large = extrapolate(KNOWN, RUN, 1e12, 16, shape=(150, 120), rank=5, assumed=assumed)
    assert large.measurements == round(1e12 / 72_000)
    assert large.work.shards == 1024
    assert large.reading == pytest.approx(8 * 1e12 / (16 * 1e9))  # storage is slower than a worker
    assert large.work.map_bytes == 4 * 5 * 270 * large.measurements
    sent = 8 * (8 * large.measurements + 108 * 1024 * 5 * 270)
    assert large.driver == pytest.approx(sent / 2e9)
    parts = large.reading + large.products + large.rounds + large.driver
    assert large.seconds == pytest.approx(parts)


def test_more_workers_make_neither_rounds_nor_the_driver_faster() -> None:
    few, many = (
        extrapolate(KNOWN, RUN, 1e14, workers, shape=(150, 120), rank=5) for workers in (16, 256)
    )
    assert few.reading == pytest.approx(16 * many.reading)
    assert few.products == pytest.approx(16 * many.products)
    assert few.driver == many.driver
    assert many.rounds - few.rounds == pytest.approx(129 * 240 * Assumed().task)


@pytest.mark.parametrize("rate", [5e9, None])  # JSON has no infinity
def test_the_table_is_made_from_the_report_of_the_benchmark(rate: float | None) -> None:
    fitted = asdict(KNOWN) | {"map_bandwidth": rate, "shape": [150, 120], "rank": 5}
    fitted["predicted_run"] = {"work": asdict(RUN), "seconds": 9.0, "predicted": 8.0}
    text = from_report({"date": "2026-11-17", "machine": "x86_64", "fit": fitted})
    first, _, table = text.partition("\n\n")
    sentence = " ".join(first.split())
    assert "2 GB/s of sensing data" in sentence
    assert "20 ms per round" in sentence
    assert (
        "2 GB on 2 workers it took 9 s; the model, fitted to smaller runs, predicted 8 s."
        in sentence
    )
    lines = table.splitlines()
    assert len(lines) == 6
    assert {line.count("|") for line in lines} == {10}
    assert lines[2].startswith("| 1 TB | 16 | ")
    assert ("unknown rate" in sentence) == (rate is None)
    assert "nan" not in text
    assert "inf" not in text


@pytest.mark.parametrize(
    ("seconds", "words"), [(2.58, "2.6 s"), (80, "80 s"), (600, "10 min"), (50_000, "14 h")]
)
def test_durations_have_units(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(
    ("size", "words"), [(2.9e8, "0.29 GB"), (4.7e9, "4.7 GB"), (4.7e11, "470 GB")]
)
def test_sizes_are_in_gigabytes(size: float, words: str) -> None:
    assert gigabytes(size) == words


def test_the_model_has_the_constants_of_the_package() -> None:
    assert scale_model.MOST_SHARDS == sharded._MOST_SHARDS
    assert scale_model.SHARD_BYTES == sharded._SHARD_BYTES
    assert scale_model.DRIVER_VECTORS == tangent_storage._VECTORS
