"""Principal components of data of which some entries are wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from robustrank.api import robust_pca
from robustrank.backend import Array, as_floating, like, namespace, to_numpy
from robustrank.estimators.centering import complete_about_mean, decided_rows
from robustrank.estimators.new_rows import RowModel
from robustrank.estimators.uncertified import warn, warn_unless_certified
from robustrank.estimators.validation import fitting_data, new_data, seed_of
from robustrank.linalg import point_of
from robustrank.result import Result


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal component analysis of data of which some entries are wrong.

    ``fit`` splits the data into a matrix of low rank and a sparse one, X = L + S, up to noise. The
    components are those of L about its mean. ``transform`` fits each row to the space of the rows
    of L, from the entries that agree with each other, so that wrong entries of new rows do no harm.

    Parameters
    ----------
    n_components
        An upper bound on the number of components. None: it is estimated.
    time_limit
        Seconds after which ``fit`` ends, with what was found until then. None: no limit.
    random_state
        Random seed: an integer, a ``RandomState`` or None; used for starting vectors and random
        subsets of entries.

    Warns
    -----
    UncertifiedFitWarning
        In ``fit``, if the result is not certified. In ``transform``, if of some rows no majority of
        the entries agrees; these are estimated from the entries that are plausible.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The principal axes, orthonormal, in the order of their variance.
    explained_variance_ : array of shape (n_components,)
        The variance of L along each of them.
    mean_ : array of shape (n_features,)
        The mean of the rows of L.
    low_rank_ : array of shape (n_samples, n_features)
        L.
    sparse_ : scipy.sparse.csr_array of shape (n_samples, n_features)
        S, whose entries are the errors of the outliers.
    inlier_mask_ : array of shape (n_samples, n_features)
        False for the entries that were rejected as outliers.
    scale_ : float
        The standard deviation of the noise; zero if the data is exact.
    n_components_ : int
        The number of components, which is the rank of L about its mean.
    result_ : robustrank.Result
        The result for the data minus the mean, with its status and certificate.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : array of shape (n_features,)
        The names of the features, if X is a data frame.

    See Also
    --------
    robustrank.robust_pca : The function behind it.
    robustrank.estimators.RobustImputer : If entries are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from robustrank.estimators import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 15)) + 5
    >>> X = truth.copy()
    >>> X[rng.random(X.shape) < 0.05] = 100  # wrong entries
    >>> pca = RobustPCA().fit(X)
    >>> pca.n_components_
    2
    >>> bool(np.allclose(pca.low_rank_, truth))
    True
    >>> bool(np.allclose(pca.inverse_transform(pca.transform(X)), truth))
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RobustPCA:
        """Split X and find its components.

        Parameters
        ----------
        X
            The training data, (n_samples, n_features), without missing entries.
        y
            Not used.

        Returns
        -------
        RobustPCA
            The estimator.
        """
        data = fitting_data(self, X, ensure_min_samples=2)
        solve = partial(robust_pca, rng=seed_of(self.random_state))
        result, self.mean_ = complete_about_mean(solve, data, self.n_components, self.time_limit)
        self._fit_components(result)
        self.inlier_mask_ = ~result.outliers
        self.scale_ = float(result.noise)
        self.result_ = result
        self._rows = RowModel.of(result)
        warn_unless_certified(self, result)
        return self

    def transform(self, X: Any) -> Array:
        """The coordinates of the rows of X along the components, robustly.

        Parameters
        ----------
        X
            Rows of the training data or new ones, (n_samples, n_features).

        Returns
        -------
        array of shape (n_samples, n_components)
            The coordinates about the mean.
        """
        data = new_data(self, X, "components_", "transform")
        rows = self._rows.fit(to_numpy(data - self.mean_))
        if rows.undecided.any():
            warn(
                self,
                f"of {np.count_nonzero(rows.undecided)} of {len(rows.left)} rows no majority of "
                "the entries agrees with the components",
            )
        components = to_numpy(self.components_).T.astype(float)
        coordinates = rows.left @ (self._rows.right.T @ components)
        return namespace(data).asarray(coordinates.astype(to_numpy(data).dtype), **like(data))

    def inverse_transform(self, X: Any) -> Array:
        """The rows with these coordinates.

        Parameters
        ----------
        X
            Coordinates, (n_samples, n_components).

        Returns
        -------
        array of shape (n_samples, n_features)
            The rows of a matrix like L.
        """
        check_is_fitted(self)
        coordinates = as_floating(check_array(X, ensure_min_features=0), "X")
        return coordinates @ self.components_ + self.mean_

    @property
    def low_rank_(self) -> Array:
        """L, the matrix of low rank."""
        return self.result_.matrix + self.mean_

    @property
    def sparse_(self) -> sparse.csr_array:
        """S, the errors of the outliers."""
        return self.result_.sparse.tocsr()

    @property
    def n_components_(self) -> int:
        """The number of components."""
        return int(self.components_.shape[0])

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fit_components(self, result: Result) -> None:
        xp = namespace(result.left)
        rows = decided_rows(result)
        point = point_of(rows, result.right)
        axes = xp.matrix_transpose(point.right)
        self.components_ = axes * _signs(axes)[:, None]
        self.explained_variance_ = point.values**2 / max(int(rows.shape[0]) - 1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


def _signs(axes: Array) -> Array:
    """The sign of the largest entry of each axis, so that results repeat."""
    xp = namespace(axes)
    largest = xp.argmax(xp.abs(axes), axis=1)
    return xp.sign(xp.take_along_axis(axes, largest[:, None], axis=1)[:, 0])
