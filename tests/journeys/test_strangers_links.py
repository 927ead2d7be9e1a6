"""A link of a stranger's: what a page takes from its address is what to look at, never what to do, nor with whom."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browser import module_folder_fixture, serve_app
from mock_service import MockService
from strangers import TABLE, open_store, space_visitor
from visitors import Visitor, required_consents, visitor_fixture

from medfact.results.recall import READ
from medfact.web.evaluate.form import Setup
from medfact.web.updates import PAGES

MARK = "what-only-the-server-may-read"
ELSEWHERE = "https://models.example/v1"
ANOTHER = "https://another.example/v1"

# fmt: off
OF_ADDRESS = {
    "home": {"pair"},
    "evaluate": {
        "run", "tab", "group", "statistics", "only", "within", "model", "search", "pattern", "page", "chosen", "fact", "paper",
        "sort", "estimand", "writing", "drafts", "studio",
    },
    "facts": {"data", "search", "relation", "specialty", "protocol", "pool", "page", "fact", "language"},
    "review": {"run", "data", "queue", "relation", "search", "adjudicating", "asking", "ended", "place", "invited", "language"},
    "studio": {"pool", "data", "relation"},
    "write": {"kind", "writing"},
    "curate": {"project", "place"},
    "agents": set(),
    "runs": {"of"},
    "tour": {"step", "pair"},
    "game": set[str](),
    "docs": set[str](),
    "partners": set[str](),
}
# fmt: on
"""What each page writes into its own address: which runs and facts are looked at, and which written sentences are asked."""

FIELDS = [(page, name) for page, one in PAGES.items() for name in one.show.model_fields]


home = module_folder_fixture()


@pytest.fixture(scope="module")
def laptop(home: Path) -> Iterator[str]:
    (home / "secret.csv").write_text(f"head,relation,tail\n{MARK},symptoms,x\n")
    with serve_app(home) as url:
        yield url


@pytest.fixture(scope="module")
def space_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("space")


@pytest.fixture(scope="module")
def space(space_home: Path) -> Iterator[str]:
    (space_home / "secret.csv").write_text(f"head,relation,tail\n{MARK},symptoms,x\n")
    (space_home / "limits.yaml").write_text("{}")
    limits = str(space_home / "limits.yaml")
    with serve_app(space_home, SPACE_ID="somebody/x", GRADIO_SERVER_NAME="127.0.0.1", MEDFACT_LIMITS=limits) as url:
        yield url


visitor = visitor_fixture("laptop")


@pytest.fixture(params=["laptop", "space"])
def anywhere(request: pytest.FixtureRequest) -> Iterator[tuple[Visitor, Path]]:
    """A visitor of the app on a laptop and on a Space, and where that keeps everything."""
    url = request.getfixturevalue(request.param)
    home = request.getfixturevalue("home" if request.param == "laptop" else "space_home")
    with space_visitor(url) if request.param == "space" else Visitor(url) as visitor:
        yield visitor, home


def at(visitor: Visitor, page: str, query: str, **more: Any) -> dict[str, Any]:
    """What a page shows that is opened at an address."""
    return dict(visitor.http.post("/updates", json={"page": page, "address": query, **more}).json())


# ------------------------------------------------------------------------- the address


def test_a_page_takes_from_its_address_what_it_writes_there() -> None:
    """A new field of a page's view is told by the page alone, unless somebody decides otherwise here."""
    assert {name: set(PAGES[name].address) for name in OF_ADDRESS} == OF_ADDRESS


CHOSEN = {"models": ["baseline:random"], "rows": [{"model": "m", "address": ELSEWHERE}], "pairs": 10}
VALUES: dict[str, object] = {
    **{"setup": json.dumps(CHOSEN), "mapping": json.dumps({"path": "x", "columns": ["a"]}), "address": ELSEWHERE},
    **{"untold": json.dumps({"path": "x", "columns": ["a"]}), "kept": "0" * 32, "agreed": "true", "agreed_to": "x"},
    **{"budget": 7, "pairs": 7, "page": 7, "case": 7, "game": 1, "change": 3, "fact": 2, "chosen": 1, "bound": 7, "step": 2},
    **{
        "kind": "llmeval",
        "where": "service",
        "clock": "false",
        "reviewed": "true",
        "sourced": "true",
        "unfolded": "true",
        "missing": "true",
    },
    **{"only": "missed", "flips": "harmed", "paper": "mkj", "sort": "joint_accuracy", "estimand": "these", "layout": "table"},
    **{"state": "going", "shown": "differ", "protocol": "tpeval"},
}


@pytest.mark.parametrize(("page", "name"), FIELDS, ids=lambda one: one)
def test_no_other_field_of_a_view_comes_from_an_address(page: str, name: str, visitor: Visitor) -> None:
    """Each field of each page's view is put into the address of the page that a browser opens."""
    value = VALUES.get(name, "a stranger's")
    plain, told = at(visitor, page, ""), at(visitor, page, f"?{urlencode({name: value})}")
    if name in OF_ADDRESS[page]:
        return
    for answer in (plain, told):
        for volatile in ("again", "drawn"):
            answer.pop(volatile)
    assert told["show"].get(name) == plain["show"].get(name)
    assert told["fragments"].keys() == plain["fragments"].keys()
    assert "a stranger" not in json.dumps(told)
    assert "models.example" not in json.dumps(told)


