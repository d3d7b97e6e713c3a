"""Random small problems of every kind, to test whether a certified result is ever wrong."""
