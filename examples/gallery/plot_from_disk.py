"""
Reading from disk
=================

Sensing data can be larger than memory. :func:`robustrank.recover` then takes the path of a file, or
a list of paths, and reads blocks of rows. The result is the same as with the data in memory. This
example uses a small file, so that both can be compared.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# Data in pieces
# --------------
#
# The data is written as it is measured: one ``.npy`` file for each of eight runs, with 1,000
# measurements each of a 60 × 50 matrix of rank 3. A tenth of the readings is wrong. Only the
# readings y stay in memory.

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
M = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 50))
paths = [Path(folder.name) / f"run{run}.npy" for run in range(8)]
readings = []
for path in paths:
    A = rng.standard_normal((1000, 60, 50), dtype=np.float32)
    y = np.tensordot(A.astype(float), M, axes=2)
    y[rng.random(1000) < 0.1] = 500
    np.save(path, A)
    readings.append(y)

size = paths[0].stat().st_size / 1e6
print(f"{len(paths)} files of {size:.0f} MB")

# %%
# A recovery from disk
# --------------------
#
# The paths are passed instead of an array; the rows of the files follow one another.
# ``memory_limit`` is how much memory the whole process may use. With large data a pass over it
# takes long, and a callback shows the progress. It is called after each iteration. Here it records
# the passes so far and the misfit, which is the median residual relative to the median measurement.
# If it returned True, the run would stop.

progress = []


def record(state):
    """Keep the number of passes and the misfit."""
    progress.append((state.check.passes, state.misfit))


y = np.concatenate(readings)
result = rr.recover(paths, y, rank=3, memory_limit="300MB", callback=record)
print(result.status.name, f"after {result.passes:g} passes over the data")
print(result.data)

# %%
# The second line says how the data was read, and where the *tangent map* was stored, a smaller
# array that most products use instead of the data.
#
# Memory
# ------
#
# The peak memory of a recovery is measured by ``tracemalloc``, with two, four and eight of the
# files, and compared with that of a recovery with the data in memory.

counts = [2, 4, 8]
peaks = {"from disk": [], "in memory": []}
for count in counts:
    y = np.concatenate(readings[:count])

    tracemalloc.start()
    from_disk = rr.recover(paths[:count], y, rank=3, memory_limit="300MB")
    peaks["from disk"].append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()

    tracemalloc.start()
    A = np.empty((count * 1000, 60, 50), dtype=np.float32)
    for k, path in enumerate(paths[:count]):
        A[k * 1000 : (k + 1) * 1000] = np.load(path, mmap_mode="r")
    in_memory = rr.recover(A, y, rank=3)
    peaks["in memory"].append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()

folder.cleanup()

# %%
# Both results are the same up to rounding:

difference = np.linalg.norm(from_disk.matrix - in_memory.matrix) / np.linalg.norm(M)
print(f"relative difference of the two matrices: {difference:.1e}")
print("same outliers:", np.array_equal(from_disk.outliers, in_memory.outliers))

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for (name, values), marker in zip(peaks.items(), "os", strict=True):
    left.plot([count * size for count in counts], values, marker + "-", label=name)
left.set(xlabel="size of the sensing data (MB)", ylabel="peak memory of arrays (MB)", ylim=0)
left.set_title("Memory")
left.legend()

right.semilogy(*zip(*progress, strict=True), "o-")
right.set(xlabel="passes over the data", ylabel="misfit")
right.set_title(f"Progress of a run with {len(paths)} files")
right.xaxis.get_major_locator().set_params(integer=True)
right.grid(alpha=0.3)
plt.show()

# %%
# What to notice: in memory, the peak grows with the data. From disk it stays the same, because only
# a few blocks of rows are in memory at any time. Few passes are enough, so that the time is about
# that of reading the data a few times.
#
# Where to go next
# ----------------
#
# - Formats, memory limits and measured times: :doc:`/guide/scale`.
# - Several processes or machines that read the data: :doc:`plot_local_cluster`.
