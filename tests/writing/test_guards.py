"""The guards over rephrasings: what they pass and stop of a hand-labelled set, and that a prototype always passes its own."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from medfact.datasets import load_bundled
from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.writing.guards import REASONS, Claim, cleaned, names_in_a_sentence, why_stopped

LABELLED = Path(__file__).parents[1] / "data" / "rephrasings.csv"
FAITHFUL = ""


@cache
def known_names() -> frozenset[str]:
    facts = load_bundled("clinical-core").known.facts
    return frozenset(name.casefold() for fact in facts for name in (fact.head, fact.tail) if name)


def claim_of(fact: Fact, variant: str, pool: str = "medfact") -> Claim:
    forms = {made.variant: made.text for made in load_pool(pool).statements([fact])}
    assert fact.tail is not None
    others = known_names() - {fact.head.casefold(), fact.tail.casefold()}
    head, tail = names_in_a_sentence(fact.head), names_in_a_sentence(fact.tail)
    return Claim(forms[variant], head, tail, others, tuple(forms.values()))


def labelled() -> Iterator[tuple[str, str, str | None]]:
    """Of each rephrasing: how it changes the claim, its text, and why the guards stop it."""
    with LABELLED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            claim = claim_of(Fact(row["head"], row["relation"], row["tail"]), row["variant"], row["pool"])
            yield row["change"], row["rephrasing"], why_stopped(cleaned(row["rephrasing"]), claim)


def test_the_guards_pass_what_is_faithful_and_stop_what_changes_the_claim() -> None:
    judged = list(labelled())
    number = Counter(change for change, _, _ in judged)
    assert number[FAITHFUL] >= 100
    assert number.total() - number[FAITHFUL] >= 100
    passed = [text for change, text, why in judged if change == FAITHFUL and why is None]
    stopped = Counter(change for change, _, why in judged if change != FAITHFUL and why is not None)
    assert len(passed) >= 0.9 * number[FAITHFUL]
    assert stopped.total() >= 0.95 * (number.total() - number[FAITHFUL])
    for change in number.keys() - {FAITHFUL}:
        assert stopped[change] >= 0.8 * number[change], change


def test_every_prototype_of_the_bundled_facts_passes_its_own_guards() -> None:
    facts = [fact for fact in load_bundled("clinical-core").facts if fact.positive][::25]
    for fact, pool in product(facts, ("medfact", "pretexttrans-disek", "tpeval")):
        for statement in load_pool(pool).statements([fact]):
            claim = claim_of(fact, statement.variant, pool)
            assert why_stopped(cleaned(statement.text), claim) is None, statement.text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('"Fever is a sign of influenza."', "Fever is a sign of influenza."),
        ("  **Fever** is a sign of influenza.\n", "Fever is a sign of influenza."),
        ('\\"Fever is a sign of influenza.\\"', "Fever is a sign of influenza."),
        ("“Fever is a sign of influenza.”", "Fever is a sign of influenza."),
        (" \n ", ""),
    ],
)
def test_stray_marks_around_a_reply_go(reply: str, text: str) -> None:
    assert cleaned(reply) == text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "empty"),
        ("Fever is a symptom of influenza. It is common.", "sentences"),
        ("Here is the paraphrase:\nFever is a recognized symptom or sign of influenza.", "sentences"),
        ("Is fever a recognized symptom or sign of influenza?", "sentences"),
        ("Temperature is a recognized symptom or sign of influenza.", "entity"),
        ("Fever with cough is a recognized symptom or sign of influenza.", "other entity"),
        ("Fever, influenza.", "length"),
        ("Fever is a symptom. " * 6 + "It is one of influenza!", "length"),
        ("Fever " + "." * 20_000 + "x", "length"),
        ("Fever is a recognized symptom or sign of influenza" + " " * 2_000 + ".", "length"),
        ("Fever is not a recognized symptom or sign of influenza.", "negation"),
        ("Fever is always a recognized symptom or sign of influenza.", "strength"),
        ("Fever is a recognized symptom or sign of severe influenza.", "qualifier"),
        ("Influenza is a recognized symptom or sign of fever.", "relation"),
        ("Fever (a raised temperature) is a recognized symptom or sign of influenza.", "explanation"),
        ("Fever is a recognized symptom or sign of influenza.", None),
    ],
)
def test_each_reason(reply: str, reason: str | None) -> None:
    assert reason is None or reason in REASONS
    assert why_stopped(cleaned(reply), claim_of(Fact("influenza", "symptoms", "fever"), "none")) == reason


def test_a_cue_inside_a_name_is_no_denial() -> None:
    claim = claim_of(Fact("non-small cell lung cancer", "therapeutic drugs", "cisplatin"), "none")
    assert why_stopped("Cisplatin is a drug used to treat non-small cell lung cancer.", claim) is None
    assert why_stopped("Cisplatin is a drug used to treat small cell lung cancer.", claim) == "entity"
