"""How accurate is the result? Standard errors, and probabilities of outliers."""

from robustrank.uncertainty.error_bars import (
    ErrorBars,
    recovery_error_bars,
    with_entry_error_bars,
)

__all__ = ["ErrorBars", "recovery_error_bars", "with_entry_error_bars"]
