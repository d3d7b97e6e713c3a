"""Progress bars for long operations."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from robustrank.solvers import Callback

_PLAIN_EVERY = 10.0  # seconds between two lines if stderr is not a terminal

Meter = Callable[[float, str], None]  # fraction done, between 0 and 1, and a note


@contextlib.contextmanager
def meter(title: str, quiet: bool = False) -> Iterator[Meter]:
    """Show progress on stderr: a bar on a terminal, a line every ten seconds otherwise."""
    console = Console(stderr=True)
    if quiet:
        yield _silent
    elif not console.is_terminal:
        yield _lines(console, title)
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(title, total=1.0, note="")

            def show(fraction: float, note: str) -> None:
                bar.update(task, completed=max(bar.tasks[0].completed, fraction), note=note)

            yield show


def solver_callback(show: Meter) -> Callback:
    """A callback that shows the progress of a solver."""
    return lambda progress: show(
        progress.fraction, f"misfit {progress.misfit:.1e}, iteration {progress.iteration:,}"
    )


def _silent(_fraction: float, _note: str) -> None:
    pass


def _lines(console: Console, title: str) -> Meter:
    last = time.monotonic()

    def show(fraction: float, note: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_EVERY:
            last = time.monotonic()
            console.print(f"{title}: about {fraction:.0%}, {note}", highlight=False)

    return show
