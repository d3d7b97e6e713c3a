"""Files are written completely or not at all, and reading never executes anything."""

from __future__ import annotations

import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from robustrank.files import atomic_writer, check_writable, map_npy, read_npz


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
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert target.read_bytes() == b"before"


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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_file_raises_before_the_computation(tmp_path: Path) -> None:
    (tmp_path / "answer.npz").touch(mode=0o400)
    with pytest.raises(PermissionError, match="is read-only; choose another name or change its"):
        check_writable(tmp_path / "answer.npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder_raises_before_the_computation(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / "answer.npz")


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
