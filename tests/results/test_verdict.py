"""The verdict: scripted models whose sentences are worked out by hand from their script, and all doors that show it.

Of 60 pairs there are 120 facts and 960 statements. A model that takes every fact for true is right on the 480 statements of the
60 true facts alone: 50 %, 60 of 120 facts, no pair. One that says “true” to everything is right on half of each fact's
statements: 50 %, no fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from asked_updates import OWNER, fetch_fragments
from asked_updates import services as services
from recorded import complete_run
from records import with_figures
from scripted_minds import run_mind

from medfact.metrics.comparison import Contrast
from medfact.metrics.uncertainty import Estimate
from medfact.results import findings
from medfact.results.compare import Change, Pair, pairs_of
from medfact.results.findings import rules_of, verdict
from medfact.results.recall import RELATED
from medfact.results.report import Report, Unchecked, named_first, report_of, sides_of
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.report import html_report
from medfact.web.services import Services

Reports = Callable[..., Report]

HALF, NOT_BETTER = "is no better than a coin, right on 50.0%", "is not shown to be better than a coin"
BELOW, ABOVE = "it is below these.", "it is above these."
RULES = "Without medical knowledge, “true unless denied” masters 50% of facts and no pair, “word matching” 63% and "
FAILINGS = re.compile("overlooks|believes|says “|knows [0-9]|takes (?:all|[0-9])")

ALONE = {
    "flips a coin": ("is no better than a coin, right on 5", "masters 1% of 120 facts", BELOW),
    "always true": (HALF, "It masters 0% of 120 facts", BELOW, "It says “true” to all 60 true facts and all 60 false facts, "),
    "always false": (
        HALF,
        "It masters 0% of 120 facts",
        BELOW,
        "It says “false” to all 60 true facts and all 60 false facts, ",
    ),
    "takes all for true": (HALF, "It masters 50% of 120 facts", "0% of 60 true-false", "It takes all 60 false facts for true."),
    "takes all for false": (HALF, "It masters 50% of 120 facts", "0% of 60 true-", "It takes all 60 true facts for false."),
    "half for true": (
        "masters 75% of 120 facts",
        "50% of 60 true-false pairs",
        ABOVE,
        "It takes 30 of 60 false facts for true.",
    ),
    "word matcher": (
        "masters 65%",
        "not shown to differ from “word matching”",
        "It is overconfident by 35 points.",
    ),
    "parrot of false": (
        "masters 80% of",
        ABOVE,
        "It says “false” to 12 of 60 true facts and 12 of 60 false facts, affirmed and ",
    ),
    "parrot of true": (
        "masters 60% of",
        "It says “true” to 24 of 60 true facts and 24 of 60 false facts, affirmed and denied.",
    ),
    "blind": (HALF, "It masters 0% of", BELOW, "It overlooks “not” in 100% of facts."),
    "noisily blind": ("is no better than a coin, right on ", "It masters 0% of", "It overlooks “not” in "),
    "blind now and then": ("masters 80% of", "80% of 60 true-false pairs", ABOVE, "It overlooks “not” in 20% of facts."),
    "contrary": (
        "is worse than a coin, right on 0.0%",
        "It masters 0% of",
        BELOW,
        "It believes the opposite of 100% of facts.",
    ),
    "one direction": (HALF, BELOW, "It knows 100% of facts in one direction only."),
    "one direction at times": ("masters 70% of", "It knows 30% of facts in one direction only."),
    "in general": (HALF, BELOW, "It knows 100% of facts only in general, or only in a patient."),
    "calibrated 95": ("masters 95% of", ABOVE),
    "calibrated 80": ("masters 80% of", ABOVE),
    "calibrated 60": (NOT_BETTER, "60.0% (", "It masters 60% of"),
    "too sure": (
        NOT_BETTER,
        "It masters 60% of",
        "It is overconfident by 37 points.",
    ),
    "a little too sure": ("masters 80% of", ABOVE),
    "not sure enough": ("masters 95% of", "It is underconfident by 35 points."),
    "knows all": ("masters 100% of", "100% of 60 true-false pairs", ABOVE),
    "errs now and then": ("% of 120 facts", "it is above “true unless denied” and not shown to differ from “word matching”."),
    "mute": ("80.0% of the replies of m cannot be read", "It masters 20% of", BELOW),
    "true to false facts": (
        "masters 50% of",
        "0% of 60 true-false",
        "It says “true” to all 60 false facts, affirmed and denied.",
    ),
    "false to true facts": ("masters 50% of", "It says “false” to all 60 true facts, affirmed and denied."),
    "true to some true facts": ("masters 80% of", "It says “true” to 24 of 60 true facts, affirmed and denied."),
    "mostly true": ("is no better than a coin, ", "It says “true” to ", " of 60 true facts and "),
    "coin with gaps": ("is no better than a coin even when unreadable replies count half, right on 3", "of m cannot be read"),
    "knows with gaps": ("% of the replies of m cannot be read", BELOW),
    "takes most for true": ("masters 60% of", "20% of 60 true-false pairs", "It takes 48 of 60 false facts for true."),
    "mixed": ("masters 50% of", "It overlooks “not” in 40% of facts."),
}
"""Model → parts of its verdict, by hand from its script. A failing that is not named here is not in it."""

TOGETHER = {
    ("flips a coin", "always true"): (
        "Both are no better than a coin",
        "No difference in facts with all answers right, right answers or pairs with",
    ),
    ("blind", "noisily blind"): ("Both overlook “not” (in 100% and ", "both are below these."),
    ("calibrated 95", "calibrated 60"): (
        "calibrated 95 has 35.0 points more facts with all answers right than calibrated 60 (",
    ),
    ("too sure", "word matcher"): ("Both are overconfident (by 35 and 37 points).",),
    ("half for true", "takes all for true"): ("Both take false facts for true (30 of 60 and all 60 false facts).",),
    ("parrot of true", "always true", "mostly true"): (
        "All 3 say “true” to facts, affirmed and denied (24 of 60 true facts and 24 of 60 false facts; all 60 true facts ",
    ),
    ("calibrated 60", "too sure", "surer still"): ("right on 60.0% (46 to 72), 60.0% (46 to 72) and 55.0% (42 to 67) of",),
    ("too sure", "calibrated 60"): ("too sure is overconfident by 37 points.",),
    ("flips a coin", "always true", "knows all"): (
        "flips a coin and always true are no better than a coin",
        "knows all masters 100% of 120 facts",
        "knows all is above these; flips a coin and always true are below these.",
    ),
}
"""Models beside each other → parts of their verdict."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reports]:
    """Name of a model → its report, made once; `.store` has the runs."""
    folder = tmp_path_factory.mktemp("verdicts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDFACT_HOME", str(folder))
        store = Store(f"sqlite:///{folder / 'runs.db'}")

        @cache
        def made(name: str, pairs: int = 60) -> Report:
            return report_of(store, store.run(run_mind(store, name, limit=pairs)))

        made.store = store  # type: ignore[attr-defined]
        yield made


