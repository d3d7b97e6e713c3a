"""
Planning an experiment
======================

How many measurements does a matrix need, if a certain fraction of them may be wrong? Before
anything is measured, :func:`robustrank.plan` answers this from several thousand trials with known
solutions. This example shows the answer for several fractions of outliers, and checks it by
simulation.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest

import robustrank as rr

# %%
# A plan
# ------
#
# For a 20 × 16 matrix of rank 2 and 20 % outliers:

plan = rr.plan((20, 16), rank=2, outliers=0.2)
print("information limit:", plan.information_limit, "measurements")
print("for 95 % success: ", plan.measurements_95, "measurements")
print("notes:", plan.notes or "inside the range of the trials")

# %%
# The matrix has 68 degrees of freedom. With fewer inliers than that, no method can succeed; this is
# the information limit. A result counts as a success if it is certified.
#
# Over the fraction of outliers
# -----------------------------

fractions = np.arange(0, 0.46, 0.05)
plans = [rr.plan((20, 16), rank=2, outliers=float(fraction)) for fraction in fractions]

# %%
# A check by simulation
# ---------------------
#
# For the plan with 20 % outliers, new problems are generated with several numbers of measurements,
# among them the recommended one.

counts = [plan.measurements_50, plan.measurements_95, 115, 130]
trials = 16
certified = []
for count in counts:
    problems = [
        rr.simulate.plant(20, 16, rank=2, measurements=count, outliers=0.2, rng=1000 + seed)
        for seed in range(trials)
    ]
    results = [rr.recover(problem.A, problem.y, rank=2) for problem in problems]
    certified.append(sum(result.certified for result in results))
    print(f"{count} measurements: {certified[-1]} of {trials} certified")

# %%
# The picture
# -----------
#
# The bars on the right are 95 % intervals for the probability of success.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for label, numbers, style in (
    ("paper's method, 95 % success", [one.paper_measurements_95 for one in plans], "C1^--"),
    ("default, 95 % success", [one.measurements_95 for one in plans], "C0o-"),
    ("information limit", [one.information_limit for one in plans], "k:"),
):
    known = [(x, number) for x, number in zip(fractions, numbers, strict=True) if number]
    left.plot(*zip(*known, strict=True), style, label=label)
left.xaxis.set_major_formatter("{x:.0%}")
left.set(xlabel="outliers", ylabel="measurements", ylim=0)
left.set_title("Measurements that are needed")
left.legend(loc="upper left")

axis = np.linspace(plan.information_limit - 10, 140, 200)
right.plot(axis, [plan.success_probability(m) for m in axis], "C0", label="plan")
shares = np.array(certified) / trials
intervals = [binomtest(k, trials).proportion_ci(method="wilson") for k in certified]
below = [share - interval.low for share, interval in zip(shares, intervals, strict=True)]
above = [interval.high - share for share, interval in zip(shares, intervals, strict=True)]
right.errorbar(
    counts, shares, (below, above), fmt="C0o", capsize=3, label=f"simulation ({trials} trials each)"
)
right.axvline(plan.information_limit, color="black", linestyle=":", label="information limit")
right.yaxis.set_major_formatter("{x:.0%}")
right.set(xlabel="measurements", ylabel="certified results", ylim=(-0.05, 1.05))
right.set_title("Plan and simulation, 20 % outliers")
right.legend(loc="lower right")
plt.show()

# %%
# What to notice: the needed number is close to the information limit and grows in the same way. The
# transition between failure and success is sharp: a certificate needs 11 inliers more than degrees
# of freedom, and soon after that most problems are solved. Right at this step the simulation has
# fewer successes than the plan, so make some more measurements than recommended. They also save
# time, because close to the limit several solvers are tried in turn. The paper's method,
# ``MedianTGD``, needs more measurements, and there is no number for fractions of outliers at which
# it never succeeded in the trials.
#
# Where to go next
# ----------------
#
# - Noise, outliers of the size of measurements, and sampled entries: :doc:`/guide/planning`.
# - Other kinds of outliers: :doc:`plot_outlier_kinds`.
