"""The result of a run as plain data, its explanation in words, and how it is saved."""

from robustrank.result.accuracy import (
    Accuracy,
    NotCertifiedWarning,
)
from robustrank.result.archive import read_archive
from robustrank.result.certificate import Certificate, Status, percent
from robustrank.result.explanation import (
    capitalized,
    counted,
    counted_measurements,
    exact_sentence,
    explain,
    meaning_of,
    noise_sentence,
    noun_of,
    objection_sentences,
    title_of,
)
from robustrank.result.groups import GroupRow, GroupTable
from robustrank.result.history import Attempt, Check, History, StopReason
from robustrank.result.labels import (
    check_numeric,
    frame_like,
    frame_values,
    has_numbers,
    is_frame,
    numbers_of,
)
from robustrank.result.observations import (
    MatrixObservations,
    Measurements,
    Observations,
    SampledObservations,
)
from robustrank.result.polars_frames import (
    PolarsFrames,
    check_polars,
    is_polars,
    polars_values,
)
from robustrank.result.rank_table import FIRST_RANKS, PROGRESS, RankRow, RankTable, left_out_error
from robustrank.result.result import Alternative, Result, singular_values, with_gaps
from robustrank.result.table_frames import cell_columns, column_columns, row_columns

__all__ = [
    "FIRST_RANKS",
    "PROGRESS",
    "Accuracy",
    "Alternative",
    "Attempt",
    "Certificate",
    "Check",
    "GroupRow",
    "GroupTable",
    "History",
    "MatrixObservations",
    "Measurements",
    "NotCertifiedWarning",
    "Observations",
    "PolarsFrames",
    "RankRow",
    "RankTable",
    "Result",
    "SampledObservations",
    "Status",
    "StopReason",
    "capitalized",
    "cell_columns",
    "check_numeric",
    "check_polars",
    "column_columns",
    "counted",
    "counted_measurements",
    "exact_sentence",
    "explain",
    "frame_like",
    "frame_values",
    "has_numbers",
    "is_frame",
    "is_polars",
    "left_out_error",
    "meaning_of",
    "noise_sentence",
    "noun_of",
    "numbers_of",
    "objection_sentences",
    "percent",
    "polars_values",
    "read_archive",
    "row_columns",
    "singular_values",
    "title_of",
    "with_gaps",
]
