"""A run's file that may be a stranger's: every field of its spec, tried as a name of what is on this machine.

Whatever is then done with the run, at the page or at the command line: nothing that the file names is opened or contacted, and
what is made from the run is marked as it is.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from browser import serve_app
from installed import ROOT
from mock_service import Behaviour, MockService
from recorded import complete_run
from run_files import alter_run_file, export_run_file, remove_answers
from small_facts import make_fact_rows, write_csv
from strangers import open_store, space_visitor
from visitors import Visitor
from waiting import wait_until
from writers import rephrase

from medfact.errors import MedfactError
from medfact.exchange import import_run
from medfact.models import Placement, ServiceSettings
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, IMPORTED, Store
from medfact.views.report import repeat_command
from medfact.writing.runs import start_writing, write

HOST_KEY = "sk-of-the-host-0123456789"
NOBODY = "http://127.0.0.1:9/v1"
"""An address of this machine at which nobody listens."""

KEYS = ("OPENAI_API_KEY", "MEDFACT_ENCODER_KEY", "UMLS_API_KEY", "NCBI_API_KEY", "HF_TOKEN")
MARK = "what-lies-in-the-folder-of-the-server"
POOL = f"""name: secret
title: {MARK}
forms: [none]
relations:
  symptoms:
    aliases: [therapeutic drugs]
    sentences:
      none: '{MARK}: [Y] comes with [X].'
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a server is started: files that a run's file can name without a folder."""
    place = tmp_path_factory.mktemp("started-here")
    rows = [{**row, "head": f"{MARK} {row['head']}"} for row in make_fact_rows()]
    write_csv(place / "secret.csv", rows)
    (place / "secret.txt").write_text(f"{MARK}. {'Gout has symptoms. ' * 30}")
    (place / "secret.yaml").write_text(POOL)
    (place / "secret.json").write_text(json.dumps({"symptoms": f"{MARK} {{subject}} {{object}}"}))
    shots = "".join(f"{relation},{form},{MARK},true\n" for relation in ("symptoms", "treats") for form in ("none", "dn"))
    (place / "demonstrations.csv").write_text(f"relation,variant,statement,label\n{shots}")
    (place / "secret").mkdir()
    for where in (place, place / "secret"):
        (where / "prompts.csv").write_text(f"relation,prompt\nsymptoms,{MARK} [X] [Y]\n")
    (place / "secret" / "config.json").write_text("{")
    return place


NAMES = {
    "facts": ["secret.csv", "secret", "hf:secret", "hf:nobody/secret"],
    "pool": ["secret.yaml", "secret.json"],
    "corpus": ["secret.txt", "secret.csv", "secret"],
    "demonstrations": ["demonstrations.csv"],
    "templates": ["prompts.csv"],
    "encoder": ["openai:letters", "hf:secret"],
    "entailment": ["hf:secret"],
    "model": ["openai:letters", "hf:secret", "baseline:embedding:secret"],
}
"""What lies there, by the field that could open it; any other field is given the name of a table, and an address."""


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[str, list[bytes]]]:
    """An address of this machine, and what it was sent."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def listen() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                heard.append(connection.recv(65_536))
                connection.close()

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1", heard


@dataclass(frozen=True)
class Sound:
    """Sound files of runs, from which a stranger makes others: a complete writing, and a run that was stopped."""

    writing: bytes
    run: bytes


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    place = tmp_path_factory.mktemp("elsewhere")
    store = Store(f"sqlite:///{place / 'runs.db'}")
    facts = str(write_csv(place / "facts.csv", make_fact_rows()))
    with MockService(Behaviour(write_reply=rephrase)) as service:
        here = ServiceSettings(base_url=service.base_url)
        writing = start_writing("rephrase", RunSpec("openai:writer", facts=facts, limit=2, shots=0, service=here), store)
        assert list(write(writing, store))
    assert store.run(writing).state == COMPLETE
    run = start(RunSpec("baseline:random", facts=facts, limit=2, shots=0), store)
    store.set_state(run, "stopped")
    return Sound(export_run_file(store, writing), export_run_file(store, run))


def hostile() -> Iterator[tuple[str, Any]]:
    """Every field of a spec, of its placement and of its service, with its type: a new one is tried, too."""
    for record, prefix in ((RunSpec, ""), (Placement, "placement."), (ServiceSettings, "service.")):
        for one in fields(record):
            if one.name not in {"placement", "service"}:
                yield f"{prefix}{one.name}", str(one.type)


NAMING = [(name, kind) for name, kind in hostile() if "str" in kind]
NUMBERS = {"int": 3, "float": 0.5, "bool": True}


def values_of(name: str, kind: str, address: str) -> list[Any]:
    """What a stranger may write into a field that holds text."""
    named = NAMES.get(name, ["secret.csv", address])
    if kind.startswith("tuple[tuple"):
        return [[["head", one], [one, "head"]] for one in named]
    return [named] if kind.startswith("tuple[str") else named


def specs_with(name: str, kind: str, address: str) -> Iterator[dict[str, Any]]:
    """Specs in which a field has such a value, each beside what makes that field count."""
    record, _, inner = name.rpartition(".")
    beside: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"retrieval": "sparse"}, {"retrieval": "dense", "encoder": "openai:letters", "encoder_url": address}],
        "encoder": [{"retrieval": "dense", "encoder_url": address}, {"retrieval": "dense", "service": {"base_url": address}}],
        "encoder_url": [{"retrieval": "dense", "encoder": "openai:letters"}],
        "templates": [{"pool": "origin"}],
        "facts": [{}, {"pool": "mkj"}, {"pool": "origin"}],
        "demonstrations": [{"shots": None}],
        "model": [{"service": {"base_url": address}}],
        "service.base_url": [{"model": "openai:m"}, {"retrieval": "dense", "encoder": "openai:letters"}],
    }
    for value in values_of(inner, kind, address):
        for more in beside.get(name, [{}]):
            changed: dict[str, Any] = {"facts": None, **more}
            changed |= {record: changed.get(record, {}) | {inner: value}} if record else {inner: value}
            yield changed


def all_numbers() -> dict[str, Any]:
    """A spec whose numbers and switches are all a stranger's."""
    made: dict[str, Any] = {"placement": {}, "service": {}, "facts": "secret.csv", "pool": "secret.yaml"}
    for name, kind in hostile():
        record, _, inner = name.rpartition(".")
        if "str" not in kind and name != "service.shots_as_turns":  # which excludes another switch
            (made[record] if record else made)[inner] = NUMBERS[kind.partition(" ")[0]]
    return made | {"shot_draws": 1}


