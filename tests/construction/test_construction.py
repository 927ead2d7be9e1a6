"""MKJ's construction: loose replies read, concepts linked, statements made; killed at each step, it goes on."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from app_builders import quick_processes as quick_processes
from hypothesis import given
from hypothesis import strategies as st
from mock_service import Behaviour, MockService
from processes import CommandProcess
from umls_files import mrconso_row, mrrel_row, write_umls
from waiting import wait_until

from medfact.cli.construct import read_questions
from medfact.construction import templates
from medfact.construction.links import link_locally, link_remotely
from medfact.construction.pipeline import (
    LINKS_FILE,
    MOST_TERMS,
    PROBLEMS_FILE,
    STATE,
    TERMS_FILE,
    TRIPLETS_FILE,
    NoTerms,
    terms_in,
)
from medfact.construction.templates import FILE as TEMPLATES_FILE
from medfact.datasets import load
from medfact.errors import FactsError, ReferenceDown
from medfact.references import UmlsApi
from medfact.spec import RunSpec

QUESTIONS = 20
DRUG, DISEASE, GENE = "Pharmacologic Substance", "Disease or Syndrome", "Gene or Genome"


def cui(kind: int, number: int) -> str:
    return f"C{kind}{number:06}"


def write_rrf(folder: Path) -> Path:
    """20 diseases, each prevented by its drug (MKJ's pool has a template) and worsened by the next one's (it has none), with a
    gene that no other has in common, a link of the vocabularies, and a name that only MRCONSO knows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names, links, types = [], [], []
    for n in range(QUESTIONS):
        names += [mrconso_row(cui(1, n), f"Disease{n} syndrome"), mrconso_row(cui(1, n), f"Morbus {n}", preferred="S PF N")]
        names += [mrconso_row(cui(2, n), f"drug{n}"), mrconso_row(cui(3, n), f"GENE{n} gene")]
        types += [f"{cui(1, n)}|T047|B2|{DISEASE}||", f"{cui(2, n)}|T121|A1|{DRUG}||", f"{cui(3, n)}|T028|A1|{GENE}||"]
        links += [mrrel_row(cui(1, n), "may_be_prevented_by", cui(2, n)), mrrel_row(cui(2, n), "may_prevent", cui(1, n))]
        links += [mrrel_row(cui(1, n), "may_be_worsened_by", cui(2, (n + 1) % QUESTIONS))]
        links += [
            mrrel_row(cui(1, n), "related_to_genetic_biomarker", cui(3, n)),
            mrrel_row(cui(1, n), "isa", cui(1, (n + 1) % QUESTIONS)),
        ]
    return write_umls(folder, links, names, MRSTY=types)


def writes(prompt: str) -> str:
    """Names the disease of a question as JSON in a fence; drafts a template that keeps to the rules."""
    if "medical_terminologies" in prompt:
        number = prompt.split("Morbus ")[1].split("?")[0]
        return f'Here they are:\n```json\n[{{"medical_terminologies": ["morbus {number}", "no such thing"]}}]\n```'
    triplet = json.loads(prompt.rpartition("The triplet is: ")[2].partition("\n")[0])
    return f"{triplet['object']} may worsen {triplet['subject']}."


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.txt"
    file.write_text("".join(f"What helps against Morbus {n}?\n" for n in range(QUESTIONS)), encoding="utf-8")
    return file


@pytest.fixture
def rrf(tmp_path: Path) -> Path:
    return write_rrf(tmp_path / "META")


def arguments(questions: Path, rrf: Path, folder: Path, service: MockService, url: str) -> list[object]:
    given = ["construct", questions, "--into", folder, "--umls", rrf, "--model", "openai:m", "--base-url", service.base_url]
    return [*given, "--db", url, "--accept-drafts"]


def contents(folder: Path) -> dict[str, str]:
    """The files of a construction, but for its state, which holds the runs' ids."""
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.iterdir()) if file.name != STATE}


# ---------------------------------------------------------------------------------------------- the whole way


