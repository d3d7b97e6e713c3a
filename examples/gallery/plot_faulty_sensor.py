"""
Finding a faulty sensor
=======================

Twelve sensors observe the same low-rank matrix, each through its own random patterns. Two of them
are faulty: one adds a constant to its readings, and one multiplies them by a wrong gain. The faulty
readings are neither large nor rare, so a threshold does not find them. Here the matrix is recovered
from all readings together, and the faulty sensors are those whose readings are rejected.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# The readings
# ------------
#
# The matrix is 24 × 20 with rank 2, each sensor takes 50 readings, and all readings have noise with
# a standard deviation of 0.2.

rng = np.random.default_rng(3)
sensors, readings = 12, 50
M = rng.standard_normal((24, 2)) @ rng.standard_normal((2, 20))
A = rng.standard_normal((sensors * readings, 24, 20))
y = np.tensordot(A, M, axes=2) + 0.2 * rng.standard_normal(sensors * readings)

sensor = np.repeat(np.arange(1, sensors + 1), readings)
y[sensor == 4] += 8  # an offset
y[sensor == 9] *= 1.5  # a wrong gain
print(f"standard deviation of all readings: {y.std():.1f}")
print(f"largest reading: {np.abs(y).max():.0f}, by sensor {sensor[np.abs(y).argmax()]}")

# %%
# The recovery
# ------------
#
# ``recover`` does not know which readings belong to which sensor.

result = rr.recover(A, y, rank=2)
print(result)

# %%
# The rejected fraction of each sensor
# ------------------------------------

rejected = np.array([result.outliers[sensor == k].mean() for k in range(1, sensors + 1)])
faulty = np.flatnonzero(rejected > 0.5) + 1
print("sensors of which most readings are rejected:", *faulty)

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
colors = dict(zip(faulty, ("tab:blue", "tab:orange"), strict=True))
bars = axis.bar(range(1, sensors + 1), rejected, color="0.6")
for k, color in colors.items():
    bars[k - 1].set_color(color)
axis.axhline(0.5, color="0.4", linestyle="--", linewidth=1)
axis.set(xlabel="sensor", ylabel="fraction of rejected readings", ylim=(0, 1.05))
axis.set_xticks(range(1, sensors + 1))
axis.set_title("Most readings of two sensors are rejected")
plt.show()

# %%
# The rejected readings also show what is wrong. Against the prediction of the recovered matrix, an
# offset is a parallel line, and a wrong gain a line with another slope.

prediction = result.predict(A)
good = ~np.isin(sensor, faulty)
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(prediction[good], y[good], ".", color="0.6", markersize=4, label="other sensors")
for (k, color), marker in zip(colors.items(), "sx", strict=True):
    own = sensor == k
    gain, offset = np.polyfit(prediction[own], y[own], 1)
    print(f"sensor {k}: reading = {gain:.2f} × prediction {offset:+.2f}")
    axis.plot(prediction[own], y[own], marker, color=color, markersize=4, label=f"sensor {k}")
axis.set(xlabel="prediction (units of the readings)", ylabel="reading")
axis.set_title("The kind of the fault")
axis.legend(loc="upper left")
plt.show()

# %%
# What to notice: almost all readings of the two faulty sensors are rejected, and almost none of the
# others. A faulty reading is not rejected where the fault changes it by less than the noise: a gain
# hardly changes a reading near zero.
#
# Where to go next
# ----------------
#
# - Other kinds of faults: :doc:`plot_outlier_kinds`.
# - The probability that a reading is an outlier: :doc:`plot_error_bars`.
# - Weather stations with faults, from real data: :doc:`plot_weather`.
