"""What would help if a result is not certified, from the table of trials."""

from __future__ import annotations

from dataclasses import replace

from robustrank.operators import DenseOperator
from robustrank.operators.views.delegating import family
from robustrank.outofcore import ShardedOperator, StreamedOperator
from robustrank.planning import failure_of, what_would_help
from robustrank.problem import Problem
from robustrank.result import Result, Status, StopReason

# With the other statuses, there is another reason; if the run was stopped, the reason is not known.
_HELPED = (Status.INCONCLUSIVE, Status.UNDERDETERMINED)
_DENSE = (DenseOperator, StreamedOperator, ShardedOperator)


def with_remedy(result: Result, problem: Problem, rank: int | None) -> Result:
    """The result with a remedy, if the trials of the table are like the problem.

    ``rank`` is the given one, if any.
    """
    like_trials = isinstance(family(problem.operator), _DENSE) and not problem.symmetric
    finished = result.stopped in (None, StopReason.ITERATIONS)
    if result.status not in _HELPED or not (finished and like_trials):
        return result
    return replace(result, remedy=what_would_help(failure_of(result, rank)))
