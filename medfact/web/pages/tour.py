"""What a first visitor sees on the page Evaluate: the claim, with the demonstration in two numbers; and the tour: one of its
facts in five steps, then two models asked live, and a card."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from medfact.facts import Fact
from medfact.kept import keep
from medfact.models import BUNDLED_MODEL, NARROW_MODEL
from medfact.results import wording
from medfact.results.live import PACE, Live, Version
from medfact.results.pairs import Pairs
from medfact.results.wording import FATES, state_in_words
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, Asked
from medfact.views.fragments import render
from medfact.web.evaluate.begin import begin
from medfact.web.evaluate.form import LAST_STEP, EvaluateShow, Setup
from medfact.web.pages import Action, Message, View, Visitor
from medfact.web.pages.cards import Card, card_of_answers, of_facts
from medfact.web.pages.progress import named, progress_of
from medfact.web.posted import card_now
from medfact.web.services import Services

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


def hero(visitor: Visitor, begins: bool = False, back: bool = False) -> Markup:
    """The claim, the story of the demonstration in two numbers, and one of its facts with the model's answers.

    begins: whether the button that starts the game has the focus. back: whether there are runs to go back to.
    """
    live = visitor.services.reports.live(visitor.demonstration)
    return _hero(visitor.services, live.run.run, live.version, begins, back)


@keep(8)
def _hero(services: Services, run: str, _: Version, begins: bool, back: bool) -> Markup:
    """Kept for each version of the demonstration's answers."""
    live = services.reports.live(run)
    report = live.report
    mastered = round((report.joint_accuracy.value or 0) * report.joint_accuracy.n)
    playable = live.run.state == COMPLETE
    card = _card(services, live)
    return render("hero", report=report, mastered=mastered, card=card, playable=playable, begins=begins, back=back)


def _card(services: Services, live: Live) -> Card | None:
    """A pair of the demonstration whose plain statement the model got right, and the rest not."""
    pairs = services.reports.pairs(live.run.run)
    told = [pair for pair in pairs.chosen("fragile") if pairs.fate[pairs.members[pair][0]].tolist().count(1) in (3, 4, 5)]
    if not told:
        return None
    items = of_facts(services, live.run.run, pairs.members[told[0]])
    return card_of_answers(services, [("medfact-tiny", live.run, items)])


# ------------------------------------------------------------------------------------------------ the tour


def tour(visitor: Visitor, show: EvaluateShow) -> View:
    """The tour in place of the story of the first page; the rest of the page waits.

    show: of the page. step: from 1 to LAST_STEP; pair: the ids of the two runs, with a comma, "" until they are asked.
    """
    live = visitor.services.reports.live(visitor.demonstration)
    again = visitor.services.reports.pace(live) if live.going else PACE if live.behind else None
    step = min(show.step, LAST_STEP)
    if live.state != COMPLETE:
        shown = render("tour_waits", state=state_in_words(live.state, live.run.reason))
    elif step == LAST_STEP:
        shown, again = _two_models(visitor, show)
    else:
        story = _story(visitor.services, live.run.run, live.version)
        shown = render("tour", story=story, step=step, steps=len(STEPS), report=live.report)
    fragments = {"hero": shown, "game": Markup(), "notice": Markup()}
    told = {"demo": "tour", "step": str(step) if step > 1 else "", "pair": show.pair}
    query = urlencode({name: value for name, value in told.items() if value}, safe=",")
    return View(fragments, show, query=f"?{query}", again=again, title="Tour · medfact")


# ------------------------------------------------------------------------------------------------ one fact


@keep(8)
def _story(services: Services, run: str, _: Version) -> Story | None:
    """The story of the pair that tells most, kept for each version of the answers; None where no pair is asked in all eight
    ways."""
    pairs = services.reports.pairs(run)
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
        return "It accepts a fact that no source lists, so its “true” to the real fact may mean little."
    if right:
        return {"dn": "Right: it does not follow the denial.", "partner": "Right: it does not say true to just anything."}.get(
            step, "Right again." if plain else "Right this time."
        )
    return "Wrong. The fact is the same; only the sentence is another." if plain else "Wrong again."


# ------------------------------------------------------------------------------------------------ two models


def compare(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Asks both demonstration models the same facts: two ordinary runs of the visitor."""
    chosen = Setup.model_validate({"models": MODELS, "pairs": PAIRS})
    runs = begin(visitor.services, visitor.owner, chosen, None, visitor.reviewers)
    return show.model_copy(update={"pair": ",".join(runs)}), Message()


def _two_models(visitor: Visitor, show: EvaluateShow) -> tuple[Markup, float | None]:
    """The button, or how far the two runs are, or what they show; and when to look again."""
    services = visitor.services
    runs = [run for run in dict.fromkeys(show.pair.split(",")) if services.asked(run)]
    if tuple(services.run(run).model for run in runs) != MODELS:
        return render("tour_two", lives={}, steps=len(STEPS), pairs=PAIRS, models=MODELS), None
    lives = named([services.reports.live(run) for run in runs])
    waits = any(live.going or live.behind for live in lives.values())
    values = {"lives": lives, "steps": len(STEPS), "ids": ",".join(runs), "going": waits}
    if waits:
        progress = [progress_of(name, live) for name, live in lives.items()]
        return render("tour_two", progress=progress, **values), services.reports.pace()
    return render("tour_two", card=card_now(services, runs), **values), None
