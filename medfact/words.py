"""Sentences for users, by name, from `assets/words.yaml`. A sentence may have slots in braces."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from medfact.assets import ASSETS

WORDS = ASSETS / "words.yaml"


@cache
def sentences() -> dict[str, str]:
    """Loads all sentences: dotted name → text, such as "race.decided" → "Decided: {lead}, after {diseases} ({counted})."."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(_flatten("", yaml.load(WORDS.read_text(encoding="utf-8"), loader)))


def _flatten(prefix: str, words: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields dotted name and text of each sentence in nested mappings."""
    for name, value in words.items():
        if isinstance(value, Mapping):
            yield from _flatten(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def say(name: str, /, **slots: object) -> str:
    """Returns the sentence of this name with its slots filled. Raises KeyError for a missing name or slot."""
    return sentences()[name].format_map(slots)


def sayings(prefix: str, /) -> dict[str, str]:
    """Returns the sentences of a group, by their names in it: "diagnosis" → {"blind": …, "yes": …}. Slots stay unfilled."""
    start = f"{prefix}."
    return {name.removeprefix(start): text for name, text in sentences().items() if name.startswith(start)}
