"""Groupings: properties of facts and statements that right answers are compared by.

Each is registered once. Its figures (`by_<name>` in JSON), its section in every output, its choice and its filter on the page
follow from that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from medfact.assets import ASSETS
from medfact.datasets.text import InvalidYaml, read_yaml
from medfact.errors import FactsError, Mistake
from medfact.facts import Fact, digest
from medfact.metrics.averages import IMPLICATION_SETS, error_prone, pair_joint
from medfact.metrics.clusters import Bools
from medfact.metrics.measures import TypeAccuracy, measured
from medfact.metrics.records import Records, facts_of
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.statements import FORM_NAMES, VARIANTS, WRITTEN
from medfact.store import home

FACT, STATEMENT, VARIANT = "fact", "statement", "variants"

# Column of names in `Records` → the same property of a fact, "" where it is none.
COLUMNS = {VARIANT: "", "relations": "relation", "tail_types": "tail_type", "difficulties": "difficulty"}

Function = TypeVar("Function", bound=Callable[..., str | Sequence[str]])


@dataclass(frozen=True)
class Grouping:
    """A property that right answers are compared by."""

    name: str  # `by_<name>` in JSON
    title: str  # "right answers by <title>"
    groups_of: Callable[[Any], str | Sequence[str]]  # the group or groups of what it reads; "" for none
    reads: str  # FACT, STATEMENT, or a column of names in `Records`
    order: Callable[[], Iterable[str]]  # all groups in their order; empty: those that occur, sorted
    figures: Callable[[Records, Bools, str], Any]  # of the statements of a group; None leaves the group out
    tab: str  # choice in "Groups" on the page, and kind of its filter of facts; "" for a grouping without a section
    preposition: str  # "right about <group>"

    @property
    def key(self) -> str:
        """Its name in JSON, and its attribute of a report."""
        return f"by_{self.name}"

    def names(self, value: Any) -> tuple[str, ...]:
        """Groups of a value that it reads."""
        groups = self.groups_of(value)
        return tuple(filter(None, [groups] if isinstance(groups, str) else groups))

    def names_of_fact(self, fact: Fact) -> tuple[str, ...]:
        """Groups of a fact. Not for a grouping of statements."""
        return self.names(fact if self.reads == FACT else getattr(fact, COLUMNS[self.reads]) or "")

    def measure(self, records: Records, subjects: Sequence[Any] = ()) -> dict[str, Any]:
        """Figures by group. subjects: facts of the run by number, or its statements by position, where it reads such."""
        if self.reads in COLUMNS:
            column = getattr(records, self.reads)
            values, code = column.names, column.code
        else:
            draws = int(records.draw.max(initial=0)) + 1
            values, code = subjects, records.fact // draws if self.reads == FACT else np.arange(len(records.fact))
        members = [self.names(value) for value in values]
        present = {name for names in members for name in names}
        figures = {}
        for name in filter(present.__contains__, [*self.order()] or sorted(present)):
            rows = np.array([name in names for names in members], dtype=bool)[code]
            if rows.any() and (of_group := self.figures(records, rows, name)) is not None:
                figures[name] = of_group
        return figures


GROUPINGS: dict[str, Grouping] = {}  # every grouping by its name


def grouping(
    name: str,
    title: str,
    reads: str = FACT,
    order: Callable[[], Iterable[str]] = tuple,
    figures: Callable[[Records, Bools, str], Any] = lambda records, rows, _: records.accuracy(rows),
    tab: str | None = None,
    preposition: str = "for",
    kind: Any = Mapping[str, Estimate],
) -> Callable[[Function], Function]:
    """Registers a function of a fact, of a statement, or of a name in a column, as `reads` says. See `Grouping`.

    Its figures are a measure. Those of facts and statements are empty until a report knows these (`Grouping.measure`).
    """

    def register(groups_of: Function) -> Function:
        entry = Grouping(name, title, groups_of, reads, order, figures, name if tab is None else tab, preposition)
        GROUPINGS[name] = entry
        measured(entry.key, kind=kind)(lambda records, _: entry.measure(records))
        return groups_of

    return register


def group_tabs() -> dict[str, str]:
    """Choices in "Groups" on the page, with their titles."""
    return {grouping.tab: grouping.title for grouping in GROUPINGS.values() if grouping.tab}


def group_filters() -> dict[str, Grouping]:
    """Groupings that facts can be filtered by: the first of each choice, where it tells facts apart and not ways of asking."""
    return {grouping.tab: grouping for grouping in reversed(GROUPINGS.values()) if grouping.tab and grouping.reads != VARIANT}


# ------------------------------------------------------------------------------------------------ MKJ's categories

CATEGORIES_FILE = "semantic-categories.yaml"
MOST_TABLE_BYTES = 200_000


def categories() -> Mapping[str, str]:
    """Semantic type → its category, in the order of the table: the file in the folder of medfact's data, else the bundled one.

    Raises FactsError, naming the fault.
    """
    file = ASSETS / CATEGORIES_FILE
    with suppress(Mistake):  # a system without home folders, on which --db named a database
        file = custom if (custom := home() / CATEGORIES_FILE).is_file() else file
    stat = file.stat()
    return _read_categories(file, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read_categories(file: Path, _: int, size: int) -> Mapping[str, str]:
    """Reads the table. Cached until the file changes."""
    hint = "Write each category with its semantic types in a list, as in assets/."
    if size > MOST_TABLE_BYTES:
        raise FactsError(f"{CATEGORIES_FILE} is larger than {MOST_TABLE_BYTES:,} bytes.", hint)
    try:
        record = read_yaml(file.read_text(encoding="utf-8"))
    except InvalidYaml as error:
        raise FactsError(
            f"{CATEGORIES_FILE}{f', line {error.line}' if error.line else ''}: {error.problem}", error.hint
        ) from None
    except UnicodeDecodeError:
        raise FactsError(f"{CATEGORIES_FILE}: it is not UTF-8 text.", "Save it as UTF-8.") from None
    is_table = isinstance(record, dict) and all(isinstance(names, list) for names in record.values())
    types = [name for names in record.values() for name in names] if is_table else [None]
    if not all(isinstance(name, str) for name in types):
        raise FactsError(f"{CATEGORIES_FILE}: it is not a table of categories.", hint)
    if repeated := [name for name, count in Counter(types).items() if count > 1]:
        raise FactsError(f"{CATEGORIES_FILE}: {repeated[0]!r} stands in two categories.", "Leave it in one.")
    return {name: str(category) for category, names in record.items() for name in names}


def categories_key() -> str:
    """A hash of the table."""
    return digest(*(part for pair in categories().items() for part in pair))


# ------------------------------------------------------------------------------------------------ registered groupings


def _of_implications(records: Records, rows: Bools, name: str) -> Estimate | None:
    """Accuracy over a set of implication types; None where a run asks only some of them."""
    is_whole = len(np.unique(records.variants.code[rows])) == len(IMPLICATION_SETS[name])
    return records.accuracy(rows) if is_whole else None


def _of_difficulty(records: Records, rows: Bools, _: str) -> dict[str, int | Estimate] | None:
    """Figures over false partners of one difficulty, with their true facts. One with partners of two counts for both.

    negatives: number of these false facts. negative_accuracy: over their statements alone.
    """
    false = rows & ~records.positive
    if not false.any():
        return None
    pairs = records.only(false | (records.positive & np.isin(records.pair, records.pair[false])))
    facts = facts_of(pairs)
    return {
        "negatives": len(np.unique(records.triplet[false])),
        "average_accuracy": pairs.accuracy(np.ones(len(pairs.fact), dtype=bool)),
        "joint_accuracy": facts.joint(),
        "pair_joint_accuracy": pair_joint(pairs, facts),
        "negative_accuracy": pairs.accuracy(~pairs.positive),
    }


grouping("variant", "way of asking", VARIANT, lambda: (key for key in VARIANTS if key not in WRITTEN), tab="")(str)
grouping("relation", "relation", "relations", preposition="about")(str)


grouping("polarity", "affirmed or denied", VARIANT, lambda: ("affirmed", "negated"), tab="")(
    lambda key: "negated" if VARIANTS[key].negated else "affirmed"
)
grouping("form", "form", VARIANT, lambda: FORM_NAMES, tab="")(lambda key: VARIANTS[key].form)
grouping("implications", "implication types", VARIANT, lambda: IMPLICATION_SETS, _of_implications, tab="")(
    lambda key: [name for name, keys in IMPLICATION_SETS.items() if key in keys]
)
# a tail of several semantic types, "A; B", counts for each
grouping(
    "tail_type",
    "semantic type of the finding",
    "tail_types",
    figures=lambda records, rows, _: TypeAccuracy(
        *records.accuracy(rows), facts=len(np.unique(records.triplet[rows & records.scored]))
    ),
    tab="kind",
    preposition="about",
    kind=Mapping[str, TypeAccuracy],
)(lambda types: types.split("; "))
grouping("specialty", "specialty", preposition="about")(lambda fact: fact.specialty or "")
grouping(
    "difficulty",
    "difficulty of the twin",
    "difficulties",
    lambda: DIFFICULTIES,
    _of_difficulty,
    kind=Mapping[str, Mapping[str, int | Estimate]],
)(str)


@grouping("category", "kind of finding", "tail_types", lambda: dict.fromkeys(categories().values()), tab="kind")
def category(types: str) -> str:
    """MKJ's category of a tail: that of its first semantic type that is in one."""
    table = categories()
    return next((table[name] for name in types.split("; ") if name in table), "")


measured("error_prone", kind=Mapping[str, tuple[str, ...]], derived=True)(lambda figures: error_prone(figures["by_tail_type"]))
