"""The evidence for or against a completed matrix, as plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class CompletionCertificate:
    """How many entries a completed matrix fits, and how well it predicts others.

    Attributes
    ----------
    entries
        The number of observed entries that are finite.
    inliers
        The number of entries that the matrix fits: up to rounding if ``noise`` is zero, or up to
        noise.
    supporting
        The number of those that are in rows and columns that are decided.
    required
        The number of them that chance, or a minority, cannot produce.
    degrees_of_freedom
        r (rows + columns − r) of the part that is decided.
    decided_rows, decided_columns
        The number of rows and columns that the inliers determine.
    tolerance
        The largest residual of an exact fit, relative to a typical entry; zero with noise.
    noise
        The standard deviation of the noise, in the units of the data.
    held_out_error
        The standard deviation of the errors of predictions for inliers that were left out of the
        fit; NaN without noise.
    expected_error
        What it should be, from the noise and the uncertainty of the factors.
    trivial_error
        What it would be if a constant were predicted.
    matrix_error
        An upper bound on the error of the matrix, relative to how much its entries vary, from the
        predictions of entries that were left out; zero without noise.
    structure
        The largest singular value of the residuals, relative to that with random signs: about one
        for noise, more if the rank is too low.
    objections
        Why the result is not certified, in words.

    See Also
    --------
    robustrank.Completion : The result, of which this is the attribute ``certificate``.
    robustrank.Certificate : The numbers for a result of ``recover``.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> certificate = rr.complete(planted.incomplete).certificate
    >>> certificate.entries, certificate.supporting >= certificate.required
    (700, True)
    >>> certificate.objections
    ()
    """

    entries: int
    inliers: int
    supporting: int
    required: int
    degrees_of_freedom: int
    decided_rows: int
    decided_columns: int
    tolerance: float = 0.0
    noise: float = math.nan
    held_out_error: float = math.nan
    expected_error: float = math.nan
    trivial_error: float = math.nan
    matrix_error: float = 0.0
    structure: float = math.nan
    objections: tuple[str, ...] = ()

    def in_units_of(self, unit: float) -> CompletionCertificate:
        """The certificate with all errors and the noise multiplied by ``unit``."""
        names = ("noise", "held_out_error", "expected_error", "trivial_error")
        return replace(self, **{name: getattr(self, name) * unit for name in names})
