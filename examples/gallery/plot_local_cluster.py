"""
On a cluster
============

If one process takes too long to read the sensing data, the workers of a dask cluster can share the
work: each reads its own part of the data, and only small vectors travel between the processes. This
example starts a small cluster on this machine. A large one is used in the same way.
"""

import logging

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster, get_task_stream

import robustrank as rr

# %%
# The problem
# -----------
#
# The sensing matrices have random signs. They are not stored: each worker generates its own part
# from a seed. Files that all workers can read, and dask arrays, are passed in the same way.

planted = rr.simulate.plant_seeded(
    60, 50, rank=3, measurements=40_000, ensemble="sign", outliers=0.1, rng=1
)
print(f"sensing data: {40_000 * 60 * 50 * 8 / 1e6:.0f} MB if it were stored")

# %%
# The cluster
# -----------
#
# The workers of this example are two threads of one process, so that it can run anywhere. To use
# several cores, start processes, in a script below ``if __name__ == "__main__":``, because these
# processes import the script:
#
# .. code-block:: python
#
#     if __name__ == "__main__":
#         with robustrank.cluster.local_cluster(workers=8) as client:
#             result = rr.recover(planted.A, planted.y, rank=3, client=client)
#
# For a cluster that is already running, use ``Client("tcp://10.0.0.1:8786")`` with the address of
# its scheduler.
#
# ``get_task_stream`` of dask records what each worker does.

with (
    LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",  # any free port
        silence_logs=logging.CRITICAL,
    ) as cluster,
    Client(cluster, set_as_default=False) as client,
    get_task_stream(client) as stream,
):
    result = rr.recover(planted.A, planted.y, rank=3, client=client)

print(result)

# %%
# The same problem without a cluster gives the same result to the last bit, because the data is
# divided into the same parts, called shards, and their sums are added in the same order.

single = rr.recover(planted.A, planted.y, rank=3)
print("equal factors:", np.array_equal(result.left, single.left))
print("all outliers found:", np.array_equal(result.outliers, planted.outliers))

# %%
# The picture
# -----------
#
# Each bar is a task of a worker. Tasks that generate sensing matrices are long, and those that use
# the tangent map, a smaller array that is kept by the worker, are short.

workers = sorted({task["worker"] for task in stream.data})
spans = [
    (workers.index(task["worker"]), span["start"], span["stop"])
    for task in stream.data
    for span in task["startstops"]
    if span["action"] == "compute"
]
begin = min(start for _, start, _ in spans)

figure, axis = plt.subplots(figsize=(9, 2.8), layout="constrained")
for number, color in enumerate(("tab:blue", "tab:orange")):
    own = [(start - begin, stop - start) for worker, start, stop in spans if worker == number]
    axis.broken_barh(own, (number + 0.6, 0.8), facecolor=color, edgecolor="white", linewidth=0.3)
axis.set(xlabel="time (s)", ylabel="worker", yticks=[1, 2])
axis.set_title(f"{len(spans)} tasks of two workers")
plt.show()

# %%
# What to notice: the two workers have the same amount of work, and the passes over the sensing
# data, which are the wide blocks, take most of the time. In the gaps, the calling process adds the
# parts, decides on the next step and sends it. This time does not shrink with more workers, so a
# cluster is worth its effort only if a pass over the data takes long.
#
# Where to go next
# ----------------
#
# - What travels over the network, what happens if a worker dies, and how far it scales:
#   :doc:`/guide/scale`.
# - One process that reads files: :doc:`plot_from_disk`.
