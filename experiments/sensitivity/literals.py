"""The numbers in the source of the core, and modules in which one of them is changed."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

import robustrank

PACKAGE = Path(robustrank.__file__).parent
# What is not the core: packages, and modules beside them.
_OUTSIDE = {
    *("cli", "report", "estimators", "inputs", "outofcore", "backend", "operators", "simulate"),
    *("planning", "physics"),
}
_LOOSE = {
    *("metrics.py", "theory.py", "paper.py", "files.py", "cluster.py", "plot.py"),
    *("__init__.py", "__main__.py"),
}
_TRIVIAL = (0, 0.5, 1, 2)
HALVED, DOUBLED = "halved", "doubled"
CHANGES = (HALVED, DOUBLED)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Literal:
    """A number in the source of the core."""

    file: str  # relative to the package
    position: int  # among the literals of the file
    line: int
    name: str  # of the constant, field or function in which it stands
    value: float
    source: str  # the line
    key: str  # file and name, and a number if there are several with this name

    @property
    def module(self) -> str:
        """The name of its module."""
        parts = Path(self.file).with_suffix("").parts
        return ".".join(("robustrank", *parts[:-1], *(p for p in parts[-1:] if p != "__init__")))

    def changed(self, change: str) -> float:
        """Half or twice the value; an integer remains one and is at least 1."""
        if isinstance(self.value, int):
            return max(1, self.value // 2) if change == HALVED else 2 * self.value
        return self.value / 2 if change == HALVED else 2 * self.value


def core_literals(prefix: str = "", package: Path = PACKAGE) -> list[Literal]:
    """The numbers of the core except 0, 1, 2 and ½, in files whose path begins with ``prefix``."""
    paths = sorted(path for path in package.rglob("*.py") if _in_core(path.relative_to(package)))
    named = [(path, path.relative_to(package).as_posix()) for path in paths]
    return [
        literal
        for path, file in named
        if file.startswith(prefix)
        for literal in _literals_of(file, path.read_text(encoding="utf-8"))
    ]


def _in_core(path: Path) -> bool:
    return path.parts[0] not in _OUTSIDE and path.as_posix() not in _LOOSE


def _literals_of(file: str, text: str) -> Iterator[Literal]:
    tree, lines = ast.parse(text), text.splitlines()
    names = dict(_names(tree))
    seen: Counter[str] = Counter()
    for position, node in enumerate(_constants(tree)):
        name = names.get(node, "")
        seen[name] += 1
        number = f"#{seen[name]}" if seen[name] > 1 else ""
        source = lines[node.lineno - 1].strip()
        key = f"{file}:{name}{number}"
        yield Literal(file, position, node.lineno, name, _number(node), source, key)


def _constants(tree: ast.AST) -> list[ast.Constant]:
    """The literals in the order of their lines."""
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    found = [node for node in constants if _is_literal(node.value)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _number(node: ast.Constant) -> float:
    return cast("float", node.value)


def _is_literal(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) not in _TRIVIAL


def _names(node: ast.AST, outer: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node with the name of the constant, field or function in which it stands."""
    for child in ast.iter_child_nodes(node):
        inner = outer
        if isinstance(child, _Scope):
            inner = _joined(outer, child.name)
        elif isinstance(child, ast.Assign | ast.AnnAssign) and not _inside_function(node):
            yield from _names_of_assignment(child, outer)
            continue
        yield child, inner
        yield from _names(child, inner)


def _inside_function(node: ast.AST) -> bool:
    return not isinstance(node, ast.Module | ast.ClassDef)


def _names_of_assignment(
    statement: ast.Assign | ast.AnnAssign, outer: str
) -> Iterator[tuple[ast.AST, str]]:
    """With ``A, B = 3, 4`` each number has a name of its own."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    value = statement.value
    if value is None:
        return
    target = targets[0]
    pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = [*zip(target.elts, value.elts, strict=False)]
    for one, expression in pairs:
        name = _joined(outer, ast.unparse(one))
        yield from ((node, name) for node in ast.walk(expression))


def _joined(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer else name


def install(literal: Literal, value: float) -> None:
    """Give a literal another value in modules that are imported from now on."""
    sys.meta_path.insert(0, _Finder(literal, value))


class _Finder(MetaPathFinder):
    """Finds the module of a literal, with the other value; the file remains as it is."""

    def __init__(self, literal: Literal, value: float) -> None:
        self._literal, self._value = literal, value

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._literal.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._literal, self._value)
        return spec


class _Loader(SourceFileLoader):
    """Compiles a module with another value of a literal, without the cached bytecode."""

    def __init__(self, fullname: str, path: str, literal: Literal, value: float) -> None:
        super().__init__(fullname, path)
        self._literal, self._value = literal, value

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        _constants(tree)[self._literal.position].value = self._value
        code: CodeType = compile(tree, self.path, "exec", dont_inherit=True)
        return code
