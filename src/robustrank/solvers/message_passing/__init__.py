"""Approximate message passing: predictions that did not use the measurement they predict."""

from robustrank.solvers.message_passing.solver import MessagePassing, MessagePassingState

__all__ = ["MessagePassing", "MessagePassingState"]
