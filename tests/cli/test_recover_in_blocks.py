"""``robustrank recover`` with sensing data in files: parts, limits, resuming, a cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run

import robustrank as rr
from robustrank import api
from robustrank.api import SensingDataLost
from robustrank.cli.data import MeasuredData
from robustrank.cli.recover import _Outcome, _written, recover
from robustrank.simulate import plant


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a problem whose sensing data is in one file, and in two parts."""
    path = tmp_path_factory.mktemp("blocks")
    planted = plant(20, 15, 2, 400, outliers=0.05, rng=3)
    np.savez(path / "y.npz", y=planted.y)
    np.save(path / "A.npy", planted.A)
    np.save(path / "first.npy", planted.A[:150])
    np.save(path / "second.npy", planted.A[150:])
    return path


@pytest.fixture(scope="module")
def whole(folder: Path) -> rr.Result:
    """The result for one file."""
    with np.load(folder / "y.npz") as archive:
        return rr.recover(folder / "A.npy", archive["y"], 2, rng=0)


def solve(folder: Path, out: Path, *options: object, status: int = 0) -> Any:
    """Run the command and return its output and the result."""
    done = run("recover", "y.npz", "--rank", 2, "--seed", 0, "-o", out, *options, cwd=folder)
    assert done.returncode == status, done.stderr
    return done, rr.load(out)


def same_factors(one: rr.Result, other: rr.Result) -> bool:
    return np.array_equal(one.left, other.left) and np.array_equal(one.right, other.right)


def test_several_files_and_a_memory_limit(folder: Path, whole: rr.Result, tmp_path: Path) -> None:
    files = ["--sensing", "first.npy", "--sensing", "second.npy", "--memory-limit", "2GB"]
    _, recovery = solve(folder, tmp_path / "result.npz", *files)
    assert same_factors(recovery, whole)


def test_a_zarr_folder(folder: Path, whole: rr.Result, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    A = np.load(folder / "A.npy")
    zarr.create_array(tmp_path / "A.zarr", data=A, chunks=(100, 20, 15))
    _, recovery = solve(folder, tmp_path / "result.npz", "--sensing", tmp_path / "A.zarr")
    assert same_factors(recovery, whole)


def test_resuming_continues_from_the_saved_result(
    folder: Path, whole: rr.Result, tmp_path: Path
) -> None:
    """The same command can be repeated: the file need not exist for the first run."""
    state = tmp_path / "state.npz"
    options = ["--sensing", "A.npy", "--resume", state]
    limits = ["--solver", "gauss-newton", "--max-iterations", 3]
    _, stopped = solve(folder, state, *options, *limits, status=1)
    assert stopped.stopped is rr.StopReason.ITERATIONS
    _, resumed = solve(folder, state, *options)
    assert resumed.certified
    assert np.allclose(resumed.matrix, whole.matrix, rtol=1e-8)
    assert resumed.iterations < whole.iterations
    assert resumed.passes < whole.passes


@pytest.mark.parametrize(
    ("known", "found", "kept"),
    [
        ((True, 1e-3), (False, 1e-9), "is certified, and this one is not"),
        ((False, 1e-3), (False, 1.0), "has a smaller misfit"),
        ((False, 1e-3), (False, 1e-4), ""),
        ((False, 1e-9), (True, 1e-3), ""),
        ((True, 1e-9), (True, 1e-3), ""),
    ],
)
def test_resuming_does_not_replace_a_better_result(
    known: tuple[bool, float],
    found: tuple[bool, float],
    kept: str,
    folder: Path,
    whole: rr.Result,
    tmp_path: Path,
) -> None:
    """A run may be stopped before it has read the data once, and has nothing then."""
    state = tmp_path / "state.npz"
    before, after = (
        replace(
            whole,
            certificate=replace(
                whole.certificate, misfit=misfit, objections=() if certified else ("a reason",)
            ),
        )
        for certified, misfit in (known, found)
    )
    before.save(state)
    data = MeasuredData(None, np.load(folder / "y.npz")["y"], None)
    outcome = _written(_Outcome(after), state, before, data, {"resume": state})
    assert outcome.kept == (kept and f"{state} is unchanged: the result in it {kept}")
    assert bool(outcome.written) is not bool(kept)
    assert rr.load(state).certificate.misfit == (known if kept else found)[1]


def test_resuming_without_a_rank_continues_the_search_for_it(
    folder: Path, whole: rr.Result, tmp_path: Path
) -> None:
    state = tmp_path / "state.npz"
    lower = replace(whole, left=whole.left[:, :1], right=whole.right[:, :1])
    certificate = replace(whole.certificate, misfit=0.5, objections=("a reason",))
    replace(lower, stopped=rr.StopReason.TIME_LIMIT, certificate=certificate).save(state)
    files = [str(folder / "y.npz"), "--sensing", str(folder / "A.npy")]
    arguments = [*files, "--resume", str(state), "--out", str(state), "--quiet"]
    CliRunner().invoke(recover, arguments, catch_exceptions=False)
    assert rr.load(state).certified
    assert rr.load(state).rank == 2


def test_workers_give_the_same_bits(folder: Path, whole: rr.Result, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    done, recovery = solve(folder, tmp_path / "r.npz", "--sensing", "A.npy", "--workers", 2)
    assert same_factors(recovery, whole)
    assert "cluster          workers: 2, threads: 2" in done.stdout
    progress = [line.startswith("auto: ") for line in done.stderr.splitlines()]
    assert all(progress), done.stderr


def test_a_time_limit_during_validation_is_status_1(folder: Path) -> None:
    limit = ["--sensing", "A.npy", "--time-limit", "1e-6"]
    done = run("recover", "y.npz", "--rank", 2, *limit, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("robustrank: the time limit was reached while")
    assert len(done.stderr.splitlines()) == 1


def test_the_result_so_far_is_written_if_the_data_is_lost(
    folder: Path, whole: rr.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = whole.certificate.with_objections("a reason")
    interrupted = replace(whole, stopped=rr.StopReason.INTERRUPTED, certificate=reason)

    def lose(*_: Any, **__: Any) -> rr.Result:
        raise SensingDataLost("The disk is gone.", interrupted)

    monkeypatch.setattr(api, "recover", lose)
    paths = [str(folder / "y.npz"), "--sensing", str(folder / "A.npy")]
    out = tmp_path / "state.npz"
    arguments = [*paths, "--rank", "2", "--out", str(out), "--quiet"]
    outcome = CliRunner().invoke(recover, arguments, standalone_mode=False)
    assert outcome.return_value == 1
    assert outcome.stderr == "robustrank: The disk is gone.\n"
    assert outcome.stdout == ""
    assert same_factors(rr.load(out), whole)
