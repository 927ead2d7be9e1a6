"""The page Tour: one fact of the demonstration in five steps, then two models asked live, and a card."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from pydantic import Field

from medfact.caching import shared_cache
from medfact.facts import Fact
from medfact.models import BUNDLED_MODEL, NARROW_MODEL
from medfact.results import wording
from medfact.results.fact_table import Pairs, pairs_of_run
from medfact.results.live import Version
from medfact.results.wording import FATES, describe_state
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, Asked
from medfact.views.fragments import render
from medfact.web.downloads import card_of_runs
from medfact.web.evaluate.begin import begin
from medfact.web.evaluate.form import Setup
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.cards import of_facts
from medfact.web.pages.progress import named, progress_of
from medfact.web.services import Services

LAST_STEP = 6
"""Five sentences about one fact, then two models."""

STEPS = ("none", "inv", "ins", "dn", "partner")
"""What each step asks: a variant about the true fact, at last the plain sentence about its false partner."""

MODELS = (BUNDLED_MODEL, NARROW_MODEL)
PAIRS = 40
"""True facts, each with a false partner, that both models are asked: enough for intervals, in some seconds."""


@dataclass(frozen=True)
class Said:
    """A sentence of the tour and what the model said to it. told: what follows from that, in words."""

    title: str
    text: str
    label: bool
    fate: str
    glyph: str
    said: str
    told: str


@dataclass(frozen=True)
class Story:
    """One fact as the model answered to it. strips: fates of all sentences about it, and about its partner. right: of each."""

    fact: Fact
    partner: Fact | None
    steps: tuple[Said, ...]
    strips: tuple[tuple[int, ...], ...]
    right: tuple[int, ...]


# ------------------------------------------------------------------------------------------------ the tour


class TourShow(Show):
    """What a visitor looks at on the page Tour.

    pair: the ids of the two runs, with a comma; "" until they are asked.
    """

    step: int = Field(1, ge=1, le=LAST_STEP)
    pair: str = Field("", max_length=100)


def view(visitor: Visitor, show: TourShow) -> View:
    """One step of it."""
    live = visitor.services.reports.live(visitor.demonstration)
    again = visitor.services.reports.next_look(live)
    step = min(show.step, LAST_STEP)
    if live.state != COMPLETE:
        shown = render("tour_waits", state=describe_state(live.state, live.run.reason))
    elif step == LAST_STEP:
        shown, again = _two_models(visitor, show)
    else:
        story = _story(visitor.services, live.run.run, live.version)
        variants = list(IMPLICATIONS.values())
        shown = render("tour", story=story, step=step, steps=len(STEPS), report=live.report, variants=variants)
    return View({"tour": shown}, show, again=again)


# ------------------------------------------------------------------------------------------------ one fact


@shared_cache(8)
def _story(services: Services, run: str, _: Version) -> Story | None:
    """The story of the pair that tells most, kept for each version of the answers; None where no pair is asked in all eight
    ways."""
    pairs = pairs_of_run(services.reports.board(run))
    chosen = telling(pairs)
    if chosen is None:
        return None
    items = of_facts(services, run, pairs.members[chosen])
    facts = list({item.statement.fact.fact_id: item.statement.fact for item in items}.values())
    fact = next(one for one in facts if one.positive)
    partner = next((one for one in facts if not one.positive), None)
    of = {(item.statement.fact.positive, item.statement.variant): item for item in items}
    asked = [of[(True, step) if step in IMPLICATIONS else (False, "none")] for step in STEPS]
    numbers = pairs.members[chosen]
    return Story(
        fact,
        partner,
        tuple(_said(step, item, asked[0], partner) for step, item in zip(STEPS, asked, strict=True)),
        tuple(tuple(int(fate) for fate in pairs.fate[number]) for number in numbers),
        tuple(int((pairs.fate[number] == 1).sum()) for number in numbers),
    )


def telling(pairs: Pairs) -> int | None:
    """The pair to tell: right when asked plainly, contradicted when denied, its false partner accepted; of these the one with
    most answers right, so that it looks known for longest. Where no pair is all that, the one that is most of it."""
    if pairs.variants != tuple(IMPLICATIONS):
        return None
    plain, denied = (pairs.variants.index(key) for key in ("none", "dn"))

    def worth(pair: int) -> tuple[int, int, int, int]:
        fates = [pairs.fate[number] for number in pairs.members[pair]]
        own, partner = fates[0], fates[1]
        reads = int((own >= 0).all() and (partner >= 0).all())
        story = int(own[plain] == 1) + int(own[denied] == 0) + int(partner[plain] == 0)
        return reads, int(own[plain] == 1), story, int((own == 1).sum())

    whole = [pair for pair, members in enumerate(pairs.members) if len(members) > 1 and pairs.positive[members[0]]]
    return max(whole, key=worth, default=None)


TITLES = {
    "none": "Asked plainly",
    "inv": "Said backwards",
    "ins": "As a patient's case",
    "dn": "Denied",
    "partner": "A false partner",
}


def _said(step: str, item: Asked, plain: Asked, partner: Fact | None) -> Said:
    fate = wording.fate(item)
    answer = item.answer.answer if item.answer else None
    said = "neither true nor false" if answer is None else "true" if answer else "false"
    told = _told(step, fate.name == FATES[1].name, answer, plain.answer.answer if plain.answer else None)
    return Said(TITLES[step], item.statement.text, item.statement.label, fate.name, fate.glyph, said, told)


def _told(step: str, right: bool, answer: bool | None, plain: bool | None) -> str:
    """What follows from an answer. plain: what the model said to the plain sentence."""
    if answer is None:
        return "It says neither true nor false, and that counts as wrong."
    if step == "none":
        return "Right. Most tests stop here: one sentence, one point." if right else "Wrong already."
    if step == "dn" and not right:
        both = "It said true to the sentence, and says true to its denial. Both cannot be: it contradicts itself."
        return both if plain else "Wrong: the sentence denies a fact that holds."
    if step == "partner" and not right:
        return "It accepts a fact that no source lists, so its “true” to the real fact means little."
    if right:
        return {"dn": "Right: it does not follow the denial.", "partner": "Right: it does not say true to just anything."}.get(
            step, "Right again." if plain else "Right this time."
        )
    return "Wrong. The fact is the same; only the sentence is another." if plain else "Wrong again."


# ------------------------------------------------------------------------------------------------ two models


def compare(visitor: Visitor, show: TourShow, _: Action) -> tuple[TourShow, Message]:
    """Asks both demonstration models the same facts: two ordinary runs of the visitor."""
    chosen = Setup.model_validate({"models": MODELS, "pairs": PAIRS})
    runs = begin(visitor.services, visitor.owner, chosen, None, visitor.reviewers)
    return show.model_copy(update={"pair": ",".join(runs)}), Message()


def _two_models(visitor: Visitor, show: TourShow) -> tuple[Markup, float | None]:
    """The button, or how far the two runs are, or what they show; and when to look again."""
    services = visitor.services
    runs = [run for run in dict.fromkeys(show.pair.split(",")) if services.asked(run)]
    if tuple(services.run(run).model for run in runs) != MODELS:
        return render("tour_two", lives={}, steps=len(STEPS), pairs=PAIRS, models=MODELS), None
    lives = named([services.reports.live(run) for run in runs], visitor.owners)
    waits = any(live.going or live.behind for live in lives.values())
    values = {"lives": lives, "steps": len(STEPS), "ids": ",".join(runs), "going": waits}
    if waits:
        progress = [progress_of(name, live) for name, live in lives.items()]
        return render("tour_two", progress=progress, **values), services.reports.pace()
    return render(
        "tour_two", card=card_of_runs(services, [services.run(run).seen_by(visitor.owners) for run in runs]), **values
    ), None


PAGE = Page(
    "tour",
    "Tour",
    ("tour", "said"),
    TourShow,
    view,
    {"tour_compare": compare},
    address=("step", "pair"),
    stops=("step",),
    place=51,
)
