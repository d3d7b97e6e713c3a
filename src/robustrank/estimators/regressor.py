"""Regression on matrices: a low-rank coefficient matrix from targets with outliers."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from robustrank.api import recover
from robustrank.backend import Array, as_floating, is_array, like, namespace, to_numpy
from robustrank.estimators.intercept import recover_with_intercept
from robustrank.estimators.uncertified import warn, warn_unless_certified
from robustrank.estimators.validation import fitting_data, new_data, seed_of
from robustrank.problem import UndersampledWarning
from robustrank.result import Result


class LowRankRegressor(RegressorMixin, BaseEstimator):
    """Linear regression with a low-rank coefficient matrix and outliers in the targets.

    The model is y_i = <X_i, M> + b: each sample is a matrix X_i, and the coefficients M are a
    matrix of low rank (trace regression). Some of the targets may be outliers, of any size; the
    coefficients and the intercept are those of the others.

    Parameters
    ----------
    rank
        An upper bound on the rank of M. None: it is estimated.
    shape
        (n1, n2), the shape of M, if X is two-dimensional with n1 * n2 features: row by row, as
        ``X.reshape(len(X), -1)`` makes them. None: that of the samples if X is three-dimensional,
        and (1, features) if it is two-dimensional. The latter is robust linear regression.
    fit_intercept
        Whether to estimate b. If False, b is zero.
    symmetric
        Whether M is known to be symmetric.
    solver
        As for ``robustrank.recover``.
    time_limit
        Seconds after which ``fit`` ends, with the best result so far. None: no limit.
    random_state
        Random seed: an integer, a ``RandomState`` or None; used for the initial vector of the SVD
        of large matrices.

    Warns
    -----
    UncertifiedFitWarning
        If the result is not certified: it may be wrong.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The coefficients.
    coef_matrix_ : array of shape (n1, n2)
        The coefficients as a matrix, M.
    intercept_ : float
        b, or 0.0 if ``fit_intercept=False``.
    inlier_mask_ : array of shape (n_samples,)
        False for the targets that were rejected as outliers.
    scale_ : float
        The standard deviation of the noise of the inliers; zero if the fit is exact.
    rank_ : int
        The rank of M.
    n_iter_ : int
        The number of iterations of the solver that found M.
    result_ : robustrank.Result or None
        The result with its status and certificate. If there is an intercept, it is that of the
        centered data. None if at least half of the targets are equal; see Notes.
    n_features_in_ : int
        The number of features, n1 * n2.
    feature_names_in_ : array of shape (n_features,)
        The names of the features, if X is a data frame.

    See Also
    --------
    robustrank.recover : The function behind it.
    robustrank.estimators.robust_r2_score : A score for cross-validation with outliers.

    Notes
    -----
    The intercept is removed exactly by subtracting the means of a set of inliers from X and y. The
    first set is the half of the targets that are closest together, and then the inliers of the fit
    replace it until the means no longer change.

    If at least half of the targets are equal (to zero, without an intercept), a constant fits most
    of them exactly, and the coefficients are zero.

    Samples cannot be weighted, and targets must be finite.

    Examples
    --------
    >>> import numpy as np
    >>> from robustrank.estimators import LowRankRegressor
    >>> rng = np.random.default_rng(0)
    >>> M = np.outer(rng.standard_normal(8), rng.standard_normal(6))
    >>> X = rng.standard_normal((200, 8, 6))
    >>> y = np.sum(X * M, axis=(1, 2)) + 3
    >>> y[:40] = 1000  # a fifth of the targets is wrong
    >>> model = LowRankRegressor().fit(X, y)
    >>> model.rank_, round(model.intercept_, 6)
    (1, 3.0)
    >>> bool(np.allclose(model.coef_matrix_, M))
    True
    >>> int(np.sum(~model.inlier_mask_))
    40
    """

    def __init__(
        self,
        rank: int | None = None,
        *,
        shape: tuple[int, int] | None = None,
        fit_intercept: bool = True,
        symmetric: bool = False,
        solver: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.rank = rank
        self.shape = shape
        self.fit_intercept = fit_intercept
        self.symmetric = symmetric
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LowRankRegressor:
        """Fit the coefficients and the intercept.

        Parameters
        ----------
        X
            The samples, (n_samples, n1, n2) or (n_samples, n1 * n2).
        y
            The targets, (n_samples,).

        Returns
        -------
        LowRankRegressor
            The estimator.
        """
        flat, sample_shape = _flattened(X)
        data, targets = fitting_data(self, flat, y=y, y_numeric=True, ensure_min_samples=2)
        self._shape = self._matrix_shape(sample_shape, int(data.shape[1]))
        targets = _in_library_of(data, targets)
        constant = _common_value(to_numpy(targets), self.fit_intercept)
        if constant is None:
            result = self._fit_matrix(data, targets)
            warn_unless_certified(self, result)
        else:
            self._fit_constant(data, targets, constant)
            warn(
                self,
                f"at least half of the targets are equal to {constant:.6g}, which a constant fits "
                "exactly; the coefficients are zero",
            )
        return self

    def predict(self, X: Any) -> Array:
        """Predict the targets of samples of the shape used in ``fit``, or flattened.

        Parameters
        ----------
        X
            The samples, (n_samples, n1, n2) or (n_samples, n1 * n2).

        Returns
        -------
        array of shape (n_samples,)
            The predictions, <X_i, M> + b.
        """
        flat, sample_shape = _flattened(X)
        data = new_data(self, flat, "coef_", "predict")
        if sample_shape not in (None, self._shape):
            raise ValueError(f"X has samples of shape {sample_shape}; expected {self._shape}")
        return data @ namespace(data).astype(self.coef_, data.dtype, copy=False) + self.intercept_

    @property
    def coef_matrix_(self) -> Array:
        """The coefficients as an n1 × n2 matrix."""
        return namespace(self.coef_).reshape(self.coef_, self._shape)

    def _matrix_shape(self, sample_shape: tuple[int, int] | None, features: int) -> tuple[int, int]:
        if self.shape is None:
            return (1, features) if sample_shape is None else sample_shape
        n1, n2 = self.shape
        if sample_shape not in (None, (n1, n2)):
            raise ValueError(f"X has samples of shape {sample_shape}, but shape={self.shape}")
        if n1 * n2 != features:
            raise ValueError(
                f"shape={self.shape} has {n1 * n2} entries, but X has {features} features; "
                "expected the same number"
            )
        return int(n1), int(n2)

    def _fit_matrix(self, X: Array, y: Array) -> Result:
        solve = partial(self._recover, seed_of(self.random_state))
        if self.fit_intercept:
            result, self.intercept_ = recover_with_intercept(solve, X, y, self.time_limit)
        else:
            result, self.intercept_ = solve(X, y, self.time_limit), 0.0
        self.coef_ = namespace(X).reshape(result.matrix, (-1,))
        self.inlier_mask_ = ~result.outliers
        self.scale_ = float(result.noise)
        self.rank_, self.n_iter_ = result.rank, result.iterations
        self.result_: Any = result
        return result

    def _recover(self, seed: int, X: Array, y: Array, time_limit: float | None) -> Result:
        with warnings.catch_warnings():
            # The warning about a result that is not certified says it.
            warnings.simplefilter("ignore", UndersampledWarning)
            return recover(
                X,
                y,
                self.rank,
                shape=self._shape,
                solver=self.solver,
                time_limit=time_limit,
                rng=seed,
                symmetric=self.symmetric,
            )

    def _fit_constant(self, X: Array, y: Array, constant: float) -> None:
        """The model without coefficients, which fits at least half of the targets exactly."""
        xp = namespace(X)
        self.coef_ = xp.zeros(X.shape[1], **like(X))
        self.intercept_ = constant
        self.inlier_mask_ = y == constant
        self.scale_, self.rank_, self.n_iter_, self.result_ = 0.0, 0, 0, None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.array_api_support = True
        return tags


def _flattened(X: Any) -> tuple[Any, tuple[int, int] | None]:
    """X with one row per sample, and the shape of the samples if they are matrices."""
    if not is_array(X) or X.ndim != 3:
        return X, None
    count, n1, n2 = (int(n) for n in X.shape)
    return namespace(X).reshape(X, (count, n1 * n2)), (n1, n2)


def _in_library_of(X: Array, y: Array) -> Array:
    """The targets in the library and on the device of X, in their own precision."""
    values = as_floating(y, "y")
    if namespace(values) is namespace(X) and like(values)["device"] == like(X)["device"]:
        return values
    return namespace(X).asarray(to_numpy(values), device=like(X)["device"])


def _common_value(y: np.ndarray[Any, Any], fit_intercept: bool) -> float | None:
    """The value that at least half of the targets have, if there is one."""
    if not fit_intercept:
        return 0.0 if 2 * np.count_nonzero(y == 0) >= len(y) else None
    values, counts = np.unique(y, return_counts=True)
    most = int(np.argmax(counts))
    return float(values[most]) if counts[most] > 1 and 2 * counts[most] >= len(y) else None
