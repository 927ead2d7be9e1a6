"""A run that came from a file: whoever sees a figure of it sees that it was not measured here."""

from __future__ import annotations

import gzip
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import app_fixture
from visitors import Visitor

from medfact import notebook
from medfact.exchange import export_run, import_run
from medfact.results.compare import comparison, sides_of
from medfact.results.report import report_of
from medfact.results.text import latex_tables
from medfact.results.wording import FROM_FILE, names_of_runs, run_name
from medfact.runs.run import run as ask
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.views.score_card import make_score_card

NAMES = ["", "GPT-5 " + "measured here " * 12, "GPT-5 \u202e", "GPT-5\n\n\n\n   ", "GPT-5 (from a file) \u2067"]
"""None, a long one, one that turns what follows round, one that puts it on other lines, one that claims it already."""


@dataclass(frozen=True)
class Two:
    """A store with a run that was measured there, and one of which a file says that all is right."""

    store: Store
    own: str
    forged: str


def forged_file(folder: Path, name: str) -> tuple[str, bytes]:
    other = Store(f"sqlite:///{folder / 'other.db'}")
    list(ask(RunSpec(model="baseline:always-true", limit=6, shots=0), other))
    run = other.runs()[-1].run
    file = io.BytesIO()
    export_run(other, run, file)
    lines = [json.loads(line) for line in gzip.decompress(file.getvalue()).splitlines()]
    lines[1]["run"] |= {"model": "openai:gpt-5", "name": name} if name else {"model": "openai:gpt-5"}
    lines[1]["run"]["spec"]["model"] = "openai:gpt-5"
    right = {}
    for line in lines[1:]:
        if "statement" in line:
            one = line["statement"]
            right[one["statement_id"]] = one["positive"] != one["variant"].endswith("dn")
        elif "answer" in line:
            line["answer"]["answer"] = right[line["answer"]["statement_id"]]
    return run, gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


