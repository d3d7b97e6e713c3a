"""The report: one self-contained HTML page about a result, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from robustrank.files import PathLike, atomic_writer
from robustrank.metrics import Truth
from robustrank.result import Result

__all__ = ["render_report", "require_report_libraries", "write_report"]


def render_report(
    result: Result,
    *,
    truth: Truth | None = None,
    compare_with: Sequence[Result] = (),
    title: str | None = None,
    row_labels: Sequence[Any] | None = None,
    column_labels: Sequence[Any] | None = None,
) -> str:
    """The report about a result as one HTML string that needs no network, scripts or other files.

    Parameters
    ----------
    result
        The result that the page is about: of ``recover``, ``complete``, ``robust_pca`` or
        ``clean``.
    truth
        The ground truth, if it is known; the page then shows the error. The outliers of entries are
        one for each, in the order of ``result.entries``, or a matrix; those of
        ``simulate.plant_entries`` may be in any order.
    compare_with
        Other results for the same problem, to compare with.
    title
        The heading; by default it describes the matrix.
    row_labels, column_labels
        One label for each row or column of the matrix; by default those of its data frame, or
        numbers.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ImportError
        If matplotlib or Jinja2 is not installed.
    TypeError
        If the result is not a ``Result``.
    ValueError
        If ``truth`` or one of ``compare_with`` belongs to a problem of another size or is passed
        for a table, or the number of labels is not that of the rows or columns.

    See Also
    --------
    robustrank.report.write_report : Write the page to a file.

    Examples
    --------
    >>> import robustrank as rr
    >>> from robustrank.report import render_report
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, outliers=0.1, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=1)
    >>> page = render_report(result, truth=planted)  # doctest: +SKIP
    """
    require_report_libraries()
    if not isinstance(result, Result):
        raise TypeError(
            f"result is a {type(result).__name__}; expected a Result, as recover, complete and "
            "robust_pca return"
        )
    if result.table is not None:
        if truth is not None or len(compare_with):
            raise ValueError("truth and compare_with are not for results of clean; omit them")
        from robustrank.report.table_page import assemble as assemble_table

        return assemble_table(result, title, row_labels, column_labels)
    from robustrank.report.page import assemble

    return assemble(result, truth, tuple(compare_with), title, row_labels, column_labels)


def require_report_libraries() -> None:
    """Raise an ImportError that says what to install if a library for the report is missing.

    Call it before a long computation whose result goes into a report.

    See Also
    --------
    robustrank.report.write_report : Calls it.

    Examples
    --------
    >>> from robustrank.report import require_report_libraries
    >>> require_report_libraries()
    """
    for library in ("matplotlib", "jinja2"):
        require(library, "the report")


def require(library: str, user: str) -> None:
    """Raise an ImportError that says who needs a library, and how to install it."""
    try:
        import_module(library)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{user} needs {library}; install it with: pip install 'robustrank[report]'"
        ) from error


def write_report(
    path: PathLike,
    result: Result,
    *,
    truth: Truth | None = None,
    compare_with: Sequence[Result] = (),
    title: str | None = None,
    row_labels: Sequence[Any] | None = None,
    column_labels: Sequence[Any] | None = None,
) -> None:
    """Write a report about a result to one HTML file, which needs no network and no other files.

    Parameters
    ----------
    path
        The name of the file. An existing file is replaced, but not if there is an error.
    result, truth, compare_with, title, row_labels, column_labels
        As for ``render_report``.

    Raises
    ------
    ImportError, TypeError, ValueError
        As for ``render_report``.

    See Also
    --------
    robustrank.report.render_report : The page as a string.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import robustrank as rr
    >>> from robustrank.report import write_report
    >>> planted = rr.simulate.plant(12, 10, rank=1, measurements=200, outliers=0.1, rng=1)
    >>> result = rr.recover(planted.A, planted.y, rank=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(f"{folder}/report.html", result)
    ...     print([path.name for path in Path(folder).iterdir()])
    ['report.html']
    """
    page = render_report(
        result,
        truth=truth,
        compare_with=compare_with,
        title=title,
        row_labels=row_labels,
        column_labels=column_labels,
    )
    with atomic_writer(path) as stream:
        stream.write(page.encode())
