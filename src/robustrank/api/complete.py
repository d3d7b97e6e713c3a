"""``complete`` and ``robust_pca``: matrices of which entries are observed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robustrank.api.running import new_run, returned
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
from robustrank.certificate import Support
from robustrank.completion import (
    Sample,
    Search,
    Solution,
    Watch,
    certified,
    fit_new_rows,
    solve_by_columns,
    unsupported,
)
from robustrank.inputs import as_operator
from robustrank.inputs.entries import Observed, Occupied, Usable, observed
from robustrank.linalg import Factors, lower_median
from robustrank.noise import PossibleLaws, relative_sizes
from robustrank.problem import power_of_two
from robustrank.result import (
    Certificate,
    MatrixObservations,
    RankTable,
    Result,
    SampledObservations,
    frame_values,
    is_frame,
)
from robustrank.run import Callback, Run
from robustrank.uncertainty import with_entry_error_bars

Vector = np.ndarray[Any, Any]

_NEAR_LARGEST = 1e-6  # typical values must be smaller than this share of the largest number
# Matrices with more entries are not copied: these would be sorted and copied several times
# otherwise, 190 bytes for each.
_LARGE = 30_000_000


def complete(
    X: Any,
    rank: int | None = None,
    *,
    shape: tuple[int, int] | None = None,
    mask: Any = None,
    noise_scale: Any = None,
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
    noise_scale
        The size of the noise of each entry if it is known, positive numbers: a matrix, or a vector
        for triples; only their ratios are used. By default, ``Result.noise_model`` is the model
        with the most evidence: noise that is equal for all entries, that grows with the entry, or
        with a level for each row or column.
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
    known = _known_noise(data, noise_scale)
    return returned(run, _completed(data, rank, generator, run, known))


def robust_pca(
    X: Any,
    rank: int | None = None,
    *,
    noise_scale: Any = None,
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
    rank, noise_scale, callback, time_limit, rng
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
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _LARGE):
        return complete(
            X, rank, noise_scale=noise_scale, callback=callback, time_limit=time_limit, rng=rng
        )
    if noise_scale is not None:
        raise ValueError(
            f"noise_scale is not used for matrices with more than {_LARGE:,} entries; leave it out"
        )
    run, generator = new_run(callback, time_limit), as_generator(rng)
    _check_rank(rank, X.shape)
    return returned(run, _completed_by_columns(X, rank, generator, run))


def _known_noise(data: Observed, noise_scale: Any) -> Array | None:
    """The relative size of the noise of each entry if it was passed, also as a matrix."""
    if noise_scale is None:
        return None
    given = frame_values(noise_scale) if is_frame(noise_scale) else noise_scale
    if np.shape(given) == data.shape:
        given = np.asarray(given)[to_numpy(data.rows), to_numpy(data.columns)]
    return relative_sizes(given, data.values)


def _completed(
    data: Observed,
    rank: int | None,
    generator: np.random.Generator,
    run: Run,
    known_noise: Array | None,
) -> Result:
    """The result for observed entries, also if the run is stopped."""
    unit = _unit(data.values)
    usable = Usable(data.values, unit)
    part = Occupied(usable.of(data.rows), usable.of(data.columns), data.shape)

    def in_user_units(left: Array, right: Array) -> tuple[Array, Array]:
        factors = part.expanded(left * math.sqrt(unit), right * math.sqrt(unit))
        return data.returned(factors[0]), data.returned(factors[1])

    watch = Watch(run, in_user_units)
    with (
        full_precision(data.values),
        np.errstate(all="ignore"),
        limited_blas_threads(threads_for(int(data.values.shape[0]))),
    ):
        sample = Sample.of(
            part.entries,
            usable.of(data.values) / unit,
            None if known_noise is None else usable.of(known_noise),
            1 / unit,
            PossibleLaws(data.values),
        )

        table: RankTable | None = None
        found: Solution | None = None
        with run:
            search = Search(sample, generator, watch)
            found = search.run(None if rank is None else min(rank, *sample.shape))
            table = search.rank_table(found) if rank is None else None
        solution = found or unsupported(sample, watch.latest)
        certificate = certified(solution, sample.size, unit, tested=found is not None)
        left, right = in_user_units(solution.left, solution.right)
        xp, places = namespace(solution.left), part.entries.row_places
        inliers = xp.asarray(solution.inliers, device=like(solution.left)["device"])
        outliers = data.arranged(usable.flags_of_all(~xp.take(inliers, places)))
        residual = xp.take(sample.residual(solution.left, solution.right), places) * unit
        noise_sizes = solution.noise_sizes
        if noise_sizes is not None:  # of infinite entries, nothing is known
            given = xp.take(noise_sizes, places)
            noise_sizes = usable.values_of_all(given, xp.ones_like(data.values))
    rows, columns = part.missing(~solution.support.rows, ~solution.support.columns)
    result = _result(
        solution,
        certificate,
        run,
        watch,
        unit=unit,
        left=left,
        right=right,
        outliers=data.returned(outliers) if data.as_frame is None else data.as_frame(outliers),
        noise_sizes=noise_sizes,
        observations=SampledObservations(
            data.rows, data.columns, usable.values_of_all(residual, data.values)
        ),
        undecided_rows=_named(rows, data.row_labels),
        undecided_columns=_named(columns, data.column_labels),
        rank_table=table,
        solver="ridge path and Gauss–Newton",
        row_labels=data.row_labels,
        column_labels=data.column_labels,
        as_frame=data.as_frame,
    )
    return with_entry_error_bars(result, as_operator)


def _completed_by_columns(
    X: Vector, rank: int | None, generator: np.random.Generator, run: Run
) -> Result:
    """The result for a large matrix; one with more rows than columns is transposed."""
    transposed = X.shape[0] > X.shape[1]
    given = X.T if transposed else X
    entries, watch = int(np.count_nonzero(np.isfinite(X))), Watch(run)

    found: Solution | None = None
    with np.errstate(all="ignore"):
        with run:
            found = solve_by_columns(given, rank, generator, watch)
        solution = found or _nothing_supported(given.shape, watch.latest)
        certificate = certified(solution, entries, tested=found is not None)
    left, right = np.asarray(solution.left), np.asarray(solution.right)
    rows, columns = ~solution.support.rows, ~solution.support.columns
    outliers = ~solution.inliers.reshape(given.shape)
    if transposed:
        left, right, rows, columns, outliers = right, left, columns, rows, outliers.T
    return _result(
        solution,
        certificate,
        run,
        watch,
        left=left,
        right=right,
        outliers=outliers,
        observations=MatrixObservations(X, left, right),
        undecided_rows=np.flatnonzero(rows),
        undecided_columns=np.flatnonzero(columns),
        solver="blocks of columns",
    )


def _nothing_supported(shape: tuple[int, ...], latest: Factors | None) -> Solution:
    """What a run that was stopped had found: the latest factors, supported by nothing."""
    rows, columns = (np.zeros(n, bool) for n in shape)
    left, right = latest or (np.zeros((n, 1)) for n in shape)
    support = Support(rows, columns, np.zeros(math.prod(shape), bool))
    return Solution(left, right, ~support.fitted, support, noise=math.nan, typical=math.nan)


def _result(
    solution: Solution,
    certificate: Certificate,
    run: Run,
    watch: Watch,
    *,
    unit: float = 1.0,
    **parts: Any,
) -> Result:
    """The result with a solution, of which ``unit`` is the unit in that of the data."""
    return Result(
        certificate=certificate,
        noise=solution.noise * unit,
        noise_model=solution.noise_model.in_unit(unit),
        typical_size=solution.typical * unit,
        cutoff=solution.cutoff * unit,
        stopped=run.stopped,
        iterations=watch.steps,
        seconds=run.seconds,
        fit_new_rows=fit_new_rows,
        **parts,
    )


def _check_rank(rank: int | None, shape: tuple[int, int]) -> None:
    if rank is not None:
        check_count(rank=rank)
    if rank is not None and rank > min(shape):
        raise ValueError(
            f"rank={rank} is larger than min(n1, n2) = {min(shape)} for a {shape[0]} × {shape[1]} "
            "matrix"
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
    return power_of_two(typical)


def _named(flags: Vector, labels: Any) -> Vector:
    """The numbers of the flagged rows or columns, or their labels."""
    numbers = np.flatnonzero(flags)
    return numbers if labels is None else np.asarray(labels[numbers])
