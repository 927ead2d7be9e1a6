"""What reviewers say: kept, added up, and what it does to labels and scores, worked out by hand."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from recorded import complete_run
from small_facts import make_fact_rows, make_facts

from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.results.report import board_of
from medfact.reviews.queues import at_random, contested, disputed, shuffled
from medfact.reviews.reliability import by_origin, ceiling, most_wrong, reliability, statements_to_check
from medfact.reviews.scores import reviewed_scores
from medfact.reviews.text import changes, reviewed_in_words, summary, told_once
from medfact.reviews.verdicts import (
    ADJUDICATOR,
    BOTH,
    CONTESTED,
    DEPENDS,
    FALSE,
    OTHERWISE,
    OUTSIDE,
    TRUE,
    UNCLEAR,
    WITHDRAWN,
    held,
    judged,
    opinions,
)
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Store, Verdict

FACTS = make_facts([row for row in make_fact_rows() if row["relation"] == "symptoms"])
STATEMENTS = list(load_pool("medfact").statements(FACTS))


def on(fact: Fact, verdict: str = TRUE, reviewer: str = "ada", **more: Any) -> Verdict:
    return Verdict(reviewer, fact.fact_id, verdict, **more)


def of(fact: Fact) -> list[Statement]:
    return [statement for statement in STATEMENTS if statement.fact == fact]


def test_the_last_verdict_counts_and_everything_is_kept(store: Store) -> None:
    fact = FACTS[0]
    store.verdicts.record([on(fact, FALSE, comment="<b>never</b> =1+1", seconds=3.5, reasons=("absolute",))])
    store.verdicts.record([on(fact, TRUE), on(fact, UNCLEAR, statement_id=of(fact)[0].statement_id, wording="Better.")])
    log = store.verdicts.log()
    assert [one.verdict for one in log] == [FALSE, TRUE, UNCLEAR]
    assert (log[0].comment, log[0].seconds, log[0].reasons) == ("<b>never</b> =1+1", 3.5, ("absolute",))
    assert [one.number for one in log] == sorted({one.number for one in log})
    (opinion,) = opinions(log)[fact.fact_id].values()
    assert opinion.fact.verdict == TRUE
    assert [opinion.truth(statement) for statement in of(fact)] == [True] * 4 + [False] * 4
    assert [opinion.is_unclear(statement) for statement in of(fact)] == [True] + [False] * 7
    store.verdicts.record([on(fact, WITHDRAWN)])
    assert opinions(store.verdicts.log()) == {}
    assert len(store.verdicts.log()) == 4
    assert store.verdicts.log([FACTS[1].fact_id]) == []
    assert store.verdicts.log(owners=["nobody"]) == []


def test_what_was_judged_outlives_the_runs_that_asked_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.verdicts.record([on(FACTS[0])], of(FACTS[0]))
    run = start(RunSpec(model="baseline:always-true", limit=2, shots=0), store)
    store.delete(run)
    monkeypatch.setattr("medfact.store.lifecycle.oldest_restorable", lambda: "9999")
    assert store.purge() == 1
    assert {one.text for one in store.verdicts.statements_of([FACTS[0].fact_id])} == {one.text for one in of(FACTS[0])}
    assert store.answers.asked(run) == []


def test_two_browsers_with_one_name_are_two_reviewers(store: Store) -> None:
    store.verdicts.record([on(FACTS[0], TRUE)])
    store.of("another").verdicts.record([on(FACTS[0], FALSE)])
    assert len(opinions(store.verdicts.log())[FACTS[0].fact_id]) == 2


def test_half_decide_nothing_and_an_adjudicator_everything() -> None:
    fact = FACTS[0]
    (first, *_), both = of(fact), [on(fact, TRUE, number=1), on(fact, FALSE, "ben", number=2)]
    tie = judged(first, opinions(both)[fact.fact_id])
    assert (tie.truth, tie.disputed, tie.reviewers) == (None, True, 2)
    assert disputed(STATEMENTS, opinions(both)) == [fact.fact_id]
    most = judged(first, opinions([*both, on(fact, FALSE, "cleo", number=3)])[fact.fact_id])
    assert (most.truth, most.disputed) == (False, True), "two of three decide, and still they differ"
    decided = [*both, on(fact, TRUE, "dora", role=ADJUDICATOR, number=3)]
    assert judged(first, opinions(decided)[fact.fact_id]).truth is True
    assert disputed(STATEMENTS, opinions(decided)) == []
    unsure = judged(first, opinions([on(fact, DEPENDS)])[fact.fact_id])
    assert (unsure.truth, unsure.unclear, unsure.disputed, unsure.reviewers) == (None, True, False, 1)
    halves = judged(first, opinions([on(fact, DEPENDS, number=1), on(fact, TRUE, "ben", number=2)])[fact.fact_id])
    assert (halves.truth, halves.unclear, halves.disputed, halves.reviewers) == (None, False, True, 2)
    passes = judged(first, opinions([on(fact, OUTSIDE, number=1), on(fact, TRUE, "ben", number=2)])[fact.fact_id])
    assert (passes.truth, passes.disputed, passes.reviewers) == (True, False, 1)


def test_judging_five_of_a_hundred_otherwise_changes_the_scores_as_by_hand(store: Store) -> None:
    """A model that says always true is asked 7 pairs: 14 facts, 112 statements, all eight of each fact; of each fact 4 labels
    are true, so it is right on 56 of 112, and no fact is mastered. Reviewers say of 5 denied statements of one true fact …
    of which there are 4: so of one true fact 4, and of another 1, that they are true too. Then it is right on 61 of 112, and on
    all eight of the first fact: 1 of 14 facts is mastered. One statement of a third fact is unclear: that fact goes whole, with
    4 right answers of 8: 57 of 104, and 1 of 13.
    """
    spec = RunSpec(model="baseline:always-true", limit=7, shots=0)
    run = complete_run(spec, store)
    asked = [item.statement for item in store.answers.asked(run)]
    records = board_of(store, run).records()
    true = list(dict.fromkeys(statement.fact for statement in asked if statement.fact.positive))
    denied = [[s for s in asked if s.fact == fact and not s.label] for fact in true]
    log = [on(fact, TRUE, number=n) for n, fact in enumerate(true[:3])]
    log += [on(s.fact, OTHERWISE, statement_id=s.statement_id, number=9) for s in (*denied[0], denied[1][0])]
    log += [on(true[2], UNCLEAR, statement_id=denied[2][0].statement_id, number=9)]
    said = opinions(log)
    judgements = {s.statement_id: judged(s, said[s.fact.fact_id]) for s in asked if s.fact.fact_id in said}
    made = reviewed_scores(records, [s.statement_id for s in asked], judgements)
    assert (made.everything.facts, made.everything.average.value, made.everything.joint.value) == (14, 56 / 112, 0)
    assert (made.wrong, made.sentences, made.dropped, made.disputed) == (0, 5, 1, 0)
    assert (made.reviewed.facts, made.reviewed.average.value) == (3, 12 / 24)
    assert made.corrected.facts == 13
    assert made.corrected.average.value == pytest.approx(57 / 104)
    assert made.corrected.joint.value == pytest.approx(1 / 13)
    assert made.undisputed == made.corrected
    after = [item.statement for item in store.answers.asked(run)]
    assert after == asked, "a run keeps what it asked"


def test_statements_judged_by_themselves_count_too() -> None:
    """Five statements of facts of which nothing else is said: two are other than their label, one is held true, one false, and
    the wording of one is bad, which decides nothing.
    """
    fact, other = FACTS[0], FACTS[1]
    one, two, three, four, five, *rest = of(fact)
    said = [(one, OTHERWISE), (two, BOTH), (three, FALSE), (four, TRUE), (five, UNCLEAR)]
    found = opinions([on(fact, verdict, statement_id=s.statement_id) for s, verdict in said])[fact.fact_id]
    decided = [judged(statement, found).truth for statement in (one, two, three, four, five, *rest)]
    assert decided == [not one.label, not two.label, False, True, None, *[None] * 3]
    assert [judged(statement, found).unclear for statement in (one, two, five)] == [False, True, True]
    both = opinions([on(other, TRUE), on(other, FALSE, statement_id=of(other)[0].statement_id)])[other.fact_id]
    assert [judged(statement, both).truth for statement in of(other)[:2]] == [False, True], (
        "what is said of it alone comes first"
    )


def test_the_errors_of_what_a_model_wrote_by_hand() -> None:
    """Ten facts of ten heads, each in a prototype and in a rephrasing. Of one fact the verdict is false: neither sentence
    misstates it. Of another the rephrasing alone is marked as saying the opposite, of a third its wording is bad: 1 of 10
    rephrasings says something else and 1 of 10 is unclear; of the prototypes none.
    """
    facts = list({fact.head: fact for fact in FACTS}.values())[:10]
    prototypes = [of(fact)[0] for fact in facts]
    written = [replace(one, text=f"{one.text} ", origin="rephrased by m", statement_id="") for one in prototypes]
    log = [on(fact, FALSE if n == 0 else TRUE, number=n) for n, fact in enumerate(facts)]
    log += [on(facts[1], OTHERWISE, statement_id=written[1].statement_id, number=10)]
    log += [on(facts[2], UNCLEAR, statement_id=written[2].statement_id, number=11)]
    first, second = by_origin([*prototypes, *written], opinions(log))
    assert (first.origin, first.misstated.value, first.unclear.value, first.misstated.n) == ("prototype", 0.0, 0.0, 10)
    assert (second.origin, second.misstated.value, second.unclear.value) == ("rephrased by m", 0.1, 0.1)
    assert by_origin(prototypes, opinions(log)) == (), "nothing was written by a model"
    assert by_origin([*prototypes, *written], {}) == ()


def test_reliability_counts_what_was_hidden_random_and_single() -> None:
    """Ten facts of ten heads are judged, 80 statements; of one fact the verdict is false: its 8 labels are wrong, and so is one
    more. 9 of 80. Verdicts that saw the label, came of a contested queue, or were given in bulk do not count.
    """
    facts = list({fact.head: fact for fact in FACTS}.values())[:13]
    log = [on(fact, number=n) for n, fact in enumerate(facts[:9])]
    log += [on(facts[9], FALSE, number=10), on(facts[0], BOTH, statement_id=of(facts[0])[0].statement_id, number=11)]
    others = [{"blind": False}, {"queue": CONTESTED}, {"bulk": True}]
    log += [on(fact, FALSE, number=20, **how) for fact, how in zip(facts[10:], others, strict=True)]
    *rows, whole = reliability(STATEMENTS, opinions(log))
    assert (whole.relation, whole.wrong.n) == ("", 80)
    assert whole.wrong.value == pytest.approx(9 / 80)
    assert whole.unclear.value == pytest.approx(1 / 80)
    plain = next(row for row in rows if (row.form, row.negated) == ("none", False))
    assert plain.wrong.value == pytest.approx(2 / 10)
    assert len(rows) == 8
    n, z, p = 10, 1.959964, 9 / 80  # ten heads are worth ten, not eighty
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert whole.wrong.high == pytest.approx((p + z * z / (2 * n)) / (1 + z * z / n) + half, abs=1e-5)
    best = ceiling(STATEMENTS, opinions(log))
    assert (best.value, best.n) == (pytest.approx(8 / 10), 10), "the labels of the wrong fact are wrong together"
    (nothing,) = reliability(STATEMENTS, {})
    assert (nothing.wrong.value, ceiling(STATEMENTS, {}).value) == (None, None)
    for verdict in (TRUE, FALSE):
        alone = opinions([on(facts[0], verdict, statement_id=of(facts[0])[0].statement_id)])
        assert ceiling(STATEMENTS, alone).n == 0, "one statement of eight says nothing of the fact"


def test_nought_wrong_of_sixty_still_allows_six_in_a_hundred() -> None:
    assert most_wrong(60) == pytest.approx(0.0602, abs=1e-4)
    checked = statements_to_check(0.06)
    assert most_wrong(checked) <= 0.06 < most_wrong(checked - 1)


def test_any_beginning_of_the_random_queue_is_even_and_the_order_is_its_own() -> None:
    facts = [replace(fact, relation=relation) for fact in FACTS for relation in ("symptoms", "therapeutic drugs")]
    facts = [Fact(fact.head, fact.relation, fact.tail) for fact in facts]
    queue = at_random(facts, 3)
    assert sorted(fact.fact_id for fact in queue) == sorted(fact.fact_id for fact in facts)
    assert queue == at_random(random.Random(1).sample(facts, len(facts)), 3)
    assert queue != at_random(facts, 4)
    assert sum(fact.relation == "symptoms" for fact in queue[:10]) == 5
    orders = {tuple(s.variant for s in shuffled(of(FACTS[0]), 0, name)) for name in ("ada", "ben", "cleo", "dora")}
    assert len(orders) > 1


def test_contested_are_those_that_all_deny_then_those_that_divide_strong_models() -> None:
    """`one` has four of five right, and is strong; `two` has three of five, `guess` two. All differ from the label of b. With b
    right too, `two` is strong as well, and differs from `one` on b and d; on a and c the guessing model stands alone.
    """
    labels = {"a": True, "b": True, "c": False, "d": True, "e": True}
    one = {"a": True, "b": False, "c": False, "d": True, "e": True}
    two = {"a": True, "b": False, "c": False, "d": False, "e": True, "f": True}
    guess = {"a": False, "b": False, "c": True, "d": True, "e": True}
    assert contested({"one": one, "two": two, "guess": guess}, labels) == ["b"]
    assert contested({"one": one, "two": two | {"b": True}, "guess": guess}, labels) == ["b", "d"]
    assert contested({"one": one}, labels) == []


def test_held_are_facts_that_most_decide_without_exceptions() -> None:
    fact, other, third, fourth = list(dict.fromkeys(FACTS))[:4]
    log = [on(fact, TRUE, number=1), on(fact, TRUE, "ben", number=2), on(fact, FALSE, "cleo", number=3)]
    log += [on(other, FALSE, number=4), on(other, OUTSIDE, "ben", number=5)]
    log += [on(third, TRUE, number=6), on(third, DEPENDS, "ben", number=7)]
    log += [on(fourth, TRUE, number=8), on(fourth, UNCLEAR, statement_id=of(fourth)[0].statement_id, number=9)]
    assert held(opinions(log)) == {fact.fact_id: True, other.fact_id: False}
    decided = [*log, on(third, TRUE, "dora", role=ADJUDICATOR, number=10)]
    assert held(opinions(decided))[third.fact_id] is True


def test_a_careless_reviewer_shows_in_agreement_the_queue_and_the_labels(store: Store) -> None:
    """Two reviewers judge 40 facts, 320 statements; ben answers at random on a tenth, 4 facts, and is otherwise than ada on
    those of them where the coin says so. With w such facts they agree on 8 (40 − w) of 320 statements, and of 640 verdicts 8 w
    hold a label wrong.
    """
    run = complete_run(RunSpec(model="baseline:always-true", limit=20, shots=0), store)
    statements = [item.statement for item in store.answers.asked(run)]
    facts = list(dict.fromkeys(statement.fact for statement in statements))
    generator = random.Random(4)
    guessed = {fact: generator.choice((True, False)) for fact in generator.sample(facts, 4)}
    astray = [fact.fact_id for fact in facts if guessed.get(fact, fact.positive) != fact.positive]
    w = len(astray)
    assert (len(facts), len(statements)) == (40, 320)
    assert 0 < w < 4
    assert not store.verdicts.is_judged(run)
    for fact in facts:
        store.verdicts.record([on(fact, TRUE if fact.positive else FALSE)])
        assert store.verdicts.is_judged(run)
        assert not store.verdicts.is_judged(run, ["nobody"])
        store.verdicts.record([on(fact, TRUE if guessed.get(fact, fact.positive) else FALSE, "ben")])
    made = summary(store, run)
    assert (made.facts_reviewed, made.reviewers, made.scores.disputed) == (40, 2, w)
    assert made.agreement.raw.value == pytest.approx((40 - w) / 40)
    for figure in (made.agreement.raw, made.agreement.ac1, made.agreement.cohen, made.agreement.alpha):
        assert None not in (figure.low, figure.value, figure.high)
        assert figure.low < figure.value < 1
    assert disputed(statements, opinions(store.verdicts.log())) == astray
    assert made.labels[-1].wrong.n == 640
    assert made.labels[-1].wrong.value == pytest.approx(8 * w / 640)
    assert made.labels[-1].wrong.low < 8 * w / 640 < made.labels[-1].wrong.high
    assert made.scores.undisputed.facts == 40 - w


def test_twenty_reviewers_at_once_lose_nothing(fresh: Callable[[], str]) -> None:
    """On SQLite and on PostgreSQL."""
    url = fresh()
    Store(url)

    def review(number: int) -> None:
        store = Store(url).of(f"owner{number}")
        for fact in FACTS[:10]:
            verdict = TRUE if number % 2 else FALSE
            more = [on(fact, UNCLEAR, f"r{number}", statement_id=s.statement_id, comment=f"{number}") for s in of(fact)[:2]]
            store.verdicts.record([on(fact, verdict, f"r{number}"), *more])

    with ThreadPoolExecutor(20) as threads:
        list(threads.map(review, range(20)))
    log = Store(url).verdicts.log()
    assert len(log) == 20 * 10 * 3
    for of_fact in opinions(log).values():
        assert len(of_fact) == 20
        for opinion in of_fact.values():
            number = int(opinion.reviewer.partition("/r")[2])
            assert opinion.fact.verdict == (TRUE if number % 2 else FALSE)
            assert {one.comment for one in opinion.statements.values()} == {str(number)}


# ------------------------------------------------------------------------------------------------ on the command line


def test_verdicts_travel_and_say_of_a_run_what_they_do(
    store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    """Two reviewers judge the seven true facts of a run alike, one of them wrong in one; the summary has every figure."""
    run = medfact("run", "--limit", 7, "--shots", 0, "--model", "baseline:always-true", "--db", url).rows[0]["run"]
    true = list(dict.fromkeys(item.statement.fact for item in store.answers.asked(run) if item.statement.fact.positive))
    hostile = "<script>alert(1)</script> =1+1 " + "x" * 10_000
    store.verdicts.record([on(fact, TRUE, "ada", comment=hostile, seconds=12.5) for fact in true])
    store.verdicts.record([on(fact, TRUE if number else FALSE, "ben") for number, fact in enumerate(true)])
    listed = medfact("reviews", "--db", url).rows
    assert len(listed) == 14
    assert (listed[0]["head"], listed[0]["seconds"], listed[0]["comment"]) == (true[0].head, 12.5, hostile)
    file = tmp_path / "verdicts.csv"
    assert medfact("reviews", "--db", url, "-o", file).code == 0
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert medfact("reviews", "--import", file, "--db", other).code == 0
    arrived = medfact("reviews", "--db", other).rows
    kept = ("reviewer", "fact_id", "verdict", "comment", "seconds", "blind", "queue", "bulk")
    assert [[one[name] for name in kept] for one in arrived] == [[one[name] for name in kept] for one in listed]
    listed = medfact("reviews", "--on", run, "--db", url).rows
    figures = {(row["figure"], row["of"]): row for row in listed}
    assert len(figures) == len(listed), "every row is told once"
    relations = {fact.relation for fact in true}
    assert {row["of"] for row in listed if row["figure"] == "wrong_labels"} == {*relations, "all"}, "one row for eight forms"
    assert (figures["wrong", "facts"]["value"], figures["sentences", "wrong sentences of other facts"]["value"]) == (0, 0)
    assert figures["average_accuracy", "everything"]["value"] == 0.5
    assert figures["disputed", "facts"]["value"] == 1
    assert figures["wrong_labels", "all"]["value"] == pytest.approx(8 / 112), "one of 14 verdicts makes 8 of 112 labels wrong"
    assert figures["agreement_raw", "2 reviewers"]["value"] == pytest.approx(6 / 7)
    assert figures["agreement_raw", "2 reviewers"]["n"] == 56
    assert figures["reviewed", "facts"]["value"] == 7


def test_a_fact_is_no_list_of_its_sentences(store: Store) -> None:
    """Of seven true facts one is held false: one fact, eight labels. Of another one sentence is held otherwise."""
    run = complete_run(RunSpec(model="baseline:always-true", limit=7, shots=0), store)
    asked = [item.statement for item in store.answers.asked(run) if item.statement.fact.positive]
    true = list(dict.fromkeys(statement.fact for statement in asked))
    store.verdicts.record([on(fact, FALSE if fact == true[0] else TRUE) for fact in true])
    sentence = next(statement for statement in asked if statement.fact == true[1])
    store.verdicts.record([on(true[1], OTHERWISE, statement_id=sentence.statement_id)], [sentence])
    made = summary(store, run)
    assert (made.scores.wrong, made.scores.sentences) == (1, 1)
    said = "Reviewers call 1 of 7 facts wrong and disagree about 0. In other facts they call 1 sentence wrong."
    assert changes(made) == said
    assert list(told_once({"a": made, "b": summary(store, run)})) == [""]
    other = complete_run(RunSpec(model="baseline:always-true", limit=2, shots=0), store)
    assert list(told_once({"a": made, "b": made, "c": summary(store, other)})) == ["a, b", "c"]


def test_a_run_can_be_restricted_to_what_reviewers_confirmed(url: str, medfact: Callable[..., Any], tmp_path: Path) -> None:
    """Of four pairs three are confirmed whole; of the fourth the false partner is held true. Nobody has judged the others."""
    of_all = ("--limit", 40, "--shots", 0, "--db", url)
    refused = medfact("statements", "--reviewed", *of_all)
    assert refused.code == 2
    assert "Reviewers have confirmed no fact of clinical-core" in refused.err
    facts = [row for row in medfact("facts", *of_all).rows if row["role"] == "test"][:8]
    lines = ["reviewer,fact_id,verdict"]
    for number, fact in enumerate(facts):
        lines += [f"ada,{fact['fact_id']},{'true' if fact['positive'] or number == 7 else 'false'}"]
    (tmp_path / "verdicts.csv").write_text("\n".join(lines))
    assert medfact("reviews", "--import", tmp_path / "verdicts.csv", "--db", url).code == 0
    asked = {row["fact_id"] for row in medfact("statements", "--reviewed", *of_all).rows}
    assert asked == {fact["fact_id"] for fact in facts[:6]}
    (run,) = medfact("run", "--reviewed", "--model", "baseline:always-true", *of_all).rows
    assert run["statements"] == 48
    record = Store(url).run(run["run"])
    assert record.spec.reviewed
    assert "The run tests only facts that reviewers have confirmed, with their false partners." in record.notes


def test_what_reviewers_wrote_is_text_in_every_file_and_comes_back(
    store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    """Markup, a formula and 10,000 characters, as a name, a comment, a wording and a link; and what was said before."""
    fact, formula, long = FACTS[0], '=HYPERLINK("http://127.0.0.1/","x")', "<script>alert(1)</script>" + "y" * 10_000
    store.verdicts.record([on(fact, TRUE, "@SUM(A1)", comment=formula, evidence="-1+1")])
    store.verdicts.record(
        [on(fact, FALSE, "@SUM(A1)", comment=long), on(fact, UNCLEAR, "+a", statement_id="1", wording=formula)]
    )
    listed = medfact("reviews", "--db", url).rows
    assert [(one["verdict"], one["before"]) for one in listed] == [(TRUE, None), (FALSE, TRUE), (UNCLEAR, None)]
    kept = ("reviewer", "verdict", "comment", "wording", "evidence")
    for kind in ("csv", "tsv", "jsonl", "parquet", "xlsx"):
        file, other = tmp_path / f"verdicts.{kind}", f"sqlite:///{tmp_path / kind}.db"
        assert medfact("reviews", "--db", url, "-o", file).code == 0
        if kind in ("csv", "tsv"):
            assert not re.search(r"(?m)(^|[,\t\"])[=@+-][A-Za-z]", file.read_text(encoding="utf-8"))
        assert medfact("reviews", "--import", file, "--db", other).code == 0
        arrived = medfact("reviews", "--db", other).rows
        assert [[one[name] for name in kept] for one in arrived] == [[one[name] for name in kept] for one in listed], kind


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ada,f1,perhaps", "row 2: 'perhaps' is no verdict"),
        (",f1,true", "row 2: its reviewer is missing"),
        ("ada," + "f" * 40 + ",true", "row 2: its fact_id is missing, or longer"),
    ],
)
def test_a_file_that_is_wrong_is_refused_whole(
    line: str, why: str, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(f"reviewer,fact_id,verdict\n{line}\nada,f2,true\n")
    outcome = medfact("reviews", "--import", file, "--db", url)
    assert outcome.code == 2
    assert why in outcome.err
    assert Store(url).verdicts.log() == []


def test_a_better_wording_becomes_a_template_where_it_has_both_names_once(
    store: Store, url: str, medfact: Callable[..., Any]
) -> None:
    fact = FACTS[0]
    first, second, *_ = of(fact)
    proposed = (f"{fact.tail} is a well known sign of {fact.head}.", "This is a sign of it.")
    log = [on(fact)]
    log += [on(fact, UNCLEAR, statement_id=first.statement_id, wording=proposed[0])]
    log += [on(fact, UNCLEAR, statement_id=second.statement_id, wording=proposed[1])]
    store.verdicts.record(log, of(fact))
    rows = medfact("reviews", "--suggestions", "--db", url).rows
    assert {(row["variant"], row["template"], row["wording"]) for row in rows} == {
        (first.variant, "[Y] is a well known sign of [X].", proposed[0]),
        (second.variant, None, proposed[1]),
    }
    store.verdicts.record([on(fact, WITHDRAWN, statement_id=first.statement_id)])
    assert len(medfact("reviews", "--suggestions", "--db", url).rows) == 1


def test_what_was_said_of_a_fact_in_words() -> None:
    fact = FACTS[0]
    log = [on(fact, TRUE, number=1), on(fact, TRUE, "ben", number=2), on(fact, DEPENDS, "cleo", number=3)]
    log += [on(fact, UNCLEAR, "ben", statement_id=of(fact)[0].statement_id, number=4)]
    words = "reviewed by 3: true 2, depends on the patient 1, exceptions among its sentences by 1"
    assert reviewed_in_words(opinions(log)[fact.fact_id]) == words
    log += [on(fact, FALSE, "dora", role=ADJUDICATOR, number=5)]
    assert reviewed_in_words(opinions(log)[fact.fact_id]) == f"{words}; adjudicated: false"
    assert reviewed_in_words({}) == ""
