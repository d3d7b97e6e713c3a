"""The code blocks of the pages, run as printed: snippets, commands and what they print.

Every block of a page runs, in order and in one folder. A block that cannot run has a comment
directly before it that says why: ``<!-- not executed: needs a GPU -->``.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from robustrank.cli.app import app

PYTHON, COMMANDS, OUTPUT = ("python",), ("", "console", "bash", "sh"), ("text",)
_SCRIPT = 'if __name__ == "__main__":'
_FENCE = re.compile(r"( *)```(.*)")
_MARKER = re.compile(r"<!-- not executed:(.*)-->")
_LEFT_OUT = "…"
_FEWEST_WORDS = 2
# What differs from run to run, or from machine to machine: times, and what rounding leaves.
_VARYING = (
    (re.compile(r" *[\d.,]+ (?:ms|s|min|minutes?|h|hours?)\b"), " (time)"),
    (re.compile(r" *\d(?:\.\d+)?e-1[0-9]\b"), " (rounding)"),
)


class PageError(AssertionError):
    """A page that does not do what it shows; the message begins with the page and the line."""

    def __init__(self, block: Block, message: str) -> None:
        super().__init__(f"{block.page.name}, line {block.line}: {message}")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None  # why it is not executed


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, without directives; raises for a marker without a reason."""
    found, reason = [], None
    lines = iter(enumerate(page.read_text("utf-8").splitlines(), start=1))
    for number, line in lines:
        marker, fence = _MARKER.fullmatch(line.strip()), _FENCE.fullmatch(line)
        if marker:
            reason = marker[1].strip()
        elif fence:
            indent, language = len(fence[1]), fence[2].strip()
            inside = []
            for _, line in lines:
                if line.strip() == "```":
                    break
                inside.append(line[indent:])
            block = Block(page, number, language, "\n".join(inside) + "\n", reason)
            if reason is not None and len(reason.split()) < _FEWEST_WORDS:
                raise PageError(block, "the comment `not executed` must say why")
            if not language.startswith("{"):
                found.append(block)
            reason = None
        elif line.strip() and reason is not None:
            raise PageError(
                Block(page, number, "", line, None), "the comment `not executed` is not at a block"
            )
    return found


class Session:
    """Runs the blocks of one page in the current folder, in one namespace."""

    def __init__(self) -> None:
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._last: Block | None = None
        self._printed = ""

    def run(self, block: Block) -> None:
        """Run a block, or compare what it shows with what the block before it printed."""
        if block.language in OUTPUT:
            self._compare(block)
        elif block.reason is None:
            self.finish()
            if block.language in PYTHON:
                as_script = _SCRIPT in block.text
                self._printed = _run_script(block) if as_script else self._execute(block)
            elif block.language in COMMANDS:
                self._printed = "".join(_run_command(block, line) for line in _commands(block))
            else:
                raise PageError(block, f"a block of {block.language!r} cannot be executed")
            self._last = block

    def finish(self) -> None:
        """Raise if the last snippet printed something that the page does not show."""
        last, self._last = self._last, None
        if last is not None and last.language in PYTHON and self._printed:
            raise PageError(last, f"prints what the page does not show:\n{self._printed}")

    def _execute(self, block: Block) -> str:
        with redirect_stdout(io.StringIO()) as printed:
            code = "\n" * block.line + block.text  # a traceback names the line of the page
            exec(compile(code, str(block.page), "exec"), self._names)
        return printed.getvalue()

    def _compare(self, block: Block) -> None:
        if block.reason is not None:
            return
        if self._last is None:
            raise PageError(block, "shows output, but nothing was executed before it")
        self._last = None
        printed, place = _masked(self._printed), 0
        for piece in re.split(rf"^ *{_LEFT_OUT}\n", _masked(block.text), flags=re.MULTILINE):
            place = printed.find(piece, place)
            if place < 0:
                raise PageError(block, f"shows\n{piece}\nbut this was printed:\n{printed}")
            place += len(piece)


def _masked(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    for pattern, name in _VARYING:
        lines = pattern.sub(name, lines)
    return lines


def _commands(block: Block) -> list[str]:
    joined = block.text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def _run_command(block: Block, line: str) -> str:
    program, *arguments = shlex.split(line, comments=True)
    if program != "robustrank":
        raise PageError(block, f"{line!r} cannot be executed here; say why before the block")
    outcome = CliRunner(env={"COLUMNS": "140"}).invoke(app, arguments, standalone_mode=False)
    if outcome.exception is not None:
        raise PageError(block, f"{line!r} fails") from outcome.exception
    if outcome.return_value not in (0, None):
        raise PageError(
            block, f"{line!r} has the exit status {outcome.return_value}:\n{outcome.output}"
        )
    return outcome.stdout


def _run_script(block: Block) -> str:
    """What a snippet prints that is a script: processes that it starts import its file."""
    Path("script.py").write_text(block.text, "utf-8")
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, encoding="utf-8", timeout=100
    )
    if done.returncode:
        raise PageError(block, f"the script fails:\n{done.stderr}")
    return done.stdout
