"""Every regular expression of the product, from its source and from its run.

Run as a program, it writes the list as JSON: a fresh process sees each pattern compiled, including those built from data.
"""

import ast
import importlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

import medfact

ROOT = Path(medfact.__file__).resolve().parents[1]
"""The repository."""

COMPILES = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
"""Functions of `re` that compile a pattern."""

METHODS = {"match": "match", "fullmatch": "fullmatch", "search": "search"}
"""Method of a pattern → the method that is timed for it; `finditer` for all others, which scan a whole text."""


HOSTILE_NAMES = ("a" + " " * 60 + "b", "a " * 60 + "b", "a" * 300, "( [ \\\\ *" * 20, "' " * 100, "的" * 200)
"""Names as in an uploaded file, within the allowed length."""


Place = tuple[str, int]
"""A file, relative to the repository, and a line."""


class Site(NamedTuple):
    """A call of `re` in the source."""

    file: str
    line: int
    last_line: int
    function: str
    """Name of the called function of `re`."""
    expression: str
    """Source text of the argument that is the pattern."""


class PatternUse(NamedTuple):
    """A pattern and its use."""

    place: str  # file and line that compile it
    pattern: str
    flags: int
    is_bytes: bool
    methods: tuple[str, ...]  # the methods that are timed

    def compile(self) -> re.Pattern[Any]:
        """Returns the compiled pattern."""
        return re.compile(self.pattern.encode("latin-1") if self.is_bytes else self.pattern, self.flags)


