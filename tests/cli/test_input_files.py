"""Every form of file that ``recover`` and ``complete`` read, and what is wrong with the others."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.io
from command_line import run
from scipy import sparse

import robustrank as rr
from robustrank.backend import to_numpy
from robustrank.cli.columns import Choice
from robustrank.cli.data import read_data
from robustrank.cli.tables import read_table
from robustrank.operators import as_operator
from robustrank.outofcore.opening import open_array

h5py = pytest.importorskip("h5py")

Y = np.asarray([0.5, -1.25, 3.0, 1e-3, 250.0])
A = np.arange(60.0).reshape(5, 4, 3) - 7
FLAT = A.reshape(5, 12)
Matrix = np.ndarray[Any, Any]


def text(*lines: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text("\n".join(lines) + "\n")


def frame() -> pd.DataFrame:
    return pd.DataFrame({"sensor": list("abcde"), "reading": Y, "works": Y > 0})


def matlab_73(path: Path) -> None:
    """A file as MATLAB writes it with -v7.3: 512 bytes, and the axes in the opposite order."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["A"], file["y"] = A.T, Y[None, :]
        group = file.create_group("S")
        columns = sparse.csc_array(FLAT)
        group.attrs["MATLAB_sparse"] = 5
        group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr


def hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["group/A"], file["y"] = A, Y


NUMBERS = [f"{value!r}" for value in Y.tolist()]
WITH_COMMAS = [number.replace(".", ",") for number in NUMBERS]

# A file, how it is written, and the options with which it is read as y.
VECTORS: dict[str, tuple[str, Callable[[Path], Any], str | None]] = {
    "one column": ("y.csv", text(*NUMBERS), None),
    "one row": ("y.csv", text(",".join(NUMBERS)), None),
    "header": ("y.csv", text("reading", *NUMBERS), None),
    "byte order mark, CR LF": (
        "y.csv",
        lambda path: path.write_bytes(("\ufeffy\r\n" + "\r\n".join(NUMBERS)).encode()),
        None,
    ),
    "comments and empty lines": ("y.csv", text("# V", "y", "", *NUMBERS, "  # end"), None),
    "by name": ("y.csv", text("t,y", *(f"{i},{y}" for i, y in enumerate(NUMBERS))), "y"),
    "by number": ("y.csv", text("t,y", *(f"{i},{y}" for i, y in enumerate(NUMBERS))), "2"),
    "between names": ("y.csv", text(*(f"s{i},{y},V" for i, y in enumerate(NUMBERS))), "2"),
    "beside names": ("y.csv", text(*(f"s{i},{y}" for i, y in enumerate(NUMBERS))), "2"),
    "quoted": ("y.csv", text('"the, name",y', *(f'"a;b",{y}' for y in NUMBERS)), "y"),
    "semicolons": ("y.csv", text("t;y", *(f"x;{y}" for y in WITH_COMMAS)), "y"),
    "tabs": ("y.tsv", text("t\ty\tempty", *(f"x\t{y}\t" for y in NUMBERS)), "y"),
    "spaces": ("y.txt", text(*(f" 1   {y} " for y in NUMBERS)), "2"),
    "numpy.savetxt": ("y.txt", lambda path: np.savetxt(path, Y, header="y"), None),
    "gzip": (
        "y.csv.gz",
        lambda path: path.write_bytes(gzip.compress("\n".join(["y", *NUMBERS]).encode())),
        "y",
    ),
    "parquet": ("y.parquet", lambda path: frame().to_parquet(path), "reading"),
    "feather": ("y.feather", lambda path: frame().to_feather(path), "2"),
    "arrow": ("y.arrow", lambda path: frame().to_feather(path), "reading"),
    "npy": ("y.npy", lambda path: np.save(path, Y), None),
    "npz": ("y.npz", lambda path: np.savez(path, y=Y, other=A), None),
    "npz, key": ("d.npz:other", lambda path: np.savez(path, y=A, other=Y), None),
    "npz, only array": ("y.npz", lambda path: np.savez(path, data=Y), None),
    "mat": ("y.mat", lambda path: scipy.io.savemat(path, {"y": Y, "A": A}), None),
    "mat, key": ("d.mat:v", lambda path: scipy.io.savemat(path, {"v": Y, "y": A}), None),
    "mat, sparse": (
        "y.mat",
        lambda path: scipy.io.savemat(path, {"y": sparse.csc_array(Y[:, None])}),
        None,
    ),
    "mat, version 7.3": ("y.mat", matlab_73, None),
    "HDF5": ("y.h5", hdf5, None),
    "HDF5, key": ("y.HDF5:/y", hdf5, None),
}


