"""The log says why something failed, was tried again, was refused or paused, without texts of facts, prompts or keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import serve_app
from hypothesis import given
from hypothesis import strategies as st
from mock_service import Behaviour, MockService
from small_facts import make_fact_rows
from visitors import Visitor

from medfact.log_setup import LEVEL_VARIABLE, mask_private_text

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, "debug")


def lines_of(text: str) -> str:
    """The log alone: without the sentences and the progress that the command itself prints."""
    return "\n".join(line for line in text.splitlines() if " medfact." in line or line.startswith(("  /", "FactsError", "  <")))


def test_a_retried_call_and_a_failed_run_are_logged_without_prompt_and_key(
    medfact: Callable[..., Any], facts_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    asked = ("--facts", str(facts_file), "--limit", "2", "--model", "openai:m", "--base-url")
    with MockService(Behaviour(first_faults=("500",), prompt_faults={"echo": 0.3})) as service:
        log = lines_of(medfact("run", *asked, service.base_url).err)
    with MockService(Behaviour(prompt_faults={"401": 1.0})) as service:
        log += lines_of(medfact("run", *asked, service.base_url).err)
    assert "next try in" in log
    assert " is failed. " in log, log
    named = {name for head, _, tail in make_fact_rows() for name in (head, tail)}
    assert [secret for secret in (KEY, KEY[:12], "True or false", *named) if secret in log] == []


def test_a_refused_file_is_logged_with_the_place_that_refused_it_and_without_its_text(
    medfact: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LEVEL_VARIABLE)
    file = tmp_path / "facts.csv"
    file.write_text("head,relation,tail\nsecret disease,symptoms\n", encoding="utf-8")
    outcome = medfact("facts", "--facts", str(file), "--verbose")
    log = lines_of(outcome.err)
    assert outcome.code == 2
    assert "FactsError" in log
    assert "medfact/datasets/" in log
    assert "secret disease" not in log


def test_without_a_wish_nothing_is_logged_of_a_mistake(medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LEVEL_VARIABLE)
    assert medfact("report", "nothing").err.count("\n") == 1


def test_a_level_that_there_is_not_is_refused(medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, "loud")
    outcome = medfact("datasets")
    assert (outcome.code, outcome.out) == (2, "")
    assert "debug, info, warning, error" in outcome.err


def test_lines_of_one_request_share_an_id_and_hold_no_query(tmp_path: Path) -> None:
    with serve_app(tmp_path, MEDFACT_LOG="debug") as url, Visitor(url) as visitor:
        visitor.http.get("/healthz?private=gout")
    lines = [line for line in (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines() if "/healthz" in line]
    assert "[request " in lines[-1]
    assert "answered 200" in lines[-1]
    assert "gout" not in lines[-1]


@given(st.text("abc .,:é-", min_size=1).filter(str.strip), st.sampled_from(["'{}'", '"{}"', "“{}”", "`{}`"]))
def test_what_is_quoted_is_masked(text: str, quoted: str) -> None:
    sentence = f"Row 3 holds {quoted.format(text + 'Zq')}, which is no name."
    assert "Zq" not in mask_private_text(sentence)
    assert mask_private_text(sentence).endswith(", which is no name.")
    assert mask_private_text(f"h refuses the call. It says: {text}Zq") == "h refuses the call. It says: …"


def test_a_quotation_that_is_cut_off_is_masked_to_the_end_of_its_line() -> None:
    assert mask_private_text("Row 3 holds “gout causes\nRow 4") == "Row 3 holds '…'\nRow 4"
