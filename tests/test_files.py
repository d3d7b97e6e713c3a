"""Files are written completely or not at all, and reading never executes anything."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustrank.files import (
    WriteError,
    atomic_writer,
    check_writable,
    create_npy,
    map_npy,
    read_npz,
    resolved,
)


def test_interrupted_write_keeps_the_previous_file(tmp_path: Path) -> None:
    target = tmp_path / "answer.npz"
    target.write_bytes(b"before")

    def write_half() -> None:
        with atomic_writer(target) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["answer.npz"]


def test_killed_process_keeps_the_previous_file(tmp_path: Path) -> None:
    target = tmp_path / "answer.npz"
    target.write_bytes(b"before")
    script = f"""
        import time
        from robustrank.files import atomic_writer
        with atomic_writer({str(target)!r}) as stream:
            stream.write(b"half of the n" * 100000)
            stream.flush()
            print("writing", flush=True)
            time.sleep(60)
    """
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    writer.kill()
    writer.wait()
    writer.stdout.close()
    assert target.read_bytes() == b"before"


@pytest.mark.posix
def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_bytes(b"")
    with atomic_writer(ours) as stream:
        stream.write(b"x")
    assert stat.S_IMODE(ours.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    ours.chmod(0o640)
    with atomic_writer(ours) as stream:
        stream.write(b"y")
    assert stat.S_IMODE(ours.stat().st_mode) == 0o640


class Bomb:
    """An object whose pickle creates a folder when it is loaded."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("compressed", [False, True])
def test_pickle_inside_an_npz_raises_and_is_not_executed(tmp_path: Path, compressed: bool) -> None:
    bomb = np.asarray([Bomb(str(tmp_path / "exploded"))], dtype=object)
    write = np.savez_compressed if compressed else np.savez
    write(tmp_path / "bomb.npz", A=bomb, y=np.ones(3))
    with pytest.raises(ValueError, match="contains pickled Python objects, which are refused"):
        read_npz(tmp_path / "bomb.npz")
    np.save(tmp_path / "bomb.npy", bomb, allow_pickle=True)
    with pytest.raises(ValueError, match="pickled Python objects"):
        map_npy(tmp_path / "bomb.npy")
    assert not (tmp_path / "exploded").exists()


def test_bare_pickle_raises_and_is_not_executed(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(pickle.dumps(Bomb(str(tmp_path / "exploded"))))
    with pytest.raises(
        ValueError, match=r"is not a NumPy file; expected an \.npz archive written by"
    ):
        read_npz(tmp_path / "data.npz")
    assert not (tmp_path / "exploded").exists()


def valid_archive(path: Path) -> bytes:
    np.savez(path, A=np.ones((10, 4, 3)), y=np.ones(10))
    return path.read_bytes()


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.99])
def test_truncated_archive_raises(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "data.npz"
    data = valid_archive(path)
    path.write_bytes(data[: int(keep * len(data) if keep < 1 else keep)])
    with pytest.raises(ValueError, match=r"data\.npz (cannot be read|is not a NumPy file)"):
        read_npz(path)


def test_corrupted_archive_raises(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    data = bytearray(valid_archive(path))
    data[300] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="cannot be read"):
        read_npz(path)


def test_npy_file_instead_of_an_archive_raises(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.ones(3))
    with pytest.raises(ValueError, match=r"is a single array; expected an \.npz archive"):
        read_npz(tmp_path / "A.npy")


def test_archive_instead_of_an_npy_file_raises(tmp_path: Path) -> None:
    valid_archive(tmp_path / "data.npz")
    with pytest.raises(ValueError, match=r"data\.npz is not a \.npy file; expected one written by"):
        map_npy(tmp_path / "data.npz")


def test_truncated_npy_raises(tmp_path: Path) -> None:
    path = tmp_path / "A.npy"
    np.save(path, np.ones((100, 4, 3)))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"A\.npy cannot be read"):
        map_npy(path)


def test_error_names_the_missing_file(tmp_path: Path) -> None:
    for read in (read_npz, map_npy):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.npz does not exist"):
            read(tmp_path / "nowhere.npz")


def test_unwritable_output_raises_before_the_computation(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        check_writable(tmp_path / "no" / "answer.npz")
    with pytest.raises(IsADirectoryError, match="is a folder; pass the name of a file in it"):
        check_writable(tmp_path)
    check_writable(tmp_path / "answer.npz")
    assert not os.listdir(tmp_path)


needs_permissions = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may write anywhere"
)


@needs_permissions
def test_read_only_file_raises_before_the_computation(tmp_path: Path) -> None:
    (tmp_path / "answer.npz").touch(mode=0o400)
    with pytest.raises(PermissionError, match="is read-only; choose another name or change its"):
        check_writable(tmp_path / "answer.npz")


@needs_permissions
def test_read_only_folder_raises_before_the_computation(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / "answer.npz")


