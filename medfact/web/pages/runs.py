"""The page Runs: a visitor's runs, to open, name, compare, export, import and delete."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from os import SEEK_END
from typing import Any, BinaryIO, Literal

from markupsafe import Markup
from pydantic import Field

from medfact.datasets.isolated import reading
from medfact.errors import MedfactError, Mistake, StoreError, UnknownName, UnreadableRun
from medfact.exchange import import_run
from medfact.results import wording
from medfact.results.live import Live, effective_state
from medfact.runs.costs import describe_bill
from medfact.spec import LOCAL_OWNER, PROTOCOLS, describe_options
from medfact.store import (
    COMPLETE,
    DECIDED,
    GOING,
    IMPORTED,
    INTERRUPTED,
    KEPT_DELETED,
    LENT_KEY,
    NOTED,
    PAUSED,
    RESUMABLE,
    RUNNING,
    STOP_ASKED,
    STOPPED,
    WAITING,
    Run,
    RunEvent,
    UnreadRun,
)
from medfact.views.fragments import render
from medfact.web.pages import Action, Bring, Message, Page, Show, View, Visitor, paged
from medfact.web.pages.drift import drift
from medfact.web.pages.keeping import keeping, signing_in
from medfact.web.pages.progress import done_of
from medfact.web.pages.published import is_open, published, runs_of_all
from medfact.web.pages.run_story import explain_state, run_story
from medfact.web.upload_gate import RUN_ENDING, no_runs_from_files

RUNS_A_PAGE = 20
NOTICED = 5
"""So many runs that wait to be resumed are named; the others are counted."""
TOGETHER_SECONDS = 10
"""Runs that differ in their model alone and were recorded within so many seconds came of one click."""

FILTERS = {"": "all", "going": "going on", "resumable": "can be resumed", "complete": "complete"}
STATES_OF = {"going": {WAITING, RUNNING}, "resumable": RESUMABLE, "complete": {COMPLETE}}
SORTS = {"newest": "newest first", "oldest": "oldest first", "name": "by name", "score": "best first"}


class RunsShow(Show):
    """chosen: runs that are ticked to be compared; told: runs whose history is open; edited: the run whose name is edited;
    drift: models whose course over time is open, each by its first run.
    of: whose runs: one's own, or those that the host shows to all.
    """

    of: Literal["", "published"] = ""
    search: str = Field("", max_length=200)
    state: Literal["", "going", "resumable", "complete"] = ""
    sort: Literal["newest", "oldest", "name", "score"] = "newest"
    page: int = Field(0, ge=0, le=10**9)
    chosen: str = ""
    told: str = ""
    edited: str = ""
    drift: str = ""


@dataclass(frozen=True)
class Line:
    """One run in the list. together: the ids of the runs of one click, where there are several and this is the first."""

    run: Run
    live: Live
    name: str
    here: bool
    together: tuple[str, ...]
    ticked: bool
    edited: bool
    story: Markup | None
    took: str


def view(visitor: Visitor, show: RunsShow) -> View:
    """A visitor's runs, or the published ones."""
    shown = _published(visitor, show) if show.of == "published" else _own(visitor, show)
    whose = render("runs_whose", of=show.of) if show.of or is_open(visitor.services) else Markup()
    return replace(shown, fragments={**shown.fragments, "whose": whose})


def _published(visitor: Visitor, show: RunsShow) -> View:
    """The runs that the host shows to all."""
    shown, again = published(visitor)
    fragments = {
        **dict.fromkeys(("notice", "filters", "chosen"), Markup()),
        "runs": shown,
        "drift": drift(visitor.services, runs_of_all(visitor.services), show.drift),
    }
    return View(fragments, show, again=again, title="Published runs · medfact")


def _own(visitor: Visitor, show: RunsShow) -> View:
    """One page of the runs that pass the filters."""
    store = visitor.services.store
    runs = visitor.services.as_now(store.runs(*visitor.owners)[::-1])
    found = _sorted(visitor, [run for run in runs if matches(run, show.search.casefold().split(), show.state)], show.sort)
    listed = paged(found, show.page, RUNS_A_PAGE)
    unread = [run for run in store.listed(*visitor.owners)[::-1] if isinstance(run, UnreadRun)]
    lines = list(_lines(visitor, show, listed.part, unread))
    fragments = {
        "filters": render("runs_filters", show=show, states=FILTERS.items(), sorts=SORTS.items()),
        "notice": render("runs_notice", **notice(runs)) + keeping(runs) + signing_in(visitor, "runs"),
        "runs": render(
            "runs",
            lines=[_columns(line) for line in lines],
            unread=unread,
            **listed.numbers,
            of=len(runs),
            deleted=store.deleted(*visitor.owners),
            longest_name=LONGEST_NAME,
            longest_note=LONGEST_NOTE,
        ),
        "chosen": render("runs_chosen", chosen=list(filter(None, show.chosen.split(","))), runs=len(runs)),
        "drift": drift(visitor.services, found, show.drift),
    }
    return View(
        fragments,
        show.model_copy(update={"page": listed.page}),
        again=visitor.services.reports.next_look(*(line.live for line in lines)),
    )


