"""A ZeroGPU Space: which packages it gets, and the real `spaces` package, which does nothing off the Hub."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from installed import ROOT
from packaging.requirements import Requirement
from packaging.version import Version

from medfact.models.local import zero_gpu


def lines(name: str) -> dict[str, Requirement]:
    found = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {one.name: one for one in map(Requirement, found)}


def test_a_space_gets_what_everybody_gets_but_for_torch_and_the_package_of_spaces() -> None:
    usual, space = lines("requirements.txt"), lines("requirements-space.txt")
    assert set(space) - set(usual) == {"spaces"}
    assert {name: str(one) for name, one in space.items() if name not in {"torch", "spaces"}} == {
        name: str(one) for name, one in usual.items() if name != "torch"
    }
    allowed = space["torch"].specifier
    assert [Version(number) in allowed for number in ("2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0")] == [
        False, True, True, True, True, False,
    ]  # fmt: skip


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=550)


@pytest.mark.skipif(not os.environ.get("MEDFACT_TESTS_ASK_THE_REGISTRY"), reason="asks the package registry")
def test_these_ranges_resolve_together(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    wanted = ("install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report))
    done = pip(*wanted, "-r", str(ROOT / "requirements-space.txt"))
    assert done.returncode == 0, done.stderr
    found = {one["metadata"]["name"]: one["metadata"]["version"] for one in json.loads(report.read_text())["install"]}
    assert Version(found["torch"]) in lines("requirements-space.txt")["torch"].specifier
    assert "spaces" in found


REAL = """
import sys
from medfact.models.local import zero_gpu
zero_gpu.prepare()
assert "torch" not in sys.modules
import spaces
from medfact.models import load_model
from medfact.models.prompt import Prompt
model = load_model("medfact-tiny")
words = ((" True", "True"), (" False", "False"))
prompts = [Prompt(f"{name} is a symptom of gout. True or False?", words) for name in ("Pain", "Itch", "Fever")]
plain = sorted((at, one.text, one.p_true) for at, one in model.complete(prompts))
sliced = sorted((at, one.text, one.p_true) for at, one in zero_gpu.in_slices(model).complete(prompts))
assert plain == sliced and len(plain) == 3, (plain, sliced)
print("the same", spaces.__file__)
"""


@pytest.mark.model
def test_the_real_package_changes_no_answer_off_the_hub(tmp_path: Path) -> None:
    """In a folder of its own, so that nothing else here finds the package."""
    fetched = pip("install", "--no-deps", "--quiet", "--target", str(tmp_path / "own"), "spaces")
    if fetched.returncode:
        pytest.skip(f"the registry gives no `spaces` package: {fetched.stderr.strip().splitlines()[-1][:200]}")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "own"), str(ROOT)]), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", REAL], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"the same {tmp_path}")


def test_a_zero_gpu_space_is_told_of_what_computes_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mounted page is never launched, which is when the package would tell."""
    told: list[str] = []
    spaces, zero = ModuleType("spaces"), ModuleType("spaces.zero")
    spaces.__spec__ = importlib.machinery.ModuleSpec("spaces", None)
    spaces.GPU = lambda duration: lambda work: told.append(f"{work.__name__} {duration}") or work  # type: ignore[attr-defined]
    zero.startup = lambda: told.append("startup")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setitem(sys.modules, "spaces.zero", zero)
    zero_gpu.announce()
    assert told == [], "elsewhere nothing happens"
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    zero_gpu.announce()
    assert told == ["_nothing 60", "startup"]
