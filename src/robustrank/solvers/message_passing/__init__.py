"""Approximate message passing: predictions that did not use the measurement they predict."""

from robustrank.solvers.message_passing.solver import MessagePassing, MessageState

__all__ = ["MessagePassing", "MessageState"]
