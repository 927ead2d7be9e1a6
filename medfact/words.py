"""Sentences for people, by name: `assets/words.yaml`, where each has named slots."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from medfact.assets import ASSETS

WORDS = ASSETS / "words.yaml"


@cache
def sentences() -> dict[str, str]:
    """Dotted name → sentence, such as "race.decided" → "Decided: {lead}, after {diseases} ({counted})."."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(_flatten("", yaml.load(WORDS.read_text(encoding="utf-8"), loader)))


def _flatten(prefix: str, words: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in words.items():
        if isinstance(value, Mapping):
            yield from _flatten(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def say(name: str, /, **slots: object) -> str:
    """Returns the sentence of this name with its slots filled. Raises KeyError for a missing name or slot."""
    return sentences()[name].format_map(slots)


def sayings(prefix: str, /) -> dict[str, str]:
    """Returns the sentences under a name, by their own names: "diagnosis" → {"blind": …, "yes": …}. They have no slots."""
    start = f"{prefix}."
    return {name.removeprefix(start): text for name, text in sentences().items() if name.startswith(start)}