def told(reports: Reports, *names: str) -> str:
    """The verdict of models beside each other."""
    sides = sides_of(reports.store, [reports(name).run for name in names])  # type: ignore[attr-defined]
    return verdict({name: reports(name) for name in names}, pairs_of(sides))


@pytest.mark.parametrize("name", ALONE)
def test_a_model_alone(reports: Reports, name: str) -> None:
    said = verdict({"m": reports(name)})
    assert [part for part in (*ALONE[name], RULES) if part not in said] == [], said
    assert len(FAILINGS.findall(said)) == len(FAILINGS.findall(" ".join(ALONE[name]))), said
    assert ("confident" in said) == ("confident" in " ".join(ALONE[name])), said
    assert said.count(". ") <= 4


@pytest.mark.parametrize("names", TOGETHER)
def test_models_beside_each_other(reports: Reports, names: tuple[str, ...]) -> None:
    said = told(reports, *names)
    assert [part for part in TOGETHER[names] if part not in said] == [], said


def test_no_two_models_have_a_sentence_that_their_figures_deny(reports: Reports) -> None:
    """Each clause of a pair is that of one of the two alone, or says it of both with both figures; no order without a proof."""
    for one, other in combinations(
        ("flips a coin", "always true", "takes all for true", "blind", "calibrated 80", "too sure"), 2
    ):
        said, pair = told(reports, one, other), (reports(one), reports(other))
        assert said.count("masters ") == 1 + 1, said  # the first model, and the first rule
        for name, report in zip((one, other), pair, strict=True):
            assert (
                f"{name} {'masters ' if f'{name} masters' in said else ''}{100 * (report.joint_accuracy.value or 0):.0f}%"
                in said
            )
            assert (f"{name} is overconf" in said) == (report.stands_out == "overconfident" or name == "too sure"), said
        sides = sides_of(reports.store, [of.run for of in pair])  # type: ignore[attr-defined]
        (mastery,) = (of for of in pairs_of(sides) if of.metric == "joint_accuracy")
        assert ("points more facts with all answers right" in said) == mastery.is_shown
        assert ("No difference" in said) != mastery.is_shown


