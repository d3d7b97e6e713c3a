"""How sensing data that is not in memory was read, in words."""

from __future__ import annotations

from robustrank.operators.base import Operator
from robustrank.operators.sharded import ShardedOperator, ShardedRows
from robustrank.operators.views.delegating import family


def how_it_was_read(operator: Operator) -> str:
    """How sensing data in shards was read, and where tangent maps were; empty for other data."""
    operator = family(operator)
    if not isinstance(operator, ShardedOperator):
        return ""
    where = "in blocks" if operator.engine.is_local else "by the workers of a cluster"
    number = len(operator.shards)
    text = f"read {where}, in {number} {'shard' if number == 1 else 'shards'}"
    stored = str(operator.storage) if isinstance(operator, ShardedRows) else ""
    return f"{text}; {stored}" if stored else text
