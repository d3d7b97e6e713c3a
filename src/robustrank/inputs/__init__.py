"""From what a user passes to what the core works with, validated once."""

from robustrank.inputs.sensing import as_operator, is_in_memory

__all__ = ["as_operator", "is_in_memory"]
