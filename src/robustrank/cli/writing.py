"""Writing tables, and the outliers beside a matrix."""

from __future__ import annotations

import csv
import io
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from robustrank.files import atomic_writer


@dataclass(frozen=True)
class Dialect:
    """How a text file separates cells and writes fractions."""

    delimiter: str = ","
    point: str = "."

    def number(self, value: float) -> str:
        """A number in as few digits as give the same number when it is read."""
        return repr(value).removesuffix(".0").replace(".", self.point)


def outlier_file(out: Path) -> Path | None:
    """The file for the outliers beside the file of a matrix; None for an ``.npz`` file.

    That contains the outliers itself.
    """
    return None if out.suffix == ".npz" else out.with_name(f"{out.stem}.outliers{out.suffix}")


def write_outliers(
    path: Path, flags: np.ndarray[Any, Any], header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write which measurements are outliers (``.npy``), or a row for each outlier (``.csv``)."""
    with atomic_writer(path) as stream:
        if path.suffix == ".npy":
            np.save(stream, flags, allow_pickle=False)
        else:
            write_csv(stream, [header, *rows])


def write_csv(
    stream: IO[bytes], rows: Iterable[Sequence[Any]], dialect: Dialect | None = None
) -> None:
    """Write rows of text and numbers, the numbers in full precision.

    In a dialect, a number that is missing is an empty cell.
    """
    with _as_text(stream) as text:
        if dialect is None:
            csv.writer(text).writerows([*map(_shown, row)] for row in rows)
            return
        writer = csv.writer(text, delimiter=dialect.delimiter, lineterminator="\n")
        writer.writerows([_written(cell, dialect) for cell in row] for row in rows)


def _shown(cell: Any) -> Any:
    return format(cell, ".17g") if isinstance(cell, (float, np.floating)) else cell


def _written(cell: Any, dialect: Dialect) -> Any:
    if not isinstance(cell, (float, np.floating)):
        return cell
    return "" if np.isnan(cell) else dialect.number(float(cell))


@contextmanager
def _as_text(stream: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    yield text
    text.flush()
    text.detach()


@contextmanager
def without_interruption() -> Iterator[None]:
    """Ctrl-C is ignored while a result is written, which is quick, so that it is not lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
