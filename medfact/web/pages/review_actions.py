"""What a reviewer does on the page Review: judges a fact, takes a verdict back, goes to another fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.reviews.blindness import is_blind
from medfact.reviews.transfer import LONGEST_TEXT
from medfact.reviews.verdicts import CHOSEN, FACT_VERDICTS, RANDOM, REASONS, STATEMENT_VERDICTS, TRUE, WITHDRAWN, Opinion
from medfact.statements import Statement
from medfact.store import Verdict
from medfact.web.pages import Action, Message, Visitor
from medfact.web.pages.review_desk import (
    PACKET,
    ReviewShow,
    as_it_can_be,
    material_of,
    me,
    own_opinions,
    queue_of,
    statements_of,
)
from medfact.web.pages.review_material import Material


def _begun(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Material, Fact]:
    """What a button is about. Raises Mistake."""
    show = as_it_can_be(visitor, show)
    if not show.reviewer.strip():
        raise Mistake("Say who you are first: a name, or initials.", "Verdicts are kept under it.")
    material = material_of(visitor, show)
    return show, material, material.fact(action.about)


def judge(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records the verdict on a fact, the exceptions among its statements, and what is said of it; then shows the next one."""
    show, material, fact = _begun(visitor, show, action)
    fields = action.fields
    if fields.get("verdict", "") not in FACT_VERDICTS:
        raise Mistake("Say first whether the fact is true.", "Press 1 to 5.")
    said = own_opinions(visitor, show).get(fact.fact_id)
    log, statements = [_of_fact(visitor, show, fact, action)], statements_of(show, material, fact)
    for statement in statements:
        log += _exception(log[0], statement, fields, said)
    return _recorded(visitor, show, log, statements)


def all_fine(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records, in one key, that a fact is as the reviewer has ticked, or else true, and that all its sentences are fine."""
    show, material, fact = _begun(visitor, show, action)
    ticked = action.fields.get("verdict", "")
    action = replace(action, fields={**action.fields, "verdict": ticked if ticked in FACT_VERDICTS else TRUE})
    first = _of_fact(visitor, show, fact, action)
    said = own_opinions(visitor, show).get(fact.fact_id)
    log, statements = [first], statements_of(show, material, fact)
    for statement in statements:
        log += _exception(first, statement, {}, said)
    return _recorded(visitor, show, [replace(one, bulk=True) for one in log], statements)


def _of_fact(visitor: Visitor, show: ReviewShow, fact: Fact, action: Action) -> Verdict:
    """The verdict on a fact with its circumstances."""
    fields = action.fields
    comment, evidence = (fields.get(name, "").strip()[:LONGEST_TEXT] for name in ("comment", "evidence"))
    return replace(
        me(visitor, show),
        fact_id=fact.fact_id,
        verdict=fields["verdict"],
        reasons=tuple(reason for reason in REASONS if fields.get(f"reason-{reason}")),
        comment=comment,
        evidence=evidence,
        seconds=action.seconds,
        blind=not show.checking and is_blind(visitor.services.store, fact, visitor.selves),
        queue=show.queue if show.queue != RANDOM else CHOSEN if show.relation or show.search else RANDOM,
    )


def _exception(of_fact: Verdict, statement: Statement, fields: Mapping[str, str], said: Opinion | None) -> list[Verdict]:
    """What is said of one statement now, if that is not what was said before."""
    verdict = fields.get(f"of-{statement.statement_id}", "")
    wording = fields.get(f"wording-{statement.statement_id}", "").strip()[:LONGEST_TEXT]
    before = said.statements.get(statement.statement_id) if said else None
    if (verdict, wording) == ((before.verdict, before.wording) if before else ("", "")):
        return []
    verdict = verdict if verdict in STATEMENT_VERDICTS else WITHDRAWN
    plain = replace(of_fact, reasons=(), comment="", evidence="", seconds=None)
    return [replace(plain, verdict=verdict, statement_id=statement.statement_id, wording=wording)]


def _recorded(
    visitor: Visitor, show: ReviewShow, log: Sequence[Verdict], statements: Sequence[Statement]
) -> tuple[ReviewShow, Message]:
    visitor.services.log_of(visitor.owner, log, statements).verdicts.record(log, statements)
    ended = (show.place + 1) % PACKET == 0
    said = f"That was a packet of {PACKET} facts: a good place to stop, and everything is kept." if ended else ""
    return show.model_copy(update={"place": show.place + 1}), Message(said, "good")


def undo(visitor: Visitor, show: ReviewShow, _: Action) -> tuple[ReviewShow, Message]:
    """Takes this reviewer's last verdict on a fact back, with what came with it, and shows that fact again."""
    show = as_it_can_be(visitor, show)
    said = own_opinions(visitor, show)
    if not said:
        raise Mistake("There is nothing to take back.", "")
    last = max(said.values(), key=lambda one: one.fact.number)
    back = [replace(one, verdict=WITHDRAWN, seconds=None) for one in (last.fact, *last.statements.values())]
    visitor.services.log_of(visitor.owner, back).verdicts.record(back)
    queue = queue_of(visitor, show, material_of(visitor, show))
    place = next((n for n, fact in enumerate(queue) if fact.fact_id == last.fact.fact_id), show.place)
    return show.model_copy(update={"place": place}), Message("Taken back.", "good")


def jump(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Shows the fact of a number."""
    show = as_it_can_be(visitor, show)
    most, number = len(queue_of(visitor, show, material_of(visitor, show))), action.fields.get("number", "")
    if not number.isdecimal() or not 1 <= int(number[:9]) <= most:
        raise Mistake("There is no fact of that number.", f"Give 1 to {most:,}.")
    return show.model_copy(update={"place": int(number) - 1}), Message()
