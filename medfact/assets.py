"""Folders of the files that come with medfact."""

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
