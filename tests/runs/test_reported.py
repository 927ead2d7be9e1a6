"""Reports of a service that a reader of a run needs: prompts that were cut, and hosts behind a router."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from odd_service import Reply, Request, ScriptedService, chat_reply, delta_event, event_stream

from medfact.exchange import import_run
from medfact.store import Store

Counts = Callable[[Request], int]

WORDS = "Fever, cough and pain are signs of many diseases, and none of them alone tells which one a patient has. "


def tokens_of(request: Request) -> int:
    return sum(len(message["content"]) for message in request.body["messages"]) // 4


@pytest.fixture
def asked(medfact: Any, url: str, tmp_path: Path) -> Callable[..., Any]:
    """Asks 4 facts, of which each has 8 statements, at a service: the outcome of `run`."""

    def ask(service: ScriptedService, *more: object) -> Any:
        address = f"m@{service.base_url}"
        return medfact("run", "--model", address, "--limit", 2, "--shots", 0, "--yes", "--db", url, *more)

    return ask


def counting(counts: Counts) -> ScriptedService:
    def reply(request: Request) -> Reply:
        counted = counts(request)
        return Reply(chat_reply("True", usage={"prompt_tokens": counted, "completion_tokens": 1, "total_tokens": counted + 1}))

    return ScriptedService(reply)


def corpus(folder: Path) -> Path:
    """Passages of different lengths, some 10,000 characters for each prompt."""
    path = folder / "corpus.txt"
    path.write_text("\n\n".join(f"Asthma gout influenza {n}. " + WORDS * (4 + n % 7) for n in range(60)), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("counts", "most"),
    [(lambda request: min(tokens_of(request), 1024), "1,024"), (lambda request: tokens_of(request) // 5, "")],
    ids=["at a limit", "far fewer"],
)
def test_prompts_that_are_cut_are_noted(
    counts: Counts, most: str, asked: Callable[..., Any], medfact: Any, url: str, tmp_path: Path
) -> None:
    with counting(counts) as service:
        outcome = asked(service, "--retrieval", "sparse", "--passages", 20, "--corpus", corpus(tmp_path))
    assert outcome.code == 0, outcome.err
    assert f"The service counts {most}" in outcome.err
    assert outcome.err.count("it seems to cut them") == 1
    assert "num_ctx" in outcome.err
    (row,) = outcome.rows
    assert "it seems to cut them" in medfact("report", row["run"], "--db", url).out
    assert any("num_ctx" in note for note in Store(url).run(row["run"]).notes)


@pytest.mark.parametrize(
    "counts",
    [tokens_of, lambda request: tokens_of(request) * 3 // 5, lambda request: 300, lambda request: 0],
    ids=["all", "a frugal tokenizer", "always the same", "none"],
)
def test_other_counts_are_not_noted(counts: Counts, asked: Callable[..., Any], tmp_path: Path) -> None:
    more = ("--retrieval", "sparse", "--passages", 20, "--corpus", corpus(tmp_path)) if counts is tokens_of else ()
    with counting(counts) as service:
        assert "seems to cut" not in asked(service, *more).err


# ------------------------------------------------------------------------- routers


def in_body(host: str) -> Reply:
    return Reply({**chat_reply("True"), "provider": host})


def in_choice(host: str) -> Reply:
    body = chat_reply("True")
    body["choices"][0]["provider"] = host
    return Reply(body)


def in_stream(host: str) -> Reply:
    parts = [{**delta_event(content="True"), "provider": host}, delta_event("stop")]
    return Reply(event_stream(*parts), headers={"Content-Type": "text/event-stream"})


def in_header(host: str) -> Reply:
    return Reply(chat_reply("True"), headers={"X-Inference-Provider": host})


@pytest.mark.parametrize("told", [in_body, in_choice, in_stream, in_header])
def test_the_hosts_behind_a_router_are_kept_and_shown(
    told: Callable[[str], Reply], asked: Callable[..., Any], medfact: Any, url: str, tmp_path: Path
) -> None:
    with ScriptedService(lambda request: told("Together" if request.number % 4 == 0 else "DeepInfra")) as service:
        outcome = asked(service)
    assert outcome.code == 0, outcome.err
    (run,) = (row["run"] for row in outcome.rows)
    hosts = [row["upstream"] for row in medfact("answers", run, "--db", url).rows]
    assert (hosts.count("DeepInfra"), hosts.count("Together")) == (24, 8)
    assert "Several hosts behind the service answered: DeepInfra (24) and Together (8) answers." in outcome.err
    assert "Answered by DeepInfra (24) and Together (8) answers." in medfact("report", run, "--db", url).out
    exported = tmp_path / "run.medfact.jsonl.gz"
    assert medfact("export", run, "-o", exported, "--db", url).code == 0
    again = Store(f"sqlite:///{tmp_path}/again.db")
    with exported.open("rb") as file:
        import_run(again, file, exported.name)
    assert [row["upstream"] for row in medfact("answers", run, "--db", again.database.url).rows] == hosts


def test_one_host_is_no_note_and_none_no_sentence(asked: Callable[..., Any], medfact: Any, url: str) -> None:
    with ScriptedService(in_body("DeepInfra")) as service:
        outcome = asked(service)
    assert "Several hosts" not in outcome.err
    report = json.loads(medfact("report", outcome.rows[0]["run"], "--json", "--db", url).out)
    assert report["service"]["upstreams"] == {"DeepInfra": 32}
    with ScriptedService(Reply(chat_reply("True"))) as service:
        outcome = asked(service, "--seed", 1)
    assert "Answered by" not in medfact("report", outcome.rows[0]["run"], "--db", url).out
