"""Runs the variants that are not in a file yet and stores every row immediately."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path

from experiments.baseline.comparison import ABOUT
from experiments.baseline.run import environment, rows_in
from experiments.rows import Key, Row, RowWriter, key_of, pack
from experiments.sensitivity.effect import Effect, combined, effect_of
from experiments.sensitivity.literals import CHANGES, PACKAGE, core_literals
from experiments.sensitivity.problems import problem_keys
from experiments.sensitivity.worker import Outcome, Variant, outcomes

SENSITIVITY = "sensitivity"  # the method of the row that describes the run
SECONDS_EACH = 60.0
_ENDING = ".jsonl.gz"

Progress = Callable[[int, int, float], None]  # finished, in all, seconds since the start


def run(
    out: Path,
    *,
    workers: int,
    seconds: float = math.inf,
    seconds_each: float = SECONDS_EACH,
    only: str = "",
    most: int | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[int, int]:
    """Run the variants that are not in a file yet; how many of them are in it now, and in all.

    Rows are appended to a file beside it, which is packed into ``out`` at the end, also if the run
    is interrupted. A variant is stopped after ``seconds_each``, all of them after ``seconds``.
    """
    if not out.name.endswith(_ENDING):
        raise ValueError(f"the file is {out.name!r}; expected a name that ends in {_ENDING}")
    variants = [Variant(one, change) for one in core_literals(only) for change in CHANGES]
    if not variants:
        raise ValueError(f"no number is in a file of the core whose path begins with {only!r}")
    out.parent.mkdir(parents=True, exist_ok=True)
    beside = out.with_suffix("")
    known = rows_in(out, beside)
    keys = problem_keys(most)
    _check_version(known, keys, out)
    done = {key_of(row) for row in known}
    missing = [variant for variant in variants if variant.key not in done]
    if missing or beside.exists():
        with RowWriter(beside) as writer:
            session = _Session(writer, keys, workers, seconds_each, time.monotonic() + seconds)
            try:
                if missing:
                    reference = session.reference(known, say)
                    done |= session.compare(missing, reference, len(variants), progress)
            finally:
                pack(out, rows_in(out, beside))
        beside.unlink()
    return sum(variant.key in done for variant in variants), len(variants)


def version(keys: list[Key]) -> str:
    """A checksum of the package and of the problems: rows of different ones are not comparable."""
    digest = hashlib.blake2b(repr(keys).encode(), digest_size=8)
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _check_version(known: list[Row], keys: list[Key], out: Path) -> None:
    if any(row["cell"] == ABOUT and row["version"] != version(keys) for row in known):
        raise ValueError(
            f"{out} has rows of another version of the package or other problems; use another file"
        )


class _Session:
    """Writes the rows of a run."""

    def __init__(
        self, writer: RowWriter, keys: list[Key], workers: int, each: float, until: float
    ) -> None:
        self._writer, self._keys, self._until = writer, keys, until
        self._workers, self._each = workers, each
        self._began = time.monotonic()

    def reference(self, known: list[Row], say: Callable[[str], None] | None) -> dict[Key, Row]:
        """The rows of the unchanged package: those of the file, or new ones.

        It runs as often as there are workers, so that the times are those of busy cores.
        """
        found = {key_of(row): row for row in known if key_of(row) in {*self._keys}}
        if len(found) < len(self._keys):
            copies = [copy for _, copy in self._outcomes([None] * self._workers)]
            for copy in copies:
                if copy.failure:
                    raise ValueError(f"the unchanged package: {copy.failure}")
            rows, different = combined([copy.rows for copy in copies])
            if say is not None:
                say(f"the unchanged package: {len(rows)} problems, {different} not reproducible")
            self._writer.add(self._about(different))
            for row in rows:
                self._writer.add(row)
            found = {key_of(row): row for row in rows}
        return found

    def compare(
        self,
        variants: list[Variant],
        reference: dict[Key, Row],
        total: int,
        progress: Progress | None,
    ) -> set[Key]:
        """Run the variants; the keys of the rows that were added."""
        done: set[Key] = set()
        before = total - len(variants)
        with closing(self._outcomes(variants)) as results:
            for number, outcome in results:
                row = _row(variants[number], effect_of(outcome, reference))
                self._writer.add(row)
                done.add(key_of(row))
                if progress is not None:
                    progress(before + len(done), total, time.monotonic() - self._began)
                if time.monotonic() > self._until:
                    break
        return done

    def _outcomes(
        self, variants: Sequence[Variant | None]
    ) -> Generator[tuple[int, Outcome], None, None]:
        return outcomes(variants, self._keys, self._workers, self._each)

    def _about(self, different: int) -> Row:
        return {
            "cell": ABOUT,
            "trial": 0,
            "method": SENSITIVITY,
            "version": version(self._keys),
            "problems": len(self._keys),
            "not reproducible": different,
            **environment(self._workers),
        }


def _row(variant: Variant, effect: Effect) -> Row:
    literal = variant.literal
    cell, trial, method = variant.key
    return {
        "cell": cell,
        "trial": trial,
        "method": method,
        "file": literal.file,
        "line": literal.line,
        "name": literal.name,
        "value": literal.value,
        "changed": literal.changed(variant.change),
        "source": literal.source,
        **effect.row(),
    }
