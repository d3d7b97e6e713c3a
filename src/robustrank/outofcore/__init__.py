"""Sensing data that is not in memory: in files, on a cluster, or regenerated from a seed.

The core knows such data as operators only, and never imports this package.
"""

from robustrank.outofcore.engine import Engine, LocalEngine
from robustrank.outofcore.seeded import Seeded
from robustrank.outofcore.sharded import ShardedOperator, ShardedRows, how_it_was_read
from robustrank.outofcore.streamed import ColumnStreamedOperator, StreamedOperator

__all__ = [
    "ColumnStreamedOperator",
    "Engine",
    "LocalEngine",
    "Seeded",
    "ShardedOperator",
    "ShardedRows",
    "StreamedOperator",
    "how_it_was_read",
]
