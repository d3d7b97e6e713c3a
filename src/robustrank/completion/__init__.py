"""Completing a matrix of which some entries are observed, some of them wrong."""

from robustrank.completion.conclusion import concluded, unfinished
from robustrank.completion.new_rows import FittedRows
from robustrank.completion.result import Completion, CompletionCertificate
from robustrank.completion.sample import Sample
from robustrank.completion.search import Search, Solution
from robustrank.completion.watch import Callback, CompletionProgress, Stopped, Watch

__all__ = [
    "Callback",
    "Completion",
    "CompletionCertificate",
    "CompletionProgress",
    "FittedRows",
    "Sample",
    "Search",
    "Solution",
    "Stopped",
    "Watch",
    "concluded",
    "unfinished",
]