def test_twenty_questions_become_a_data_set(
    medfact: Callable[..., Any], questions: Path, rrf: Path, tmp_path: Path, url: str
) -> None:
    """20 terms that are concepts and one that is none; 3 links each without the one of the vocabularies; 60 triplets; 2
    predicates of MKJ's pool and a drafted one; 60 true statements with 3 false ones each.
    """
    folder = tmp_path / "made"
    with MockService(Behaviour(write_reply=writes)) as service:
        outcome = medfact(*arguments(questions, rrf, folder, service, url))
        assert outcome.code == 0, outcome.err
        steps = {row["step"]: (row["made"], row["problems"]) for row in map(json.loads, outcome.out.splitlines())}
        assert steps == {"terms": (40, 0), "links": (60, 1), "triplets": (60, 0), "templates": (3, 0), "statements": (60, 0)}
        assert len(service.calls) == QUESTIONS + 1
        again = medfact(*arguments(questions, rrf, folder, service, url))
        assert again.out == outcome.out
        assert len(service.calls) == QUESTIONS + 1, "nothing is asked twice"
    rows = [json.loads(line) for line in (folder / TEMPLATES_FILE).read_text(encoding="utf-8").splitlines()]
    assert {row["predicate"]: row["sentence"] for row in rows} == {
        "may be prevented by": "[Y] may prevent [X].",
        "may be worsened by": "[Y] may worsen [X].",
        "related to genetic biomarker": "Genetic biomarker [Y] is related to [X].",
    }
    collection = load(RunSpec(model="", facts=str(folder)))
    assert collection.problems == ()
    positive = [fact for fact in collection.facts if fact.positive]
    assert (len(positive), len(collection.facts)) == (60, 240)
    linked = {(fact.head, fact.tail) for fact in positive}
    for fact in collection.facts:
        assert ((fact.head, fact.tail) in linked) is fact.positive, "no false statement is a known link"
    kinds = {fact.fact_id: (fact.tail or "")[:4] for fact in positive}
    assert all((fact.tail or "")[:4] == kinds[fact.negative_of] for fact in collection.facts if fact.negative_of)
    run = medfact("run", "--facts", folder, "--protocol", "mkj", "--model", "baseline:always-false", "--db", url)
    assert json.loads(run.out)["mkj_accuracy"] == 0.75


FIRST_STATE = "the first state"
KILLED_AT = (
    FIRST_STATE,
    STATE,
    TERMS_FILE,
    LINKS_FILE,
    TRIPLETS_FILE,
    TEMPLATES_FILE,
    "data.json",
    "semantic_to_entity.json",
    PROBLEMS_FILE,
)


def die_before(name: str) -> None:
    """Lets this process be killed before it writes a file of that name, the second time if that is the state; or while it puts
    the first state in its place.
    """
    write, seen = templates.write_text, []
    if name == FIRST_STATE:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        return

    def patched(file: Path, text: str) -> None:
        seen.append(file.name)
        if file.name == name and (name != STATE or seen.count(STATE) == 2):
            os.kill(os.getpid(), signal.SIGKILL)
        write(file, text)

    templates.write_text = patched


@pytest.mark.usefixtures("quick_processes")
def test_killed_at_each_step_it_goes_on(questions: Path, rrf: Path, tmp_path: Path, url: str) -> None:
    with MockService(Behaviour(write_reply=writes)) as service:
        given = arguments(questions, rrf, tmp_path / "made", service, url)
        for name in KILLED_AT:
            process = CommandProcess(tmp_path / "out", *given, before=partial(die_before, name)).wait()
            assert process.code == -9, f"{name}: {process.err}"
        last = CommandProcess(tmp_path / "out", *given).wait()
        assert last.code == 0, last.err
        assert max(service.call_counts().values()) == 1
        other = f"sqlite:///{tmp_path / 'other.db'}"
        undisturbed = CommandProcess(tmp_path / "out", *arguments(questions, rrf, tmp_path / "other", service, other)).wait()
        assert undisturbed.code == 0, undisturbed.err
    assert contents(tmp_path / "made") == contents(tmp_path / "other")


@pytest.mark.usefixtures("quick_processes")
def test_killed_while_a_model_is_asked_it_asks_the_rest(questions: Path, rrf: Path, tmp_path: Path, url: str) -> None:
    with MockService(Behaviour(write_reply=writes, latency=0.2)) as service:
        given = [*arguments(questions, rrf, tmp_path / "made", service, url), "--in-flight", 2]
        process = CommandProcess(tmp_path / "out", *given)
        wait_until(lambda: len(service.calls) >= 9)
        assert process.kill()
        before = len(service.calls)
        last = CommandProcess(tmp_path / "out", *given).wait()
        assert last.code == 0, last.err
        asked_twice = sum(count - 1 for count in service.call_counts().values())
        assert asked_twice <= 7, "those in flight, and those of the last half second, which were not on disk"
        assert before < QUESTIONS


