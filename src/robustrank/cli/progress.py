"""Progress bars for long operations."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from robustrank.run import Callback
from robustrank.run import Progress as Step

_PLAIN_EVERY = 10.0  # seconds between two lines if stderr is not a terminal

Meter = Callable[[float, str], None]  # fraction done, between 0 and 1, and a note


@contextlib.contextmanager
def meter(title: str, quiet: bool = False) -> Iterator[Meter]:
    """Show progress on stderr: a bar on a terminal, a line every ten seconds otherwise."""
    console = Console(stderr=True)
    if quiet:
        yield _silent
    elif not console.is_terminal:
        with _lines(console, title) as show_line:
            yield show_line
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
                done = max(bar.tasks[0].completed, fraction)
                # The first note at once: the next call may come after several passes.
                bar.update(task, completed=done, note=note, refresh=done == 0)

            yield show


def solver_callback(show: Meter) -> Callback:
    """A callback that shows the progress of a solver."""
    return lambda progress: show(
        progress.fraction, f"misfit {progress.misfit:.1e}, iteration {progress.iteration:,}"
    )


def stage_callback(show: Meter) -> Callback:
    """A callback that shows what is done, of a search without a single solver."""

    def callback(progress: Step) -> None:
        show(progress.fraction, progress.stage)

    return callback


def _silent(_fraction: float, _note: str) -> None:
    pass


@contextlib.contextmanager
def _lines(console: Console, title: str) -> Iterator[Meter]:
    """Print the latest state every ten seconds if it has changed, also while nothing is called."""
    latest: list[str] = []
    ended = threading.Event()

    def show(fraction: float, note: str) -> None:
        done = f"about {fraction:.0%}" if fraction or not note else ""
        latest[:] = [", ".join(filter(None, (done, note)))]

    def print_lines() -> None:
        printed: list[str] = []
        while not ended.wait(_PLAIN_EVERY):
            if latest != printed:
                printed = list(latest)
                console.print(f"{title}: {printed[0]}", highlight=False)

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()
