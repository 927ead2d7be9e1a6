"""Bundled files: in the package if it is installed, next to it in the repository. Languages are folders of them."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent

IS_INSTALLED = (_PACKAGE / "files").is_dir()
"""True if medfact was installed from its wheel, False in a repository."""

ASSETS = (_PACKAGE / "files" if IS_INSTALLED else _PACKAGE.parent) / "assets"
PROTOTYPES = ASSETS.parent / "prototypes"
LANGUAGES = ASSETS / "languages"
"""One folder per language other than English."""

TABLE_WORDS = ASSETS / "table-words.yaml"
"""Vocabulary of users' tables in all languages: truth values, columns of negated facts, affixes of names."""

ENGLISH = "en"
"""Language code of facts and of the papers' sentences, and the default."""


@cache
def table_words() -> Mapping[str, Any]:
    """Word lists of TABLE_WORDS, by name."""
    import yaml

    words: dict[str, Any] = yaml.load(TABLE_WORDS.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return words


def language_codes() -> tuple[str, ...]:
    """Codes of the languages in which facts can be asked, English first."""
    return tuple(language_names())


@cache
def language_names() -> dict[str, str]:
    """Language code → English name, English first."""
    files = {folder.name: folder / "asking.yaml" for folder in sorted(LANGUAGES.iterdir()) if folder.is_dir()}
    return {ENGLISH: "English"} | {code: _read_title(file) or code for code, file in files.items() if file.is_file()}


def _read_title(file: Path) -> str:
    """Value of `title:` in a file, without parsing the rest: that is slow."""
    with file.open(encoding="utf-8") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("title:")), "")


def pool_language(pool: str) -> str:
    """Language code of a bundled pool's sentences; "" for English and for other pools."""
    code = pool.rpartition("-")[2]
    return code if code != ENGLISH and code in language_names() and pool == f"medfact-{code}" else ""


def common_language(pools: Iterable[str]) -> str:
    """Common language code of several pools; English if they differ."""
    codes = {pool_language(pool) or ENGLISH for pool in pools}
    return codes.pop() if len(codes) == 1 else ENGLISH