def test_few_facts_have_no_failing_and_few_diseases_no_claim(reports: Reports) -> None:
    few, fewer = verdict({"m": reports("always true", 40)}), verdict({"m": reports("always true", 4)})
    assert "m is no better than a coin" in few
    assert not FAILINGS.search(few), "80 facts"
    assert fewer == "m masters 0% of 8 facts (too few diseases to say) and 0% of 4 true-false pairs (too few diseases to say)."
    assert findings.of_diagnoses({"m": reports("always true", 40)}) == "Under 100 facts: too few to say what stands out"


def test_a_rule_has_no_failing_and_is_beside_no_rule(reports: Reports, store: Store) -> None:
    run = complete_run(RunSpec(model="baseline:always-true", limit=60, shots=0), store)
    report = report_of(store, store.run(run))
    assert report.stands_out is None
    assert verdict({"always says true": report}) == (
        "always says true is no better than a coin, right on 50.0% (49 to 51) of statements. "
        "It masters 0% of 120 facts (95% interval 0 to 3) and 0% of 60 true-false pairs (0 to 6)."
    )


def test_rules_follow_the_facts_of_the_run(reports: Reports) -> None:
    """Of 60 true and 180 false facts “true unless denied” masters a quarter; of true facts alone, all."""
    report = reports("calibrated 80")
    three = with_figures(report, negative_accuracy=report.negative_accuracy._replace(n=1440), words_alone=None)
    assert "Without medical knowledge, “true unless denied” masters 25% of facts and no pair: both are above that" in verdict(
        {"m": three, "n": three}
    )
    alone = with_figures(report, negative_accuracy=Estimate(None, None, None, 0), words_alone=None)
    assert "“true unless denied” masters 100% of facts: it is below that." in verdict({"m": alone})
    assert rules_of(with_figures(report, positive_accuracy=Estimate(None, None, None, 0), words_alone=None)) == {}
    assert rules_of(replace(report, pool="medfact-es", words_alone=None)) == {}, "its rule reads English denials"


def test_labels_that_are_mostly_false_have_another_chance(reports: Reports) -> None:
    """With three false facts a true one, asked in one affirmed statement each, “false” is right on 75 %."""
    report = with_figures(reports("calibrated 80"), false_statements=720, average_accuracy=Estimate(0.75, 0.7, 0.8, 960))
    assert "m is no better than always saying “false” (75.0%), right on 75.0% (70 to 80) of statements." in verdict(
        {"m": report}
    )


def test_what_was_chosen_is_told_once(reports: Reports) -> None:
    report = reports("calibrated 80")
    chosen = replace(report, shots=5, pool="medfact-es", unchecked=Unchecked(12, 60), words_alone=None)
    said = verdict({"m": chosen})
    assert said.endswith("Asked in Spanish. Shown 5 worked examples. Nobody has checked 12 of 60 false facts.")
    assert verdict({"m": chosen, "n": chosen}).count("Asked in Spanish. Shown 5 worked examples.") == 1
    assert verdict({"m": chosen, "n": report}).endswith(" m: nobody has checked 12 of 60 false facts.")


def test_of_true_facts_alone_no_habit_is_told_from_an_overlooked_not(reports: Reports, store: Store) -> None:
    """Of a true fact both affirm all eight statements: what is said is what the answers show."""
    for name, word in (("always true", "true"), ("blind", "true"), ("always false", "false")):
        said = verdict({"m": report_of(store, store.run(run_mind(store, name, limit=120, negatives=0)))})
        assert f"It says “{word}” to all 120 true facts, affirmed and denied." in said


def test_two_models_without_mastery_are_compared_in_right_answers(reports: Reports, store: Store) -> None:
    """MKJ asks one affirmed statement of a fact: who overlooks “not” is right on all 240, “true” to everything on 60."""
    runs = {name: store.run(run_mind(store, name, protocol="mkj")) for name in ("blind", "always true")}
    pairs = pairs_of(sides_of(store, [run.run for run in runs.values()]))
    said = verdict({name: report_of(store, run) for name, run in runs.items()}, pairs)
    assert "always true is worse than always saying “false” (75.0%), right on 25.0% (" in said
    assert "blind has 75.0 points more right answers than always true (" in said
    assert "all answers right" not in said


