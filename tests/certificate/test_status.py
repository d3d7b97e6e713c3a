"""The status of a result follows from its certificate and a second solution, and nothing else."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import replace
from typing import Any

import pytest

import robustrank as rr
from robustrank.result import Alternative
from robustrank.result.certificate import conclude

PLANTED = rr.simulate.plant(8, 6, 1, 90, outliers=0.1, rng=1)
RESULT = rr.recover(PLANTED.A, PLANTED.y, 1)
SECOND = Alternative(-RESULT.left, RESULT.right, 40, "the whole matrix")
UNIDENTIFIED, UNDERDETERMINED = rr.Status.NOT_IDENTIFIED, rr.Status.UNDERDETERMINED
INCONCLUSIVE, AMBIGUOUS = rr.Status.INCONCLUSIVE, rr.Status.AMBIGUOUS

# Whether there are too few measurements, a part that none depends on, objections, and a second
# solution; then the status of an exact fit and that of a fit with noise. A fit cannot be exact with
# too few measurements.
TABLE = [
    # too few, unidentified, objections, second: exact, noise
    ((False, False, False, False), (rr.Status.RECOVERED, rr.Status.ESTIMATED)),
    ((False, False, False, True), (AMBIGUOUS, AMBIGUOUS)),
    ((False, False, True, False), (INCONCLUSIVE, INCONCLUSIVE)),
    ((False, False, True, True), (INCONCLUSIVE, INCONCLUSIVE)),
    ((False, True, False, False), (UNIDENTIFIED, UNIDENTIFIED)),
    ((False, True, False, True), (UNIDENTIFIED, UNIDENTIFIED)),
    ((False, True, True, False), (UNIDENTIFIED, UNIDENTIFIED)),
    ((False, True, True, True), (UNIDENTIFIED, UNIDENTIFIED)),
    ((True, False, False, False), (None, UNDERDETERMINED)),
    ((True, False, False, True), (None, UNDERDETERMINED)),
    ((True, False, True, False), (None, UNDERDETERMINED)),
    ((True, False, True, True), (None, UNDERDETERMINED)),
    ((True, True, False, False), (None, UNDERDETERMINED)),
    ((True, True, False, True), (None, UNDERDETERMINED)),
    ((True, True, True, False), (None, UNDERDETERMINED)),
    ((True, True, True, True), (None, UNDERDETERMINED)),
]


def certificate_with(
    *, few: bool, unidentified: bool, objections: bool, exact: bool
) -> rr.Certificate:
    """A certificate of 90 independent measurements."""
    required = 91 if few else 46
    return replace(
        RESULT.certificate,
        independent=90,
        required=required,
        exact_fits=required if exact else required - 1,
        unidentified="row 2" if unidentified else "",
        objections=("a reason",) if objections else (),
    )


def test_the_table_is_complete() -> None:
    assert [row for row, _ in TABLE] == list(itertools.product((False, True), repeat=4))


@pytest.mark.parametrize(
    ("given", "exact", "status"),
    [
        (given, exact, status)
        for given, pair in TABLE
        for exact, status in zip((True, False), pair, strict=True)
        if status is not None
    ],
)
def test_every_status(given: tuple[bool, bool, bool, bool], exact: bool, status: rr.Status) -> None:
    few, unidentified, objections, second = given
    certificate = certificate_with(
        few=few, unidentified=unidentified, objections=objections, exact=exact
    )
    assert conclude(certificate, second_solution=second) is status
    assert certificate.fits_exactly is exact
    assert certificate.is_exact is (exact and not objections)
    result = replace(RESULT, certificate=certificate, alternative=SECOND if second else None)
    assert result.status is status
    assert result.certified is status.certified is (status.name in ("RECOVERED", "ESTIMATED"))


@pytest.mark.parametrize("reason", [None, *rr.StopReason])
def test_why_a_run_ended_does_not_change_the_status(reason: rr.StopReason | None) -> None:
    stopped = replace(RESULT, stopped=reason)
    assert stopped.status is RESULT.status is rr.Status.RECOVERED
    assert stopped.stopped is reason


def test_a_status_cannot_be_set() -> None:
    given: Any = RESULT
    with pytest.raises(AttributeError):
        given.status = rr.Status.ESTIMATED
    with pytest.raises(AttributeError):
        given.certified = False
    with pytest.raises(TypeError, match="status"):
        replace(given, status=rr.Status.ESTIMATED)
    fields = {field.name: getattr(RESULT, field.name) for field in dataclasses.fields(RESULT)}
    assert not {"status", "certified"} & set(fields)
    make: Any = rr.Result
    with pytest.raises(TypeError, match="status"):
        make(**fields, status=rr.Status.ESTIMATED)
    assert RESULT.status is rr.Status.RECOVERED


def test_further_objections_are_added_to_a_copy() -> None:
    certificate = RESULT.certificate
    more = certificate.with_objections("one").with_objections("two", "three")
    assert more.objections == ("one", "two", "three")
    assert certificate.objections == ()
    assert replace(RESULT, certificate=more).status is rr.Status.INCONCLUSIVE
    assert certificate.with_objections() == certificate
