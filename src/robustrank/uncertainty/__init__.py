"""How accurate is the result? Standard errors, and probabilities of outliers."""

from robustrank.uncertainty.error_bars import ErrorBars
from robustrank.uncertainty.of_results import (
    completion_error_bars,
    recovery_error_bars,
    with_entry_error_bars,
)

__all__ = ["ErrorBars", "completion_error_bars", "recovery_error_bars", "with_entry_error_bars"]
