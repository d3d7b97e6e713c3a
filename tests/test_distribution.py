"""The sdist and the wheel: built as for a release, and used outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import robustrank as rr

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"
DATA = ("py.typed", "report/templates/page.html", "planning/curves.json")

USE = """
import numpy as np, robustrank as rr
from robustrank.report import write_report

planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, rng=1)
result = rr.recover(planted.A, planted.y, 2)
assert result.status is rr.Status.RECOVERED and (result.outliers == planted.outliers).all()
write_report("page.html", result)  # reads the templates
rr.plan((20, 15), 2)  # reads the table of trials
print(rr.__file__)
"""


def build(kind: str, source: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = target.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"robustrank-{rr.__version__}"


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist."""
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


def files_in(folder: Path) -> set[str]:
    files = (file.relative_to(folder) for file in folder.rglob("*") if file.is_file())
    return {file.as_posix() for file in files if "__pycache__" not in file.parts}


def test_sdist_contains_what_pyproject_names(unpacked: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [name for name in included if not (unpacked / name.lstrip("/")).exists()] == []
    for folder in ("src", "tests"):
        assert files_in(unpacked / folder) == files_in(ROOT / folder)


def test_wheel_contains_the_package_alone(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"robustrank-{rr.__version__}.dist-info"
    package = {name for name in names if not name.startswith(f"{about}/")}
    assert package == files_in(SOURCES)
    assert {f"robustrank/{name}" for name in DATA} <= package
    licenses = {name for name in names if name.startswith(f"{about}/licenses/")}
    assert licenses == {f"{about}/licenses/LICENSE"}


def test_installed_wheel_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("pip")
    builder = venv.EnvBuilder(with_pip=False)
    paths = builder.ensure_directories(tmp_path / "clean")
    builder.create(tmp_path / "clean")
    python = paths.env_exe
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)],
        check=True,
        capture_output=True,
    )
    # The dependencies are those that are installed here, and this repository is not.
    show = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip())
    here = {sysconfig.get_path(kind) for kind in ("purelib", "platlib")}
    (packages / "dependencies.pth").write_text("\n".join(here))

    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    command = [str(Path(paths.bin_path) / "robustrank"), "--version"]
    for call, expected in (
        (command, f"robustrank, version {rr.__version__}"),
        ([python, "-c", USE], str(packages / "robustrank" / "__init__.py")),
    ):
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert (done.stdout.strip(), done.returncode) == (expected, 0), done.stderr