SPECS: dict[str, Callable[[str], Iterator[dict[str, Any]]]] = {
    **{name: partial(specs_with, name, kind) for name, kind in NAMING},
    "all numbers and switches": lambda address: iter([all_numbers()]),
}
"""Field → specs in which it is a stranger's, given an address of this machine."""

REFUSED = {
    *("protocol", "negative_difficulty", "question", "task", "retrieval", "effort", "pressure", "asked_in"),
    *("placement.dtype", "placement.device", "service.key"),
}
"""Fields that hold one of a few words, or nothing in a file: with another one the file is refused as a whole."""

OPENING = [*NAMES, "encoder_url", "service.base_url", "dataset", "writing"]
"""Fields that matter on a Space, too."""


# ------------------------------------------------------------------------- at the page


@pytest.fixture(scope="module")
def laptop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laptop")


@pytest.fixture(scope="module")
def space_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("space")


@contextmanager
def opened(home: Path, folder: Path, **more: str) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        with serve_app(home, folder, **dict.fromkeys(KEYS, HOST_KEY), **more) as url:
            yield url
    assert "Traceback" not in (home / "log.txt").read_text()


@pytest.fixture(scope="module")
def laptop(laptop_home: Path, folder: Path) -> Iterator[str]:
    with opened(laptop_home, folder) as url:
        yield url


@pytest.fixture(scope="module")
def space(space_home: Path, folder: Path) -> Iterator[str]:
    limits = space_home / "limits.yaml"
    limits.write_text("{}")
    with opened(
        space_home,
        folder,
        SPACE_ID="somebody/medfact",
        GRADIO_SERVER_NAME="127.0.0.1",
        MEDFACT_LIMITS=str(limits),
        MEDFACT_IMPORTS="1",
    ) as url:
        yield url


@pytest.fixture
def server(place: str, request: pytest.FixtureRequest) -> Iterator[tuple[Visitor, Path]]:
    """A visitor of the app at a place, and where the app keeps everything."""
    url, home = (request.getfixturevalue(name) for name in (place, f"{place}_home"))
    visitor = space_visitor(url) if place == "space" else Visitor(url)
    with visitor:
        yield visitor, home


def bring(visitor: Visitor, data: bytes) -> bool:
    return "Imported" in visitor.press_button("bring", visitor.upload("run.gz", data), page_name="runs")["fragments"]["said"]


def done_with_a_writing(visitor: Visitor, writing: str) -> Iterator[object]:
    """What a page does with a writing, and what it shows of it."""
    yield visitor.fetch_page("write", writing=writing)
    yield visitor.press_button("resume", writing, page_name="write", writing=writing)
    chosen = {"models": ["baseline:tail"], "pairs": 4, "shots": -1}
    yield (made := visitor.press_button("evaluate", writing=f"{writing},prototypes,origin", setup=chosen))
    if runs := made["show"].get("run"):
        yield from done_with_a_run(visitor, runs)
    yield visitor.press_button("evaluate", drafts=writing, setup={"models": ["baseline:random"]})


