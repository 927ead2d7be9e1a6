"""Environments that borrow what is installed here: one with lm-evaluation-harness, Inspect and Every Eval Ever, and one with
the clients that tests/journeys/test_api_docs.py runs.

python tests/helpers/harnesses.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "harnesses"
"""Where `tests/run.sh` puts it."""

AGENTS = Path(sys.prefix) / "agents"
"""Where it puts the other one."""

LISTED = Path(__file__).parents[1] / "requirements"
ALONE = LISTED / "every_eval_ever.txt"
"""What is installed without what it needs."""

GRADIO_CLIENT = "@gradio/client@2.7.0"
"""The page library's client for JavaScript, where npm is there."""


def python_of(folder: Path = FOLDER) -> Path:
    """The interpreter of the environment."""
    return folder / "bin" / "python"


def make(folder: Path, listed: Path) -> None:
    """Makes an environment, or brings it up to date."""
    if not python_of(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    borrowed = sorted({path for path in sys.path if path.endswith("site-packages")})
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    _install(folder, listed)


def _install(folder: Path, listed: Path, *how: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python_of(folder), "install", "-q", "-r", listed, *how], check=True
    )


if __name__ == "__main__":
    make(FOLDER, LISTED / "harnesses.txt")
    _install(FOLDER, ALONE, "--no-deps", "--ignore-requires-python")
    make(AGENTS, LISTED.parents[1] / "requirements-mcp.txt")
    if npm := shutil.which("npm"):
        subprocess.run([npm, "install", "--silent", "--prefix", AGENTS, GRADIO_CLIENT], check=True)
