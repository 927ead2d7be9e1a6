"""The wheel of this tree, and an environment with it that borrows its dependencies from this one."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

ASKED_FOR = "MEDFACT_TESTS_INSTALLED"
"""With this variable set, the tests in a browser look at an app that was installed, outside the repository."""


def make_wheel(source: Path, folder: Path) -> Path:
    """The wheel of this tree, made in a folder from a copy in `source`: building leaves folders behind."""
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "*.db", "*.egg-info", "build", "tests", "docs", "benchmarks", "shared"
    )
    shutil.copytree(ROOT, source, ignore=skipped, dirs_exist_ok=True)
    done([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source])
    return next(folder.glob("medfact-*.whl"))


def install(wheel: Path, folder: Path) -> Path:
    """An environment with a wheel, in a folder; returns the folder of its programs."""
    done([sys.executable, "-m", "venv", "--without-pip", folder])
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    done([sys.executable, "-m", "pip", "-q", "--python", programs / "python", "install", "--no-deps", wheel])
    packages = next(folder.glob("lib/python*/site-packages"), folder / "Lib" / "site-packages")
    borrowed = {path for path in sys.path if path.endswith("site-packages")}
    (packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return programs


def done(command: list[object]) -> str:
    """Output of a command that is run outside the repository and must succeed."""
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd="/")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@cache
def app_command() -> tuple[list[str], Path]:
    """Command that starts the app for a browser, and its working directory."""
    if not os.environ.get(ASKED_FOR):
        return [sys.executable, "app.py"], ROOT
    folder = Path(tempfile.mkdtemp(prefix="medfact-installed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "wheel").mkdir()
    programs = install(make_wheel(folder / "source", folder / "wheel"), folder / "environment")
    return [str(programs / "medfact"), "app"], folder
