"""Sentence templates that a language model drafts: read, checked, and used only once a person has accepted them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from mock_service import Behaviour, MockService
from small_facts import write_csv
from writers import DRAFTED_SENTENCES

from medfact.answers.prompts import TEMPLATE, TEMPLATES
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.models import ServiceSettings
from medfact.prototypes import load_pool
from medfact.runs.plan import plan
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import Store
from medfact.writing.runs import drafts, evaluation_plan, start_writing, write
from medfact.writing.templates import draft_in, pool_file

EXAMPLE = Fact("scurvy", "is relieved by", "vitamin C")


def changed(number: int, text: str) -> str:
    return "\n".join([*DRAFTED_SENTENCES[: number - 1], text, *DRAFTED_SENTENCES[number:]])


def draft(reply: str, task: str = TEMPLATES) -> Any:
    return draft_in(reply, EXAMPLE, task)


@pytest.mark.parametrize(
    "reply",
    [
        "\n".join(DRAFTED_SENTENCES),
        "\n".join(f"{number}. {text}" for number, text in enumerate(DRAFTED_SENTENCES, 1)),
        "Here are the eight sentences:\n\n" + "\n\n".join(f"- {text}" for text in DRAFTED_SENTENCES) + "\nI hope this helps!",
        "\n".join(DRAFTED_SENTENCES).replace("[X]", "scurvy").replace("[Y]", "Vitamin C"),
        "\n".join(f"Sentence {number}: “{text}”" for number, text in enumerate(DRAFTED_SENTENCES, 1)),
    ],
)
def test_a_usable_draft(reply: str) -> None:
    made = draft(reply)
    assert made.problem is None
    assert dict(made.sentences) == dict(zip(IMPLICATIONS, DRAFTED_SENTENCES, strict=True))


@pytest.mark.parametrize(
    ("reply", "form", "why"),
    [
        (changed(1, "[Y] is used to prevent it."), "none", "[X] occurs 0 times"),
        (changed(2, "Drugs used to prevent [X] in [X] include [Y]."), "inv", "[X] occurs 2 times"),
        (changed(3, "In patients with [X], [Y], not [Y], is used."), "ins", "[Y] occurs 2 times"),
        (changed(1, "[Y] is not used to prevent [X]."), "dn", "it says the same as the form 'none'"),
        (changed(5, "[Y] is used to prevent [X]."), "dn", "it says the same as the form 'none'"),
        (changed(6, "[Y] is not used to prevent [X]."), "inv+dn", "differs from the form 'inv' by more than the negation"),
        (changed(5, "[Y] is never used to prevent [X]."), "dn", "differs from the form 'none' by more than the negation"),
        (changed(4, "[X] is unaffected by [Y]."), "inv+ins+dn", "differs from the form 'inv+ins' by more than the negation"),
        ("\n".join(DRAFTED_SENTENCES[:5]), "inv+dn", "the sentence is missing"),
        ("", "none", "the sentence is missing"),
        ("I cannot write about [X] today", "none", "[Y] occurs 0 times"),
    ],
)
def test_a_draft_that_breaks_a_rule_is_refused_with_the_reason(reply: str, form: str, why: str) -> None:
    problem = draft(reply).problem
    assert problem is not None
    assert f"relation 'is relieved by', form '{form}'" in problem
    assert why in problem


@pytest.mark.parametrize(
    ("affirmed", "denied", "why"),
    [
        ("[Y] should be used, as it is known, in [X].", "[Y] should be used, as it is not known, in [X].", "says “should”"),
        ("[Y] is not without use in [X].", "[Y] is not not without use in [X].", "it denies something, and should affirm"),
        ("[Y] is used in [X]. It is good.", "[Y] is not used in [X]. It is good.", "not one sentence"),
        ("[Y] is used in [X]", "[Y] is not used in [X]", "not one sentence with one full stop"),
    ],
)
def test_what_is_more_than_the_relation_is_refused(affirmed: str, denied: str, why: str) -> None:
    lines = list(DRAFTED_SENTENCES)
    lines[0], lines[4] = affirmed, denied
    problem = draft("\n".join(lines)).problem
    assert problem is not None
    assert why in problem


def test_two_alike_are_refused() -> None:
    lines = list(DRAFTED_SENTENCES)
    lines[1], lines[5] = lines[0], lines[4]
    assert "it is the same as another of its sentences" in str(draft("\n".join(lines)).problem)


@pytest.mark.parametrize(
    ("reply", "sentence", "why"),
    [
        ("Vitamin C prevents scurvy.", "[Y] prevents [X].", None),
        ("Your generated statement: Scurvy is relieved by vitamin C.", "[X] is relieved by [Y].", None),
        ("Scurvy is not relieved by vitamin C.", "[X] is not relieved by [Y].", "it denies something"),
        ("Vitamin C prevents it very well.", "[Y] prevents it very well.", "[X] occurs 0 times"),
        ("Scurvy is relieved by vitamin C, so eat vitamin C.", "[X] is relieved by [Y], so eat [Y].", "[Y] occurs 2 times"),
    ],
)
def test_one_template_as_in_mkj(reply: str, sentence: str, why: str | None) -> None:
    made = draft(reply, TEMPLATE)
    assert dict(made.sentences) == {"none": sentence}
    assert made.problem is None if why is None else why in str(made.problem)


# ------------------------------------------------------------------------------------------------ from a service to a run


@pytest.fixture
def vitamins(tmp_path: Path) -> Path:
    """Twelve facts of a relation that no pool states, and four of one that the project's pool does."""
    rows = [{"head": f"deficiency {n}", "relation": "is relieved by", "tail": f"vitamin {n}"} for n in range(12)]
    rows += [{"head": f"deficiency {n}", "relation": "symptoms", "tail": f"sign {n}"} for n in range(12)]
    return write_csv(tmp_path / "vitamins.csv", rows)


