"""The gate: verdicts by hand, by simulation, and on the command line."""

from __future__ import annotations

import gzip
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel, statement_key

from medfact.metrics.race import CANNOT_TELL, FAIL, PASS, GateResult, gate_decision, raced
from medfact.results.gate import Gate, describe_gate, gate_of, risky_facts
from medfact.results.report import Side, board_of
from medfact.runs.run import answer
from medfact.runs.start import start, start_again
from medfact.spec import RunSpec
from medfact.store import Store

Medfact = Callable[..., Any]


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.019, 0.05, PASS),  # a loss of 2 points is ruled out, though none is
        (-0.015, -0.005, PASS),  # a loss is shown, and it is below the margin
        (-0.021, 0.05, CANNOT_TELL),  # a loss of 2.1 points is possible, none at all is too
        (-0.08, -0.001, FAIL),  # a loss is shown, and it may be above the margin
        (-0.02, 0.01, CANNOT_TELL),  # the margin itself is not ruled out
        (None, None, CANNOT_TELL),  # too few diseases for an interval
    ],
)
def test_what_bounds_say_with_a_margin_of_two_points(low: float | None, high: float | None, verdict: str) -> None:
    assert gate_decision(low, high, 0.02) == verdict


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`benchmarks/gate.py`."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    sys.modules.pop("gate", None)
    import gate

    return gate


def test_an_equal_model_seldom_fails_and_a_worse_one_nearly_always(simulated: Any) -> None:
    ended = {worse: [simulated.ended(seed, 0.06, worse, 0.02, True).verdict for seed in range(300)] for worse in (0.0, 0.05)}
    assert ended[0.0].count(FAIL) <= 14, "2.5% of 300 are 7.5; 14 or more happen once in 50 times"
    assert ended[0.05].count(FAIL) >= 285
    assert ended[0.05].count(PASS) == 0


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'runs.db'}"


def _run(medfact: Medfact, url: str, model: str, *more: object) -> str:
    done = medfact("run", "--model", model, "--db", url, "--shots", 0, *more)
    assert done.code == 0, done.err
    return str(done.rows[0]["run"])


def test_the_same_model_is_no_worse_and_a_worse_one_fails(medfact: Medfact, url: str, tmp_path: Path) -> None:
    """MKJ asks one affirmed statement a fact: who always says true masters each true fact, who always says false none."""
    base = _run(medfact, url, "baseline:always-true", "--limit", 200, "--negatives", 0, "--protocol", "mkj")
    file = tmp_path / "base.medfact.jsonl.gz"
    assert medfact("baseline", base, "--db", url, "-o", file).code == 0
    again = medfact("check", "baseline:always-true", "--against", file, "--db", url, "--json")
    found = json.loads(again.out)
    # every fact is mastered by both, so that nothing differs: 0 of 200, and Wilson's bound for 0 of the diseases
    assert (found["mastery"]["baseline"], found["mastery"]["model"], found["mastery"]["value"]) == (
        n := found["mastery"]["n"],
        n,
        0.0,
    )
    assert found["verdict"] in (PASS, CANNOT_TELL)
    assert again.code == {PASS: 0, CANNOT_TELL: 3}[found["verdict"]]
    worse = medfact("check", "baseline:always-false", "--against", base, "--db", url, "--json", "--junit", tmp_path / "j.xml")
    found = json.loads(worse.out)
    assert (worse.code, found["verdict"], found["mastery"]["model"], found["mastery"]["value"]) == (1, FAIL, 0, -1.0)
    assert len(found["lost"]) == found["mastery"]["n"]
    if found["mastery"]["n"] < 200:
        assert "decided" in found["ended"], "what is decided early is not asked to its end, and says so"
    suite = ET.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("failures"), suite.get("tests")) == ("1", "2")


def test_a_newly_affirmed_contraindication_is_named_whatever_the_score(medfact: Medfact, url: str) -> None:
    """Both master nothing. The first denies all, the second affirms all: every contraindication is newly affirmed."""
    more = ("--dataset", "not-indicated", "--limit", 30)
    base = _run(medfact, url, "baseline:always-false", *more)
    done = medfact("check", "baseline:always-true", "--against", base, "--db", url, "--json")
    dangerous = json.loads(done.out)["dangerous"]["newly_affirmed"]
    assert done.code == 1
    assert dangerous
    assert [one["contraindicated"] for one in dangerous] == sorted((one["contraindicated"] for one in dangerous), reverse=True)
    assert all(one["label"] == "FALSE (test statement)" for one in dangerous)
    allowed = medfact("check", "baseline:always-true", "--against", base, "--db", url, "--dangerous", len(dangerous))
    assert allowed.code in (0, 3)
    assert all(one["head"] in allowed.out for one in dangerous), "allowed, and named all the same"
    other_way = medfact("check", "baseline:always-false", "--against", base, "--db", url, "--json")
    assert json.loads(other_way.out)["dangerous"]["newly_affirmed"] == []


