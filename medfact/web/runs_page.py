"""The page Runs: a visitor's runs, to open, name, compare, export, import and delete."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import gradio as gr
from fastapi import Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from medfact.errors import MedfactError, UnknownName
from medfact.exchange import export_run
from medfact.results.live import Live, Version
from medfact.runs.plan import changes, names_files
from medfact.store import KEPT_DELETED, Run
from medfact.web import run_rows
from medfact.web.own_runs import LONGEST_NAME, LONGEST_NOTE, OwnRuns
from medfact.web.run_rows import ALL, FILTERS, PER_PAGE
from medfact.web.services import Services
from medfact.web.view import AT_ONCE, message, view
from medfact.web.visitors import owner_of, owners_seen_by

EVERY = 2.0
"""Seconds between two looks at runs that go on."""

SHOWN_EVENTS = 100
"""Of what happened to a run, the last ones."""

NOTHING_SAID = {"text": ""}
CHUNK = 1 << 16

Seen = tuple[tuple[str, Version], ...]
"""The runs that a page shows, and of which version."""


@dataclass(frozen=True)
class _Editor:
    """The name and the note of one run."""

    box: gr.Column
    heading: gr.HTML
    name: gr.Textbox
    note: gr.Textbox
    save: gr.Button
    cancel: gr.Button
    run: gr.State


@dataclass(frozen=True)
class _Page:
    notice: gr.HTML
    find: gr.Textbox
    state: gr.Dropdown
    bring: gr.UploadButton
    table: gr.HTML
    told: gr.HTML
    said: gr.HTML
    editor: _Editor
    number: gr.State
    seen: gr.State
    clock: gr.Timer

    @property
    def asked(self) -> list[Any]:
        """What decides which runs are listed."""
        return [self.find, self.state, self.number]

    @property
    def listed(self) -> list[Any]:
        """What `_listed` moves."""
        return [self.notice, self.table, self.number, self.seen, self.clock]


@dataclass(frozen=True)
class _Here:
    """The services, and the runs of visitors in them."""

    services: Services
    own: OwnRuns


def build(services: Services, blocks: gr.Blocks) -> None:
    """Lays the page out and wires it."""
    gr.Navbar(main_page_name="Evaluate")
    gr.Markdown(
        "# Runs\nA run is one model, asked about one set of facts by one method. These are yours: open one, name it, compare "
        "some, keep one as a file, or bring one. Whoever has the link of a run can read its answers."
    )
    here, page = _Here(services, OwnRuns(services)), _laid_out()
    _wire_list(here, blocks, page)
    _wire_editor(here, page)
    _wire_rows(here, page)


def _laid_out() -> _Page:
    notice = view("runs-notice", None, elem_id="runs-notice")
    with gr.Row(elem_id="runs-filters"):
        find = gr.Textbox(
            label="Find",
            placeholder="a name, note, model, data set or method",
            elem_id="runs-find",
            max_length=200,
            min_width=200,
            scale=3,
        )
        state = gr.Dropdown(
            [(text, key) for key, text in FILTERS.items()],
            value=ALL,
            label="State",
            filterable=False,
            elem_id="runs-state",
            min_width=200,
            scale=3,
        )
        bring = gr.UploadButton(
            "Bring a run from a file (.gz)", file_types=[".gz"], size="sm", elem_id="runs-import", min_width=160, scale=1
        )
    return _Page(
        notice=notice,
        find=find,
        state=state,
        bring=bring,
        table=view("runs", None, elem_id="runs"),
        told=view("runs-told", None, elem_id="runs-told"),
        editor=_editor(),
        said=view("runs-said", NOTHING_SAID, elem_id="runs-said"),
        number=gr.State(0),
        seen=gr.State(()),
        clock=gr.Timer(EVERY, active=False),
    )


def _editor() -> _Editor:
    with gr.Column(visible=False, elem_id="runs-editor") as box:
        with gr.Group():
            heading = view("message", message(""), elem_id="runs-editing", padding=True)
            name = gr.Textbox(label=f"Name (up to {LONGEST_NAME} characters)", max_length=LONGEST_NAME, elem_id="run-name")
            note = gr.Textbox(
                label=f"Note (up to {LONGEST_NOTE:,} characters)",
                lines=3,
                max_lines=12,
                max_length=LONGEST_NOTE,
                elem_id="run-note",
            )
        with gr.Row():
            save = gr.Button("Save", variant="primary", size="md", elem_id="run-save", min_width=100)
            cancel = gr.Button("Cancel", size="md", elem_id="run-cancel", min_width=100)
    return _Editor(box, heading, name, note, save, cancel, gr.State(""))


# ------------------------------------------------------------------------------------------------ the list


def _wire_list(here: _Here, blocks: gr.Blocks, page: _Page) -> None:
    """When the list is made: on loading, when it is searched, when a page is turned, and while a run goes on."""

    def listed(request: gr.Request, find: str, state: str, number: int) -> list[Any]:
        return _listed(here, request, find, state, number)

    def searched(request: gr.Request, find: str, state: str) -> list[Any]:
        return _listed(here, request, find, state, 0)

    def turned(request: gr.Request, find: str, state: str, event: gr.EventData) -> list[Any]:
        number = event._data.get("page")
        return _listed(here, request, find, state, number if isinstance(number, int) else 0)

    def looked(request: gr.Request, find: str, state: str, number: int, seen: Seen) -> list[Any]:
        if _nothing_new(here.services, seen):
            return [gr.skip()] * len(page.listed)
        return _listed(here, request, find, state, number)

    blocks.load(listed, page.asked, page.listed, api_name="runs", **AT_ONCE)
    searches = {**AT_ONCE, "trigger_mode": "always_last"}
    page.find.change(searched, page.asked[:2], page.listed, api_name="runs_found", **searches)
    page.state.input(searched, page.asked[:2], page.listed, api_name="runs_in_state", **searches)
    page.table.select(turned, page.asked[:2], page.listed, api_name="runs_turned", **AT_ONCE)
    clock: dict[str, Any] = {**AT_ONCE, "concurrency_limit": None, "trigger_mode": "once"}
    page.clock.tick(looked, [*page.asked, page.seen], page.listed, api_name="runs_again", **clock)


def _listed(here: _Here, request: gr.Request, find: str, state: str, number: int) -> list[Any]:
    """The notice, one page of the table, which page that is, what it shows, and the clock."""
    owners = owners_seen_by(request)
    runs = here.own.all(owners)
    words = (find or "").casefold().split()
    found = [run for run in runs if run_rows.matches(run, words, state)]
    number = max(0, min(number, (len(found) - 1) // PER_PAGE))
    part = found[number * PER_PAGE : (number + 1) * PER_PAGE]
    shown = [(run, live) for run in part if (live := _live(here.services, run)) is not None]
    rows = [run_rows.row(run, live, here.services.store.state_changes(run.run), owner_of(request)) for run, live in shown]
    table = run_rows.table(rows, number, len(found), len(runs), here.own.deleted(owners))
    moving = any(live.going or live.behind for _, live in shown)
    seen = tuple((run.run, live.version) for run, live in shown)
    return [run_rows.notice(runs), table, number, seen, gr.Timer(active=moving)]


def _live(services: Services, run: Run) -> Live | None:
    """A run as it stands; None where it was deleted just now."""
    try:
        return services.reports.live(run.run)
    except UnknownName:
        return None


def _nothing_new(services: Services, seen: Seen) -> bool:
    try:
        return all(services.reports.version(run) == version for run, version in seen)
    except UnknownName:
        return False


# ------------------------------------------------------------------------------------------------- one run


def _refused(error: MedfactError) -> dict[str, str]:
    return {"text": error.public, "kind": "mf-warn"}


def _done(before: str, run: Run, after: str, **more: str) -> dict[str, str]:
    """Something that was done to a run, whose name is kept apart from our own words."""
    return {"text": before, "name": run_rows.short(run), "after": after, "kind": "mf-good", **more}


def _wire_editor(here: _Here, page: _Page) -> None:
    """Name and note: opened from a row, saved or left."""
    editor = page.editor
    closing = [editor.box, editor.run, page.said]

    def open_editor(request: gr.Request, event: gr.EventData) -> list[Any]:
        try:
            run = here.own.one(owners_seen_by(request), event._data.get("run"))
        except MedfactError as error:
            return [gr.skip(), gr.skip(), _refused(error), *[gr.skip()] * 3]
        heading = message(f"The run of {run.model} on {run.dataset}:")
        return [gr.Column(visible=True), run.run, NOTHING_SAID, heading, run.name or "", run.note or ""]

    def save(request: gr.Request, run: str, name: str, note: str, find: str, state: str, number: int) -> list[Any]:
        try:
            saved = here.own.describe(owners_seen_by(request), run, name, note)
        except MedfactError as error:
            return [gr.skip(), gr.skip(), _refused(error), *[gr.skip()] * len(page.listed)]
        return [gr.Column(visible=False), "", _done("Saved “", saved, "”."), *_listed(here, request, find, state, number)]

    def leave() -> list[Any]:
        return [gr.Column(visible=False), "", NOTHING_SAID]

    opened = [*closing, editor.heading, editor.name, editor.note]
    given = [editor.run, editor.name, editor.note, *page.asked]
    page.table.edit(open_editor, None, opened, api_name="edit_run", **AT_ONCE).then(None, js=_focus("name"))
    for happens, name in ((editor.save.click, "save_run"), (editor.name.submit, "save_run_by_key")):
        happens(save, given, [*closing, *page.listed], api_name=name, **AT_ONCE).then(None, js=_focus("row"))
    editor.cancel.click(leave, None, closing, api_name="leave_run", **AT_ONCE).then(None, js=_focus("row"))


def _focus(where: str) -> str:
    return f"() => window.medfact.focusRuns('{where}')"


def _wire_rows(here: _Here, page: _Page) -> None:
    """What else can be done to a run, and runs that come as files."""
    said = [page.said, *page.listed]

    def delete(request: gr.Request, find: str, state: str, number: int, event: gr.EventData) -> list[Any]:
        done = _said(lambda: _delete(here, request, event._data.get("run")))
        return [done, *_listed(here, request, find, state, number)]

    def undo(request: gr.Request, find: str, state: str, number: int, event: gr.EventData) -> list[Any]:
        owners, run = owners_seen_by(request), event._data.get("run")
        done = _said(lambda: _done("Brought back “", here.own.undo(owners, run), "”."))
        return [done, *_listed(here, request, find, state, number)]

    def bring(request: gr.Request, path: str, find: str, state: str) -> list[Any]:
        done = _said(lambda: _brought(here, request, path))
        return [done, *_listed(here, request, find, state, 0)]

    def what_happened(request: gr.Request, event: gr.EventData) -> list[Any]:
        try:
            run = here.own.one(owners_seen_by(request), event._data.get("run"))
            store = here.services.store
            events, count = store.events(run.run, most=SHOWN_EVENTS), store.count_events(run.run)
            return [run_rows.happened(run, events, count - len(events), _changes(here.services, run)), gr.skip()]
        except MedfactError as error:
            return [gr.skip(), _refused(error)]

    page.table.delete(delete, page.asked, said, api_name="delete_run", **AT_ONCE)
    page.table.undo(undo, page.asked, said, api_name="bring_back_run", **AT_ONCE)
    page.said.undo(undo, page.asked, said, api_name="undo_delete", **AT_ONCE)
    page.bring.upload(bring, [page.bring, *page.asked[:2]], said, api_name="import_run", **AT_ONCE)
    page.table.expand(what_happened, None, [page.told, page.said], api_name="what_happened", **AT_ONCE)


def _changes(services: Services, run: Run) -> list[str]:
    """What has changed since a run was recorded. A file that says where its data is may come from a stranger: nothing is read
    that only such a file names.
    """
    if services.store.was_imported(run.run) and names_files(run.spec):
        return ["It came out of a file, and what it was made from is not compared."]
    return changes(run, services.data_of)


def _said(do: Callable[[], dict[str, str]]) -> dict[str, str]:
    """What was done, or why it was not."""
    try:
        return do()
    except MedfactError as error:
        return _refused(error)


def _delete(here: _Here, request: gr.Request, given: object) -> dict[str, str]:
    run = here.own.delete(owners_seen_by(request), given)
    return _done("Deleted “", run, f"”. It can be brought back for {KEPT_DELETED.days} days.", undo=run.run)


def _brought(here: _Here, request: gr.Request, path: object) -> dict[str, str]:
    owner = owner_of(request)
    return _done("Brought “", here.own.bring(owner, here.services.uploads.of(owner, path)), "” from its file.")


# ---------------------------------------------------------------------------------------------- runs as files


def exported(services: Services, run: str) -> Response:
    """A run as a file, for whoever has its whole id."""
    if not services.has(run):
        return PlainTextResponse("There is no such run; it may have been deleted.", status_code=404)
    record = services.run(run)
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the answer closes it, once it is sent)
    try:
        export_run(services.store, record.run, file)
    except MedfactError as error:
        file.close()
        return PlainTextResponse(error.public, status_code=409)
    size = file.seek(0, 2)
    file.seek(0)
    headers = {
        "Content-Disposition": f'attachment; filename="{_file_name(record)}"',
        "Content-Length": str(size),
        "Cache-Control": "no-store",
    }
    return StreamingResponse(_chunks(file), media_type="application/gzip", headers=headers)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk


def _file_name(run: Run) -> str:
    """Letters, digits and dashes only, whatever a run is called."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", run_rows.title(run)).strip("-")[:60]
    return f"medfact-{plain or 'run'}-{run.run[:8]}.gz"
