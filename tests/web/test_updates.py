"""What a page gets when it asks: the fragments that differ from what it has, and nothing of anybody else."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import orjson
import pytest
from asked_updates import OWNER, fetch_fragments
from asked_updates import services as services
from fastapi import FastAPI
from fastapi.testclient import TestClient
from recorded import complete_run
from records import with_figures
from waiting import HANG_SECONDS, wait_for_run, wait_until

from medfact.concurrency import HEAD_START_SECONDS
from medfact.errors import MedfactError, Mistake, StoreError, UnreadableRun
from medfact.results.live import MAX_POLL_SECONDS, MIN_POLL_SECONDS, POLL_SECONDS, Reports
from medfact.results.report import Report, report
from medfact.runs.events import AnswersSaved
from medfact.runs.jobs.job import Snapshot
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, GOING, PAUSED, RUNNING, STOPPED, WAITING
from medfact.views.fragments import render
from medfact.web.evaluate import spec as specs
from medfact.web.pages import Action, Message, Visitor
from medfact.web.pages.fact_list import FACTS_A_PAGE
from medfact.web.pages.runs import RunsShow, delete
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question, prepare, refused, routes
from medfact.web.updates import answer as updates
from medfact.web.visitors import owner_of_cookie

PARTS = {
    "mapping",
    "notice",
    "progress",
    "scores",
    "tab",
    "rarity",
    "drawer",
    "documents",
    "facts",
    "method",
    "choice",
    "models",
    "sizes",
    "go",
}


@pytest.fixture
def run(services: Services) -> str:
    """A run of 40 pairs of which nothing has been asked: 40 true and 40 false facts in eight ways are 640 statements."""
    return start(RunSpec(model="baseline:always-true", limit=40, shots=0), services.store.of(OWNER))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are made anew at every look, however lately they were."""
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self, *lives: 0.0)
    monkeypatch.setattr("medfact.results.live.MIN_INTERVAL_FACTOR", 0)


def test_a_second_look_brings_nothing_that_is_known(services: Services, run: str) -> None:
    first = fetch_fragments(services, run=run)
    assert set(first["drawn"]) == PARTS
    assert not first["fragments"]["go"], "the inputs are not there"
    assert "0 of 640 statements" in first["fragments"]["progress"]
    assert 'id="stop"' in first["fragments"]["progress"]  # it waits for its turn
    assert 'id="resume"' not in first["fragments"]["progress"]
    assert first["again"] == POLL_SECONDS
    again = fetch_fragments(services, run=run, drawn=first["drawn"])
    assert again["fragments"] == again["drawn"] == {}


def test_a_link_to_nothing_says_so_at_the_next_look_too(services: Services, run: str) -> None:
    """The inputs of a page tell what they hold soon after its first look, which must not take the message away."""
    first = fetch_fragments(services, run="0" * 32)
    assert (first["show"]["run"], first["show"]["missing"]) == ("", True)
    assert "There is no run of that link" in first["fragments"]["notice"]
    assert "There is no run of that link" in fetch_fragments(services, run="", missing=True)["fragments"]["notice"]
    assert "There is no run of that link" not in fetch_fragments(services, run=run, missing=True)["fragments"]["notice"]


def test_a_page_that_lost_a_fragment_gets_it_again(services: Services, run: str) -> None:
    drawn = fetch_fragments(services, run=run)["drawn"]
    assert set(fetch_fragments(services, run=run, drawn={**drawn, "progress": "an older one"})["fragments"]) == {"progress"}


