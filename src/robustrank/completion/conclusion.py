"""The evidence for or against a completed matrix: everything that its certificate demands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from robustrank.certificate import (
    HELD_OUT_LIMIT,
    NOT_NOISE,
    STRUCTURED,
    UNTESTED,
    error_bound,
    noise_objections,
)
from robustrank.completion.search import EXPLAINED, Solution
from robustrank.result import Certificate

# Errors of predictions of entries that were left out are as expected up to this factor.
_AS_EXPECTED = 1.5
# The largest noise of a certified result, relative to a typical entry, is what components leave
# that explain most of the entries: above it, outliers of the entries' own size are taken for noise.
# With the limit for other measurements, 10 of 441 claims of the development baseline are lost, and
# 11 with their limit on the error of the matrix.
_LARGEST_NOISE = EXPLAINED
# The residuals of a fit of too low a rank have a largest singular value of at least this.
_STRUCTURE = 1.2


def certified(
    solution: Solution, entries: int, unit: float = 1.0, *, tested: bool = True
) -> Certificate:
    """The evidence for a solution, of which ``unit`` is the unit in that of the data.

    A solution that was not ``tested``, because the run ended before, is not certified.
    """
    support, inliers = solution.support, int(np.sum(solution.inliers))
    certificate = Certificate(
        measurements=entries,
        independent=entries,
        exact_fits=inliers if solution.noise == 0 else 0,
        inliers=inliers,
        supporting=int(np.sum(support.fitted)),
        required=solution.required(entries),
        degrees_of_freedom=support.degrees_of_freedom(solution.rank),
        tolerance=solution.tolerance,
        decided_rows=int(support.rows.sum()),
        decided_columns=int(support.columns.sum()),
        sigma=solution.noise * unit,
        noise=solution.noise / solution.typical,
        matrix_error=0.0,
    )
    if not tested:
        return certificate.with_objections(UNTESTED)
    if not solution.is_supported(entries):
        certificate = certificate.with_objections("too few measurements support the matrix")
    held_out = solution.held_out
    if held_out is None:
        return certificate
    certificate = replace(
        certificate,
        matrix_error=solution.error,
        error_bound=error_bound(solution.error, solution.hidden),
        held_out_error=_ratio(held_out.error, held_out.trivial),
        expected_error=_ratio(held_out.expected, held_out.trivial),
        trivial_error=held_out.trivial * unit,
        noise_statistics=tuple(solution.statistics or ()),
        structure=solution.structure,
    )
    return certificate.with_objections(*_objections(certificate, solution))


def _objections(certificate: Certificate, solution: Solution) -> Iterator[str]:
    """What speaks against a solution with noise."""
    held_out = solution.held_out
    yield from noise_objections(certificate, _LARGEST_NOISE)
    if (
        not 1 / _AS_EXPECTED
        <= certificate.held_out_error / certificate.expected_error
        <= _AS_EXPECTED
    ):
        yield "errors of entries that were left out are not as the fit expects"
    if not (solution.statistics is None or solution.statistics.look_like_noise()):
        yield NOT_NOISE
    if held_out is not None and not held_out.matrix_error <= HELD_OUT_LIMIT:
        yield (
            f"entries that were left out show that the error of the matrix may be "
            f"{min(held_out.matrix_error, 1):.0%} of how much its entries vary"
        )
    if not certificate.structure <= _STRUCTURE:
        yield STRUCTURED


def _ratio(error: float, trivial: float) -> float:
    """An error relative to that of a constant, which is zero if all entries are equal."""
    return error / trivial if trivial > 0 else math.inf
