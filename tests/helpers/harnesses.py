"""An environment with lm-evaluation-harness, Inspect and Every Eval Ever that borrows what is installed here.

python tests/helpers/harnesses.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "harnesses"
"""Where `tests/run.sh` puts it."""

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
LISTED, ALONE = REQUIREMENTS / "harnesses.txt", REQUIREMENTS / "every_eval_ever.txt"
"""What is installed with all that it needs, and what is without."""


def python_of(folder: Path = FOLDER) -> Path:
    """The interpreter of the environment."""
    return folder / "bin" / "python"


def make(folder: Path) -> None:
    """Makes the environment, or brings it up to date."""
    if not python_of(folder).exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    borrowed = sorted({path for path in sys.path if path.endswith("site-packages")})
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    install = [sys.executable, "-m", "pip", "--python", python_of(folder), "install", "-q", "-r"]
    subprocess.run([*install, LISTED], check=True)
    subprocess.run([*install, ALONE, "--no-deps", "--ignore-requires-python"], check=True)


if __name__ == "__main__":
    make(FOLDER)
