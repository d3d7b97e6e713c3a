"""One page about a recovery: a single HTML file with its figures inside, to show a colleague."""

from __future__ import annotations

from collections.abc import Sequence

from robustrank.files import PathLike, atomic_writer
from robustrank.metrics import Truth
from robustrank.result import Recovery

__all__ = ["render_report", "require_matplotlib", "write_report"]


def render_report(
    recovery: Recovery,
    *,
    truth: Truth | None = None,
    beside: Sequence[Recovery] = (),
    title: str | None = None,
) -> str:
    """The page as HTML that needs nothing else: no network, no scripts, no other files.

    Parameters
    ----------
    recovery
        What the page is about.
    truth
        The planted answer, where there is one; the page then says how far off the recovery is.
    beside
        Recoveries of the same problem by other solvers, to compare with.
    title
        The heading; by default it names the matrix.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    ValueError
        When ``truth`` or one of ``beside`` belongs to a problem of another size.
    """
    require_matplotlib()
    from robustrank.report.page import assemble

    return assemble(recovery, truth, tuple(beside), title)


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install, where a page could not be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            "the report needs matplotlib; install it with: pip install 'robustrank[report]'"
        ) from error


def write_report(
    path: PathLike,
    recovery: Recovery,
    *,
    truth: Truth | None = None,
    beside: Sequence[Recovery] = (),
    title: str | None = None,
) -> None:
    """Write the page of ``render_report`` to a file, which appears whole or not at all."""
    page = render_report(recovery, truth=truth, beside=beside, title=title)
    with atomic_writer(path) as stream:
        stream.write(page.encode())
