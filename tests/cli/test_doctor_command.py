"""``robustrank doctor``: versions, devices, a dot test and the memory bandwidth."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import run

from robustrank.cli import doctor
from robustrank.operators import as_operator, check_operator


def test_doctor_reports_versions_and_passed_checks(tmp_path: Path) -> None:
    done = run("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("robustrank", "numpy", "threads", "backend torch", "zarr", "distributed", "GB/s"):
        assert text in done.stdout
    assert done.stdout.count("passed") == 2
    assert "compiled kernels" in done.stdout


@pytest.mark.parametrize(
    ("installed", "said"), [(True, "used for large"), (False, "not used: pip install")]
)
def test_doctor_says_whether_compiled_kernels_are_used(
    installed: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "can_compile", lambda: installed)
    monkeypatch.setattr(doctor, "measure_bandwidth", lambda: (1.0, 1.0))
    outcome = CliRunner().invoke(doctor.doctor, standalone_mode=False)
    (line,) = (line for line in outcome.stdout.splitlines() if "compiled kernels" in line)
    assert said in line


def test_doctor_fails_if_an_operator_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = check_operator(as_operator(np.ones((3, 2, 2))))
    monkeypatch.setattr(doctor, "check_operator", lambda _: replace(passed, dot=1.0))
    monkeypatch.setattr(doctor, "measure_bandwidth", lambda: (1.0, 1.0))
    outcome = CliRunner().invoke(doctor.doctor, standalone_mode=False)
    assert outcome.return_value == 1
    assert "FAILED" in outcome.stdout


def test_doctor_describes_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(
        device="cuda:1", name="A GPU", free=2e10, memory=8e10, copy_bandwidth=lambda: 3.21e12
    )
    monkeypatch.setattr(doctor, "gpus", lambda: [gpu])
    said = ("device cuda:1", "A GPU, 20 of 80 GB free, 3,210 GB/s copying")
    assert [*doctor._gpus()] == [said]
    monkeypatch.setattr(doctor, "gpus", list)
    (line,) = doctor._gpus()
    assert line[1].startswith("CPU only")


def test_bandwidth_is_that_of_the_fastest_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of each product moves by one, two, … seconds; the shortest counts."""
    ticks = iter([0, 3, 10, 12, 20, 24, 30, 35, 40, 48, 60, 68])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(doctor, "_PASS_BYTES", 1024 * 8 * 1000)
    forward, backward = doctor.measure_bandwidth(repeats=3)
    size = 1024 * 8 * 1000 / 1e9
    assert forward == pytest.approx(size / 2)
    assert backward == pytest.approx(size / 5)
