"""Principal components of data of which some cells are missing or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from robustrank.api import clean
from robustrank.api.streaming import Stream, table_of
from robustrank.backend import Array, as_floating, check_count, to_numpy
from robustrank.estimators.batches import with_batch
from robustrank.estimators.moments import Moments, log_densities, moments_of, moments_of_stream
from robustrank.estimators.rows import ResultRows, Rows
from robustrank.estimators.uncertified import warn_unless_usable
from robustrank.estimators.validation import fitting_data, in_library_of, new_data, seed_of
from robustrank.tables import Values


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis of data of which some cells and rows are wrong.

    ``fit`` cleans the data with ``robustrank.clean``: the components are those of the covariance of
    the rows that are not wrong, without their wrong cells. In ``transform``, missing and wrong
    cells are predicted from the others of their row, so that they do not move its scores. Data of
    exactly low rank, up to wrong cells, is split exactly, if this can be certified.

    It is also a detector of outlying rows: ``predict`` returns -1 for those that the model explains
    worse than independent cells.

    Parameters
    ----------
    n_components
        The number of components. None: those whose variance exceeds what noise would give.
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
        measure how well cells are predicted.

    Warns
    -----
    UncertifiedFitWarning
        In ``fit``, not in ``partial_fit``, if the features do not predict each other, or the time
        limit was reached.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The principal axes, orthonormal, in the order of their variance; in the units of the data,
        as in scikit-learn's ``PCA``. Scale the features first if their units differ.
    explained_variance_ : array of shape (n_components,)
        The variance along each of them.
    explained_variance_ratio_ : array of shape (n_components,)
        The same as shares of the variance of all features.
    noise_variance_ : array of shape (n_features,)
        The variance of each feature that the components do not explain.
    mean_ : array of shape (n_features,)
        The mean of each feature; NaN if it has no values.
    cell_outliers_ : array of shape (n_samples, n_features)
        The cells of the training data that contradict the others of their row.
    row_outliers_ : array of shape (n_samples,)
        The rows of the training data that are wrong altogether.
    low_rank_ : array of shape (n_samples, n_features)
        L, the cleaned training data along the components.
    sparse_ : scipy.sparse.csr_array of shape (n_samples, n_features)
        S, the errors of the wrong cells. The training data is L + S + noise.
    n_components_ : int
        The number of components.
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
    robustrank.robust_pca : If the data has an exact rank.
    robustrank.estimators.RobustImputer : Missing cells, with the same model.

    Notes
    -----
    After ``partial_fit``, which does not keep the rows, there are no ``cell_outliers_``,
    ``row_outliers_``, ``low_rank_``, ``sparse_`` and ``result_``; pass a batch to ``predict`` or
    ``transform``.

    It is not an ``OutlierMixin`` of scikit-learn, which requires one threshold of
    ``score_samples``: the density of a row also depends on which of its cells are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from robustrank.estimators import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15)) + 5
    >>> X = truth.copy()
    >>> X[rng.random(X.shape) < 0.05] = 100  # wrong cells
    >>> pca = RobustPCA().fit(X)
    >>> pca.n_components_
    2
    >>> bool(np.allclose(pca.low_rank_, truth))
    True
    >>> bool(np.allclose(pca.inverse_transform(pca.transform(X)), truth))
    True

    With noise, and a row that is wrong altogether:

    >>> X = truth + 0.3 * rng.standard_normal(truth.shape)
    >>> X[7] = 5 + 3 * rng.standard_normal(15)
    >>> pca = RobustPCA().fit(X)
    >>> pca.n_components_, np.flatnonzero(pca.predict(X) == -1).tolist()
    (2, [7])
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        forgetting: float = 1.0,
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.forgetting = forgetting
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RobustPCA:
        """Clean X and find its components.

        Parameters
        ----------
        X
            The training data, (n_samples, n_features); NaN marks missing cells.
        y
            Not used.

        Returns
        -------
        RobustPCA
            The estimator.
        """
        data = fitting_data(self, X, ensure_all_finite=False, ensure_min_samples=2)
        values = to_numpy(data).astype(float)
        self._check_count(values.shape[1])
        self.result_ = clean(
            values,
            transform_skewed=False,
            time_limit=self.time_limit,
            rng=seed_of(self.random_state),
        )
        self._model: Rows = ResultRows(self.result_)
        self._stream: Stream | None = None
        self.n_samples_seen_ = len(values)
        self._fit_components(data, moments_of(self.result_))
        explained = self._model.explain(values)
        self.cell_outliers_ = in_library_of(data, explained.wrong)
        self.row_outliers_ = in_library_of(data, explained.wrong_rows)
        warn_unless_usable(self, self.result_)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> RobustPCA:
        """Update the components with a batch of rows, after ``fit`` or instead of it.

        The memory does not depend on the number of rows. The first rows are kept, and the model is
        fitted to all of them when their number has grown, until there are 20 for each feature, or 5
        for each component of data of low rank. From then on, a batch is compared with the model of
        the rows before it, and what is not wrong updates the mean and the covariance. Data with
        more than 200 features is taken for one of low rank up to equal noise, if it is one.

        Parameters
        ----------
        X
            The rows, (n_samples, n_features); NaN marks missing cells. At least 2 in the first
            batch.
        y
            Not used.

        Returns
        -------
        RobustPCA
            The estimator.
        """
        self._check_count(np.shape(X)[-1] if np.ndim(X) else 1)
        data, self._stream = with_batch(self, X, self.n_components, transform_skewed=False)
        self._model = self._stream.rows
        self._fit_components(data, moments_of_stream(self._stream.rows))
        return self

    def transform(self, X: Any) -> Array:
        """The scores of the rows of X along the components, robustly.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features); NaN marks missing cells.

        Returns
        -------
        array of shape (n_samples, n_components)
            The scores about the mean.
        """
        data, values = self._rows(X, "transform")
        return in_library_of(data, self._scores(self._completed(values)), data.dtype)

    def inverse_transform(self, X: Any) -> Array:
        """The rows with these scores.

        Parameters
        ----------
        X
            Scores, (n_samples, n_components).

        Returns
        -------
        array of shape (n_samples, n_features)
            The rows, in the space of the components.
        """
        check_is_fitted(self)
        scores = as_floating(check_array(X), "X")
        return scores @ self.components_ + self.mean_

    def score_samples(self, X: Any) -> Array:
        """The log density of each row, of its cells that are not missing.

        A row is normal with the covariance ``get_covariance()``, but its wrong cells, or all cells
        if the row is wrong altogether, have the density of wrong cells. So the score of a row is
        bounded by how often that happens.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features); NaN marks missing cells.

        Returns
        -------
        array of shape (n_samples,)
            The log densities.
        """
        data, values = self._rows(X, "score_samples")
        right, wrong = self._log_densities(values, self._covariance_of_components())
        return in_library_of(data, np.logaddexp(right, wrong))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the rows, for cross-validation.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features); NaN marks missing cells.
        y
            Not used.

        Returns
        -------
        float
            The mean of ``score_samples(X)``.
        """
        return float(np.mean(to_numpy(self.score_samples(X))))

    def decision_function(self, X: Any) -> Array:
        """The log odds that each row is not wrong altogether; negative for outliers.

        They are not negative for rows that do not stand out from those of the training data.

        It does not depend on the number of components.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features); NaN marks missing cells.

        Returns
        -------
        array of shape (n_samples,)
            The log odds.
        """
        data, values = self._rows(X, "decision_function")
        return in_library_of(data, self._log_odds(values))

    def predict(self, X: Any) -> Array:
        """Which rows are wrong altogether.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features); NaN marks missing cells.

        Returns
        -------
        array of shape (n_samples,)
            -1 for wrong rows, 1 for others.
        """
        data, values = self._rows(X, "predict")
        return in_library_of(data, np.where(self._log_odds(values) < 0, -1, 1))

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit the model and return which rows of the training data are wrong altogether.

        Parameters
        ----------
        X
            The training data, (n_samples, n_features); NaN marks missing cells.
        y
            Not used.

        Returns
        -------
        array of shape (n_samples,)
            -1 for wrong rows, 1 for others.
        """
        return self.fit(X).predict(X)

    def get_covariance(self) -> Array:
        """The covariance of the features: that of the components, and the noise variances.

        Returns
        -------
        array of shape (n_features, n_features)
            The covariance.
        """
        check_is_fitted(self)
        found = self._covariance_of_components()
        return in_library_of(self.components_, found, self.components_.dtype)

    @property
    def low_rank_(self) -> Array:
        """L, the cleaned training data along the components."""
        scores = self._scores(np.nan_to_num(table_of(self.result_).filled()))
        low_rank = scores @ to_numpy(self.components_) + to_numpy(self.mean_)
        return in_library_of(self.components_, low_rank, self.components_.dtype)

    @property
    def sparse_(self) -> sparse.csr_array:
        """S, the errors of the wrong cells."""
        table, wrong = table_of(self.result_), to_numpy(self.cell_outliers_)
        return sparse.csr_array(np.where(wrong, table.given - table.expected, 0.0))

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return int(self.components_.shape[0])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fit_components(self, data: Array, moments: Moments) -> None:
        """The principal axes of the covariance, and the variances."""
        self._moments = moments
        variances, vectors = np.linalg.eigh(moments.covariance)
        count = self.n_components or moments.rank
        variances, axes = np.maximum(variances[::-1][:count], 0.0), vectors.T[::-1][:count]
        axes = axes * np.sign(axes[np.arange(count), np.abs(axes).argmax(axis=1)])[:, None]
        total = np.diagonal(moments.covariance)
        found = {
            "components_": axes,
            "explained_variance_": variances,
            "explained_variance_ratio_": variances / (total.sum() or 1.0),
            "noise_variance_": np.maximum(total - variances @ axes**2, 0.0),
            "mean_": moments.mean,
        }
        for name, values in found.items():
            setattr(self, name, in_library_of(data, values, data.dtype))

    def _check_count(self, features: int) -> None:
        if self.n_components is not None:
            check_count(n_components=self.n_components)
            if self.n_components > features:
                raise ValueError(
                    f"n_components={self.n_components}, but X has {features} features; expected at "
                    f"most {features}"
                )

    def _rows(self, X: Any, method: str) -> tuple[Array, Values]:
        """Rows checked by scikit-learn, and their numbers."""
        data = new_data(self, X, "components_", method, ensure_all_finite=False)
        return data, to_numpy(data).astype(float)

    def _completed(self, X: Values) -> Values:
        """X with what is expected in its missing and wrong cells."""
        explained = self._model.explain(X)
        return np.where(~np.isfinite(X) | explained.wrong, explained.expected, X)

    def _scores(self, completed: Values) -> Values:
        """The coordinates of rows without missing cells; features without values count nothing."""
        centered = np.nan_to_num(completed - self._moments.mean)
        return np.asarray(centered @ to_numpy(self.components_).T)

    def _covariance_of_components(self) -> Values:
        axes, variances = to_numpy(self.components_), to_numpy(self.explained_variance_)
        return np.asarray((axes.T * variances) @ axes + np.diag(to_numpy(self.noise_variance_)))

    def _log_densities(self, X: Values, covariance: Values) -> tuple[Values, Values]:
        wrong = self._model.explain(X).wrong
        return log_densities(self._model, self._moments.mean, covariance, X, wrong)

    def _log_odds(self, X: Values) -> Values:
        return -self._model.explain(X).row_log_odds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags
