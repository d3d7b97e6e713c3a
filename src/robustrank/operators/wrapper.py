"""What an operator built on another one passes on as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robustrank.backend import Array
from robustrank.operators.base import Operator


@dataclass(frozen=True)
class Wrapper(Operator):
    """Forwards to another operator all that has nothing to do with the shape or size of M."""

    inner: Operator

    @property
    def measurements(self) -> int:
        return self.inner.measurements

    @property
    def dtype(self) -> Any:
        return self.inner.dtype

    @property
    def passes(self) -> float:
        return self.inner.passes

    def add_passes(self, passes: float) -> None:
        self.inner.add_passes(passes)

    @property
    def in_memory(self) -> bool:
        return self.inner.in_memory

    def asarray(self, values: Any) -> Array:
        return self.inner.asarray(values)
