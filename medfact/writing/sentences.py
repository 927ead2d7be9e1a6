"""What became of each prototype: its rephrasing, or why the guards stopped every attempt at one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from medfact.datasets import load
from medfact.errors import MedfactError
from medfact.facts import Fact, KnowledgeBase
from medfact.spec import RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.writing.guards import Claim, cleaned, names_in_a_sentence, why_stopped

ClaimOf = Callable[[Statement], Claim]


@dataclass(frozen=True)
class Sentence:
    """A prototype and what a writer made of it.

    text:    the rephrasing; None if no attempt passed the guards, so that the prototype stands.
    replies: what the writer wrote, attempt by attempt. stopped: why each of them was not used, a name in `guards.REASONS`.
    """

    prototype: Statement
    text: str | None
    replies: tuple[str, ...]
    stopped: tuple[str, ...]

    def statement(self, writer: str) -> Statement:
        """The statement to ask; its origin says who rephrased it, or why nobody did."""
        made = self.prototype
        if self.text is None:
            why = f"prototype; the rephrasing by {writer} was stopped: {self.stopped[-1]}" if self.stopped else made.origin
            return Statement(made.fact, made.pool, made.variant, made.text, why)
        return Statement(made.fact, made.pool, made.variant, self.text, f"rephrased by {writer}")


def rephrased(prototype: Statement, replies: Sequence[str], claim_of: ClaimOf) -> Sentence:
    """The first reply that passes the guards."""
    claim = claim_of(prototype)
    stopped: list[str] = []
    for reply in replies:
        text = cleaned(reply)
        why = why_stopped(text, claim)
        if why is None:
            return Sentence(prototype, text, tuple(replies), tuple(stopped))
        stopped.append(why)
    return Sentence(prototype, None, tuple(replies), tuple(stopped))


def reader_of(spec: RunSpec | None, statements: Iterable[Statement]) -> ClaimOf:
    """A function from a prototype to its claim. Other known names are those of the data of a spec, if it is given and there is
    such data; else of these statements' facts.
    """
    statements = list(statements)
    facts = {statement.fact.fact_id: statement.fact for statement in statements}.values()
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for statement in statements:
        forms[statement.fact.fact_id].append(statement.text)
    known = KnowledgeBase(tuple(facts))
    if spec is not None:
        with suppress(MedfactError):
            known = load(spec).known
    every = frozenset(name.casefold() for fact in (*known.facts, *facts) for name in (fact.head, fact.tail) if name)
    groups = {known.entity(group[0]): group for group in known.synonyms}

    def names(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*names_in_a_sentence(name), *groups.get(known.entity(name), ()))))

    def claim_of(statement: Statement) -> Claim:
        fact: Fact = statement.fact
        head, tail = names(fact.head), names(fact.tail) if fact.tail else ()
        others = every - {name.casefold() for name in (*head, *tail)}
        return Claim(statement.text, head, tail, others, tuple(forms[fact.fact_id]))

    return claim_of


def rejections(sentences: Iterable[Sentence]) -> dict[str, dict[str, int]]:
    """Way of asking → how many sentences it has, how many were rephrased, and how many stand as prototypes for which reason."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        variant = VARIANTS[sentence.prototype.variant].plain
        fate = "rephrased" if sentence.text is not None else sentence.stopped[-1] if sentence.stopped else "not written"
        counts.setdefault(variant, Counter())["total"] += 1
        counts[variant][fate] += 1
    return {variant: dict(of) for variant, of in counts.items()}
