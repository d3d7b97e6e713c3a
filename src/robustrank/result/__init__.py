"""The result of a run as plain data, its explanation in words, and how it is saved."""

from robustrank.result.accuracy import (
    Accuracy,
    NotCertifiedWarning,
    WithErrorBars,
    broadcast_positions,
    checked_positions,
    entries_at,
    interval_around,
)
from robustrank.result.archive import RECOVERY, read_archive
from robustrank.result.certificate import Certificate
from robustrank.result.explanation import (
    counted,
    counted_measurements,
    exact_sentence,
    explain,
    fits_up_to_noise,
    noise_sentence,
)
from robustrank.result.history import Check, History
from robustrank.result.rank_table import RankRow, RankTable
from robustrank.result.recovery import Alternative, Attempt, Recovery, singular_values
from robustrank.result.status import Status, StopReason

__all__ = [
    "RECOVERY",
    "Accuracy",
    "Alternative",
    "Attempt",
    "Certificate",
    "Check",
    "History",
    "NotCertifiedWarning",
    "RankRow",
    "RankTable",
    "Recovery",
    "Status",
    "StopReason",
    "WithErrorBars",
    "broadcast_positions",
    "checked_positions",
    "counted",
    "counted_measurements",
    "entries_at",
    "exact_sentence",
    "explain",
    "fits_up_to_noise",
    "interval_around",
    "noise_sentence",
    "read_archive",
    "singular_values",
]