def matches(run: Run, words: Sequence[str], state: str) -> bool:
    """Whether every word stands in a run's texts, and the run is in one of the states that are asked for."""
    if state in STATES_OF and run.state not in STATES_OF[state]:
        return False
    texts = (
        run.name,
        run.note,
        run.model,
        wording.model_name(run.model),
        run.dataset,
        run.spec.protocol,
        _method(run),
        run.pool,
    )
    text = " ".join(filter(None, texts)).casefold()
    return all(word in text for word in words)


def _method(run: Run) -> str:
    protocol = PROTOCOLS.get(run.spec.protocol)
    return protocol.title if protocol else run.spec.protocol


def _sorted(visitor: Visitor, runs: list[Run], sort: str) -> list[Run]:
    """runs: newest first."""
    if sort == "oldest":
        return runs[::-1]
    if sort == "name":
        return sorted(runs, key=lambda run: wording.run_name(run).casefold())
    if sort == "score":
        return sorted(runs, key=lambda run: -_score(visitor, run))
    return runs


def _score(visitor: Visitor, run: Run) -> float:
    live = _live(visitor, run)
    if not isinstance(live, Live):
        return -1.0
    best, *_ = wording.headlines([live.report])
    value: float | None = getattr(live.report, best).value
    return -1.0 if value is None else value


def _lines(visitor: Visitor, show: RunsShow, runs: Sequence[Run], unread: list[UnreadRun]) -> Iterator[Line]:
    """The lines of runs. Those whose figures cannot be read are added to `unread`."""
    for place, run in enumerate(runs):
        live = _live(visitor, run)
        if not isinstance(live, Live):
            unread += live or []
            continue
        told = next((opened for opened in show.told.split(",") if opened.startswith(run.run)), "")
        yield Line(
            run,
            live,
            wording.run_name(run),
            here=run.owner == LOCAL_OWNER != visitor.owner,
            together=_together(runs, place) if show.sort in ("newest", "oldest") else (),
            ticked=run.run in show.chosen.split(","),
            edited=run.run == show.edited,
            story=run_story(visitor, run, told) if told else None,
            took=took(visitor.services.store.state_changes(run.run), run, going=live.going),
        )


def _together(runs: Sequence[Run], place: int) -> tuple[str, ...]:
    """The ids of the runs that one click began, if the run at this place is the first of several."""
    if place and _same_click(runs[place - 1], runs[place]):
        return ()
    last = place
    while last + 1 < len(runs) and _same_click(runs[last], runs[last + 1]):
        last += 1
    return tuple(run.run for run in runs[place : last + 1]) if last > place else ()


def _same_click(one: Run, other: Run) -> bool:
    apart = abs((_moment(one.started_at) - _moment(other.started_at)).total_seconds())
    alike = [(run.owner, run.dataset_fingerprint, run.spec.protocol, run.facts, run.shots) for run in (one, other)]
    return apart < TOGETHER_SECONDS and alike[0] == alike[1]


def _live(visitor: Visitor, run: Run) -> Live | list[UnreadRun]:
    """A run as it stands; else why it cannot be read, or nothing where it was deleted just now."""
    try:
        return visitor.services.reports.live(run.run)
    except UnknownName:
        return []
    except StoreError:
        raise
    except MedfactError as error:
        return [UnreadRun(run.run, run.owner, run.state, run.started_at, run.model, error.public)]


# ------------------------------------------------------------------------------------------------ columns


def _columns(line: Line) -> dict[str, Any]:
    """What the template shows of a run, beside the line itself."""
    report = line.live.report
    ways = len(report.by_variant)
    first, *others = [(wording.score(name, ways), getattr(report, name)) for name in wording.headlines([report])]
    return {
        "line": line,
        "scores": [[first], others],
        "method": _labelled(line.run, line.live),
        "chosen": describe_options(line.run.spec, line.run.shots).values(),
        "state": state_of(line.live),
        "cost": cost(line.live.report.service),
    }


