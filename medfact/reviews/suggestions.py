"""Better wordings that reviewers propose, as sentence templates: suggestions for a pool, which change nothing by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from medfact.assets import pool_language
from medfact.languages import load_language
from medfact.languages.templates import template_of
from medfact.reviews.verdicts import Opinion
from medfact.statements import Statement
from medfact.writing.guards import HEAD, TAIL, masked, names_in_a_sentence


@dataclass(frozen=True)
class Suggestion:
    """A better wording of a statement. template: the wording with [X] and [Y] for its names; "" where it does not have both
    once. by: the reviewer's name.
    """

    statement: Statement
    wording: str
    template: str
    by: str


def suggestions(statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> Iterator[Suggestion]:
    """The wordings that reviewers propose for these statements, each as it stands now."""
    for statement in statements:
        for opinion in reviewed.get(statement.fact.fact_id, {}).values():
            own = opinion.statements.get(statement.statement_id)
            if own is not None and own.wording:
                yield Suggestion(statement, own.wording, _template(statement, own.wording), own.reviewer)


def _template(statement: Statement, wording: str) -> str:
    if code := pool_language(statement.pool):
        return _template_in(code, statement, wording)
    names = names_in_a_sentence(statement.fact.head), names_in_a_sentence(statement.fact.tail or statement.fact.head)
    text = masked(wording, *names)
    once = text.count(HEAD) == text.count(TAIL) == 1 and "[X]" not in wording and "[Y]" not in wording
    return text.replace(HEAD, "[X]").replace(TAIL, "[Y]") if once else ""


def _template_in(code: str, statement: Statement, wording: str) -> str:
    language, fact = load_language(code), statement.fact
    relation = language.pool.relations.get(language.pool.canonical(fact.relation) or "")
    like = relation.sentences_for(fact).get(statement.variant, "") if relation else ""
    return template_of(language, fact, wording, like)
