"""
Noise and error bars
====================

With noise, a recovered matrix has an error. A result of :func:`robustrank.recover` gives a standard
error and an interval for each entry, for each measurement and for functions of the matrix, and for
each measurement the probability that it is an outlier. Here they are compared with a known truth.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# A problem with noise and outliers
# ---------------------------------
#
# A 30 × 24 matrix of rank 2 with 600 measurements. The noise is normal, with 5 % of the standard
# deviation of a measurement. A tenth of the measurements is replaced by random numbers of the size
# of measurements, so that some outliers are close to the correct value.

planted = rr.simulate.plant(
    30, 24, rank=2, measurements=600, outliers=0.1, outlier_model="scale", rng=4
)
size = np.linalg.norm(planted.matrix)  # the standard deviation of a measurement
rng = np.random.default_rng(4)
y = planted.y + 0.05 * size * rng.standard_normal(600)

result = rr.recover(planted.A, y, rank=2)
print(result.status)
print(f"noise: {result.error_bars.deviation:.2f} estimated, {0.05 * size:.2f} true")

# %%
# Intervals for the entries
# -------------------------
#
# Rows and columns are broadcast as in NumPy, so this gives the intervals of all 720 entries. The
# coverage is the fraction of the intervals that contain the true entry. Over many problems it is
# close to the level; in one problem it varies, because all entries share the same noise.

rows, columns = np.indices(result.shape)
for level in (0.5, 0.9, 0.95):
    low, high = result.interval(rows, columns, level=level)
    inside = (low <= planted.matrix) & (planted.matrix <= high)
    print(f"level {level:.0%}: {inside.mean():.1%} of the entries are inside")

# %%
# Other quantities have error bars, too, such as the norm of the matrix:

norm, error = np.linalg.norm(result.matrix), result.standard_error_of(np.linalg.norm)
print(f"norm of the matrix: {norm:.2f} ± {error:.2f}, true {size:.2f}")

# %%
# The picture
# -----------
#
# On the left are 60 of the entries, with the true value subtracted, so that an interval contains
# the truth if it crosses the line at zero. On the right, each measurement has its residual, in
# units of the noise, and its probability of being an outlier.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
chosen = rng.choice(720, 60, replace=False)
error = (result.matrix - planted.matrix).ravel()[chosen]
radius = (high - low).ravel()[chosen] / 2
order = np.arange(60)
for which, marker, color, label in (
    (np.abs(error) <= radius, "o", "tab:blue", "contains the true entry"),
    (np.abs(error) > radius, "s", "tab:orange", "does not"),
):
    left.errorbar(
        order[which],
        error[which],
        radius[which],
        fmt=marker,
        color=color,
        markersize=3,
        label=label,
    )
left.axhline(0, color="black", linewidth=1)
left.set(
    xlabel="entry (60 of 720, in random order)",
    ylabel="estimate − true entry",
    title="Intervals of 95 %",
)
left.margins(y=0.2)
left.legend(loc="upper center", ncols=2, fontsize=8)

residual = np.abs(result.residual) / result.error_bars.deviation
for chosen, marker, color, label in (
    (~planted.outliers, ".", "tab:blue", "inlier"),
    (planted.outliers, "x", "tab:orange", "outlier"),
):
    right.semilogx(
        residual[chosen], result.outlier_probability[chosen], marker, color=color, label=label
    )
right.set(
    xlabel="|residual| / standard deviation of the noise",
    ylabel="probability of being an outlier",
    title="Outliers and inliers",
    xlim=(0.05, 100),
)
right.legend(title="in truth", loc="center left")
plt.show()

# %%
# What to notice: nearly all measurements have a probability close to zero or to one. The outliers
# with a low probability are those that lie within the noise of the correct value. They cannot be
# recognized, and they do little harm for the same reason.

unclear = (result.outlier_probability > 0.1) & (result.outlier_probability < 0.9)
print(f"measurements with a probability between 10 % and 90 %: {unclear.sum()} of 600")

# %%
# Where to go next
# ----------------
#
# - How the error bars are computed, and their coverage in many settings: :doc:`/guide/error-bars`.
# - Measurements of the same sensor that are rejected together: :doc:`plot_faulty_sensor`.
