"""Tables that leave little to estimate, for tests that every table has an answer."""

from __future__ import annotations

import numpy as np

ODD_TABLES = {
    "one column": np.arange(10.0).reshape(10, 1),
    "constant": np.ones((5, 3)),
    "hardly anything": np.array([[1.0, np.nan], [np.nan, 2.0]]),
    "mostly zero": np.eye(12),
    "wide": np.random.default_rng(0).standard_normal((4, 30)),
    "bool": np.random.default_rng(0).integers(0, 2, (60, 4)).astype(bool),
}
