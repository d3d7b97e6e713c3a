"""
A first recovery
================

A matrix of low rank is measured through weighted sums of its entries, and some of the readings are
wrong by an arbitrary amount. This example builds such a problem with a known solution, recovers the
matrix with :func:`robustrank.recover`, and compares the result with the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# The matrix
# ----------
#
# The matrix has the form of a fluorescence measurement: one row for each excitation wavelength and
# one column for each emission wavelength. Each of three dyes contributes the product of its
# excitation spectrum and its emission spectrum, so the matrix has rank 3.

excitation = np.linspace(300, 500, 50)  # nm
emission = np.linspace(400, 640, 60)  # nm
dyes = [(340, 20, 450, 22), (390, 24, 505, 26), (440, 18, 570, 30)]

M = np.zeros((50, 60))
for center_ex, width_ex, center_em, width_em in dyes:
    absorbed = np.exp(-(((excitation - center_ex) / width_ex) ** 2) / 2)
    emitted = np.exp(-(((emission - center_em) / width_em) ** 2) / 2)
    M += np.outer(absorbed, emitted)

# %%
# The measurements
# ----------------
#
# Every measurement uses a random pattern of +1 and −1 in both wavelengths, and records the weighted
# sum of the intensities. A matrix of this shape and rank has 321 degrees of freedom, so that 900
# measurements are enough, although the matrix has 3,000 entries. A tenth of the readings is
# replaced by large random numbers.

rng = np.random.default_rng(0)
m = 900
A = rng.choice([-1.0, 1.0], size=(m, 50, 60))
y = np.tensordot(A, M, axes=2)

wrong = rng.choice(m, size=m // 10, replace=False)
y[wrong] = 300 * rng.standard_normal(len(wrong))

# %%
# The recovery
# ------------
#
# ``recover`` gets the patterns, the readings and the rank. It is not told how many readings are
# wrong, or which ones.

result = rr.recover(A, y, rank=3)
print(result)

# %%
# The status is ``RECOVERED``: the result is certified. The evidence is that most of the
# measurements are fitted exactly, and many more of them than a wrong matrix could fit by chance.
# Because the truth is known here, the claim can be checked:

error = np.linalg.norm(result.matrix - M) / np.linalg.norm(M)
found = np.flatnonzero(result.outliers)
print(f"relative error of the matrix: {error:.1e}")
print("rejected measurements are the wrong ones:", np.array_equal(found, np.sort(wrong)))

# %%
# The picture
# -----------
#
# The third panel shows the residuals, which are the readings minus what the recovered matrix
# predicts. Those of the correct readings are zero up to rounding, and those of the outliers are as
# large as the errors that were added.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 1, 1.3))
extent = (emission[0], emission[-1], excitation[0], excitation[-1])
for axis, matrix, title in (
    (axes[0], M, "true matrix"),
    (axes[1], result.matrix, "recovered matrix"),
):
    image = axis.imshow(matrix, origin="lower", extent=extent, aspect="auto", vmin=0, vmax=M.max())
    axis.set(title=title, xlabel="emission (nm)")
axes[0].set_ylabel("excitation (nm)")
axes[1].tick_params(labelleft=False)
figure.colorbar(image, ax=axes[:2], label="intensity (arbitrary units)", shrink=0.9)

numbers = np.arange(m)
inliers = ~result.outliers
axes[2].plot(numbers[inliers], result.residual[inliers], ".", markersize=3, label="fitted")
axes[2].plot(found, result.residual[found], "x", markersize=5, label="rejected as outliers")
axes[2].set(title="residuals", xlabel="number of the measurement", ylabel="reading − prediction")
axes[2].margins(y=0.3)
axes[2].legend(loc="upper center", ncols=2, fontsize=8)
plt.show()

# %%
# Where to go next
# ----------------
#
# - Without ``rank=3`` the rank is estimated: :doc:`plot_choosing_rank`.
# - Real readings have noise, and then the entries have error bars: :doc:`plot_error_bars`.
# - Which errors are tolerated, and how many of them: :doc:`plot_outlier_kinds`.
# - How many measurements are needed: :doc:`plot_planning`.
