"""``partial_fit``: the model of all batches of rows so far."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

from robustrank.api.streaming import Stream
from robustrank.backend import Array, to_numpy
from robustrank.estimators.validation import fitting_data, seed_of

_OF_TRAINING_DATA = "result_", "cell_outliers_", "row_outliers_"


def with_batch(
    estimator: Any, X: Any, rank: int | None = None, *, transform_skewed: bool = True
) -> tuple[Array, Stream]:
    """A batch checked by scikit-learn, and the stream after it, which continues from ``fit``.

    What only ``fit`` knows about its training data is removed from the estimator.
    """
    forgetting = checked_forgetting(estimator.forgetting)
    first = not hasattr(estimator, "n_samples_seen_")
    data = fitting_data(
        estimator, X, reset=first, ensure_all_finite=False, ensure_min_samples=2 if first else 1
    )
    stream = getattr(estimator, "_stream", None)
    if stream is None:
        seed = seed_of(estimator.random_state)
        result = getattr(estimator, "result_", None)
        stream = Stream(forgetting, rank, seed, transform_skewed)
        stream = stream if result is None else stream.continued_from(result)
    stream = replace(stream, forgetting=forgetting, rank=rank).updated(to_numpy(data).astype(float))
    for name in _OF_TRAINING_DATA:
        vars(estimator).pop(name, None)
    estimator.n_samples_seen_ = len(data) + (0 if first else estimator.n_samples_seen_)
    return data, stream


def checked_forgetting(forgetting: Any) -> float:
    """The factor of ``forgetting``, or an error."""
    if not isinstance(forgetting, Real) or not 0 < float(forgetting) <= 1:
        raise ValueError(
            f"forgetting={forgetting!r}; expected a number greater than 0 and at most 1, such as "
            "0.5 ** (1 / 1000) for a half-life of 1,000 rows"
        )
    return float(forgetting)
