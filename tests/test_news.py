"""What a page is told of its runs when it asks: what is new, and nothing that it has drawn already."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from medfact.errors import MedfactError, StoreError
from medfact.results.compare import Comparisons
from medfact.results.live import PACE, Reports
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, STOPPED, Store
from medfact.web.news import HEAT_PAGE, Shown, news, opened, refused, routes
from medfact.web.services import Services

VIEWS = {"progress", "scores", "bars", "calibration", "calibration-said", "banner", "heat", "heat-turn", "which", "tables"}
VIEWS |= {"paper", "link"} | {f"{what}-{number}" for what in ("said", "curve") for number in range(3)}

DEMONSTRATION = "demonstration"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


@pytest.fixture
def run(services: Services) -> str:
    """A run of 40 facts of which nothing has been asked: 40 true and 40 false ones in eight ways are 640 statements."""
    return start(RunSpec(model="baseline:always-true", limit=40, shots=0), services.store)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made anew at every look, however lately they were."""
    monkeypatch.setattr("medfact.results.live.Reports.pace", lambda self: 0.0)
    monkeypatch.setattr("medfact.results.live.SHARE", 0)


def look(services: Services, shown: Shown, owner: str = "somebody") -> dict[str, Any]:
    return json.loads(news(services, DEMONSTRATION, [owner], shown))


def after(shown: Shown, told: dict[str, Any], **chosen: Any) -> Shown:
    """What a page shows that has drawn what it was told, and of which something else is chosen since."""
    drawn = {"drawn": shown.drawn | told["drawn"], "state": told["state"], "chosen": told["chosen"], "page": told["page"]}
    return shown.model_copy(update=drawn | chosen)


def text_of(told: dict[str, Any]) -> str:
    return told["views"]["progress"]["runs"][0]["text"]


def test_a_second_look_brings_nothing_that_is_known(services: Services, run: str) -> None:
    shown = Shown(asked=[run])
    first = look(services, shown)
    assert first["runs"] == [run]
    assert set(first["views"]) == set(first["drawn"]) == VIEWS
    assert text_of(first).startswith("0 of 640 statements")
    assert first["buttons"] == {"going": True, "resumable": False}  # it waits for its turn
    assert first["again"] == PACE
    again = look(services, after(shown, first))
    assert again["views"] == again["drawn"] == {}
    assert again["state"] == first["state"]


def test_a_page_that_lost_some_news_is_told_them_again(services: Services, run: str) -> None:
    shown = Shown(asked=[run])
    told = look(services, shown)
    lost = after(shown, told).model_copy(update={"state": "", "drawn": {**told["drawn"], "scores": "what came before"}})
    assert set(look(services, lost)["views"]) == {"scores"}


@pytest.mark.usefixtures("at_once")
def test_only_what_differs_is_told_until_the_run_ends(services: Services, run: str) -> None:
    shown = Shown(asked=[run])
    shown = after(shown, look(services, shown), results=False)
    events = answer(run, services.store)
    for _ in range(4):  # begun, loaded, and some answers
        next(events)
    meanwhile = look(services, shown)
    assert not text_of(meanwhile).startswith("0 of")
    assert {"scores", "heat"} <= set(meanwhile["views"])
    assert not {"banner", "tables", "paper", "link"} & set(meanwhile["views"])  # as they were; large, and not due yet
    shown = after(shown, meanwhile)
    for _ in events:
        pass
    end = look(services, shown)
    assert services.store.run(run).state == COMPLETE
    assert text_of(end) == "640 of 640 statements · complete"
    assert end["views"]["scores"]["rows"][0]["figures"][0]["value"] == "50.0 %"  # half of the statements are true
    assert "tables" in end["views"]  # the end is told whole
    assert end["buttons"] == {"going": False, "resumable": False}
    assert end["again"] is None
    assert look(services, after(shown, end))["views"] == {}


@pytest.mark.usefixtures("at_once")
def test_the_pace_and_the_buttons_are_those_of_the_runs(services: Services, run: str) -> None:
    assert look(services, Shown(asked=[run]))["again"] == services.reports.pace() == 0
    services.store.set_state(run, STOPPED)
    stopped = look(services, Shown(asked=[run]))
    assert stopped["buttons"] == {"going": False, "resumable": True}
    assert stopped["again"] is None


@pytest.mark.usefixtures("at_once")
def test_results_are_told_when_they_are_due_and_at_the_end(services: Services, run: str) -> None:
    shown = Shown(asked=[run])
    told = look(services, shown)
    for paper, due, expected in (("mkj", True, True), ("mkj", False, False)):
        asks = after(shown, told, paper=paper, results=due)
        assert ("tables" in look(services, asks)["views"]) is expected
    services.store.set_state(run, STOPPED)
    assert "tables" in look(services, after(shown, told, paper="mkj", results=False))["views"]
    unknown = look(services, after(shown, told, paper="<b>"))["views"]
    assert unknown.keys() <= {"progress", "scores"}  # it is the first paper's, which is drawn


