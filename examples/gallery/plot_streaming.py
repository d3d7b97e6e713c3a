"""
Rows that arrive in batches
===========================

Twenty sensors report every minute. They follow three common causes, and one report in twenty is
wrong. ``RobustPCA.partial_fit`` updates the model with every batch of minutes and does not keep the
data. In the middle, the causes change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import IncrementalPCA

from robustrank.estimators import RobustPCA

rng = np.random.default_rng(0)
SENSORS, MINUTES, CAUSES = 20, 3_000, 3


def minutes(axes):
    """Reports, some of them wrong."""
    rows = 3 * rng.standard_normal((MINUTES // 2, CAUSES)) @ axes
    rows += 0.3 * rng.standard_normal(rows.shape)
    return np.where(rng.random(rows.shape) < 0.05, 6.0, rows)


def error(axes, found):
    """The sine of the largest angle between the true axes and those that were found."""
    return np.linalg.norm(axes - axes @ found.T @ found, 2)


before, after = (np.linalg.qr(rng.standard_normal((SENSORS, CAUSES)))[0].T for _ in range(2))
reports = np.vstack([minutes(before), minutes(after)])

plt.figure(figsize=(6, 3), layout="constrained")
plt.imshow(reports[:120].T, aspect="auto", cmap="RdBu", vmin=-6, vmax=6)
plt.xlabel("minute")
plt.ylabel("sensor")

# %%
# Follow the axes
# ---------------
#
# Each new row multiplies the weight of all earlier ones by ``forgetting``: here, a row counts half
# after 500 minutes. After the change, the new rows contradict the model. When there are five of
# them for each sensor, and they agree with each other, they replace it.

pca = RobustPCA(CAUSES, forgetting=0.5 ** (1 / 500))
peer = IncrementalPCA(CAUSES)
errors = []
for batch in np.split(reports, 60):
    pca.partial_fit(batch)
    peer.partial_fit(batch)
    axes = before if pca.n_samples_seen_ <= MINUTES // 2 else after
    errors.append((error(axes, pca.components_), error(axes, peer.components_)))

plt.figure(figsize=(6, 4), layout="constrained")
plt.semilogy(np.arange(1, 61) * 50, errors, label=["RobustPCA", "IncrementalPCA"])
plt.xlabel("minutes so far")
plt.ylabel("sine of the angle to the true axes")
plt.legend()

# %%
# Transform
# ---------
#
# Wrong cells of a row are replaced by what the others of the row predict, so that they do not move
# its scores.

rows = minutes(after)[:200]
rebuilt = pca.inverse_transform(pca.transform(rows))
print(f"largest rebuilt report: {rebuilt.max():.1f}")
plt.show()
