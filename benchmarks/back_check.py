"""How many of our names say, translated back, what the English ones say: the table in `docs/languages.md`.

    python benchmarks/back_check.py

Reads `assets/languages/back_check.csv`, which has the names whose words differed when they came back and those that a reader
remarked on, as they were judged before anything was mended. Prints a table in Markdown; intervals are Wilson's, at 95 %.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.assets import LANGUAGES
from medfact.facts import name_key
from medfact.languages import load_language
from medfact.languages.names import OURS
from medfact.metrics.uncertainty import wilson

SAME = "same"
SOMETHING_ELSE = ("narrower", "broader", "other")
"""Verdicts by which a name says something else than the English one."""
UNCLEAR = ("ambiguous", "odd")
"""Verdicts by which it says the same, but may be read otherwise, or is not what one writes."""


def judged() -> list[dict[str, str]]:
    """The rows of `back_check.csv`."""
    with (LANGUAGES / "back_check.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def share(count: int, of: int) -> str:
    """A share in percent with its interval, as the documentation has it."""
    low, high = wilson(count / of, of)
    return f"{count / of:.1%} ({low * 100:.1f}–{high * 100:.1f})".replace("%", " %")


def table() -> Iterator[str]:
    """The lines of the table, languages in the order of the file."""
    rows = judged()
    heads = ["language", "our names", "agreed in words", "judged the same", *SOMETHING_ELSE, "something else", *UNCLEAR]
    yield "| " + " | ".join([*heads, "ambiguous or odd", "changed"]) + " |"
    yield "|---" * (len(heads) + 2) + "|"
    for code in dict.fromkeys(row["language"] for row in rows):
        language = load_language(code)
        otherwise = {name_key(row["entity"]) for row in rows if row["language"] == code}
        ours = sum(name.source == OURS and bool(name.checked or key in otherwise) for key, name in language.names.items())
        of = Counter(row["verdict"] for row in rows if row["language"] == code)
        changed = sum(row["decision"] == "changed" for row in rows if row["language"] == code)
        else_, unclear = (sum(of[verdict] for verdict in kind) for kind in (SOMETHING_ELSE, UNCLEAR))
        cells = [f"{ours:,}", f"{ours - of.total():,}", of[SAME], *(of[verdict] for verdict in SOMETHING_ELSE)]
        cells += [share(else_, ours), *(of[verdict] for verdict in UNCLEAR), share(unclear, ours), changed]
        yield f"| {language.asking.title} | " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(*table(), sep="\n")


if __name__ == "__main__":
    main()