@pytest.mark.parametrize("form", VECTORS)
def test_measurements_are_read(form: str, tmp_path: Path) -> None:
    name, write, column = VECTORS[form]
    write(tmp_path / name.partition(":")[0])
    np.save(tmp_path / "A.npy", A)
    data = read_data(None, [tmp_path / "A.npy"], tmp_path / name, chosen=Choice(column))
    assert data.y.tolist() == Y.tolist()


def test_booleans_and_integers_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", A.astype(np.int16))
    files: dict[str, Callable[[Path], Any]] = {
        "text.csv": text("on", "True", "false", "TRUE", "true", "0"),
        "frame.parquet": lambda path: pd.DataFrame(
            {"on": [True, False, True, True, False]}
        ).to_parquet(path),
        "array.npy": lambda path: np.save(path, np.asarray([1, 0, 1, 1, 0], np.int8)),
    }
    for name, write in files.items():
        write(tmp_path / name)
        data = read_data(None, [tmp_path / "A.npy"], tmp_path / name)
        assert data.y.astype(float).tolist() == [1, 0, 1, 1, 0]
        assert as_operator(data.A).shape == (5, (4, 3))


# A file that is given as DATA or as sensing data, and whether A has two axes.
SENSING: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "npy": ("A.npy", lambda path: np.save(path, A)),
    "npz": ("A.npz", lambda path: np.savez(path, A=A)),
    "npz, key": ("A.npz:B", lambda path: np.savez(path, A=Y, B=A)),
    "sparse npz": ("A.npz", lambda path: sparse.save_npz(path, sparse.csr_array(FLAT))),
    "mat": ("A.mat", lambda path: scipy.io.savemat(path, {"A": A})),
    "mat, sparse": (
        "A.mat:S",
        lambda path: scipy.io.savemat(path, {"S": sparse.csc_array(FLAT), "A": Y}),
    ),
    "mat, version 7.3": ("A.mat", matlab_73),
    "mat, version 7.3, sparse": ("A.mat:S", matlab_73),
    "HDF5, key": ("A.h5:/group/A", hdf5),
    "csv": ("A.csv", text(*(",".join(map(repr, row)) for row in FLAT.tolist()))),
    "csv, header": (
        "A.csv",
        text(";".join("abcdefghijkl"), *(";".join(map(str, row)) for row in FLAT.astype(int))),
    ),
    "parquet": (
        "A.parquet",
        lambda path: pd.DataFrame(FLAT, columns=list("abcdefghijkl")).to_parquet(path),
    ),
}


@pytest.mark.parametrize("form", SENSING)
def test_sensing_data_is_read(form: str, tmp_path: Path) -> None:
    name, write = SENSING[form]
    write(tmp_path / name.partition(":")[0])
    np.save(tmp_path / "y.npy", Y)
    data = read_data(None, [tmp_path / name], tmp_path / "y.npy")
    operator = as_operator(data.A, None if len(data.A.shape) == 3 else (4, 3))
    U, V = (np.random.default_rng(n).standard_normal((n, 2)) for n in (4, 3))
    assert np.allclose(operator.measure(U, V), FLAT @ (U @ V.T).ravel())