def _labelled(run: Run, live: Live) -> str:
    """The method; a paper's that rephrases, and here did not, under the name that the paper has for that."""
    protocol = PROTOCOLS.get(run.spec.protocol)
    return live.report.method if protocol is None or protocol.rephraser or run.pool == "origin" else protocol.title


@dataclass(frozen=True)
class State:
    """How far a run is: a word or two, and the rest of what there is to say."""

    word: str
    rest: tuple[str, ...]
    done: int
    total: int
    going: bool
    warn: bool


def state_of(live: Live) -> State:
    """How far a run is."""
    report, total, done = live.report, live.report.statements, done_of(live)
    word, why = explain_state(live.state, live.run.reason)
    how_far = wording.counted(total, "statement") if live.state == COMPLETE else f"{done:,} of {total:,} statements"
    failed = f"{wording.counted(report.failed, 'call')} failed, not counted" if report.failed else ""
    reason = None if live.state == DECIDED else live.job.reason if live.job and live.job.reason else live.run.reason
    step = live.job.loading if live.job and live.going else None
    rest = tuple(text for text in (how_far, step, failed, reason or why) if text)
    return State(word, rest, done, total, live.going, live.state in RESUMABLE - {STOPPED, DECIDED})


def cost(bill: Any) -> tuple[str, str]:
    """What a run cost, in a few words, and the bill in sentences."""
    if bill is None:
        return "free", "The model was asked on this machine."
    sentences = " ".join(describe_bill(dict(bill)))
    if bill["usd"] is None:
        return "price not known", sentences
    return "less than $0.01" if 0 < bill["usd"] < 0.01 else f"${bill['usd']:,.2f}", sentences


def took(events: Sequence[RunEvent], run: Run, *, going: bool) -> str:
    """How long a model was asked, all times together that the run was taken up; "" where it never was."""
    seconds = _seconds_asked(events, run.finished_at or (None if going else run.beat_at))
    return "" if seconds is None else f"{wording.duration(seconds)}{' so far' if going else ''}"


def _seconds_asked(events: Sequence[RunEvent], end: str | None) -> float | None:
    """From each time that a run was taken up to what happened next; the last to `end`, or to now."""
    moved = [one for one in events if one.what not in {NOTED, IMPORTED, STOP_ASKED, LENT_KEY}]
    spans = [(begun.at, after.at if after else end) for begun, after in zip_longest(moved, moved[1:]) if begun.what == RUNNING]
    if not spans:
        return None
    now = datetime.now(UTC)
    lengths = ((_moment(to) if to else now) - _moment(begun) for begun, to in spans)
    return sum(max(length.total_seconds(), 0.0) for length in lengths)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


# ------------------------------------------------------------------------------------------------ what waits, what happened


def notice(runs: Sequence[Run]) -> dict[str, Any]:
    """The runs that wait to be resumed, newest first; no text where there are none."""
    waiting = [run for run in runs if run.state in {INTERRUPTED, PAUSED}]
    states = {run.state for run in waiting}
    how = "interrupted or paused" if len(states) > 1 else "paused" if states == {PAUSED} else "interrupted"
    one = len(waiting) == 1
    begins = f"{wording.counted(len(waiting), 'run')} {'was' if one else 'were'} {how}. The answers are kept: "
    more = len(waiting) - NOTICED
    return {
        "text": begins + ("open it, and choose Resume." if one else "open one, and choose Resume.") if waiting else "",
        "runs": [(run, wording.run_name(run, 60)) for run in waiting[:NOTICED]],
        "more": f"And {more:,} more: choose the state “{FILTERS['resumable']}” below." if more > 0 else "",
    }


# ------------------------------------------------------------------------------------------------ changes

LONGEST_NAME, LONGEST_NOTE = 120, 2_000

LARGE_BYTES = 1_000_000
"""A packed file of a run above this takes long to read."""

LARGEST_RUN_BYTES = 256 << 20
"""That a visitor's file of a run may unpack to."""


def own_run(visitor: Visitor, run: str) -> Run:
    """The run of this whole id. Raises Mistake where it is not among the visitor's, as if there were none."""
    record = _recorded(visitor, run)
    if isinstance(record, UnreadRun):
        raise UnreadableRun(record.run, record.why)
    return record


def _recorded(visitor: Visitor, run: str) -> Run | UnreadRun:
    if visitor.services.has(run) and (record := visitor.services.store.recorded(run)).owner in visitor.owners:
        return record
    raise Mistake("There is no such run among yours.", "It may have been deleted; load the page again.")


