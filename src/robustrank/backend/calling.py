"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning], *, through: Collection[str] = ()) -> None:
    """Issue a warning for the line that called this package, however deep the call is.

    Calls by the packages ``through``, between the user and this package, are skipped too.
    """
    level, frame, skipped = 1, sys._getframe(), {_PACKAGE, *through}
    # By the module: the methods that dataclasses generate have no file.
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in skipped:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
