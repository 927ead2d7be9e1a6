"""What a page is told of the runs that it shows: it asks again while they go on, and says each time what it has drawn.

The page asks over an address of its own, not through the page library, which would take both the browser and the server several
times as long for an answer. Nothing is kept between two questions: what is needed comes with each.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from medfact.results import plots
from medfact.results.live import PACE, Live
from medfact.results.papers import PAPERS
from medfact.store import INTERRUPTED, PAUSED, Run
from medfact.web import live_views
from medfact.web.results_step import FIRST, choice_of_paper, results_of
from medfact.web.run_controls import MOST_MODELS
from medfact.web.services import Services
from medfact.web.view import message
from medfact.web.visitors import owners_seen_by

HEAT_PAGE = 24
"""Facts on one page of the heat map."""


class Shown(BaseModel):
    """What a page shows, and what it has drawn of that.

    asked: the runs that it is to show, of its address or begun on it; kept: those that this browser showed last. chosen: which
    of them is in the heat map, on which page of facts. results: whether the papers' results are due again, while runs go on.
    state: of the last news; drawn: the fingerprint of each view's value.
    """

    asked: list[str] = Field(default=[], max_length=MOST_MODELS)
    kept: list[str] = Field(default=[], max_length=MOST_MODELS)
    chosen: int = 0
    page: int = 0
    paper: str = FIRST
    results: bool = True
    state: str = ""
    drawn: dict[str, str] = Field(default={}, max_length=64)


def routes(services: Services, demonstration: str) -> APIRouter:
    """The addresses at which pages ask. `demonstration` is the run that a first visitor sees."""
    router = APIRouter(include_in_schema=False)

    @router.post("/news")
    def told(shown: Shown, request: Request) -> Response:
        return Response(news(services, demonstration, owners_seen_by(request), shown), media_type="application/json")

    @router.get("/answer/{run}/{place}")
    def answer(run: str, place: str) -> Response:
        return Response(orjson.dumps(opened(services, run, place)), media_type="application/json")

    return router


def refused(_: Request, error: Exception) -> Response:
    """What cannot be had now, in one sentence; the page asks again."""
    return PlainTextResponse(getattr(error, "public", ""), status_code=503)


def news(services: Services, demonstration: str, owners: Sequence[str], shown: Shown) -> bytes:
    """What is new of the runs of a page, as JSON: the values of the views that differ from what it has drawn, by the views'
    ids, with their fingerprints; what the buttons may do; and whether, and after how many seconds, it should ask again.
    """
    runs = _runs(services, demonstration, shown)
    lives = [services.reports.live(run) for run in runs]
    going, behind = any(live.going for live in lives), any(live.behind for live in lives)
    chosen = min(max(shown.chosen, 0), len(runs) - 1)
    page = min(max(shown.page, 0), last_page(lives[chosen].run))
    paper = shown.paper if shown.paper in PAPERS else FIRST
    state = _fingerprint(orjson.dumps([chosen, page, paper, [(live.run.run, live.version) for live in lives]]))
    values: dict[str, Any] = {"progress": live_views.progress(lives)}
    if state != shown.state:
        values |= _figures(lives, demonstration)
        values |= _facts(services, lives, chosen, page)
        values |= results_of(lives, paper) if shown.results or not going else {}
        values |= {"paper": choice_of_paper(paper), "link": {"runs": [run for run in runs if run != demonstration]}}
    values |= _said(services, owners, shown, runs)
    texts = {name: orjson.dumps(value) for name, value in values.items()}
    prints = {name: _fingerprint(text) for name, text in texts.items()}
    new = [name for name in values if prints[name] != shown.drawn.get(name)]
    told = {
        "runs": runs,
        "state": state,
        "chosen": chosen,
        "page": page,
        "views": {name: orjson.Fragment(texts[name]) for name in new},
        "drawn": {name: prints[name] for name in new},
        "buttons": {"going": going, "resumable": any(live.resumable for live in lives)},
        "again": (services.reports.pace() if going else PACE) if going or behind else None,
    }
    return orjson.dumps(told)


def _fingerprint(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def last_page(run: Run) -> int:
    """The number of the last page of the heat map, from 0."""
    return max(0, run.facts - 1) // HEAT_PAGE


def opened(services: Services, run: str, place: str) -> dict[str, Any]:
    """The statement and answer at a position of a run; nothing where there is none."""
    there = re.fullmatch(r"\d{1,9}", place) and services.has(run)
    found = services.store.asked(run, positions=[int(place)]) if there else []
    if not found:
        return {}
    true = services.reports.true_fact(run, found[0].fact)
    demonstrations = services.store.demonstrations(run)
    return live_views.detail(services.store.run(run), found[0], true, demonstrations)


def _runs(services: Services, demonstration: str, shown: Shown) -> list[str]:
    """The runs that were asked for, else those that this browser showed last, else the demonstration."""
    there = ([run for run in dict.fromkeys(runs) if services.has(run)] for runs in (shown.asked, shown.kept))
    return next((runs for runs in there if runs), [demonstration])


def _said(services: Services, owners: Sequence[str], shown: Shown, runs: Sequence[str]) -> dict[str, Any]:
    """What is to be said of the runs before them, if anything."""
    if set(shown.asked) - set(runs):
        return {"runs-message": message("There is no run of that link; it may have been deleted.", "warn")}
    count = 0 if shown.drawn else sum(run.state in {INTERRUPTED, PAUSED} for run in services.store.runs(*owners))
    if not count:
        return {}
    which = "One run of yours was" if count == 1 else f"{count} runs of yours were"
    said = f"{which} interrupted. What was answered is kept: open “Runs” above, and resume."
    return {"runs-message": message(said, "warn")}


def _figures(lives: Sequence[Live], demonstration: str) -> dict[str, Any]:
    """The scores and figures of the runs, by the names of their views."""
    reports = {label: live.figures for label, live in live_views.by_label(lives).items()}
    return {
        "scores": live_views.scores(lives),
        "bars": plots.accuracy_by_variant(reports),
        "calibration": plots.calibration(reports),
        "calibration-said": live_views.calibration_said(lives),
        "banner": message(live_views.DEMONSTRATION_BANNER if [live.run.run for live in lives] == [demonstration] else ""),
    }


def _facts(services: Services, lives: Sequence[Live], chosen: int, page: int) -> dict[str, Any]:
    """One page of the facts of a run, which of them these are, and the choice of a run, where there are several."""
    run = lives[chosen].run
    items = services.store.asked(run.run, facts=range(page * HEAT_PAGE, (page + 1) * HEAT_PAGE))
    heat, where = live_views.heatmap(run, items, page, HEAT_PAGE)
    models = [{"text": name, "value": place} for place, name in enumerate(live_views.by_label(lives))]
    return {
        "heat": heat,
        "heat-turn": {"what": "facts", "where": where, "back": page > 0, "forward": page < last_page(run)},
        "which": {"label": "Model", "options": models, "chosen": chosen} if len(models) > 1 else {},
    }