def test_nothing_is_begun_by_a_link(anywhere: tuple[Visitor, Path]) -> None:
    """A visitor opens it, and presses the button that is there."""
    visitor, home = anywhere
    press: dict[str, Any] = {"name": "evaluate", "about": "", "fields": {"key": "sk-typed-for-openai-0123456789"}}
    with MockService() as evil:
        chosen = json.dumps({**CHOSEN, "rows": [{"model": "m", "address": evil.base_url}], "models": []})
        at(visitor, "evaluate", f"?setup={quote(chosen)}", action=press)
        written = {"setup": chosen, "where": "service", "service": "m", "address": evil.base_url, "agreed": "true", "pairs": 4}
        at(visitor, "write", f"?{urlencode(written)}", action={**press, "name": "start"})
        assert all(run.model == "medfact-tiny" for run in open_store(home)._all_runs(visitor.owner)), "what the inputs say"
        assert evil.calls == []


@pytest.mark.parametrize(
    "query", ["?" + "&".join(f"x{n}=1" for n in range(500)), "?%", "?run=%ff&run=", "??", "#", "?=&=&&", "?run"]
)
def test_no_address_breaks_a_page(query: str, visitor: Visitor) -> None:
    for page in PAGES:
        assert at(visitor, page, query)["fragments"]


# ------------------------------------------------------------------------- consent


def at_service(address: str) -> dict[str, Any]:
    """A set-up's row of a model at an address."""
    return {"rows": [{"id": "service", "model": "m", "address": address}]}


def chosen(visitor: Visitor, **more: object) -> dict[str, Any]:
    """A set-up with own facts that go to a service elsewhere."""
    source = {"facts": visitor.upload("own.csv", TABLE), "columns": []}
    return {"models": [], **at_service(ELSEWHERE), "source": source, "pairs": 10, "shots": 0, **more}


def refused(visitor: Visitor, setup: dict[str, Any]) -> bool:
    """Whether Evaluate asks for leave first."""
    visitor.press_button("keep_key", "service", setup=setup, fields={"key": "sk-typed-0123456789"})
    shown = visitor.press_button("evaluate", setup=setup)
    assert not shown["show"].get("run"), "nobody answers there"
    return "Your own facts would go to" in shown["fragments"]["go-said"]


def told(visitor: Visitor, setup: dict[str, Any]) -> dict[str, Any]:
    """A set-up as a browser keeps it that has shown it."""
    return dict(visitor.fetch_page(setup=setup)["setup"] or setup)


def test_consent_is_to_one_host_and_one_file(visitor: Visitor) -> None:
    setup = chosen(visitor)
    assert refused(visitor, setup)
    agreed = told(visitor, {**setup, "agreed": required_consents(setup)})
    assert agreed["agreed"]
    assert not refused(visitor, agreed)
    other = {"facts": visitor.upload("other.csv", TABLE + b"x,symptoms,y\n"), "columns": []}
    corpus = visitor.upload("notes.txt", b"Gout has symptoms. " * 60)
    documents = {"corpus": corpus, "retrieval": "sparse", "settings": [READ]}
    for change in (at_service(ANOTHER), at_service(""), {"source": other}, documents):
        assert told(visitor, {**agreed, **change})["agreed"] == [], change
        assert refused(visitor, {**agreed, **change}), change
    assert told(visitor, {**agreed, "pairs": 20})["agreed"], "the same facts, to the same host"


@pytest.mark.parametrize("name", ["take_file", "take_rows", "use_columns", "drop_file", "take_documents", "drop_documents"])
def test_consent_does_not_outlive_another_file(name: str, visitor: Visitor) -> None:
    setup = chosen(visitor, corpus=visitor.upload("old.txt", b"Old text. " * 60), retrieval="sparse", settings=[READ])
    new = visitor.upload("new.csv", TABLE + b"x,symptoms,y\n")
    text = visitor.upload("new.txt", b"Gout has symptoms. " * 60)
    columns = {"fields": {"head": "head", "relation": "relation"}}
    columns["fields"] |= {"tail": "tail"}
    waiting = {**setup, "agreed": required_consents(setup), "mapping": {"path": new, "columns": ["head"]}}
    assert visitor.press_button(name, text if "documents" in name else new, setup=waiting, **columns)["setup"]["agreed"] == []


