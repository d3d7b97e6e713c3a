"""The report page in a real browser: it is complete, visible, and fits a small screen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

import robustrank as rr
from robustrank.report import write_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs chromium, chromium-browser or google-chrome on the PATH"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--allow-file-access-from-files",
)

# A window has a minimum width and a frame has none; the outer page measures the inner one.
FRAME = """<!doctype html><body style="margin:0">
<iframe id="frame" src="report.html" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>
document.getElementById("frame").onload = (event) => {{
  const page = event.target.contentDocument;
  const right = (element) => element.getBoundingClientRect().right;
  document.body.dataset.measured = JSON.stringify({{
    width: page.documentElement.clientWidth,
    scrollWidth: page.documentElement.scrollWidth,
    reach: Math.max(...[...page.querySelectorAll("main *, footer *")]
      .filter((element) => !element.closest("thead")).map(right)),
    verdict: page.querySelector(".verdict h2").innerText,
    numbers: [...page.querySelectorAll(".nowrap")].map((span) => {{
      const tops = [...span.getClientRects()].map((line) => Math.round(line.top));
      return [span.closest("p, td, dd, li, figcaption, small").tagName, new Set(tops).size];
    }}),
    figures: [...page.querySelectorAll("figure > svg")].map((figure) => {{
      const box = figure.getBoundingClientRect();
      return [box.width, box.height];
    }}),
    tops: [...page.querySelectorAll("figure > svg")]
      .map((figure) => figure.getBoundingClientRect().top),
    texts: [...page.querySelectorAll("figure > svg text")]
      .map((text) => text.getBoundingClientRect().height),
    cut: [...page.querySelectorAll("figure > svg text")].filter((text) => {{
      const [inner, outer] = [text, text.closest("svg")].map((e) => e.getBoundingClientRect());
      return inner.left < outer.left - 1 || inner.right > outer.right + 1
        || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
    }}).map((text) => text.textContent),
  }});
}};
</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planted = rr.simulate.plant(20, 15, 2, 400, outliers=0.05, rng=1)
    recovery = rr.recover(planted.A, planted.y, 2)
    vanilla = rr.recover(planted.A, planted.y, 2, solver=rr.solvers.VanillaGD(max_iterations=50))
    # Larger factors than a test can solve for: tick labels of three digits need space. The noise
    # is a power of ten also relative to a typical measurement.
    left, right = np.tile(planted.left, (7, 1)), np.tile(planted.right, (7, 1))
    truth = SimpleNamespace(left=left, right=right, outliers=planted.outliers)
    recovery = replace(recovery, left=left * (1 + 1e-9), right=right, noise=1e-14)
    vanilla = replace(vanilla, left=left * 30, right=right)
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, recovery, truth=truth, compare_with=[vanilla], title="A" * 80)
    return path