@pytest.mark.usefixtures("at_once")
def test_only_what_differs_comes_until_the_run_ends(services: Services, run: str) -> None:
    drawn = fetch_fragments(services, run=run)["drawn"]
    events = answer(run, services.store)
    next(event for event in events if isinstance(event, AnswersSaved))
    meanwhile = fetch_fragments(services, run=run, drawn=drawn)
    assert {"progress", "scores", "tab"} <= set(meanwhile["fragments"])
    assert not {"notice", "drawer"} & set(meanwhile["fragments"])
    assert "still standing" in meanwhile["fragments"]["scores"]
    assert re.fullmatch(r"[1-9]\d?% · always says true on clinical-core · medfact", meanwhile["title"])
    for _ in events:
        pass
    looks = []

    def has_the_last_figures() -> bool:
        looks.append(fetch_fragments(services, run=run, drawn=drawn | meanwhile["drawn"]))
        return looks[-1]["again"] is None

    wait_until(has_the_last_figures)
    end = looks[-1]
    assert services.store.run(run).state == COMPLETE
    assert "640 of 640 statements · complete" in end["fragments"]["progress"]
    assert "50.0%" in end["fragments"]["scores"]  # half of the statements are true
    assert "Run again" in end["fragments"]["progress"]
    assert end["title"] == "always says true on clinical-core · medfact"


def test_a_run_that_has_ended_is_shown_at_the_next_look(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However lately its figures were made, and however long they took: nothing newer comes."""
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self, *lives: 1_000.0)
    monkeypatch.setattr("medfact.results.live.MIN_INTERVAL_FACTOR", 1e9)
    fetch_fragments(services, run=run)
    services.jobs.submit(run)
    wait_for_run(services.jobs, run, lambda job: job.state not in GOING)
    end = fetch_fragments(services, run=run)
    assert "640 of 640 statements · complete" in end["fragments"]["progress"]
    assert "50.0%" in end["fragments"]["scores"]
    assert end["again"] is None


def test_the_figures_of_a_run_that_has_ended_hold_up_no_look(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are made as soon as it ends, without another look, and beside those who look meanwhile."""
    fetch_fragments(services, run=run)
    begun, may_end = threading.Event(), threading.Event()

    def slowly(*of: Any) -> Report:
        begun.set()
        assert may_end.wait(HANG_SECONDS)
        return report(*of)

    monkeypatch.setattr("medfact.results.report.report", slowly)
    monkeypatch.setattr("medfact.results.live.INLINE_STATEMENTS", 0)  # it counts as a large run
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self, *lives: 1_000.0)  # no look makes any meanwhile
    services.jobs.submit(run)
    assert begun.wait(HANG_SECONDS)
    wait_for_run(services.jobs, run, lambda job: job.state not in GOING)
    assert fetch_fragments(services, run=run)["again"] == MIN_POLL_SECONDS
    may_end.set()
    wait_until(lambda: fetch_fragments(services, run=run)["again"] is None)
    assert "50.0%" in fetch_fragments(services, run=run)["fragments"]["scores"]


