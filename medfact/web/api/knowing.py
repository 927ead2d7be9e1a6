"""What callers may know without a run: the data sets, statements of facts, and what the bundled facts say of a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from medfact.datasets import Collection, bundled_names, load_bundled
from medfact.datasets.bundled import about
from medfact.errors import Mistake
from medfact.exchange.rows import statement_row
from medfact.facts import Fact, core_name, fold_text, name_key
from medfact.limits import limits
from medfact.prototypes import load_pool
from medfact.results.wording import counted, describe_label
from medfact.runs.pool import asked_as_written
from medfact.statements import Statement
from medfact.web.api.caller import Caller
from medfact.web.api.words import USUAL_DATA, USUAL_METHOD, DataSet, Name, Protocol, Row, Rows, Seed, source_of
from medfact.web.evaluate.spec import planned
from medfact.web.services import Services, collection_of, spec_of

MOST_FACTS, MOST_FOUND = 25, 25
"""Of one answer."""

POOL = "medfact"
"""In whose sentences a fact is stated that a caller names."""

Head = Annotated[Name, Field(description="The condition of a fact of your own.")]
Relation = Annotated[Name, Field(description="Its relation, such as symptoms.")]
Tail = Annotated[Name, Field(description="Its finding.")]


def data_sets(services: Services, caller: Caller) -> list[Row]:
    """Lists the bundled data sets: what each is, and how many true facts it has of which relations."""
    return [_data_set(name, load_bundled(name)) for name in bundled_names()]


def _data_set(name: str, collection: Collection) -> Row:
    facts = [fact for fact in collection.facts if fact.positive]
    relations = sorted({fact.relation for fact in facts})
    return {"data_set": name, "about": about(name), "true_facts": len(facts), "relations": relations}


# ------------------------------------------------------------------------------------------------ statements


def statements(
    services: Services,
    caller: Caller,
    data_set: DataSet = USUAL_DATA,
    limit: Annotated[int, Field(ge=1, le=MOST_FACTS, description="True facts of the data set or of the rows.")] = 5,
    head: Head = "",
    relation: Relation = "",
    tail: Tail = "",
    holds: Annotated[bool, Field(description="Whether the fact of head, relation and tail is true.")] = True,
    rows: Rows = [],  # noqa: B006 (it is never changed, and a schema shows it)
    protocol: Protocol = USUAL_METHOD,
    seed: Seed = 0,
) -> list[Row]:
    """States facts in all ways of asking, each with its label; half of the statements are false on purpose, and marked. Name
    one fact by head, relation and tail for its eight statements, or take facts of a data set with their false partners.
    """
    if head or relation or tail:
        return [marked(one) for one in _eight(Fact(head, relation, tail, positive=holds))]
    source = source_of(services, caller, data_set, rows)
    spec = asked_as_written(spec_of(source, limit=limit, protocol=protocol, seed=seed, shots=0), collection_of(source))
    decided = services.store.of(caller.owner).decisions.of_partners()
    plan = planned(spec, source, decided, most=limits().quota_for(caller.owner).statements_a_run)
    return [marked(asked.statement) for asked in plan.statements if asked.draw == 0]


def _eight(fact: Fact) -> list[Statement]:
    """The statements of one fact. Raises Mistake where it cannot be stated."""
    if not (fact.head and fact.relation and fact.tail):
        raise Mistake("A fact needs a head, a relation and a tail.", "Give all three.")
    pool = load_pool(POOL)
    if (known := pool.inverse_of(fact.relation)) is not None:
        fact = fact.inverse(known)
    if not pool.states(fact):
        known = ", ".join(pool.relations)
        raise Mistake(f"There are no sentences for the relation {fact.relation!r}.", f"There are for {known}.")
    return list(pool.statements([fact]))


def marked(statement: Statement) -> Row:
    """A row of a statement, with its mark."""
    return {**statement_row(statement), "mark": mark(statement)}


def mark(statement: Statement) -> str:
    """The mark of a statement that is false; "" for a true one."""
    return "" if statement.label else describe_label(False, statement.fact.presumed)


# ------------------------------------------------------------------------------------------------ one sentence


def check_statement(
    services: Services,
    caller: Caller,
    sentence: Annotated[str, Field(max_length=1_000, description="A sentence about a condition and a finding.")] = "",
    head: Head = "",
    relation: Relation = "",
    tail: Tail = "",
) -> Row:
    """Says what the bundled facts hold of one sentence, or of one fact, with their sources. holds is null where they do not
    decide. The facts are few, and no clinician has reviewed them: not medical advice.
    """
    if bool(sentence) == bool(head or relation or tail):
        raise Mistake("Nothing, or too much, is to be checked.", "Give a sentence, or head, relation and tail.")
    found = sorted(_of_sentence(sentence) if sentence else facts_about(head, relation, tail), key=lambda one: one[0] is None)
    decided = next((holds for holds, _ in found if holds is not None), None)
    rows = [row for _, row in found][:MOST_FOUND]
    return {"holds": decided, "says": _in_words(decided, len(found)), "facts": rows}


Found = Iterator[tuple[bool | None, Row]]
"""Whether a fact decides what is asked, and how; the fact as a row."""


def _in_words(holds: bool | None, found: int) -> str:
    if holds is not None:
        return f"The bundled facts say that this is {'true' if holds else 'false'}."
    if found:
        return f"The bundled facts do not decide this. About it: {counted(found, 'fact')}."
    return "The bundled facts say nothing about this, which does not make it false."


def _known() -> Iterator[tuple[str, Collection, Fact]]:
    """All bundled facts, and those that a source states to be false."""
    for name in bundled_names():
        collection = load_bundled(name)
        for fact in (*(one for one in collection.facts if one.positive), *collection.known.judged):
            yield name, collection, fact


def facts_about(head: str, relation: str, tail: str) -> Found:
    """The bundled facts about a head, each with its truth where it decides the fact that is named: it has the same relation
    and tail. A relation may have any of its names, and one that is said from its other end is turned.
    """
    pool = load_pool(POOL)
    if tail and (known := pool.inverse_of(relation)) is not None:
        head, relation, tail = tail, known, head
    relation = pool.canonical(relation) or relation
    for name, collection, fact in _known():
        entity = collection.known.entity
        if not head or entity(fact.head) != entity(head) or (relation and name_key(relation) != name_key(fact.relation)):
            continue
        same = bool(tail and fact.tail) and entity(str(fact.tail)) == entity(tail)
        if same or not tail or fact.positive:
            yield (fact.positive if same and relation else None), _row(name, fact)


def _of_sentence(sentence: str) -> Found:
    """The facts whose both names stand in a sentence; one decides whose statement the sentence is, word for word."""
    words, pool = f" {_plain(sentence)} ", load_pool(POOL)
    for name, collection, fact in _known():
        if _names_one(words, collection.known.names(fact.head)) and _names_one(words, collection.known.names(str(fact.tail))):
            stated = {_plain(one.text): one.label for one in pool.statements([fact])}
            yield stated.get(_plain(sentence)), _row(name, fact)


def _plain(text: str) -> str:
    """A sentence without what does not tell it from another."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in fold_text(text)).split())


def _names_one(words: str, names: Iterable[str]) -> bool:
    return any(f" {_plain(core_name(name))} " in words for name in names)


def _row(name: str, fact: Fact) -> Row:
    told = {one: getattr(fact, one) for one in ("head", "relation", "tail", "source", "source_id", "as_of")}
    bound = {one: value for one in ("until", "region", "population") if (value := getattr(fact, one))}
    return {"data_set": name, **told, **bound, "mark": "" if fact.positive else describe_label(False)}
