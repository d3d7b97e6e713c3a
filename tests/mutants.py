"""How many small errors in ``src`` do the tests notice? ``python tests/mutants.py``.

A mutant is the source with one operator, comparison or constant changed. A first run of the tests
records which of them executes which line. Then every mutant, in a copy of ``src``, is given to the
tests that execute its line, the fastest ones first. It is caught if one of them fails or takes far
too long; the mutants that survive are listed. Results are kept in a folder: a run that was stopped
continues, and ``--again`` begins anew.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
_FOLDER = "ROBUSTRANK_MUTANTS"  # the variable with the folder for the coverage of a test run
_OPERATORS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Div],
    ast.Mod: [ast.Mult],
    ast.Pow: [ast.Mult],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
}
# What only describes or shows: messages, type variables, and code for type checkers.
_NO_RESULT = {"echo", "warn", "_fail", "_say", "TypeVar", "Argument", "option", "argument"}
_STARTING, _TIMES_LONGER, _SECONDS_IN_ALL = 60, 10, 1800  # limits of the time of a mutant


# --- Mutants ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A change of one expression; line and column are those of its beginning."""

    file: str  # relative to src
    line: int
    column: int
    end_line: int
    end_column: int
    before: str
    after: str

    @property
    def title(self) -> str:
        return f"src/{self.file}:{self.line}: {self.before}  →  {self.after}"

    def applied(self, source: str) -> str:
        """The source with the change; columns of ast count bytes."""
        lines = source.encode().splitlines(keepends=True)
        head, tail = (
            lines[self.line - 1][: self.column],
            lines[self.end_line - 1][self.end_column :],
        )
        changed = head + f"({self.after})".encode() + tail
        return b"".join([*lines[: self.line - 1], changed, *lines[self.end_line :]]).decode()


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file, in the order of their lines."""
    source = path.read_text()
    file = str(path.relative_to(SRC))
    found = []
    for node in _expressions(ast.parse(source)):
        for changed in _changes(node):
            place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            found.append(Mutant(file, *place, ast.unparse(node), ast.unparse(changed)))
    return found


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a program, except annotations, messages and what is never executed."""
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _expressions(child)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in _NO_RESULT
    if isinstance(node, ast.Assign):  # names of types
        value = node.value
        return isinstance(value, (ast.BinOp, ast.Subscript)) and ast.unparse(value)[0].isupper()
    return isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom))


