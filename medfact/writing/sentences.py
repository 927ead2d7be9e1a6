"""The rephrasing of each prototype, what it changed, or why the guards stopped every attempt."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher

from medfact.datasets import load
from medfact.datasets.isolated import load_isolated
from medfact.errors import MedfactError
from medfact.facts import Fact, KnowledgeBase
from medfact.models.entailment import Follows
from medfact.spec import RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.writing.guards import Claim, cleaned, names_in_a_sentence, why_stopped

KEPT, LEFT_OUT, ADDED = "kept", "left out", "added"

Marks = tuple[tuple[str, str], ...]
"""Pieces of two texts in order: (KEPT, LEFT_OUT or ADDED; the words)."""


def marks(before: str, after: str) -> Marks:
    """The words of two texts: those of both, those of the first alone, those of the second alone."""
    old, new = before.split(), after.split()
    pieces: list[tuple[str, str]] = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            pieces.append((KEPT, " ".join(old[i:j])))
            continue
        pieces += [(LEFT_OUT, " ".join(old[i:j]))] if j > i else []
        pieces += [(ADDED, " ".join(new[k:m]))] if m > k else []
    return tuple(pieces)


REPHRASED, UNCHANGED, NOT_WRITTEN = "rephrased", "unchanged", "not written"
"""What may become of a sentence, beside the reasons why it is stopped."""

LEAST_ENTAILED = 0.5
"""P of entailment, both ways, that a rephrasing needs where a model for inference is a guard too."""

ClaimOf = Callable[[Statement], Claim]


@dataclass(frozen=True)
class Sentence:
    """A prototype and what a writer made of it.

    text:    the rephrasing; None if no attempt passed the guards, so that the prototype stands. It may be the prototype itself.
    replies: what the writer wrote, attempt by attempt. stopped: why each of them was not used, a name in `guards.REASONS`.
    """

    prototype: Statement
    text: str | None
    replies: tuple[str, ...]
    stopped: tuple[str, ...]

    @property
    def fate(self) -> str:
        """REPHRASED, UNCHANGED, NOT_WRITTEN, or why the last attempt was stopped, a name in `guards.REASONS`."""
        if self.text is None:
            return self.stopped[-1] if self.stopped else NOT_WRITTEN
        return REPHRASED if self.text != self.prototype.text else UNCHANGED

    def statement(self, writer: str) -> Statement:
        """The statement to ask; its origin says who rephrased it, or why nobody did."""
        made = self.prototype
        if self.fate == UNCHANGED:
            return Statement(made.fact, made.pool, made.variant, made.text, f"prototype; {writer} repeated it")
        if self.text is None:
            why = f"prototype; the rephrasing by {writer} was stopped: {self.stopped[-1]}" if self.stopped else made.origin
            return Statement(made.fact, made.pool, made.variant, made.text, why)
        return Statement(made.fact, made.pool, made.variant, self.text, f"rephrased by {writer}")


class Guards:
    """The guards over one writing, which judge each reply once: a page that watches asks again and again."""

    def __init__(self, claim_of: ClaimOf, follows: Follows | None = None) -> None:
        self._claim_of, self._follows = claim_of, follows
        self._judged: dict[tuple[str, tuple[str, ...]], Sentence] = {}

    def sentence(self, prototype: Statement, replies: Sequence[str]) -> Sentence:
        """What became of a prototype."""
        key = prototype.statement_id, tuple(replies)
        if key not in self._judged:
            self._judged[key] = rephrased(prototype, replies, self._claim_of, self._follows)
        return self._judged[key]


def rephrased(prototype: Statement, replies: Sequence[str], claim_of: ClaimOf, follows: Follows | None = None) -> Sentence:
    """The first reply that passes the guards. follows: a further guard; each sentence must follow from the other."""
    claim = claim_of(prototype)
    stopped: list[str] = []
    for reply in replies:
        text = cleaned(reply)
        why = why_stopped(text, claim) or _why_not_entailed(text, prototype.text, follows)
        if why is None:
            return Sentence(prototype, text, tuple(replies), tuple(stopped))
        stopped.append(why)
    return Sentence(prototype, None, tuple(replies), tuple(stopped))


def _why_not_entailed(text: str, prototype: str, follows: Follows | None) -> str | None:
    if follows is None or text == prototype:
        return None
    return None if min(follows(prototype, text), follows(text, prototype)) >= LEAST_ENTAILED else "entailment"


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
            known = (load_isolated(spec) if spec.facts else load(spec)).known
    every = frozenset(name.casefold() for fact in (*known.facts, *facts) for name in (fact.head, fact.tail) if name)
    groups = {known.entity(group[0]): group for group in known.synonyms}

    def names(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*names_in_a_sentence(name), *groups.get(known.entity(name), ()))))

    def claim_of(statement: Statement) -> Claim:
        fact: Fact = statement.fact
        head, tail = names(fact.head), names(fact.tail) if fact.tail else ()
        others = every - {name.casefold() for name in (*head, *tail)}
        bounds = tuple(filter(None, (fact.region, fact.population)))
        return Claim(statement.text, head, tail, others, tuple(forms[fact.fact_id]), bounds)

    return claim_of


def rejections(sentences: Iterable[Sentence]) -> dict[str, dict[str, int]]:
    """Way of asking → how many sentences it has ("total"), and how many of each fate."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        variant = VARIANTS[sentence.prototype.variant].plain
        counts.setdefault(variant, Counter())["total"] += 1
        counts[variant][sentence.fate] += 1
    return {variant: dict(of) for variant, of in counts.items()}