def test_consent_on_the_page_write_is_to_one_host_and_one_file(visitor: Visitor) -> None:
    visitor.press_button("take_file", visitor.upload("own.csv", TABLE))
    asked: dict[str, Any] = {"data": "own", "protocol": "medfact", "pairs": 4}
    here, there = ({"rows": [{"model": "m", "address": address}]} for address in (ELSEWHERE, ANOTHER))
    question = visitor.fetch_page("write", **asked, setup=here)["fragments"]["form"]
    assert "My own facts may go to models.example: own.csv" in question
    agreed = {"agreed": re.findall(r'data-agree="(\w+)"', question)}
    assert visitor.fetch_page("write", **asked, setup={**here, **agreed})["setup"]["agreed"] == agreed["agreed"]
    assert visitor.fetch_page("write", **asked, setup={**there, **agreed})["setup"]["agreed"] == []
    press = {"fields": {"key": "sk-typed-0123456789"}}
    shown = visitor.press_button("start", page_name="write", **asked, setup={**there, **agreed}, **press)
    assert "Your own facts would go to another.example" in shown["fragments"]["form-said"]
    visitor.press_button("take_file", visitor.upload("other.csv", TABLE + b"x,symptoms,y\n"))
    shown = visitor.press_button("start", page_name="write", **asked, setup={**here, **agreed}, **press)
    assert "Your own facts would go to models.example" in shown["fragments"]["form-said"]


def test_the_question_names_the_host_and_the_files(visitor: Visitor) -> None:
    """Each host once, beside the button; none where nothing of the visitor's leaves this machine."""
    two = {"rows": [{"id": f"r{n}", "model": "m", "address": one} for n, one in enumerate((ELSEWHERE, ANOTHER, ELSEWHERE))]}
    shown = visitor.fetch_page(setup=chosen(visitor, **two))["fragments"]["go"]
    assert [shown.count(f"may go to {host}: own.csv.") for host in ("models.example", "another.example")] == [1, 1]
    for harmless in (at_service(ELSEWHERE), chosen(visitor, **at_service("http://127.0.0.1:1/v1"))):
        assert "may go to" not in visitor.fetch_page(setup=harmless)["fragments"]["go"]


# ------------------------------------------------------------------------- files


def named_files(home: Path, other: Visitor) -> list[str]:
    """Files that are not the visitor's. Each holds the mark that shows when one was read."""
    theirs = other.upload("theirs.csv", f"head,relation,tail\n{MARK},symptoms,x\n".encode())
    return [theirs, str(home / "secret.csv"), f"file://{theirs}"]


@pytest.fixture
def foreign_files(anywhere: tuple[Visitor, Path], laptop: str, space: str) -> list[str]:
    _, home = anywhere
    with space_visitor(space) if home.name.startswith("space") else Visitor(laptop) as other:
        return named_files(home, other)


def test_no_field_of_a_set_up_names_anothers_file(anywhere: tuple[Visitor, Path], foreign_files: list[str]) -> None:
    """Every field of a set-up, new ones included. The forms of a value take turns over the files."""
    visitor, home = anywhere
    for name in Setup.model_fields:
        for number, path in enumerate(foreign_files):
            forms = (path, {"facts": path, "columns": []}, [path], f"{path}:{path}", f"hf:{path}")
            for value in forms if name in {"source", "corpus", "pool"} else forms[number::3]:
                setup = {"models": ["baseline:tail"], "pairs": 4, "shots": 0, name: value}
                setup |= {"retrieval": "sparse", "settings": [READ]} if name == "corpus" else {}
                view = {name: value} if isinstance(value, str) and name in PAGES["evaluate"].show.model_fields else {}
                answer = visitor.fetch_page(setup=setup, **view)
                assert MARK not in json.dumps(answer), name
    assert open_store(home)._all_runs(visitor.owner) == []


def test_no_field_of_a_view_names_anothers_file(anywhere: tuple[Visitor, Path], foreign_files: list[str]) -> None:
    """Every field of a view, with the three files in turn."""
    visitor, _ = anywhere
    for (page, name), path in zip(FIELDS, itertools.cycle(foreign_files), strict=False):
        values = [path]
        if name in ("mapping", "untold", "setup"):
            values += [json.dumps({"path": file, "columns": ["a"]}) for file in foreign_files]
        for value in values:
            answer = visitor.http.post("/updates", json={"page": page, "show": {name: value}})
            assert MARK not in answer.text, (page, name)


def test_no_button_names_anothers_file(anywhere: tuple[Visitor, Path], foreign_files: list[str]) -> None:
    """Every button, with the three files in turn; those that take a file, with each of them."""
    visitor, _ = anywhere
    buttons = [(name, action) for name, page in PAGES.items() for action in page.actions]
    for (page, action), turn in zip(buttons, itertools.cycle(foreign_files), strict=False):
        for path in foreign_files if re.match("take|use|bring", action) else [turn]:
            table = {"path": path, "columns": ["a"]}
            pressed = {"name": action, "about": path, "fields": {"head": "head", "column": path, "constant": "x"}}
            show = {"mapping": json.dumps(table), "data": "own"}
            request = {"page": page, "show": show, "setup": {"mapping": table, "untold": table}, "action": pressed}
            assert MARK not in visitor.http.post("/updates", json=request).text, (page, action)
