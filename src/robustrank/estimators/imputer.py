"""Imputation of missing cells from the others of their row, in spite of wrong cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator

from robustrank.api import clean
from robustrank.api.streaming import Stream, table_of
from robustrank.backend import Array, to_numpy
from robustrank.estimators.batches import with_batch
from robustrank.estimators.rows import ResultRows, Rows
from robustrank.estimators.uncertified import warn_unless_usable
from robustrank.estimators.validation import fitting_data, in_library_of, new_data, seed_of
from robustrank.result import Result
from robustrank.tables import Mask, Values


class RobustImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fills in missing cells (NaN) from the others of their row, although some cells are wrong.

    ``fit`` cleans the training data with ``robustrank.clean``. ``transform`` compares the cells of
    each row, of the training data or a new one, with each other, and predicts the missing ones from
    those that agree. A feature whose left-out cells are clearly not predicted better than by the
    median gets the median. Data of exactly low rank is completed exactly, if this can be certified.

    Infinite cells are wrong, and always replaced.

    Parameters
    ----------
    replace_outliers
        Whether ``transform`` also replaces the observed cells that contradict the others of their
        row. If False, it changes only missing and infinite cells.
    add_indicator
        Whether ``transform`` appends a column for each feature with missing cells in the training
        data, which is 1 where the cell is missing.
    keep_empty_features
        Whether features without any value in the training data are kept, with 0 where they are
        missing. If False, ``transform`` drops them.
    forgetting
        In ``partial_fit``, each new row multiplies the weight of all earlier ones by this factor:
        0.5 ** (1 / 1000) is a half-life of 1,000 rows. With 1, nothing is forgotten, and rows that
        contradict the earlier ones remain outliers. With less, an abrupt change is followed when
        the rows that contradict the model are the majority and agree with each other.
    time_limit
        Seconds after which ``fit`` ends, with what was found until then. None: no limit.
        ``partial_fit`` does not use it.
    random_state
        Random seed: an integer, a ``RandomState`` or None; used for the cells that are left out to
        measure the errors.

    Warns
    -----
    UncertifiedFitWarning
        In ``fit``, not in ``partial_fit``, if no feature is predicted clearly better than by its
        median, or the time limit was reached.

    Attributes
    ----------
    predicted_features_ : array of shape (n_features,)
        Whether the missing cells of each feature are predicted from the others; if False, they get
        the median.
    statistics_ : array of shape (n_features,)
        The median of each feature; NaN if it has no values.
    cell_outliers_ : array of shape (n_samples, n_features)
        The cells of the training data that contradict the others of their row.
    row_outliers_ : array of shape (n_samples,)
        The rows of the training data that are wrong altogether.
    indicator_ : sklearn.impute.MissingIndicator
        What the columns of ``add_indicator=True`` are computed by; otherwise None.
    result_ : robustrank.Result
        The result of ``clean`` for the training data, with its status and held-out errors.
    n_samples_seen_ : int
        The number of rows of ``fit`` and of all batches of ``partial_fit``.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        The names of the features, if X is a data frame.

    See Also
    --------
    robustrank.clean : The function behind it.
    robustrank.estimators.RobustPCA : Principal components, with the same model.

    Notes
    -----
    After ``partial_fit``, which does not keep the rows, there are no ``cell_outliers_``,
    ``row_outliers_`` and ``result_``. ``statistics_`` has the centers of the rows that the model
    was last fitted to as a whole, and ``predicted_features_`` depends on their held-out errors.

    Examples
    --------
    >>> import numpy as np
    >>> from robustrank.estimators import RobustImputer
    >>> rng = np.random.default_rng(0)
    >>> size = rng.standard_normal((200, 1))
    >>> X = size * [1, 20, 0.3, 500] + rng.standard_normal((200, 4)) * [0.3, 5, 0.1, 100]
    >>> X[3, :2] = np.nan, 400  # the second is a typing error
    >>> filled = RobustImputer().fit_transform(X)
    >>> bool(abs(filled[3, 0] - size[3, 0]) < 1)
    True

    Data of exactly low rank is completed exactly:

    >>> truth = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12))
    >>> X = truth.copy()
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> X[0, :3] = 50  # wrong cells
    >>> imputer = RobustImputer().fit(X)
    >>> imputer.result_.status.name
    'RECOVERED'
    >>> bool(np.allclose(imputer.transform(X)[np.isnan(X)], truth[np.isnan(X)]))
    True
    """

    def __init__(
        self,
        *,
        replace_outliers: bool = False,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        forgetting: float = 1.0,
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.replace_outliers = replace_outliers
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.forgetting = forgetting
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RobustImputer:
        """Fit a model of the rows of X, in which NaN marks missing cells.

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
        data = fitting_data(self, X, ensure_all_finite=False, ensure_min_samples=2)
        values = to_numpy(data).astype(float)
        self.result_ = clean(values, time_limit=self.time_limit, rng=seed_of(self.random_state))
        self._model: Rows = ResultRows(self.result_)
        self._stream: Stream | None = None
        self.n_samples_seen_ = len(values)
        self.statistics_ = in_library_of(data, _medians(values), data.dtype)
        self.predicted_features_ = in_library_of(data, _predicted(self.result_))
        explained = self._model.explain(values)
        self.cell_outliers_ = in_library_of(data, explained.wrong)
        self.row_outliers_ = in_library_of(data, explained.wrong_rows)
        self.indicator_: Any = None
        self._see_missing(values)
        warn_unless_usable(self, self.result_)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> RobustImputer:
        """Update the model with a batch of rows, after ``fit`` or instead of it.

        The memory does not depend on the number of rows. The first rows are kept, and the model is
        fitted to all of them when their number has grown, until there are 20 for each feature, or 5
        for each component of data of low rank. From then on, a batch is compared with the model of
        the rows before it, and what is not wrong updates the mean and the covariance. Data with
        more than 200 features is taken for one of low rank up to equal noise, if it is one.

        With ``add_indicator=True``, the columns of the indicator are those of the features that had
        missing cells in any batch.

        Parameters
        ----------
        X
            The rows, (n_samples, n_features); NaN marks missing cells. At least 2 in the first
            batch.
        y
            Not used.

        Returns
        -------
        RobustImputer
            The estimator.
        """
        if not hasattr(self, "n_samples_seen_"):
            self.indicator_ = None
        data, self._stream = with_batch(self, X)
        self._model = model = self._stream.rows
        statistics = np.where(model.empty, np.nan, model.units.center)
        self.statistics_ = in_library_of(data, statistics, data.dtype)
        result = self._stream.result
        predicted = ~model.empty if result is None else _predicted(result)
        self.predicted_features_ = in_library_of(data, predicted)
        self._see_missing(to_numpy(data).astype(float))
        return self

    def transform(self, X: Any) -> Array:
        """Fill in the missing cells of X.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features).

        Returns
        -------
        array of shape (n_samples, n_features_out)
            A copy of X without NaN; without the features that had no values in the training data,
            unless ``keep_empty_features=True``, and with the columns of ``add_indicator=True``.
        """
        data = new_data(self, X, "statistics_", "transform", ensure_all_finite=False)
        values = to_numpy(data).astype(float)
        filled = self._filled(values)[:, self._kept]
        if self.indicator_ is not None:
            filled = np.hstack([filled, self.indicator_.transform(_without_infinite(values))])
        return in_library_of(data, filled, data.dtype)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features
            The names of the features; by default, those of the training data, or x0, x1, ….

        Returns
        -------
        numpy.ndarray of str
            The names.
        """
        names = super().get_feature_names_out(input_features)
        if self.indicator_ is None:
            return names[self._kept]
        return np.concatenate([names[self._kept], self.indicator_.get_feature_names_out(names)])

    @property
    def _kept(self) -> Mask:
        """The features that ``transform`` returns."""
        with_values = ~np.isnan(to_numpy(self.statistics_))
        return np.asarray(with_values | self.keep_empty_features)

    def _see_missing(self, X: Values) -> None:
        """Add the features with missing cells in X to the indicator."""
        if self.add_indicator:
            missing = np.asarray(np.isnan(_without_infinite(X)).any(axis=0))
            if self.indicator_ is not None:
                missing[self.indicator_.features_] = True
            example = np.where(missing, np.nan, 0.0)[None]
            self.indicator_ = MissingIndicator(error_on_new=False).fit(example)

    def _filled(self, X: Values) -> Values:
        """X with what is expected, or the median, in the cells that are replaced."""
        explained = self._model.explain(X)
        medians = np.nan_to_num(to_numpy(self.statistics_).astype(float))
        expected = np.where(to_numpy(self.predicted_features_), explained.expected, medians)
        replaced = ~np.isfinite(X)
        if self.replace_outliers:
            replaced |= explained.wrong
        return np.where(replaced, expected, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def _predicted(result: Result) -> Mask:
    """The columns but those whose left-out cells are clearly not predicted better than by a median.

    Where too few cells were left out to tell, the model is better: its covariance is shrunk.
    """
    table = table_of(result)
    predicted = ~(table.held_out.not_predicted & (table.held_out.skill <= 0))
    if result.fit_new_rows is not None:
        predicted |= ~np.isin(np.arange(len(predicted)), result.undecided_columns)
    return np.asarray(predicted & ~table.empty_columns)


def _medians(X: Values) -> Values:
    """The median of the finite cells of each column; NaN for a column without any."""
    finite = _without_infinite(X)
    some = ~np.isnan(finite).all(axis=0)
    medians = np.full(X.shape[1], np.nan)
    medians[some] = np.nanmedian(finite[:, some], axis=0)
    return medians


def _without_infinite(X: Values) -> Values:
    """X with NaN for infinite cells."""
    return np.where(np.isinf(X), np.nan, X)
