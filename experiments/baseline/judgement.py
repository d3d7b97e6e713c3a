"""What a row of the baseline claims, and whether the claim is right."""

from __future__ import annotations

import math
from dataclasses import dataclass

from experiments.rows import Row

_EXACT, _ESTIMATED = "RECOVERED", "ESTIMATED"
EXCEPTION = "exception"
# The largest error of an exact claim: of ``recover``, of a completion, and in single precision.
LARGEST, LARGEST_OF_ENTRIES, LARGEST_OF_SINGLE = 1e-6, 1e-5, 1e-3
# An estimate is right up to this error, and up to a multiple of the error of the oracle.
NEGLIGIBLE, TIMES_ORACLE = 1e-4, 3.0


@dataclass(frozen=True)
class Judged:
    """A row with its claim."""

    row: Row

    @property
    def status(self) -> str:
        """The status, or ``exception``."""
        return EXCEPTION if self.failed else str(self.row.get("status", EXCEPTION))

    @property
    def failed(self) -> bool:
        """Whether there was an exception."""
        return EXCEPTION in self.row

    @property
    def certified(self) -> bool:
        """Whether the result is claimed to be right, exactly or up to noise."""
        return self.status in (_EXACT, _ESTIMATED)

    @property
    def error(self) -> float:
        """The true error of what is claimed: of a completion, in the part that it determines."""
        return _number(self.row.get(f"{self._claimed_part}error"), math.inf)

    @property
    def oracle(self) -> float | None:
        """The error of least squares with the true inliers known, in the same part."""
        return self.row.get(f"{self._claimed_part}oracle")

    @property
    def wrong(self) -> bool:
        """Whether the claim is wrong."""
        limit = self._limit(_number(self.oracle, 0.0))
        if self.status == _EXACT:
            limit = self._exact_limit
        return self.certified and self.error > limit

    @property
    def right(self) -> bool:
        """Whether the claim is right."""
        return self.certified and not self.wrong

    @property
    def solved(self) -> bool:
        """Whether the matrix is as good as that of the oracle, whatever is claimed."""
        error, oracle = self.row.get("error"), _number(self.row.get("oracle"), 0.0)
        return not self.failed and _number(error, math.inf) <= self._limit(oracle)

    @property
    def rounding(self) -> float:
        """Differences of answers up to this are rounding errors."""
        return LARGEST_OF_SINGLE if self.row.get("single") else LARGEST

    def __str__(self) -> str:
        if self.failed:
            return str(self.row[EXCEPTION])
        wrong = " WRONG" if self.wrong else ""
        return f"{self.status}{wrong} rank {self.row['rank']} error {self.error:.2g}"

    @property
    def _claimed_part(self) -> str:
        """The beginning of the names of the fields about what is claimed."""
        return "decided_" if "decided_error" in self.row and self.certified else ""

    @property
    def _exact_limit(self) -> float:
        if self.row.get("single"):
            return LARGEST_OF_SINGLE
        of_recover = "passes" in self.row or "decided_error" not in self.row
        return LARGEST if of_recover else LARGEST_OF_ENTRIES

    def _limit(self, oracle: float) -> float:
        negligible = LARGEST_OF_SINGLE if self.row.get("single") else NEGLIGIBLE
        return max(negligible, TIMES_ORACLE * oracle)


def _number(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)
