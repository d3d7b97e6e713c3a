"""How much memory there is, and how much may be used."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from robustrank.backend.arguments import shown

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_ASSUMED = 2 * 2**30  # where the system does not tell


def memory_bytes(limit: Any) -> int:
    """A number of bytes, given as such or as text like ``"2GB"`` or ``"1.5 GiB"``."""
    text = str(limit).strip().lower().removesuffix("b") if isinstance(limit, str) else ""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?|)", text)
    if found:
        limit = int(float(found[1]) * (_UNITS | _BINARY)[found[2]])
    if isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0:
        raise ValueError(f'memory_limit={shown(limit)}; expected bytes, or text such as "2GB"')
    return limit


def available_memory() -> int:
    """The memory in bytes that can be used without swapping, also in a container."""
    lines = [line for line in _lines("/proc/meminfo") if line.startswith("MemAvailable:")]
    limits = [_control_group("memory.max", "memory.current")]
    limits += [int(line.split()[1]) * 1024 for line in lines]
    known = [limit for limit in limits if limit is not None]
    if known:
        return max(min(known), 0)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return _ASSUMED


def resident_memory() -> int:
    """The memory in bytes that this process occupies; zero where the system does not tell."""
    for line in _lines("/proc/self/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def _control_group(limit: str, used: str) -> int | None:
    texts = [_lines(f"/sys/fs/cgroup/{name}") for name in (limit, used)]
    if not all(texts) or not texts[0][0].isdigit():
        return None
    return int(texts[0][0]) - int(texts[1][0])


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
