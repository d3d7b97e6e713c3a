"""Atomic writing of files, and reading of NumPy files without executing anything in them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

PathLike = str | os.PathLike[str]

_BLOCK = 2**24
_SUFFIXES_WITH_KEYS = "npz|mat|h5|hdf5|hdf|he5"
# A file that contains several arrays, and the name of one of them.
_WITH_KEY = re.compile(rf"(.+\.(?:{_SUFFIXES_WITH_KEYS})):(.+)", re.IGNORECASE | re.DOTALL)
_ARRAYS = re.compile(rf".+\.(?:npy|{_SUFFIXES_WITH_KEYS})", re.IGNORECASE | re.DOTALL)


class WriteError(OSError):
    """A file could not be written; the message says which one and why."""


@contextlib.contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """A temporary file to write to, which replaces ``path`` when the block ends without an error.

    If the block is interrupted, an existing file is unchanged and the temporary file is removed.
    An error of the operating system, such as a full disk, becomes a ``WriteError``.
    """
    check_writable(path)
    target = resolved(path)  # of a symbolic link, the file that it points to is replaced
    temporary = _temporary_beside(target, delete=False)
    temporary.close()
    name = temporary.name
    try:
        yield Path(name)
        with open(name, "r+b") as written:  # Windows flushes only what may be written
            os.fsync(written.fileno())
        os.chmod(name, _mode_for(target))
        os.replace(name, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError) and not isinstance(error, WriteError):
            raise WriteError(f"cannot write {path}: {error.strerror or error}") from error
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
    resolved(path)
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
        raise WriteError(f"cannot write {target}: {error.strerror}") from error


def resolved(path: PathLike) -> Path:
    """The path without symbolic links; raises if they lead in a circle."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(
                f"{path} cannot be used: its symbolic links lead in a circle; choose another name"
            ) from error
    return Path(path).resolve()


def create_npy(path: PathLike, shape: tuple[int, ...], dtype: str) -> np.memmap[Any, Any]:
    """A new memory-mapped ``.npy`` file for which the disk space is allocated.

    Writing to a memory map that has no space on the disk would end the process (SIGBUS).
    """
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    with open(path, "r+b") as stream:
        size = os.fstat(stream.fileno()).st_size
        try:
            os.posix_fallocate(stream.fileno(), 0, size)
        except (AttributeError, OSError) as error:
            unsupported = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, None)  # by this system
            if getattr(error, "errno", None) not in unsupported:
                raise
            stream.seek(array.offset)
            for first in range(array.offset, size, _BLOCK):
                stream.write(bytes(min(_BLOCK, size - first)))
    return array


def split_key(path: PathLike) -> tuple[Path, str | None]:
    """The path of a file and the name of an array in it, from ``file.h5:/A`` and the like.

    The name is None if there is none, or if a file with that whole name exists.
    """
    found = _WITH_KEY.fullmatch(os.fspath(path))
    if found is None or os.path.exists(path):
        return Path(path), None
    return Path(found[1]), found[2]


def is_array_file(path: PathLike) -> bool:
    """Whether a path names a file of arrays, one array in such a file, or a folder."""
    file, key = split_key(path)
    return key is not None or file.is_dir() or _ARRAYS.fullmatch(file.name) is not None


def read_npz(
    path: PathLike, names: Collection[str] | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of an ``.npz`` file by name, or those of ``names`` that it contains.

    Raises without loading pickled objects, and if the arrays cannot fit in memory.
    """
    with _open(path) as stream:
        kind = _kind_of(stream)
        if kind != "npz":
            found = "a single array" if kind == "npy" else "not a NumPy file"
            raise ValueError(f"{path} is {found}; expected an .npz archive written by numpy.savez")
        try:
            with np.load(stream, allow_pickle=False) as archive:
                wanted = [name for name in archive.files if names is None or name in names]
                members = {info.filename: info.file_size for info in archive.zip.infolist()}
                size = sum(members.get(f"{name}.npy", 0) for name in wanted)
                if size > physical_memory():
                    raise MemoryError(f"its arrays need {size / 1e9:,.2g} GB of memory")
                arrays = {name: archive[name] for name in wanted}
        except Exception as error:  # damaged and malicious files raise errors of many types
            raise ValueError(_why_unreadable(path, error)) from error
    for name, array in arrays.items():  # NumPy returns other members as bytes
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{path} cannot be read: {name} is not an array of NumPy")
    return arrays


def map_npy(path: PathLike) -> np.ndarray[Any, Any]:
    """An ``.npy`` file as a read-only memory map, which is read when it is used."""
    with _open(path) as stream:
        if _kind_of(stream) != "npy":
            raise ValueError(f"{path} is not a .npy file; expected one written by numpy.save")
    try:
        array: np.ndarray[Any, Any] = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # as above
        raise ValueError(_why_unreadable(path, error)) from error
    return array


def _open(path: PathLike) -> IO[bytes]:
    resolved(path)
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
    text = str(error) or type(error).__name__
    if "Object arrays" in text or "Python objects" in text:
        return f"{path} contains pickled Python objects, which are refused; save plain arrays"
    if isinstance(error, MemoryError):
        return f"{path} cannot be read: it does not fit in memory ({text})"
    return f"{path} cannot be read: it is truncated or damaged ({text})"


def physical_memory() -> float:
    """The memory of this machine in bytes; infinity if it is unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")
