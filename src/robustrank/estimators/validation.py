"""From what scikit-learn users pass to the arrays that are computed with."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from robustrank.backend import Array, as_floating, library, like, namespace
from robustrank.result import check_numeric, is_frame


def fitting_data(estimator: Any, X: Any, **options: Any) -> Any:
    """X, or X and y with ``y=…``, checked by scikit-learn; sets the number and names of features.

    Floating-point numbers keep their precision; others become float64.
    """
    _check_frame(X)
    checked = validate_data(estimator, X, **options)
    if isinstance(checked, tuple):
        return as_floating(checked[0], "X"), checked[1]
    return as_floating(checked, "X")


def new_data(estimator: Any, X: Any, fitted: str, method: str, **options: Any) -> Array:
    """X for a method of a fitted estimator, checked by scikit-learn.

    With array API dispatch, X must belong to the library of the attribute that is named.
    """
    check_is_fitted(estimator)
    _check_frame(X)
    checked = as_floating(validate_data(estimator, X, reset=False, **options), "X")
    used, expected = library(checked), library(getattr(estimator, fitted))
    if used != expected:
        raise ValueError(
            f"X is a {used} array, but the estimator was fitted with {expected} arrays; inputs of "
            f"{type(estimator).__name__}.{method}() must use the same namespace as those of fit()"
        )
    return checked


def in_library_of(data: Array, values: np.ndarray[Any, Any], dtype: Any = None) -> Array:
    """NumPy values in the library and on the device of the data."""
    return namespace(data).asarray(values, dtype=dtype, device=like(data)["device"])


def _check_frame(X: Any) -> None:
    """Raise for a data frame with text or dates, which scikit-learn converts if it can."""
    if is_frame(X):
        check_numeric(X)


def seed_of(random_state: Any) -> int:
    """A seed from an integer, a ``RandomState`` or None, as scikit-learn understands them."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