def test_a_look_asks_for_the_figures_of_a_run_once(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it may have to wait for them."""
    live, asked = Reports.live, list[str]()
    monkeypatch.setattr(Reports, "live", lambda self, run: asked.append(run) or live(self, run))
    fetch_fragments(services, run=run)
    assert asked == [run]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({"show": {"run": "RUN"}}, HEAD_START_SECONDS),
        ({"show": {}}, 0.0),
        ({"show": {"run": ""}}, 0.0),
        ({"show": {"run": "RUN"}, "action": {"name": "stop", "about": "", "fields": {}}}, HEAD_START_SECONDS),
        ({"show": {}, "action": {"name": "drop_file", "about": "", "fields": {}}}, HEAD_START_SECONDS),
    ],
)
def test_who_presses_or_looks_at_runs_counts_as_having_waited(
    services: Services, run: str, told: dict[str, Any], seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    @contextmanager
    def computing(_: str, __: float | None, head_start: float) -> Iterator[None]:
        waited.append(head_start)
        yield

    monkeypatch.setattr("medfact.web.updates.compute_slot", computing)
    app = FastAPI()
    app.include_router(routes(services, run))
    if told["show"].get("run"):
        told = told | {"show": {"run": run}}
    assert TestClient(app).post("/updates", json={"page": "evaluate", **told}).status_code == 200
    assert waited == [seconds]


def test_whether_a_run_is_there_needs_no_new_figures(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    services.reports.live(run)
    for _ in answer(run, services.store):
        pass

    def made_again(*_: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(Reports, "_compute", made_again)
    assert services.asked(run)
    assert services.reports.latest(run).behind


def test_what_is_taken_away_has_the_figures_of_all_answers(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long they take, once the run has ended."""
    fetch_fragments(services, run=run)
    monkeypatch.setattr("medfact.results.live.INLINE_STATEMENTS", 0)
    monkeypatch.setattr("medfact.results.live.Worker.submit", lambda *_: None)  # the update never comes
    services.jobs.submit(run)
    wait_for_run(services.jobs, run, lambda job: job.state not in GOING)
    seen = services.reports.live(run)
    assert (seen.behind, seen.has_ended) == (True, True)
    assert seen.report.answered < 640
    final = services.reports.final_report(run)
    assert (final.state, final.report.answered, final.behind) == (COMPLETE, 640, False)


def test_of_a_run_that_another_process_asked_all_answers_are_taken_away(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its page has seen it begin; no job here says that it has ended, but its record does."""
    services.reports.live(run)
    monkeypatch.setattr("medfact.results.live.INLINE_STATEMENTS", 0)
    monkeypatch.setattr("medfact.results.live.Worker.submit", lambda *_: None)
    for _ in answer(run, services.store):
        pass
    seen = services.reports.live(run)
    assert (seen.job, seen.behind, seen.has_ended, seen.report.answered) == (None, True, True, 0)
    assert services.reports.next_look(seen) == MIN_POLL_SECONDS
    final = services.reports.final_report(run)
    assert (final.state, final.report.answered, final.behind) == (COMPLETE, 640, False)
    assert services.reports.next_look(final) is None


def test_a_run_whose_failed_calls_are_asked_again_goes_on(services: Services, run: str) -> None:
    """Before its record says so; a page that looks then looks again."""
    for _ in answer(run, services.store):
        pass
    whole = services.reports.live(run)
    waiting = Snapshot(1, WAITING, None, 640, 637, None, None)
    failed = replace(whole, job=waiting, report=with_figures(whole.report, failed=3))
    assert (whole.state, failed.state) == (COMPLETE, WAITING)
    assert services.reports.next_look(whole) is None
    assert services.reports.next_look(failed) is not None
    assert services.reports.next_look(replace(whole, behind=True, recorded=RUNNING)) is not None


def test_a_run_that_was_stopped_here_and_is_resumed_elsewhere_goes_on(services: Services, run: str) -> None:
    live = services.reports.live(run)
    stopped = Snapshot(1, STOPPED, None, 640, 320, None, None)
    elsewhere = replace(live, job=stopped, recorded=RUNNING, behind=True)
    assert not elsewhere.has_ended
    assert replace(elsewhere, recorded=STOPPED).has_ended
    assert replace(elsewhere, job=replace(stopped, state=PAUSED)).has_ended, "its record could not be written"


def test_figures_that_cannot_be_made_beside_are_told_to_who_looks_next(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: Any) -> NoReturn:
        raise ValueError

    fetch_fragments(services, run=run)
    monkeypatch.setattr("medfact.results.report.report", damaged)
    monkeypatch.setattr("medfact.results.live.INLINE_STATEMENTS", 0)
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self, *lives: 1_000.0)
    services.jobs.submit(run)
    wait_for_run(services.jobs, run, lambda job: job.state not in GOING)
    with pytest.raises(UnreadableRun):
        wait_until(lambda: not services.reports.live(run))


@pytest.mark.usefixtures("at_once")
def test_who_moves_up_in_the_queue_keeps_its_figures(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was answered meanwhile; how far it is in the queue is told all the same."""
    monkeypatch.setattr("medfact.runs.jobs.manager.Jobs._start_next", lambda self, kind: None)
    before = services.reports.live(run)
    services.jobs.submit(run)
    after = services.reports.live(run)
    assert (before.job, after.job and after.job.state) == (None, WAITING)
    assert after.version != before.version
    assert not after.behind
    assert after.report is before.report
    services.store.set_state(run, STOPPED)
    assert services.reports.live(run).report is not before.report


def test_the_first_page_is_made_before_anybody_comes(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    specs._planned.cache_clear()
    prepare(services, run)

    def planned_again(*_: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr("medfact.web.evaluate.spec.plan", planned_again)
    assert "true and" in fetch_fragments(services)["fragments"]["go"]


@pytest.mark.parametrize(
    ("state", "answering", "ahead", "pace"),
    [
        (RUNNING, 0.3, None, 0.3),
        (RUNNING, 0.01, None, MIN_POLL_SECONDS),
        (RUNNING, 60.0, None, MAX_POLL_SECONDS),
        (RUNNING, None, None, POLL_SECONDS),
        (WAITING, 0.25, 1.5, 1.75),
        (WAITING, 60.0, 1.5, 1.5 + POLL_SECONDS),
        (WAITING, 0.25, None, MAX_POLL_SECONDS),
        (COMPLETE, None, None, MAX_POLL_SECONDS),
    ],
)
def test_a_page_looks_again_when_something_will_have_happened(
    services: Services,
    run: str,
    state: str,
    answering: float | None,
    ahead: float | None,
    pace: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 100 runs at once the usual pace is the slowest."""
    monkeypatch.setattr(services.jobs, "going", lambda owner=None: 100)
    job = Snapshot(1, state, None, total=640, done=0, rate=None, seconds_left=None, seconds_ahead=ahead)
    job = replace(job, seconds_of_answering=answering)
    live = replace(services.reports.live(run), job=job)
    live = replace(live, run=replace(live.run, state=state))
    assert services.reports.pace(live) == pace


@pytest.mark.usefixtures("at_once")
def test_the_pace_and_the_buttons_are_those_of_the_runs(services: Services, run: str) -> None:
    assert fetch_fragments(services, run=run)["again"] == services.reports.pace() == 0
    services.store.set_state(run, STOPPED)
    stopped = fetch_fragments(services, run=run)
    assert 'id="resume"' in stopped["fragments"]["progress"]
    assert 'id="stop"' not in stopped["fragments"]["progress"]
    assert stopped["again"] is None
    others = fetch_fragments(services, run=run, owner="somebody else")
    assert 'id="resume"' not in others["fragments"]["progress"]
    assert "open them in the browser that started them" in others["fragments"]["tab"]


def test_facts_are_turned_and_kept_within_those_there_are(services: Services, run: str) -> None:
    list(answer(run, services.store))
    last = (80 - 1) // FACTS_A_PAGE
    for number, where in ((0, "facts 1 to 20 of 80"), (1, "facts 21 to 40 of 80"), (99, "facts 61 to 80 of 80")):
        shown = fetch_fragments(services, run=run, tab="facts", page=number)
        assert where in shown["fragments"]["tab"]
        assert shown["show"].get("page", number) == min(number, last)


def test_which_runs_a_page_shows(services: Services, run: str) -> None:
    other = start(RunSpec(model="baseline:always-false", limit=10, shots=0), services.store)

    def shown(asked: str) -> tuple[str, str]:
        question = Question(page="evaluate", show={"run": asked})
        made = json.loads(updates(Visitor(services, OWNER, (OWNER,), other), PAGES["evaluate"], question))
        return made["show"].get("run", asked), made["fragments"]["notice"]

    gone = "0" * 32
    assert shown(run) == (run, "")
    asked, notice = shown("")
    assert (asked, "Running: always says true" in notice) == ("", True), "a new evaluation, with what goes on already"
    assert shown(gone + "," + run)[0] == run
    assert "no run of that link" in shown(gone + "," + run)[1]


def test_how_far_a_run_is_is_told_without_its_figures(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set-up shows what goes on: it needs no figure of it, and they take long where there is much."""

    def no_figures(_: object, run: str) -> None:
        raise AssertionError("figures are made")

    asking = answer(run, services.store)
    assert next(event for event in asking if isinstance(event, AnswersSaved))
    monkeypatch.setattr("medfact.results.live.Reports._compute", no_figures)
    record, done = services.store.run(run), sum(item.answer is not None for item in services.store.answers.asked(run))
    assert 0 < done < record.statements
    visitor = Visitor(services, OWNER, (OWNER,), "")
    made = json.loads(updates(visitor, PAGES["evaluate"], Question(page="evaluate")))
    assert f"Running: always says true on clinical-core, {100 * done // record.statements} %" in made["fragments"]["notice"]
    asking.close()


def test_a_visitor_is_told_of_interrupted_runs(services: Services, run: str) -> None:
    interrupted = start(RunSpec(model="baseline:always-true", limit=10, shots=0), services.store.of(OWNER))
    services.store.set_state(interrupted, "interrupted")
    assert "One run of yours was interrupted." in fetch_fragments(services, run=run)["fragments"]["notice"]
    assert fetch_fragments(services, run=run, owner="somebody else")["fragments"]["notice"] == ""


def test_a_sentence_tells_what_each_page_lacks(services: Services, run: str) -> None:
    """An unknown relation says so; a search that finds nothing says how to go on."""
    assert "No fact matches" in fetch_fragments(services, "facts", search="no such disease")["fragments"]["cards"]
    assert "No runs yet" in fetch_fragments(services, "runs", owner="nobody yet")["fragments"]["runs"]


def test_facts_are_found_by_everyday_names(services: Services, run: str) -> None:
    for words, name in (
        ("heart attack", "myocardial infarction"),
        ("aspirin", "acetylsalicylic acid"),
        ("HEART  attack", "myocardial"),
    ):
        assert name in fetch_fragments(services, "facts", search=words)["fragments"]["cards"]


def test_a_false_partner_is_rejected_listed_and_taken_back(services: Services, run: str) -> None:
    fact_id = _first_fact(services, run)
    visitor = Visitor(services, OWNER, (OWNER,), run)

    def press(name: str, about: str, reason: str = "") -> dict[str, Any]:
        question = Question(page="facts", action={"name": name, "about": about, "fields": {"reason": reason}})
        return dict(json.loads(updates(visitor, PAGES["facts"], question)))

    assert "will not be drawn again" in press("reject", f"{fact_id}:itch", "sometimes")["fragments"]["said"]
    assert [one.tail for one in services.store.of(OWNER).decisions.on_partners()] == ["itch"]
    assert "not “itch” (it is true of some patients)" in fetch_fragments(services, "facts")["fragments"]["rejected"]
    assert "may be drawn again" in press("accept", f"{fact_id}:itch")["fragments"]["said"]
    assert services.store.of(OWNER).decisions.on_partners() == []
    press("reject", f"{fact_id}:rash", "<rubbish>")
    (said,) = services.store.of(OWNER).decisions.on_partners()
    assert (said.fact_id, said.tail, said.reason, said.confirmed) == (fact_id, "rash", "", False)
    assert "no false partner" in press("reject", "rubbish")["fragments"]["said"]


def _first_fact(services: Services, run: str) -> str:
    return next(item.statement.fact.fact_id for item in services.store.answers.asked(run) if item.statement.fact.positive)


# ------------------------------------------------------------------------- over HTTP


@pytest.fixture
def visitor(services: Services, run: str) -> TestClient:
    """A program that asks over the page's address; the demonstration is the run."""
    app = FastAPI()
    app.include_router(routes(services, run))
    app.add_exception_handler(MedfactError, refused)
    return TestClient(app)


@pytest.mark.parametrize(
    "question",
    [
        {"page": 5},
        {"page": "evaluate", "show": []},
        {"page": "evaluate", "show": {"run": {"a": 1}}},
        {"page": "evaluate", "drawn": {str(n): "" for n in range(65)}},
        {"page": "evaluate", "action": {"name": "x" * 50}},
        {"page": "evaluate", "action": 5},
        [],
    ],
    ids=str,
)
def test_rubbish_is_refused(visitor: TestClient, question: object) -> None:
    assert visitor.post("/updates", json=question).status_code == 422


def test_a_database_that_cannot_be_read_is_said_in_a_sentence(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise StoreError("/home/someone/medfact.db is locked.", "Wait.")

    monkeypatch.setattr("medfact.results.live.Reports.live", locked)
    refusal = visitor.post("/updates", json={"page": "home"})
    assert (refusal.status_code, refusal.text) == (503, "The database cannot be used. Wait.")  # and not where it lies


# ------------------------------------------------------------------------- text stays text

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "${alert(1)}",
    "{{7*7}}",
    "{% raw %}",
    "javascript:alert(1)",
    '"><script>alert(1)</script>',
    "'; x",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_users_is_text_in_a_fragment(text: str) -> None:
    made = str(render("message", message=Message(text)))
    assert "<img" not in made
    assert "<script" not in made
    assert "49" not in made


def test_a_file_of_markup_is_text_on_every_page(services: Services, run: str, tmp_path: Path) -> None:
    rows = [
        f'"{text.replace(chr(34), chr(34) * 2)}",symptoms,"{text.replace(chr(34), chr(34) * 2)} {n}"'
        for n, text in enumerate(HOSTILE * 3)
    ]
    file = tmp_path / "hostile.csv"
    file.write_text("head,relation,tail\n" + "\n".join(rows) + "\n", encoding="utf-8")
    hostile = complete_run(RunSpec(model="baseline:always-true", facts=str(file), shots=0), services.store.of(OWNER))
    services.store.describe(hostile, name=HOSTILE[0], note=HOSTILE[5])
    shown = [
        fetch_fragments(services, run=hostile, tab="facts", fact=0),
        fetch_fragments(services, run=hostile, tab="summary"),
        fetch_fragments(services, "runs", told=hostile, edited=hostile),
        fetch_fragments(services, run=f"{hostile},{run}", tab="facts", fact=0),
    ]
    for page in shown:
        told = "".join(page["fragments"].values())
        assert "<img" not in told
        assert "<script" not in told
        assert 'href="javascript' not in told
        assert "&lt;img src=x" in told
    plot = shown[1]["fragments"]["tab"].split('data-plot="')[1].split('"')[0]
    assert "<" not in plot
    assert orjson.dumps(plot)


def test_a_published_run_is_not_deleted_by_its_owner(services: Services, run: str) -> None:
    """Others read it there, and places of other runs hang on it."""
    visitor, deleting = Visitor(services, OWNER, (OWNER,), run), Action("delete", run)
    services.store.set_state(run, STOPPED)
    services.store.publications.publish(run, "shown")
    with pytest.raises(Mistake, match="shows this run to all"):
        delete(visitor, RunsShow(), deleting)
    assert [one.run for one in services.store.publications.published()] == [run]
    services.store.publications.withdraw(run)
    delete(visitor, RunsShow(), deleting)
    assert [one.run for one in services.store.deleted(OWNER)] == [run]


def test_where_a_visitor_asks_from_is_noted(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are counted by network address too, which a new cookie does not change."""
    monkeypatch.setenv("MEDFACT_PROXY", "1")
    app = FastAPI()
    app.include_router(routes(services, services.store.runs("demonstration")[0].run))
    page, cookies = TestClient(app), [f"{number:032x}" for number in range(3)]
    owners = [owner_of_cookie(cookie) for cookie in cookies]
    for cookie, owner, address in zip(cookies, owners, ("8.8.8.8", "8.8.8.8", "9.9.9.9"), strict=True):
        sent = {"Cookie": f"medfact-visitor={cookie}", "X-Forwarded-For": address}
        assert page.post("/updates", json={"page": "runs"}, headers=sent).status_code == 200
        services.neighbours.begins(owner)
    assert services.neighbours.going(owners[0], {owners[0]: 1, owners[1]: 2, owners[2]: 4}.__getitem__) == 3
