"""Imputation of missing entries from a low-rank matrix, in spite of outliers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from robustrank.api import complete
from robustrank.backend import Array, like, namespace, to_numpy
from robustrank.estimators.centering import column_medians, complete_about_mean
from robustrank.estimators.new_rows import RowModel
from robustrank.estimators.uncertified import warn, warn_unless_certified
from robustrank.estimators.validation import fitting_data, new_data, seed_of


class RobustImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills in missing entries (NaN) from a low-rank matrix, although some entries are wrong.

    Infinite entries are treated as missing ones. A feature without any entry in the training data
    stays in the output, and its missing entries stay NaN.

    ``fit`` completes the matrix of the training data. ``transform`` fits each row, of the training
    data or a new one, to the row space that was found: from the entries that agree with each other.

    Parameters
    ----------
    rank
        An upper bound on the rank of the matrix about the means of its columns. None: it is
        estimated.
    replace_outliers
        Whether ``transform`` also replaces the observed entries that are rejected as outliers. If
        False, it changes only missing entries.
    time_limit
        Seconds after which ``fit`` ends, with what was found until then. None: no limit.
    random_state
        Random seed: an integer, a ``RandomState`` or None; used for starting vectors and random
        subsets of entries.

    Warns
    -----
    UncertifiedFitWarning
        In ``fit``, if the completed matrix is not certified. In ``transform``, if some rows have
        too few trusted entries; these get the values that are most likely given the entries that
        are plausible, which for a row without entries are the means of the completed rows.

    Attributes
    ----------
    components_ : array of shape (rank, n_features)
        A basis of the space of the rows about their mean, orthonormal.
    mean_ : array of shape (n_features,)
        The means of the features about which the matrix has a low rank; NaN if a feature has no
        values.
    statistics_ : array of shape (n_features,)
        The median of each feature; NaN if it has no values. It is what is filled in where too few
        trusted entries determine the feature.
    inlier_mask_ : array of shape (n_samples, n_features)
        False for the entries of the training data that are missing, infinite, or were rejected as
        outliers.
    scale_ : float
        The standard deviation of the noise; zero if the data is exact.
    rank_ : int
        The rank of the completed matrix about the mean.
    result_ : robustrank.Result
        The result for the training data minus the mean, with its status and certificate.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        The names of the features, if X is a data frame.

    See Also
    --------
    robustrank.complete : The function behind it.
    robustrank.estimators.RobustPCA : Principal components of data without missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from robustrank.estimators import RobustImputer
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12))
    >>> X = truth.copy()
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> X[0, :3] = 50  # wrong entries
    >>> imputer = RobustImputer().fit(X)
    >>> imputer.rank_
    2
    >>> filled = imputer.transform(X)
    >>> bool(np.allclose(filled[np.isnan(X)], truth[np.isnan(X)]))
    True
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        replace_outliers: bool = False,
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.rank = rank
        self.replace_outliers = replace_outliers
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RobustImputer:
        """Complete the matrix X, in which NaN marks missing entries.

        Parameters
        ----------
        X
            The training data, (n_samples, n_features).
        y
            Not used.

        Returns
        -------
        RobustImputer
            The estimator.
        """
        data = _without_infinite(
            fitting_data(self, X, ensure_all_finite=False, ensure_min_samples=2)
        )
        xp, solve = namespace(data), partial(complete, rng=seed_of(self.random_state))
        result, self.mean_ = complete_about_mean(solve, data, self.rank, self.time_limit)
        self.components_ = xp.matrix_transpose(xp.linalg.qr(result.right)[0])
        self.statistics_ = xp.asarray(column_medians(to_numpy(data)), **like(data))
        self.inlier_mask_ = ~(result.outliers | xp.isnan(data))
        self.scale_, self.rank_ = float(result.noise), result.rank
        self.result_ = result
        self._rows = RowModel.of(result)
        warn_unless_certified(self, result)
        return self

    def transform(self, X: Any) -> Array:
        """Fill in the missing entries of X.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features).

        Returns
        -------
        array of shape (n_samples, n_features)
            A copy of X without NaN, except in features of which nothing is known.
        """
        data = _without_infinite(
            new_data(self, X, "components_", "transform", ensure_all_finite=False)
        )
        values = to_numpy(data)
        rows = self._rows.fit(to_numpy(data - self.mean_))
        if rows.undecided.any():
            warn(
                self,
                f"{np.count_nonzero(rows.undecided)} of {len(values)} rows have too few trusted "
                "entries to determine the missing ones",
            )
        predicted = rows.left @ self._rows.right.T + to_numpy(self.mean_)
        unknown = self.result_.undecided_columns
        predicted[:, unknown] = to_numpy(self.statistics_)[unknown]
        replaced = np.isnan(values)
        if self.replace_outliers:
            replaced |= rows.outliers
        filled = np.where(replaced, predicted, values)
        return namespace(data).asarray(filled.astype(values.dtype), **like(data))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.array_api_support = True
        return tags


def _without_infinite(X: Array) -> Array:
    """The data, with NaN for infinite entries."""
    xp = namespace(X)
    return xp.where(xp.isinf(X), xp.asarray(xp.nan, **like(X)), X)