def test_a_contraindication_is_named_however_early_the_check_ends(simulated: Any) -> None:
    """The disease of each comes late in the order of the race: asked in that order, 14 of 25 seeds missed it."""
    assert simulated.named(range(3)) == (3, 3)


def test_a_dangerous_fact_without_an_answer_keeps_a_model_from_passing(simulated: Any, tmp_path: Path) -> None:
    """The model knows what the baseline knows, but that a call about one contraindication failed."""
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    base = simulated.baseline(store, 12)
    run = start_again(base.run.run, store)
    asked = store.answers.asked(run)
    risky = risky_facts((store, base), {})
    silent = next(one for one in asked if one.statement.fact.fact_id in risky and one.statement.variant == "ins")
    signs = {statement_key(one): "!" if one is silent else "+" for one in asked}
    list(answer(run, store, load=ScriptedModel.for_run(run, store, signs).load))
    side = Side(store.run(run), board_of(store, run))
    facts = len(asked) // 8
    differences = raced(side.rows, base.rows)
    assert differences is not None
    gate = gate_of((store, side), (store, base), differences, 0.02, 0, {})
    assert (gate.mastery.n, gate.mastery.failed, gate.mastery.value) == (facts - 1, 1, 0.0)
    passed = GateResult(PASS, 0.0, -0.01, 0.01, facts - 1, facts, 1, facts - 1, facts - 1)
    gate = replace(gate, mastery=passed)
    assert (gate.verdict, gate.dangerous, gate.unanswered) == (CANNOT_TELL, (), (silent.statement.fact,))
    assert (gate.asked, gate.risky) == (len(risky), len(risky))
    assert "no answer to 1 fact judged false" in describe_gate(gate)
    assert replace(gate, allowed=1).verdict == PASS, "one may be affirmed, and no more than one can have been"
    assert replace(gate, mastery=passed._replace(verdict=FAIL)).verdict == FAIL


def test_value_and_counts_are_of_the_facts_without_a_failed_call(simulated: Any, tmp_path: Path) -> None:
    """86 facts, indications and contraindications, of which the baseline masters all but fact 0.

    Of the new model fact 1 is wrong, of fact 2 a call failed and another answer is wrong, of fact 3 a call failed and nothing
    is wrong. In both, fact 0 is wrong. Facts 2 and 3 are left out: 84 facts, 83 before and 82 now, −1 of 84. Counted where it
    is surely missed, fact 2 would read as a loss: −2 of 85.
    """
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    first = start(RunSpec(model="baseline:random", dataset="not-indicated", limit=24, shots=0), store)
    base, side = (
        answered_with(store, first, {(0, 0): "-"}),
        answered_with(store, start_again(first, store), {(0, 0): "-", (1, 5): "-", (2, 0): "-", (2, 3): "!", (3, 7): "!"}),
    )
    differences = raced(side.rows, base.rows)
    assert differences is not None
    gate = gate_of((store, side), (store, base), differences, 0.02, 0, {})
    mastery = gate.mastery
    assert (mastery.n, mastery.failed, mastery.of, mastery.baseline, mastery.model) == (84, 2, 86, 83, 82)
    assert mastery.value == pytest.approx(-1 / 84)
    assert [len(gate.lost), len(gate.gained)] == [1, 0], "the lists are of the same facts: 83 − 1 + 0 = 82"

    def whole(run: str) -> dict[int, list[str]]:
        """Fact → what became of its eight statements, from the answers as they are stored."""
        fates: dict[int, list[str]] = {}
        for item in store.answers.asked(run):
            said = item.answer.answer if item.answer and not item.answer.failure else None
            fates.setdefault(item.fact, []).append("!" if said is None else "+-"[said != item.statement.label])
        return fates

    before, now = whole(first), whole(side.run.run)
    kept = [fact for fact in now if "!" not in now[fact] + before[fact]]
    assert len(kept) == 84
    assert [sum(set(fates[fact]) == {"+"} for fact in kept) for fates in (before, now)] == [83, 82]
    # facts 1 and 2 are lost for certain, and fact 3 at worst: the bounds are of all 86
    assert mastery.low < -3 / 86 < -2 / 86 < mastery.high
    said = describe_gate(gate)
    assert said.startswith("cannot tell: 83 of 84 facts before, 82 now; mastery −1.2 points (")
    assert "; 2 facts left out: a call failed, and the bounds allow for it" in said