@pytest.fixture(params=NAMES, ids=["unnamed", "long", "turned", "lines", "claimed"])
def two(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Two:
    list(ask(RunSpec(model="baseline:always-true", limit=6, shots=0), store))
    run, data = forged_file(tmp_path, request.param)
    import_run(store, io.BytesIO(data), "run.jsonl.gz")
    return Two(store, store.runs()[0].run, run)


def lines_with(text: str, *words: str) -> list[str]:
    return [line for line in text.splitlines() if any(word in line for word in words)]


def test_every_name_ends_with_the_mark_and_no_name_hides_it(two: Two) -> None:
    own, forged = two.store.run(two.own), two.store.run(two.forged)
    for name in (run_name(forged), run_name(forged, 60), names_of_runs([own, forged])[1], names_of_runs([forged])[0]):
        assert name.endswith(f" ({FROM_FILE})")
        assert name.isprintable()
    assert len(run_name(forged, 60)) < 80
    assert FROM_FILE not in run_name(own) + names_of_runs([own, forged])[0]


def test_the_command_line_says_so_beside_every_figure(two: Two, medfact: Callable[..., Any], tmp_path: Path) -> None:
    own, forged, db = two.own, two.forged, ("--db", two.store.url)
    assert [row["imported"] for row in medfact("runs", *db).rows] == [False, True]
    shown = medfact("report", own, forged, *db).out
    assert [FROM_FILE in line for line in lines_with(shown, f"run {own}", f"run {forged}")] == [False, True]
    assert [json.loads(line)["imported"] for line in medfact("report", own, forged, "--json", *db).out.splitlines()] == [
        False,
        True,
    ]
    compared = medfact("compare", own, forged, *db).out
    assert len(lines_with(compared, forged[:8])) >= 4
    assert all(FROM_FILE in line for line in lines_with(compared, forged[:8]))
    record = json.loads(medfact("compare", own, forged, "--json", *db).out)
    assert [one["imported"] for one in record["runs"]] == [False, True]
    assert FROM_FILE in json.dumps(record["over_models"])
    assert FROM_FILE in medfact("card", forged, *db).out.partition("---\n\n")[0]
    assert FROM_FILE in medfact("card", forged, *db).out.partition("---\n\n")[2].replace("\\", "")
    assert FROM_FILE not in medfact("card", own, *db).out
    latex = medfact("report", own, forged, "--latex", *db).out
    assert latex.count(FROM_FILE) >= 3
    assert re.search(rf"We asked always says true [^.]*, gpt-5 \({FROM_FILE}\)", " ".join(latex.split()))
    assert medfact("report", own, forged, "--html", tmp_path / "report.html", *db).code == 0
    report = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert report.count(FROM_FILE) > 10
    rows = medfact("tables", own, forged, *db).rows
    assert {FROM_FILE in row["model"] for row in rows if row["from"] == "run" and "gpt-5" in row["model"]} <= {True}
    names = tmp_path / "names.csv"
    names.write_text(
        "term,count\n" + "\n".join(f'"{fact.head}",7' for fact in two.store.answers.facts(forged)), encoding="utf-8"
    )
    assert FROM_FILE in medfact("rarity", forged, "--frequencies", names, *db).out.splitlines()[0]


def test_the_cards_say_so_where_the_name_stands(two: Two) -> None:
    for runs in ([two.own], [two.forged], [two.own, two.forged]):
        records = [two.store.run(run) for run in runs]
        compared = comparison(sides_of(two.store, runs)) if len(runs) == 2 else None
        card = make_score_card(records, [report_of(two.store, record) for record in records], compared)
        forged = int(two.forged in runs)
        assert len(re.findall(rf"\({FROM_FILE}\)</text>", card.svg)) == forged
        assert card.alt_text.count(f"({FROM_FILE}): ") >= forged
        assert (FROM_FILE in card.alt_text) == bool(forged)


def test_a_notebook_says_so(two: Two) -> None:
    opened = notebook.open_run(two.forged, two.store.url)
    compared = notebook.compare(two.own, two.forged, db=two.store.url)
    for text in (
        str(opened.report()),
        repr(opened.report()),
        opened._repr_html_(),
        str(compared),
        compared._repr_html_(),
        repr(opened),
    ):
        assert FROM_FILE in text
    assert set(opened.report().frame()["imported"]) == {True}
    assert opened.report().record()["imported"] is True
    assert FROM_FILE in latex_tables(compared.scores.named)
    assert any(FROM_FILE in str(trace.name) for trace in compared.figure("ways of asking").data)


laptop = app_fixture("app_home")


def test_every_page_says_so(laptop: str, tmp_path: Path) -> None:
    with Visitor(laptop) as visitor:
        [own] = visitor.evaluate("baseline:always-true")
        forged, data = forged_file(tmp_path, "GPT-5")
        assert FROM_FILE in str(
            visitor.press_button("bring", visitor.upload("run.gz", data), page_name="runs")["fragments"]["said"]
        )
        both = f"{own},{forged}"
        for page, show, least in (
            ("runs", {}, 2),
            ("evaluate", {"run": forged}, 2),
            ("evaluate", {"run": both, "tab": "scores"}, 2),
            ("evaluate", {"run": both, "tab": "probabilities"}, 1),
            ("evaluate", {"run": both, "tab": "statistics"}, 4),
        ):
            shown = {name: str(fragment) for name, fragment in visitor.fetch_page(page, **show)["fragments"].items()}
            assert sum(fragment.count(FROM_FILE) for fragment in shown.values()) >= least, (page, show)
        assert FROM_FILE in visitor.http.get(f"/download/{both}/report.html").text
        assert f"({FROM_FILE}): " in visitor.http.get(f"/download/{forged}/card.txt").text
        scores = visitor.http.get(f"/download/{both}/scores.csv").text.splitlines()
        assert "imported" in scores[0]
        assert {"true" in line.lower() for line in scores[1:] if line.startswith(forged)} == {True}
