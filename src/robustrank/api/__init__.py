"""What users call."""

from robustrank.api.inputs import SOLVERS, Interrupted
from robustrank.api.many import recover_many
from robustrank.api.single import recover

__all__ = ["SOLVERS", "Interrupted", "recover", "recover_many"]
