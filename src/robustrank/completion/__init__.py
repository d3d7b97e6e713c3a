"""Completing a matrix of which some entries are observed, some of them wrong."""

from robustrank.completion.by_columns import solve_by_columns
from robustrank.completion.conclusion import certified
from robustrank.completion.new_rows import FittedRows, fit_new_rows
from robustrank.completion.sample import Sample
from robustrank.completion.search import Search, Solution, unsupported
from robustrank.completion.streaming import LowRankStream
from robustrank.completion.watch import Watch

__all__ = [
    "FittedRows",
    "LowRankStream",
    "Sample",
    "Search",
    "Solution",
    "Watch",
    "certified",
    "fit_new_rows",
    "solve_by_columns",
    "unsupported",
]
