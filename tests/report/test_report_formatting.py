"""Numbers, shares and names as text, and text as HTML."""

from __future__ import annotations

import numpy as np
import pytest
from report_examples import RECOVERY, VANILLA

from robustrank.report.formatting import (
    number,
    number_from_log,
    ratio,
    share,
    solver_labels,
    with_powers_of_ten,
)
from robustrank.report.rendering import typeset


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00123, "0.00123"),
        (999.4, "999"),
        (999.5, "1,000"),
        (123456.7, "123,457"),
        (-4.13e-9, "−4.1\xa0×\xa010⁻⁹"),
        (1e150, "1.0\xa0×\xa010¹⁵⁰"),
        (-np.inf, "−∞"),
        (np.nan, "undefined"),
    ],
)
def test_numbers_have_three_digits_or_a_power_of_ten(value: float, text: str) -> None:
    assert number(value) == text


def test_powers_outside_the_range_of_floats_are_written() -> None:
    assert number_from_log(-2.0) == "0.01"
    assert number_from_log(400.5) == "3.2\xa0×\xa010⁴⁰⁰"
    assert number_from_log(-400.0) == "1.0\xa0×\xa010⁻⁴⁰⁰"


def test_exponents_in_text_become_powers_of_ten() -> None:
    assert with_powers_of_ten("to 5e-07, or 1.25e+10.") == (
        "to 5\xa0×\xa010⁻⁷, or 1.25\xa0×\xa010¹⁰."
    )
    assert with_powers_of_ten("3 of 1e cases, x2e-3, 2e-3y") == "3 of 1e cases, x2e-3, 2e-3y"


def test_shares_and_ratios_are_percentages() -> None:
    assert share(1, 8) == "12.5%"
    assert share(0, 0) == "0.0%"
    assert ratio(0.0123) == "1.2%"
    assert ratio(1e-5) == "1.0\xa0×\xa010⁻⁵"
    assert ratio(np.inf) == "∞"


def test_equal_solver_names_are_numbered() -> None:
    labels = solver_labels([RECOVERY, VANILLA, RECOVERY])
    assert labels == ["median-TGD (1)", "vanilla-GD", "median-TGD (2)"]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        (f"at {number(-4.13e-9)}.", 'at <span class="nowrap">−4.1\xa0×\xa010⁻⁹</span>.'),
        ("noise, σ ≈ 1.32 (1%)", 'noise, <span class="nowrap">σ ≈ 1.32</span> (1%)'),
        ("σ ≈ 2\xa0×\xa010⁻⁵", '<span class="nowrap">σ ≈ 2\xa0×\xa010⁻⁵</span>'),
        ("in `outliers` <", "in <code>outliers</code> &lt;"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
    ],
)
def test_typeset_text_is_escaped_and_marked(text: str, html: str) -> None:
    assert typeset(text) == html
