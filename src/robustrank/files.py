"""Writing that cannot half-happen, and reading that cannot execute anything."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

PathLike = str | os.PathLike[str]


@contextlib.contextmanager
def atomic_writer(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary file that appears under its name whole or not at all.

    The bytes go to a neighbour that replaces ``path`` when the block ends well; if anything
    interrupts it, what was there before is untouched.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode_for(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _mode_for(target: Path) -> int:
    """The permissions the file had, or those an ordinary new file would get."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def check_writable(path: PathLike) -> None:
    """Raise the error that writing ``path`` would meet, before any work is spent."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{target} is read-only; choose another name or change its mode")
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(f"cannot write in {target.parent}: {error.strerror}") from error


def read_npz(path: PathLike) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of an ``.npz`` file, by name; pickled objects are refused, never loaded."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError(f"{path} holds a single array; expected an .npz archive")
            return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(_why_unreadable(path, error)) from error


def map_npy(path: PathLike) -> np.ndarray[Any, Any]:
    """An ``.npy`` file as a read-only memory map: nothing is read until it is used."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        array: np.ndarray[Any, Any] = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(_why_unreadable(path, error)) from error
    return array


def _why_unreadable(path: PathLike, error: Exception) -> str:
    text = str(error)
    if "pickle" in text or "Object arrays" in text or "Python objects" in text:
        if _is_numpy_file(path):
            return f"{path} contains pickled Python objects, which are refused; save plain arrays"
        return f"{path} is not a NumPy file; expected .npz or .npy written by numpy.savez or save"
    if text.startswith(str(path)):
        return text
    return f"{path} cannot be read: it is truncated or not a NumPy file ({text})"


def _is_numpy_file(path: PathLike) -> bool:
    with open(path, "rb") as stream:
        magic = stream.read(6)
    return magic.startswith((b"PK\x03\x04", b"\x93NUMPY"))
