"""Files of the repository's root."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
"""Folder of the repository."""


def load_extras() -> dict[str, list[Requirement]]:
    """Returns the requirements of each extra, as setup.py reads them; "" for those of every installation."""
    spec = importlib.util.spec_from_file_location("setup_file", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines_by_extra: dict[str, list[str]] = module.extras() | {"": module.requirements()[""]}
    return {name: [Requirement(line) for line in lines] for name, lines in lines_by_extra.items()}
