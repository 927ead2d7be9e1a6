"""An environment with lm-evaluation-harness and Inspect that borrows what is installed here.

python tests/helpers/harnesses.py
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.prefix) / "harnesses"
"""Where `tests/run.sh` puts it."""

LISTED = Path(__file__).parents[1] / "requirements" / "harnesses.txt"


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
    install = [sys.executable, "-m", "pip", "--python", python_of(folder), "install", "-q", "-r", LISTED]
    subprocess.run(install, check=True)


if __name__ == "__main__":
    make(FOLDER)
