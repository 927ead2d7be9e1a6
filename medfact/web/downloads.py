"""Runs as files, as tables and as a view for frames; the verdicts and the facts of a visitor."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from medfact.concurrency import compute_slot, yield_slot
from medfact.curation.checks import RULES
from medfact.datasets.table_writer import write_table
from medfact.errors import FactsError, MedfactError
from medfact.exchange import export_run
from medfact.exchange.rows import answer_row, score_rows
from medfact.results import wording
from medfact.results.compare import Side, across_of_papers
from medfact.results.exports import LOGS, log_of
from medfact.results.findings import verdict
from medfact.results.gallery import marks
from medfact.results.papers import PAPERS, tables
from medfact.reviews.transfer import rows_of
from medfact.reviews.verdicts import show_labels
from medfact.store import Run
from medfact.table_formats import media_type
from medfact.views.fragments import render
from medfact.views.report import html_report
from medfact.views.score_card import MAX_RUNS, ScoreCard, make_score_card
from medfact.web.clients import address_of
from medfact.web.evaluate.form import MOST_MODELS
from medfact.web.evaluate.spec import studio_source, studio_text
from medfact.web.pages.curate import rows_curated
from medfact.web.services import Services
from medfact.web.visitors import owner_of, owners_reviewing, owners_seen_by

CHUNK_BYTES = 1 << 16

ROWS_AT_ONCE = 500
"""Rows of a file that are made before others may compute."""

PLAIN_COLUMN = "None (plain)"
"""PretextTrans' column None, in files whose readers take that word alone for a missing value."""


Row = TypeVar("Row")


def computed(answer: Callable[..., Response]) -> Callable[..., Response]:
    """Decorates a function that answers at an address, and takes its `request`."""

    @wraps(answer)
    def in_a_place(**given: Any) -> Response:
        with compute_slot(address_of(given["request"].scope)):
            return answer(**given)

    return in_a_place


def routes(services: Services) -> APIRouter:
    """The addresses of files; whoever has a run's whole id may have them."""
    router = APIRouter(include_in_schema=False)
    _add_visitors(router, services)
    _add_runs(router, services)
    _add_embed(router, services)
    _add_tables(router, services)  # last: its addresses take most names
    return router


def _add_visitors(router: APIRouter, services: Services) -> None:
    """What a visitor has said and made, and nobody else's."""

    @router.get("/download/reviews/verdicts.{kind}")
    @computed
    def verdicts(kind: str, request: Request) -> Response:
        owner = owner_of(request)
        log = services.store.verdicts.log(owners=[owner])
        if not media_type(kind) or not log:
            return PlainTextResponse("You have judged nothing yet.", status_code=404)
        store = services.store.of(owner)
        statements = store.verdicts.statements_of({verdict.fact_id for verdict in log})
        show_labels(store, (statement.fact for statement in statements))
        return _table(rows_of(log, statements, store.verdicts.facts_shown(log)), "medfact-verdicts", kind)

    @router.get("/download/curate/{curation}-{rule}.{kind}")
    @computed
    def curated(curation: str, rule: str, kind: str, request: Request) -> Response:
        if not media_type(kind) or rule not in RULES:
            return _no_file()
        try:
            rows = rows_curated(services.store, curation, rule, owners_seen_by(request))
        except MedfactError as error:
            return PlainTextResponse(error.public, status_code=404)
        return _table(rows, f"medfact-facts-{curation[:8]}-{rule}", kind)

    @router.get("/download/studio/{pool}.yaml")
    @computed
    def studio(pool: str, request: Request, data: str = "") -> Response:
        return edited_pool(services, owner_of(request), pool, data)


def _add_runs(router: APIRouter, services: Services) -> None:
    @router.get("/export/{run}")
    @computed
    def export(run: str, request: Request) -> Response:
        if not services.has(run):
            return PlainTextResponse("There is no such run; it may have been deleted.", status_code=404)
        file = tempfile.TemporaryFile()  # noqa: SIM115 (the answer closes it, once it is sent)
        try:
            store = services.store.seen_by(*owners_seen_by(request))
            record = store.run(run)
            export_run(store, record.run, file)
        except MedfactError as error:
            file.close()
            return PlainTextResponse(error.public, status_code=409)
        return _sent(file, f"{_plain(record)}.gz", "application/gzip")

    @router.get("/download/{runs}/card.{kind}")
    @computed
    def card(runs: str, kind: Literal["svg", "txt"], request: Request) -> Response:
        ids = list(dict.fromkeys(runs.split(",")[: MAX_RUNS + 1]))
        if not 1 <= len(ids) <= MAX_RUNS or not all(map(services.asked, ids)):
            return _no_file()
        records = _asked(services, runs, owners_seen_by(request))
        drawn, headers = card_of_runs(services, records), _headers(f"{_plain(*records)}-card.{kind}", "inline")
        if kind == "txt":
            return PlainTextResponse(drawn.alt_text, headers=headers)
        return Response(drawn.svg, media_type="image/svg+xml", headers=headers)

    @router.get("/download/{run}/log-{harness}")
    @computed
    def log(run: str, harness: str, request: Request) -> Response:
        if harness not in LOGS or not services.asked(run):
            return _no_file()
        (record,) = _asked(services, run, owners_seen_by(request))
        file = tempfile.TemporaryFile()  # noqa: SIM115 (the answer closes it, once it is sent)
        for part in _giving_way(log_of(services.store, record, services.reports.final_report(record.run).report, harness)):
            file.write(part.encode("utf-8"))
        return _sent(file, f"{_plain(record)}-{harness}.{LOGS[harness]}", "application/json; charset=utf-8")


