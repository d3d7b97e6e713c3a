"""
Which outliers are tolerated
============================

An outlier may be anything: a large number, the reading of a stuck sensor, a wrong sign, or the
measurement of another matrix. Some kinds are easy to reject and others are hard. This example
measures, on small problems with a known solution, how often the matrix is recovered for each kind
and each fraction of outliers.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# The kinds of outliers
# ---------------------
#
# ``OUTLIER_MODELS`` contains the kinds that :func:`robustrank.simulate.plant` can generate. ‖M‖ is
# the norm of the matrix, and the standard deviation of a measurement. Seven of them are used here.

kinds = ["huge", "constant", "gain", "offset", "impostor", "scale", "flip"]
for kind in kinds:
    print(f"{kind:10} {rr.simulate.OUTLIER_MODELS[kind].description}")

# %%
# The trials
# ----------
#
# Each problem has a 16 × 12 matrix of rank 1, which has 27 degrees of freedom, and 81 measurements,
# three for each degree of freedom. A trial succeeds if the relative error of the matrix is below
# 1e-6, whatever its status. The number of certified results that are wrong is counted, too.

fractions = [0.1, 0.2, 0.3, 0.4]
trials = 3
successes = np.zeros((len(kinds), len(fractions)), int)
wrong_but_certified = 0
for row, kind in enumerate(kinds):
    for column, fraction in enumerate(fractions):
        for seed in range(trials):
            planted = rr.simulate.plant(
                16, 12, rank=1, measurements=81, outliers=fraction, outlier_model=kind, rng=seed
            )
            result = rr.recover(planted.A, planted.y, rank=1)
            right = rr.metrics.evaluate(result, planted).error < 1e-6
            successes[row, column] += right
            wrong_but_certified += result.certified and not right

print(
    f"certified results that are wrong: {wrong_but_certified} of {successes.size * trials} trials"
)

# %%
# The picture
# -----------

figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
image = axis.imshow(successes / trials, cmap="cividis", vmin=0, vmax=1, aspect="auto")
for (row, column), count in np.ndenumerate(successes):
    color = "black" if count > trials / 2 else "white"
    axis.text(column, row, f"{count} of {trials}", ha="center", va="center", color=color)
axis.set_xticks(range(len(fractions)), [f"{fraction:.0%}" for fraction in fractions])
axis.set_yticks(range(len(kinds)), kinds)
axis.set(xlabel="outliers among the measurements", ylabel="kind of outlier")
axis.set_title("Recovered matrices (16 × 12, rank 1, 81 measurements)")
figure.colorbar(image, label="fraction of trials")
plt.show()

# %%
# What to notice: 20 % of any kind are tolerated. Large outliers, and faults that change many
# measurements in the same way (a constant value, a gain, an offset), are tolerated at 40 %, too.
# Outliers that look like measurements are harder. Flipped signs are the hardest kind: they are
# exact measurements of −M, which has the same rank. With more measurements, more outliers are
# tolerated.
#
# Half and half
# -------------
#
# Outliers of the kinds ``flip`` and ``impostor`` agree with each other: all of them are exact
# measurements of one other matrix. If they are half of the measurements, there are two matrices,
# each fitted exactly by one half, and nothing in the data says which of them is the right one. No
# method can decide this. With slightly fewer such outliers the right matrix has the larger half,
# but a majority this small is weak evidence. If a second matrix has at least half of the support of
# the first, the status is therefore ``AMBIGUOUS``, and both matrices are returned.

planted = rr.simulate.plant(
    16, 12, rank=1, measurements=160, outliers=0.4, outlier_model="impostor", rng=1
)
result = rr.recover(planted.A, planted.y, rank=1)
print(result.status.name)
print("the first matrix fits", np.sum(~result.outliers), "measurements")
print("the second is", result.alternative)

# %%
# The two matrices differ, and further measurements of the entries where they differ would decide
# between them.

fitted = {
    "first matrix": np.abs(result.residual) < 1e-6,
    "second matrix": np.abs(planted.y - np.tensordot(planted.A, result.alternative.matrix)) < 1e-6,
}
figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
limit = np.abs(planted.matrix).max()
for axis, (name, fits), matrix in zip(
    axes, fitted.items(), (result.matrix, result.alternative.matrix), strict=True
):
    image = axis.imshow(matrix, cmap="PuOr", vmin=-limit, vmax=limit)
    axis.set(title=f"{name}: fits {fits.sum()} of 160", xlabel="column", ylabel="row")
figure.colorbar(image, ax=axes, label="entry", shrink=0.9)
plt.show()

# %%
# Where to go next
# ----------------
#
# - What a certified result asserts, and under which assumptions: :doc:`/guide/certificate`.
# - Outliers that come from a few faulty sensors: :doc:`plot_faulty_sensor`.