def drafted(vitamins: Path, store: Store, kind: str, reply: str) -> str:
    with MockService(Behaviour(write_reply=lambda _: reply)) as service:
        spec = RunSpec(model="openai:writer", facts=str(vitamins), service=ServiceSettings(base_url=service.base_url))
        writing = start_writing(kind, spec, store)
        assert list(write(writing, store))
        (call,) = service.calls
    assert "deficiency 0" in call.prompt
    assert "is relieved by" in call.prompt
    return writing


def test_a_draft_is_asked_only_after_it_was_accepted(
    vitamins: Path, store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    writing = drafted(vitamins, store, "templates", "\n".join(DRAFTED_SENTENCES))
    with pytest.raises(Mistake, match="it wrote no statements"):
        evaluation_plan(writing, store)
    file = tmp_path / "mine.yaml"
    assert medfact("drafts", writing, "-o", file, "--extends", "medfact", "--db", url).code == 0
    assert medfact("drafts", writing, "-o", file, "--db", url).code == 2, "what somebody may have read is not overwritten"
    run = ("run", "--facts", vitamins, "--pool", file, "--shots", 0, "--model", "baseline:always-true", "--db", url)
    refused = medfact(*run)
    assert refused.code == 2
    assert "openai:writer (127.0.0.1) drafted the sentences of mine.yaml, and nobody has accepted them" in refused.err
    (row,) = medfact(*run, "--accept-drafts").rows
    record = Store(url).run(row["run"])
    assert record.spec.accept_drafts
    (note,) = (note for note in record.notes if "drafted" in note)
    assert note.startswith("openai:writer (127.0.0.1) drafted the sentences of 'is relieved by'")
    assert note.endswith("they were accepted unread, with --accept-drafts.")
    texts = {item.statement.text for item in Store(url).answers.asked(row["run"])}
    facts = [item.statement.fact for item in Store(url).answers.asked(row["run"])]
    tested = next(fact for fact in facts if fact.positive and fact.relation == "is relieved by")
    assert f"{tested.tail} is used to prevent {tested.head}.".capitalize() in texts
    assert any("is a recognized symptom or sign of" in text for text in texts), "the pool that it extends states the rest"


def test_a_file_says_when_it_was_accepted(tmp_path: Path, vitamins: Path) -> None:
    text = pool_file(
        {"is relieved by": dict(zip(IMPLICATIONS, DRAFTED_SENTENCES, strict=True))}, TEMPLATES, "a writer", "on Monday", ""
    )
    file = tmp_path / "drafted.yaml"
    file.write_text(text)
    assert load_pool(str(file)).accepted == "on Monday"
    planned = plan(RunSpec("m", facts=str(vitamins), pool=str(file), shots=0))
    assert "a writer drafted the sentences of 'is relieved by'; they were accepted on Monday." in planned.notes
    file.write_text(text.replace("drafted_by", "extends: nothing\ndrafted_by"))
    with pytest.raises(Mistake, match="extends 'nothing'"):
        load_pool(str(file))


def test_one_template_of_mkj_is_a_pool_of_one_form(vitamins: Path, store: Store, tmp_path: Path) -> None:
    writing = drafted(vitamins, store, "template", "Vitamin 0 may prevent deficiency 0.")
    (made,) = drafts(writing, store)
    assert made.problem is None
    text = pool_file({made.relation: made.sentences}, TEMPLATE, "a writer", "today", "")
    assert yaml.safe_load(text)["forms"] == ["none"]
    file = tmp_path / "one.yaml"
    file.write_text(text)
    planned = plan(RunSpec("m", facts=str(vitamins), pool=str(file), shots=0, protocol="mkj"))
    assert {item.statement.variant for item in planned.statements} == {"none"}
    assert "vitamin 3 may prevent deficiency 3." in {item.statement.text for item in planned.statements}


def test_where_every_relation_is_stated_there_is_nothing_to_draft(store: Store) -> None:
    with pytest.raises(Mistake, match="state every relation of clinical-core"):
        start_writing("templates", RunSpec(model="openai:writer"), store)


def test_decisions_on_drafts_are_kept_for_their_owner(store: Store) -> None:
    store.decisions.decide_on_draft("r", "is relieved by", False, {})
    store.decisions.decide_on_draft("r", "is relieved by", True, {"none": DRAFTED_SENTENCES[0]})
    decision = store.decisions.draft_decisions("r")["is relieved by"]
    assert (decision.accepted, decision.sentences) == (True, {"none": DRAFTED_SENTENCES[0]})
    assert store.of("somebody").decisions.draft_decisions("r") == {}
    store.decisions.forget_draft_decision("r", "is relieved by")
    assert store.decisions.draft_decisions("r") == {}
