"""How much memory there is, and how much may be used."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from robustrank.backend import available_memory, memory, memory_bytes, resident_memory


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (10, 10),
        (2**40, 2**40),
        ("10", 10),
        ("512 b", 512),
        ("2GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        (" 3k ", 3000),
        ("3 KiB", 3072),
        ("0.25M", 250_000),
        ("1 Ti", 2**40),
    ],
)
def test_limit_in_bytes(limit: Any, expected: int) -> None:
    assert memory_bytes(limit) == expected


@pytest.mark.parametrize(
    "limit", [0, -1, 1.5, True, None, "", "GB", "-2GB", "2 PB", "2GBs", "1e9", "two GB", [1]]
)
def test_limit_that_is_not_a_size_raises(limit: Any) -> None:
    with pytest.raises(ValueError, match=r'memory_limit=.*; expected bytes, or text such as "2GB"'):
        memory_bytes(limit)


def test_message_shows_what_was_passed() -> None:
    with pytest.raises(ValueError, match=re.escape("memory_limit='2 PB'")):
        memory_bytes("2 PB")


def test_available_memory_is_positive_and_at_most_that_of_the_machine() -> None:
    pages = Path("/proc/meminfo")
    if not pages.exists():
        pytest.skip("reads /proc")
    total = int(re.findall(r"MemTotal:\s+(\d+)", pages.read_text())[0]) * 1024
    assert 2**24 < available_memory() <= total


def test_memory_of_a_container_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/proc/meminfo": ["MemTotal: 9 kB", "MemAvailable: 2000 kB"],
        "/sys/fs/cgroup/memory.max": ["1000000"],
        "/sys/fs/cgroup/memory.current": ["400000"],
    }
    monkeypatch.setattr(memory, "_lines", lambda path: files.get(path, []))
    assert available_memory() == 600_000
    files["/sys/fs/cgroup/memory.max"] = ["max"]  # no limit
    assert available_memory() == 2_048_000
    files["/sys/fs/cgroup/memory.max"] = ["300000"]  # already exceeded
    assert available_memory() == 0
    files.clear()
    assert available_memory() > 2**24  # by other means


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
def test_resident_memory_grows_with_what_is_allocated() -> None:
    """In a process of its own: others reuse memory that earlier tests have freed."""
    code = """
import numpy as np
from robustrank.backend import resident_memory
before = resident_memory()
block = np.ones(2**24)  # 128 MiB
print(before, resident_memory() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, grown = map(int, done.stdout.split())
    assert before > 20 * 2**20
    assert 100 * 2**20 < grown < 200 * 2**20


def test_resident_memory_is_zero_where_the_system_does_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_lines", lambda _: [])
    assert resident_memory() == 0
