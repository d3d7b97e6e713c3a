"""Atomic writing of files, and reading of NumPy files without executing anything in them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

PathLike = str | os.PathLike[str]

# Errors of NumPy and zipfile for files that are truncated, damaged, encrypted or malicious.
_DAMAGE = (
    ValueError,
    EOFError,
    OSError,
    KeyError,
    RuntimeError,
    OverflowError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """A temporary file to write to, which replaces ``path`` when the block ends without an error.

    If the block is interrupted, an existing file is unchanged and the temporary file is removed.
    """
    check_writable(path)
    target = Path(path).resolve()  # of a symbolic link, the file that it points to is replaced
    temporary = _temporary_beside(target, delete=False)
    temporary.close()
    name = temporary.name
    try:
        yield Path(name)
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(name, _mode_for(target))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def atomic_writer(path: PathLike) -> Iterator[IO[bytes]]:
    """A binary stream whose content replaces ``path`` completely, or not at all after an error."""
    with atomic_path(path) as part, open(part, "wb") as stream:
        yield stream


def _temporary_beside(target: Path, *, delete: bool) -> Any:
    """A new file in the folder of the target, with a name that contains the target's."""
    return tempfile.NamedTemporaryFile(
        prefix=f".{target.name}.", suffix=".part", dir=target.parent, delete=delete
    )


def _mode_for(target: Path) -> int:
    """The permissions of the existing file, or those of a new file."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def check_writable(path: PathLike) -> None:
    """Raise now the error that writing ``path`` would raise after the computation."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; pass the name of a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; create it first")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(
            f"{target} is read-only; choose another name or change its permissions"
        )
    try:
        _temporary_beside(target, delete=True).close()
    except OSError as error:
        raise OSError(f"cannot write {target}: {error.strerror}") from error


def read_npz(path: PathLike) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of an ``.npz`` file, by name; raises without loading pickled objects."""
    with _open(path) as stream:
        kind = _kind_of(stream)
        if kind != "npz":
            found = "a single array" if kind == "npy" else "not a NumPy file"
            raise ValueError(f"{path} is {found}; expected an .npz archive written by numpy.savez")
        try:
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except _DAMAGE as error:
            raise ValueError(_why_unreadable(path, error)) from error


def map_npy(path: PathLike) -> np.ndarray[Any, Any]:
    """An ``.npy`` file as a read-only memory map, which is read when it is used."""
    with _open(path) as stream:
        if _kind_of(stream) != "npy":
            raise ValueError(f"{path} is not a .npy file; expected one written by numpy.save")
    try:
        array: np.ndarray[Any, Any] = np.lib.format.open_memmap(path, mode="r")
    except _DAMAGE as error:
        raise ValueError(_why_unreadable(path, error)) from error
    return array


def _open(path: PathLike) -> IO[bytes]:
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not Path(path).is_file():
        raise ValueError(f"{path} is not a file")
    return open(path, "rb")


def _kind_of(stream: IO[bytes]) -> str | None:
    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(b"PK"):
        return "npz"
    return "npy" if magic == b"\x93NUMPY" else None


def _why_unreadable(path: PathLike, error: Exception) -> str:
    text = str(error)
    if "Object arrays" in text or "Python objects" in text:
        return f"{path} contains pickled Python objects, which are refused; save plain arrays"
    return f"{path} cannot be read: it is truncated or damaged ({text})"
