"""Environments on top of the packages of this one: one with lm-evaluation-harness, Inspect and Every Eval Ever, and one with
the clients that tests/journeys/test_api_docs.py runs.

python tests/helpers/harnesses.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "harnesses"
"""The first environment, made by `tests/run.sh`."""

AGENTS = Path(sys.prefix) / "agents"
"""The environment of the clients."""

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
"""Folder of requirements files."""

WITHOUT_DEPENDENCIES = REQUIREMENTS / "every_eval_ever.txt"
"""Requirements that are installed without their dependencies."""

GRADIO_CLIENT = "@gradio/client@2.7.0"
"""Gradio's client for JavaScript, installed if npm is."""


def interpreter_path(folder: Path = FOLDER) -> Path:
    """Returns the path of the Python interpreter in the folder of an environment."""
    return folder / "bin" / "python"


def make_environment(folder: Path, requirements: Path) -> None:
    """Creates or updates a virtual environment in a folder, which also sees the packages of this environment.

    requirements: the file of the packages to install in it.
    """
    if not interpreter_path(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    borrowed = sorted({path for path in sys.path if path.endswith("site-packages")})
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    _install(folder, requirements)


def _install(folder: Path, requirements: Path, *options: str) -> None:
    """Installs the packages of a requirements file in an environment. options: of `pip install`."""
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", interpreter_path(folder), "install", "-q", "-r", requirements, *options],
        check=True,
    )


if __name__ == "__main__":
    make_environment(FOLDER, REQUIREMENTS / "harnesses.txt")
    _install(FOLDER, WITHOUT_DEPENDENCIES, "--no-deps", "--ignore-requires-python")
    make_environment(AGENTS, REQUIREMENTS.parents[1] / "requirements-mcp.txt")
    if npm := shutil.which("npm"):
        subprocess.run([npm, "install", "--silent", "--prefix", AGENTS, GRADIO_CLIENT], check=True)