def _changes(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        for other in _OPERATORS.get(type(node.op), []):
            yield _with(node, op=other())
    elif isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for other in _OPERATORS[type(op)]:
                yield _with(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)


def _with(node: Any, **changed: Any) -> Any:
    fields = {name: getattr(node, name) for name in node._fields}
    return type(node)(**fields | changed)


# --- Coverage: this file is a plugin of pytest, which records lines and times of every test ----


class _Recorder:
    coverage: coverage.Coverage | None = None
    times: dict[str, float]
    failed: set[str]


def pytest_load_initial_conftests() -> None:
    """Begin before robustrank is imported."""
    folder = os.environ.get(_FOLDER)
    if folder:
        name = str(Path(folder) / f"part.{os.getpid()}")
        _Recorder.coverage = coverage.Coverage(
            data_file=name, source=[str(SRC)], config_file=False, messages=False
        )
        _Recorder.times, _Recorder.failed = {}, set()
        _Recorder.coverage.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    recorded = _Recorder.coverage
    if recorded is None:
        return (yield)
    recorded.switch_context(item.nodeid)
    begin = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        _Recorder.times[item.nodeid] = sum(os.times()[:4]) - begin
        recorded.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _Recorder.coverage is not None and report.failed:
        _Recorder.failed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    recorded, _Recorder.coverage = _Recorder.coverage, None
    if recorded is not None:
        recorded.stop()
        if _Recorder.times:
            recorded.save()
            times = Path(os.environ[_FOLDER]) / f"times.{os.getpid()}.json"
            passed = {
                test: _Recorder.times[test] for test in _Recorder.times.keys() - _Recorder.failed
            }
            times.write_text(json.dumps(passed))


@dataclass(frozen=True)
class Covering:
    """Which tests execute each line, and the CPU seconds of each test."""

    lines: dict[str, dict[int, list[str]]]  # by file
    files: dict[str, set[str]]
    seconds: dict[str, float]  # of tests that pass

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests of a line, the fastest first; all of the file, if it is executed by imports."""
        last = mutant.end_line + 1
        at = self.lines[mutant.file]
        tests = {test for line in range(mutant.line, last) for test in at.get(line, [])}
        return sorted(tests or self.files[mutant.file], key=lambda test: self.seconds[test])


def record_coverage(folder: Path, processes: int, tests: list[str]) -> None:
    """Run the tests, and write what each of them executes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    print("Recording which test executes which line …", flush=True)
    command = [*_pytest("mutants"), "--numprocesses", str(processes), *tests]
    environment = _environment(SRC) | {_FOLDER: str(folder)}
    done = subprocess.run(command, cwd=ROOT, env=environment)
    if done.returncode not in (0, 1):
        sys.exit(f"The tests cannot be run: pytest ended with status {done.returncode}.")
    if done.returncode == 1:
        print("Some tests fail without any change; these are left out.")


def read_coverage(folder: Path) -> Covering:
    """What ``record_coverage`` wrote."""
    seconds: dict[str, float] = {}
    for path in folder.glob("times.*.json"):
        seconds |= json.loads(path.read_text())
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    files: dict[str, set[str]] = defaultdict(set)
    for path in folder.glob("part.*"):
        data = coverage.CoverageData(basename=str(path))
        data.read()
        for measured in data.measured_files():
            file = str(Path(measured).relative_to(SRC))
            for line, tests in data.contexts_by_lineno(measured).items():
                passed = [test for test in tests if test in seconds]
                lines[file][line] += passed
                files[file].update(passed)
    return Covering(lines, files, seconds)


# --- Running the tests of a mutant -----------------------------------------------------------


def _pytest(*plugins: str) -> list[str]:
    loaded = [part for plugin in plugins for part in ("-p", plugin)]
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *loaded]


def _environment(src: Path) -> dict[str, str]:
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    paths = os.pathsep.join([str(src), str(ROOT / "tests")])
    settings = {
        "XLA_FLAGS": "--xla_backend_optimization_level=0",
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(ROOT / ".cache" / "bytecode"),
    }
    return os.environ | dict.fromkeys(threads, "1") | settings