def done_with_a_run(visitor: Visitor, run: str) -> Iterator[object]:
    """What a page does with runs, and what it shows of them."""
    yield visitor.press_button("resume", run=run)
    yield (again := visitor.press_button("again", run=run))
    yield visitor.press_button("resume", run=again["show"].get("run", run))
    yield visitor.fetch_page("runs", told=run)
    yield visitor.fetch_page(run=run, tab="facts", fact=0)


def ended(home: Path, owner: str) -> Callable[[], bool]:
    return lambda: not any(run.state in {"waiting", "running"} for run in open_store(home)._all_runs(owner))


@pytest.mark.parametrize(("place", "name"), [*(("laptop", name) for name in SPECS), *(("space", name) for name in OPENING)])
def test_no_page_opens_what_a_runs_file_names(
    name: str, server: tuple[Visitor, Path], sound: Sound, listener: tuple[str, list[bytes]]
) -> None:
    visitor, home = server
    address, heard = listener
    told, taken = [], 0
    for changed in SPECS[name](address):
        of_writing, writing = alter_run_file(sound.writing, changed)
        if bring(visitor, writing):
            taken += 1
            told += list(map(str, done_with_a_writing(visitor, of_writing)))
        of_run, run = alter_run_file(sound.run, changed, remove_answers)
        if bring(visitor, run):
            taken += 1
            told += list(map(str, done_with_a_run(visitor, of_run)))
    wait_until(ended(home, visitor.owner))
    store = open_store(home)
    for run in store._all_runs(visitor.owner):
        told += [str(run.reason), str(run.notes), str(store.answers.asked(run.run)), str(store.answers.demonstrations(run.run))]
        assert store.was_imported(run.run), f"{run.model} with {run.spec}"
    assert bool(taken) is (name not in REFUSED)
    assert not any(MARK in one for one in told)
    assert heard == []
    assert not any(HOST_KEY in one for one in told)


# ------------------------------------------------------------------------- at the command line


COMMANDS = (
    "resume {run}",
    "run --again {run}",
    "run --again {run} --model baseline:tail",
    "run --writing {run} --writing prototypes --writing origin --model baseline:tail",
    "written {run}",
    "report {run}",
)