@pytest.fixture(scope="module")
def completion_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A completed matrix with noise, long labels, and rows that are undecided."""
    X = rr.simulate.plant_entries(150, 30, 2, 3000, outliers=0.1, noise=0.05, rng=1).incomplete
    X[[3, 70], 2:] = np.nan
    labels = [f"A rather long name of row {i} <b>with</b> {'x' * 40}" for i in range(150)]
    columns = [f"{j}_{'column' * 12}" for j in range(30)]
    path = tmp_path_factory.mktemp("completion") / "report.html"
    write_report(path, rr.complete(pd.DataFrame(X, index=labels, columns=columns)))
    return path


VERDICTS = {"page": "Recovered", "completion_page": "Estimated, up to noise"}


def browse(page: Path, profile: Path, *options: str) -> str:
    command = [str(BROWSER), *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def measure(page: Path, profile: Path, width: int) -> dict[str, Any]:
    frame = page.with_name(f"frame{width}.html")
    frame.write_text(FRAME.format(width=width, height=6000))
    found = re.search(r'data-measured="([^"]*)"', browse(frame, profile, "--dump-dom"))
    assert found is not None, "the browser did not run the measuring script"
    measured: dict[str, Any] = json.loads(unescape(found[1]))
    return measured


@pytest.mark.parametrize("width", [1200, 768, 390, 320])
@pytest.mark.parametrize("name", VERDICTS)
def test_page_fits_and_figures_are_visible(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, width: int
) -> None:
    measured = measure(request.getfixturevalue(name), tmp_path, width)
    assert measured["width"] == width
    assert measured["scrollWidth"] == width
    assert measured["reach"] <= width
    assert measured["verdict"] == VERDICTS[name]
    assert len(measured["figures"]) == 7
    assert all(w > 200 and h > 120 for w, h in measured["figures"])
    assert measured["cut"] == []
    assert min(measured["texts"]) > 7  # in pixels: small, but readable


def test_overflow_is_detected(page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "report.html"
    broken.write_text(page.read_text().replace("<main>", '<main><p style="width:500px">wide</p>'))
    measured = measure(broken, tmp_path / "profile", 390)
    assert measured["scrollWidth"] > 390
    assert measured["reach"] > 390


@pytest.mark.parametrize("width", [390, 320])
def test_powers_of_ten_are_on_one_line(page: Path, tmp_path: Path, width: int) -> None:
    numbers = measure(page, tmp_path, width)["numbers"]
    assert {place for place, _ in numbers} >= {"P", "DD", "SMALL", "TD", "LI"}
    assert len(numbers) >= 8
    assert all(lines == 1 for _, lines in numbers)


def test_broken_power_of_ten_is_detected(page: Path, tmp_path: Path) -> None:
    narrow = '<main><p style="width:4rem"><span class="nowrap">{}</span></p>'.format("1" * 30)
    text = page.read_text().replace("<main>", narrow)
    kept, broken = tmp_path / "kept", tmp_path / "broken"
    for folder, rule in ((kept, "nowrap"), (broken, "normal")):
        folder.mkdir()
        changed = text.replace(
            ".nowrap { white-space: nowrap; }", f".nowrap {{ white-space: {rule}; }}"
        )
        (folder / "report.html").write_text(changed)
    profile = tmp_path / "profile"
    assert measure(kept / "report.html", profile, 390)["numbers"][0] == ["P", 1]
    assert measure(broken / "report.html", profile, 390)["numbers"][0][1] > 1


@pytest.mark.parametrize("width", [1200, 390])
def test_screenshot_shows_the_verdict_and_the_series(
    page: Path, tmp_path: Path, width: int
) -> None:
    frame = page.with_name(f"shot{width}.html")
    frame.write_text(FRAME.format(width=width, height=5000))
    shot = tmp_path / "shot.png"
    browse(frame, tmp_path / "profile", f"--screenshot={shot}", f"--window-size={width},5000")
    pixels = np.round(255 * imread(shot)[:, :width, :3]).astype(int)
    for name, color in {
        "green of the verdict": (0x1C, 0x7C, 0x4A),
        "blue of the inliers": (0x2B, 0x6C, 0xB0),
        "orange of the outliers": (0xDD, 0x6B, 0x20),
    }.items():
        count = np.count_nonzero(np.all(np.abs(pixels - color) <= 3, axis=-1))
        assert count > 200, f"{count} pixels have the {name}"


def test_browser_keeps_every_part_of_the_page(page: Path, tmp_path: Path) -> None:
    dom = browse(page, tmp_path, "--dump-dom")
    assert re.search(r'<h2 id="verdict">Recovered</h2>', dom)
    assert dom.count("<figcaption>") == 7
    assert dom.count('role="img"') == 7
    assert "Comparison of results" in dom


def test_observed_and_recovered_matrix_are_at_the_same_height(tmp_path: Path) -> None:
    """Only one of the two images has a legend."""
    planted = rr.simulate.plant_entries(40, 30, 2, 800, outliers=0.1, rng=1)
    path = tmp_path / "report.html"
    write_report(path, rr.complete(planted.triples))
    assert "<span>outlier</span>" in path.read_text()
    assert "undecided</span>" not in path.read_text()
    observed, recovered, residuals, *_ = measure(path, tmp_path / "profile", 1200)["tops"]
    assert observed == recovered < residuals


def test_neutral_color_of_missing_entries_is_below_the_pixels(tmp_path: Path) -> None:
    planted = rr.simulate.plant_entries(40, 30, 2, 800, outliers=0.1, rng=1)
    path, shot = tmp_path / "report.html", tmp_path / "shot.png"
    write_report(path, rr.complete(planted.triples))
    options = (f"--screenshot={shot}", "--window-size=1200,3000")
    browse(path, tmp_path / "profile", *options)
    pixels = np.round(255 * imread(shot)[..., :3]).astype(int)
    missing, teal = (0xDF, 0xE5, 0xEA), (0x21, 0x8F, 0x8D)  # not observed; the middle of the scale
    for color in (missing, teal):
        count = np.count_nonzero(np.all(np.abs(pixels - color) <= 12, axis=-1))
        assert count > 5000, f"{count} pixels have the color {color}"
