"""
On a GPU
========

:func:`robustrank.recover` computes with the library and on the device of its arrays. With arrays of
PyTorch on a GPU, everything runs there, without any other change to the code. This example measures
the time of a recovery on what is available: a GPU if there is one, and otherwise the CPU.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# What is available
# -----------------
#
# NumPy always is. PyTorch is optional, and so is a GPU.

places = [("numpy", "cpu")]
try:
    import torch
except ImportError:
    print("PyTorch is not installed: the times are those of NumPy on the CPU.")
else:
    places.append(("torch", "cpu"))
    if torch.cuda.is_available():
        places.append(("torch", "cuda"))
        print("GPU:", torch.cuda.get_device_name())
    else:
        print("No GPU is available: the times are those of NumPy and PyTorch on the CPU.")

# %%
# The problem is generated on the device on which it is solved, so that no sensing data is
# transferred. If A and y are NumPy arrays, ``recover(A, y, rank, device="cuda")`` moves them.

library, device = places[-1]
planted = rr.simulate.plant(
    60, 50, rank=3, measurements=1500, outliers=0.1, library=library, device=device, rng=1
)
result = rr.recover(planted.A, planted.y, rank=3)
print(result.status.name, "with factors of", type(result.left))

# %%
# Times
# -----
#
# Four problems of increasing size, in float32. The first call for each is not counted, because
# libraries load and compile what they need. Each time is the better of two.

sizes = [(30, 24, 2, 400), (60, 50, 3, 1200), (90, 70, 4, 2000), (120, 100, 5, 2500)]
megabytes = [n1 * n2 * m * 4 / 1e6 for n1, n2, _, m in sizes]
times = {place: [] for place in places}
for library, device in places:
    for n1, n2, rank, m in sizes:
        planted = rr.simulate.plant(
            n1, n2, rank, m, outliers=0.1, dtype=np.float32, library=library, device=device, rng=2
        )
        results = [rr.recover(planted.A, planted.y, rank) for _ in range(3)]
        times[library, device].append(min(result.seconds for result in results[1:]))

for (library, device), seconds in times.items():
    print(f"{library} on {device}:", ", ".join(f"{1000 * one:.0f} ms" for one in seconds))

# %%
# The picture
# -----------

figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (library, device), marker in zip(places, "os^", strict=False):
    axis.loglog(megabytes, times[library, device], marker + "-", label=f"{library} on {device}")
axis.set(xlabel="size of the sensing data (MB)", ylabel="time of recover (s)")
axis.set_title("Time of a recovery with 10 % outliers, in float32")
axis.grid(which="both", alpha=0.3)
axis.legend()
plt.show()

# %%
# What to notice: the time on a CPU grows with the size of the data. NumPy is faster there than
# PyTorch if numba is installed, because compiled loops then read the data only once in each step.
# A GPU needs a certain time to launch the operations of a solve, whatever their size, so that a
# single small problem gains little from it. Many small problems are solved in batches by
# :func:`robustrank.recover_many`.
#
# Where to go next
# ----------------
#
# - Precision, memory and measured performance on a GPU: :doc:`/guide/gpu`.
# - Data that is larger than memory: :doc:`plot_from_disk`.
