"""Monte-Carlo runs: nothing is lost, nothing is computed twice, nothing damaged is believed."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import robustrank as rr
from experiments import (
    DEFAULT,
    NAMES,
    PAPER,
    Cell,
    Experiment,
    Method,
    experiment,
    load,
    pack,
    run,
    standing,
)
from experiments.rows import RowWriter, decode, encode, files_of, read

TINY = Experiment(
    "tiny",
    "a small one",
    tuple(Cell(60, rank, 0.1, shape=(8, 6)) for rank in (1, 2)),
    (DEFAULT, Method("descent", rr.MedianTGD(max_iterations=40))),
    trials=3,
)
ROW = {"cell": "8x6 r=1 m=60 huge 0.1", "trial": 0, "method": "default", "error": 1.25e-14}


# What is asked.


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_is_well_formed(name: str, quick: bool) -> None:
    found = experiment(name, quick=quick)
    keys = [cell.key for cell in found.cells]
    assert len(set(keys)) == len(keys) > 0
    assert len({method.name for method in found.methods}) == len(found.methods)
    assert PAPER in found.methods
    assert DEFAULT in found.methods
    assert ("quick" in found.name) == ("quick" in found.title) == quick
    for cell in found.cells:
        assert cell.rank + max(m.extra_rank for m in found.methods) <= min(cell.shape)


def test_settings_are_the_papers() -> None:
    figures = [experiment(name) for name in NAMES if name.startswith("fig")]
    assert all(cell.shape == (150, 120) for figure in figures for cell in figure.cells)
    assert all(cell.model == "huge" for figure in figures for cell in figure.cells)
    assert all(figure.trials == 10 for figure in figures)
    solver = PAPER.solver
    assert isinstance(solver, rr.MedianTGD)
    assert (solver.alpha_y, solver.alpha_h, solver.step_size) == (12.0, 6.0, 0.4)
    assert solver.max_iterations == 10_000
    by_name = dict(zip(NAMES, map(experiment, NAMES), strict=True))
    assert {cell.outliers for cell in by_name["fig1a"].cells} == {0.05}
    assert {cell.measurements for cell in by_name["fig1b"].cells} == {2700}
    assert {(c.rank, c.noise, c.outliers) for c in by_name["fig2"].cells} == {(5, 0.05, 0.05)}
    for letter, share in (("a", 0.0), ("b", 0.01), ("c", 0.1)):
        (cell,) = by_name[f"fig3{letter}"].cells
        assert (cell.measurements, cell.rank, cell.outliers) == (2400, 5, share)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(ValueError, match="experiment 'fig9' is not known; expected one of fig1a"):
        experiment("fig9")


def test_seeds_never_change() -> None:
    assert Cell(2400, 5).key == "150x120 r=5 m=2400 huge 0.05"
    assert Cell(2400, 5).seed(0) == 7754182922432965327
    seeds = {cell.seed(trial) for cell in experiment("fig1a").cells for trial in range(10)}
    assert len(seeds) == 10 * len(experiment("fig1a").cells)


def test_clean_problems_are_the_same_before_corruption() -> None:
    cell = Cell(60, 1, 0.2, noise=0.05, shape=(8, 6))
    corrupted, clean = cell.plant(3), cell.plant(3, clean=True)
    assert (corrupted.A == clean.A).all()
    good = ~corrupted.outliers
    assert (corrupted.y[good] == clean.y[good]).all()
    assert not clean.outliers.any()


# Rows.


def test_a_row_is_read_as_it_was_written() -> None:
    assert decode(encode(ROW)) == ROW
    assert encode(ROW).count(b"\n") == 1


DAMAGE: dict[str, tuple[bytes, str]] = {
    "cut short": (encode(ROW)[:-10], "cut short"),
    "without its end": (encode(ROW)[:-1], "cut short"),
    "another number": (encode(ROW).replace(b"1.25e-14", b"1.26e-14"), "its checksum does not fit"),
    "no JSON": (b"{nonsense}\n", "not JSON"),
    "no text": (b"\xff\xfe\n", "not JSON"),
    "two in one": (encode(ROW)[:30] + encode(ROW), "not JSON"),
    "another thing": (b'{"a": 1}\n', "not the result of a trial"),
    "a number": (b"17\n", "not the result of a trial"),
    "very deep": (b"[" * 200_000 + b"\n", "not JSON"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_with_its_line_and_the_rest_is_kept(kind: str, tmp_path: Path) -> None:
    bad, reason = DAMAGE[kind]
    rows = [ROW | {"trial": trial} for trial in range(3)]
    path = tmp_path / "tiny.jsonl"
    at_the_end = not bad.endswith(b"\n")
    lines = [encode(row) for row in rows]
    lines.insert(3 if at_the_end else 1, bad)
    path.write_bytes(b"".join(lines))
    table = read([path])
    assert table.rows == rows
    (damage,) = table.damage
    assert damage.line == (4 if at_the_end else 2)
    assert reason in damage.reason
    assert f"tiny.jsonl, line {damage.line}: " in str(damage)
    # Writing goes on in a file without it; what was taken out is kept aside.
    with RowWriter(path) as writer:
        assert [found.line for found in writer.damage] == [damage.line]
        writer.add(ROW | {"trial": 3})
    assert read([path]).damage == []
    assert len(read([path]).rows) == 4
    assert (tmp_path / "tiny.jsonl.rejected").read_bytes().startswith(bad[:5])


def test_packed_rows_are_the_same_bytes_and_read_back(tmp_path: Path) -> None:
    rows = [ROW | {"trial": trial} for trial in range(5)]
    pack(tmp_path / "a.jsonl.gz", rows)
    pack(tmp_path / "b.jsonl.gz", reversed(rows))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert sorted(row["trial"] for row in read([tmp_path / "a.jsonl.gz"]).rows) == [0, 1, 2, 3, 4]


def test_a_damaged_archive_keeps_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl.gz"
    lines = [encode(ROW | {"trial": trial}) for trial in range(2000)]
    whole = gzip.compress(b"".join(lines))
    path.write_bytes(whole[: len(whole) // 2])
    table = read([path])
    assert 0 < len(table.rows) < 2000
    assert "the archive is damaged from here on" in table.damage[-1].reason


def test_files_of_two_machines_are_one_table(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("tiny.jsonl", "tiny.other.jsonl"))
    first.write_bytes(encode(ROW) + encode(ROW | {"trial": 1}))
    second.write_bytes(encode(ROW | {"error": 0.5}) + encode(ROW | {"trial": 2}))
    (tmp_path / "tiny-quick.jsonl").write_bytes(encode(ROW | {"trial": 7}))
    table = read(files_of(tmp_path, "tiny"))
    assert [row["trial"] for row in table.rows] == [0, 1, 2]
    assert table.rows[0]["error"] == ROW["error"]  # of two for a trial the first counts


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl"
    with RowWriter(path) as writer:
        writer.add(ROW)
        with pytest.raises(ValueError, match="another run is writing"):
            RowWriter(path)
    with RowWriter(path) as writer:
        writer.add(ROW | {"trial": 1})
    assert len(read([path]).rows) == 2


# Running.


def lines_of(folder: Path) -> list[bytes]:
    return sorted((folder / "tiny.jsonl").read_bytes().splitlines())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(TINY, folder, workers=1).done == 12
    return folder


def test_every_trial_has_a_row(undisturbed: Path) -> None:
    table = load(TINY, undisturbed)
    assert len(table.rows) == 12
    for row in table.rows:
        cell = next(cell for cell in TINY.cells if cell.key == row["cell"])
        assert row["seed"] == cell.seed(row["trial"])
        assert row["place"] == "numpy"
        if row["method"] == "default":
            assert row["error"] < 1e-9
            assert row["status"] == "RECOVERED"
    assert len(table.of(TINY.cells[0].key, "default")) == 3
    assert len(table.seconds) == 12
    assert all(0 < seconds < 60 for seconds in table.seconds.values())
    assert not any("seconds" in row for row in table.rows)


def test_processes_give_the_same_rows(undisturbed: Path, tmp_path: Path) -> None:
    seen: list[Any] = []
    environment = dict(os.environ)
    assert run(TINY, tmp_path, workers=2, progress=seen.append).done == 12
    assert lines_of(tmp_path) == lines_of(undisturbed)
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert str(seen[-1]) == "2 of 2 settings, 12/12 trials, about 0 s left"
    assert dict(os.environ) == environment


def test_a_run_goes_on_where_it_stopped(undisturbed: Path, tmp_path: Path) -> None:
    first = run(TINY, tmp_path, workers=1, seconds=0)
    assert 0 < first.done < 12
    before = (tmp_path / "tiny.jsonl").read_bytes()
    assert run(TINY, tmp_path, workers=1).done == 12
    assert (tmp_path / "tiny.jsonl").read_bytes().startswith(before)
    assert lines_of(tmp_path) == lines_of(undisturbed)
    again = (tmp_path / "tiny.jsonl").stat().st_mtime_ns
    assert run(TINY, tmp_path, workers=2).done == 12
    assert (tmp_path / "tiny.jsonl").stat().st_mtime_ns == again


def test_more_trials_may_be_asked_for_later(undisturbed: Path, tmp_path: Path) -> None:
    few = Experiment(**{**vars(TINY), "trials": 1})
    assert run(few, tmp_path, workers=1).done == 4
    now = standing(TINY, load(TINY, tmp_path))
    assert (now.done, now.total, now.cells_done) == (4, 12, 0)
    run(TINY, tmp_path, workers=1)
    assert lines_of(tmp_path) == lines_of(undisturbed)


def test_damaged_rows_are_told_of_and_run_again(undisturbed: Path, tmp_path: Path) -> None:
    lines = (undisturbed / "tiny.jsonl").read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"trial": ', b'"trial": 1')
    (tmp_path / "tiny.jsonl").write_bytes(b"".join(lines) + lines[0][:20])
    told: list[Any] = []
    assert run(TINY, tmp_path, workers=1, report=told.append).done == 12
    assert [damage.line for damage in told] == [5, 13]
    assert lines_of(tmp_path) == lines_of(undisturbed)


def test_a_run_leaves_other_processes_alone(tmp_path: Path) -> None:
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    try:
        run(TINY, str(tmp_path), workers=2)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()
        other.close()


def test_a_worker_that_is_killed_is_a_sentence(tmp_path: Path) -> None:
    doomed = Experiment("tiny", "", TINY.cells, (Method("doomed", Doomed()),), 2)
    with pytest.raises(ChildProcessError, match="a worker was ended from outside"):
        run(doomed, tmp_path, workers=2)


class Doomed(rr.MedianTGD):
    def start(self, problem: Any, rng: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().start(problem, rng)


def test_damage_elsewhere_is_told_even_if_nothing_is_missing(
    undisturbed: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny.jsonl").write_bytes((undisturbed / "tiny.jsonl").read_bytes())
    (tmp_path / "tiny.other.jsonl").write_bytes(b"nonsense\n")
    told: list[Any] = []
    assert run(TINY, tmp_path, workers=1, report=told.append).done == 12
    assert [str(damage.path.name) for damage in told] == ["tiny.other.jsonl"]


def test_a_run_that_is_stopped_has_something_of_each_method(tmp_path: Path) -> None:
    stopped: list[Any] = []

    def progress(now: Any) -> None:
        stopped.append(now)
        if now.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(TINY, tmp_path, workers=1, progress=progress)
    methods = [row["method"] for row in load(TINY, tmp_path).rows]
    assert sorted(methods) == ["default", "default", "descent", "descent"]


def test_traces_are_kept_where_asked_for(tmp_path: Path) -> None:
    traced = Experiment(**{**vars(TINY), "trials": 1, "traced": True})
    run(traced, tmp_path, workers=1)
    for row in load(traced, tmp_path).rows:
        iterations = [point[0] for point in row["trace"]]
        assert iterations[0] == 0
        assert iterations == sorted(iterations)
        assert row["trace"][-1][2] < row["trace"][0][2]


SCRIPT = """
    from pathlib import Path
    import sys
    import robustrank as rr
    from experiments import DEFAULT, Cell, Experiment, Method, run

    if __name__ == "__main__":
        cells = tuple(Cell(60, rank, 0.1, shape=(8, 6)) for rank in (1, 2))
        methods = (DEFAULT, Method("descent", rr.MedianTGD(max_iterations=200)))
        print("ready", flush=True)
        run(Experiment("tiny", "", cells, methods, 40), Path(sys.argv[1]), workers=int(sys.argv[2]))
"""


def test_ten_kills_lose_nothing(tmp_path: Path) -> None:
    """SIGKILL at random moments, then to the end: the same rows as without, byte for byte."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, str(script)]
    subprocess.run([*command, str(whole), "1"], check=True, capture_output=True)
    rng = random.Random(0)
    sizes = []
    for attempt in range(10):
        workers = "2" if attempt % 5 == 4 else "1"
        process = subprocess.Popen([*command, str(killed), workers], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.15) + (1.5 if workers == "2" else 0.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        rows = killed / "tiny.jsonl"
        sizes.append(rows.stat().st_size if rows.exists() else 0)
    assert len(set(sizes)) > 3  # kills came while rows were written
    subprocess.run([*command, str(killed), "2"], check=True, capture_output=True)
    assert lines_of(killed) == lines_of(whole)
    assert all(json.loads(line) for line in lines_of(killed))
