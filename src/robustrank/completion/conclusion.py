"""The evidence for or against a completed matrix: everything that its certificate demands."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robustrank.backend import Array, like, namespace
from robustrank.completion.sample import Sample
from robustrank.completion.search import Solution, required_support, unsupported
from robustrank.result import Certificate

# With noise, at least this share of the entries must support the matrix, and three for each degree
# of freedom.
_SUPPORT, _SUPPORT_PER_UNKNOWN = 0.6, 3.0
# Errors of predictions of entries that were left out, relative to what is expected.
_BETTER, _WORSE = 0.67, 1.4
# The shape of noise: the median of its size relative to the 0.9-quantile, 0.41 if it is normal.
_HEAVY_TAIL, _NO_TAIL = 0.31, 0.7
# The largest noise of a certified result, relative to a typical entry: above it, outliers of the
# entries' own size are taken for noise.
_LARGEST_NOISE = 0.3
# The largest error of a matrix that is certified, relative to how much its entries vary.
_LARGEST_ERROR = 0.3
# The residuals of a fit of too low a rank have a largest singular value of at least this.
_STRUCTURE = 1.2
_UNTESTED = "the run ended before rows and columns were tested"


def certified(
    solution: Solution, entries: int, unit: float = 1.0, *, tested: bool = True
) -> Certificate:
    """The evidence for a solution, of which ``unit`` is the unit in that of the data.

    A solution that was not ``tested``, because the run ended before, is not certified.
    """
    support, rank = solution.support, int(solution.left.shape[1])
    supporting = int(np.sum(support.fitted))
    free, required = required_support(support, entries, rank)
    objections = [] if tested else [_UNTESTED]
    if tested and supporting < required:
        objections.append("too few entries support the matrix")
    held_out = solution.held_out
    if held_out is not None:
        if supporting < _SUPPORT * entries:
            objections.append(f"fewer than {_SUPPORT:.0%} of the entries support the matrix")
        if supporting < _SUPPORT_PER_UNKNOWN * free:
            objections.append(
                f"with noise, {_SUPPORT_PER_UNKNOWN:g} entries for each of the {free:,} degrees of "
                "freedom are needed"
            )
        if not _BETTER <= held_out.error / held_out.expected <= _WORSE:
            objections.append("errors of entries that were left out are not as the fit expects")
        if not solution.noise_level <= _LARGEST_NOISE:
            objections.append(
                f"the residuals are {solution.noise_level:.0%} of a typical entry, and results "
                f"with more than {_LARGEST_NOISE:.0%} noise are not certified"
            )
        usual = solution.statistics is None or solution.statistics.look_like_noise()
        if not (usual and _HEAVY_TAIL <= solution.tail <= _NO_TAIL):
            objections.append("the residuals of the inliers are not distributed like noise")
        if not held_out.matrix_error <= _LARGEST_ERROR:
            objections.append(
                f"entries that were left out show that the error of the matrix may be "
                f"{min(held_out.matrix_error, 1):.0%} of how much its entries vary"
            )
        if not solution.structure <= _STRUCTURE:
            objections.append(
                "the residuals have structure: a higher rank may fit better, or errors depend on "
                "each other"
            )
    inliers, sigma = int(np.sum(solution.inliers)), solution.noise * unit
    certificate = Certificate(
        measurements=entries,
        independent=entries,
        exact_fits=inliers if solution.noise == 0 else 0,
        inliers=inliers,
        supporting=supporting,
        required=required,
        degrees_of_freedom=free,
        tolerance=solution.tolerance,
        objections=tuple(objections),
        decided_rows=int(support.rows.sum()),
        decided_columns=int(support.columns.sum()),
        sigma=sigma,
        noise=solution.noise_level,
        matrix_error=0.0,
    )
    if held_out is None:
        return certificate
    return replace(
        certificate,
        matrix_error=held_out.matrix_error,
        held_out_error=_ratio(held_out.error, held_out.trivial),
        expected_error=_ratio(held_out.expected, held_out.trivial),
        trivial_error=held_out.trivial * unit,
        structure=solution.structure,
    )


def _ratio(error: float, trivial: float) -> float:
    """An error relative to that of a constant, which is zero if all entries are equal."""
    return error / trivial if trivial > 0 else math.inf


def unfinished(sample: Sample, factors: tuple[Array, Array] | None) -> Solution:
    """The solution when a search was stopped: the latest factors, or zero."""
    if factors is None:
        zeros, given = namespace(sample.row_values).zeros, like(sample.row_values)
        n1, n2 = sample.shape
        factors = zeros((n1, 1), **given), zeros((n2, 1), **given)
    return unsupported(sample, factors)
