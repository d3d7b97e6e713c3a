"""``complete`` and ``robust_pca``: matrices of which entries are observed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.api.large_pca import is_large, split_large
from robustrank.api.running import interruption, new_run
from robustrank.backend import (
    Array,
    Seed,
    as_generator,
    check_count,
    full_precision,
    is_array,
    like,
    limited_blas_threads,
    namespace,
    threads_for,
    to_numpy,
)
from robustrank.completion import (
    Sample,
    Search,
    Solution,
    Watch,
    certified,
    fit_new_rows,
    unfinished,
)
from robustrank.completion.refinement import CUTOFF
from robustrank.inputs import as_operator
from robustrank.inputs.entries import Observed, Occupied, Usable, observed
from robustrank.linalg import lower_median
from robustrank.result import (
    RankTable,
    Result,
    SampledObservations,
    StopReason,
    frame_values,
    is_frame,
)
from robustrank.run import Callback, Run
from robustrank.uncertainty import with_entry_error_bars

_SOLVER = "ridge path and Gauss–Newton"
_NEAR_LARGEST = 1e-6  # typical values must be smaller than this share of the largest number


def complete(
    X: Any,
    rank: int | None = None,
    *,
    shape: tuple[int, int] | None = None,
    mask: Any = None,
    callback: Callback | None = None,
    time_limit: float | None = None,
    rng: Seed = 0,
) -> Result:
    """Complete a low-rank matrix from some of its entries, some of which are outliers.

    Parameters
    ----------
    X
        The observed entries, in one of these forms:

        - a matrix in which NaN marks missing entries, a masked array, or a matrix with ``mask``;
        - a ``scipy.sparse`` matrix or array, whose stored entries are observed, zeros too;
        - a tuple (rows, columns, values) of vectors, in any order; a position may occur several
          times, with different values;
        - a pandas data frame in which missing entries are missing values.

        NumPy arrays are used, and PyTorch and CuPy arrays on a GPU; arrays of other libraries are
        converted, and the factors converted back. Integers and booleans are converted to float64.
        Infinite values are missing, and marked as outliers.
    rank
        An upper bound on the rank. None: it is estimated.
    shape
        (n1, n2) if X is a tuple; by default as large as the largest indices.
    mask
        Boolean, True where the entry of a matrix X is observed.
    callback
        Called with a ``Progress`` object after every step; return True to stop.
    time_limit
        Seconds after which the run ends with what was found until then, which is not certified;
        ``Result.stopped`` is then TIME_LIMIT.
    rng
        Random seed or generator, for starting vectors and random subsets of entries. None: a
        different seed in every call.

    Returns
    -------
    Result
        The factors, the outliers, the rows and columns that are not determined, and a status that
        says whether the result can be used.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid; the message says what was passed and what is expected.
    Interrupted
        On Ctrl-C. It is a KeyboardInterrupt with the result so far in ``result``.

    See Also
    --------
    robustrank.robust_pca : If all entries are known.
    robustrank.recover : If the measurements are not single entries.
    robustrank.estimators.RobustImputer : The same as an estimator for scikit-learn.

    Examples
    --------
    >>> import robustrank as rr
    >>> planted = rr.simulate.plant_entries(40, 30, 2, 700, outliers=0.1, rng=1)
    >>> result = rr.complete(planted.incomplete)  # NaN marks missing entries
    >>> result.status.name, result.rank
    ('RECOVERED', 2)
    >>> bool(abs(result.matrix - planted.matrix).max() < 1e-9)
    True

    The same from triples; the entries of ``outliers`` are then in their order:

    >>> result = rr.complete(planted.triples, shape=(40, 30))
    >>> result.outliers.shape
    (700,)
    """
    run, generator = new_run(callback, time_limit), as_generator(rng)
    data = observed(X, shape, mask)
    _check_rank(rank, data.shape)
    result = _completed(data, rank, generator, run)
    if run.stopped is StopReason.INTERRUPTED:
        raise interruption(run, result)
    return result


def _completed(
    data: Observed, rank: int | None, generator: np.random.Generator, run: Run
) -> Result:
    """The result for observed entries, also if the run is stopped."""
    unit = _unit(data.values)
    usable = Usable(data.values, unit)
    part = Occupied(usable.of(data.rows), usable.of(data.columns), data.shape)

    def in_user_units(left: Array, right: Array) -> tuple[Array, Array]:
        factors = part.expanded(left * math.sqrt(unit), right * math.sqrt(unit))
        return data.returned(factors[0]), data.returned(factors[1])

    watch = Watch(run, in_user_units)
    threads = limited_blas_threads(threads_for(int(data.values.shape[0])))
    with full_precision(data.values), np.errstate(all="ignore"), threads:
        sample = Sample.of(part.entries, usable.of(data.values) / unit)

        table: RankTable | None = None
        solution: Solution | None = None
        with run:
            search = Search(sample, generator, watch)
            solution = search.run(None if rank is None else min(rank, *sample.shape))
            table = search.rank_table(solution) if rank is None else None
        tested = solution is not None
        solution = solution or unfinished(sample, watch.latest)
        certificate = certified(solution, sample.size, unit, tested=tested)
        factors = in_user_units(solution.left, solution.right)
        xp, places = namespace(solution.left), part.entries.row_places
        inliers = xp.asarray(solution.inliers, device=like(solution.left)["device"])
        outliers = data.arranged(usable.flags_of_all(~xp.take(inliers, places)))
        residual = xp.take(sample.residual(solution.left, solution.right), places) * unit
    rows, columns = part.missing(~solution.support.rows, ~solution.support.columns)
    noise, typical = solution.noise * unit, sample.deviation * unit
    result = Result(
        left=factors[0],
        right=factors[1],
        outliers=data.returned(outliers) if data.as_frame is None else data.as_frame(outliers),
        certificate=certificate,
        observations=SampledObservations(
            data.rows, data.columns, usable.values_of_all(residual, data.values)
        ),
        noise=noise,
        typical_size=typical,
        cutoff=max(CUTOFF * noise, solution.tolerance * typical),
        stopped=run.stopped,
        undecided_rows=_named(rows, data.row_labels),
        undecided_columns=_named(columns, data.column_labels),
        rank_table=table,
        solver=_SOLVER,
        iterations=watch.steps,
        seconds=run.seconds,
        row_labels=data.row_labels,
        column_labels=data.column_labels,
        as_frame=data.as_frame,
        fit_new_rows=fit_new_rows,
    )
    return with_entry_error_bars(result, as_operator)


def robust_pca(
    X: Any,
    rank: int | None = None,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
    rng: Seed = 0,
) -> Result:
    """Split a matrix into one of low rank and a sparse one, X = L + S.

    Parameters
    ----------
    X
        The matrix, without missing entries: an (n1, n2) array or a pandas data frame. Infinite
        values are allowed: they are missing, and marked as outliers.
    rank, callback, time_limit, rng
        As for ``complete``.

    Returns
    -------
    Result
        L is ``matrix``, or the factors ``left`` and ``right``; S is ``sparse``, and ``outliers``
        marks where it is not zero.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid, for example if X has missing entries; use ``complete`` for those.
    Interrupted
        On Ctrl-C. It is a KeyboardInterrupt with the result so far in ``result``.

    See Also
    --------
    robustrank.complete : If entries are missing.
    robustrank.estimators.RobustPCA : Principal components, as an estimator for scikit-learn.

    Notes
    -----
    A NumPy array with more than 30 million entries is not copied: the column space is found from
    some of the columns (or rows, if there are more of them), and the others are fitted to it in
    blocks. A component that occurs in hardly any of the columns is then not found; columns that
    most entries contradict are reported as undecided.

    Examples
    --------
    >>> import numpy as np
    >>> import robustrank as rr
    >>> rng = np.random.default_rng(1)
    >>> L = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    >>> X = L.copy()
    >>> X[rng.random(X.shape) < 0.05] = 10.0
    >>> result = rr.robust_pca(X)
    >>> result.status.name, result.rank
    ('RECOVERED', 2)
    >>> bool(abs(result.matrix - L).max() < 1e-9)
    True
    >>> bool((result.outliers == (X != L)).all())
    True
    """
    values = frame_values(X) if is_frame(X) else X if is_array(X) else np.asarray(X)
    if isinstance(X, np.ma.MaskedArray) or values.dtype == object:
        raise TypeError("X is a masked array or has objects; expected numbers, or use complete(X)")
    xp = namespace(values)
    if xp.isdtype(values.dtype, "real floating") and bool(xp.any(xp.isnan(values))):
        raise ValueError("X has missing entries (NaN); use complete(X)")
    if not is_large(X):
        return complete(X, rank, callback=callback, time_limit=time_limit, rng=rng)
    run, generator = new_run(callback, time_limit), as_generator(rng)
    _check_rank(rank, X.shape)
    result = split_large(X, rank, generator, run)
    if run.stopped is StopReason.INTERRUPTED:
        raise interruption(run, result)
    return result


def _check_rank(rank: int | None, shape: tuple[int, int]) -> None:
    if rank is None:
        return
    check_count(rank=rank)
    n1, n2 = shape
    if rank > min(n1, n2):
        raise ValueError(
            f"rank={rank} is larger than min(n1, n2) = {min(n1, n2)} for a {n1} × {n2} matrix"
        )


def _unit(values: Array) -> float:
    """A power of two near the size of a typical value other than zero."""
    magnitudes = np.abs(to_numpy(values))
    finite = magnitudes[np.isfinite(magnitudes)]
    if not len(finite):
        raise ValueError("all observed entries are infinite; expected other values")
    used = finite[finite > 0]
    if not len(used):
        return 1.0
    typical, largest = float(lower_median(used)), float(np.finfo(used.dtype).max)
    if typical > _NEAR_LARGEST * largest:
        raise ValueError(
            f"typical values of size {typical:.3g} are near the largest number of {used.dtype}, "
            f"{largest:.3g}; rescale the data"
        )
    return float(2.0 ** np.clip(np.round(np.log2(typical)), -1000, 1000))


def _named(flags: np.ndarray[Any, Any], labels: Any) -> np.ndarray[Any, Any]:
    """The numbers of the flagged rows or columns, or their labels."""
    numbers = np.flatnonzero(flags)
    return numbers if labels is None else np.asarray(labels[numbers])
