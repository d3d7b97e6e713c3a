"""How accurate is the result? Standard errors, and probabilities of outliers."""

from robustrank.uncertainty.error_bars import ErrorBars
from robustrank.uncertainty.of_completion import completion_error_bars, with_entry_error_bars
from robustrank.uncertainty.of_recovery import recovery_error_bars

__all__ = ["ErrorBars", "completion_error_bars", "recovery_error_bars", "with_entry_error_bars"]
