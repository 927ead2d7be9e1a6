"""Folders of the files that come with medfact: within the package once it is installed, beside it in the repository."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

IS_INSTALLED = (_PACKAGE / "files").is_dir()
"""Whether medfact was installed from its wheel; otherwise it runs from its repository."""

ASSETS = (_PACKAGE / "files" if IS_INSTALLED else _PACKAGE.parent) / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
LANGUAGES = ASSETS / "languages"
"""A folder for each language beside English in which facts can be asked."""

ENGLISH = "en"
"""The language of facts, of the papers' sentences, and of whatever names no other."""


def language_codes() -> tuple[str, ...]:
    """The languages in which facts can be asked, English first."""
    return ENGLISH, *sorted(folder.name for folder in LANGUAGES.iterdir() if folder.is_dir())