PROBLEMS: dict[str, tuple[str, Callable[[Path], Any], str | None]] = {
    "mat": ("p.mat", lambda path: scipy.io.savemat(path, {"A": A, "y": Y}), None),
    "mat, version 7.3": ("p.mat", matlab_73, None),
    "csv": (
        "p.csv",
        text(
            "a,b,c,d,e,f,y,g,h,i,j,k,l",
            *(
                ",".join(map(repr, [*row[:6], own, *row[6:]]))
                for row, own in zip(FLAT.tolist(), Y.tolist(), strict=True)
            ),
        ),
        None,
    ),
    "feather": (
        "p.feather",
        lambda path: (
            pd.DataFrame(FLAT, columns=list("abcdefghijkl")).assign(reading=Y).to_feather(path)
        ),
        "reading",
    ),
}


@pytest.mark.parametrize("form", PROBLEMS)
def test_both_are_read_from_one_file(form: str, tmp_path: Path) -> None:
    name, write, column = PROBLEMS[form]
    write(tmp_path / name)
    data = read_data(tmp_path / name, [], None, chosen=Choice(column))
    assert data.y.tolist() == Y.tolist()
    assert np.array_equal(np.asarray(data.A).reshape(5, 12), FLAT)


def test_sensing_data_of_a_path_with_a_key_is_read_by_recover(tmp_path: Path) -> None:
    planted = rr.simulate.plant(8, 6, 1, 120, outliers=0.1, rng=1)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["run/A"] = planted.A
    np.savez(tmp_path / "data.npz", B=planted.A)
    for name in ("data.h5:/run/A", "data.h5", "data.npz:B"):
        result = rr.recover(tmp_path / name, planted.y, 1)
        assert result.status is rr.Status.RECOVERED
    parts = [tmp_path / "data.h5:/run/A", tmp_path / "data.npz"]
    assert as_operator(parts).shape == (240, (8, 6))


def test_a_file_whose_name_has_a_colon_is_read_as_it_is(tmp_path: Path) -> None:
    with open(tmp_path / "a.npz:y", "wb") as stream:
        np.save(stream, Y)
    assert to_numpy(open_array(tmp_path / "a.npz:y", "y")).tolist() == Y.tolist()


# A matrix of two rows and three columns, with one missing entry.
X = np.asarray([[1.5, np.nan, 3.0], [4.0, 5.0, 6.25]])
NAMES = (["r1", "r2"], ["c1", "c2", "c3"])
MATRICES: dict[str, tuple[str, Callable[[Path], Any], bool]] = {
    "csv": ("X.csv", text("1.5,,3.0", "4,5,6.25"), False),
    "names": ("X.csv", text(",c1,c2,c3", "r1,1.5,NA,3", "r2,4,5,6.25"), True),
    "decimal commas": ("X.csv", text("x;c1;c2;c3", "r1;1,5;;3", "r2;4;5;6,25"), True),
    "comments": ("X.csv", text("# from X", ",c1,c2,c3", "# r1", "r1,1.5,,3", "r2,4,5,6.25"), True),
    "npy": ("X.npy", lambda path: np.save(path, X), False),
    "npz": ("d.npz:X", lambda path: np.savez(path, X=X, y=Y), False),
    "mat": ("X.mat", lambda path: scipy.io.savemat(path, {"X": X}), False),
    "HDF5": (
        "X.h5:/X",
        lambda path: h5py.File(path, "w").create_dataset("X", data=X),
        False,
    ),
    "parquet": (
        "X.parquet",
        lambda path: pd.DataFrame(X, index=NAMES[0], columns=NAMES[1]).to_parquet(path),
        True,
    ),
    "feather": (
        "X.feather",
        lambda path: (
            pd.DataFrame(X, columns=NAMES[1])
            .assign(name=NAMES[0])[["name", *NAMES[1]]]
            .to_feather(path)
        ),
        True,
    ),
}


@pytest.mark.parametrize("form", MATRICES)
def test_matrix_with_missing_entries_is_read(form: str, tmp_path: Path) -> None:
    name, write, named = MATRICES[form]
    write(tmp_path / name.partition(":")[0])
    table = read_table(tmp_path / name, None, None, None)
    assert np.array_equal(table.data, X, equal_nan=True)
    assert (table.row_names, table.column_names) == (NAMES if named else (None, None))


