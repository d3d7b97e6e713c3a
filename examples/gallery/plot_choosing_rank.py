"""
Choosing the rank
=================

The rank is often not known. Without ``rank``, :func:`robustrank.recover` compares several ranks by
the error with which they predict measurements that were not used, and chooses one. The result says
whether the choice is clear. This example shows a matrix with a clear rank, and one whose singular
values decrease without a gap.
"""

import matplotlib.pyplot as plt
import numpy as np

import robustrank as rr

# %%
# A clear rank
# ------------
#
# A 30 × 24 matrix of rank 4, measured 900 times with 10 % large outliers. The noise is 2 % of the
# standard deviation of a measurement, which is the norm of the matrix.

rng = np.random.default_rng(0)
values = np.array([10.0, 8.0, 6.0, 5.0])
clear = rr.simulate.plant(
    30, 24, rank=4, measurements=900, outliers=0.1, spectrum=list(values), rng=1
)
noise = 0.02 * np.linalg.norm(values) * rng.standard_normal(900)

result = rr.recover(clear.A, clear.y + noise)
print(result.rank_table)
print("rank:", result.rank_table.sentence)
print("status:", result.status.name)

# %%
# The error of predictions falls with each of the four components. A fifth component fits noise and
# does not reduce the error, so the rank is 4.
#
# A spectrum without a gap
# ------------------------
#
# Many matrices have full rank in practice, with singular values that decrease steadily. Here each
# of the 24 singular values is 0.6 times the one before.

gradual_values = 10 * 0.6 ** np.arange(24)
gradual = rr.simulate.plant(
    30, 24, rank=24, measurements=900, outliers=0.1, spectrum=list(gradual_values), rng=1
)
noise = 0.02 * np.linalg.norm(gradual_values) * rng.standard_normal(900)

unclear = rr.recover(gradual.A, gradual.y + noise)
print(unclear.rank_table)
print("rank:", unclear.rank_table.sentence)
print("clear:", unclear.rank_table.is_clear)
print("status:", unclear.status.name)

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for table, marker, color, label in (
    (result.rank_table, "o", "tab:blue", "rank 4"),
    (unclear.rank_table, "s", "tab:orange", "no gap"),
):
    ranks = [row.rank for row in table.rows]
    errors = [row.error for row in table.rows]
    chosen = errors[ranks.index(table.chosen)]
    left.semilogy(ranks, errors, marker + "-", color=color, label=label)
    left.semilogy(table.chosen, chosen, "o", color=color, markersize=14, fillstyle="none")
left.set(
    xlabel="rank",
    ylabel="error of predictions / typical measurement",
    title="Ranks that were compared (circle: chosen)",
    ylim=(0.01, 1),
)
left.legend()

for true, estimated, marker, color, label in (
    (values, result.singular_values(), "o", "tab:blue", "rank 4"),
    (gradual_values, unclear.singular_values(), "s", "tab:orange", "no gap"),
):
    right.semilogy(range(1, len(true) + 1), true, "-", color=color, label=f"{label}, true")
    right.semilogy(
        range(1, len(estimated) + 1), estimated, marker, color=color, label=f"{label}, recovered"
    )
right.set(xlabel="number of the singular value", ylabel="singular value", xlim=(0, 13))
right.set(title="Singular values", ylim=(0.01, 20))
right.legend()
plt.show()

# %%
# What to notice: with a gap, the error drops at the last component and is flat after it. Without a
# gap it falls a little with every component until the noise is reached. The rank that is chosen
# then depends on the noise and on the number of measurements, and is not a property of the matrix.
# ``rank_table.candidates`` has the ranks that predict about as well. The result can still be
# certified: it describes the matrix up to the noise, and the components that are missing are
# smaller than what the noise allows to see.

error = np.linalg.norm(unclear.matrix - gradual.matrix) / np.linalg.norm(gradual.matrix)
print("ranks that predict about as well:", *(row.rank for row in unclear.rank_table.candidates))
print(f"relative error of the matrix of rank {unclear.rank}: {error:.1%}")

# %%
# Where to go next
# ----------------
#
# - How the rank is found, and how often it is right: :doc:`/guide/rank`.
# - Cross-validation as an alternative, in scikit-learn: :doc:`plot_sklearn_pipeline`.
