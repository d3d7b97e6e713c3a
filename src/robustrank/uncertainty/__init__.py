"""How accurate a result is: standard errors of the matrix, and probabilities of outliers."""

from robustrank.uncertainty.deferred import DeferredErrorBars
from robustrank.uncertainty.error_bars import ErrorBars
from robustrank.uncertainty.of_completion import completion_error_bars
from robustrank.uncertainty.of_recovery import recovery_error_bars

__all__ = ["DeferredErrorBars", "ErrorBars", "completion_error_bars", "recovery_error_bars"]
