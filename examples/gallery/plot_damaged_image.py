"""
A color image with damaged values
=================================

A tenth of the red, green and blue values of a photograph is replaced by random numbers. A median
filter repairs them, and removes fine structure with them. ``rr.clean`` changes only what
contradicts the rest: each row of the table is a pixel, and its 27 columns are the three colors of
the pixel and of its eight neighbors, which predict each other.

The photograph, a part of one that scikit-learn ships, is real. The damage is added here, so that
the result can be checked.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.ndimage import median_filter
from sklearn.datasets import load_sample_image

import robustrank as rr

image = load_sample_image("china.jpg")[100:196, 250:346].astype(float)
rng = np.random.default_rng(0)
damaged = rng.random(image.shape) < 0.1
given = np.where(damaged, rng.integers(0, 256, image.shape), image)

# %%
# The table of the neighborhoods
# ------------------------------

padded = np.pad(given, ((1, 1), (1, 1), (0, 0)), mode="reflect")
windows = sliding_window_view(padded, (3, 3), axis=(0, 1))  # (row, column, color, 3, 3)
result = rr.clean(windows.reshape(-1, 27))
print(result)

middle = [4, 13, 22]  # the columns with the pixel itself
cleaned = result.frame[:, middle].reshape(image.shape).clip(0, 255)
found = result.outliers[:, middle].reshape(image.shape)
print(f"{np.mean(found[damaged]):.0%} of the damaged values are found,", end=" ")
print(f"{np.mean(found[~damaged]):.1%} of the others are called wrong")

# %%
# If two or all three colors of a pixel are damaged, the one that is right says little about them.
# Most of the errors that remain are there.

several = damaged.sum(axis=2) > 1
remain = np.abs(cleaned - image).max(axis=2) > 60
print(f"{several.sum()} of {several.size} pixels have several damaged values", end="; ")
print(f"{np.sum(remain & several)} of {remain.sum()} pixels with an error above 60 are such")

# %%
# The comparison
# --------------
#
# The median of 3 × 3 pixels of a color replaces every value, or only those that differ from it by
# more than a threshold, here the best one for this image. The error is the root mean square error
# of all values, which are between 0 and 255.

median = median_filter(given, size=(3, 3, 1))
far = np.abs(given - median)
images = {
    "given": given,
    "median": median,
    "median with threshold": min(
        (np.where(far > limit, median, given) for limit in range(10, 150, 10)),
        key=lambda one: np.mean((one - image) ** 2),
    ),
    "rr.clean": cleaned,
}
_, axes = plt.subplots(2, 2, figsize=(6.5, 7), layout="constrained")
for ax, (name, one) in zip(axes.flat, images.items(), strict=True):
    error = np.sqrt(np.mean((one - image) ** 2))
    print(f"{name:22s} error {error:.1f}")
    ax.imshow(one.astype(np.uint8))
    ax.set(title=f"{name}: error {error:.1f}", xticks=[], yticks=[])
plt.show()
