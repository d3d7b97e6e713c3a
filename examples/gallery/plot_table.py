"""
A table with typing errors
==========================

178 wines with 13 measurements in different units, as a laboratory might send them: a tenth of the
cells is missing, a decimal point is in the wrong place, a value within the range of its column does
not belong to its row, and the cells of one row are mixed up. ``rr.clean`` finds these, fills the
table, and says how accurate that is. It is told nothing about them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import robustrank as rr

wine = load_wine(as_frame=True).data
rng = np.random.default_rng(7)
table = wine.mask(rng.random(wine.shape) < 0.10)
table.loc[12, "alcohol"] = 1.41  # 14.1
table.loc[77, "ash"] = 0.99  # a value that other wines have
table.loc[100] = table.loc[3].sample(frac=1, random_state=3).to_numpy()

result = rr.clean(table)
print(result)

# %%
# The cell map
# ------------
#
# Grey cells were missing. Red cells are above what the other cells of their row predict, blue ones
# below, and those with a strong color are wrong. A dot marks a row that is wrong altogether. Some
# wrong cells were not put there: wines 73 and 95 really have these values, which no other wine with
# such neighbours has.

_, axes = plt.subplots(figsize=(6, 7))
rr.plot.cells(result, ax=axes)

# %%
# Each wrong cell comes with what was expected, the standard error of that, and the probability that
# it is wrong.

wrong = result.cells[result.cells["value"].notna()]
print(wrong[wrong["row"] != 100].round(2).to_string(index=False))

# %%
# The map of the rows
# -------------------
#
# The distance along the components says how far a row is from the mean in directions in which the
# wines differ; the distance from the components, how much it contradicts the model. 99 % of all
# normal rows are to the left of one line and below the other.

_, axes = plt.subplots(figsize=(6, 5))
rr.plot.rows(result, ax=axes)

# %%
# How accurate are the filled cells?
# ----------------------------------
#
# The model is fitted again without a tenth of the cells, and predicts them. The errors are those of
# the column in its own unit; the skill is the share of the mean square error of the median that the
# predictions remove. Here the truth is known, so that both can be compared.

filled = table.isna() & ~result.row_outliers[:, None]
errors = (result.frame - wine).where(filled)
columns = result.columns[["error", "error_of_median", "skill"]].copy()
columns["true error"] = np.sqrt((errors**2).mean())
print(columns.round(2).to_string())

# %%
# What the columns have in common
# -------------------------------

_, axes = plt.subplots(figsize=(6, 5))
rr.plot.components(result, ax=axes)
plt.show()