def answered_with(store: Store, run: str, signs: dict[tuple[int, int], str]) -> Side:
    """A run that is right but where another sign stands. signs: (fact, which of its eight statements) → its answer."""
    met: dict[int, int] = {}
    scripted = {}
    for item in store.answers.asked(run):
        met[item.fact] = met.get(item.fact, -1) + 1
        scripted[statement_key(item)] = signs.get((item.fact, met[item.fact]), "+")
    list(answer(run, store, load=ScriptedModel.for_run(run, store, scripted).load))
    return Side(store.run(run), board_of(store, run))


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (
            GateResult(FAIL, -16 / 72, -0.35, -0.088, 72, 295, 0, 40, 24),
            "fail: 40 of 72 facts before, 24 now; mastery at least 8.8 points lower (stopped early: 72 of 295 facts asked).",
        ),
        (
            GateResult(PASS, 1 / 70, -0.012, 0.05, 70, 295, 2, 40, 41),
            "pass: 40 of 70 facts before, 41 now; mastery at most 1.2 points lower (stopped early: 72 of 295 facts asked); "
            "2 facts left out: a call failed, and the bounds allow for it.",
        ),
        (
            GateResult(PASS, 10 / 72, 0.021, 0.2, 72, 295, 0, 40, 50),
            "pass: 40 of 72 facts before, 50 now; mastery at least 2.1 points higher (stopped early: 72 of 295 facts asked).",
        ),
        (
            GateResult(CANNOT_TELL, -7 / 295, -0.059, 0.011, 295, 295, 0, 91, 84),
            "cannot tell: 91 of 295 facts before, 84 now; mastery −2.4 points (−5.9 to +1.1); "
            "too few facts to show or rule out a loss of 2 points.",
        ),
        (
            GateResult(FAIL, -40 / 295, -0.18, -0.09, 295, 295, 0, 91, 51),
            "fail: 91 of 295 facts before, 51 now; mastery −13.6 points (−18.0 to −9.0).",
        ),
    ],
)
def test_a_check_in_one_line(standing: GateResult, said: str) -> None:
    """What ended early names the bound that decided; at the end stand the difference and both bounds."""
    nothing: Any = ()
    assert describe_gate(Gate("new", "old", nothing, 0.02, 0, standing, (), 0, 0, (), (), ())) == said


def test_a_part_is_the_same_every_time_and_has_its_partners(medfact: Medfact, url: str) -> None:
    base = _run(medfact, url, "baseline:random", "--limit", 40)
    asked = []
    for seed in (0, 0, 1):
        found = medfact("check", "baseline:random", "--against", base, "--db", url, "--part", 12, "--part-seed", seed, "--json")
        assert json.loads(found.out)["mastery"]["of"] == 24, "12 true facts and their 12 false partners"
        run = medfact("runs", "--db", url).rows[-1]["run"]
        asked.append({(row["head"], row["tail"]) for row in medfact("answers", run, "--db", url).rows})
    assert asked[0] == asked[1] != asked[2]


def test_a_baseline_is_small_readable_and_holds_no_reply(medfact: Medfact, url: str, tmp_path: Path) -> None:
    run = _run(medfact, url, "baseline:random", "--limit", 10)
    one, two = tmp_path / "one.gz", tmp_path / "two.gz"
    for file in (one, two):
        assert medfact("baseline", run, "--db", url, "-o", file).code == 0
    assert one.read_bytes() == two.read_bytes()
    header, record, *_ = (json.loads(line) for line in gzip.decompress(one.read_bytes()).splitlines())
    assert header["answers"] == 160
    assert record["run"]["model"] == "baseline:random"
    assert record["run"]["versions"]["medfact"]
    assert b'"raw"' not in gzip.decompress(one.read_bytes())


def test_mistakes_are_one_line(medfact: Medfact, url: str, tmp_path: Path) -> None:
    run = _run(medfact, url, "baseline:random", "--limit", 5)
    (tmp_path / "no.gz").write_bytes(b"no run")
    for arguments, said in (
        (("check", "baseline:random", "--against", "xyz.gz", "--db", url), "There is no file 'xyz.gz', and no run 'xyz.gz'."),
        (("check", "baseline:random", "--against", tmp_path / "no.gz", "--db", url), "no.gz"),
        (("check", "baseline:random", "--against", run, "--db", url, "--margin", "-1"), "--margin"),
        (("check", "baseline:nothing", "--against", run, "--db", url), "baseline:nothing"),
        (("check", "baseline:random", "--db", url), "--against"),
        (("baseline", "xyz", "--db", url), "no run 'xyz'"),
    ):
        done = medfact(*arguments)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert said in done.err


def test_a_comment_holds_text_of_others_as_text(medfact: Medfact, url: str, tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    rows = [f"<b>d{n}</b> @someone,symptoms,[x](http://a.example) {n}" for n in range(12)]
    facts.write_text("head,relation,tail\n" + "\n".join(rows) + "\n")
    base = _run(medfact, url, "baseline:always-true", "--facts", facts, "--negatives", 0, "--protocol", "mkj")
    done = medfact("check", "baseline:always-false", "--against", base, "--db", url, "--markdown")
    assert done.code in (1, 3)
    assert "\\<b\\>" in done.out
    assert not [mark for mark in ("<b>", " [x]", "@") if mark in done.out]
