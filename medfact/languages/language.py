"""A language, read from its folder and checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH, LANGUAGES
from medfact.errors import UnknownName
from medfact.facts import name_key
from medfact.languages.asking import Asking, read_asking
from medfact.languages.names import Name, read_names
from medfact.languages.pool import PoolInLanguage, read_pool_in_language, record_of_pool


@dataclass(frozen=True)
class Language:
    """A language in which facts are asked. code: as pages mark it ("es"). names: key of an entity → what it is called."""

    code: str
    names: Mapping[str, Name]
    pool: PoolInLanguage
    asking: Asking


def read_language(folder: Path) -> Language:
    """The language of a folder. Raises FactsError or PoolError, naming the file, where something is wrong with it."""
    names = read_names(folder / "names.csv")
    return Language(
        code=folder.name,
        names=names,
        pool=read_pool_in_language(folder / "pool.yaml", names),
        asking=read_asking(folder / "asking.yaml"),
    )


@cache
def load_language(code: str) -> Language:
    """A language that comes with medfact. Raises UnknownName where there is none of this code."""
    folders = {folder.name: folder for folder in LANGUAGES.iterdir() if folder.is_dir()}
    if code not in folders:
        raise UnknownName("language", code, folders)
    return read_language(folders[code])


def pool_file(code: str) -> dict[str, Any]:
    """What stands in the `pool.yaml` of a language that comes with medfact."""
    return record_of_pool(LANGUAGES / load_language(code).code / "pool.yaml")[1]


def name_in(code: str, entity: str) -> Name | None:
    """What an entity is called in a language; None in English, where facts have its name, and where the language has none."""
    return None if code == ENGLISH else load_language(code).names.get(name_key(entity))


def names_in(code: str, entity: str) -> tuple[str, ...]:
    """All that an entity is called in a language: its name first, then the others in use; () where `name_in` has None."""
    name = name_in(code, entity)
    return (name.text, *name.synonyms) if name else ()
