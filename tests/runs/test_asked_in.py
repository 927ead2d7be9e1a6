"""Runs in other languages: the facts and the draw of the English run, its record, its prompts, and both compared."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from medfact.errors import Mistake, UnknownName
from medfact.languages import CAN_BE_ASKED, load_language
from medfact.languages.names import Name
from medfact.runs.plan import plan
from medfact.runs.prompts import prompt_of
from medfact.spec import RunSpec
from medfact.store import Plan

ENGLISH = RunSpec("baseline:tail", limit=12, shots=0)
SPANISH = RunSpec("baseline:tail", limit=12, shots=0, asked_in="es")


def facts(planned: Plan) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((item.statement.fact.fact_id, item.statement.fact.negative_of) for item in planned.statements))


def test_another_language_asks_the_same_facts_and_partners() -> None:
    english, spanish = plan(ENGLISH), plan(SPANISH)
    assert facts(english) == facts(spanish)
    assert english.dataset_fingerprint == spanish.dataset_fingerprint
    pairs = list(zip(english.statements, spanish.statements, strict=True))
    assert all(a.statement.variant == b.statement.variant and a.statement.label == b.statement.label for a, b in pairs)
    assert all(a.statement.text != b.statement.text for a, b in pairs)
    assert [note for note in spanish.notes if CAN_BE_ASKED in note] == ["12 of 12 true facts can be asked in this language."]
    assert not any(CAN_BE_ASKED in note for note in english.notes)


def test_a_pair_of_which_a_name_is_missing_is_left_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = load_language("es").pool
    whole = plan(SPANISH)
    false = next(item.statement.fact for item in whole.statements if not item.statement.fact.positive)
    names: dict[str, Name] = {key: name for key, name in pool.names.items() if name.entity != false.tail}
    monkeypatch.setattr("medfact.runs.pool.pool_of_table", lambda code, collection: replace(pool, names=names))
    fewer = plan(SPANISH)
    left = {of or own for own, of in facts(fewer)}
    assert false.negative_of not in left
    assert set(facts(fewer)) < set(facts(whole))
    assert all(own in {f for f, _ in facts(fewer)} for own in left), "no false partner stands without its true fact"


def test_the_prompt_is_wholly_in_the_language_with_demonstrations_and_its_answer_words() -> None:
    spec = RunSpec("baseline:tail", limit=4, shots=2, asked_in="es")
    planned = plan(spec)
    prompt = prompt_of(planned.statements[0], planned.demonstrations, spec, chat=False)
    assert isinstance(prompt.content, str)
    assert prompt.content.count("Responda Verdadero o Falso.") == 3
    assert "true or false" not in prompt.content
    assert prompt.answers == (" Verdadero", " Falso")
    assert prompt.reads("Verdadero") is True
    assert prompt.reads("No es cierto.") is False
    assert prompt.reads("True") is True
    assert prompt.reads("No lo sé.") is None
    assert prompt.place("Es falso.") == 3
    assert "verdadero" in prompt.choices[0]
    assert "falso" in prompt.choices[1]
    chat = prompt_of(planned.statements[0], planned.demonstrations, spec, chat=True)
    assert not isinstance(chat.content, str)
    assert {turn["content"] for turn in chat.content if turn["role"] == "assistant"} == {"Verdadero", "Falso"}


@pytest.mark.parametrize(
    "more",
    [
        {"protocol": "tpeval"}, {"pool": "tpeval"}, {"question": "code"}, {"retrieval": "sparse"}, {"stated": True},
        {"pressure": ("doubt",)},
    ],
)  # fmt: skip
def test_what_is_not_worded_in_other_languages_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(Mistake, match="other languages"):
        plan(RunSpec("baseline:tail", limit=4, asked_in="es", **more))


def test_facts_without_names_in_a_language_are_refused_with_what_to_choose() -> None:
    with pytest.raises(
        Mistake, match=r"No fact of biomedical-core can be asked in German\. .*have no German name yet.* Choose English"
    ):
        plan(RunSpec(model="medfact-tiny", dataset="biomedical-core", limit=12, shots=0, asked_in="de"))


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownName, match="language"):
        plan(RunSpec("baseline:tail", limit=4, asked_in="xx"))


def test_the_command_line_makes_a_run_in_each_language_and_compares_them(medfact: Callable[..., Any], tmp_path: Any) -> None:
    """The baseline says what is true from the tail alone, which all languages share: it mirrors."""
    db = f"sqlite:///{tmp_path / 'runs.db'}"
    languages = ("--language", "en", "--language", "es")
    done = medfact("run", "--model", "baseline:always-true", "--limit", 12, "--shots", 0, *languages, "--db", db)
    assert done.code == 0, done.err
    english, spanish = (json.loads(line) for line in done.out.splitlines())
    assert (english["pool"], spanish["pool"]) == ("medfact", "medfact-es")
    assert english["facts"] == spanish["facts"] == 24
    told = medfact("compare", english["run"], spanish["run"], "--json", "--db", db)
    (found,) = json.loads(told.out)["over_languages"]
    assert found["runs"] == {"en": english["run"], "es": spanish["run"]}
    assert found["facts"] == 24
    assert found["right_in_all"]["value"] == 0.0
    assert found["less_en"]["es"]["difference"] == 0.0
    assert found["consistent"]["value"] == 1.0
    assert found["by_variant"]["none"]["en"] == found["by_variant"]["none"]["es"]
    beside = "asked in Spanish, it is not shown to master more or fewer facts than in English: 0.0% against 0.0%"
    assert beside in json.loads(told.out)["verdict"]


def test_a_task_for_another_tool_is_in_english(medfact: Callable[..., Any], tmp_path: Any) -> None:
    done = medfact("task", "lm-eval", "--limit", 2, "--language", "es", "--into", tmp_path / "task")
    assert done.code == 2
    assert "English alone" in done.err


def test_a_language_that_is_left_empty_is_told(medfact: Callable[..., Any]) -> None:
    """It ended in a traceback."""
    done = medfact("run", "--model", "baseline:always-true", "--limit", 2, "--language", ",")
    assert (done.code, done.out) == (2, "")
    assert "--language names nothing" in done.err


def test_one_command_that_takes_one_language_says_so(medfact: Callable[..., Any]) -> None:
    done = medfact("statements", "--limit", 2, "--language", "en,es")
    assert done.code == 2
    assert "Name one of them." in done.err
