"""What reviewers decide: what stands, what is settled, and how a careless one is seen. Twenty diseases, scripted reviewers."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_documents import DISEASES, disease_name, ineffective_remedy, is_stated, stated_remedies, write_documents, write_lists

from medfact.curation.checks import (
    ACCEPTED,
    ALL,
    MAJORITY,
    MENDED,
    REFUSED,
    candidate_row,
    candidate_text,
    decided,
    fact_rows,
    following,
    last_of,
    outcome_row,
    progress_of,
    quality_of,
    settled,
    standing,
    withdrawn,
)
from medfact.datasets import load_file
from medfact.errors import Mistake, UnknownName
from medfact.metrics.agreement import agreement
from medfact.metrics.uncertainty import wilson
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Candidate, Curation, CurationDecision, Store

CANDIDATES = [Candidate(f"d{n // 2}", "drugs", f"r{n}", f"d{n // 2} needs r{n}.", position=n) for n in range(4)]
Rule = Callable[[Candidate], str]


def said_by(name: str, one: Candidate, decision: str, number: int, tail: str = "") -> CurationDecision:
    fact = (one.head, one.relation, tail or one.tail)
    made = decided(one, name, decision, fact)
    return CurationDecision(**{**vars(made), "owner": name, "number": number})


# ------------------------------------------------------------------------------------------------ what stands


def test_the_last_decision_stands_unless_it_is_withdrawn() -> None:
    one = CANDIDATES[0]
    log = [said_by("ada", one, ACCEPTED, 1), said_by("ada", one, REFUSED, 2), said_by("ben", one, ACCEPTED, 3)]
    assert {name: of.decision for name, of in standing(log)[0].items()} == {"ada/ada": REFUSED, "ben/ben": ACCEPTED}
    back = CurationDecision(**{**vars(withdrawn(log[2])), "owner": "ben", "number": 4})
    assert set(standing([*log, back])[0]) == {"ada/ada"}
    assert last_of([*log, back], "ben/ben") is None
    assert last_of(log, "ada/ada") == log[1]


def test_the_next_candidate_is_the_first_that_is_not_decided() -> None:
    said = standing([said_by("ada", CANDIDATES[0], ACCEPTED, 1), said_by("ada", CANDIDATES[2], ACCEPTED, 2)])
    assert [following(CANDIDATES, said, "ada/ada", after) for after in (0, 2)] == [CANDIDATES[1], CANDIDATES[3]]
    assert following(CANDIDATES, said, "ben/ben") == CANDIDATES[0]
    done = standing([said_by("ada", one, ACCEPTED, n) for n, one in enumerate(CANDIDATES)])
    assert following(CANDIDATES, done, "ada/ada") is None


@pytest.mark.parametrize(
    ("reviewer", "decision", "fact", "said"),
    [
        (" ", ACCEPTED, None, "Say who you are first"),
        ("ada", "maybe", None, "is no decision"),
        ("ada", MENDED, None, "Nothing is mended"),
        ("ada", MENDED, ("d0", "drugs", " "), "a head, a relation and a tail"),
        ("ada", MENDED, ("d0", "drugs", "x" * 1_001), "may have 1,000 characters"),
    ],
)
def test_what_is_no_decision_is_said(reviewer: str, decision: str, fact: Any, said: str) -> None:
    with pytest.raises(Mistake, match=said):
        decided(CANDIDATES[0], reviewer, decision, fact)


# ------------------------------------------------------------------------------------------------ what is settled


def test_all_or_the_majority_settles_and_a_control_never() -> None:
    three = [
        *(said_by(name, CANDIDATES[0], ACCEPTED, 1) for name in "abc"),
        *(said_by(name, CANDIDATES[1], ACCEPTED if name != "c" else REFUSED, 2) for name in "abc"),
        *(
            said_by(name, CANDIDATES[2], MENDED if name != "c" else ACCEPTED, 3, "R9" if name == "a" else "r9")
            for name in "abc"
        ),
        *(said_by(name, CANDIDATES[3], ACCEPTED, 4) for name in "ab"),
    ]
    said = standing(three)
    assert [one.fact[2] for one in settled(CANDIDATES, said, ALL, 3)] == ["r0"]
    by_most = settled(CANDIDATES, said, MAJORITY, 3)
    assert [(one.fact[2], len(one.accepted_by), one.checked_by) for one in by_most] == [
        ("r0", 3, 3),
        ("r1", 2, 3),
        ("R9", 2, 3),
    ]
    assert [one.fact[2] for one in settled(CANDIDATES, said, ALL, 2)] == ["r0", "r3"], "two checked the last one"
    rows = list(fact_rows(by_most))
    assert (rows[2]["mended"], rows[2]["accepted_by"], rows[2]["accepted"], rows[2]["checked"]) == (True, "a; b", 2, 3)
    controls = [Candidate(**{**vars(one), "control": True}) for one in CANDIDATES]
    assert settled(controls, said, MAJORITY, 1) == []


def test_half_is_no_majority_and_a_fact_is_exported_once() -> None:
    two = [said_by("a", CANDIDATES[0], ACCEPTED, 1), said_by("b", CANDIDATES[0], REFUSED, 2)]
    assert settled(CANDIDATES, standing(two), MAJORITY, 1) == []
    same = [said_by("a", CANDIDATES[0], ACCEPTED, 1), said_by("a", CANDIDATES[1], MENDED, 2, "r0")]
    assert [one.fact for one in settled(CANDIDATES, standing(same), ALL, 1)] == [("d0", "drugs", "r0")]


def test_a_mended_name_has_the_type_and_identifier_that_are_known_of_it() -> None:
    one = Candidate("gout", "drugs", "asprin", "Gout needs it.", head_type="Disease", tail_type="Thing", tail_id="D1")
    for tail, known in (("quux", (None, None)), ("allopurinol", ("Pharmacologic Substance", "DB00437"))):
        (row,) = fact_rows(settled([one], standing([said_by("a", one, MENDED, 1, tail)]), ALL, 1))
        assert (row["head_type"], row["tail_type"], row["tail_id"]) == ("Disease", *known)


# ------------------------------------------------------------------------------------------------ who checks


def scripted(curation: Curation, candidates: list[Candidate], name: str, rule: Rule, store: Store) -> None:
    made = [decided(one, name, rule(one), seconds=5.0) for one in candidates]
    store.of(name).curations.record(curation.curation, made)


def careful(slips: int, seed: int = 0) -> Rule:
    """Accepts what the documents state and refuses the rest, but for some slips."""
    numbers = set(random.Random(seed).sample(range(60), slips))
    return lambda one: REFUSED if is_stated(one.head, one.tail) == (one.position in numbers) else ACCEPTED


@pytest.fixture
def checked(tmp_path: Path, store: Store, medfact: Callable[..., Any], url: str) -> tuple[Curation, list[Candidate]]:
    """A curation of the documents about twenty diseases, for three reviewers."""
    diseases, remedies = write_lists(tmp_path)
    documents = write_documents(tmp_path)
    done = medfact("curate", documents, "--diseases", diseases, "--relations", "therapeutic drugs", "--names", remedies,
                   "--controls", 0.25, "--reviewers", 3, "--db", url)  # fmt: skip
    assert done.code == 0, done.err
    curation = store.curations.one(done.rows[0]["curation"])
    assert curation.candidates == 75  # 60 proposals, and a quarter of them as controls
    return curation, store.curations.candidates(curation.curation)


@pytest.mark.parametrize("careless", ["accepts everything", "presses at random"])
def test_a_careless_checker_is_seen(careless: str, checked: tuple[Curation, list[Candidate]], store: Store) -> None:
    curation, candidates = checked
    draws = random.Random(3)
    rules: dict[str, Rule] = {
        "ada": careful(2, 1),
        "ben": careful(2, 2),
        "cy": (lambda _: ACCEPTED) if careless == "accepts everything" else (lambda _: draws.choice([ACCEPTED, REFUSED])),
    }
    for name, rule in rules.items():
        scripted(curation, candidates, name, rule, store)
    said = standing(store.curations.log(curation.curation))
    quality = quality_of(candidates, said)
    assert [(one.name, one.is_careless) for one in quality.reviewers] == [("ada", False), ("ben", False), ("cy", True)]
    cy = quality.reviewers[2]
    assert cy.controls.n == 15
    assert cy.controls.low is not None
    assert cy.controls.low > 0.1
    pairs = {(one.a, one.b): one.agreement for one in quality.pairs}
    assert {pair: of.items for pair, of in pairs.items()} == dict.fromkeys([("ada", "ben"), ("ada", "cy"), ("ben", "cy")], 60)
    between = pairs["ada", "ben"].cohen
    assert between.low is not None
    assert between.low > 0.6
    for other in ("ada", "ben"):
        with_cy = pairs[other, "cy"].cohen
        assert with_cy.value is not None
        assert with_cy.value < 0.3
    # the careful two outvote the careless one, but for slips of theirs that meet carelessness
    facts = settled(candidates, said, MAJORITY, 3)
    assert all(not one.candidate.control for one in facts)
    both_careful = [one for one in candidates if careful(2, 1)(one) == careful(2, 2)(one) == ACCEPTED and not one.control]
    assert {one.candidate.position for one in facts} >= {one.position for one in both_careful}


@pytest.mark.parametrize(("controls", "careless"), [(4, False), (9, False), (10, True)])
def test_nobody_is_careless_after_a_few_controls(controls: int, careless: bool) -> None:
    """All controls are accepted, each of another disease."""
    made = [Candidate(f"d{n}", "drugs", f"r{n}", "s", control=True, position=n) for n in range(controls)]
    (ada,) = quality_of(made, standing([said_by("ada", one, ACCEPTED, 1) for one in made])).reviewers
    assert ada.is_careless is careless


def test_the_figures_are_those_of_the_shares_and_of_the_agreement() -> None:
    """Six proposals and two controls of four diseases; ada accepts four proposals, ben two of these and no other."""
    made = [Candidate(f"d{n // 2}", "drugs", f"r{n}", "s", control=n > 5, position=n) for n in range(8)]
    log = [said_by("ada", one, ACCEPTED if one.position in (0, 1, 2, 3, 6) else REFUSED, 1) for one in made]
    log += [said_by("ben", one, ACCEPTED if one.position in (0, 1) else REFUSED, 2) for one in made]
    quality = quality_of(made, standing(log))
    ada = quality.reviewers[0]
    assert (ada.accepted.value, ada.accepted.n) == (4 / 6, 6)
    assert (ada.accepted.low, ada.accepted.high) == pytest.approx(wilson(4 / 6, 3))  # three diseases of equal size: worth 3
    assert (ada.controls.value, ada.controls.n) == (0.5, 2)
    assert (ada.controls.low, ada.controls.high) == pytest.approx(wilson(0.5, 1))  # both of one disease
    assert ada.seconds is None
    (pair,) = quality.pairs
    assert pair.agreement.raw.value == pytest.approx(4 / 6)
    # chance: both accept 4/6 · 2/6, both refuse 2/6 · 4/6: 16/36; (24/36 − 16/36) / (20/36) = 0.4
    assert pair.agreement.cohen.value == pytest.approx(0.4)
    same = agreement(np.array([[0, 0]] * 2 + [[0, 1]] * 2 + [[1, 1]] * 2), np.array([0, 0, 1, 1, 2, 2]))
    assert pair.agreement.ac1 == same.ac1


# ------------------------------------------------------------------------------------------------ the command


def test_what_all_have_finished_is_shown_and_stands(
    checked: tuple[Curation, list[Candidate]], store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    curation, candidates = checked
    of = ("curate", "--project", curation.curation, "--db", url)
    assert "Nothing is accepted yet" in medfact(*of, "--export", tmp_path / "none.csv").err
    for number, name in enumerate(("ada", "ben")):
        scripted(curation, candidates, name, careful(0, number), store)
        assert medfact(*of, "--json").rows[0]["by_reviewer"] is None, "the others have not finished"
    store.of("cy").curations.record(curation.curation, [decided(candidates[0], "cy", REFUSED)])
    scripted(curation, candidates, "dan", careful(0, 9), store)
    assert medfact(*of, "--json").rows[0]["is_finished"] is False, "cy is in between"
    scripted(curation, candidates, "cy", lambda _: ACCEPTED, store)
    told = medfact(*of, "--json").rows[0]
    assert told["facts"] == {"all": 40, "majority": 40}
    assert [one["careless"] for one in told["by_reviewer"]] == [False, False, True, False]
    said = medfact(*of).out
    assert "cy: accepts 100.0%" in said
    assert "CARELESS" in said
    assert "ada and ben agree on 100.0%" in said
    file = tmp_path / "facts.csv"
    assert medfact(*of, "--export", file, "--by", "majority").code == 0
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert {(row["head"], row["tail"]) for row in rows} == {
        (disease_name(n), tail) for n in range(DISEASES) for tail in stated_remedies(n)
    }
    assert all(row["tail"] in row["sentence"] and row["source"] == "Ward notes" for row in rows)
    assert rows[0]["accepted_by"] == "ada; ben; cy; dan"
    assert len(load_file(file).facts) == 40
    late = medfact(*of, "--reviewer", "ada", "--decide", "undo")
    assert late.code == 2
    assert "Decisions stand" in late.err
    run = start(RunSpec(model="baseline:random", facts=str(file), limit=4), store)
    assert store.run(run).facts > 0
    assert ineffective_remedy(0) not in {row["tail"] for row in rows if row["head"] == disease_name(0)}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["x.csv"], "A curation needs diseases and relations"),
        (["x.csv", "--project", "1"], "--project would change nothing"),
        (["--diseases", "x"], "--diseases would change nothing"),
        (["--reviewer", "ada"], "--reviewer would change nothing: no curation is named"),
        (["--project", "abc"], "There is no curation 'abc'"),
        (["--controls", "0"], "--controls would change nothing: there are no documents"),
        (["--per-relation", "3"], "--per-relation would change nothing"),
    ],
)
def test_a_mistake_is_said(typed: list[str], said: str, medfact: Callable[..., Any], store: Store, url: str) -> None:
    done = medfact("curate", *typed, "--db", url)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_curations_are_listed_closed_and_erased(
    checked: tuple[Curation, list[Candidate]], store: Store, medfact: Callable[..., Any], url: str
) -> None:
    curation, candidates = checked
    (row,) = medfact("curate", "--db", url).rows
    assert (row["curation"], row["candidates"], row["reviewers"], row["begun"]) == (curation.curation, 75, 3, 0)
    close = ("curate", "--project", curation.curation, "--close", "--db", url)
    assert "Nobody has decided anything yet" in medfact(*close).err
    scripted(curation, candidates, "ada", careful(0), store)
    assert medfact("curate", "--db", url).rows[0]["is_finished"] is False, "three are wanted"
    assert medfact(*close).code == 0
    assert medfact("curate", "--db", url).rows[0]["is_finished"] is True
    assert medfact(*close).code == 2, "once"
    assert store.of("ada").contributions.erase(["checks"]) == 75, "what somebody has said is theirs to erase"
    assert medfact("curate", "--project", curation.curation, "--erase", "--db", url).code == 0
    assert store.curations.listed() == []
    assert store.curations.candidates(curation.curation) == []
    with pytest.raises(UnknownName, match="It may have been erased"):
        store.curations.one(curation.curation)


ERASED_WHOLE = "would change nothing: --erase removes the whole curation"


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        (["--export", "facts.csv", "--erase"], ERASED_WHOLE),
        (["--reviewer", "ada", "--erase"], ERASED_WHOLE),
        (["--reviewer", "ada", "--decide", "undo", "--erase"], ERASED_WHOLE),
        (
            ["--reviewer", "ada", "--decide", "accept", "--export", "facts.csv"],
            "would change nothing: --export writes what all have accepted",
        ),
    ],
)
def test_what_is_erased_whole_is_asked_for_alone(
    typed: list[str], why: str, checked: tuple[Curation, list[Candidate]], store: Store, medfact: Callable[..., Any], url: str
) -> None:
    """It erased everything: without the export, and though one reviewer was named."""
    curation, _ = checked
    done = medfact("curate", "--project", curation.curation, *typed, "--db", url)
    assert (done.code, done.out) == (2, "")
    assert f"{typed[0]} {why}" in done.err
    assert len(store.curations.candidates(curation.curation)) == 75


def test_a_name_is_as_long_as_every_database_keeps_it() -> None:
    with pytest.raises(Mistake, match="may have 120 characters"):
        decided(CANDIDATES[0], "a" * 121, ACCEPTED)


def test_what_a_reviewer_reads_tells_no_control(checked: tuple[Curation, list[Candidate]]) -> None:
    _, candidates = checked
    control = next(one for one in candidates if one.control)
    other = next(one for one in candidates if not one.control)
    assert candidate_row(control, 75).keys() == candidate_row(other, 75).keys()
    assert "control" not in "\n".join(candidate_text(control, 75, 0)).lower()


def test_without_two_reviewers_of_a_proposal_there_is_no_pair(checked: tuple[Curation, list[Candidate]], store: Store) -> None:
    curation, candidates = checked
    store.of("ada").curations.record(curation.curation, [decided(candidates[0], "ada", REFUSED)])
    store.of("ben").curations.record(curation.curation, [decided(candidates[1], "ben", REFUSED)])
    said = standing(store.curations.log(curation.curation))
    assert quality_of(candidates, said).pairs == ()
    assert progress_of(curation, said).finished == 0
    assert outcome_row(curation, candidates, said)["by_pair"] is None
