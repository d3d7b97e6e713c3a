"""A clock that tests put forward, so that no time limit depends on the load of the machine."""

from __future__ import annotations

import time


class Clock:
    """The clock of time limits, which a test can put forward instead of waiting."""

    def __init__(self) -> None:
        self._now, self._ahead = time.perf_counter, 0.0

    def __call__(self) -> float:
        return self._now() + self._ahead

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self._ahead += seconds