@pytest.mark.posix
def test_symbolic_link_is_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "real.npz").write_bytes(b"before")
    (tmp_path / "link.npz").symlink_to(tmp_path / "real.npz")
    with atomic_writer(tmp_path / "link.npz") as stream:
        stream.write(b"after")
    assert (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "real.npz").read_bytes() == b"after"


def test_too_long_name_raises_before_the_computation(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / ("x" * 250))


def test_encrypted_archive_and_malformed_header_raise(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    data = bytearray(valid_archive(path))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1  # the flag for encryption
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="cannot be read"):
        read_npz(path)
    np.save(tmp_path / "A.npy", np.ones((100, 4, 3)))
    whole = (tmp_path / "A.npy").read_bytes()
    (tmp_path / "A.npy").write_bytes(whole.replace(b"(100, 4, 3)", b"(-10, 4, 3)"))
    with pytest.raises(ValueError, match="cannot be read"):
        map_npy(tmp_path / "A.npy")


def test_folder_instead_of_a_file_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a file"):
        read_npz(tmp_path)


def test_memory_map_is_not_read_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "A.npy"
    np.lib.format.open_memmap(path, mode="w+", dtype="f8", shape=(10**6, 30, 30))  # 7 GB, sparse
    began = time.perf_counter()
    assert map_npy(path).shape == (10**6, 30, 30)
    assert time.perf_counter() - began < 1


def archive_of(path: Path, name: str, content: bytes, **options: Any) -> None:
    with zipfile.ZipFile(path, "w", **options) as archive:
        archive.writestr(name, content)


def npy_header(shape: str, descr: str = "<f8") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        npy_header("(1000000000000000,)"),
        npy_header("(99999999999999999999999,)"),
        npy_header("(-1,)"),
        npy_header("(1.5,)"),
        npy_header("((((((3,))))))"),
        npy_header("(" * 3000 + ")" * 3000),
        npy_header("(3,)"),
        npy_header("(3,)", descr="<q9"),
        b"",
        b"PK",
        b"\x93NUMPY\x09\x09",
    ],
)
def test_archive_with_a_malformed_member_raises(content: bytes, tmp_path: Path) -> None:
    archive_of(tmp_path / "data.npz", "A.npy", content)
    with pytest.raises(ValueError, match="cannot be read: "):
        read_npz(tmp_path / "data.npz")
    (tmp_path / "A.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot be read|is not a \.npy file"):
        map_npy(tmp_path / "A.npy")


def test_archive_that_does_not_fit_in_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 50 * 2**20  # compressed to 50 KB
    content = npy_header(f"({size // 8},)") + bytes(size)
    archive_of(tmp_path / "a.npz", "A.npy", content, compression=zipfile.ZIP_DEFLATED)
    monkeypatch.setattr("robustrank.files.physical_memory", lambda: 40 * 2**20)
    with pytest.raises(ValueError, match=r"does not fit in memory \(its arrays need 0\.052 GB"):
        read_npz(tmp_path / "a.npz")
    assert read_npz(tmp_path / "a.npz", names=["y"]) == {}


@pytest.mark.posix
def test_circle_of_symbolic_links_raises(tmp_path: Path) -> None:
    (tmp_path / "one.npz").symlink_to(tmp_path / "two.npz")
    (tmp_path / "two.npz").symlink_to(tmp_path / "one.npz")
    for use in (read_npz, map_npy, check_writable, resolved):
        with pytest.raises(OSError, match=r"one\.npz cannot be used: its symbolic links lead in a"):
            use(tmp_path / "one.npz")
    with (
        pytest.raises(OSError, match="lead in a circle; choose another name"),
        atomic_writer(tmp_path / "one.npz"),
    ):
        pass


@pytest.fixture
def file_size_limit() -> Iterator[None]:
    """Files cannot grow beyond 64 KiB, which has the effect of a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("file_size_limit")
def test_full_disk_raises_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "answer.npz"
    target.write_bytes(b"before")
    with (
        pytest.raises(WriteError, match=r"cannot write .*answer\.npz: File too large"),
        atomic_writer(target) as stream,
    ):
        np.savez(stream, A=np.ones(100_000))
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["answer.npz"]


@pytest.mark.usefixtures("file_size_limit")
def test_memory_map_is_not_created_on_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File too large"):
        create_npy(tmp_path / "A.npy", (100, 100, 100), "float64")


@pytest.mark.posix
@pytest.mark.parametrize("supported", [True, False])
def test_disk_space_of_a_memory_map_is_allocated(
    supported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not supported:
        monkeypatch.delattr(os, "posix_fallocate")
    array = create_npy(tmp_path / "A.npy", (3, 1000, 1000), "float32")
    assert (tmp_path / "A.npy").stat().st_blocks * 512 >= array.nbytes
    array[:] = 7
    array.flush()
    assert np.all(np.load(tmp_path / "A.npy") == 7)
