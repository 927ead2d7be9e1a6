"""What pyproject.toml cannot say: the folders beside the package that travel in it, and the extras of requirements.txt."""

import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
DATA = {"medfact.files.assets": "assets", "medfact.files.prototypes": "prototypes"}
"""Where `medfact/assets.py` looks for a folder of this repository once the package is installed."""

HEADING = re.compile(r"# \[([a-z, ]+)\]")


def requirements(file: str = "requirements.txt") -> dict[str, list[str]]:
    """What each extra needs, by its name; "" is what every install needs."""
    found: dict[str, list[str]] = {"": []}
    extras = [""]
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            extras = heading[1].split(", ")
        elif line and not line.startswith("#"):
            for extra in extras:
                found.setdefault(extra, []).append(line)
    return found


def extras() -> dict[str, list[str]]:
    """The extras of requirements.txt, all of them together, and those that the app does without."""
    found = requirements()
    del found[""]
    everything = {"all": sorted({line for lines in found.values() for line in lines})}
    return found | everything | requirements("requirements-cluster.txt") | requirements("requirements-mcp.txt")


if __name__ == "__main__":
    setup(
        packages=[*find_packages(include=["medfact*"]), *DATA],
        package_dir=DATA,
        package_data={"medfact": ["py.typed", "views/templates/*.html", "*/*.yaml"]} | {name: ["**/*"] for name in DATA},
        exclude_package_data={name: ["**/*.py", "pictures/*"] for name in DATA},
        install_requires=requirements()[""],
        extras_require={name: lines for name, lines in extras().items() if name},
    )
