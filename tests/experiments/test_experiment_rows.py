"""Rows on disk: damaged lines are found, and nothing else is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from experiment_samples import ROW

from experiments import pack
from experiments.rows import RowWriter, decode, encode, files_of, read


def test_decode_inverts_encode() -> None:
    assert decode(encode(ROW)) == ROW
    assert encode(ROW).count(b"\n") == 1


DAMAGE: dict[str, tuple[bytes, str]] = {
    "cut short": (encode(ROW)[:-10], "cut short"),
    "without a newline": (encode(ROW)[:-1], "cut short"),
    "changed number": (
        encode(ROW).replace(b"1.25e-14", b"1.26e-14"),
        "the checksum does not match",
    ),
    "not JSON": (b"{nonsense}\n", "not JSON"),
    "not UTF-8": (b"\xff\xfe\n", "not JSON"),
    "two in one line": (encode(ROW)[:30] + encode(ROW), "not JSON"),
    "other object": (b'{"a": 1}\n', "not the result of a trial"),
    "a number": (b"17\n", "not the result of a trial"),
    "deeply nested": (b"[" * 200_000 + b"\n", "not JSON"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_line_is_reported_and_other_rows_are_kept(kind: str, tmp_path: Path) -> None:
    bad, reason = DAMAGE[kind]
    rows = [ROW | {"trial": trial} for trial in range(3)]
    path = tmp_path / "tiny.jsonl"
    at_end = not bad.endswith(b"\n")
    lines = [encode(row) for row in rows]
    lines.insert(3 if at_end else 1, bad)
    path.write_bytes(b"".join(lines))
    table = read([path])
    assert table.rows == rows
    (damage,) = table.damage
    assert damage.line == (4 if at_end else 2)
    assert reason in damage.reason
    assert f"tiny.jsonl, line {damage.line}: " in str(damage)
    # A writer moves the line to another file and appends to the rest.
    with RowWriter(path) as writer:
        assert [found.line for found in writer.damage] == [damage.line]
        writer.add(ROW | {"trial": 3})
    assert read([path]).damage == []
    assert len(read([path]).rows) == 4
    assert (tmp_path / "tiny.jsonl.rejected").read_bytes().startswith(bad[:5])


def test_packed_rows_do_not_depend_on_the_order(tmp_path: Path) -> None:
    rows = [ROW | {"trial": trial} for trial in range(5)]
    pack(tmp_path / "a.jsonl.gz", rows)
    pack(tmp_path / "b.jsonl.gz", reversed(rows))
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert sorted(row["trial"] for row in read([tmp_path / "a.jsonl.gz"]).rows) == [0, 1, 2, 3, 4]


def test_damaged_archive_is_read_up_to_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl.gz"
    lines = [encode(ROW | {"trial": trial}) for trial in range(2000)]
    whole = gzip.compress(b"".join(lines))
    path.write_bytes(whole[: len(whole) // 2])
    table = read([path])
    assert 0 < len(table.rows) < 2000
    assert "the archive is damaged from this line on" in table.damage[-1].reason


def test_files_of_several_runs_are_combined(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("tiny.jsonl", "tiny.other.jsonl"))
    first.write_bytes(encode(ROW) + encode(ROW | {"trial": 1}))
    second.write_bytes(encode(ROW | {"error": 0.5}) + encode(ROW | {"trial": 2}))
    (tmp_path / "tiny-quick.jsonl").write_bytes(encode(ROW | {"trial": 7}))
    table = read(files_of(tmp_path, "tiny"))
    assert [row["trial"] for row in table.rows] == [0, 1, 2]
    assert table.rows[0]["error"] == ROW["error"]  # the first of two rows for a trial


def test_second_writer_of_a_file_raises(tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl"
    with RowWriter(path) as writer:
        writer.add(ROW)
        with pytest.raises(ValueError, match="another process is writing"):
            RowWriter(path)
    with RowWriter(path) as writer:
        writer.add(ROW | {"trial": 1})
    assert len(read([path]).rows) == 2
