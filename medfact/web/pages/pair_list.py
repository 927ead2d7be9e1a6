"""The list of a run's pairs, worst first, with two strips of answers a pair; and the drawer with one pair's card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MASTERED, MIXED, meaning
from medfact.results.live import Live
from medfact.results.pairs import FILTERS, Pairs
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.views.fragments import render
from medfact.web.pages import Visitor, paged
from medfact.web.pages.cards import Card, StripsRow, card_of_answers, drawer_of, of_facts

PAIRS_A_PAGE = 20


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


def _rows(visitor: Visitor, live: Live, pairs: Pairs, chosen: Sequence[int]) -> list[StripsRow]:
    numbers = [number for pair in chosen for number in pairs.members[pair]]
    facts = {item.fact: item.statement.fact for item in visitor.services.store.answers.asked(live.run.run, facts=numbers)}
    return [
        StripsRow(
            pair,
            [facts[number] for number in pairs.members[pair] if number in facts],
            [
                ("its false partner" if place else "the true fact", pairs.fate[number].tolist())
                for place, number in enumerate(pairs.members[pair])
            ],
            f"{pairs.right(pair)}/{pairs.asked(pair)}",
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
    members = pairs.members[show.fact]
    card = card_of_answers(visitor.services, [(name, live.run, of_facts(visitor.services, live.run.run, members))])
    return drawer_of(card, show.fact, found, run=name, diagnoses=_diagnoses(card, pairs, members))


def _diagnoses(card: Card | None, pairs: Pairs, members: Sequence[int]) -> dict[str, str]:
    """Id of a fact on the card → what its diagnosis means, where it says more than how many answers are right."""
    if card is None:
        return {}
    named = zip((card.fact, *card.partners), (pairs.diagnosis(number) for number in members), strict=False)
    return {
        fact.fact_id: meaning(name, fact.positive) for fact, name in named if name and name not in (CHANCE, MIXED, MASTERED)
    }
