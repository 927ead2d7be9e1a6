"""The first page: the claim, the demonstration in two numbers with one of its facts, a fact that the visitor types, and the
three ways on.
"""

from __future__ import annotations

import io

import orjson
from markupsafe import Markup
from pydantic import Field

from medfact.caching import shared_cache
from medfact.datasets import NOTHING_DECIDED
from medfact.errors import Mistake
from medfact.prototypes import load_pool
from medfact.results.fact_table import pairs_of_run
from medfact.results.live import Live, Version
from medfact.views.fragments import render
from medfact.web.api.knowing import POOL, facts_about
from medfact.web.evaluate.begin import begin_planned
from medfact.web.evaluate.form import Setup
from medfact.web.evaluate.spec import PlannedRun, planned
from medfact.web.pages import FIRST, SILENCE, Action, Message, Page, Show, View, Visitor
from medfact.web.pages.cards import Card, card_of_answers, of_facts
from medfact.web.pages.keeping import signing_in
from medfact.web.pages.progress import named
from medfact.web.pages.tour import MODELS
from medfact.web.services import Services, Source, spec_of


class HomeShow(Show):
    """The view of the first page."""

    pair: str = Field("", max_length=100)
    """Ids of the runs about the fact that the visitor typed, with a comma; "" before."""


def view(visitor: Visitor, show: HomeShow) -> View:
    """The same for everybody, while the demonstration is computed and after, but for the fact that a visitor typed."""
    live = visitor.services.reports.live(visitor.demonstration)
    typed, again = _typed_fact(visitor, show)
    fragments = {"hero": hero(visitor), "typed": typed, "notice": signing_in(visitor, "")}
    return View(fragments, show, again=again or visitor.services.reports.next_look(live), title="medfact")


def ask_fact(visitor: Visitor, show: HomeShow, action: Action) -> tuple[HomeShow, Message]:
    """Asks the demonstration models about the fact that a visitor typed: ordinary runs of the visitor. Raises Mistake where the
    fact cannot be asked, or is known to be false.
    """
    fact = {name: action.fields.get(name, "").strip()[:400] for name in ("head", "relation", "tail")}
    if not all(fact.values()):
        raise Mistake("A fact needs a condition, a relation and a finding.", "Fill in all three.")
    holds = next((holds for holds, _ in facts_about(**fact) if holds is not None), None)
    if holds is False:
        raise Mistake("The bundled facts say that this is false.", "Type a fact that holds.")
    file = visitor.services.uploads.put(visitor.owner, "typed.jsonl", io.BytesIO(orjson.dumps(fact)))
    source: Source = {"facts": str(file), "columns": []}
    specs = [spec_of(source, model=model, limit=1, shots=0, negatives=0) for model in MODELS]
    asked = [PlannedRun(spec, planned(spec, source, NOTHING_DECIDED)) for spec in specs]
    runs = begin_planned(visitor.services, visitor.owner, asked, Setup(pairs=1), lambda _: None)
    return (
        show.model_copy(update={"pair": ",".join(runs)}),
        SILENCE if holds else Message("The bundled facts do not decide this: true and false follow what you typed."),
    )


def _typed_fact(visitor: Visitor, show: HomeShow) -> tuple[Markup, float | None]:
    """The fields of a fact and, once it is typed, the models' answers to its statements as they arrive; and the seconds until
    the next of them.
    """
    services = visitor.services
    runs = [run for run in dict.fromkeys(show.pair.split(",")) if services.asked(run)][: len(MODELS)]
    lives = named([services.reports.live(run) for run in runs], visitor.owners)
    card = card_of_answers(services, [(name, live.run, of_facts(services, live.run.run, [0])) for name, live in lives.items()])
    again = services.reports.pace() if any(live.going or live.behind for live in lives.values()) else None
    return render("typed_fact", relations=load_pool(POOL).relations, card=card, names=list(lives), runs=",".join(runs)), again


def hero(visitor: Visitor) -> Markup:
    """The claim, the story of the demonstration in two numbers, and one of its facts with the model's answers."""
    live = visitor.services.reports.live(visitor.demonstration)
    return _hero(visitor.services, live.run.run, live.version)


@shared_cache(8)
def _hero(services: Services, run: str, _: Version) -> Markup:
    """Kept for each version of the demonstration's answers."""
    live = services.reports.live(run)
    joint = live.report.joint_accuracy
    mastered = round((joint.value or 0) * joint.n)
    return render("hero", report=live.report, mastered=mastered, card=_card(services, live), run=run)


def _card(services: Services, live: Live) -> Card | None:
    """A pair of the demonstration whose plain statement the model got right, and the rest not."""
    pairs = pairs_of_run(services.reports.board(live.run.run))
    told = [
        pair for pair in pairs.missed(plainly_right=True) if pairs.fate[pairs.members[pair][0]].tolist().count(1) in (3, 4, 5)
    ]
    if not told:
        return None
    return card_of_answers(services, [("medfact-tiny", live.run, of_facts(services, live.run.run, pairs.members[told[0]]))])


PAGE = Page(
    FIRST,
    "Home",
    ("hero", "typed", "said", "notice"),
    HomeShow,
    view,
    {"ask_fact": ask_fact},
    address=("pair",),
    stops=("pair",),
    place=-1,
)
