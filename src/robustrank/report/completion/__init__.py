"""The report page about a completed matrix."""
