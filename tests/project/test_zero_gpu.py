"""A ZeroGPU Space: which packages it gets, and the real `spaces` package, which does nothing off the Hub.

The app in its environment is tried where there is one: MEDFACT_TESTS_SPACE_PYTHON names the Python of an environment with
`requirements-space.txt`; with MEDFACT_TESTS_ASK_THE_REGISTRY one of Python 3.12 is made, which takes several GB.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from browser import serve_app
from installed import ROOT
from packaging.requirements import Requirement
from packaging.version import Version
from strangers import wait_for_run_end
from visitors import Visitor

from medfact.models.local import zero_gpu

TORCH = "2.11.0"
"""The newest version that ZeroGPU runs."""


def lines(name: str) -> dict[str, Requirement]:
    found = [line for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {one.name: one for one in map(Requirement, found)}


def test_a_space_gets_what_everybody_gets_but_for_torch_and_the_package_of_spaces() -> None:
    usual, space = lines("requirements.txt"), lines("requirements-space.txt")
    assert set(space) - set(usual) == {"spaces"}
    assert {name: str(one) for name, one in space.items() if name not in {"torch", "spaces"}} == {
        name: str(one) for name, one in usual.items() if name != "torch"
    }
    assert str(space["torch"]) == f"torch=={TORCH}"


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


# ------------------------------------------------------------------------------------------------ its own environment


def python_312() -> str:
    """A Python 3.12 on this machine; "" where there is none."""
    homes = sorted(Path.home().glob(".pyenv/versions/3.12*/bin/python3.12"))
    for found in filter(None, (shutil.which("python3.12"), *map(str, homes))):
        if subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return ""


@pytest.fixture(scope="module")
def space_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment that has what a ZeroGPU Space has."""
    if given := os.environ.get("MEDFACT_TESTS_SPACE_PYTHON"):
        return given
    if not os.environ.get("MEDFACT_TESTS_ASK_THE_REGISTRY"):
        pytest.skip("no environment of a Space: set MEDFACT_TESTS_SPACE_PYTHON, or MEDFACT_TESTS_ASK_THE_REGISTRY to make one")
    if not (python := python_312()):
        pytest.skip("there is no Python 3.12 here, which ZeroGPU runs")
    folder = tmp_path_factory.mktemp("space") / "environment"
    subprocess.run([python, "-m", "venv", str(folder)], check=True, timeout=300)
    own = str(folder / "bin" / "python")
    wanted = ["-r", str(ROOT / "requirements-space.txt"), f"torch=={TORCH}"]
    subprocess.run([own, "-m", "pip", "install", "--quiet", *wanted], check=True, timeout=3_000)
    return own


QUOTA_USED_UP = """
import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

class Answers(BaseHTTPRequestHandler):
    asked = []
    def log_message(self, *_): pass
    def do_POST(self):
        where = urlsplit(self.path)
        self.asked.append((where.path, {name: value for name, (value,) in parse_qs(where.query).items()}))
        body = json.dumps({"left": 12, "wait": "PT12M"}).encode()
        self.send_response(429 if where.path == "/schedule" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"SPACES_ZERO_GPU": "true", "SPACES_ZERO_DEVICE_API_URL": f"http://127.0.0.1:{server.server_address[1]}"}
from medfact.models.local import zero_gpu
zero_gpu.prepare()
zero_gpu.announce()
from medfact.errors import ServiceDown
from medfact.models import load_model
zero_gpu.note_visitor("ada", "token-of-ada")
zero_gpu.ask_for("ada")
try:
    load_model("medfact-tiny")
except ServiceDown as error:
    print(json.dumps([str(error), Answers.asked]))
"""


@pytest.mark.model
def test_the_real_package_is_asked_for_shorter_slices_until_the_quota_is_used_up(space_python: str) -> None:
    """The service that hands out GPUs is one of our own here: it says that 12 seconds are left, and lends none."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "GRADIO_ANALYTICS_ENABLED": "False"}
    done = subprocess.run([space_python, "-c", QUOTA_USED_UP], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    said, asked = json.loads(done.stdout.splitlines()[-1])
    assert "ZeroGPU quota exceeded: You have exceeded your ZeroGPU quota" in said
    assert "resume the run later" in said
    assert asked[0][0] == "/startup-report"
    slices = [told for path, told in asked if path == "/schedule"]
    assert {told["token"] for told in slices} == {"token-of-ada"}
    seconds = [float(told["durationSeconds"]) for told in slices]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) == 3, "30, 15 and 10 seconds, as the package counts them"


VERSIONS = "import sys, torch, spaces; print(sys.version_info[:2] == (3, 12), torch.__version__.partition('+')[0])"


@pytest.mark.model
def test_the_app_starts_and_evaluates_in_a_spaces_own_environment(
    space_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = subprocess.run([space_python, "-c", VERSIONS], capture_output=True, text=True, check=True, timeout=300)
    assert found.stdout.split() == ["True", TORCH]
    monkeypatch.setattr("browser.app_command", lambda: ([space_python, "app.py"], ROOT))
    space = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1"}
    with serve_app(tmp_path, **space) as url, Visitor(url, cookie=f"medfact-visitor={secrets.token_hex(16)}") as visitor:
        (run,) = visitor.evaluate("medfact-tiny")
        assert wait_for_run_end(tmp_path, run).state == "complete"
    assert "Traceback" not in (tmp_path / "log.txt").read_text()