def save(visitor: Visitor, show: RunsShow, action: Action) -> tuple[RunsShow, Message]:
    """Gives a run a name and a note."""
    record, store = own_run(visitor, action.about), visitor.services.store
    typed = (action.fields.get(field, "").replace("\0", "") for field in ("name", "note"))
    name, note = (text.encode("utf-8", "replace").decode() for text in typed)  # that every database can keep
    name, note = " ".join(name.split()), note.strip()
    for what, text, most in (("name", name, LONGEST_NAME), ("note", note, LONGEST_NOTE)):
        if len(text) > most:
            raise Mistake(f"The {what} has {len(text):,} characters.", f"{most:,} are the most.")
    store.describe(record.run, name=name, note=note)
    return show.model_copy(update={"edited": ""}), Message(f"Saved “{wording.run_name(store.run(record.run), 60)}”.", "good")


def delete(visitor: Visitor, show: RunsShow, action: Action) -> tuple[RunsShow, Message]:
    """Puts a run away, at once, also one that cannot be read; it can be brought back for a while. Raises Mistake while it goes
    on, and where the host has published it.
    """
    services, run = visitor.services, _recorded(visitor, action.about)
    readable = (attempt for attempt in services.store.attempts(run.run) if isinstance(attempt, Run))
    if any(effective_state(attempt.state, services.jobs.snapshot(attempt.run)) in GOING for attempt in readable):
        raise Mistake("This run is going on.", "Open it and stop it first; then it can be deleted.")
    if any(publication.run == run.run for publication in services.store.publications.published()):
        raise Mistake("The host of this server shows this run to all.", "Ask the host to withdraw it; then it can be deleted.")
    services.store.delete(run.run)
    if isinstance(run, UnreadRun):
        return show, Message(f"Deleted the run {run.run}, which could not be read.", "good")
    chosen = ",".join(one for one in show.chosen.split(",") if one != run.run)
    text = f"Deleted “{wording.run_name(run, 60)}”. It can be brought back for {KEPT_DELETED.days} days."
    return show.model_copy(update={"chosen": chosen}), Message(text, "good", Action("undo", run.run))


def undo(visitor: Visitor, show: RunsShow, action: Action) -> tuple[RunsShow, Message]:
    """Brings a deleted run back."""
    store = visitor.services.store
    found = next((deleted for deleted in store.deleted(*visitor.owners) if deleted.run == action.about), None)
    if found is None:
        raise Mistake("There is no such deleted run among yours.", "It may have been brought back already.")
    store.restore(found.run)
    return show, Message(f"Brought back “{wording.run_name(found, 60)}”.", "good")


def bring(visitor: Visitor, show: RunsShow, action: Action) -> tuple[RunsShow, Message]:
    """Takes a run from an uploaded file. Raises Mistake where this server takes none, before anything is read."""
    if closed := no_runs_from_files():
        raise Mistake(closed)
    services, store = visitor.services, visitor.services.store.of(visitor.owner)
    path = services.uploads.of(visitor.owner, action.about)
    with services.beginnings.alone(visitor.owner), reading() as turn, path.open("rb") as file:
        if turn and path.stat().st_size > LARGE_BYTES and not turn.becomes_long():
            raise Mistake(f"{path.name} takes long to read, as others do.", "Try again in a minute.")
        left = services.quota.check_runs(visitor.owner, _unpacked_bytes(file))
        run = store.run(import_run(store, file, path.name, int(min(left, LARGEST_RUN_BYTES))))
    return show.model_copy(update={"page": 0}), Message(f"Imported “{wording.run_name(run, 60)}”.", "good")


MOST_PACKED = 1_032
"""Bytes that deflate packs into one, at most."""


def _unpacked_bytes(file: BinaryIO) -> int:
    """The size to which a packed file says that it unpacks (RFC 1952, ISIZE), as far as deflate could have packed it. It may
    lie: reading it is bounded, too.
    """
    packed = file.seek(0, SEEK_END)
    file.seek(max(0, packed - 4))
    told = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return max(packed, min(told, packed * MOST_PACKED))


PAGE = Page(
    "runs",
    "Runs",
    (
        "whose",
        "notice",
        "filters",
        Bring("Import a run (.gz)", "bring", [RUN_ENDING], "runs-import", closed=no_runs_from_files),
        "runs",
        "said",
        "chosen",
        "drift",
    ),
    RunsShow,
    view,
    {"save": save, "delete": delete, "undo": undo, "bring": bring},
    address=("of",),
    stops=("of",),
    introduction="# Runs\nA run is one model, asked about one set of facts. Anybody with the link of a run can read its "
    "answers.",
    place=5,
)
