"""Where the files that come with medfact lie."""

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
