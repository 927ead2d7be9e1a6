"""How to judge: a short guide beside each fact, with an example for each way of asking. A project may have its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from medfact.assets import ASSETS
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import FactsError
from medfact.statements import VARIANTS

FILE = "review-guidelines.yaml"
MOST_BYTES = 50_000

_ABSOLUTE = re.compile(r"\b(?:cannot|can not|can't|never|always|no patients?|impossible|all patients)\b", re.IGNORECASE)


@dataclass(frozen=True)
class FormGuide:
    """What a way of asking should say, a sentence that does, and one that does not."""

    say: str
    fine: str
    bad: str


@dataclass(frozen=True)
class Guidelines:
    """fact, sentences: rules, in order. forms: a guide by the key of a variant."""

    fact: tuple[str, ...]
    sentences: tuple[str, ...]
    forms: Mapping[str, FormGuide]


def is_absolute(text: str) -> bool:
    """Whether a sentence says never, always or cannot, so that one patient makes it wrong."""
    return _ABSOLUTE.search(text) is not None


def guidelines(folder: Path) -> Guidelines:
    """The project's own guide, a file in the folder of its data; else the bundled one. Raises FactsError, naming the fault."""
    own = folder / FILE
    file = own if own.is_file() else ASSETS / FILE
    stat = file.stat()
    return _read(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read(file: Path, _: int, size: int) -> Guidelines:
    """Kept until the file changes."""
    if size > MOST_BYTES:
        raise FactsError(f"{FILE} is larger than {MOST_BYTES:,} bytes.", "A guide beside each fact should be short.")
    try:
        record = read_yaml(file.read_text(encoding="utf-8"))
    except InvalidYaml as error:
        raise FactsError(f"{FILE}{f', line {error.line}' if error.line else ''}: {error.problem}", error.hint) from None
    except UnicodeDecodeError:
        raise FactsError(f"{FILE}: it is not UTF-8 text.", "Save it as UTF-8.") from None
    if not isinstance(record, dict) or not isinstance(record.get("forms", {}), dict):
        raise FactsError(f"{FILE}: it has no rules.", "Write `fact`, `sentences` and `forms`, as in assets/.")
    forms = {str(key): _form(str(key), entry) for key, entry in record.get("forms", {}).items()}
    return Guidelines(_rules(record, "fact"), _rules(record, "sentences"), forms)


def _rules(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    rules = record.get(name, [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise FactsError(f"{FILE}: `{name}` is not a list of sentences.", "Write each in quotation marks, after a dash.")
    return tuple(rules)


def _form(key: str, entry: Any) -> FormGuide:
    if key not in VARIANTS or not isinstance(entry, dict):
        raise FactsError(f"{FILE}: the form {key!r} is not known, or has no guide.", f"Forms are: {', '.join(VARIANTS)}.")
    return FormGuide(*(str(entry.get(name, "")) for name in ("say", "fine", "bad")))
