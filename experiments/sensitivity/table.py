"""The results as a Markdown table, one row for each literal, the most sensitive ones first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from experiments.baseline.comparison import ABOUT
from experiments.baseline.judgement import Judged
from experiments.rows import Row
from experiments.sensitivity.effect import VERDICTS, effect_from
from experiments.sensitivity.literals import CHANGES

_COLUMNS = ("file", "name", "value", "verdict", *CHANGES, "source")


def table(rows: list[Row]) -> Iterator[str]:
    """The lines of the table, after a summary."""
    literals = _by_literal(rows)
    yield from _summary(rows, literals)
    yield ""
    yield _line(_COLUMNS)
    yield _line("---" for _ in _COLUMNS)
    for pair in sorted(literals.values(), key=_order):
        yield _line(_cells(pair))


def verdict_of(pair: dict[str, Row]) -> str:
    """The worse verdict of the two changes."""
    return max((str(row["verdict"]) for row in pair.values()), key=VERDICTS.index)


def _by_literal(rows: list[Row]) -> dict[str, dict[str, Row]]:
    literals: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["method"] in CHANGES:
            literals.setdefault(row["cell"], {})[row["method"]] = row
    return literals


def _summary(rows: list[Row], literals: dict[str, dict[str, Row]]) -> Iterator[str]:
    for row in rows:
        if row["cell"] == ABOUT:
            hidden = ("cell", "trial", "method")
            yield ", ".join(f"{name} {row[name]}" for name in row if name not in hidden)
    plain = [Judged(r) for r in rows if r["cell"] != ABOUT and r["method"] not in CHANGES]
    claims, wrong = (sum(values) for values in _claims(plain))
    yield f"The unchanged package: {len(plain)} problems, {claims} claims, {wrong} wrong claims."
    counts = Counter(verdict_of(pair) for pair in literals.values())
    unused = sum(all(_is_unused(row) for row in pair.values()) for pair in literals.values())
    found = ", ".join(f"{verdict} {counts[verdict]}" for verdict in reversed(VERDICTS))
    yield f"{len(literals)} literals: {found} (of which {unused} change no row at all)."


def _claims(judged: list[Judged]) -> tuple[list[bool], list[bool]]:
    return [one.certified for one in judged], [one.wrong for one in judged]


def _is_unused(row: Row) -> bool:
    return not row["rows"] and not row["failure"]


def _order(pair: dict[str, Row]) -> tuple[int, int, str, int]:
    """By verdict, then by the number of statuses that change."""
    row = next(iter(pair.values()))
    statuses = max(one["statuses"] for one in pair.values())
    return -VERDICTS.index(verdict_of(pair)), -statuses, row["file"], row["line"]


def _cells(pair: dict[str, Row]) -> Iterator[str]:
    row = next(iter(pair.values()))
    yield f"{row['file']}:{row['line']}"
    yield f"`{row['name']}`"
    yield f"{row['value']:g}"
    yield verdict_of(pair)
    for change in CHANGES:
        yield str(effect_from(pair[change])) if change in pair else "not run"
    yield f"`{row['source']}`"


def _line(cells: Iterator[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
