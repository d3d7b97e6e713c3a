"""A table with a wrong and a missing cell, for tests of data frames."""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS, WRONG, MISSING = 120, 9, 5  # rows of the column "tested" that are wrong and missing


def numbers() -> pd.DataFrame:
    """Six columns that predict each other; "tested" is between 0 and 100, and largest in WRONG."""
    rng = np.random.default_rng(0)
    size = rng.standard_normal((ROWS, 1))
    size[WRONG] = 2.2
    noise = rng.standard_normal((ROWS, 6))
    values = size * [1, 20, 0.3, 500, 7, 15] + noise * [0.3, 5, 0.1, 100, 2, 3]
    frame = pd.DataFrame(values, columns=[*"abcde", "tested"])
    frame["tested"] = (frame["tested"] + 50).round()
    return frame


def damaged() -> pd.DataFrame:
    frame = numbers()
    frame.loc[WRONG, "tested"] = 3.0
    frame.loc[MISSING, "tested"] = np.nan
    return frame