def test_a_page_of_facts_is_turned_and_kept_within_those_there_are(services: Services, run: str) -> None:
    last = (80 - 1) // HEAT_PAGE  # 40 true and 40 false facts
    said = {}
    for number in (0, 1, 99, -5):
        told = look(services, Shown(asked=[run], page=number))
        said[number] = (told["page"], told["views"]["heat-turn"])
    assert said[0] == (0, {"what": "facts", "where": "facts 1 to 24 of 80", "back": False, "forward": True})
    assert said[1] == (1, {"what": "facts", "where": "facts 25 to 48 of 80", "back": True, "forward": True})
    assert said[99] == (last, {"what": "facts", "where": "facts 73 to 80 of 80", "back": True, "forward": False})
    assert said[-5] == said[0]


def test_one_of_several_runs_is_chosen(services: Services, run: str) -> None:
    other = start(RunSpec(model="baseline:always-false", limit=10, shots=0), services.store)
    told = look(services, Shown(asked=[run, other], chosen=1))
    assert told["chosen"] == 1
    assert told["views"]["which"] == {
        "label": "Model",
        "options": [{"text": "baseline:always-true", "value": 0}, {"text": "baseline:always-false", "value": 1}],
        "chosen": 1,
    }
    assert told["views"]["heat-turn"]["where"] == "facts 1 to 20 of 20"
    assert look(services, Shown(asked=[run, other], chosen=7))["chosen"] == 1


def test_which_runs_a_page_shows(services: Services, run: str) -> None:
    other = start(RunSpec(model="baseline:always-false", limit=10, shots=0), services.store)
    assert look(services, Shown(asked=[run], kept=[other]))["runs"] == [run]
    assert look(services, Shown(kept=[other, "gone"]))["runs"] == [other]
    lost = look(services, Shown(asked=["gone"], kept=[other]))
    assert lost["runs"] == [other]
    assert "no run of that link" in lost["views"]["runs-message"]["text"]
    some = look(services, Shown(asked=[run, "gone", run]))
    assert some["runs"] == [run]
    assert "no run of that link" in some["views"]["runs-message"]["text"]


def test_a_visitor_hears_once_of_interrupted_runs(services: Services, run: str) -> None:
    interrupted = start(RunSpec(model="baseline:always-true", limit=10, shots=0), services.store.of("somebody"))
    services.store.set_state(interrupted, "interrupted")
    shown = Shown(asked=[run])
    told = look(services, shown)
    assert told["views"]["runs-message"]["text"].startswith("One run of yours was interrupted.")
    assert "runs-message" not in look(services, after(shown, told, page=1))["views"]
    assert "runs-message" not in look(services, shown, owner="somebody else")["views"]


@pytest.mark.parametrize("place", ["640", "-1", "0.5", "", "1e3", "9" * 40, "<b>"])
def test_an_answer_that_is_not_there_is_nothing(services: Services, run: str, place: str) -> None:
    assert opened(services, run, place) == {}
    assert opened(services, "gone", "0") == {}
    assert opened(services, run, "639")["statement"]


@pytest.fixture
def visitor(services: Services, run: str) -> TestClient:
    """A program that asks over the page's addresses; the demonstration is the run."""
    app = FastAPI()
    app.include_router(routes(services, run))
    app.add_exception_handler(MedfactError, refused)
    return TestClient(app)


@pytest.mark.parametrize(
    "given",
    [
        {"asked": "all"},
        {"asked": ["x"] * 9},
        {"chosen": "first"},
        {"page": 1e40},
        {"drawn": {str(n): "" for n in range(65)}},
        [],
    ],
    ids=str,
)
def test_rubbish_is_refused(visitor: TestClient, given: object) -> None:
    assert visitor.post("/news", json=given).status_code == 422


def test_a_page_that_names_nothing_sees_the_demonstration(visitor: TestClient, run: str) -> None:
    told = visitor.post("/news", json={}).json()
    assert told["views"]["banner"]["text"].startswith("A demonstration")
    assert told["views"]["link"] == {"runs": []}
    assert told["runs"] == [run]
    assert visitor.get(f"/answer/{run}/0").json()["statement"]
    assert visitor.get("/answer/gone/0").json() == {}
    for half in ("\\ud800", "\\u0000"):  # what JSON can say and no database can hold
        given = f'{{"asked": ["{half}"], "paper": "{half}", "state": "{half}"}}'
        assert visitor.post("/news", content=given, headers={"Content-Type": "application/json"}).json()["runs"] == [run]
    odd = visitor.post("/news", json={"asked": ["<img src=x>", "a' or 1=1 --"], "page": -(10**9), "chosen": 10**9}).json()
    assert odd["runs"] == [run]


def test_a_database_that_cannot_be_read_is_said_in_a_sentence(visitor: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(*_: object) -> None:
        raise StoreError("/home/someone/medfact.db is locked.", "Wait.")

    monkeypatch.setattr("medfact.results.live.Reports.live", locked)
    refused = visitor.post("/news", json={})
    assert (refused.status_code, refused.text) == (503, "The database cannot be used. Wait.")  # and not where it lies
