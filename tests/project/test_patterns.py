"""Every regular expression reads a text once: what a stranger wrote stops nobody's server."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import patterns as listed
import pytest
from patterns import ROOT, PatternUse, find_patterns, find_sites
from slow_texts import find_slowest_text

SCRIPTS = sorted((ROOT / "assets" / "page").glob("*.js"))
_LITERAL = re.compile(r"(?<=[(,=:!&|?\[])\s?/(?![/*])(?P<source>(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/[a-z]*")


@pytest.fixture(scope="module")
def everything() -> dict[str, Any]:
    """The patterns, as a fresh process compiles them."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", listed.__file__], capture_output=True, text=True, env=environment, check=True
    )
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def found(everything: dict[str, Any]) -> list[PatternUse]:
    return [*(PatternUse(*row) for row in everything["patterns"]), *of_scripts()]


def of_scripts() -> Iterator[PatternUse]:
    for script in SCRIPTS:
        for number, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1):
            for literal in _LITERAL.finditer(line):
                source = (
                    literal["source"]
                    .replace(r"\/", "/")
                    .replace("(?<", "(?P<")
                    .replace("(?P<=", "(?<=")
                    .replace("(?P<!", "(?<!")
                )
                yield PatternUse(f"{script.name}:{number}", source, 0, False, ("finditer",))


def too_slow(found: list[PatternUse], pairs: int, most: int | None, timed: int) -> list[str]:
    """The patterns that do not read each text once, with the text and the time."""
    slow = []
    for (pattern, method), place in {
        (one.compile(), method): one.place for one in reversed(found) for method in one.methods
    }.items():
        worst = find_slowest_text(pattern, method, pairs, most, timed)
        if worst.is_too_slow:
            took = f"{worst.seconds * 1000:.0f} ms for {worst.text!r}, x{worst.growth:.0f}"
            slow.append(f"{place} {method}: {took}: {pattern.pattern!r:.80}")
    return slow


def test_every_pattern_is_found(everything: dict[str, Any], found: list[PatternUse]) -> None:
    """A pattern that is built from data is compiled by a real call of `patterns._calls`: add one for a new place."""
    assert everything["lost"] == []
    places = {one.place.rpartition(":")[0] for one in found}
    assert {"medfact/writing/guards.py", "medfact/answers/keywords.py", "medfact/languages/replies.py", "medfact.js"} <= places
    assert not any("RegExp(" in script.read_text(encoding="utf-8") for script in SCRIPTS), "write it as a literal"


def test_a_pattern_under_another_name_is_refused() -> None:
    assert [
        site.expression for site in find_sites("new.py", ast.parse("import re\ndef f(p, t):\n    return re.search(p, t)"))
    ] == ["p"]
    for source in ("from re import search", "import re as regular", "import regex"):
        with pytest.raises(ValueError, match=r"new\.py:1: import re"):
            list(find_sites("new.py", ast.parse(source)))


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"[.!?]+(?=\s|$)", "finditer"),
        (r"\\boxed\s*\{\s*(?:\\[a-z]+\s*\{\s*)*(?P<word>true|false)\b", "finditer"),
        (r"\s*\d+\s*x?\s*", "fullmatch"),
        (r"(?:simply|\w+ly|\s)*\Z", "match"),
        (r"\|(?:~\S* )?", "finditer"),
        (r"b(?:with\s+)*c", "finditer"),
    ],
)
def test_a_pattern_that_reads_a_text_again_and_again_is_told(pattern: str, method: str) -> None:
    slow = too_slow([PatternUse("a.py:1", pattern, 0, False, (method,))], 0, None, 1)
    assert len(slow) == (pattern != r"b(?:with\s+)*c")


def test_patterns_over_replies_read_a_text_once() -> None:
    """A few texts for those whose names are known without running anything."""
    files = ("medfact/writing/guards.py", "medfact/answers/keywords.py", "medfact/models/services/contents.py")
    some, _ = find_patterns({file: ast.parse((ROOT / file).read_text(encoding="utf-8")) for file in files}, {})
    assert len(some) > 30
    assert too_slow(some, 0, 12, 1) == []


def test_every_pattern_reads_any_text_once(found: list[PatternUse]) -> None:
    """All texts: each part of a pattern repeated behind what comes before it, and pairs of its characters."""
    assert too_slow(found, 60, None, 4) == []
