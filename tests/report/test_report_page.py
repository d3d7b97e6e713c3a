"""The report page: its numbers and words are those of the result, and any input is rendered."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jinja2
import matplotlib
import numpy as np
import pytest
from report_examples import (
    ESTIMATED,
    FULL,
    NOISY,
    PLANTED,
    RECOVERY,
    SECOND,
    VANILLA,
    Reader,
    made,
    tile,
    with_residual,
)

import robustrank as rr
from robustrank.report import render_report, write_report
from robustrank.report.formatting import number, ratio, with_powers_of_ten
from robustrank.report.rendering import render
from robustrank.report.verdict import meter, verdict
from robustrank.result import Attempt, Certificate, Status, StopReason, explain


def test_groups_have_a_table_and_a_figure() -> None:
    sensors, y = np.arange(len(PLANTED.y)) % 8, np.asarray(PLANTED.y).copy()
    y[sensors == 5] = 0.0
    page = render_report(rr.recover(PLANTED.A, y, groups=[f"S{k}<" for k in sensors]))
    text = Reader(page).text
    assert "S5<" in text
    assert "dead" in text
    assert "1 wrong altogether" in text
    assert "rejected as a whole" not in Reader(FULL).text


def test_numbers_are_those_of_the_recovery() -> None:
    certificate = RECOVERY.certificate
    assert tile(FULL, "Exact fits") == (f"{certificate.exact_fits:,}", "95.0% of 400 measurements")
    assert tile(FULL, "Exact fits")[0] == "380"
    assert tile(FULL, "Rejected")[0] == str(int(RECOVERY.outliers.sum())) == "20"
    assert tile(FULL, "Misfit")[0] == number(certificate.misfit)
    assert tile(FULL, "Iterations")[0] == f"{RECOVERY.iterations:,}"
    assert tile(FULL, "Passes")[0] == number(RECOVERY.passes)
    assert tile(FULL, "Seconds")[0] == number(RECOVERY.seconds)
    text = Reader(FULL).text
    assert RECOVERY.status.advice.replace("`", "") in text
    assert with_powers_of_ten(explain(certificate)) in text


def test_noise_level_is_shown_in_units_of_y_and_relative() -> None:
    certificate = ESTIMATED.certificate
    value, note = tile(render_report(ESTIMATED), "Noise level σ")
    assert value == number(ESTIMATED.noise)
    assert note == f"in the units of the data; {ratio(certificate.noise)} of a typical measurement"
    clean = NOISY.A.reshape(400, -1) @ (NOISY.left @ NOISY.right.T).ravel()
    sigma = float(np.std((NOISY.y - clean)[~NOISY.outliers]))
    assert float(value) == pytest.approx(sigma, rel=0.15)
    assert 0.001 < certificate.noise < 0.1
    assert float(ratio(certificate.noise).rstrip("%")) == pytest.approx(
        100 * certificate.noise, abs=0.06
    )


def test_noise_level_that_cannot_be_estimated_is_unknown() -> None:
    page = render_report(replace(RECOVERY, noise=np.inf))
    assert tile(page, "Noise level σ") == ("unknown", "too few inliers to estimate it")


def test_page_with_noise_leads_with_the_fit_within_the_noise() -> None:
    certificate = replace(
        ESTIMATED.certificate,
        measurements=900,
        independent=900,
        inliers=750,
        exact_fits=0,
        sigma=1.234e-5,
        noise=0.02,
    )
    page = render_report(replace(ESTIMATED, certificate=certificate))
    found = re.search(r'<h2 id="verdict">.*?</h2>\s*<p>(.*?)</p>\s*<p>(.*?)</p>', page, re.DOTALL)
    assert found is not None
    assert (
        found[1]
        == "Most measurements are fitted, and what is left of them is consistent with noise."
    )
    assert Reader(found[2]).text == (
        "750 of 900 measurements fit within the noise, σ ≈ 1.23\xa0×\xa010⁻⁵ "
        "(2% of a typical measurement)."
    )
    assert tile(page, "Inliers") == ("750", "83.3% of 900 measurements")
    assert "exact" not in Reader(page).text.lower()


def test_meter_compares_fitted_measurements_with_what_is_required() -> None:
    """Exact fits are compared with the number required, others with the degrees of freedom."""
    certificate = replace(
        ESTIMATED.certificate,
        measurements=900,
        independent=900,
        supporting=750,
        exact_fits=90,
        required=451,
        degrees_of_freedom=180,
    )
    noisy = meter(certificate)
    assert noisy is not None
    assert [noisy.filled, noisy.notch] == pytest.approx([100 * 750 / 900, 20])
    assert noisy.label == "180 degrees of freedom"
    page = render_report(replace(ESTIMATED, certificate=certificate))
    assert 'class="filled" style="width:83.33%"' in page
    assert 'class="notch" style="left:20.00%"' in page
    exact = meter(replace(certificate, exact_fits=750))
    assert exact is not None
    assert [exact.filled, exact.notch] == pytest.approx([100 * 750 / 900, 100 * 451 / 900])
    assert exact.label == "451 required"
    hopeless = meter(replace(certificate, degrees_of_freedom=1000))
    assert hopeless is not None
    assert hopeless.notch == 100


def test_underdetermined_is_shown_as_a_failure() -> None:
    page = render_report(made(Status.UNDERDETERMINED))
    assert 'class="verdict bad"' in page
    assert '<h2 id="verdict">Underdetermined</h2>' in page
    compared = render_report(RECOVERY, compare_with=[made(Status.UNDERDETERMINED)])
    assert "✗ Underdetermined" in compared


@pytest.mark.parametrize("reason", StopReason)
def test_run_that_ended_early_says_why(reason: StopReason) -> None:
    """Once, whether or not it is among the objections; a certified result stays certified."""
    sentence = f"The run ended early: {reason}."
    certified = render_report(replace(RECOVERY, stopped=reason))
    assert sentence in Reader(certified).text
    assert '<h2 id="verdict">Recovered</h2>' in certified
    stopped = replace(made(Status.INCONCLUSIVE), stopped=reason)
    page = render_report(stopped)
    assert sentence in Reader(page).text
    assert reason.advice.replace("`", "") in Reader(page).text
    heading, tone = ("Unfinished", "fair") if reason.by_user else ("Inconclusive", "bad")
    assert f'<h2 id="verdict">{heading}</h2>' in page
    assert f'class="verdict {tone}"' in page
    named = replace(stopped, certificate=RECOVERY.certificate.with_objections(str(reason)))
    assert Reader(render_report(named)).text.count(str(reason)[1:]) == 1
    assert "ended early" not in FULL


def test_alternative_of_an_ambiguous_result_is_described_and_drawn() -> None:
    page = render_report(made(Status.AMBIGUOUS))
    assert 'class="verdict fair"' in page
    assert '<h2 id="verdict">Ambiguous: two matrices explain the data</h2>' in page
    assert f"A second matrix is {SECOND}." in Reader(page).text
    assert "1,170 independent measurements and different in rows 2–4 and column 7" in str(SECOND)
    assert "<h2>Second matrix</h2>" in page
    assert "Second minus recovered" in page
    assert "second matrix" not in Reader(FULL).text.lower()


def test_part_that_is_not_identified_is_named() -> None:
    page = render_report(made(Status.NOT_IDENTIFIED))
    assert "Not identified: a part of the matrix is not measured" in page
    assert "No measurement depends on column 3 of the matrix." in Reader(page).text


def test_repetitions_count_as_one_measurement() -> None:
    certificate = replace(
        RECOVERY.certificate, exact_fits=190, supporting=190, independent=200, required=101
    )
    page = render_report(replace(RECOVERY, certificate=certificate))
    assert tile(page, "Exact fits") == ("190", "95.0% of 200 independent measurements")
    assert tile(page, "Rejected") == ("20", "5.0% of 400 measurements")
    assert tile(page, "Measurements") == ("400", "200 independent")
    shown = meter(certificate)
    assert shown is not None
    assert [shown.filled, shown.notch] == pytest.approx([95.0, 50.5])


def test_truth_is_evaluated_by_the_metrics() -> None:
    estimate, truth = (RECOVERY.left, RECOVERY.right), (PLANTED.left, PLANTED.right)
    score = rr.metrics.score_outliers(RECOVERY.outliers, PLANTED.outliers)
    error = rr.metrics.normalized_error(estimate, truth)
    assert tile(FULL, "Relative error")[0] == number(error)
    assert tile(FULL, "Outliers found") == (str(score.found), f"of {score.found + score.missed}")
    assert tile(FULL, "Outliers missed")[0] == str(score.missed)
    assert tile(FULL, "False positives")[0] == str(score.false_positives)
    wrong = replace(RECOVERY, outliers=~RECOVERY.outliers)
    page = render_report(wrong, truth=PLANTED)
    assert tile(page, "Outliers missed")[0] == "20"
    assert tile(page, "False positives")[0] == "380"


def test_page_without_a_truth_does_not_mention_one() -> None:
    text = Reader(render_report(RECOVERY)).text
    assert "truth" not in text.lower()
    assert "true" not in text.lower()
    assert "error" not in text.lower()


def test_results_are_compared() -> None:
    found = re.search(r"Comparison of results</h2>\s*(<table>.*?</table>)", FULL, re.DOTALL)
    assert found is not None
    table = Reader(found[1]).text
    error = rr.metrics.normalized_error(
        (VANILLA.left, VANILLA.right), (PLANTED.left, PLANTED.right)
    )
    for expected in (
        "median-TGD",
        "vanilla-GD",
        "✓ Recovered",
        number(error),
        "50",
        "✗ Inconclusive",
    ):
        assert expected in table
    assert "Comparison of results" not in render_report(RECOVERY)


def test_largest_outliers_are_listed_with_their_indices() -> None:
    residual = np.abs(PLANTED.y - np.einsum("mij,ij->m", PLANTED.A, RECOVERY.matrix))
    worst = np.argsort(-residual)[:8]
    assert RECOVERY.outliers[worst].all()
    listed = FULL[FULL.index("Largest outliers") :]
    assert re.findall(r'<th scope="row">(\d+)</th>', listed) == [str(index) for index in worst]
    assert listed.count('<td data-name="Ground truth">corrupted</td>') == 8
    assert "Ground truth" not in render_report(RECOVERY)
    assert "Largest outliers" not in render_report(VANILLA)  # it rejects nothing


def test_labels_are_on_the_axes_of_the_matrix() -> None:
    rows, columns = [f"<row {i}>" for i in range(20)], [("a", j) for j in range(15)]
    page = render_report(RECOVERY, row_labels=rows, column_labels=columns)
    for label in ("&lt;row 0&gt;", "&lt;row 4&gt;", "a, 0", "a, 3"):
        assert f">{label}</text>" in page
    with pytest.raises(ValueError, match=r"column_labels has 2 labels; .* 15 columns"):
        render_report(RECOVERY, column_labels=["a", "b"])


def test_page_is_self_contained_and_well_formed() -> None:
    read = Reader(FULL)
    assert "http://" not in FULL
    assert "https://" not in FULL
    assert "<script" not in FULL
    assert "@import" not in FULL
    for syntax_of_templates in ("$", "{{", "}}", "{%", "%}", "{#"):
        assert syntax_of_templates not in FULL
    assert all(link.startswith(("#", "data:image/png")) for link in read.links)
    assert set(re.findall(r"url\((.)", FULL)) == {"#"}


def test_ids_are_unique_and_every_reference_has_its_target() -> None:
    read = Reader(FULL)
    assert len(set(read.ids)) == len(read.ids) > 100
    inside = [link[1:] for link in read.links if link.startswith("#")]
    inside += re.findall(r"url\(#([^)]*)\)", FULL)
    assert len(inside) > 50
    assert set(inside) <= set(read.ids)


def test_every_power_of_ten_is_protected_from_line_breaks() -> None:
    for page in (FULL, render_report(ESTIMATED, truth=NOISY)):
        assert ".nowrap { white-space: nowrap; }" in page
        assert not [text for text in Reader(page).wrappable if re.search(r"×\s*10[⁻⁰-⁹¹²³]", text)]
    assert FULL.count('<span class="nowrap">') >= 6


def test_page_is_the_same_bytes_for_any_matplotlib_style() -> None:
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.hashsalt": "x"}):
        assert render_report(RECOVERY, truth=PLANTED, compare_with=[VANILLA]) == FULL
        assert matplotlib.rcParams["font.size"] == 30.0


def test_malicious_names_are_escaped() -> None:
    rude = replace(RECOVERY, solver='<script>alert("$x$")</script>')
    page = render_report(
        rude, compare_with=[rude], title="<script>alert(1)</script> & $title {{ x }}"
    )
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; &amp; $title {{ x }}") == 2
    assert 'alert("$x$")</script>' in Reader(page).text


def test_title_replaces_the_heading_and_the_description_remains() -> None:
    text = Reader(render_report(RECOVERY, title="Sensors of May")).text
    assert "Sensors of May" in text
    assert "A 20 × 15 matrix of rank 2 by median-TGD, from 400 measurements" in text


@pytest.mark.parametrize("status", rr.Status)
def test_every_status_has_a_verdict_in_words(status: rr.Status) -> None:
    result = made(status)
    page, shown = render_report(result), verdict(result)
    text = Reader(page).text
    assert f'class="verdict {shown.tone}"' in page
    assert f".verdict.{shown.tone} {{" in page
    assert shown.heading in text
    assert status.meaning[1:] in text
    assert status.advice.replace("`", "") in text
    assert (shown.tone == "good") == (status.certified or status is Status.PREDICTIVE)
    assert (shown.tone == "bad") == status.advice.startswith("Do not use the result")


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        (RECOVERY.certificate, "at least 201 are required"),
        (
            replace(RECOVERY.certificate, exact_fits=3, sigma=0.7, noise=0.05),
            "380 of 400 measurements fit within the noise, σ ≈ 0.7 (5% of a typical",
        ),
        (replace(RECOVERY.certificate, exact_fits=3, required=4010), "so few measurements"),
        (replace(RECOVERY.certificate, objections=("a reason",)), "A reason."),
    ],
)
def test_evidence_comes_from_the_certificate(certificate: Certificate, expected: str) -> None:
    page = render_report(replace(RECOVERY, certificate=certificate))
    assert expected in Reader(page).text
    assert with_powers_of_ten(explain(certificate)) in Reader(page).text


def test_truth_or_result_of_another_problem_raises() -> None:
    other = rr.simulate.plant(20, 14, 2, 400, rng=1)
    with pytest.raises(ValueError, match=r"truth has 400 .* 20 × 14 .* has 400 .* 20 × 15 "):
        render_report(RECOVERY, truth=other)
    with pytest.raises(ValueError, match=r"compare_with\[1\] has 3 measurements"):
        render_report(RECOVERY, compare_with=[VANILLA, with_residual(np.ones(3))])


def test_writing_replaces_the_file_with_the_rendered_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(path, RECOVERY, truth=PLANTED, compare_with=[VANILLA])
    assert path.read_bytes() == FULL.encode()
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_missing_library_raises_one_sentence(missing: str) -> None:
    code = f"""
