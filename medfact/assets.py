"""Paths of the bundled files, in the wheel or in the repository, and the languages of the bundled translations."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent

IS_INSTALLED = (_PACKAGE / "files").is_dir()
"""True if medfact was installed from its wheel, False in a repository."""

ASSETS = (_PACKAGE / "files" if IS_INSTALLED else _PACKAGE.parent) / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"  # folder of the bundled prototype pools
LANGUAGES = ASSETS / "languages"
"""One folder per language other than English."""

TABLE_WORDS = ASSETS / "table-words.yaml"
"""Vocabulary of users' tables in all languages: truth values, columns of negated facts, affixes of names."""

ENGLISH = "en"
"""Language code of the bundled facts and the papers' sentences; the default."""


@cache
def table_words() -> Mapping[str, Any]:
    """Loads TABLE_WORDS: name of a list → its words."""
    import yaml

    words: dict[str, Any] = yaml.load(TABLE_WORDS.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return words


def language_codes() -> tuple[str, ...]:
    """Codes of the languages in which statements can be asked, English first."""
    return tuple(language_names())


@cache
def language_names() -> dict[str, str]:
    """Language code → English name of the language, English first."""
    files = {folder.name: folder / "asking.yaml" for folder in sorted(LANGUAGES.iterdir()) if folder.is_dir()}
    return {ENGLISH: "English"} | {code: _read_title(file) or code for code, file in files.items() if file.is_file()}


def _read_title(file: Path) -> str:
    """Reads the value of `title:` in a YAML file. Parsing the whole file would be slow."""
    with file.open(encoding="utf-8") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("title:")), "")


def pool_language(pool: str) -> str:
    """Language code of a bundled translation, "fr" for the pool "medfact-fr"; "" for any other pool."""
    code = pool.rpartition("-")[2]
    return code if code != ENGLISH and code in language_names() and pool == f"medfact-{code}" else ""


def common_language(pools: Iterable[str]) -> str:
    """Language code of several pools; English if their languages differ."""
    codes = {pool_language(pool) or ENGLISH for pool in pools}
    return codes.pop() if len(codes) == 1 else ENGLISH
