"""
A regression on a table with missing cells
==========================================

How much does the blood pressure of diabetes patients change with their body mass index? If a third
of the values is missing, there are three ways: drop the incomplete patients, fill the values in and
pretend that they were measured, or draw them several times from what the rest of the table says
about them. ``result.draw`` does the last, which is called multiple imputation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import robustrank as rr

patients = load_diabetes(as_frame=True, scaled=False).frame
rng = np.random.default_rng(4)


def slope_of(table):
    """The change of the blood pressure with the body mass index, and its standard error."""
    x, y = table["bmi"] - table["bmi"].mean(), table["bp"] - table["bp"].mean()
    slope = (x @ y) / (x @ x)
    return slope, np.sqrt(((y - slope * x) ** 2).sum() / (len(x) - 2) / (x @ x))


# %%
# Patients with a high disease progression are less often measured: the complete ones are not a
# random sample.

often = patients["target"] > patients["target"].median()
missing = rng.random(len(patients)) < np.where(often, 0.55, 0.15)
table = patients.copy()
table.loc[missing, "bp"] = np.nan
print(f"{missing.sum()} of {len(table)} values of the blood pressure are missing")

# %%
# The three ways
# --------------
#
# The results of the draws are combined by Rubin's rules: the variance is the mean of the variances
# plus the variance between the draws.

result = rr.clean(table)
draws = [slope_of(one) for one in result.draw(40)]
slopes, errors = np.transpose(draws)
between = np.var(slopes, ddof=1) * (1 + 1 / len(draws))
found = {
    "all patients": slope_of(patients),
    "complete patients": slope_of(table.dropna()),
    "filled": slope_of(result.frame),
    "drawn": (np.mean(slopes), np.sqrt(np.mean(errors**2) + between)),
}
for name, (slope, error) in found.items():
    print(f"{name:18s} {slope:.3f} ± {error:.3f}")

# %%
# The filled table claims to be as certain as all patients are, although it knows less. The draws
# are as uncertain as they should be.

_, axes = plt.subplots(figsize=(6, 3))
for place, (slope, error) in enumerate(found.values()):
    axes.errorbar(slope, place, xerr=1.96 * error, fmt="o", capsize=3, color=f"C{place}")
axes.axvline(found["all patients"][0], color="0.7", lw=1, zorder=0)
axes.set_yticks(range(len(found)), found)
axes.invert_yaxis()
axes.set_xlabel("change of the blood pressure per unit of the body mass index, 95 % intervals")
plt.tight_layout()
plt.show()
