"""Tables without an exact rank: a robust normal model of their rows."""

from robustrank.tables.model import Explained, TableModel, fit_table

__all__ = ["Explained", "TableModel", "fit_table"]
