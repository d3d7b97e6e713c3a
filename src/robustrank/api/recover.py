"""``recover``: one problem."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from robustrank.api.complete import complete
from robustrank.api.running import (
    checked_problem,
    checked_start,
    engine_of,
    memory_needed,
    new_run,
    positive_semidefinite,
    returned,
    solver_from,
    validation,
    with_remedy,
)
from robustrank.backend import (
    Seed,
    as_generator,
    explain_memory_errors,
    limited_blas_threads,
    threads_for,
    to_numpy,
)
from robustrank.inputs import as_operator, is_in_memory
from robustrank.linalg import symmetric_point
from robustrank.operators import Entries
from robustrank.outofcore import how_it_was_read
from robustrank.result import Result, StopReason
from robustrank.run import Callback
from robustrank.search import nothing_found, solve
from robustrank.solvers import Portfolio, Solver
from robustrank.uncertainty import recovery_error_bars


def recover(
    A: Any,
    y: Any,
    rank: int | None = None,
    *,
    shape: tuple[int, int] | None = None,
    solver: str | Solver[Any] | Portfolio = "auto",
    callback: Callback | None = None,
    time_limit: float | None = None,
    device: str | None = None,
    rng: Seed = 0,
    symmetric: bool = False,
    psd: bool = False,
    memory_limit: int | str | None = None,
    client: Any = None,
    start: Result | tuple[Any, Any] | None = None,
    groups: Any = None,
    noise_scale: Any = None,
) -> Result:
    """Recover a low-rank matrix M from measurements y_i = <A_i, M>, some of which are outliers.

    Parameters
    ----------
    A
        The sensing matrices: an (m, n1, n2) array, an (m, n1*n2) array together with ``shape``, or
        an operator. NumPy, PyTorch, JAX and CuPy arrays are accepted. Arrays of float32 or float64
        are never copied. Integers and booleans are converted to float64, and half-precision numbers
        to float32; integers of 2^53 or more raise an error.
        An (m, n1*n2) matrix or array of ``scipy.sparse`` is accepted, and a ``LinearOperator`` of
        SciPy or PyLops that acts on M in row-major order; an error is raised if its ``rmatvec`` is
        not the transpose of its ``matvec``. For y_i = a_iᵀ M b_i, use ``operators.Bilinear``.
        With ``operators.Entries`` and the default solver, the matrix is completed as by
        ``complete``.
        Data that may be larger than memory is read in blocks: a memory-mapped array, the path of an
        ``.npy`` file, a ``.zarr`` folder or a dataset of HDF5 (``"file.h5:/A"``), a list of such
        paths, a dataset of h5py, an array of zarr, or ``operators.Seeded``. With ``client``, also a
        dask array chunked along its first axis.
    y
        The m measurements, of the same dtypes. Outliers may have any size, infinity included.
    rank
        The rank of M or an upper bound on it. With ``solver="auto"`` a lower rank is used if the
        result can be certified with it. None: it is estimated, and ``Result.rank_table`` compares
        it with other ranks.
    shape
        (n1, n2), needed only if A is two-dimensional; an operator of PyLops may know it.
    solver
        ``"auto"`` (Gauss–Newton and message passing in several variants, until a result is
        certified), ``"gauss-newton"``, ``"message-passing"``, ``"median-tgd"`` (the paper's
        method), ``"vanilla-gd"``, or a solver object such as ``MedianTGD(step_size=0.3)``.
    callback
        Called with a ``Progress`` object every few iterations; return True to stop.
    time_limit
        Seconds after which the run ends with the best result so far; ``Result.stopped`` is then
        TIME_LIMIT. A result is certified only if its certificate was computed within this time.
        Infinity means no limit.
    device
        ``"cuda"``, ``"cuda:1"`` or ``"cpu"``: move A and y there first, unless A is an operator.
        On a GPU, NumPy arrays become PyTorch tensors. The factors stay on the device. By default
        the computation runs where A is.
    rng
        Random seed or generator; used for the initial vector of the SVD of large matrices. None: a
        different seed in every call.
    symmetric
        Whether M is known to be symmetric. It then has about half of the degrees of freedom, and
        A_i and A_iᵀ measure the same; the result is symmetric.
    psd
        Whether M is known to be symmetric and positive semidefinite. A result with a negative
        eigenvalue is not certified.
    memory_limit
        How much memory the process may use if A is read in blocks, in bytes or as text such as
        ``"2GB"``; default: half of what is available. ``Result.data`` says how the data was read.
    client
        A ``distributed.Client``: the computation runs on the workers of its cluster, which read A
        themselves; needs ``pip install 'robustrank[cluster]'``.
    start
        A result, or its factors (left, right), from which the first solver continues. Without
        ``rank``, the search for the rank continues from there.
    groups
        The group that each measurement belongs to, such as its sensor: m labels, text or numbers.
        Groups may have noise of different levels, and some of them may be wrong altogether: dead,
        stuck at a value, with an offset or a gain, or exchanged. With the default solver, these are
        rejected as a whole; ``Result.groups`` is a table of what is wrong with each.
    noise_scale
        The size of the noise of each measurement if it is known, m positive numbers; only their
        ratios are used. By default, ``Result.noise_model`` is the model with the most evidence:
        noise that is equal for all measurements, in proportion to the norms of the A_i, or growing
        with what is measured.

    Returns
    -------
    Result
        The factors, the outliers, and a status that says whether the result can be used.

    Raises
    ------
    ValueError, TypeError
        If the input is invalid; the message says what was passed and what is expected.
    Interrupted
        On Ctrl-C. It is a KeyboardInterrupt with the result so far in ``result``. During the
        validation of the input there is no result, and a plain KeyboardInterrupt is raised.
    SensingDataLost
        If a file can no longer be read or all workers of a cluster are gone; it has the result so
        far in ``result``.
    OSError
        If A cannot be read during the validation of the input.
    TimeoutError
        If the time limit was reached while data on a disk or a cluster was validated.

    See Also
    --------
    robustrank.complete : If the measurements are entries of the matrix.
    robustrank.recover_many : Many problems, in batches on a GPU.
    robustrank.plan : How many measurements are needed.
    robustrank.operators.Bilinear : Measurements of the form a_iᵀ M b_i.

    Examples
    --------
    A problem with a known solution, in which 5 % of the measurements are wrong:

    >>> import robustrank as rr
    >>> planted = rr.simulate.plant(20, 15, rank=2, measurements=400, outliers=0.05, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=2)
    >>> result.status.name
    'RECOVERED'
    >>> bool((result.outliers == planted.outliers).all())
    True
    >>> bool(abs(result.matrix - planted.matrix).max() < 1e-9)
    True

    Without the rank:

    >>> rr.recover(planted.A, planted.y).rank
    2
    """
    plain = start is None and client is None and not (symmetric or psd)
    plain = plain and groups is None and noise_scale is None
    if isinstance(A, Entries) and solver == "auto" and plain:
        return complete(
            (A.rows, A.columns, y),
            rank,
            shape=A.matrix_shape,
            callback=callback,
            time_limit=time_limit,
            rng=rng,
        )
    chosen = solver_from(solver)
    run = new_run(callback, time_limit)
    elsewhere = client is not None or not is_in_memory(A)  # where the data is
    with validation(), explain_memory_errors(memory_needed(A)):
        problem = checked_problem(
            A,
            y,
            1 if rank is None else rank,
            shape,
            device,
            symmetric or psd,
            memory_limit=memory_limit,
            engine=engine_of(client, run.check) if elsewhere else None,
            noise_scale=noise_scale,
            groups=groups,
        )
        factors = (
            None if start is None else checked_start(start, problem.operator.matrix_shape, rank)
        )
        if factors is not None and problem.symmetric:
            factors = symmetric_point(*map(to_numpy, factors)).balanced
    result: Result | None = None

    def finished(result: Result) -> Result:
        whole = replace(
            positive_semidefinite(result) if psd else result,
            passes=problem.counter.passes,
            seconds=run.seconds,
            stopped=run.stopped or result.stopped,
            data=how_it_was_read(problem.operator) if elsewhere else "",
            symmetric=symmetric or psd,
        )
        return replace(whole, accuracy=partial(recovery_error_bars, problem, whole, as_operator))

    with run:
        with (
            explain_memory_errors(memory_needed(A)),
            limited_blas_threads(threads_for(problem.numbers)),
        ):
            result = solve(
                problem,
                chosen,
                as_generator(rng),
                run,
                rank_is_known=rank is not None,
                start=factors,
            )
        if run.stopped is not StopReason.INTERRUPTED:
            return finished(with_remedy(result, problem, rank))
    return returned(run, finished(result or nothing_found(problem, chosen.solvers[0])))
