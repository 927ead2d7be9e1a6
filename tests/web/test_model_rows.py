"""Rows of models behind services: a key each, tested by one call, and never a run that could not begin. Over HTTP."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import odd_service
import pytest
from mock_service import Behaviour, MockService
from odd_service import ScriptedService
from visitors import Visitor, visitor_fixture
from waiting import wait_until

from medfact.errors import Mistake
from medfact.store import COMPLETE, FAILED_RUN, PAUSED, Store
from medfact.web.evaluate import rows as model_rows
from medfact.web.evaluate.form import ModelRow, Setup
from medfact.web.trials import MOST_OF_ONE, Trials

ONE, OTHER = "sk-of-one-0123456789", "sk-of-other-0123456789"


visitor = visitor_fixture("address")


def row(name: str, service: MockService | str, model: str = "m", **more: object) -> dict[str, Any]:
    return {"id": name, "model": model, "address": service if isinstance(service, str) else service.base_url, **more}


def of(*rows: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"models": [], "rows": [*rows], "pairs": 10, "shots": 0, **more}


def keyed(visitor: Visitor, setup: dict[str, Any], **keys: str) -> dict[str, Any]:
    """The set-up after these keys were typed in its rows."""
    for name, key in keys.items():
        setup = visitor.press_button("keep_key", name, setup=setup, fields={"key": key})["setup"] or setup
    return setup


def said(answer: dict[str, Any], part: str = "models") -> str:
    return unescape(answer["fragments"].get(part, ""))


def runs(home: Path, visitor: Visitor) -> list[Any]:
    return list(Store(f"sqlite:///{home / 'medfact.db'}").runs(visitor.owner))


def test_two_services_are_asked_side_by_side_each_with_its_own_key(visitor: Visitor, app_home: Path) -> None:
    with MockService(Behaviour(key=ONE)) as one, MockService(Behaviour(key=OTHER)) as other:
        setup = keyed(visitor, of(row("a", one), row("b", other)), a=ONE, b=OTHER)
        for name in ("a", "b"):
            tested = visitor.press_button("test_row", name, setup=setup)
            setup = tested["setup"] or setup
            assert "reachable, key accepted, model known, gives probabilities, list price not known" in said(
                tested, "models-said"
            )
        assert [len(service.calls) for service in (one, other)] == [1, 1], "one call each"
        shown = visitor.fetch_page(setup=setup)
        assert "m at 127.0.0.1" in said(shown)
        assert "price not known" in said(shown, "go")
        started = visitor.press_button("evaluate", setup=setup)["show"]["run"].split(",")
        store = Store(f"sqlite:///{app_home / 'medfact.db'}")
        wait_until(lambda: all(store.run(run).state == COMPLETE for run in started))
        assert [store.run(run).spec.service.base_url for run in started] == [one.base_url, other.base_url]
        for service, key in ((one, ONE), (other, OTHER)):
            assert {call.headers["authorization"] for call in service.calls} == {f"Bearer {key}"}
        told = json.dumps([visitor.fetch_page(), visitor.fetch_page(run=",".join(started)), visitor.fetch_page("runs")])
    for key in (ONE, OTHER):
        assert key not in told
        assert not [file for file in app_home.rglob("*") if file.is_file() and key.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (Behaviour(key="sk-another-0123456789"), "key"),
        (Behaviour(available_models=("gpt-4o",), listed_models=("gpt-4o", "gpt-5")), "The service lists gpt-4o, gpt-5."),
        (Behaviour(constant_fault="html"), "not as a model service"),
        (Behaviour(constant_fault="quota"), "quota"),
    ],
)
def test_what_cannot_be_asked_stays_in_the_form(behaviour: Behaviour, words: str, visitor: Visitor, app_home: Path) -> None:
    """Whether Test is pressed or Evaluate; what was typed stays, and no run is recorded."""
    with MockService(behaviour) as service:
        setup = keyed(visitor, of(row("a", service)), a=ONE)
        for button in ("test_row", "evaluate"):
            shown = visitor.press_button(button, "a", setup=setup)
            assert words in said(shown, "models-said" if button == "test_row" else "go-said")
            assert words in said(shown), "and it stands in the row"
            assert service.base_url in said(shown)
            assert not shown["show"].get("run")
    assert runs(app_home, visitor) == []


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("http://127.0.0.1:1/v1", "cannot be reached"),
        ("no address", "contains a space"),
        ("javascript:alert(1)", "not a web address"),
        ("http://user:secret@127.0.0.1/v1", "user name or password"),
    ],
)
def test_a_mistyped_address_stays_in_the_form(typed: str, words: str, visitor: Visitor, app_home: Path) -> None:
    shown = visitor.press_button("test_row", "a", setup=of(row("a", typed)))
    assert words in said(shown)
    shown = visitor.press_button("evaluate", setup=of(row("a", typed)))
    assert words in said(shown, "go-said")
    assert not shown["show"].get("run")
    assert runs(app_home, visitor) == []


@pytest.mark.parametrize("tail", ["/chat/completions", "/completions/", "/responses", "/embeddings"])
def test_the_address_of_one_kind_of_calls_is_taken(tail: str, visitor: Visitor) -> None:
    with ScriptedService(odd_service.Reply(odd_service.chat_reply("True"))) as service:
        shown = visitor.press_button("test_row", "a", setup=of(row("a", f"{service.base_url}{tail}")))
        assert "reachable" in said(shown, "models-said")
        assert {request.path for request in service.requests} == {"/v1/chat/completions"}


def test_a_long_wait_is_said_on_the_page_and_a_longer_one_pauses_the_run(visitor: Visitor, app_home: Path) -> None:
    after = ["9m38s"]

    def reply(request: odd_service.Request) -> odd_service.Reply:
        if request.number < 5:  # the first is the row's test
            return odd_service.Reply(odd_service.chat_reply("True"))
        return odd_service.Reply(odd_service.error_body(f"Limit reached. Try again in {after[0]}."), 429)

    def shows(run: str, words: str) -> bool:
        return any(words in unescape(part) for part in visitor.fetch_page(run=run)["fragments"].values())

    with ScriptedService(reply) as service:
        setup = of(row("a", service.base_url))
        run = visitor.press_button("evaluate", setup=setup)["show"]["run"]
        wait_until(lambda: shows(run, "127.0.0.1 asks to wait 9m38s: Limit reached. Try again in 9m38s."), 30)
        visitor.press_button("stop", run, run=run)
        after[0] = "3 hours"
        run = visitor.press_button("evaluate", setup=setup)["show"]["run"]
        wait_until(lambda: shows(run, "127.0.0.1 asks to wait 3h, until "), 30)
        (record,) = [one for one in runs(app_home, visitor) if one.run == run]
        assert record.state == PAUSED


def test_a_service_that_passed_is_not_called_again_and_one_that_changed_is(visitor: Visitor) -> None:
    with MockService() as service:
        setup = of(row("a", service))
        visitor.press_button("test_row", "a", setup=setup)
        before = len(service.calls)
        (first,) = [visitor.press_button("evaluate", setup=setup)["show"]["run"]]
        wait_until(lambda: len(service.calls) == before + 160)
        other = of(row("a", service, model="m2"))
        assert "gives probabilities" not in said(visitor.fetch_page(setup=other))
        visitor.press_button("evaluate", setup=other)
        wait_until(lambda: len(service.calls) == before + 160 + 1 + 160)
        assert first


def test_a_test_says_what_the_service_gives(visitor: Visitor) -> None:
    with MockService(Behaviour(ignores_logprobs=True)) as service:
        tested = visitor.press_button("test_row", "a", setup=of(row("a", service, model="gpt-4o-mini")))
        assert "no key needed" in said(tested)
        assert "gives no probabilities" in said(tested)
        assert "$0.15 and $0.6 a million tokens in and out" in said(tested)
        assert "· $0.0" in said(tested, "go"), "what it will cost"


def test_the_names_that_a_service_lists_are_suggested(visitor: Visitor) -> None:
    names = ("alpha", "<b>beta</b>")
    with MockService(Behaviour(listed_models=names)) as service:
        shown = visitor.press_button("list_names", "a", setup=of(row("a", service, model="")))
        for name in ("alpha", "&lt;b&gt;beta&lt;/b&gt;"):
            assert f'<option value="{name}">' in shown["fragments"]["models"]
        assert service.calls == [], "no model was asked"


def test_a_key_goes_to_no_other_place_and_no_other_visitor(visitor: Visitor, address: str) -> None:
    with MockService(Behaviour(key=ONE)) as one, MockService() as other:
        setup = keyed(visitor, of(row("a", one)), a=ONE)
        moved = of(row("a", other, had_key=True))
        assert "Enter the key for 127.0.0.1 again" in said(visitor.press_button("test_row", "a", setup=moved), "models-said")
        assert other.calls == []
        with Visitor(address) as stranger:
            assert "key" in said(stranger.press_button("test_row", "a", setup=setup), "models-said")
            assert one.calls == [] or all(ONE not in call.headers["authorization"] for call in one.calls)
        visitor.press_button("drop_row", "a", setup=setup)
        shown = visitor.press_button("test_row", "a", setup=setup)
        assert "Enter the key" in said(shown, "models-said"), "it went with its row"


def test_rows_are_added_and_taken_away(visitor: Visitor) -> None:
    setup: dict[str, Any] = {}
    for number in range(8):
        setup = visitor.press_button("add_row", setup=setup)["setup"]
        assert len(setup["rows"]) == number + 1
    assert "are the most" in said(visitor.press_button("add_row", setup=setup), "models-said")
    first = setup["rows"][0]["id"]
    assert first not in json.dumps(visitor.press_button("drop_row", first, setup=setup)["setup"])
    ticked = {"models": ["baseline:random", "medfact-tiny"], "rows": []}
    assert visitor.press_button("drop_model", "medfact-tiny", setup=ticked)["setup"]["models"] == ["baseline:random"]


def test_the_same_model_of_two_services_is_two_models(visitor: Visitor) -> None:
    with MockService() as one, MockService() as other:
        shown = visitor.fetch_page(setup=of(row("a", one), row("b", other), row("c", other)))
        assert "Evaluate 2 models" in said(shown, "go")
        assert "stop when decided" in said(shown, "go")
        assert "stop when decided" not in said(visitor.fetch_page(setup=of(row("a", one))), "go")


def test_a_row_without_a_name_is_said(visitor: Visitor) -> None:
    setup = {**of(row("a", "https://models.example/v1", model="")), "models": ["baseline:random"]}
    assert "has no name yet" in said(visitor.fetch_page(setup=setup), "go")


def test_so_many_services_are_tried_at_once() -> None:
    trials = Trials()
    with ExitStack() as trying:
        for _ in range(MOST_OF_ONE):
            trying.enter_context(trials.trying("ada"))
        with pytest.raises(Mistake, match="Other services are being tested"), trials.trying("ada"):
            pass
        with trials.trying("ben"):
            pass
    with trials.trying("ada"):
        pass


def test_a_run_whose_key_was_withdrawn_is_resumed_with_another_at_its_own_host(visitor: Visitor, app_home: Path) -> None:
    """Two services, a field each; what is typed for one goes to no other. The way to another address is beside them."""
    store = Store(f"sqlite:///{app_home / 'medfact.db'}")
    with MockService(Behaviour(key=ONE)) as one, MockService(Behaviour(key=OTHER)) as other:
        setup = keyed(visitor, of(row("a", one), row("b", other)), a=ONE, b=OTHER)
        for name in ("a", "b"):
            setup = visitor.press_button("test_row", name, setup=setup)["setup"] or setup
        new = {service.base_url.split("/")[2]: f"sk-new-{service.port}-0123456789" for service in (one, other)}
        for service in (one, other):
            service.behaviour = Behaviour(key=new[service.base_url.split("/")[2]])
        ids = visitor.press_button("evaluate", setup=setup)["show"]["run"]
        wait_until(lambda: all(store.run(run).state == FAILED_RUN for run in ids.split(",")))
        head = visitor.fetch_page(run=ids)["fragments"]["progress"]
        fields = dict(re.findall(r'key for ([\w.:]+) <input type="password" name="([^"]+)"', head))
        assert set(fields) == set(new)
        before = len(one.calls), len(other.calls)
        visitor.press_button("resume", run=ids, fields={fields[host]: key for host, key in new.items()})
        wait_until(lambda: all(store.run(run).state == COMPLETE for run in ids.split(",")))
        for service, old in zip((one, other), before, strict=True):
            asked = {call.headers["authorization"] for call in service.calls[old:]}
            assert asked == {f"Bearer {new[service.base_url.split('/')[2]]}"}
        changed = visitor.press_button("set_up", run=ids, setup=setup)
        assert [(one["model"], one["address"]) for one in changed["setup"]["rows"]] == [
            ("openai:m", one.base_url),
            ("openai:m", other.base_url),
        ]
        assert changed["show"]["run"] == ""


def test_a_named_service_shows_its_address_and_asks_for_its_own_key(visitor: Visitor, app_home: Path) -> None:
    """Without a key nothing is sent anywhere; an address that was typed before is not asked."""
    setup = of({"id": "a", "service": "groq:", "model": "m", "address": "http://127.0.0.1:1/v1"})
    shown = said(visitor.fetch_page(setup=setup))
    assert 'value="https://api.groq.com/openai/v1"' in shown
    assert "key for Groq" in shown
    assert "No key for api.groq.com" in said(visitor.press_button("evaluate", setup=setup), "go-said")
    assert runs(app_home, visitor) == []
    wrong = visitor.press_button("evaluate", setup=of({"id": "a", "service": "nobody:", "model": "m"}))
    assert "“service” does not fit: value error, there is no such service" in said(wrong, "go-said")


def test_a_name_at_ollama_is_no_name_of_another_service() -> None:
    row = ModelRow(service="ollama:", model="mistral:7b")
    assert (row.spec, row.asked_address) == ("ollama:mistral:7b", "http://localhost:11434/v1")
    assert ModelRow(model="mistral:7b", address="http://127.0.0.1:1/v1").spec == "openai:mistral:7b"


def test_consent_and_key_are_of_one_service() -> None:
    setup = Setup(rows=[ModelRow(id=name, service=f"{name}:", model="m") for name in ("groq", "mistral")])
    codes = {setup.consent_of(row.asked_address) for row in setup.rows}
    assert len(codes | {setup.consent_of("")}) == 3
    assert len({row.place for row in setup.rows}) == 2


def test_services_on_this_machine_are_found_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockService(Behaviour(listed_models=("llama3.2", "mistral:7b"))) as service:
        ollama = replace(model_rows.service_named("ollama:"), address=service.base_url)  # type: ignore[type-var]
        monkeypatch.setattr(model_rows, "service_named", lambda prefix: ollama if prefix == "ollama:" else None)
        local = model_rows.LocalServices()
        wait_until(lambda: local.now() == [(ollama, ("llama3.2", "mistral:7b"))])
        monkeypatch.setenv("MEDFACT_PUBLIC", "1")
        assert local.now() == []


def test_a_public_server_looks_for_no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    monkeypatch.setattr(model_rows, "names_at", lambda settings: pytest.fail("it was asked"))
    local = model_rows.LocalServices()
    assert (local.now(), local._looked_at) == ([], -model_rows.FRESH_SECONDS)
