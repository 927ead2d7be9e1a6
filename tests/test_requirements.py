"""What the code imports is listed, and what is listed is locked."""

import ast
import importlib.metadata
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]


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


def test_the_lock_holds_no_address_and_no_path() -> None:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    assert all("==" in line for line in text.splitlines() if not line.startswith("#"))
