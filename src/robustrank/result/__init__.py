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
from robustrank.result.labels import check_numeric, frame_like, frame_values, is_frame
from robustrank.result.observations import (
    MatrixObservations,
    Measurements,
    Observations,
    SampledObservations,
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
    "RankRow",
    "RankTable",
    "Result",
    "SampledObservations",
    "Status",
    "StopReason",
    "capitalized",
    "cell_columns",
    "check_numeric",
    "column_columns",
    "counted",
    "counted_measurements",
    "exact_sentence",
    "explain",
    "frame_like",
    "frame_values",
    "is_frame",
    "left_out_error",
    "meaning_of",
    "noise_sentence",
    "noun_of",
    "objection_sentences",
    "percent",
    "read_archive",
    "row_columns",
    "singular_values",
    "title_of",
    "with_gaps",
]
