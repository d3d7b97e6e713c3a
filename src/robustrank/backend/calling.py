"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning for the line that called this package, however deep the call is."""
    level, frame = 1, sys._getframe()
    # By the module: the methods that dataclasses generate have no file.
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
