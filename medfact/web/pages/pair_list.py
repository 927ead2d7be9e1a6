"""The list of a run's pairs, worst first, with two strips of answers a pair; and the drawer with one pair's card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.facts import Fact
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MASTERED, MIXED, meaning
from medfact.results.live import Live
from medfact.results.pairs import FILTERS, Pairs
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.views.fragments import render
from medfact.web.pages import Visitor, paged
from medfact.web.pages.cards import Card, card_of_answers, of_pair

PAIRS_A_PAGE = 20


@dataclass(frozen=True)
class PairRow:
    """One pair in the list: its number, its facts, and their answers as glyphs in the order of the variants."""

    pair: int
    facts: tuple[Fact, ...]
    strips: tuple[tuple[int, ...], ...]
    right: int
    asked: int


def pair_list(visitor: Visitor, show: Any, lives: Mapping[str, Live]) -> tuple[Markup, Any]:
    """One page of the pairs of the chosen run, and the view with its page number kept in range."""
    live = list(lives.values())[show.chosen]
    pairs = visitor.services.reports.pairs(live.run.run)
    found = pairs.chosen(show.only, show.relation)
    listed = paged(found, show.page, PAIRS_A_PAGE)
    fragment = render(
        "pair_list",
        rows=_rows(visitor, live, pairs, listed.part),
        of=len(pairs.members),
        **listed.numbers,
        filters=FILTERS if pairs.variants == tuple(IMPLICATIONS) else {k: v for k, v in FILTERS.items() if k not in DIAGNOSES},
        only=show.only,
        relation=show.relation,
        relations=sorted(set(pairs.relation)),
        names=list(lives),
        chosen=show.chosen,
        opened=show.fact,
        variants=[VARIANTS[key] for key in pairs.variants],
    )
    return fragment, show.model_copy(update={"page": listed.page})


def _rows(visitor: Visitor, live: Live, pairs: Pairs, chosen: Sequence[int]) -> list[PairRow]:
    numbers = [number for pair in chosen for number in pairs.members[pair]]
    facts = {item.fact: item.statement.fact for item in visitor.services.store.answers.asked(live.run.run, facts=numbers)}
    return [
        PairRow(
            pair,
            tuple(facts[number] for number in pairs.members[pair] if number in facts),
            tuple(tuple(int(fate) for fate in pairs.fate[number]) for number in pairs.members[pair]),
            pairs.right(pair),
            pairs.asked(pair),
        )
        for pair in chosen
    ]


def drawer(visitor: Visitor, show: Any, lives: Mapping[str, Live]) -> Markup:
    """The card of the open pair with its answers, and the pairs before and after it in the list."""
    name, live = list(lives.items())[show.chosen]
    pairs = visitor.services.reports.pairs(live.run.run)
    if show.fact >= len(pairs.members):
        return Markup()
    found = pairs.chosen(show.only, show.relation)
    place = found.index(show.fact) if show.fact in found else -1
    card = card_of_answers(visitor.services, [(name, live.run, of_pair(visitor.services, live, pairs.members[show.fact]))])
    return render(
        "drawer",
        card=card,
        pair=show.fact,
        run=name,
        previous=found[place - 1] if place > 0 else None,
        following=found[place + 1] if 0 <= place < len(found) - 1 else None,
        place=place + 1,
        of=len(found),
        true_fact=None,
        diagnoses=_diagnoses(card, pairs, pairs.members[show.fact]),
    )


def _diagnoses(card: Card | None, pairs: Pairs, members: Sequence[int]) -> dict[str, str]:
    """Id of a fact on the card → what its diagnosis means, where it says more than how many answers are right."""
    if card is None:
        return {}
    named = zip((card.fact, *card.partners), (pairs.diagnosis(number) for number in members), strict=False)
    return {
        fact.fact_id: meaning(name, fact.positive) for fact, name in named if name and name not in (CHANCE, MIXED, MASTERED)
    }