def _add_embed(router: APIRouter, services: Services) -> None:
    """The view of a published run for a frame on any other site."""

    @router.get("/embed/{run}")
    @computed
    def embed(run: str, request: Request) -> Response:
        name = next((one.name for one in services.store.publications.published() if one.run == run), None)
        if name is None or not services.asked(run):
            return PlainTextResponse("There is no published run of this name.", status_code=404)
        return HTMLResponse(_embedded(services, run, name), headers={"Cache-Control": "no-cache"})


def _embedded(services: Services, run: str, name: str) -> str:
    """The whole page. name: what the run is published as. Its link leads to the run wherever the server is."""
    live = services.reports.final_report(run)
    told = wording.marked(name, live.run.imported)
    return render(
        "embed",
        run=run,
        name=told,
        report=live.report,
        verdict=verdict({told: live.report}) if live.has_reportable_scores else "",
        scores=[wording.score(one, wording.ways_of([live.report])) for one in wording.first_scores([live.report])],
        marks=[mark for mark in marks(live.run, live.report) if mark != wording.FROM_FILE],
    )


def _add_tables(router: APIRouter, services: Services) -> None:
    @router.get("/download/{runs}/report.html")
    @computed
    def report(runs: str, request: Request, estimand: Literal["like", "these"] = "like") -> Response:
        owners = owners_seen_by(request)
        if not (records := _asked(services, runs, owners)):
            return _no_file()
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        ids = [record.run for record in records]
        text = html_report(services.store.seen_by(*owners), ids, made_at, owners_reviewing(request), estimand)
        return Response(text, media_type="text/html; charset=utf-8", headers=_headers(f"{_plain(*records)}-report.html"))

    @router.get("/download/{runs}/{name}.{kind}")
    @computed
    def table(runs: str, name: str, kind: str, request: Request) -> Response:
        records = _asked(services, runs, owners_seen_by(request))
        if not records or not media_type(kind) or (rows := _rows(services, records, name)) is None:
            return _no_file()
        return _table(rows, f"{_plain(*records)}-{name}", kind)


def _asked(services: Services, runs: str, owners: Sequence[str]) -> list[Run]:
    """The runs of an address that are there, as these owners may read them."""
    return [services.run(run).seen_by(owners) for run in dict.fromkeys(runs.split(",")[:MOST_MODELS]) if services.asked(run)]


def card_of_runs(services: Services, records: Sequence[Run]) -> ScoreCard:
    """The card of one run or two as they stand."""
    ids = [record.run for record in records]
    compared = services.comparisons.made(ids) if len(ids) == MAX_RUNS else None
    return make_score_card(records, [services.reports.final_report(run).report for run in ids], compared)


def _no_file() -> Response:
    return PlainTextResponse("There is no such file.", status_code=404)


def _headers(name: str, disposition: str = "attachment") -> dict[str, str]:
    return {"Content-Disposition": f'{disposition}; filename="{name}"', "Cache-Control": "no-store"}


def edited_pool(services: Services, owner: str, pool: str, data: str) -> Response:
    """A pool file of what a visitor has edited of a pool, and nobody else's; of what can state some facts, where data names
    them."""
    try:
        text = studio_text(services, owner, pool, studio_source(services, owner, data) if data else None)
    except MedfactError as error:
        return PlainTextResponse(error.public, status_code=404)
    return Response(text, media_type="application/yaml; charset=utf-8", headers=_headers(f"studio-{pool}.yaml"))


def _table(rows: Iterable[dict[str, Any]], name: str, kind: str) -> Response:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{kind}"
        try:
            write_table(_giving_way(rows), path)
        except FactsError as error:
            if isinstance(error.__context__, OSError):  # its sentence names a folder of the server
                raise error.__context__ from None
            raise
        file = path.open("rb")  # stays open when the folder goes
    return _sent(file, f"{name}.{kind}", media_type(kind))


def _giving_way(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of a file that may be long: others compute meanwhile."""
    for number, row in enumerate(rows, 1):
        yield row
        if number % ROWS_AT_ONCE == 0:
            yield_slot()


def _rows(services: Services, records: list[Run], name: str) -> Iterator[dict[str, Any]] | None:
    reports = [services.reports.final_report(record.run).report for record in records]
    if name == "scores":
        return (row for report in reports for row in score_rows(report.run, report.model, report, report.imported))
    if name == "answers":
        store = services.store
        return (
            {"run": record.run} | answer_row(item, record)
            for record in records
            for item in store.answers.asked(record.run)
            if item.answer is not None
        )
    paper, _, number = name.partition("-")
    if paper not in PAPERS:
        return None
    across = across_of_papers([Side(record, services.reports.board(record.run)) for record in records])
    found = [one for one in tables(reports, paper, across) if one.name.lower().replace(" ", "-") == number]
    return map(_with_plain_column, found[0].as_rows()) if found else None


def _with_plain_column(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: PLAIN_COLUMN if row[name] == "None" else row[name] for name in ("column", "less")}


def _sent(file: IO[bytes], name: str, media_type: str) -> Response:
    size = file.seek(0, 2)
    file.seek(0)
    headers = _headers(name) | {"Content-Length": str(size)}
    return StreamingResponse(_chunks(file), media_type=media_type, headers=headers)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _plain(*runs: Run) -> str:
    """A file's name of letters, digits and dashes that names all its runs, whatever they are called."""
    most = max(12, 60 // len(runs))
    names = (re.sub(r"[^A-Za-z0-9]+", "-", wording.run_name(run)).strip("-")[:most].strip("-") or "run" for run in runs)
    return "-".join(["medfact", *dict.fromkeys(names), *(run.run[:8] for run in runs)])
