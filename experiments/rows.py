"""Results of trials on disk: one JSON line each, whole or not at all."""

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


def key_of(row: Row) -> Key:
    """What a row is the result of."""
    return row["cell"], row["trial"], row["method"]


def encode(row: Row) -> bytes:
    """A row as a line, with a checksum of the rest as its last field."""
    return json.dumps({**row, _CHECK: _checksum(row)}, ensure_ascii=False).encode() + b"\n"


def decode(line: bytes) -> Row:
    """The row of a line; ValueError with the reason where it is damaged."""
    if not line.endswith(b"\n"):
        raise ValueError("cut short")
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # JSON's and UTF-8's errors are such
        raise ValueError("not JSON") from None
    if not isinstance(row, dict) or not {"cell", "trial", "method", _CHECK} <= row.keys():
        raise ValueError("not the result of a trial")
    if row.pop(_CHECK) != _checksum(row):
        raise ValueError("changed since it was written: its checksum does not fit")
    return row


def _checksum(row: Row) -> str:
    return f"{zlib.crc32(json.dumps(row, sort_keys=True, ensure_ascii=False).encode()):08x}"


@dataclass(frozen=True)
class Damage:
    """A line that cannot be used."""

    path: Path
    line: int  # counted from one
    reason: str
    text: bytes

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}; left out"


@dataclass(frozen=True)
class Table:
    """The rows of an experiment, each once, what could not be read, and how long trials took.

    Times are no part of a row: the same trial gives the same row everywhere.
    """

    rows: list[Row]
    damage: list[Damage]
    seconds: dict[Key, float] = field(default_factory=dict)

    def of(self, cell: str, method: str) -> list[Row]:
        """The trials of a setting and a method."""
        return self._index.get((cell, method), [])

    @cached_property
    def _index(self) -> dict[tuple[str, str], list[Row]]:
        index: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            index.setdefault((row["cell"], row["method"]), []).append(row)
        return index


def files_of(folder: Path, name: str, kind: str = "jsonl") -> list[Path]:
    """The files with rows of an experiment: its own, and any put beside it as NAME.*.jsonl[.gz]."""
    endings = (f".{kind}", f".*.{kind}", f".{kind}.gz", f".*.{kind}.gz")
    return sorted(path for ending in endings for path in folder.glob(glob.escape(name) + ending))


def read(paths: Iterable[Path]) -> Table:
    """The rows of some files together; of two for the same trial the first counts."""
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
                        rows.setdefault(key_of(row), row)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = f"the archive is damaged from here on ({error})"
            damage.append(Damage(path, number + 1, reason, b""))
    return Table(list(rows.values()), damage)


class RowWriter:
    """Adds rows to a file, each with a single write, so that a kill leaves at most half a line."""

    def __init__(self, path: Path) -> None:
        self._lock = _locked(path)
        self.damage = _mend(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def add(self, row: Row) -> None:
        """Put a row on disk, where it stays if the power fails."""
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


def _locked(path: Path) -> int:
    """A hidden neighbour of the file that only one process can hold, until it ends."""
    lock = os.open(path.with_name(f".{path.name}.lock"), os.O_WRONLY | os.O_CREAT, 0o666)
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ValueError(
                f"another run is writing {path}; wait for it, or write to another folder: files of "
                "several can be put together later"
            ) from None
    return lock


def _mend(path: Path) -> list[Damage]:
    """Take damaged lines out of a file, into a neighbour whose name ends in .rejected."""
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
    """Write rows as a compressed file, sorted, so that the same rows give the same bytes."""
    lines = sorted(encode(row) for row in rows)
    with atomic_writer(path) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        packed.writelines(lines)
