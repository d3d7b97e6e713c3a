"""The results as a Markdown table, one row for each literal, the most sensitive ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.baseline.comparison import ABOUT
from experiments.baseline.judgement import Judged
from experiments.rows import Row
from experiments.sensitivity.effect import VERDICTS, Effect, effect_from, usual_time
from experiments.sensitivity.literals import CHANGES

Pair = dict[str, tuple[Row, Effect]]  # by the change
_COLUMNS = ("file", "name", "value", "verdict", *CHANGES, "source")


def table(rows: list[Row]) -> Iterator[str]:
    """The lines of the table, after a summary."""
    literals = by_literal(rows)
    yield from _summary(rows, literals)
    yield ""
    yield _line(_COLUMNS)
    yield _line("---" for _ in _COLUMNS)
    for pair in sorted(literals.values(), key=_order):
        yield _line(_cells(pair))


def verdict_of(pair: Pair) -> str:
    """The worse verdict of the two changes."""
    return max((effect.verdict for _, effect in pair.values()), key=VERDICTS.index)


def by_literal(rows: list[Row]) -> dict[str, Pair]:
    """The row and the effect of each change of each literal."""
    changed = [row for row in rows if row["method"] in CHANGES]
    usual, literals = usual_time(changed), dict[str, Pair]()
    for row in changed:
        literals.setdefault(row["cell"], {})[row["method"]] = row, effect_from(row, usual)
    return literals


def _summary(rows: list[Row], literals: dict[str, Pair]) -> Iterator[str]:
    for row in rows:
        if row["cell"] == ABOUT:
            hidden = ("cell", "trial", "method")
            yield ", ".join(f"{name} {row[name]}" for name in row if name not in hidden)
    plain = [Judged(r) for r in rows if r["cell"] != ABOUT and r["method"] not in CHANGES]
    claims, wrong = (sum(values) for values in _claims(plain))
    yield f"The unchanged package: {len(plain)} problems, {claims} claims, {wrong} wrong claims."
    counts = Counter(verdict_of(pair) for pair in literals.values())
    unused = sum(
        all(_is_unused(effect) for _, effect in pair.values()) for pair in literals.values()
    )
    found = ", ".join(f"{verdict} {counts[verdict]}" for verdict in reversed(VERDICTS))
    yield f"{len(literals)} literals: {found} (of which {unused} change no row at all)."


def _claims(judged: list[Judged]) -> tuple[list[bool], list[bool]]:
    return [one.certified for one in judged], [one.wrong for one in judged]


def _is_unused(effect: Effect) -> bool:
    return not effect.rows and not effect.failure


def _order(pair: Pair) -> tuple[int, int, str, int]:
    """By verdict, then by the number of statuses that change."""
    row, _ = next(iter(pair.values()))
    statuses = max(effect.statuses for _, effect in pair.values())
    return -VERDICTS.index(verdict_of(pair)), -statuses, row["file"], row["line"]


def _cells(pair: Pair) -> Iterator[str]:
    row, _ = next(iter(pair.values()))
    yield f"{row['file']}:{row['line']}"
    yield f"`{row['name']}`"
    yield f"{row['value']:g}"
    yield verdict_of(pair)
    for change in CHANGES:
        yield str(pair[change][1]) if change in pair else "not run"
    yield f"`{row['source']}`"


def _line(cells: Iterator[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
