"""
Estimators for scikit-learn
===========================

``robustrank.estimators`` has estimators with the interface of scikit-learn. This example uses two
of them: an imputer for tables with missing and wrong entries as the first step of a pipeline, and
a regression on matrices with wrong targets, whose rank is chosen by cross-validation.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from robustrank.estimators import (
    LowRankRegressor,
    RobustImputer,
    UncertifiedFitWarning,
    robust_r2_scorer,
)

# %%
# A pipeline that starts with an imputer
# --------------------------------------
#
# A table has 200 samples with 20 features that depend on three hidden variables. A quarter of the
# entries is missing, and 3 % have the value 999, a code that was not removed. The target is a
# linear function of the true features. The first 140 samples are for training.

rng = np.random.default_rng(0)
features = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 20)) + 50
features += 0.02 * rng.standard_normal(features.shape)
target = features @ rng.standard_normal(20) / 20
X = np.where(rng.random(features.shape) < 0.75, features, np.nan)
X[rng.random(X.shape) < 0.03] = 999

predictions = {}
for name, imputer in (
    ("median of each feature", SimpleImputer(strategy="median")),
    ("RobustImputer", RobustImputer(replace_outliers=True)),
):
    model = make_pipeline(imputer, LinearRegression())
    model.fit(X[:140], target[:140])
    predictions[name] = model.predict(X[140:])
    errors = np.abs(predictions[name] - target[140:])
    print(f"{name}: median error of new samples {np.median(errors):.4f}")

# %%
# The median fills in missing entries and leaves the wrong ones as they are, which spoils the
# regression. With ``replace_outliers=True``, ``RobustImputer`` also replaces entries that
# contradict the others of their row. New rows, with missing and wrong entries of their own, are
# treated in the same way.
#
# Regression on matrices
# ----------------------
#
# Each sample is a 10 × 8 matrix, such as a small image, and the target is a weighted sum of its
# entries. The weights form a matrix of rank 2. There is noise, and 15 % of the targets are wrong by
# a large amount.

M = rng.standard_normal((10, 2)) @ rng.standard_normal((2, 8))
samples = rng.standard_normal((240, 10, 8))
y = np.sum(samples * M, axis=(1, 2)) + 0.5 * rng.standard_normal(240)
wrong = rng.random(240) < 0.15
y[wrong] += 100 * rng.standard_normal(wrong.sum())

# %%
# The validation data has wrong targets, too, and these dominate the usual score R². The score of
# ``robust_r2_scorer`` limits the influence of each sample. ``fit`` warns if a fit is not certified,
# as those with a wrong rank are. The warning is ignored here, because cross-validation decides.

ranks = [1, 2, 3, 4]
model = LowRankRegressor(solver="gauss-newton", fit_intercept=False)
search = GridSearchCV(
    model, {"rank": ranks}, scoring={"robust": robust_r2_scorer, "R²": "r2"}, refit="robust", cv=5
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UncertifiedFitWarning)
    search.fit(samples, y)

print("rank with the best score:", search.best_params_["rank"])
print("targets rejected:", np.sum(~search.best_estimator_.inlier_mask_), "of which wrong:", end=" ")
print(np.sum(~search.best_estimator_.inlier_mask_ & wrong), "of", wrong.sum())

# %%
# For comparison, ridge regression on the 80 entries, which is neither robust nor of low rank:

flat = samples.reshape(240, -1)
ridge = cross_val_score(Ridge(), flat, y, scoring=robust_r2_scorer, cv=5).mean()
print(f"score of ridge regression: {ridge:.2f}, of the best rank: {search.best_score_:.2f}")

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for (name, predicted), marker, color in zip(
    predictions.items(), "xo", ("tab:orange", "tab:blue"), strict=True
):
    left.plot(target[140:], predicted, marker, color=color, markersize=4, label=name)
ends = [target[140:].min(), target[140:].max()]
left.plot(ends, ends, color="black", linewidth=1, zorder=0)
left.set(xlabel="true target", ylabel="prediction", title="New samples, by kind of imputer")
left.legend()

for name, marker, color in (("robust", "o", "tab:blue"), ("R²", "x", "tab:orange")):
    scores = search.cv_results_[f"mean_test_{name}"]
    spread = search.cv_results_[f"std_test_{name}"]
    right.errorbar(ranks, scores, spread, fmt=marker + "-", color=color, capsize=3, label=name)
right.set(
    xlabel="rank", ylabel="score (mean and deviation of 5 folds)", xticks=ranks, ylim=(-0.2, 1.1)
)
right.set_title("Cross-validation with wrong targets")
right.legend(title="score", loc="center right")
plt.show()

# %%
# What to notice: with the robust score, the true rank is clearly better than rank 1, and higher
# ranks gain nothing. R² is low for all ranks, although the predictions are nearly exact from rank 2
# on: the wrong targets of the validation data dominate it.
#
# Where to go next
# ----------------
#
# - The three estimators and their parameters: :doc:`/guide/scikit-learn`.
# - The rank can also be estimated without cross-validation: :doc:`plot_choosing_rank`.
