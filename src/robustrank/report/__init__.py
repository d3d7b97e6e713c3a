"""The report: one self-contained HTML page about a recovery, with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from robustrank.files import PathLike, atomic_writer
from robustrank.metrics import Truth
from robustrank.result import Recovery

__all__ = ["render_report", "require_report_libraries", "write_report"]


def render_report(
    recovery: Recovery,
    *,
    truth: Truth | None = None,
    compare_with: Sequence[Recovery] = (),
    title: str | None = None,
) -> str:
    """The page as one HTML string that needs no network, no scripts and no other files.

    Parameters
    ----------
    recovery
        The result that the page is about.
    truth
        The ground truth, if it is known; the page then shows the error of the recovery.
    compare_with
        Results of other solvers for the same problem, to compare with.
    title
        The heading; by default it describes the matrix.

    Raises
    ------
    ImportError
        If matplotlib or Jinja2 is not installed.
    ValueError
        If ``truth`` or one of ``compare_with`` belongs to a problem of another size.
    """
    require_report_libraries()
    from robustrank.report.page import assemble

    return assemble(recovery, truth, tuple(compare_with), title)


def require_report_libraries() -> None:
    """Raise an ImportError that says what to install if a library for the page is missing."""
    for library in ("matplotlib", "jinja2"):
        try:
            import_module(library)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"the report needs {library}; install it with: pip install 'robustrank[report]'"
            ) from error


def write_report(
    path: PathLike,
    recovery: Recovery,
    *,
    truth: Truth | None = None,
    compare_with: Sequence[Recovery] = (),
    title: str | None = None,
) -> None:
    """Write the page of ``render_report`` to a file, atomically."""
    page = render_report(recovery, truth=truth, compare_with=compare_with, title=title)
    with atomic_writer(path) as stream:
        stream.write(page.encode())
