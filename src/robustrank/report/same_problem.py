"""The results that a page compares must belong to the same problem."""

from __future__ import annotations

from collections.abc import Sequence

from robustrank.metrics import Truth
from robustrank.result import Result


def check_same_problem(
    recovery: Result, truth: Truth | None, compare_with: Sequence[Result]
) -> None:
    """Raise if the truth or another result cannot belong to the problem of the recovery."""
    expected = _size(recovery)
    others = [("truth", truth)] if truth is not None else []
    for name, other in [
        *others,
        *((f"compare_with[{i}]", other) for i, other in enumerate(compare_with)),
    ]:
        if _size(other) != expected:
            raise ValueError(
                f"{name} has {_describe(_size(other))}, the recovery has {_describe(expected)}; "
                "expected the same problem"
            )


def _size(of: Result | Truth) -> tuple[int, int, int]:
    return int(of.left.shape[0]), int(of.right.shape[0]), int(of.outliers.shape[0])


def _describe(size: tuple[int, int, int]) -> str:
    rows, columns, measurements = size
    return f"{measurements:,} measurements of a {rows} × {columns} matrix"
