"""Names of a facts file that are kept though they may be none, and cells that were decoded: a note counts each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from medfact.datasets.cells import MARKUP, MISSING, NUMBER, SEVERAL, Listed, doubt, meant
from medfact.facts import Fact

DECODED, LISTS = "decoded", "lists"

_WORDS: Mapping[str, tuple[str, str]] = {
    MISSING: ("Words for a missing value", "They count as names; where nothing is meant, leave the cell empty."),
    NUMBER: ("Bare numbers", "They count as names; if they are identifiers, give the names in their place."),
    SEVERAL: ("Several names in one cell", "Each cell counts as one name; if it is a list, write one row for each."),
    MARKUP: ("Markup", "It counts as a part of the name; remove it if it is none."),
    DECODED: ("Names written in code", "They are read as the text that they stand for."),
    LISTS: ("Lists written as text", "Each element counts as a fact of its own."),
}

_EXAMPLES, _EXAMPLE_LENGTH = 3, 60


class Doubts:
    """Counts such cells. Columns are those of facts: head, relation, tail, and the identifiers of head and tail."""

    def __init__(self) -> None:
        self._columns: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._examples: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def meant(self, column: str, text: str) -> str:
        """What is surely meant by a cell (`cells.meant`)."""
        read = meant(text)
        if isinstance(read, Listed) and not isinstance(text, Listed):
            self._add(LISTS, column, text)
        elif read and read != text:
            self._add(DECODED, column, text)
        return read

    def look_at(self, cells: Mapping[str, str]) -> None:
        """Counts what may be no name among the cells of a row that is kept."""
        for column in ("head", "relation", "tail"):
            kind = doubt(cells[column])
            if kind and (kind != SEVERAL or column == "tail"):  # the names of diseases hold semicolons
                self._add(kind, column, cells[column])
        for column in ("head_id", "tail_id"):
            if doubt(cells.get(column, "")) == MISSING:
                self._add(MISSING, column, cells[column])

    def _add(self, kind: str, column: str, text: str) -> None:
        self._columns[kind][column] += 1
        if len(self._examples[kind]) <= _EXAMPLES:
            self._examples[kind].setdefault(" ".join(text.split()))

    def notes(self) -> Iterator[str]:
        """A note for each kind of which there is any."""
        for kind, (what, advice) in _WORDS.items():
            if columns := self._columns.get(kind):
                places = ", ".join(
                    f"the {name} of {count} {'row' if count == 1 else 'rows'}" for name, count in columns.items()
                )
                yield f"{what} ({', '.join(self._shown(kind))}): {places}. {advice}"

    def _shown(self, kind: str) -> list[str]:
        texts = [f"{text[:_EXAMPLE_LENGTH]}…" if len(text) > _EXAMPLE_LENGTH else text for text in self._examples[kind]]
        return texts if len(texts) <= _EXAMPLES else [*texts[:_EXAMPLES], "…"]


def capitals_note(facts: Sequence[Fact]) -> Iterator[str]:
    """Says how many facts are others in other capitals."""
    first: dict[tuple[bool, str, str, str], Fact] = {}
    again: list[Fact] = []
    for fact in facts:
        key = (fact.positive, fact.head.casefold(), fact.relation.casefold(), (fact.tail or "").casefold())
        one = first.setdefault(key, fact)
        if (one.head, one.relation, one.tail) != (fact.head, fact.relation, fact.tail):
            again.append(fact)
    if again:
        example = f"{again[0].head}, {again[0].relation}, {again[0].tail}"
        say, each = ("1 fact says", "Both count") if len(again) == 1 else (f"{len(again)} facts say", "Each counts")
        yield f"{say} the same as another one in other capitals, such as {example}. {each}; delete one if it is a slip."