import sys
import numpy as np
import robustrank as rr, robustrank.report
assert "{missing}" not in sys.modules
sys.modules["{missing}"] = None
rr.report.render_report(None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip().splitlines()[-1] == (
        f"ImportError: the report needs {missing}; install it with: "
        "pip install 'robustrank[report]'"
    )


def test_tried_solvers_are_named() -> None:
    first = Attempt("first <candidate>", Status.INCONCLUSIVE, 2, 3, 0.5, 60, 1.0)
    second = Attempt("second", Status.RECOVERED, 2, 380, 1e-15, 7, 0.1)
    page = render_report(replace(RECOVERY, attempts=(first, second)))
    assert (
        "first &lt;candidate&gt;, rank 2: inconclusive (60 iterations); second, rank 2: recovered"
        in page
    )
    assert "Solvers tried" in page
    assert "Solvers tried" not in render_report(replace(RECOVERY, attempts=(second,)))


def test_template_in_another_folder_extends_the_base(tmp_path: Path) -> None:
    (tmp_path / "study.html").write_text(
        '{% extends "base.html" %}{% import "macros.html" as parts %}'
        '{% block content %}{% call parts.verdict("good", "✓", heading) %}'
        "<p>{{ text | typeset }}</p>{% endcall %}{% endblock %}"
    )
    page = render(
        "study.html",
        folder=tmp_path,
        title="A study",
        subtitle="of <things>",
        heading="All hold",
        text="at 1.0\xa0×\xa010⁻⁹ & more",
        footer=["one", "two"],
    )
    Reader(page)
    assert "<title>A study</title>" in page
    assert "of &lt;things&gt;" in page
    assert '<h2 id="verdict">All hold</h2>' in page
    assert '<p>at <span class="nowrap">1.0\xa0×\xa010⁻⁹</span> &amp; more</p>' in page
    assert "<p>one</p>\n<p>two</p>" in page
    with pytest.raises(jinja2.UndefinedError, match="heading"):
        render("study.html", folder=tmp_path, title="", subtitle="", text="", footer=[])
