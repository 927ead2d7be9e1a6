"""What the code imports is listed, what is listed is locked, and every extra brings what it names."""

import ast
import importlib.metadata
import importlib.util
import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from repository import ROOT, load_extras

from medfact.extras import EXTRAS


def listed(file: str) -> list[Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-r"))]


def locked() -> dict[str, Version]:
    return {canonicalize_name(one.name): Version(next(iter(one.specifier)).version) for one in listed("requirements.lock")}


def imported() -> set[str]:
    """The modules of others that the app imports, by their top names."""
    found = set()
    for file in [ROOT / "app.py", *(ROOT / "medfact").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return {name for name in found if name not in sys.stdlib_module_names and name != "medfact"}


def test_whatever_is_imported_is_listed() -> None:
    names = {canonicalize_name(one.name) for one in listed("requirements.txt")}
    packages = importlib.metadata.packages_distributions()
    missing = [module for module in imported() if not names & {canonicalize_name(name) for name in packages.get(module, ())}]
    assert missing == []


def test_whatever_is_listed_is_locked_within_its_range() -> None:
    versions = locked()
    for one in [*listed("requirements.txt"), *listed("requirements-dev.txt")]:
        assert one.specifier.contains(versions[canonicalize_name(one.name)]), one


def needed(one: Requirement, seen: dict[tuple[str, frozenset[str]], None]) -> None:
    """Adds what is installed here for a requirement, with all that it needs in turn."""
    key = canonicalize_name(one.name), frozenset(one.extras)
    if key in seen or (one.marker and not one.marker.evaluate()):
        return
    seen[key] = None
    for line in importlib.metadata.distribution(one.name).requires or ():
        inner = Requirement(line)
        if inner.marker is None or any(inner.marker.evaluate({"extra": extra}) for extra in ("", *one.extras)):
            inner.marker = None
            needed(inner, seen)


def test_the_lock_is_whole() -> None:
    """Every package that is installed because something listed needs it is locked, too."""
    seen: dict[tuple[str, frozenset[str]], None] = {}
    for one in [*listed("requirements.txt"), *listed("requirements-dev.txt")]:
        needed(one, seen)
    assert {name for name, _ in seen} - locked().keys() == set()


def test_the_extras_are_the_parts_of_the_requirements() -> None:
    found = load_extras()
    assert {str(one) for one in found["all"] + found[""]} == {str(one) for one in listed("requirements.txt")}
    assert found.keys() == {"", "all", *EXTRAS}


def test_every_extra_names_the_modules_that_it_brings() -> None:
    modules: dict[str, set[str]] = {}
    for module, packages in importlib.metadata.packages_distributions().items():
        for package in packages:
            modules.setdefault(canonicalize_name(package), set()).add(module)
    shared = {"plotly"}  # `app` brings it, too
    for extra, (_, named) in EXTRAS.items():
        if extra in {"cluster", "mcp"}:  # not among what the app needs, so perhaps not installed here
            continue
        brought = {canonicalize_name(one.name) for one in load_extras()[extra]}
        expected = {module for name in brought for module in modules[name] if module.replace("_", "-") == name}
        assert {module for module in named if module not in shared} == expected - shared, extra


def test_what_every_install_imports_at_once_comes_with_every_install() -> None:
    """Whatever is imported at the head of a file outside the rooms of the extras is no part of an extra."""
    optional = {module for _, modules in EXTRAS.values() for module in modules}
    services = ("models/services/c", "models/services/batches")
    rooms = ("models/local/", *services, "web/", "notebook/", "references/door")
    for file in sorted((ROOT / "medfact").rglob("*.py")):
        if file.relative_to(ROOT / "medfact").as_posix().startswith(rooms):
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            assert not {name.partition(".")[0] for name in names} & optional, file


def test_the_lock_holds_no_address_and_no_path() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert all("==" in line for line in text.splitlines() if not line.startswith("#"))
