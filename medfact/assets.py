"""Folders of the files that come with medfact: within the package once it is installed, beside it in the repository."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

IS_INSTALLED = (_PACKAGE / "files").is_dir()
"""Whether medfact was installed from its wheel; otherwise it runs from its repository."""

ASSETS = (_PACKAGE / "files" if IS_INSTALLED else _PACKAGE.parent) / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