@pytest.mark.parametrize("name", SPECS)
def test_no_command_opens_what_a_runs_file_names(
    name: str,
    url: str,
    sound: Sound,
    listener: tuple[str, list[bytes]],
    folder: Path,
    medfact: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing but the run is typed."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # both may have read the environment by now
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    for one in KEYS:
        monkeypatch.setenv(one, HOST_KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)  # the host's own service, which a run without an address goes to
    (address, heard), store, told = listener, Store(url), list[str]()
    for changed in SPECS[name](address):
        for run, data in (alter_run_file(sound.writing, changed), alter_run_file(sound.run, changed, remove_answers)):
            try:
                import_run(store, io.BytesIO(data), "run.gz")
            except MedfactError:
                continue
            for command in COMMANDS:
                outcome = medfact(*command.format(run=run).split(), "--db", url)
                told.append(outcome.out + outcome.err)
            for made in [one.run for one in store._all_runs() if one.run != run]:
                assert store.was_imported(made)
                told.append(medfact("resume", made, "--db", url).err)
            for one in store._all_runs():
                told.append(str(store.answers.asked(one.run)) + str(store.answers.demonstrations(one.run)) + str(one.notes))
                store.delete(one.run)
    assert bool(told) is (name not in REFUSED)
    assert not any(MARK in one for one in told)
    assert heard == []


def test_what_was_made_from_a_file_stays_marked(sound: Sound, tmp_path: Path) -> None:
    """Repeated, written on, asked, exported and imported again: it is never taken for a run that was planned here."""
    here, there = (Store(f"sqlite:///{tmp_path / name}.db") for name in ("here", "there"))
    from medfact.runs.start import start_again

    name, data = alter_run_file(sound.run, {"facts": None, "dataset": "clinical-core"}, remove_answers)
    import_run(here, io.BytesIO(data), "run.gz")
    again = start_again(name, here)
    third = start_again(again, here, here.run(again).spec.override(model="baseline:always-true"))
    assert all(here.was_imported(run) for run in (name, again, third))
    assert "facts" in here.run(third).spec.imported
    assert "model" not in here.run(third).spec.imported, "it was chosen here"
    list(answer(third, here))
    assert here.run(third).state == COMPLETE
    import_run(there, io.BytesIO(export_run_file(here, third)), "run.gz")
    assert there.was_imported(third)
    assert "model" in there.run(third).spec.imported, "for another machine, all of it comes in a file"
    assert [event.what for event in here.events(again)][:2] == ["waiting", IMPORTED]


def test_a_file_cannot_say_that_it_was_planned_here(sound: Sound, store: Store) -> None:
    for said in ([], ["model"], None):
        name, data = alter_run_file(sound.run, {"imported": said} if said is not None else {})
        import_run(store, io.BytesIO(data), "run.gz")
        spec = store.run(name).spec
        assert {one.name for one in fields(RunSpec)} - {"imported"} == set(spec.imported)
    assert b'"imported":[]' in gzip.decompress(export_run_file(store, name)).splitlines()[1], "the next reader decides anew"


def test_a_person_at_the_command_line_may_trust_a_file(
    sound: Sound, store: Store, url: str, medfact: Callable[..., Any]
) -> None:
    with MockService() as service:
        spec = {"model": "openai:m", "service": {"base_url": service.base_url}, "facts": None}
        name, data = alter_run_file(sound.run, spec, remove_answers)
        import_run(store, io.BytesIO(data), "run.gz")
        refused = medfact("resume", name, "--db", url)
        assert (refused.code, service.calls) == (2, [])
        assert "was imported from a file, which names the service at 127.0.0.1" in refused.err
        assert medfact("resume", name, "--yes", "--db", url).code == 0
        assert len(service.calls) == store.run(name).statements


def test_own_facts_do_not_follow_a_run_to_another_host_unasked(
    store: Store, url: str, facts_file: Path, medfact: Callable[..., Any]
) -> None:
    """What was agreed to was the first one."""
    run = start(RunSpec("openai:m", facts=str(facts_file), limit=2, shots=0), store)
    outcome = medfact("resume", run, "--base-url", "https://another.example/v1", "--db", url)
    assert outcome.code == 2
    assert "Your facts go to another.example. They must hold no patient data." in outcome.err


def test_no_file_says_how_fast_a_model_is_here(sound: Sound, store: Store) -> None:
    """What a page tells everybody of a model's pace comes from runs that were asked here."""
    own = complete_run(RunSpec("baseline:random", limit=2, shots=0), store)
    spec = {"model": "baseline:random"}
    _, data = alter_run_file(export_run_file(store, own), spec, finished_at="9999-01-01T00:00:00.000+00:00")
    import_run(store.of("stranger"), io.BytesIO(data), "run.gz")
    found = store.last_complete("baseline:random")
    assert found is not None
    assert found.run == own


def test_the_call_that_a_report_shows_is_no_code_of_a_strangers(sound: Sound, store: Store) -> None:
    """A person copies it into a notebook."""
    columns = [["head=print(1),x", "a"], ["tail", "b"]]
    run, data = alter_run_file(sound.run, {"model": "function:f", "columns": columns}, remove_answers)
    import_run(store, io.BytesIO(data), "run.gz")
    assert "print(1)" not in repeat_command(store.run(run).spec)


def test_an_imported_run_does_not_take_answers_of_others(sound: Sound, store: Store) -> None:
    """A file may ask for answers to be reused; nobody here did."""
    own = complete_run(RunSpec("baseline:random", limit=2, shots=0), store)
    name, data = alter_run_file(export_run_file(store, own), {"reuse": True}, remove_answers, state="stopped")
    import_run(store.of("stranger"), io.BytesIO(data), "run.gz")
    list(answer(name, store))
    assert {item.answer.attempts for item in store.answers.asked(name) if item.answer} == {None}


@pytest.mark.parametrize("place", ["laptop", "space"])
def test_another_visitors_documents_are_read_for_nobody_else(server: tuple[Visitor, Path], folder: Path) -> None:
    """Who has a run's link may repeat it; what was not retrieved for it yet is not looked up in its owner's documents."""
    owner, home = server
    uploads = home / "uploads"
    facts = str(uploads / owner.upload("facts.csv", (folder / "secret.csv").read_bytes()))
    corpus = str(uploads / owner.upload("notes.txt", (folder / "secret.txt").read_bytes()))
    spec = RunSpec("baseline:random", facts=facts, corpus=corpus, retrieval="sparse", limit=2, shots=0)
    run = start(spec, open_store(home, owner.owner))
    open_store(home).set_state(run, "stopped")
    stranger = Visitor(str(owner.http.base_url), **({"cookie": f"medfact-visitor={'5' * 32}"}))
    with stranger:
        said = stranger.press_button("again", run=run)
        assert "not here, or not yours" in json.dumps(said)
    assert open_store(home).runs(stranger.owner) == []
