"""The wheel of this tree, and an environment with it that uses the dependencies of this one."""

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

INSTALLED_VARIABLE = "MEDFACT_TESTS_INSTALLED"
"""With this variable set, the tests in a browser start an installed app, outside the repository."""


def build_wheel(copy_folder: Path, wheel_folder: Path) -> Path:
    """Builds the wheel of this repository, and returns its path.

    copy_folder: receives a copy of the sources, in which the build leaves its files. wheel_folder: receives the wheel.
    """
    skipped = shutil.ignore_patterns(
        ".*", "__pycache__", "*.db", "*.egg-info", "build", "tests", "docs", "benchmarks", "shared"
    )
    shutil.copytree(ROOT, copy_folder, ignore=skipped, dirs_exist_ok=True)
    run_command([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheel_folder, copy_folder])
    return next(wheel_folder.glob("medfact-*.whl"))


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Creates a virtual environment in a folder, installs a wheel in it, and returns the folder of its programs."""
    run_command([sys.executable, "-m", "venv", "--without-pip", folder])
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run_command([sys.executable, "-m", "pip", "-q", "--python", programs / "python", "install", "--no-deps", wheel])
    packages = next(folder.glob("lib/python*/site-packages"), folder / "Lib" / "site-packages")
    borrowed = {path for path in sys.path if path.endswith("site-packages")}
    (packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return programs


def run_command(command: list[object]) -> str:
    """Runs a command outside the repository, asserts that it succeeds, and returns its standard output."""
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd="/")
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@cache
def app_command() -> tuple[list[str], Path]:
    """Returns the command that starts the app for a browser, and its working directory.

    With INSTALLED_VARIABLE set, it first installs the app in a temporary environment, and returns the installed command.
    """
    if not os.environ.get(INSTALLED_VARIABLE):
        return [sys.executable, "app.py"], ROOT
    folder = Path(tempfile.mkdtemp(prefix="medfact-installed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "wheel").mkdir()
    programs = install_wheel(build_wheel(folder / "source", folder / "wheel"), folder / "environment")
    return [str(programs / "medfact"), "app"], folder
