"""What a solve returns: the answer, what happened, and how to keep it."""

from robustrank.result.archive import load, save
from robustrank.result.history import Check, History
from robustrank.result.recovery import Attempt, Certificate, Recovery, singular_values
from robustrank.result.status import Status

__all__ = [
    "Attempt",
    "Certificate",
    "Check",
    "History",
    "Recovery",
    "Status",
    "load",
    "save",
    "singular_values",
]
