"""Runs whose bundled set has changed since: which of their facts were withdrawn, on the page, in the report and as JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_facts import StubModel

from medfact.datasets import load_bundled
from medfact.datasets.collection import Collection
from medfact.datasets.table_writer import json_line
from medfact.datasets.withdrawn import ABSENT, ARGUABLE, FALSE, TRUE, withdrawals
from medfact.exchange import export_run, import_run
from medfact.facts import Fact, KnowledgeBase
from medfact.metrics import record_of
from medfact.negatives import JUDGED, PUBLISHED
from medfact.results.report import kept_report, report_of
from medfact.results.sections import PAGE, PAPER, REPORT, TERMINAL, Figures, sections_of
from medfact.results.text import lines_of
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.fragments import render_sections
from medfact.views.report import html_report

SET = "clinical-relations"
TITLE = "Facts that have been withdrawn since"
SPEC = RunSpec(model="baseline:random", dataset=SET, shots=0, negatives=1, limit=99)
MOONLIGHT = Fact("gout", "risk factors", "moonlight")


def held(head: str, tail: str) -> Fact:
    """A true fact of the set."""
    return next(one for one in load_bundled(SET).facts if (one.head, one.tail) == (head, tail))


def earlier(*extra: Fact, left: int = 4) -> Collection:
    """The set as an earlier version of medfact might have had it: four of its facts, each with a false partner of its own.

    Of the true facts the last is there no longer. Of the false ones the first is true by now, the second arguable.
    """
    pairs = (
        (held("gout", "excess body weight"), "heavy alcohol use"),
        (held("achondroplasia", "FGFR3 gene mutations"), "FGFR2 gene mutations"),
        (held("actinomycosis", "Actinomyces israelii"), "Treponema pallidum"),
        (MOONLIGHT, "visits to museums"),
    )[:left]
    facts = tuple(one for true, false in pairs for one in (true, true.negative(false, None, 1)))
    known = KnowledgeBase(tuple(fact for fact in facts if fact.positive))
    return Collection(SET, (*facts, *extra), known)


def said_of_actinomycosis_alone(prompt: str) -> str:
    return "True" if "actinomycosis" in prompt.casefold() else "Perhaps"


def asked(store: Store, collection: Collection | None, spec: RunSpec = SPEC) -> str:
    run = start(spec, store, collection)
    list(answer(run, store, load=StubModel(lambda prompt: said_of_actinomycosis_alone(str(prompt))).load))
    return run


def words_of(store: Store, run: str) -> str:
    made = report_of(store, store.run(run))
    told = [one for one in sections_of(Figures({"m": made}), TERMINAL) if one.title == TITLE]
    return "\n".join(line for one in told for line in lines_of(one))


def test_what_left_the_set_and_what_it_holds_true_by_now_is_named(store: Store) -> None:
    run = asked(store, earlier())
    found = report_of(store, store.run(run)).withdrawn
    assert (found.dataset, found.from_a_file, found.true_facts, found.false_facts) == (SET, False, 4, 4)
    assert [(one.tail, one.asked_as, one.now) for one in found.gone] == [("moonlight", TRUE, ABSENT)]
    assert {(one.tail, one.asked_as, one.now) for one in found.doubted} == {
        ("heavy alcohol use", FALSE, TRUE),
        ("FGFR2 gene mutations", FALSE, ARGUABLE),
    }


def test_figures_stay_as_recorded_and_stand_beside_those_without_these_facts(store: Store) -> None:
    made = report_of(store, store.run(asked(store, earlier())))
    # 8 facts of 8 statements. “True” to the 16 about actinomycosis is right for 8 of them; the other 48 are unreadable.
    assert (made.average_accuracy.value, made.average_accuracy.n) == (8 / 64, 64)
    without = made.withdrawn.without
    assert without.statements == 3 * 2 * 8, "three pairs"
    assert (without.average_accuracy.value, without.average_accuracy.n) == (8 / 16, 16)
    assert (without.joint_accuracy.value, without.joint_accuracy.n) == (0, 2)
    assert (without.pair_joint_accuracy.value, without.pair_joint_accuracy.n) == (0, 1)


def test_where_every_pair_was_withdrawn_nothing_is_left_to_score(store: Store) -> None:
    made = report_of(store, store.run(asked(store, earlier(left=2))))
    assert (made.withdrawn.without.statements, made.withdrawn.without.joint_accuracy.value) == (32, None)


def test_page_report_and_terminal_say_so_with_false_ones_marked(store: Store) -> None:
    run = asked(store, earlier())
    words = words_of(store, run)
    assert (
        "1 of 4 true facts that this run asked is no longer in clinical-relations (withdrawn since, or named otherwise)."
        in words
    )
    assert "2 of 4 false facts were asked as false, and are now held true or arguable in clinical-relations" in words
    assert "[true] gout | risk factors | moonlight: no longer there" in words
    assert "[FALSE (test statement)] gout | risk factors | heavy alcohol use: asked as false, and now held true" in words
    assert "Without them and their partners: right answers 50.0% (" in words
    written = html_report(store, [run], "2026-11-27T12:00:00+00:00")
    assert TITLE in written
    assert "visits to museums" not in written.partition(TITLE)[2].partition("</section>")[0]
    made = report_of(store, store.run(run))
    assert TITLE not in [one.title for one in sections_of(Figures({"m": made}), PAPER)]


def test_the_page_draws_names_as_text(store: Store) -> None:
    moon = replace(MOONLIGHT, tail="<b>full moon", fact_id="")
    run = asked(store, earlier(moon, moon.negative("tea", None, 1)))
    made = report_of(store, store.run(run))
    drawn = str(render_sections(sections_of(Figures({"m": made}), PAGE, "summary")))
    said = drawn.partition(TITLE)[2]
    assert "2 of 5 true facts that this run asked are no longer in clinical-relations (withdrawn since, " in said
    assert "&lt;b&gt;full moon" in said
    assert "<b>full moon" not in said
    assert "FALSE (test statement)" in said


def test_json_lists_all_and_words_the_first_ten(store: Store, medfact: Callable[..., Any], url: str) -> None:
    more = [Fact("gout", "risk factors", f"moonlight {number}") for number in range(1, 12)]
    run = asked(store, earlier(*more), replace(SPEC, negatives=0))
    of = json.loads(medfact("report", run, "--json", "--db", url).out)["withdrawn"]
    assert len(of["gone"]) == of["true_facts"] - 3 == 12
    assert of["doubted"] == []
    assert {one["head"] for one in of["gone"]} == {"gout"}
    shown = medfact("report", run, "--db", url).out
    assert shown.count("no longer there") == 10
    assert "And 2 more facts: the report as JSON lists all." in shown


def test_nothing_is_said_where_nothing_was_withdrawn(store: Store, facts_file: Path) -> None:
    now = asked(store, None, replace(SPEC, limit=5))
    others = Collection(SET, earlier(left=3).facts[4:], KnowledgeBase((held("actinomycosis", "Actinomyces israelii"),)))
    fewer = asked(store, others)
    own = asked(store, None, replace(SPEC, facts=str(facts_file), limit=5))
    for run in (now, fewer, own):
        made = report_of(store, store.run(run))
        assert made.withdrawn is None
        assert "withdrawn" not in record_of(made)
        assert TITLE not in [one.title for one in sections_of(Figures({"m": made}), REPORT)]


def test_own_facts_under_the_name_of_a_set_are_not_compared(store: Store, tmp_path: Path) -> None:
    own = tmp_path / SET
    own.with_suffix(".csv").write_text("head,relation,tail\ngout,risk factors,moonlight\n", encoding="utf-8")
    run = asked(store, None, replace(SPEC, facts=str(own.with_suffix(".csv")), negatives=0))
    assert report_of(store, store.run(run)).withdrawn is None


def test_a_run_from_a_file_is_compared_by_what_it_says(store: Store, tmp_path: Path) -> None:
    packed = io.BytesIO()
    export_run(store, asked(store, earlier()), packed)
    packed.seek(0)
    there = Store(f"sqlite:///{tmp_path / 'there.db'}")
    run = import_run(there, packed, "run.gz")
    assert "is not in clinical-relations as it is here (withdrawn since, or never there" in words_of(there, run)


def test_a_kept_report_is_made_anew_when_the_set_has_changed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = asked(store, earlier())
    assert report_of(store, store.run(run)).withdrawn
    kept = kept_report(store, store.run(run))
    assert kept.withdrawn == report_of(store, store.run(run)).withdrawn, "it comes back as it was kept"
    assert json_line(record_of(kept))
    monkeypatch.setattr("medfact.results.withdrawn.files_key", lambda name: "another")
    assert kept_report(store, store.run(run)) is None


def test_mended_identifiers_and_spellings_withdraw_nothing() -> None:
    fact = held("gout", "excess body weight")
    for same in (
        replace(fact, head_id="DOID:13189", fact_id=""),
        replace(fact, head="Gout", fact_id=""),
        replace(fact, source="another", fact_id=fact.fact_id),
    ):
        assert not withdrawals(SET, [same])
    assert withdrawals(SET, [replace(fact, relation="caused by", fact_id="")]), "another relation says something else"
    assert withdrawals(SET, [replace(fact, region="Japan", fact_id="")]), "it was never said of Japan alone"


def test_false_facts_that_a_source_had_called_false_and_freely_drawn_ones() -> None:
    false = held("actinomycosis", "Actinomyces israelii").negative("Treponema pallidum", None, 1)
    assert not withdrawals(SET, [false]), "drawn by rules: the set never had it"
    judged = replace(false, difficulty=JUDGED)
    assert withdrawals(SET, [judged])[false.fact_id].now == ABSENT
    arguable = held("achondroplasia", "FGFR3 gene mutations").negative("FGFR2 gene mutations", None, 1)
    assert withdrawals(SET, [arguable])[arguable.fact_id].now == ARGUABLE
    assert not withdrawals(SET, [arguable], are_free=True), f"a draw that is {PUBLISHED} may have had it all along"
    true_now = held("gout", "excess body weight").negative("heavy alcohol use", None, 1)
    assert withdrawals(SET, [true_now], are_free=True)[true_now.fact_id].now == TRUE


def test_false_facts_that_the_set_itself_no_longer_calls_false(store: Store) -> None:
    """An earlier not-indicated called ibuprofen false for von Willebrand disease; its partner for gout has left as well."""
    name = "not-indicated"
    gout = next(one for one in load_bundled(name).facts if one.head == "gout" and one.positive)
    alone = Fact("von Willebrand disease", gout.relation, "ibuprofen", positive=False)
    old = Collection(name, (gout, gout.negative("furosemide", None, 1), alone), KnowledgeBase((gout,)))
    run = asked(store, old, replace(SPEC, dataset=name, limit=None))
    found = report_of(store, store.run(run)).withdrawn
    assert {(one.tail, one.asked_as, one.now) for one in found.doubted} == {
        ("furosemide", FALSE, ABSENT),
        ("ibuprofen", FALSE, ABSENT),
    }
    assert not found.gone
    words = words_of(store, run)
    assert (
        "2 of 2 false facts were asked as false, and are now held true or arguable in not-indicated, or no longer called false."
        in words
    )
    assert "furosemide: it was called false, and is no longer" in words
    assert not withdrawals(SET, [alone]), "another set never called it false"


def test_true_facts_that_are_only_no_longer_asked_are_told_apart(store: Store) -> None:
    """FGFR2 is a cause that the set holds true or arguable, and asks no more."""
    run = asked(store, earlier(Fact("achondroplasia", "caused by", "FGFR2 gene mutations"), left=3), replace(SPEC, negatives=0))
    words = words_of(store, run)
    assert "1 of 4 true facts" in words
    assert "(withdrawn since, or named otherwise); still held true or arguable there: 1 of them." in words
    assert "FGFR2 gene mutations: now held true or arguable, so asked neither as true nor as false" in words


def test_a_check_leaves_out_what_was_withdrawn_and_says_how_much(store: Store, medfact: Callable[..., Any], url: str) -> None:
    base = asked(store, earlier())
    done = medfact("check", "baseline:always-true", "--against", base, "--db", url, "--json")
    found = json.loads(done.out)
    assert found["withdrawn"] == {"statements": 48, "facts": 6}, "three pairs of 16 statements"
    assert found["mastery"]["of"] == 2, "actinomycosis, with its false cause"
    newest = store.runs()[-1]
    assert {fact.head for fact in store.answers.facts(newest.run)} == {"actinomycosis"}
    said = medfact("check", "baseline:always-true", "--against", base, "--db", url).out
    assert "48 statements about 6 facts of the baseline are no longer asked: withdrawn from clinical-relations since" in said
    now = asked(store, None, replace(SPEC, limit=4))
    whole = json.loads(medfact("check", "baseline:always-true", "--against", now, "--db", url, "--json").out)
    assert whole["withdrawn"] == {"statements": 0, "facts": 0}


def test_a_check_of_nothing_but_withdrawn_facts_says_what_to_do(store: Store, medfact: Callable[..., Any], url: str) -> None:
    base = asked(store, earlier(left=2))
    done = medfact("check", "baseline:always-true", "--against", base, "--db", url)
    assert done.code == 2
    assert "have been withdrawn from clinical-relations since" in done.err


def test_what_the_sets_say_now_withdraws_none_of_their_own_facts() -> None:
    for name in ("clinical-relations", "not-indicated", "was-true"):
        assert not withdrawals(name, load_bundled(name).facts), name
