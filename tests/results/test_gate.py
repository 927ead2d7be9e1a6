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
from scripted import Scripted, key_of

from medfact.metrics.gate import CANNOT_TELL, FAIL, PASS, Standing, verdict_of
from medfact.results.gate import gate_of, in_words, risky_facts
from medfact.results.report import board_of
from medfact.results.sides import Side
from medfact.runs.run import answer
from medfact.runs.start import start_again
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
    assert verdict_of(low, high, 0.02) == verdict


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
    signs = {key_of(one): "!" if one is silent else "+" for one in asked}
    list(answer(run, store, load=Scripted.of(run, store, signs).load))
    side = Side(store.run(run), board_of(store, run))
    passed = Standing(PASS, 0.0, -0.01, 0.01, len(asked) // 8, len(asked) // 8, 1)
    gate = gate_of((store, side), (store, base), passed, 0.02, 0, {})
    assert (gate.verdict, gate.dangerous, gate.unanswered) == (CANNOT_TELL, (), (silent.statement.fact,))
    assert (gate.asked, gate.risky) == (len(risky), len(risky))
    assert "1 fact judged false not answered" in in_words(gate)
    assert replace(gate, allowed=1).verdict == PASS, "one may be affirmed, and no more than one can have been"
    assert replace(gate, mastery=passed._replace(verdict=FAIL)).verdict == FAIL


def test_a_baseline_of_the_first_version_still_compares(medfact: Medfact, url: str) -> None:
    """Written by the commit f2ed1d65, the first with `baseline`, of a demonstration model that mastered 8 of 24 facts. Who
    always says true masters none, since half of a fact's statements are false: the 8 are lost.
    """
    file = ROOT / "tests" / "data" / "baseline_by_f2ed1d65.medfact.jsonl.gz"
    assert json.loads(gzip.decompress(file.read_bytes()).splitlines()[0])["format"] == 4
    done = medfact("check", "baseline:always-true", "--against", file, "--db", url, "--json")
    found = json.loads(done.out)
    mastery = found["mastery"]
    assert (done.code, found["verdict"], mastery["n"], mastery["of"], mastery["baseline"]) == (3, CANNOT_TELL, 24, 24, 8)
    assert (mastery["model"], len(found["lost"]), found["gained"]) == (0, 8, [])
    assert mastery["value"] == pytest.approx(-8 / 24)
    assert found["served"]["baseline"]["revision"] == "08f94bef665de1102ec9"


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