def test_a_language_stands_beside_english_with_the_bounds_that_decide(reports: Reports) -> None:
    """Facts mastered of 120: 65 % in English, 50 % in Spanish."""
    english, spanish = reports("word matcher"), replace(reports("calibrated 60"), pool="medfact-es")
    (pair, *_) = pairs_of(sides_of(reports.store, [english.run, spanish.run]))  # type: ignore[attr-defined]

    def said(low: float, high: float, *pairs: Pair) -> str:
        less = Contrast(0.5, 0.65, -0.15, low, high, 120, 0.01, 0.01, low, high)
        found = SimpleNamespace(languages=("en", "es"), less={"es": less})
        told: Any = SimpleNamespace(runs={"en": english.run, "es": spanish.run}, figures=found)
        return verdict({"m, en": english, "m, es": spanish}, pairs, (), (told,))

    fewer = said(-0.25, -0.05, pair)
    assert fewer.endswith(
        "m, es: asked in Spanish, it masters fewer facts than in English: 50.0% against 65.0%, −15.0 points (−25.0 to −5.0)."
    )
    assert "o difference in" not in fewer, "their difference is told once"
    assert " it is not shown to master more or fewer facts than in English: 50.0% against 65.0%, −15.0 " in said(-0.31, 0.01)


def test_passages_are_told_with_their_interval(reports: Reports) -> None:
    report = reports("calibrated 80")
    (pair, *_) = pairs_of(sides_of(reports.store, [report.run, reports("calibrated 60").run]))  # type: ignore[attr-defined]

    def said(difference: float, low: float, high: float) -> str:
        found = replace(pair, value=difference, low_all=low, high_all=high)
        return verdict({"m": report}, (), [Change("a", report.run, "m", "", {"average_accuracy": found}, {}, (), ())])

    assert said(-0.069, -0.117, -0.021).endswith("With passages it is right less often: −6.9 points (−11.7 to −2.1).")
    assert said(0.05, 0.01, 0.09).endswith("With passages it is right more often: +5.0 points (+1.0 to +9.0).")
    assert said(0.01, -0.02, 0.04).endswith("Passages are not shown to change its right answers: +1.0 points (−2.0 to +4.0).")


def test_passages_without_the_answer_are_told(reports: Reports) -> None:
    evidence: Any = SimpleNamespace(setting=RELATED, recall=Estimate(0.0, 0.0, 0.1, 480))
    said = verdict({"m": replace(reports("calibrated 80"), evidence=evidence)})
    assert said.endswith(" Shown passages that do not contain the answer.")


def test_no_figure_names_another_failing_than_the_verdict(reports: Reports) -> None:
    """Where P(True) tells that answers are honest, the table's title names no failing either."""
    named = {name: reports(name) for name in ("calibrated 80", "blind now and then")}
    assert findings.of_diagnoses(named) == (
        "blind now and then: it overlooks “not” in 20% of facts; calibrated 80: no single failing stands out"
    )
    assert named_first(None, reports("a little too sure").probabilities) is None, "three points"
    assert named_first(None, reports("too sure").probabilities) == "overconfident"


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


def test_every_door_has_the_same_verdict(services: Services, medfact: Any, tmp_path: Path) -> None:
    """The page, the report, the terminal and its JSON, of one model and of two."""
    store = services.store.of(OWNER)
    one, two = run_mind(store, "too sure", limit=30), run_mind(store, "blind", limit=30)
    names = {run: store.run(run).model for run in (one, two)}
    reports = {run: report_of(store, store.run(run)) for run in (one, two)}
    said = verdict({names[one]: reports[one]})
    assert "is overconfident" in said or "not shown to be better" in said
    assert said in words_of(str(fetch_fragments(services, run=one)["fragments"]["scores"]))
    assert said in words_of(html_report(store, [one], "2026-11-24T02:00:00+00:00"))
    url = str(store.url)
    assert said in medfact("report", one, "--db", url).out
    assert json.loads(medfact("report", one, "--json", "--db", url).out)["verdict"] == said
    both = verdict({names[run]: report for run, report in reports.items()}, pairs_of(sides_of(store, [one, two])))
    assert "facts" in both
    assert both in words_of(str(fetch_fragments(services, run=f"{one},{two}")["fragments"]["scores"]))
    assert both in words_of(html_report(store, [one, two], "2026-11-24T02:00:00+00:00"))
    compared = json.loads(medfact("compare", one, two, "--json", "--db", url).out)["verdict"]
    assert re.sub(r"\b[0-9a-f]{8} ", "", compared) == both
