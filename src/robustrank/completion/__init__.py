"""Completing a matrix of which some entries are observed, some of them wrong."""

from robustrank.completion.archive import COMPLETION
from robustrank.completion.by_columns import solve_by_columns
from robustrank.completion.conclusion import concluded, unfinished
from robustrank.completion.evidence import CompletionCertificate
from robustrank.completion.frames import check_numeric, frame_like, frame_values, is_frame
from robustrank.completion.new_rows import FittedRows
from robustrank.completion.observations import (
    MatrixObservations,
    Observations,
    SampledObservations,
)
from robustrank.completion.result import Completion
from robustrank.completion.sample import Sample
from robustrank.completion.search import Search, Solution
from robustrank.completion.support import Support
from robustrank.completion.watch import Callback, CompletionProgress, Stopped, Watch

__all__ = [
    "COMPLETION",
    "Callback",
    "Completion",
    "CompletionCertificate",
    "CompletionProgress",
    "FittedRows",
    "MatrixObservations",
    "Observations",
    "Sample",
    "SampledObservations",
    "Search",
    "Solution",
    "Stopped",
    "Support",
    "Watch",
    "check_numeric",
    "concluded",
    "frame_like",
    "frame_values",
    "is_frame",
    "solve_by_columns",
    "unfinished",
]
