"""Folders of the files that come with medfact: within the package once it is installed, beside it in the repository."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent

IS_INSTALLED = (_PACKAGE / "files").is_dir()
"""Whether medfact was installed from its wheel; otherwise it runs from its repository."""

ASSETS = (_PACKAGE / "files" if IS_INSTALLED else _PACKAGE.parent) / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
LANGUAGES = ASSETS / "languages"
"""A folder for each language beside English in which facts can be asked."""

TABLE_WORDS = ASSETS / "table-words.yaml"
"""Words of users' tables in all languages: for true and false, for columns that deny facts, and beside names."""

ENGLISH = "en"
"""The language of facts, of the papers' sentences, and of whatever names no other."""


@cache
def table_words() -> Mapping[str, Any]:
    """The lists of TABLE_WORDS by their names."""
    import yaml

    words: dict[str, Any] = yaml.load(TABLE_WORDS.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return words


def language_codes() -> tuple[str, ...]:
    """The languages in which facts can be asked, English first."""
    return tuple(language_titles())


@cache
def language_titles() -> dict[str, str]:
    """Code of a language in which facts can be asked → its name in English, which stands in its file; English first."""
    files = {folder.name: folder / "asking.yaml" for folder in sorted(LANGUAGES.iterdir()) if folder.is_dir()}
    return {ENGLISH: "English"} | {code: _title_in(file) or code for code, file in files.items() if file.is_file()}


def _title_in(file: Path) -> str:
    """The line `title:` of a file, without the rest of it, which takes long to read."""
    with file.open(encoding="utf-8") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("title:")), "")


def language_of_pool(pool: str) -> str:
    """The code of the language in which a pool's sentences are; "" of English, and of pools that come from elsewhere."""
    code = pool.rpartition("-")[2]
    return code if code != ENGLISH and code in language_titles() and pool == f"medfact-{code}" else ""


def language_of_pools(pools: Iterable[str]) -> str:
    """The code of the language in which the sentences of all these pools are; English where they differ."""
    codes = {language_of_pool(pool) or ENGLISH for pool in pools}
    return codes.pop() if len(codes) == 1 else ENGLISH
