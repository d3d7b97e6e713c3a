"""Comparison of methods that fill and correct tables: real tables, planted problems, images."""
