"""From a problem to the best result: the solvers that are tried, and the rank."""

from robustrank.search.one_problem import solve
from robustrank.search.results import nothing_found

__all__ = ["nothing_found", "solve"]
