"""A baseline of what a version answers: thousands of small problems, compared between versions."""
