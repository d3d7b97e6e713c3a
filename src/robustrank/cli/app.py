"""The command line: the group of commands, and how errors are reported."""

from __future__ import annotations

import signal
import warnings
from types import FrameType
from typing import Any, NoReturn

import click

import robustrank
from robustrank.backend import DeviceMemoryError
from robustrank.cli.clean import clean
from robustrank.cli.complete import complete
from robustrank.cli.demo import demo
from robustrank.cli.doctor import doctor
from robustrank.cli.plan import plan
from robustrank.cli.recover import recover
from robustrank.cli.simulate import simulate
from robustrank.cli.streams import harden_output
from robustrank.operators import DataLost

OK, NOT_CONVERGED, BAD_INPUT = 0, 1, 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(robustrank.__version__, prog_name="robustrank")
def app() -> None:
    """Recover a low-rank matrix from linear measurements, some of which are outliers.

    \b
    Demonstration:      robustrank demo
    Plan an experiment: robustrank plan 150x120 --rank 5 --outliers 0.1
    Create a problem:   robustrank simulate problem.npz --shape 60x50 --rank 3 -m 1500
    Solve it:           robustrank recover problem.npz --rank 3 --report report.html
    Complete a matrix:  robustrank complete ratings.csv --rows user --columns item --values rating
    Clean a table:      robustrank clean table.csv --out clean.csv --cells wrong-cells.csv
    Check the machine:  robustrank doctor

    Exit status: 0 certified result, or a table whose cells are predicted; 1 no such result, or
    interrupted; 2 invalid input or another error.
    """  # noqa: D301


for command in (demo, plan, simulate, recover, complete, clean, doctor):
    app.add_command(command)


def run() -> int:
    """Run the command line and return its exit status; an error is one line on stderr."""
    warnings.showwarning = _show_warning
    harden_output()
    for name in ("SIGTERM", "SIGHUP"):  # treated like Ctrl-C, so that the result so far is saved
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, _interrupt)
    try:
        outcome = app.main(standalone_mode=False)
        return outcome if isinstance(outcome, int) else OK
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        return BAD_INPUT
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "robustrank"
        return _fail(f"{error.format_message()} (see: {where} --help)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except (KeyboardInterrupt, click.Abort):
        click.echo("robustrank: interrupted", err=True)
        return NOT_CONVERGED
    except DeviceMemoryError as error:
        return _fail(str(error))
    except MemoryError:
        return _fail(
            "out of memory; store the sensing data as float32, or as an .npy file passed with "
            "--sensing, which is read in blocks"
        )
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        return _fail(f"{error.filename}: {error.strerror}" if named else str(error))
    except (ValueError, TypeError, ImportError, DataLost) as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    click.echo("robustrank: error: " + " ".join(message.split()), err=True)
    return BAD_INPUT


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"robustrank: warning: {message}", err=True)


def _interrupt(_signum: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