def _limit_cpu(seconds: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def outcome_of(mutant: Mutant, copy: Path, tests: list[str], expected: float) -> str:
    """``caught``, ``too slow`` or ``survived``, after these tests in a copy of ``src``."""
    original, changed = SRC / mutant.file, copy / mutant.file
    chosen = copy.parent / "tests.txt"
    chosen.write_text("\n".join(tests))
    changed.write_text(mutant.applied(original.read_text()))
    limit = int(_STARTING + _TIMES_LONGER * expected)  # CPU time does not depend on other load
    try:
        done = subprocess.run(
            [*_pytest(), "-x", "--no-header", f"@{chosen}"],
            cwd=ROOT,
            env=_environment(copy),
            capture_output=True,
            text=True,
            timeout=_SECONDS_IN_ALL,
            preexec_fn=None if sys.platform == "win32" else lambda: _limit_cpu(limit),
        )
    except subprocess.TimeoutExpired:
        return "too slow"
    finally:
        shutil.copy2(original, changed)
    if "ERROR: not found" in done.stderr + done.stdout:
        sys.exit(f"Tests were changed since the coverage was recorded:\n{done.stderr}")
    if done.returncode < 0:
        return "too slow"
    return "survived" if done.returncode == 0 else "caught"


@dataclass(frozen=True)
class Settings:
    folder: Path
    count: int
    seed: int
    processes: int
    seconds: float  # of the tests of one mutant
    only: str


def chosen_mutants(covering: Covering, settings: Settings) -> list[Mutant]:
    """A random sample of the mutants in lines that tests execute."""
    possible = [
        mutant
        for file in sorted(covering.files)
        if settings.only in file and file.endswith(".py")  # templates are covered, too
        for mutant in mutants_of(SRC / file)
        if mutant.line in covering.lines[file] and covering.tests_of(mutant)
    ]
    rng = random.Random(settings.seed)
    return rng.sample(possible, min(settings.count, len(possible)))


def run(settings: Settings) -> list[tuple[Mutant, str]]:
    """The outcome of every mutant; finished ones are read from the folder."""
    covering = read_coverage(settings.folder / "coverage")
    mutants = chosen_mutants(covering, settings)
    kept = settings.folder / "results.jsonl"
    finished = {}
    for line in kept.read_text().splitlines() if kept.exists() else []:
        record = json.loads(line)
        finished[Mutant(**record["mutant"])] = record["outcome"]
    results = [(mutant, finished[mutant]) for mutant in mutants if mutant in finished]
    todo = [mutant for mutant in mutants if mutant not in finished]
    copies: queue.Queue[Path] = queue.Queue()
    for k in range(settings.processes):
        copy = settings.folder / f"copy{k}" / "src"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(SRC, copy)
        copies.put(copy)
    lock, begin = threading.Lock(), time.monotonic()

    def work(mutant: Mutant) -> tuple[Mutant, str]:
        tests, expected = _within(covering, covering.tests_of(mutant), settings.seconds)
        copy = copies.get()
        try:
            outcome = outcome_of(mutant, copy, tests, expected)
        finally:
            copies.put(copy)
        with lock, kept.open("a") as stream:
            stream.write(json.dumps({"mutant": asdict(mutant), "outcome": outcome}) + "\n")
        return mutant, outcome

    with ThreadPoolExecutor(settings.processes) as pool:
        for done in as_completed([pool.submit(work, mutant) for mutant in todo]):
            mutant, outcome = done.result()
            results.append((mutant, outcome))
            passed = time.monotonic() - begin
            print(f"{len(results):3}/{len(mutants)} {passed:6.0f} s  {outcome:8}  {mutant.title}")
            sys.stdout.flush()
    return results


def _within(covering: Covering, tests: list[str], seconds: float) -> tuple[list[str], float]:
    """The first tests that take so long together, at least one; and how long that is."""
    chosen, total = tests[:1], covering.seconds[tests[0]]
    for test in tests[1:]:
        if total + covering.seconds[test] > seconds:
            break
        chosen.append(test)
        total += covering.seconds[test]
    return chosen, total


def _is_current(folder: Path) -> bool:
    """Whether the coverage is newer than all sources and tests."""
    recorded = [path.stat().st_mtime for path in folder.glob("times.*.json")]
    sources = [*SRC.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    return bool(recorded) and min(recorded) > max(path.stat().st_mtime for path in sources)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="tests to run; by default all")
    parser.add_argument("--count", type=int, default=100, help="mutants (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the random choice")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120, help="of tests for each mutant")
    parser.add_argument("--only", default="", metavar="TEXT", help="in the path of the file")
    parser.add_argument("--folder", type=Path, default=ROOT / ".cache" / "mutants")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    parser.add_argument("--stale", action="store_true", help="use coverage of older sources")
    given = parser.parse_args()
    recorded = given.folder / "coverage"
    if given.again or not (given.stale or _is_current(recorded)):
        (given.folder / "results.jsonl").unlink(missing_ok=True)
        record_coverage(recorded, given.processes, given.tests)
    results = run(
        Settings(given.folder, given.count, given.seed, given.processes, given.seconds, given.only)
    )
    survivors = sorted(mutant.title for mutant, outcome in results if outcome == "survived")
    print(f"{len(results) - len(survivors)} of {len(results)} mutants were caught.")
    print(*(f"survived  {title}" for title in survivors), sep="\n")


if __name__ == "__main__":
    main()