ENTRIES = [("u", "b", 1.5), ("v", "a", 2.0), ("u", "a", -0.5)]
TRIPLES: dict[str, tuple[str, Callable[[Path], Any], tuple[str, str, str]]] = {
    "csv": (
        "t.csv",
        text("item,user,rating", *(f"{j},{i},{x}" for i, j, x in ENTRIES), "a,w,NA"),
        ("user", "item", "rating"),
    ),
    "numbers, no header": (
        "t.txt",
        text(*(f"{i}\t{x}\t{j}" for i, j, x in ENTRIES), "# w", "w\t\ta"),
        ("1", "3", "2"),
    ),
    "parquet": (
        "t.parquet",
        lambda path: pd.DataFrame(
            [*ENTRIES, ("w", "a", np.nan)], columns=["user", "item", "rating"]
        ).to_parquet(path),
        ("user", "2", "rating"),
    ),
}


@pytest.mark.parametrize("form", TRIPLES)
def test_triples_are_read(form: str, tmp_path: Path) -> None:
    name, write, columns = TRIPLES[form]
    write(tmp_path / name)
    table = read_table(tmp_path / name, *columns)
    # In the order of the names, also those of which all values are missing.
    assert (table.row_names, table.column_names) == (["u", "v", "w"], ["a", "b"])
    rows, places, values = table.data
    assert table.shape == (3, 2)
    assert list(zip(rows.tolist(), places.tolist(), values.tolist(), strict=True)) == [
        (0, 1, 1.5),
        (1, 0, 2.0),
        (0, 0, -0.5),
    ]


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("t.csv", text("user,item,rating", "u,a,1", ",,", "v,,2"), "t.csv, line 4, column 'item'"),
        (
            "t.parquet",
            lambda path: pd.DataFrame(
                {"user": ["u", None], "item": ["a", "b"], "rating": [1.0, 2.0]}
            ).to_parquet(path),
            "t.parquet, row 2, column 'user'",
        ),
    ],
)
def test_entry_without_a_name_is_reported(
    name: str, write: Callable[[Path], Any], message: str, tmp_path: Path
) -> None:
    write(tmp_path / name)
    with pytest.raises(ValueError, match=f"{message}: the name is missing; write it, or remove"):
        read_table(tmp_path / name, "user", "item", "rating")


def test_rows_of_a_frame_may_have_neither_name_nor_value(tmp_path: Path) -> None:
    entries = pd.DataFrame([*ENTRIES, (None, "a", np.nan)], columns=["user", "item", "rating"])
    entries.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "user", "item", "rating")
    assert table.row_names == ["", "u", "v"]
    assert table.data[2].tolist() == [1.5, 2.0, -0.5]


def test_long_tables_are_read(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((9000, 2))
    lines = [f"s{k % 7},{a!r},{b!r}" for k, (a, b) in enumerate(values.tolist())]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["name,a,b", "# volts", *lines]))
    table = read_table(path, None, None, None)
    assert np.array_equal(np.sort(table.data, axis=0), np.sort(values, axis=0))
    assert table.row_names == [f"s{k % 7}" for k in range(9000)]
    chosen = Choice("b", "name", ("a",))
    np.save(tmp_path / "A.npy", np.ones((9000, 1, 1)))
    data = read_data(None, [tmp_path / "A.npy"], path, chosen=chosen)
    assert data.y.tolist() == values[:, 1].tolist()
    assert data.groups == table.row_names
    path.write_text("\n".join(["name,a,b", "# volts", *lines, "s0,1,two"]))
    with pytest.raises(ValueError, match="line 9003, column 'b': 'two' is not a number"):
        read_table(path, None, None, None)


