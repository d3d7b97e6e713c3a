"""A result in words: for the terminal, the report page and the documentation.

The words depend on plain data only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from robustrank.backend import to_numpy
from robustrank.result.certificate import Certificate, Status, percent
from robustrank.result.labels import SHOWN

if TYPE_CHECKING:
    from robustrank.result.result import Result
    from robustrank.tables import CleanTable


# If most entries are zero, the zero matrix is certified: what happened, and what to do next.
_ZERO = (
    "most entries are zero, so that the zero matrix (rank 0) fits most of them exactly.",
    "The entries that are not zero are marked in `outliers`. If zero stands for a missing entry in "
    "your data, replace it by NaN and run again.",
)


# If left-out cells of a table are not predicted: what happened, and what to do next.
_NOT_PREDICTED = (
    "cells that were left out are not predicted clearly better than by the medians of their "
    "columns.",
    "Do not rely on the filled cells: the columns say little about each other, or there are too "
    "few rows. Missing cells get values near the medians.",
)


def title_of(result: Result) -> str:
    """What a result is, as a heading."""
    if result.table is not None:
        rows, columns = counted(result.shape[0], "row"), counted(result.shape[1], "column")
        return f"A table of {rows} and {columns}"
    by = f" by {result.solver}" if result.solver else ""
    return f"A {result.shape[0]:,} × {result.shape[1]:,} matrix of rank {result.rank}{by}"


def meaning_of(result: Result) -> str:
    """What happened, in one sentence."""
    return _texts(result)[0].replace("measurements", noun_of(result))


def advice_of(result: Result) -> str:
    """What to do next: the advice of the status, or of why the run ended, and what would help."""
    text = _texts(result)[1]
    if result.stopped is not None and result.status is Status.INCONCLUSIVE:
        text = result.stopped.advice
    return f"{text.replace('measurements', noun_of(result))} {result.remedy}".rstrip()


def _texts(result: Result) -> tuple[str, str]:
    """What happened, and what to do next, as the status says."""
    if result.certified and result.rank == 0:
        return _ZERO
    if result.table is not None and result.status is Status.INCONCLUSIVE:
        return _NOT_PREDICTED
    return result.status.meaning, result.status.advice


def noun_of(result: Result) -> str:
    """What the measurements of a result are called."""
    return "entries" if result.of_entries else "measurements"


def summary_of(result: Result) -> list[tuple[str, str]]:
    """A result in words, as (name, text) rows."""
    if result.table is not None:
        return _summary_of_table(result, result.table)
    noun, certificate = noun_of(result), result.certificate
    rejected = int(np.count_nonzero(to_numpy(result.outliers)))
    share = rejected / max(certificate.measurements, 1)
    rows = [
        ("status", f"{result.status.value}: {meaning_of(result)}"),
        ("stopped", "" if result.stopped is None else f"{result.stopped}"),
        ("evidence", explain(certificate, noun)),
        ("objections", objection_sentences(certificate, noun)),
        ("alternative", "" if result.alternative is None else str(result.alternative)),
        ("rank", "" if result.rank_table is None else result.rank_table.sentence),
        ("outliers", f"{rejected:,} of the {noun} are rejected ({share:.1%})"),
        ("groups", "" if result.groups is None else result.groups.sentence),
        ("undecided", _undecided(result)),
        ("noise", _noise(result)),
        ("error", _error(result)),
        ("singular values", _singular_values(result)),
        ("work", _work(result)),
        ("data", result.data),
        ("tried", "; ".join(map(str, result.attempts)) if len(result.attempts) > 1 else ""),
        ("next", result.advice),
    ]
    return [(name, text) for name, text in rows if text]


def _summary_of_table(result: Result, table: CleanTable) -> list[tuple[str, str]]:
    """The result of ``clean`` in words."""
    missing, seen = int(np.isnan(table.given).sum()), max(result.certificate.measurements, 1)
    wrong, rows = int(table.wrong.sum()), int(table.wrong_rows.sum())
    lines = [
        ("status", f"{result.status.value}: {meaning_of(result)}"),
        ("stopped", "" if result.stopped is None else f"{result.stopped}"),
        ("evidence", _evidence_of_table(result, table)),
        ("objections", objection_sentences(result.certificate, "cells")),
        ("cells", f"missing: {missing:,}; wrong: {wrong:,} of {seen:,} ({wrong / seen:.1%})"),
        ("rows", f"wrong altogether: {rows:,} of {len(table.given):,}" if rows else ""),
        ("columns", _named_columns(result, table)),
        ("kept", result.data),
        ("work", _work(result)),
        ("next", result.advice),
    ]
    return [(name, text) for name, text in lines if text]


def _evidence_of_table(result: Result, table: CleanTable) -> str:
    certificate, held_out = result.certificate, table.held_out
    if result.certified:
        return explain(certificate, "cells")
    if not math.isfinite(certificate.skill):
        return "there are too few cells to leave some of them out."
    return (
        f"at {counted(int(held_out.counts.sum()), 'cell')} that were left out, the mean square "
        f"error is {abs(certificate.skill):.0%} {'larger' if certificate.skill < 0 else 'smaller'} "
        f"than that of the medians of their columns "
        f"(at least {certificate.least_skill:.0%}, with three standard errors); "
        f"{held_out.inside:.0%} are within their intervals of 90%."
    )


def _named_columns(result: Result, table: CleanTable) -> str:
    """The columns that are wrong, cannot be predicted, have no values, or were transformed."""
    kinds = {
        "wrong altogether": table.wrong_columns,
        "not predicted by the others": table.held_out.not_predicted,
        "without values": table.empty_columns,
        "skewed, and transformed for the fit": table.model.units.skewness != 0,
    }
    return "; ".join(
        f"{what}: {_listed_columns(result, flags)}" for what, flags in kinds.items() if flags.any()
    )


def _listed_columns(result: Result, flags: Any) -> str:
    numbers = np.flatnonzero(flags)
    if result.column_labels is None:
        labels = [f"number {k}" for k in numbers]
    else:
        labels = result.column_labels[numbers]
    names = ", ".join(str(one) for one in labels[:SHOWN])
    return f"{names}, … ({len(numbers):,})" if len(numbers) > SHOWN else names


def _undecided(result: Result) -> str:
    counts = (len(result.undecided_rows), "row"), (len(result.undecided_columns), "column")
    named = " and ".join(counted(*one) for one in counts if one[0])
    return f"too few trusted {noun_of(result)} in {named}" if named else ""


def _noise(result: Result) -> str:
    if result.noise == 0:
        return "none: the fit is exact"
    level = result.certificate.noise
    relative = f" ({percent(level, 2)} of a typical value)" if math.isfinite(level) else ""
    if not math.isfinite(result.noise):
        return ""
    return f"{result.noise:.3g}{relative}, {result.noise_model.describe(result.noise)}"


def _error(result: Result) -> str:
    """The expected error of a matrix with noise and a bound on it, as far as they are known."""
    if not (result.certified and result.error > 0):
        return ""
    expected, bound = percent(result.error, 2), percent(result.error_bound, 2)
    return f"about {expected} of the norm of the matrix, at most {bound}"


def _singular_values(result: Result) -> str:
    shown = [f"{value:.4g}" for value in result.singular_values()[:SHOWN]]
    return ", ".join([*shown, "…"] if result.rank > SHOWN else shown)


def _work(result: Result) -> str:
    steps = f"{counted(result.iterations, 'iteration')}, " if result.iterations else ""
    passes = f"{result.passes:,.6g} passes over the sensing data, " if result.passes else ""
    return f"{steps}{passes}{result.seconds:.2f} s"


def explain(certificate: Certificate, noun: str = "measurements") -> str:
    """The numbers of a certificate in one to three sentences."""
    if certificate.required > certificate.independent:
        return (
            f"{exact_sentence(certificate, noun)}. No result can be certified with so few {noun}: "
            f"at least {certificate.required:,} are required."
        )
    text = exact_sentence(certificate, noun)
    if certificate.fits_exactly:
        text += f"; at least {certificate.required:,} are required"
    elif math.isfinite(certificate.sigma) and certificate.noise > certificate.tolerance:
        text = noise_sentence(certificate, noun)
    else:
        text += f". At least {certificate.required:,} are required"
    if certificate.unidentified:
        text += f". No measurement depends on {certificate.unidentified} of the matrix"
    if math.isfinite(certificate.expected_error):
        trivial = certificate.trivial_error
        text += (
            f". {capitalized(noun)} that were left out are predicted up to "
            f"{trivial * certificate.held_out_error:.3g} (expected: "
            f"{trivial * certificate.expected_error:.3g}; by a constant: {trivial:.3g})"
        )
    return text + "."


def objection_sentences(certificate: Certificate, noun: str = "measurements") -> str:
    """Why a result is not certified; empty if there is no objection."""
    text = " ".join(f"{capitalized(one)}." for one in certificate.objections)
    one = "entry" if noun == "entries" else "measurement"
    return text.replace("measurements", noun).replace("measurement", one)


def capitalized(sentence: str) -> str:
    """A sentence that begins with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def exact_sentence(certificate: Certificate, noun: str = "measurements") -> str:
    """The number of measurements that are fitted exactly."""
    return (
        f"{certificate.exact_fits:,} of {counted_measurements(certificate, noun)} are fitted "
        f"exactly (relative residual at most {certificate.tolerance:.0e})"
    )


def noise_sentence(certificate: Certificate, noun: str = "measurements") -> str:
    """The number of measurements that are fitted within the noise, and the noise level."""
    return (
        f"{certificate.inliers:,} of {counted_measurements(certificate, noun)} fit within the "
        f"noise, σ ≈ {certificate.sigma:.3g} ({percent(certificate.noise, 2)} of a typical "
        f"{'entry' if noun == 'entries' else 'measurement'})"
    )


def counted(count: int, noun: str) -> str:
    """A number with a noun: 1 row, 2 rows."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted_measurements(certificate: Certificate, noun: str = "measurements") -> str:
    """The number of measurements that count: repetitions count as one."""
    repeated = certificate.independent < certificate.measurements
    return f"{certificate.independent:,} {'independent ' if repeated else ''}{noun}"
