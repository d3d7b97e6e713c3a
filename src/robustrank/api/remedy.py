"""What would help if a result is not certified, from the table of trials."""

from __future__ import annotations

from dataclasses import replace

from robustrank.operators import DenseOperator
from robustrank.operators.views.delegating import family
from robustrank.outofcore import ShardedOperator, StreamedOperator
from robustrank.planning import failure_of, what_would_help
from robustrank.problem import Problem
from robustrank.result import Recovery, Status

# With the other statuses, there is another reason, or the run was stopped.
_HELPED = (Status.UNEXPLAINED, Status.UNDERDETERMINED, Status.ITERATION_LIMIT)
_DENSE = (DenseOperator, StreamedOperator, ShardedOperator)


def with_remedy(recovery: Recovery, problem: Problem, rank: int | None) -> Recovery:
    """The result with a remedy, if the trials of the table are like the problem.

    ``rank`` is the given one, if any.
    """
    like_trials = isinstance(family(problem.operator), _DENSE) and not problem.symmetric
    if recovery.status not in _HELPED or not like_trials:
        return recovery
    return replace(recovery, remedy=what_would_help(failure_of(recovery, rank)))