def parse_sources() -> dict[str, ast.Module]:
    """Returns file → its syntax tree, for every file of the product."""
    files = [*sorted((ROOT / "medfact").rglob("*.py")), ROOT / "app.py"]
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def find_sites(file: str, tree: ast.Module) -> Iterator[Site]:
    """Yields the calls of `re` in a file. Raises ValueError if it imports `re` under another name, or another library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "re":
            raise ValueError(f"{file}:{node.lineno}: import re as a whole, so that its patterns are found")
        if isinstance(node, ast.Import) and any(
            (alias.name == "re" and alias.asname) or alias.name in {"regex", "re2"} for alias in node.names
        ):
            raise ValueError(f"{file}:{node.lineno}: import re by its own name, so that its patterns are found")
        if isinstance(node, ast.Call) and _is_re_function(node.func):
            expression = next(
                (word.value for word in node.keywords if word.arg == "pattern"), node.args[0] if node.args else None
            )
            if expression is None:
                raise ValueError(f"{file}:{node.lineno}: no pattern")
            yield Site(file, node.lineno, node.end_lineno or node.lineno, node.func.attr, ast.unparse(expression))


def _is_re_function(node: ast.AST) -> bool:
    """Returns True for `re.NAME` with a name of COMPILES."""
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re" and node.attr in COMPILES
    )


class PatternUsage:
    """Methods that the product calls on its named patterns, over all files, because names are imported."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self.methods: dict[str, set[str]] = defaultdict(set)  # qualified name → called methods; "any": it is passed on
        self.names: dict[Place, set[str]] = {}  # assigned on a line
        self.direct: dict[Place, str] = {}  # line → the method that is called on its pattern
        self.checked: set[Place] = set()  # patterns that are only compiled, to check that they are valid
        for file, tree in trees.items():
            self._read(file, tree)

    def _read(self, file: str, tree: ast.Module) -> None:
        called = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._add_names(file, node.targets[0], node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._add_names(file, node.target, node.value)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_re_function(node.value.func):
                self.checked.add((file, node.value.lineno))
            elif isinstance(node, ast.Attribute):
                base = node.value
                if isinstance(base, ast.Call) and _is_re_function(base.func):
                    self.direct[file, base.lineno] = node.attr
                elif isinstance(base, (ast.Name, ast.Attribute)):
                    self.methods[_qualified_name(base, file)].add(node.attr)
                    called.add(id(base))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and id(node) not in called:
                self.methods[_qualified_name(node, file)].add("any")

    def _add_names(self, file: str, target: ast.expr, value: ast.expr) -> None:
        """Records the names that are assigned on the lines of a value."""
        names = {_qualified_name(part, file) for part in (target.elts if isinstance(target, ast.Tuple) else [target])}
        for line in range(value.lineno, (value.end_lineno or value.lineno) + 1):
            self.names.setdefault((file, line), set()).update(names)

    def timed_methods(self, site: Site, places: set[Place]) -> tuple[str, ...]:
        """Returns the methods that are timed for the pattern of a call; all of them if the pattern is passed to other code.

        places: further lines from which the pattern was requested, where it may get its name.
        """
        if (site.file, site.line) in self.checked:
            return ()
        if site.function != "compile":
            used = {site.function}
        elif (site.file, site.line) in self.direct:
            used = {self.direct[site.file, site.line]}
        else:
            names = [self.names[place] for place in ((site.file, site.line), *places) if place in self.names]
            used = set[str]().union(*(self.methods[name] for name in set[str]().union(*names))) - {"pattern", "flags"} or {
                "any"
            }
        if "any" in used:
            return ("finditer", "fullmatch", "match")
        return tuple(sorted({METHODS.get(name, "finditer") for name in used}))


def _qualified_name(node: ast.expr, file: str) -> str:
    """Returns the name in an expression, "" without one; after its file if it is private or in lower case."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return f"{file}:{name}" if name.startswith("_") or name.islower() else name


# ------------------------------------------------------------------------------- patterns that are built at run time


def _pattern_building_calls(folder: Path) -> Iterator[Callable[[], Any]]:
    """Yields calls of product functions that build patterns at run time, some of them from hostile names.

    folder: an empty one, in which files for these calls are written.
    """
    guards, mkj, templates = (
        _import_file(f"medfact/{name}.py") for name in ("writing/guards", "datasets/mkj", "languages/templates")
    )
    reading, language = _import_file("medfact/languages/replies.py"), _import_file("medfact/languages/language.py")
    for file in sorted(ROOT.glob("assets/languages/*/")):
        read = language.read_language(file)
        yield lambda read=read, file=file: (language.read_language(file), reading.reader_of(read.asking.words))
        yield lambda read=read: [*templates._slots(read, "X", "[X] of [Y]"), templates._whole(read, "gota")]
        yield from (lambda name=name, read=read: templates._whole(read, name) for name in HOSTILE_NAMES)
    yield from (lambda name=name: guards._name(name) for name in ("septic shock", *HOSTILE_NAMES))
    for name in ("cough", *HOSTILE_NAMES):
        yield lambda name=name: mkj._recovered_tail(f"Gout causes {name} often.", name, f"Gout causes {name}{name}x often.")
    sources = _import_file("medfact/datasets/sources.py")
    yield lambda: [sources.source_at(name, "PMID:1 HP:1") for name in sources.KINDS]
    yield lambda: sources.links_of(SimpleNamespace(head_id="D1", tail_id="", source_id=None))
    yield lambda: _import_file("medfact/models/services/refusals.py")._status_of(["unknown"])
    umls = _import_file("medfact/datasets/umls.py")
    folder.joinpath("MRREL.RRF").write_bytes(b"")
    yield lambda: umls._links(folder / "MRREL.RRF", ["may_treat", "x" * 300], (), umls.Problems())


def _import_file(file: str) -> Any:
    """Imports the module of a file, relative to the repository, and returns it."""
    return importlib.import_module(".".join(Path(file).with_suffix("").parts).removesuffix(".__init__"))


def _record_compiled_patterns() -> dict[Place, dict[tuple[Any, int], set[Place]]]:
    """Imports all modules that compile patterns, makes all pattern-building calls, and returns the patterns that were compiled.

    The result maps a place that compiled → (pattern, flags) → that place and up to two calling ones in the product.
    """
    seen: dict[Place, dict[tuple[Any, int], set[Place]]] = defaultdict(dict)
    compile_one = re._compile  # type: ignore[attr-defined]

    def record_and_compile(pattern: Any, flags: Any) -> Any:
        frame, places = sys._getframe(2), []
        while frame and len(places) < 3 and (file := Path(frame.f_code.co_filename)).is_relative_to(ROOT):
            places.append((str(file.relative_to(ROOT)), frame.f_lineno))
            frame = frame.f_back
        if places:
            seen[places[0]].setdefault((pattern, int(flags)), set()).update(places)
        return compile_one(pattern, flags)

    re._compile = record_and_compile  # type: ignore[attr-defined]
    try:
        sites = [site for file, tree in parse_sources().items() for site in find_sites(file, tree)]
        for file in sorted({site.file for site in sites}):
            _import_file(file)
        with TemporaryDirectory() as folder:
            for call in _pattern_building_calls(Path(folder)):
                call()
    finally:
        re._compile = compile_one  # type: ignore[attr-defined]
    return seen


def find_all_patterns() -> tuple[list[PatternUse], list[str]]:
    """Returns every pattern of the product, and a text for each call of `re` whose pattern was not found."""
    return find_patterns(parse_sources(), _record_compiled_patterns())


def find_patterns(
    trees: dict[str, ast.Module], compiled: dict[Place, dict[tuple[Any, int], set[Place]]]
) -> tuple[list[PatternUse], list[str]]:
    """Returns the patterns of some files, and a text for each call of `re` whose pattern was not found.

    trees: file → its syntax tree. compiled: patterns by place, as `_record_compiled_patterns` returns them. A pattern that is
    not among them is evaluated with the names of its module.
    """
    usage = PatternUsage(parse_sources())
    uses: dict[PatternUse, None] = {}
    lost = []
    for site in (site for file, tree in trees.items() for site in find_sites(file, tree)):
        patterns = {
            pattern_and_flags: places
            for line in range(site.line, site.last_line + 1)
            for pattern_and_flags, places in compiled.get((site.file, line), {}).items()
        } or {pattern_and_flags: set() for pattern_and_flags in _evaluate_pattern(site)}
        if not patterns:
            lost.append(f"{site.file}:{site.line}: re.{site.function}({site.expression})")
        for (pattern, flags), places in sorted(patterns.items(), key=repr):
            is_bytes = isinstance(pattern, bytes)
            text = pattern.decode("latin-1") if is_bytes else pattern
            uses[PatternUse(f"{site.file}:{site.line}", text, flags, is_bytes, usage.timed_methods(site, places))] = None
    return [*uses], lost


def _evaluate_pattern(site: Site) -> set[tuple[Any, int]]:
    """Returns the pattern and flags of a call, evaluated in its module; empty if a name is undefined there."""
    module = _import_file(site.file)
    node = ast.parse((ROOT / site.file).read_text(encoding="utf-8"))
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _is_re_function(call.func) and call.lineno == site.line:
            with suppress(NameError, TypeError):
                position = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(call.func.attr, 2)
                flags = next((word.value for word in call.keywords if word.arg == "flags"), None)
                flags = flags or (call.args[position] if len(call.args) > position else ast.Constant(0))
                names = {**vars(module)}
                value = eval(site.expression, names)
                if isinstance(value, (str, bytes)):
                    return {(value, int(eval(ast.unparse(flags), names)))}
    return set()


if __name__ == "__main__":
    uses, lost = find_all_patterns()
    json.dump({"patterns": uses, "lost": lost}, sys.stdout)
