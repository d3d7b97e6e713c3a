"""Running studies: nothing is lost, nothing is computed twice, damaged rows are run again."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from experiment_samples import ROOT, TINY

import robustrank as rr
from experiments import Method, Place, Procedure, Study, completion, load, run


def lines_of(folder: Path) -> list[bytes]:
    return sorted((folder / "tiny.jsonl").read_bytes().splitlines())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run(TINY, folder, workers=1).done == 12
    return folder


def test_run_writes_a_row_for_every_trial(undisturbed: Path) -> None:
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


def test_several_processes_give_the_same_rows(undisturbed: Path, tmp_path: Path) -> None:
    seen: list[Any] = []
    environment = dict(os.environ)
    assert run(TINY, tmp_path, workers=2, progress=seen.append).done == 12
    assert lines_of(tmp_path) == lines_of(undisturbed)
    assert [one.done for one in seen] == sorted(one.done for one in seen)
    assert str(seen[-1]) == "2 of 2 settings, 12/12 trials, about 0 s left"
    assert dict(os.environ) == environment


def test_second_run_continues_the_first(undisturbed: Path, tmp_path: Path) -> None:
    first = run(TINY, tmp_path, workers=1, seconds=0)
    assert 0 < first.done < 12
    before = (tmp_path / "tiny.jsonl").read_bytes()
    assert run(TINY, tmp_path, workers=1).done == 12
    assert (tmp_path / "tiny.jsonl").read_bytes().startswith(before)
    assert lines_of(tmp_path) == lines_of(undisturbed)
    again = (tmp_path / "tiny.jsonl").stat().st_mtime_ns
    assert run(TINY, tmp_path, workers=2).done == 12
    assert (tmp_path / "tiny.jsonl").stat().st_mtime_ns == again


def test_number_of_trials_can_be_raised_later(undisturbed: Path, tmp_path: Path) -> None:
    few = replace(TINY, trials=1)
    assert run(few, tmp_path, workers=1).done == 4
    now = completion(TINY, load(TINY, tmp_path))
    assert (now.done, now.total, now.cells_done) == (4, 12, 0)
    run(TINY, tmp_path, workers=1)
    assert lines_of(tmp_path) == lines_of(undisturbed)


def test_damaged_rows_are_reported_and_run_again(undisturbed: Path, tmp_path: Path) -> None:
    lines = (undisturbed / "tiny.jsonl").read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"trial": ', b'"trial": 1')
    (tmp_path / "tiny.jsonl").write_bytes(b"".join(lines) + lines[0][:20])
    reported: list[Any] = []
    assert run(TINY, tmp_path, workers=1, on_damage=reported.append).done == 12
    assert [damage.line for damage in reported] == [5, 13]
    assert lines_of(tmp_path) == lines_of(undisturbed)


def test_run_does_not_stop_other_processes(tmp_path: Path) -> None:
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    other.start()
    try:
        run(TINY, str(tmp_path), workers=2)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()
        other.close()


def test_killed_worker_raises(tmp_path: Path) -> None:
    killed = Study("tiny", "", TINY.cells, (Method("killed", Killed()),), 2)
    with pytest.raises(ChildProcessError, match="a worker process was killed"):
        run(killed, tmp_path, workers=2)


class Killed(rr.solvers.MedianTGD):
    def start(self, problem: Any, rng: Any) -> Any:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))  # on Windows
        return super().start(problem, rng)


def test_damage_in_another_file_is_reported_if_nothing_is_missing(
    undisturbed: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny.jsonl").write_bytes((undisturbed / "tiny.jsonl").read_bytes())
    (tmp_path / "tiny.other.jsonl").write_bytes(b"nonsense\n")
    reported: list[Any] = []
    assert run(TINY, tmp_path, workers=1, on_damage=reported.append).done == 12
    assert [str(damage.path.name) for damage in reported] == ["tiny.other.jsonl"]


def test_interrupted_run_has_rows_of_each_method(tmp_path: Path) -> None:
    stopped: list[Any] = []

    def progress(now: Any) -> None:
        stopped.append(now)
        if now.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(TINY, tmp_path, workers=1, progress=progress)
    methods = [row["method"] for row in load(TINY, tmp_path).rows]
    assert sorted(methods) == ["default", "default", "descent", "descent"]


def test_traced_study_keeps_traces(tmp_path: Path) -> None:
    traced = replace(TINY, trials=1, procedure=Procedure(traced=True))
    run(traced, tmp_path, workers=1)
    for row in load(traced, tmp_path).rows:
        iterations = [point[0] for point in row["trace"]]
        assert iterations[0] == 0
        assert iterations == sorted(iterations)
        assert row["trace"][-1][2] < row["trace"][0][2]


def test_method_runs_at_most_its_own_number_of_trials(tmp_path: Path) -> None:
    first, second = TINY.methods
    limited = replace(TINY, methods=(first, replace(second, trials=1)))
    assert str(run(limited, tmp_path, workers=1)) == "2 of 2 settings, 8/8 trials"
    trials = [row["trial"] for row in load(limited, tmp_path).rows if row["method"] == "descent"]
    assert trials == [0, 0]


def test_single_solver_stops_at_success_unless_told_not_to(tmp_path: Path) -> None:
    solver = Method("descent", rr.solvers.MedianTGD(max_iterations=2000, tolerance=0.0))
    errors = {}
    for stops in (True, False):
        procedure = Procedure(stop_at_success=stops)
        one = replace(TINY, cells=TINY.cells[:1], methods=(solver,), trials=1, procedure=procedure)
        run(one, tmp_path / str(stops), workers=1)
        (row,) = load(one, tmp_path / str(stops)).rows
        errors[stops] = row["error"]
    assert 1e-9 < errors[True] < 1e-6
    assert errors[False] < 1e-12


def test_observed_fields_are_part_of_the_row(tmp_path: Path) -> None:
    one = replace(TINY, trials=1, procedure=Procedure(observe=lambda o: {"rank": o.recovery.rank}))
    run(one, tmp_path, workers=1)
    ranks = {row["cell"]: row["rank"] for row in load(one, tmp_path).rows}
    assert [*ranks.values()] == [1, 2]


def test_trials_on_a_device_run_as_a_batch(tmp_path: Path) -> None:
    """The same code as on a GPU, with PyTorch on the CPU."""
    pytest.importorskip("torch")
    progress: list[Any] = []
    one = replace(TINY, methods=TINY.methods[:1])
    run(one, tmp_path, place=Place("torch", "cpu"), progress=progress.append)
    assert [now.done for now in progress] == [3, 6]  # one batch for each setting
    for row in load(one, tmp_path).rows:
        assert (row["place"], row["status"]) == ("torch cpu", "RECOVERED")
        assert row["error"] < 1e-9


SCRIPT = """
    from pathlib import Path
    import sys
    import robustrank as rr
    from experiments import DEFAULT, Cell, Method, Study, run

    if __name__ == "__main__":
        cells = tuple(Cell(60, rank, 0.1, shape=(8, 6)) for rank in (1, 2))
        methods = (DEFAULT, Method("descent", rr.solvers.MedianTGD(max_iterations=60)))
        print("ready", flush=True)
        run(Study("tiny", "", cells, methods, 25), Path(sys.argv[1]), workers=int(sys.argv[2]))
"""


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_lose_no_rows(kills: int, tmp_path: Path) -> None:
    """After SIGKILLs at random times and a complete run, the rows are the same bytes."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, str(script)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*command, str(whole), "1"], check=True, capture_output=True, env=environment)
    rng = random.Random(0)
    sizes = []
    for attempt in range(kills):
        workers = "2" if attempt % 3 == 2 else "1"
        process = subprocess.Popen(
            [*command, str(killed), workers], stdout=subprocess.PIPE, env=environment
        )
        assert process.stdout is not None
        process.stdout.readline()
        before = size_of(killed / "tiny.jsonl")
        while process.poll() is None and size_of(killed / "tiny.jsonl") == before:
            time.sleep(0.002)  # until it writes; pytest-timeout limits the wait
        time.sleep(rng.uniform(0.0, 0.05))
        process.kill()
        process.wait()
        process.stdout.close()
        sizes.append(size_of(killed / "tiny.jsonl"))
    assert len(set(sizes)) > kills // 2  # the kills happened while rows were written
    subprocess.run([*command, str(killed), "2"], check=True, capture_output=True, env=environment)
    assert lines_of(killed) == lines_of(whole)
    assert all(json.loads(line) for line in lines_of(killed))
