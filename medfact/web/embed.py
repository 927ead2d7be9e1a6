"""A published run as a small page for a frame on any other site: the verdict, and each score with its interval."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from medfact.results import wording
from medfact.results.gallery import marks
from medfact.results.verdict import verdict
from medfact.views.fragments import render
from medfact.web.computed import computed
from medfact.web.services import Services


def routes(services: Services) -> APIRouter:
    """The address of the view; of a run that is not published there is none."""
    router = APIRouter(include_in_schema=False)

    @router.get("/embed/{run}")
    @computed
    def embed(run: str, request: Request) -> Response:
        name = next((one.name for one in services.store.publications.published() if one.run == run), None)
        if name is None or not services.asked(run):
            return PlainTextResponse("There is no published run of this name.", status_code=404)
        return HTMLResponse(view(services, run, name), headers={"Cache-Control": "no-cache"})

    return router


def view(services: Services, run: str, name: str) -> str:
    """The whole page. name: what the run is published as. Its link leads to the run wherever the server is."""
    live = services.reports.settled(run)
    told = wording.marked(name, live.run.imported)
    return render(
        "embed",
        run=run,
        name=told,
        report=live.report,
        verdict=verdict({told: live.report}) if live.is_telling else "",
        scores=[wording.score(one, wording.ways_of([live.report])) for one in wording.first_scores([live.report])],
        marks=[mark for mark in marks(live.run, live.report) if mark != wording.FROM_FILE],
    )