def test_what_a_service_writes_badly_are_problem_rows(
    medfact: Callable[..., Any], questions: Path, rrf: Path, tmp_path: Path, url: str
) -> None:
    def badly(prompt: str) -> str:
        if "medical_terminologies" not in prompt:
            return "I cannot do that."
        number = int(prompt.split("Morbus ")[1].split("?")[0])
        bad = {0: "", 1: "The terms are fever and cough.", 2: '{"medical_terminologies": [', 3: '{"medical_terminologies": []}'}
        return bad.get(number, writes(prompt))

    folder = tmp_path / "made"
    with MockService(Behaviour(write_reply=badly)) as service:
        outcome = medfact(*arguments(questions, rrf, folder, service, url))
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    problems = [json.loads(line) for line in (folder / PROBLEMS_FILE).read_text(encoding="utf-8").splitlines()]
    of_terms = [row["problem"] for row in problems if row["step"] == "terms"]
    assert of_terms == [
        "the model wrote nothing",
        "there is no JSON with medical_terminologies in it",
        "the JSON cannot be read, or lists no term",
        "the JSON cannot be read, or lists no term",
    ]
    (drafted,) = [row for row in problems if row["step"] == "templates"]
    assert drafted["about"] == "may be worsened by"
    collection = load(RunSpec(model="", facts=str(folder)))
    assert sum(fact.positive for fact in collection.facts) == 16 * 2, "16 questions with a term, two predicates with a template"


def test_drafts_wait_for_a_person(medfact: Callable[..., Any], questions: Path, rrf: Path, tmp_path: Path, url: str) -> None:
    folder = tmp_path / "made"
    with MockService(Behaviour(write_reply=writes)) as service:
        given = arguments(questions, rrf, folder, service, url)[:-1]
        medfact(*given)
        assert sum(f.positive for f in load(RunSpec(model="", facts=str(folder))).facts) == 40
        file = folder / TEMPLATES_FILE
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for row in rows:
            if row["predicate"] == "may be worsened by":
                row |= {"accepted": True, "sentence": "[Y] can make [X] worse."}
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        medfact(*given)
        assert sum(f.positive for f in load(RunSpec(model="", facts=str(folder))).facts) == 60
        assert "can make Disease" in (folder / "data.json").read_text(encoding="utf-8")
        file.write_text("".join(json.dumps(row | {"sentence": "[Y] is."}) + "\n" for row in rows), encoding="utf-8")
        medfact(*given)
        (problem,) = [r for r in map(json.loads, (folder / PROBLEMS_FILE).read_text().splitlines()) if r["step"] == "templates"]
        assert "[X]" in problem["problem"]
        assert len(service.calls) == QUESTIONS + 1


def test_failed_calls_are_asked_again(
    medfact: Callable[..., Any], questions: Path, rrf: Path, tmp_path: Path, url: str
) -> None:
    folder = tmp_path / "made"
    with MockService(Behaviour(write_reply=writes, prompt_faults={"500": 0.4})) as service:
        given = arguments(questions, rrf, folder, service, url)
        first = medfact(*given, "--tries", 1)
        assert first.code == 3, first.err
        service.behaviour = Behaviour(write_reply=writes)
        last = medfact(*given, "--tries", 1)
    assert last.code == 0, last.err
    assert sum(f.positive for f in load(RunSpec(model="", facts=str(folder))).facts) == 60


