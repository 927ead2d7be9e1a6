"""The floors: a file imports from lower floors, or from rooms further left on its own; the package itself is light."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import medfact

ROOT = Path(medfact.__file__).resolve().parent

FLOORS = [
    [
        "errors",
        "log_setup",
        "assets",
        "words",
        "extras",
        "setting",
        "limits",
        "caching",
        "concurrency",
        "proxies",
        "table_formats",
        "version",
    ],
    ["facts", "negatives", "models", "retrieval", "references"],
    ["statements", "spec"],
    ["datasets", "prototypes", "answers", "languages"],
    ["store", "metrics", "exchange"],
    ["runs", "tasks", "writing", "construction", "results", "reviews", "curation", "views"],
    ["notebook", "cli", "web"],
]
"""From the ground up; on each floor the rooms from left to right."""

PLACES = {room: (floor, place) for floor, rooms in enumerate(FLOORS) for place, room in enumerate(rooms)}
PLACES["medfact"] = (-1, 0)  # the package itself: names that the notebook's room gives when they are used
DOORS = {"notebook", "cli", "web"}
PLACES["__main__"] = (len(FLOORS), 0)

HEAVY = {"torch", "openai", "gradio", "plotly", "pandas", "transformers"}


def allowed(room: str, imported: str) -> bool:
    """Whether a file of one room may import from another."""
    if room != imported and {room, imported} <= DOORS:
        return False
    if room == "medfact" and imported in {"notebook", "version"}:
        return True
    (floor, place), (other_floor, other_place) = PLACES[room], PLACES[imported]
    return room == imported or other_floor < floor or (other_floor == floor and other_place < place)


def room_of(parts: tuple[str, ...]) -> str:
    """('medfact', 'datasets', 'tables') → datasets; a name of the package itself → medfact."""
    known = len(parts) > 1 and ((ROOT / parts[1]).is_dir() or (ROOT / f"{parts[1]}.py").is_file())
    return parts[1] if known else "medfact"


def modules(file: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(line, name) of every import of this package in a file, those inside functions too; a name is split at its dots."""
    package = ("medfact", *file.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module or "").split(".")) if node.module else base
            names = [(*module, alias.name) for alias in node.names]
        yield from ((node.lineno, name) for name in names if name[0] == "medfact")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """(line, room) of every import of this package in a file."""
    yield from ((line, room_of(name)) for line, name in modules(file))


FILES = sorted(ROOT.rglob("*.py"))


def place_of(file: Path) -> str:
    """The room in which a file lies."""
    return file.relative_to(ROOT).parts[0].removesuffix(".py").replace("__init__", "medfact")


def test_every_room_has_its_place() -> None:
    assert {place_of(file) for file in FILES} - set(PLACES) == set()


def test_imports_go_down_or_left() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}, line {line}: {place_of(file)} imports {other}"
        for file in FILES
        for line, other in imports(file)
        if not allowed(place_of(file), other)
    ]
    assert wrong == []


APART = {"local": {"services"}, "services": {"local"}, "prompt.py": {"local", "services"}, "baseline.py": {"local", "services"}}
"""Within `models/`: what each part must not import."""


@pytest.mark.parametrize("part", APART)
def test_local_models_and_services_do_not_know_each_other(part: str) -> None:
    place = ROOT / "models" / part
    wrong = [
        f"{file.name}, line {line}: {'.'.join(name)}"
        for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))
        for line, name in modules(file)
        if name[1:2] == ("models",) and APART[part] & set(name[2:3])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("room", "imported", "expected"),
    [
        ("negatives", "facts", True),
        ("facts", "negatives", False),
        ("store", "metrics", False),
        ("metrics", "store", True),
        ("facts", "statements", False),
        ("results", "runs", True),
        ("runs", "results", False),
        ("cli", "runs", True),
        ("cli", "web", False),
        ("web", "cli", False),
        ("notebook", "runs", True),
        ("cli", "notebook", False),
        ("web", "notebook", False),
        ("results", "notebook", False),
        ("medfact", "notebook", True),
        ("medfact", "runs", False),
        ("datasets", "datasets", True),
    ],
)
def test_the_rule_itself(room: str, imported: str, expected: bool) -> None:
    assert allowed(room, imported) is expected


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT.parent, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_importing_medfact_loads_no_heavy_library() -> None:
    loaded = modules_after("import medfact")
    assert "medfact" in loaded
    assert loaded & HEAVY == set()


def test_help_loads_no_heavy_library() -> None:
    loaded = modules_after(
        "import runpy, sys\n"
        "sys.argv = ['medfact', '--help']\n"
        "try:\n    runpy.run_module('medfact', run_name='__main__')\n"
        "except SystemExit as ended:\n    assert not ended.code"
    )
    assert "argparse" in loaded
    assert loaded & HEAVY == set()


COMMANDS = "datasets pools facts statements prompts run resume runs report answers rarity tables export import compare"


def test_help_names_every_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "medfact", "--help"], capture_output=True, text=True, cwd=ROOT.parent, check=True
    )
    for command in COMMANDS.split():
        assert re.search(rf"^    {command}\s", done.stdout, re.MULTILINE), command


LONGEST_FILE, LONGEST_FUNCTION = 600, 45
"""Lines."""


def test_files_can_be_read() -> None:
    lines = {str(file.relative_to(ROOT)): len(file.read_text(encoding="utf-8").splitlines()) for file in FILES}
    assert {file: count for file, count in lines.items() if count > LONGEST_FILE} == {}


def test_functions_can_be_read_at_a_glance() -> None:
    lengths = {
        f"{file.relative_to(ROOT)}: {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}
