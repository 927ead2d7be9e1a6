"""Outputs about recorded runs, compared with those recorded in `expected/`, a case each. CONTRIBUTING.md says how to use it."""

from __future__ import annotations

import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
DECLARED = yaml.safe_load((HERE / "outputs.yaml").read_text(encoding="utf-8"))
NAMES = [f"{kind}-{name}" for kind, declared in DECLARED.items() for name in declared]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all outputs, computed once. A process of its own keeps the page library's event loops from this one."""
    folder = tmp_path_factory.mktemp("outputs")
    subprocess.run([sys.executable, HERE / "record.py", "--into", folder], check=True, timeout=600)
    return folder


def test_each_output_is_recorded_and_no_other() -> None:
    assert {file.stem for file in (HERE / "expected").glob("*.txt")} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_an_output_is_as_recorded(name: str, outputs: Path) -> None:
    recorded = HERE / "expected" / f"{name}.txt"
    before = recorded.read_text(encoding="utf-8") if recorded.exists() else ""
    now = (outputs / recorded.name).read_text(encoding="utf-8")
    difference = "\n".join(unified_diff(before.splitlines(), now.splitlines(), "recorded", "now", lineterm="", n=2))
    assert not difference, f"{name} differs:\n{difference}"
