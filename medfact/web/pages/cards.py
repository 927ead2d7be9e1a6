"""Fact cards: a fact, its false partners, and their statements in every way of asking, with a model's answers where there are
any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.answers import Demonstration
from medfact.assets import common_language
from medfact.caching import shared_cache
from medfact.facts import Fact
from medfact.results import wording
from medfact.runs.prompts import prompt_text
from medfact.statements import VARIANTS, Statement, Variant
from medfact.store import Asked, Retrieved, Run
from medfact.views.fragments import render
from medfact.web.services import Services


@dataclass(frozen=True)
class Reply:
    """What a model answered to a statement: its fate, the words for it, P(True), the exact prompt, the raw reply, and the
    passages that it was shown; None where nothing was retrieved.
    """

    model: str
    fate: str
    glyph: str
    verdict: str
    p_true: str
    prompt: str
    raw: str
    passages: tuple[Retrieved, ...] | None = None


@dataclass(frozen=True)
class StatementLine:
    """A statement on a card, the models' replies to it, and a remark where its wording is doubtful. pool: that it is from.
    presumed: whether nobody has checked its label.
    """

    text: str
    label: bool
    replies: tuple[Reply, ...] = ()
    remark: str = ""
    pool: str = ""
    presumed: bool = False


@dataclass(frozen=True)
class WayRow:
    """One way of asking: the statement about the true fact, and those about its false partners."""

    variant: Variant
    fact: tuple[StatementLine, ...]
    partners: tuple[StatementLine, ...]


@dataclass(frozen=True)
class Card:
    """A true fact with its false partners, or a false one that has no true one."""

    fact: Fact
    partners: tuple[Fact, ...]
    rows: tuple[WayRow, ...]

    @property
    def language(self) -> str:
        """The language of the statements; English where they are in several."""
        return common_language(line.pool for row in self.rows for line in (*row.fact, *row.partners))

    @property
    def right(self) -> int:
        """How many of the statements were answered right by the first model."""
        return sum(line.replies[0].fate == "right" for row in self.rows for line in (*row.fact, *row.partners) if line.replies)

    @property
    def asked(self) -> int:
        return sum(bool(line.replies) for row in self.rows for line in (*row.fact, *row.partners))


def card_of_statements(fact: Fact, partners: Sequence[Fact], statements: Sequence[tuple[Statement, str]]) -> Card:
    """A card without answers. statements: of the fact and its partners, each with a remark or ""."""
    rows = []
    for key in dict.fromkeys(statement.variant for statement, _ in statements):
        lines = [
            (s, StatementLine(s.text, s.label, remark=remark, pool=s.pool, presumed=bool(s.fact.presumed)))
            for s, remark in statements
            if s.variant == key
        ]
        own, others = ([line for s, line in lines if (s.fact.positive is fact.positive) is same] for same in (True, False))
        rows.append(WayRow(VARIANTS[key], tuple(own), tuple(others)))
    return Card(fact, tuple(partners), tuple(rows))


def card_of_answers(services: Services, sides: Sequence[tuple[str, Run, Sequence[Asked]]]) -> Card | None:
    """A card with the replies of several runs. sides: each run's name, its record, and the pair's statements there."""
    asked = [item for _, _, items in sides for item in items]
    facts = list({item.statement.fact.fact_id: item.statement.fact for item in asked}.values())
    if not facts:
        return None
    about = next((fact for fact in facts if fact.positive), facts[0])
    lines: dict[tuple[str, str], list[tuple[str, Asked, Run]]] = {}
    for name, run, items in sides:
        for item in items:
            lines.setdefault((item.statement.variant, item.statement.text), []).append((name, item, run))
    rows = [_row(services, about, key, lines) for key in VARIANTS if any(variant == key for variant, _ in lines)]
    return Card(about, tuple(fact for fact in facts if fact is not about), tuple(rows))


def _row(services: Services, about: Fact, key: str, lines: dict[tuple[str, str], list[tuple[str, Asked, Run]]]) -> WayRow:
    own: list[StatementLine] = []
    others: list[StatementLine] = []
    for (variant, text), replies in lines.items():
        if variant == key:
            statement = replies[0][1].statement
            line = StatementLine(
                text,
                statement.label,
                tuple(_reply(services, *reply) for reply in replies),
                pool=statement.pool,
                presumed=bool(statement.fact.presumed),
            )
            (own if statement.fact.positive is about.positive else others).append(line)
    return WayRow(VARIANTS[key], tuple(own), tuple(others))


def _reply(services: Services, name: str, item: Asked, run: Run) -> Reply:
    answer = item.answer
    raw = "(none)" if answer is None or answer.raw is None else answer.raw or "(empty)"
    prompt = prompt_text(run, item, _demonstrations(services, run.run))
    fate = wording.fate(item)
    said = wording.describe_answer(item), wording.describe_probability(answer, run.p_true_source)
    return Reply(name, fate.name, fate.glyph, *said, prompt, raw, item.passages)


@shared_cache(200)
def _demonstrations(services: Services, run: str) -> Mapping[str, Sequence[Demonstration]]:
    """They are recorded with the run and never change."""
    return services.store.answers.demonstrations(run)


def of_facts(services: Services, run: str, facts: Sequence[int]) -> list[Asked]:
    """The statements of some facts of a run, of the first draw of demonstrations."""
    return [item for item in services.store.answers.asked(run, facts=list(facts)) if item.draw == 0]


# ------------------------------------------------------------------------------------------------ lists and their drawer


def drawer_of(card: Card | None, row: int, found: Sequence[int], run: str = "", **more: object) -> Markup:
    """The card of the open row, and the ways to those before and after it in the list. run: of the answers, if it is one."""
    place = found.index(row) if row in found else -1
    previous = found[place - 1] if place > 0 else None
    following = found[place + 1] if 0 <= place < len(found) - 1 else None
    values: dict[str, object] = {
        "previous": previous,
        "following": following,
        "place": place + 1,
        "of": len(found),
        "diagnoses": {},
    }
    return render("drawer", card=card, pair=row, run=run, **values | more)
