"""Results of trials on disk: one JSON line each, with a checksum."""

from __future__ import annotations

import glob
import gzip
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from robustrank.files import atomic_writer

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

Row = dict[str, Any]
Key = tuple[str, int, str]  # setting, trial, method
_CHECK = "crc"
# Names that statuses had in earlier versions; runs that ended early had a status of their own.
_RENAMED = {
    "SETTLED": "ESTIMATED",
    "UNEXPLAINED": "INCONCLUSIVE",
    **dict.fromkeys(
        ("ITERATION_LIMIT", "TIME_LIMIT", "STOPPED", "INTERRUPTED", "DIVERGED"), "INCONCLUSIVE"
    ),
}


def key_of(row: Row) -> Key:
    """The setting, trial and method of a row."""
    return row["cell"], row["trial"], row["method"]


def encode(row: Row) -> bytes:
    """A row as one line, with a checksum of the other fields as its last field."""
    return json.dumps({**row, _CHECK: _checksum(row)}, ensure_ascii=False).encode() + b"\n"


def decode(line: bytes) -> Row:
    """The row of a line; raises ValueError with the reason if the line is damaged."""
    if not line.endswith(b"\n"):
        raise ValueError("cut short")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # includes the errors of JSON and UTF-8
        raise ValueError("not JSON") from None
    if not isinstance(row, dict) or not {"cell", "trial", "method", _CHECK} <= row.keys():
        raise ValueError("not the result of a trial")
    if row.pop(_CHECK) != _checksum(row):
        raise ValueError("changed after it was written: the checksum does not match")
    return row


def _checksum(row: Row) -> str:
    return f"{zlib.crc32(json.dumps(row, sort_keys=True, ensure_ascii=False).encode()):08x}"


@dataclass(frozen=True)
class Damage:
    """A line that cannot be used."""

    path: Path
    line: int  # starting at 1
    reason: str
    text: bytes

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}; ignored"


@dataclass(frozen=True)
class Table:
    """The rows of a study, the lines that could not be read, and the seconds of each trial.

    Seconds are not part of a row, so that the same trial gives the same row on every machine.
    """

    rows: list[Row]
    damage: list[Damage]
    seconds: dict[Key, float] = field(default_factory=dict)

    def of(self, cell: str, method: str) -> list[Row]:
        """The rows of a setting, given by its key, and a method."""
        return self._index.get((cell, method), [])

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Row]]:
        index: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            index.setdefault((row["cell"], row["method"]), []).append(row)
        return index


def files_of(folder: Path, name: str, kind: str = "jsonl") -> list[Path]:
    """The files with rows of a study: NAME.jsonl[.gz] and NAME.*.jsonl[.gz]."""
    endings = (f".{kind}", f".*.{kind}", f".{kind}.gz", f".*.{kind}.gz")
    return sorted(path for ending in endings for path in folder.glob(glob.escape(name) + ending))


def read(paths: Iterable[Path]) -> Table:
    """The rows of several files; if two have the same trial, the first is used."""
    rows: dict[Key, Row] = {}
    damage: list[Damage] = []
    for path in paths:
        number = 0
        try:
            with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as stream:
                for number, line in enumerate(stream, start=1):
                    try:
                        row = decode(line)
                    except ValueError as error:
                        damage.append(Damage(path, number, str(error), line))
                    else:
                        rows.setdefault(key_of(row), _with_current_names(row))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the archive is damaged from this line on ({error})"
            damage.append(Damage(path, number + 1, reason, b""))
    return Table(list(rows.values()), damage)


def _with_current_names(row: Row) -> Row:
    name = row.get("status")
    return row | {"status": _RENAMED[name]} if name in _RENAMED else row


class RowWriter:
    """Appends rows to a file, each by one write: if the process is killed, one line is damaged."""

    def __init__(self, path: Path) -> None:
        self._lock = _lock(path)
        self.damage = _repair(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def add(self, row: Row) -> None:
        """Append a row and wait until it is on disk."""
        line = encode(row)
        while line:
            line = line[os.write(self._file, line) :]
        os.fsync(self._file)

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._file)
        os.close(self._lock)


def _lock(path: Path) -> int:
    """Lock a hidden file next to the file, until the process ends or closes it."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o666)
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ValueError(
                f"another process is writing {path}; wait until it is finished, or use another "
                "folder (files of several runs can be combined later)"
            ) from None
    return lock


def _repair(path: Path) -> list[Damage]:
    """Move damaged lines of a file to another one, whose name ends in .rejected."""
    if not path.exists():
        return []
    damage = read([path]).damage
    if damage:
        bad = {found.line for found in damage}
        with open(path, "rb") as stream:
            good = [line for number, line in enumerate(stream, start=1) if number not in bad]
        with open(path.with_name(f"{path.name}.rejected"), "ab") as rejected:
            rejected.writelines(found.text.rstrip(b"\n") + b"\n" for found in damage)
        with atomic_writer(path) as stream:
            stream.writelines(good)
    return damage


def pack(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a compressed file, sorted, so that equal rows give equal bytes."""
    lines = sorted(encode(row) for row in rows)
    with atomic_writer(path) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        packed.writelines(lines)