def test_table_without_rows_has_no_measurements(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("sensor,y,a\n")
    data = read_data(tmp_path / "log.csv", [], None, chosen=Choice("y", "sensor"))
    assert (data.A.shape, data.y.shape, data.groups) == ((0, 1), (0,), [])


# A file that cannot be used as measurements, and what the message says.
BAD: dict[str, tuple[str, Callable[[Path], Any] | None, str | None, str]] = {
    "missing file": ("none.csv", None, None, "none.csv does not exist"),
    "missing parquet": ("none.parquet", None, None, "none.parquet does not exist"),
    "missing mat": ("none.mat", None, None, "none.mat does not exist"),
    "missing HDF5": ("none.h5:/y", None, None, "none.h5 does not exist"),
    "empty": ("y.csv", text(""), None, "y.csv is empty; expected a table"),
    "only comments": ("y.csv", text("# a", "# b"), None, "y.csv is empty"),
    "empty parquet": (
        "y.parquet",
        lambda path: pd.DataFrame({"y": []}).to_parquet(path),
        None,
        "empty",
    ),
    "text": (
        "y.csv",
        text("# units: V", "y", "1.5", "", "two"),
        None,
        "y.csv, line 5, column 'y': 'two' is not a number",
    ),
    "thousands": (
        "y.csv",
        text("a,y", '1,"1,500"'),
        "y",
        "line 2, column 'y': '1,500' is not a number",
    ),
    "underscore": (
        "y.csv",
        text("y", "1_000"),
        None,
        "line 2, column 'y': '1_000' is not a number",
    ),
    "two decimal signs": (
        "y.csv",
        text("a;y", "1;1,5", "2;1.500"),
        "y",
        "line 3, column 'y': '1.500' is written with '.', and other numbers with ','",
    ),
    "missing": (
        "y.csv",
        text("# units: V", "time,y", "1,1.5", "2,", "3,2.5"),
        "y",
        "y.csv, line 4, column 'y': the number is missing; write it, or remove this measurement",
    ),
    "missing in a compressed file": (
        "y.csv.gz",
        lambda path: path.write_bytes(gzip.compress(b"1.5\nNA\n")),
        None,
        "y.csv.gz, line 2, column 1: the number is missing",
    ),
    "missing in parquet": (
        "y.parquet",
        lambda path: pd.DataFrame({"y": [1.5, None]}).to_parquet(path),
        None,
        "y.parquet, row 2, column 'y': the number is missing",
    ),
    "long row": ("y.csv", text("a,y", "1,2", "3,4,5"), "y", "line 3: 3 values; expected 2"),
    "short row": ("y.csv", text("a,b,y", "1,2,3", "4,5"), "b", "line 3: 2 values; expected 3"),
    "several columns": (
        "y.csv",
        text("a,b", "1,2"),
        None,
        "has 2 columns: a, b; choose that of the measurements with --column",
    ),
    "several columns without names": (
        "y.csv",
        text("1,2", "3,4"),
        None,
        "has 2 columns without names; choose",
    ),
    "wrong name": ("y.csv", text("a,b", "1,2"), "c", "no column 'c'; it has 2 columns: a, b"),
    "wrong number": ("y.csv", text("a,b", "1,2"), "3", "no column '3'; it has 2 columns"),
    "column zero": ("y.csv", text("a,b", "1,2"), "0", "no column '0'"),
    "text in parquet": (
        "y.parquet",
        lambda path: frame().to_parquet(path),
        "sensor",
        "the column 'sensor' has values of type",
    ),
    "column of arrays": (
        "y.npy",
        lambda path: np.save(path, Y),
        "y",
        "choose columns of a table, such as a CSV file, not of",
    ),
    "missing key": (
        "y.npz:z",
        lambda path: np.savez(path, y=Y),
        None,
        "y.npz contains no array named z; it contains y",
    ),
    "several arrays": (
        "y.npz",
        lambda path: np.savez(path, a=Y, b=Y),
        None,
        "contains no array named y; it contains a, b; choose one with",
    ),
    "missing key of HDF5": ("y.h5:/z", hdf5, None, "no array named z; it contains group/A, y"),
    "missing key of mat": (
        "y.mat:z",
        lambda path: scipy.io.savemat(path, {"y": Y}),
        None,
        "no array named z; it contains y",
    ),
    "missing key of mat 7.3": ("y.mat:z", matlab_73, None, "no array named z; it contains A, S, y"),
    "cells": (
        "y.mat",
        lambda path: scipy.io.savemat(path, {"y": np.asarray([1, "a"], object)}),
        None,
        "y in .* is not an array of numbers",
    ),
    "objects": (
        "y.npy",
        lambda path: np.save(path, np.asarray([{}, 1], object), allow_pickle=True),
        None,
        "y.npy contains pickled Python objects, which are refused",
    ),
    "not a mat file": (
        "y.mat",
        text("1", "2"),
        None,
        "y.mat cannot be read: it is not a MATLAB file",
    ),
    "not a parquet file": ("y.parquet", text("1", "2"), None, "y.parquet cannot be read"),
    "not a text file": (
        "y.csv",
        lambda path: path.write_bytes(b"\xff\xfe\x00\x80" * 10),
        None,
        "y.csv is not a table in a text file",
    ),
    "not gzip": ("y.csv.gz", text("1", "2"), None, "y.csv.gz is not a table in a text file"),
    "truncated HDF5": (
        "y.h5",
        lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(20)),
        None,
        "y.h5 cannot be read: it is truncated or damaged",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_measurements_raise(case: str, tmp_path: Path) -> None:
    name, write, column, message = BAD[case]
    if write is not None:
        write(tmp_path / name.partition(":")[0])
    np.save(tmp_path / "A.npy", A)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_data(None, [tmp_path / "A.npy"], tmp_path / name, chosen=Choice(column))


def test_two_decimal_signs_in_a_matrix_are_reported(tmp_path: Path) -> None:
    """The first column is read last, as it may have names."""
    (tmp_path / "X.csv").write_text("a;b\n1.5;2\n3;4,5\n")
    message = "line 2, column 'a': '1.5' is written with '.', and other numbers with ','"
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "X.csv", None, None, None)


def test_missing_cell_of_the_sensing_data_is_named(tmp_path: Path) -> None:
    table = tmp_path / "both.csv"
    table.write_text("a,b,y\n1,2,3\n4,,6\n")
    message = "both.csv, line 3, column 'b': the number is missing"
    with pytest.raises(ValueError, match=message):
        read_data(table, [], None)
    with pytest.raises(ValueError, match=message):
        read_data(None, [table], table, chosen=Choice("y"))


def test_a_table_with_both_needs_the_column_of_the_measurements(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ValueError, match="has 3 columns: a, b, c; choose that of the measurements"):
        read_data(tmp_path / "p.csv", [], None)


@pytest.mark.parametrize(
    ("missing", "name", "message"),
    [
        ("pandas", "y.parquet", r"needs pandas and pyarrow: pip install 'robustrank\[files\]'"),
        ("h5py", "y.h5", r"reading it needs: pip install 'robustrank\[files\]'"),
    ],
)
def test_missing_library_is_named(
    missing: str, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, write, column = VECTORS["parquet" if missing == "pandas" else "HDF5"]
    write(tmp_path / name)
    np.save(tmp_path / "A.npy", A)
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(ImportError, match=message):
        read_data(None, [tmp_path / "A.npy"], tmp_path / name, chosen=Choice(column))


def test_matrix_and_outliers_are_written_from_a_table_of_sensors(tmp_path: Path) -> None:
    planted = rr.simulate.plant(8, 6, 1, 150, outliers=0.1, rng=2)
    table = pd.DataFrame(planted.A.reshape(150, -1)).assign(reading=planted.y)
    table.to_csv(tmp_path / "sensors.csv", index=False, sep=";", decimal=",")
    options = ["--column", "reading", "--shape", "8x6", "--rank", 1, "--out", "matrix.csv"]
    done = run("recover", "sensors.csv", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("wrote") == 2
    matrix = np.loadtxt(tmp_path / "matrix.csv", delimiter=",")
    assert np.allclose(matrix, planted.left @ planted.right.T)
    listed = pd.read_csv(tmp_path / "matrix.outliers.csv")
    assert listed.columns.tolist() == ["measurement", "value", "fitted", "residual"]
    rows = np.flatnonzero(planted.outliers)
    assert listed["measurement"].tolist() == rows.tolist()
    assert np.allclose(listed["value"], planted.y[rows])
    assert np.allclose(listed["fitted"], (planted.A.reshape(150, -1) @ matrix.ravel())[rows])
    assert np.allclose(listed["value"] - listed["fitted"], listed["residual"])
    without_rank = ["sensors.csv", *options[:4], "--out", "m.npy"]
    assert run("recover", *without_rank, cwd=tmp_path).returncode == 0
    assert np.load(tmp_path / "m.outliers.npy").tolist() == planted.outliers.tolist()


def sensor_log(folder: Path) -> rr.simulate.Planted:
    """A log of seven sensors with the time; the third has an offset, and the fifth a wrong sign."""
    planted = rr.simulate.plant(8, 6, 1, 210, rng=2)
    sensors, y = np.arange(210) % 7, planted.y.copy()
    y[sensors == 2] += 1.5
    y[sensors == 4] *= -1
    table = pd.DataFrame(planted.A.reshape(210, -1)).add_prefix("a")
    table.insert(0, "sensor", [f"S{k}" for k in sensors])
    table.insert(1, "time", [f"2026-11-17 12:{k // 60:02}:{k % 60:02}" for k in range(210)])
    table.assign(reading=y).to_csv(folder / "log.csv", index=False)
    return planted


def test_faulty_sensors_are_listed_by_group(tmp_path: Path) -> None:
    planted = sensor_log(tmp_path)
    options = ["--column", "reading", "--shape", "8x6", "--ignore", "time", "--out", "matrix.csv"]
    done = run("recover", "log.csv", *options, "--group", "sensor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 of 7 wrong altogether: S2 (offset), S4 (gain)\n" in done.stdout
    assert re.search(r"S2 +30 of 30 +1.5.* +1.* offset\n", done.stdout)
    assert re.search(r"S4 +30 of 30 .* -1.* gain\n", done.stdout)
    assert "5 groups are good, with no rejected measurements\n" in done.stdout
    matrix = np.loadtxt(tmp_path / "matrix.csv", delimiter=",")
    assert np.allclose(matrix, planted.left @ planted.right.T)
    listed = pd.read_csv(tmp_path / "matrix.outliers.csv")
    assert set(listed["group"]) == {"S2", "S4"}
    # The same with A in another file.
    np.save(tmp_path / "A.npy", planted.A)
    files = ["--sensing", "A.npy", "--measurements", "log.csv", "--column", "reading"]
    done = run("recover", *files, "--group", "sensor", cwd=tmp_path)
    assert "S2     30 of 30 " in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--shape 8x6",
            "line 2, column 'sensor': 'S0' is not a number; leave out a column that is not part",
        ),
        ("--shape 8x6 --ignore place", "has no column 'place'; it has 51 columns"),
        ("--shape 8x5 --ignore sensor --ignore time", "A has 48 columns, but --shape 8x5 needs 40"),
        ("--ignore sensor --ignore time", "pass the shape of the matrix with --shape"),
    ],
)
def test_columns_that_are_not_part_of_the_sensing_data(
    options: str, message: str, tmp_path: Path
) -> None:
    sensor_log(tmp_path)
    done = run("recover", "log.csv", "--column", "reading", *options.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr


def test_outliers_are_not_written_over_an_input(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", A)
    (tmp_path / "m.outliers.csv").write_text("\n".join(NUMBERS))
    files = ["--sensing", "A.npy", "--measurements", "m.outliers.csv", "--out", "m.csv"]
    done = run("recover", *files, "--rank", 1, cwd=tmp_path)
    assert done.returncode == 2
    assert "m.outliers.csv is also an input file; choose another name" in done.stderr


def test_help_says_that_the_rank_is_an_optional_upper_bound(tmp_path: Path) -> None:
    for command in ("recover", "complete"):
        words = " ".join(run(command, "--help", cwd=tmp_path).stdout.split())
        assert "upper bound on the rank" in words
        assert "Optional: by default it is estimated." in words