def test_mistakes_end_with_one_line(medfact: Callable[..., Any], questions: Path, rrf: Path, tmp_path: Path, url: str) -> None:
    with MockService(Behaviour(write_reply=writes)) as service:
        given = arguments(questions, rrf, tmp_path / "made", service, url)
        medfact(*given)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine.txt").write_text("mine", encoding="utf-8")
        for changed, said in (
            ([*given, "--per-term", 3], "other settings: per_term"),
            ([*given, "--seed", 3], "other settings: seed"),
            ([*given[:3], tmp_path / "full", *given[4:]], "holds other files"),
            (["construct", tmp_path / "none.txt", *given[2:]], "There is no file"),
            (["construct", questions, "--into", tmp_path / "x", "--model", "openai:m"], "No source of concepts"),
            (["construct", questions, "--into", tmp_path / "x", "--umls", rrf, "--model", "baseline:random"], "writes nothing"),
            (["construct", questions, "--into", tmp_path / "z", "--umls", tmp_path / "no", *given[6:]], "There is no folder"),
            (["construct", questions, "--into", tmp_path / "y", "--umls", tmp_path / "full", *given[6:]], "has no MRCONSO.RRF"),
        ):
            outcome = medfact(*changed)
            assert outcome.code == 2, changed
            assert said in outcome.err
            assert "Traceback" not in outcome.err
    assert (tmp_path / "full" / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert not any((tmp_path / name).exists() for name in "yz")  # no model was asked for a folder that is none


def test_a_price_comes_first(medfact: Callable[..., Any], questions: Path, tmp_path: Path) -> None:
    outcome = medfact("construct", questions, "--into", tmp_path / "x", "--model", "openai:gpt-4o-mini", "--dry-run")
    assert json.loads(outcome.out)["statements"] == QUESTIONS
    assert not (tmp_path / "x").exists()


# ---------------------------------------------------------------------------------------------- questions, terms


def test_questions_come_from_texts_and_tables(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One?\n\nTwo  words?\nOne?\n", encoding="utf-8")
    assert read_questions(tmp_path / "a.txt") == ("One?", "Two words?")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "Question": "One?"}\n', encoding="utf-8")
    assert read_questions(tmp_path / "a.jsonl") == ("One?",)
    (tmp_path / "a.csv").write_text("left,right\n1,2\n", encoding="utf-8")
    with pytest.raises(FactsError, match="which column"):
        read_questions(tmp_path / "a.csv")
    (tmp_path / "b.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(FactsError, match="holds 0 questions"):
        read_questions(tmp_path / "b.txt")


@pytest.mark.parametrize(
    "reply",
    [
        '[{"medical_terminologies": ["fever", "cough"]}]',
        '{"medical_terminologies": ["fever", "cough"]}',
        '```json\n{"medical_terminologies": ["fever", "cough",]}\n```',
        'Sure! Here is the JSON: [{"Medical_Terminologies": ["fever", "cough"]}] Hope it helps [1].',
        "{'medical_terminologies': ['fever', 'cough']}",
        "{“medical_terminologies”: [“fever”, “cough”]}",
        '["fever", "cough"]',
        '{"answer": {"medical_terminologies": ["fever", "Fever", "cough", 3, null, ""]}}',
        '{"medical_terminologies": "fever, cough"}',
        '[{"medical_terminologies": ["fever"]}, {"medical_terminologies": ["cough"]}]',
        '{"medical_terminologies": ["fever", "cough", "cut o',
        '{"medical_terminologies": ["fever", "cough"], "note": "unbalanced [ and {"}',
    ],
)
def test_terms_are_read_however_loosely_they_are_written(reply: str) -> None:
    assert terms_in(reply) == ("fever", "cough")


@given(st.text(alphabet="[]{}\":,'abc medical_terminologies\n\\", max_size=200) | st.none())
def test_no_reply_breaks_the_reading(reply: str | None) -> None:
    with contextlib.suppress(NoTerms):
        terms = terms_in(reply)
        assert 0 < len(terms) <= MOST_TERMS
        assert all(term.strip() == term and term for term in terms)


# ---------------------------------------------------------------------------------------------- linking


def test_the_concept_that_prefers_a_name_wins(tmp_path: Path) -> None:
    names = [
        mrconso_row("C0000001", "Cold", preferred="S VC N"),
        mrconso_row("C0000002", "cold"),
        mrconso_row("C0000003", "Rhinovirus"),
        mrconso_row("C0000004", "Cold", suppress="O"),
    ]
    links = [mrrel_row("C0000002", "caused_by", "C0000003"), mrrel_row("C0000002", "caused_by", "C0000003", sab="X")]
    types = ["C0000002|T047|B2|Disease||", "C0000003|T005|A1|Virus||"]
    (found, none) = link_locally(["COLD", "absent"], write_umls(tmp_path, links, names, MRSTY=types), "ENG", (), 0, 20)
    assert found.concept is not None
    assert (found.concept.cui, found.concept.semantic_type) == ("C0000002", "Disease")
    assert [(one.predicate, one.object.name, one.object.semantic_type) for one in found.links] == [
        ("caused by", "Rhinovirus", "Virus")
    ]
    assert none.concept is None


class _Umls(http.server.BaseHTTPRequestHandler):
    """The UMLS REST API on loopback, of one disease and its drug."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.asked.append((parts.path, query))  # type: ignore[attr-defined]
        base = "http://uts/rest/content/current/CUI"
        relations = [
            {"additionalRelationLabel": "may_be_treated_by", "relatedIdName": "colchicine", "relatedId": f"{base}/C0000002"},
            {"additionalRelationLabel": "isa", "relatedIdName": "arthritis", "relatedId": f"{base}/C0000003"},
            {"additionalRelationLabel": "", "relatedIdName": "nothing", "relatedId": f"{base}/C0000004"},
            {"additionalRelationLabel": "may_be_treated_by", "relatedIdName": "atom", "relatedId": "http://uts/AUI/A1"},
        ]
        found: dict[str, Any] = {
            "/rest/search/current": {"results": [{"ui": "C0000001", "name": "Gout"}] if query.get("string") == "gout" else []},
            "/rest/content/current/CUI/C0000001": {"name": "Gout", "semanticTypes": [{"name": "Disease or Syndrome"}]},
            "/rest/content/current/CUI/C0000002": {"name": "colchicine", "semanticTypes": [{"name": DRUG}, {"name": "A"}]},
            "/rest/content/current/CUI/C0000001/relations": relations,
        }
        body = json.dumps({"result": found.get(parts.path)}).encode()
        self.send_response(401 if query.get("apiKey") != "secret" else 200 if parts.path in found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def umls_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server: Any = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Umls)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("MEDFACT_UMLS_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("UMLS_API_KEY", "secret")
    yield server
    server.shutdown()
    server.server_close()


def test_the_api_links_a_term_and_is_asked_once(umls_api: Any, tmp_path: Path) -> None:
    kept = tmp_path / "umls-answers.jsonl"
    found, none = link_remotely(["gout", "absent"], UmlsApi(kept), 0, 20)
    assert found.concept is not None
    assert (found.concept.name, found.concept.semantic_type) == ("Gout", "Disease or Syndrome")
    assert [(one.predicate, one.object.name, one.object.semantic_type) for one in found.links] == [
        ("may be treated by", "colchicine", f"A; {DRUG}")
    ]
    assert found.also == ("colchicine", "arthritis")
    assert none.concept is None
    asked = len(umls_api.asked)
    assert list(link_remotely(["gout", "absent"], UmlsApi(kept), 0, 20)) == [found, none]
    assert len(umls_api.asked) == asked
    assert "secret" not in kept.read_text(encoding="utf-8")


def test_without_key_or_network_the_api_says_so_in_one_sentence(
    umls_api: Any, monkeypatch: pytest.MonkeyPatch, medfact: Callable[..., Any], questions: Path, tmp_path: Path, url: str
) -> None:
    monkeypatch.setenv("UMLS_API_KEY", "wrong")
    with pytest.raises(ReferenceDown, match="rejected this key"):
        list(link_remotely(["gout"], UmlsApi(), 0, 20))
    monkeypatch.delenv("UMLS_API_KEY")
    with MockService(Behaviour(write_reply=writes)) as service:
        given = ["construct", questions, "--into", tmp_path / "made", "--umls-api", "--model", "openai:m", "--db", url]
        outcome = medfact(*given, "--base-url", service.base_url)
        assert outcome.code == 2
        assert "UMLS_API_KEY is not set. Check the network and UMLS_API_KEY, or give a UMLS folder with --umls" in outcome.err
        monkeypatch.setenv("UMLS_API_KEY", "secret")
        monkeypatch.setenv("MEDFACT_UMLS_URL", "http://127.0.0.1:9")
        outcome = medfact(*given, "--base-url", service.base_url)
        assert outcome.code == 2
        assert "The UMLS REST API cannot be reached." in outcome.err
        assert "Traceback" not in outcome.err
        assert len(service.calls) == QUESTIONS, "the terms are there already"
