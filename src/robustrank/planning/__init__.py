"""How many measurements are needed, and what would help after a failure: from a table of trials."""

from robustrank.planning.remedies import Failure, failure_of, measurements_needed, what_would_help
from robustrank.planning.sample_size import FAMILIES, PLANNED_MODELS, Plan, plan

__all__ = [
    "FAMILIES",
    "PLANNED_MODELS",
    "Failure",
    "Plan",
    "failure_of",
    "measurements_needed",
    "plan",
    "what_would_help",
]
