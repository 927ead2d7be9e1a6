"""No file imports, by whatever way, from a file that imports from it; what only types need counts, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import medfact

ROOT = Path(medfact.__file__).resolve().parent


def module_of(file: Path) -> str:
    return ".".join(("medfact", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


FILES = {module_of(file): file for file in sorted(ROOT.rglob("*.py"))}


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """What is done when a file is imported, and what its types need."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from outside_functions(child)


def imported_by(module: str) -> set[str]:
    """The files of the package from which one imports."""
    found = set()
    for node in outside_functions(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in FILES:
            whole = {f"{node.module}.{alias.name}" for alias in node.names} & FILES.keys()
            found |= whole or {node.module}
    return found


def test_there_is_no_circle() -> None:
    left = {module: imported_by(module) - {module} for module in FILES}
    while free := [module for module, needs in left.items() if not needs & left.keys()]:
        for module in free:
            del left[module]
    assert left == {}
