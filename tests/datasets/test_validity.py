"""Files that say until when, where and of whom their facts hold."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from small_facts import write_csv

from medfact.datasets import load, load_file, validity
from medfact.datasets.bundled import FOLDER
from medfact.datasets.facts_file import AHEAD, OTHER_UNTIL, OVER, REPEATED
from medfact.datasets.validity import date_in, is_over
from medfact.errors import FactsError
from medfact.facts import Fact
from medfact.runs.plan import plan
from medfact.spec import RunSpec

DAY = date(2026, 6, 15)
NAMES = ("head", "relation", "tail", "positive", "negative_of", "until", "region", "population")


@pytest.fixture(autouse=True)
def on_a_fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "today", lambda: DAY)


def table(path: Path, *rows: str) -> Path:
    """A file of rows "head|relation|tail|positive|negative_of|until|region|population", of which the last may be left out."""
    parted = [row.split("|") for row in rows]
    return write_csv(path / "facts.csv", [dict(zip(NAMES, [*row, *[""] * (8 - len(row))], strict=True)) for row in parted])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2004", "2004"),
        ("2004.0", "2004"),
        ("2004-09-30", "2004-09-30"),
        ("2004-09-30 00:00:00", "2004-09-30"),
        ("2004-09-30T00:00:00", "2004-09-30"),
        ("2004-02-30", None),
        ("30.09.2004", None),
        ("09/30/2004", None),
        ("04", None),
        ("0000", None),
        ("2004-09", None),
        ("now", None),
        ("", None),
    ],
)
def test_a_year_or_a_day_is_a_date(text: str, read: str | None) -> None:
    assert date_in(text) == read


@pytest.mark.parametrize(
    ("until", "over"),
    [
        ("2025", True),
        ("2026", False),
        ("2026-06-14", True),
        ("2026-06-15", False),
        ("2027", False),
        (None, False),
        ("x", False),
    ],
)
def test_a_year_and_a_day_are_the_last_on_which_it_holds(until: str | None, over: bool) -> None:
    assert is_over(Fact("a", "b", "c", until=until), DAY) is over


def test_what_is_no_longer_true_is_left_out_with_a_count_and_never_drawn_as_false(tmp_path: Path) -> None:
    file = table(
        tmp_path,
        "gout|therapeutic drugs|allopurinol",
        "gout|therapeutic drugs|old 1||| 2004 ",
        "gout|therapeutic drugs|old 2|true||2004-09-30|United States",
        "asthma|therapeutic drugs|old 1",
        "asthma|therapeutic drugs|albuterol|||2027",
    )
    read = load_file(file)
    assert [(one.head, one.tail) for one in read.facts] == [
        ("gout", "allopurinol"), ("asthma", "old 1"), ("asthma", "albuterol"),
    ]  # fmt: skip
    (note,) = read.notes
    assert note.startswith("2 facts are no longer true and were left out: their until lies before 2026-06-15.")
    made = plan(RunSpec("baseline:tail", facts=str(file), shots=0))
    assert note in made.notes
    drawn = {(fact.head, fact.tail) for fact in made.facts if not fact.positive}
    assert ("gout", "old 1") not in drawn
    assert drawn <= {("gout", "albuterol"), ("asthma", "allopurinol")}


def test_a_false_fact_that_was_true_is_asked_beside_its_true_one(tmp_path: Path) -> None:
    read = load_file(table(tmp_path, "gout|drugs|allopurinol", "gout|drugs|rofecoxib|false|allopurinol|2004"))
    true, false = read.facts
    assert (false.positive, false.until, false.negative_of) == (False, "2004", true.fact_id)
    assert read.known.also_true == (("gout", "rofecoxib"),), "it is too close to true to be drawn"
    assert read.notes == ()


def test_the_same_drug_may_have_been_true_and_be_false_now(tmp_path: Path) -> None:
    read = load_file(table(tmp_path, "gout|drugs|x", "gout|drugs|rofecoxib|||2004", "gout|drugs|rofecoxib|false||2004"))
    assert [(one.tail, one.positive) for one in read.facts] == [("x", True), ("rofecoxib", False)]
    assert read.problems == ()


@pytest.mark.parametrize(
    "rows", [("gout|drugs|old", "gout|drugs|old|||2004"), ("gout|drugs|old|||2004", "gout|drugs|old|||2099")]
)
def test_what_one_of_two_rows_calls_over_is_not_asked_as_true(tmp_path: Path, rows: tuple[str, str]) -> None:
    """The row without a date stood, and the fact was asked as true."""
    for several in (rows, rows[::-1]):
        read = load_file(table(tmp_path, "gout|drugs|x", *several))
        assert [one.tail for one in read.facts] == ["x"]
        assert [(one.row, one.message) for one in read.problems] == [(4, OTHER_UNTIL)]
        assert ("gout", "old") in read.known.also_true
    read = load_file(table(tmp_path, "gout|drugs|x", "gout|drugs|b|||2098", "gout|drugs|b|||2099"))
    assert [one.message for one in read.problems] == [REPEATED]


def test_a_false_partner_of_what_is_over_stands_alone_and_that_is_said(tmp_path: Path) -> None:
    read = load_file(table(tmp_path, "gout|drugs|x", "gout|drugs|old|||2004", "gout|drugs|cough syrup|false|old"))
    assert [(problem.row, problem.message) for problem in read.problems] == [(4, OVER)]
    assert [one.negative_of for one in read.facts] == [None, None]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("gout|drugs|b|||soon", "until is 'soon', and neither a year (2004) nor a day (2004-09-30)"),
        ("gout|drugs|b|false||2027", AHEAD),
        ("gout|drugs|b||||12", "the region is the number '12', and no name"),
        ("gout|drugs|b|||||65", "the population is the number '65', and no name"),
        ("gout|drugs|b|||||2004-01-01", "the population is a date or a time, and no name"),
        ("gout|drugs|b|||||" + "x" * 1001, "the population is longer than 1000 characters"),
    ],
)
def test_a_cell_that_says_no_time_place_or_people_is_told_with_its_row_and_column(tmp_path: Path, row: str, words: str) -> None:
    read = load_file(table(tmp_path, "gout|drugs|a", row))
    assert len(read.facts) == 1
    (problem,) = read.problems
    assert problem.row == 3
    assert problem.message.startswith(words)


def test_a_file_of_nothing_that_holds_is_refused_and_says_how_to_ask_it(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match=r"holds no fact that is still true.*before 2026-06-15") as error:
        load_file(table(tmp_path, "gout|drugs|a|||2004"))
    assert "write false in a column positive" in str(error.value.hint)


def test_words_for_everywhere_and_everybody_bind_nothing(tmp_path: Path) -> None:
    bound, plain = load_file(table(tmp_path, "gout|drugs|a||||Worldwide|all patients", "gout|drugs|b")).facts
    assert (bound.region, bound.population) == (None, None)
    assert bound.fact_id == Fact("gout", "drugs", "a").fact_id
    assert plain.region is None


@pytest.mark.parametrize(
    ("until", "region", "population"),
    [
        ("until", "region", "population"),
        ("Valid_Until", "Jurisdiction", "Patient_Group"),
        ("valid to", "jurisdiction", "patient group"),
    ],
)
def test_columns_under_the_names_that_others_give_them(tmp_path: Path, until: str, region: str, population: str) -> None:
    rows = [{"head": "gout", "relation": "drugs", "tail": "a", until: "2030", region: "Japan", population: "children"}]
    (fact,) = load_file(write_csv(tmp_path / "facts.csv", rows)).facts
    assert (fact.until, fact.region, fact.population) == ("2030", "Japan", "children")


def test_the_same_triplet_in_two_places_is_two_facts(tmp_path: Path) -> None:
    file = table(tmp_path, "gout|symptoms|pain||||Japan", "gout|symptoms|pain|||||children", "gout|symptoms|pain")
    read = load_file(file)
    assert len({one.fact_id for one in read.facts}) == 3
    assert read.problems == ()
    assert read.notes == ()


def test_the_included_set_states_what_was_true_as_false_beside_what_holds() -> None:
    read = load(RunSpec("baseline:tail", dataset="was-true"))
    false = [fact for fact in read.facts if not fact.positive]
    assert len(false) >= 40
    assert all(fact.until and fact.source for fact in false)
    assert all(is_over(fact, DAY) for fact in false)
    assert read.problems == ()
    assert read.notes == ()
    # the place tells nothing of the label: each occurs as often with what holds as with what was dropped
    of_true, of_false = (sorted(fact.region or "" for fact in read.facts if fact.positive is sign) for sign in (True, False))
    assert of_true == of_false
    # what is said of everybody everywhere is nowhere called both
    pairs = {(fact.head, fact.tail, fact.region, fact.population) for fact in read.facts if fact.positive}
    assert not pairs & {(fact.head, fact.tail, fact.region, fact.population) for fact in false}


def test_the_card_of_the_set_has_the_numbers_of_its_file() -> None:
    facts = load(RunSpec("baseline:tail", dataset="was-true")).facts
    true, false = ([fact for fact in facts if fact.positive is sign] for sign in (True, False))
    card = " ".join((FOLDER / "was-true.md").read_text(encoding="utf-8").split())
    heads, opening = {fact.head for fact in facts}, [fact for fact in false if fact.source_id]
    unbound = [fact for fact in false if not (fact.region or fact.population)]
    for phrase in (
        f"{len(false)} facts that were true once",
        f"and {len(true)} that hold, about {len(heads)} heads",
        f"{len(unbound)} of the false facts have neither",
        f"{len(opening)} have an identifier that opens",
        f"Of the true facts {sum(not (fact.source or '').startswith('medfact editors') for fact in true)} name a source",
        *(
            f"| {name} | {sum(f.relation == name for f in false)} | {sum(f.relation == name for f in true)} |"
            for name in ("therapeutic drugs", "may prevent", "surgical procedures")
        ),
    ):
        assert phrase in card, phrase
