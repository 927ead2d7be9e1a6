"""Which demonstrations stand before a statement: drawn from the facts kept aside, or read from the user's file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from medfact.answers import Demonstration
from medfact.answers.prompts import LLM_EVAL
from medfact.datasets import Collection, read_table
from medfact.datasets.denials import truth
from medfact.datasets.headers import Columns
from medfact.errors import FactsError, Mistake
from medfact.facts import Fact, digest
from medfact.prototypes import Pool
from medfact.statements import VARIANTS, Statement
from medfact.store import Run

_SALTS = ((), *((str(attempt),) for attempt in range(1, 20)))
"""What changes the key of a draw, one by one, while the draw equals an earlier one."""

Groups = dict[str, tuple[Demonstration, ...]]
"""Group (relation / variant, and the draw after the first) → its demonstrations."""


def group_of(pool: Pool, relation: str, variant: str, draw: int) -> str:
    """The group whose demonstrations stand before the statements of a relation and a variant. draw: counted from 0."""
    return _group(pool.canonical(relation) or relation, variant, draw)


def _group(relation: str, variant: str, draw: int) -> str:
    return f"{relation} / {variant}" + (f" / draw {draw + 1}" if draw else "")


def _relation(pool: Pool, fact: Fact) -> str:
    return pool.canonical(fact.relation) or fact.relation


_COLUMNS = ("relation", "variant", "statement", "label")


def read_demonstrations(path: Path) -> list[tuple[str, str, str, bool]]:
    """Reads (relation, variant, statement, label) of each row, in the order of the prompt.

    Args:
        path: a table with the columns relation, variant (the papers' key), statement, and label (true or false).

    Raises FactsError, naming file and row, if a column or a cell is missing or wrong.
    """
    columns, rows = read_table(path, needed=Columns(lambda names: set(_COLUMNS) <= set(names), fewest=2))
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise FactsError(f"{path.name}, row 1: the column {missing[0]} is missing.", f"It needs {', '.join(_COLUMNS)}.")
    demonstrations = []
    for number, row in rows:
        relation, variant, statement, label = (" ".join(row[name].split()) for name in _COLUMNS)
        if variant not in VARIANTS:
            raise FactsError(f"{path.name}, row {number}: there is no form {variant!r}.", f"Forms are: {', '.join(VARIANTS)}.")
        if label and truth(label) is None:
            raise FactsError(f"{path.name}, row {number}: the label is {label!r}.", "Write true or false.")
        if not relation or not statement or not label:
            raise FactsError(
                f"{path.name}, row {number}: the relation, the statement or the label (true or false) is missing.",
                "Fill it in.",
            )
        demonstrations.append((relation, variant, statement, truth(label) is True))
    if not demonstrations:
        raise FactsError(f"{path.name} holds no demonstration.", "Write one per row.")
    return demonstrations


def read_groups(file: Path, pool: Pool, groups: set[str]) -> Groups:
    """The demonstrations of the user's file. Raises Mistake unless every group has some."""
    by_group: defaultdict[str, tuple[Demonstration, ...]] = defaultdict(tuple)
    for relation, variant, text, label in read_demonstrations(file):
        by_group[_group(pool.canonical(relation) or relation, variant, 0)] += (Demonstration(text, label),)
    missing = sorted(groups - set(by_group))
    if missing:
        relation, _, variant = missing[0].partition(" / ")
        raise Mistake(
            f"{file.name} has no demonstrations for relation {relation!r}, form {variant!r}.",
            f"Give some for all {len(groups)} pairs of relation and form; {len(missing)} are missing.",
        )
    return {group: by_group[group] for group in groups}


def draw_groups(pool: Pool, facts: Sequence[Fact], shots: int, seed: int, draws: int) -> Groups:
    """Draws the demonstrations of every group from the facts kept aside. With enough facts, no two draws are the same.

    An odd number of shots has a majority label: it alternates over the relations, the variants and the draws, and a form and
    its negation have opposite ones.
    """
    by_relation: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_relation[_relation(pool, fact)].append(fact)
    groups: Groups = {}
    turn = {relation: place for place, relation in enumerate(sorted(by_relation, key=lambda one: digest(str(seed), one)))}
    for relation, members in by_relation.items():
        offset = turn[relation] + int(digest(str(seed)), 16) % 2
        for index, form in enumerate(VARIANTS):
            if form not in pool.forms:
                continue
            earlier: set[tuple[Demonstration, ...]] = set()
            for draw in range(draws):
                group = _group(relation, form, draw)
                mostly_true = (index + index // 4 + offset + draw) % 2 == 0
                keys = [digest(str(seed), group, *salt) for salt in _SALTS]
                tries = (_draw(pool, members, form, shots, mostly_true, key) for key in keys)
                new = next((shown for shown in tries if shown not in earlier), None)
                groups[group] = new or _draw(pool, members, form, shots, mostly_true, keys[0])
                earlier.add(groups[group])
    return groups


def _draw(pool: Pool, facts: Sequence[Fact], form: str, shots: int, mostly_true: bool, key: str) -> tuple[Demonstration, ...]:
    """Alternates between the labels, starting with the majority's, and prefers the heads used least."""
    ranked = sorted(facts, key=lambda fact: digest(key, fact.fact_id))
    uses: Counter[str] = Counter()
    statements: list[Statement] = []
    for number in range(shots):
        label = mostly_true if number % 2 == 0 else not mostly_true
        candidates = [fact for fact in ranked if (fact.positive != VARIANTS[form].negated) == label]
        if not candidates:
            continue
        fact = min(candidates, key=lambda candidate: uses[candidate.head])
        ranked.remove(fact)
        uses[fact.head] += 1
        statements += [statement for statement in pool.statements([fact]) if statement.variant == form]
    shuffled = sorted(statements, key=lambda statement: digest(key, "order", statement.statement_id))
    return tuple(Demonstration(statement.text, statement.label) for statement in shuffled)


def without_reverses(pool: Pool, facts: Sequence[Fact], collection: Collection) -> list[Fact]:
    """The facts, except those that the data also state backwards in the same relation: the reverse may be under test."""
    entity = collection.known.entity
    known = {(_relation(pool, f), entity(f.head), entity(f.tail)) for f in collection.facts if f.positive and f.tail}

    def has_reverse(fact: Fact) -> bool:
        head, tail = entity(fact.head), entity(fact.tail or "")
        return head != tail and (_relation(pool, fact), tail, head) in known

    return [fact for fact in facts if not has_reverse(fact)]


SHOTS_REPHRASED = "rephrased the demonstrations too"
"""In the note of a run whose demonstrations are rephrased as its statements are."""


def shots_rephrased(run: Run) -> bool | None:
    """Returns True if a run's demonstrations are rephrased as its statements are, which a note says; those of a file are not.

    None where nothing is rephrased, or nothing shown.
    """
    if run.spec.writer is None or run.pool == LLM_EVAL or not run.shots:
        return None
    return any(SHOTS_REPHRASED in note for note in run.notes)


def shot_notes(groups: Mapping[str, Sequence[Demonstration]], shots: int) -> Iterator[str]:
    """Says which groups have fewer demonstrations than asked for."""
    if shots and not groups:
        yield "No shots are shown: this method keeps no heads aside, or there are none to keep."
    few = [len(shown) for shown in groups.values() if len(shown) < shots]
    if few:
        yield f"{len(few)} of {len(groups)} groups have fewer than {shots} shots, at least {min(few)}."
