"""Sentences for people in `assets/words.yaml`: each is used, with its slots, and can be read in one breath."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from string import Formatter

import pytest
import yaml

import medfact
from medfact.assets import ASSETS
from medfact.words import WORDS, say, sayings, sentences

PACKAGE = Path(medfact.__file__).parent
LONGEST = 25
"""Words of a sentence."""

TRANSLATED = (
    "whoever", "whatever", "whichever", "as it was told", "one that", "those who", "who asks", "is told", "are told", "is said",
    "are said", "there is none", "of which", "for whom", "of whom", "stand for itself", "stands for itself", "let go of",
    "nobody else", "somebody",
)  # fmt: skip
"""Turns of phrase that stand in for a plain sentence."""


class Filler(int):
    """A value for a slot, with every attribute: itself."""

    def __getattr__(self, name: str) -> Filler:
        return self


def slots_of(sentence: str) -> set[str]:
    return {name.split(".")[0].split("[")[0] for _, name, _, _ in Formatter().parse(sentence) if name}


def uses() -> Iterator[tuple[str, str, str, set[str] | None]]:
    """(place, function, name of a sentence or a pattern of names, slots or None where they are not written out)."""
    for file in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "medfact.words"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in imported and node.args:
                slots = None if any(word.arg is None for word in node.keywords) else {str(word.arg) for word in node.keywords}
                for pattern in _patterns(node.args[0]):
                    yield f"{file.relative_to(PACKAGE)}:{node.lineno}", node.func.id, pattern, slots


def _patterns(node: ast.expr) -> list[str]:
    """The names that an expression may give: a text, an f-string with a * for each value, or either of two."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return _patterns(node.body) + _patterns(node.orelse)
    return ["*"]


USES = list(uses())


def matching(function: str, pattern: str) -> list[str]:
    return [name for name in sentences() if fnmatch(name, pattern if function == "say" else f"{pattern}.*")]


def test_each_use_names_a_sentence_and_fills_its_slots() -> None:
    wrong = []
    for place, function, pattern, slots in USES:
        assert pattern != "*", f"{place}: the name begins with text, so that it can be found"
        names = matching(function, pattern)
        wrong += [] if names else [f"{place}: no sentence is called {pattern}"]
        wrong += [
            f"{place}: {name} has the slots {slots_of(sentences()[name])}, not {slots}"
            for name in names
            if slots is not None and function == "say" and not slots_of(sentences()[name]) <= slots
        ]
    assert wrong == []


def test_each_sentence_is_used() -> None:
    used = {name for _, function, pattern, _ in USES for name in matching(function, pattern)}
    assert sorted(sentences().keys() - used) == []


@pytest.mark.parametrize("name", sentences())
def test_a_sentence_is_rendered_and_can_be_read_at_once(name: str) -> None:
    sentence = sentences()[name]
    text = say(name, **dict.fromkeys(slots_of(sentence), Filler(2)))
    assert text.strip() == text
    assert "{" not in text
    assert too_long(text) == []
    assert translated(text) == []


def too_long(text: str) -> list[str]:
    parts = text.replace("? ", ". ").replace("! ", ". ").replace("\n", ". ").split(". ")
    return [part for part in parts if len(part.split()) > LONGEST]


def translated(text: str) -> list[str]:
    return [phrase for phrase in TRANSLATED if re.search(rf"\b{phrase}\b", text, re.IGNORECASE)]


def test_the_methods_paragraph_can_be_read_at_once() -> None:
    """Its constant text, tags and slots taken out."""
    text = (ASSETS / "methods.jinja").read_text(encoding="utf-8")
    lines = re.sub(r"\{#.*?#\}|\{%.*?%\}", "\n", text, flags=re.DOTALL)
    constant = re.sub(r"\{\{.*?\}\}|\[@\w+\]", "2", lines, flags=re.DOTALL)
    paragraphs = [" ".join(part.split()) for part in constant.split("\n\n")]
    assert [part for paragraph in paragraphs for part in too_long(paragraph)] == []
    assert translated(constant) == []


def test_a_rule_finds_what_it_forbids() -> None:
    assert too_long(f"Short. {'word ' * 26}. Short.") != []
    assert too_long(f"Short. {'word ' * 25}. Short.") == []
    assert translated("Whoever asks, somebody answers.") == ["whoever", "somebody"]


def test_a_slot_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="family"):
        say("comparison.open")
    with pytest.raises(KeyError, match=r"comparison\.nothing"):
        say("comparison.nothing")
    assert sayings("comparison")["open"] == sentences()["comparison.open"]


def duplicates(text: str) -> list[str]:
    """Keys that stand twice in a mapping, with their lines. YAML's loaders keep the last and say nothing."""
    found = []
    nodes = [yaml.compose(text, yaml.SafeLoader)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            keys = [key.value for key, _ in node.value]
            found += [f"line {key.start_mark.line + 1}: {key.value}" for key, _ in node.value if keys.count(key.value) > 1]
            nodes += [value for _, value in node.value]
    return sorted(found)


def test_no_key_stands_twice() -> None:
    assert duplicates(WORDS.read_text(encoding="utf-8")) == []


def test_a_key_that_stands_twice_is_found_at_any_depth() -> None:
    assert duplicates("race:\n  open: a\n  open: b\nrest: c\n") == ["line 2: open", "line 3: open"]
    assert duplicates("race: {}\nrest: {}\nrace: {}\n") == ["line 1: race", "line 3: race"]
    assert duplicates("race:\n  open: a\nrest:\n  open: b\n") == []
