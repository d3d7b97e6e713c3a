"""
Images with salt and pepper
===========================

500 images of handwritten digits, of which a tenth of the pixels is black or white by mistake. Each
image is a row of a table, each pixel a column. What the other pixels of an image predict for a
pixel tells whether it is wrong, and what to put there.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import median_filter
from sklearn.datasets import load_digits

import robustrank as rr

images = load_digits().images[:500]
rng = np.random.default_rng(0)
wrong = rng.random(images.shape) < 0.10
broken = np.where(wrong, 16.0 * rng.integers(0, 2, images.shape), images)

result = rr.clean(broken.reshape(500, -1))
cleaned = result.frame.reshape(images.shape)
smoothed = median_filter(broken, size=(1, 3, 3))
print(result)

# %%
# A median filter removes wrong pixels too, but also every thin line. The table knows what digits
# look like.

kinds = {"true": images, "10 % wrong": broken, "median filter": smoothed, "clean": cleaned}
_, grid = plt.subplots(4, 10, figsize=(9, 4))
for row, (name, pictures) in zip(grid, kinds.items(), strict=True):
    error = np.sqrt(np.mean((pictures - images) ** 2))
    row[0].set_title(f"{name}, error {error:.2f}", loc="left", fontsize=9)
    for axes, picture in zip(row, pictures, strict=False):
        axes.imshow(np.clip(picture, 0, 16), cmap="gray_r", vmin=0, vmax=16)
        axes.axis("off")
plt.tight_layout()
plt.show()
