"""The gallery: places by hand, groups that were asked the same, who may publish, and what another visitor sees."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import module_folder_fixture, serve_app
from recorded import complete_run
from small_facts import make_fact_rows, write_csv
from visitors import Visitor

from medfact.exchange import export_run, import_run
from medfact.metrics.comparison import Place, places
from medfact.results.compare import Comparisons, Side, comparison, sides_of
from medfact.results.gallery import Group, Shown, gallery, told_apart
from medfact.results.live import Reports
from medfact.results.report import board_of, report_of
from medfact.runs.jobs import Jobs
from medfact.spec import RunSpec
from medfact.store import STOPPED, Store
from medfact.web.pages import Visitor as Looking
from medfact.web.pages import published as page
from medfact.web.services import Services
from medfact.web.upload_gate import NotNow


def test_places_by_hand() -> None:
    a, b, c = range(3)
    assert places(3, []) == [Place(1, 3)] * 3  # nothing is shown: all share the first place
    assert places(3, [(a, b), (a, c), (b, c)]) == [Place(1, 1), Place(2, 2), Place(3, 3)]
    # not transitive: A beats C, and B is told apart from neither
    assert places(3, [(a, c)]) == [Place(1, 2), Place(1, 3), Place(2, 3)]
    # two of four are better than the third: it is third, and so may the fourth be anything
    assert places(4, [(a, c), (b, c)]) == [Place(1, 3), Place(1, 3), Place(3, 4), Place(1, 4)]
    assert places(2, [(b, a), (b, a)]) == [Place(2, 2), Place(1, 1)]
    assert places(0, []) == []


@pytest.fixture
def facts(tmp_path: Path) -> str:
    return str(write_csv(tmp_path / "many.csv", make_fact_rows()))


def asked(store: Store, **spec: Any) -> str:
    return complete_run(RunSpec(**{"shots": 0, **spec}), store)


def groups_of(store: Store) -> list[Group]:
    return gallery(
        [
            Shown(one, Side(store.run(one.run), board_of(store, one.run)), report_of(store, store.run(one.run)))
            for one in store.publications.published()
        ]
    )


def test_only_runs_that_were_asked_the_same_are_ranked_together(store: Store, facts: str) -> None:
    of = {
        "tail": asked(store, model="baseline:tail", facts=facts),
        "cue": asked(store, model="baseline:negation-cue", facts=facts),
        "fewer": asked(store, model="baseline:negation-cue", facts=facts, limit=12),
        "other seed": asked(store, model="baseline:negation-cue", facts=facts, seed=1),
    }
    for name, run in of.items():
        store.publications.publish(run, name)
    groups = groups_of(store)
    first, *others = [sorted(entry.name for entry in group.entries) for group in groups]
    assert first == ["cue", "tail"]
    assert sorted(others) == [["fewer"], ["other seed"]]
    assert [entry.place is None for entry in groups[1].entries] == [True]  # alone there is nothing to rank
    assert groups[0].by == "pair_joint_accuracy"


def test_a_run_is_better_where_the_comparison_shows_it(store: Store, facts: str) -> None:
    runs = [asked(store, model=f"baseline:{name}", facts=facts) for name in ("tail", "negation-cue", "random")]
    sides = sides_of(store, runs)
    for by in ("pair_joint_accuracy", "joint_accuracy"):
        pairs = [pair for pair in comparison(sides).pairs if pair.metric == by]
        expected = {
            (runs.index(pair.a), runs.index(pair.b))[:: 1 if pair.value and pair.value > 0 else -1]
            for pair in pairs
            if pair.is_shown
        }
        assert set(told_apart(sides, by)) == expected
    # half of all facts right, but no pair: first by facts, and nowhere by pairs
    assert any(better == 1 for better, _ in told_apart(sides, "joint_accuracy"))
    assert not any(better == 1 for better, _ in told_apart(sides, "pair_joint_accuracy"))


def test_what_is_not_complete_or_from_a_file_is_marked(store: Store, facts: str, tmp_path: Path) -> None:
    whole, stopped = (asked(store, model="baseline:negation-cue", facts=facts) for _ in range(2))
    store.set_state(stopped, STOPPED)
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    with (tmp_path / "run.gz").open("wb") as file:
        export_run(store, whole, file)
    with (tmp_path / "run.gz").open("rb") as file:
        again = import_run(other, file, "run.gz")
    for run in (whole, stopped):
        store.publications.publish(run, "the same name")
    (group,) = groups_of(store)
    assert [entry.place for entry in group.entries] == [None, None]  # one complete run has nothing to be ranked against
    marks = {entry.run.run: entry.marks for entry in group.entries}
    total = store.run(stopped).statements
    assert marks == {whole: (), stopped: (f"stopped by hand, {total} of {total} statements asked: not ranked",)}
    store.set_state(stopped, STOPPED, "The budget is spent.")
    assert {mark for entry in groups_of(store)[0].entries for mark in entry.marks} == {
        f"stopped, {total} of {total} statements asked: not ranked"
    }
    assert {entry.name for entry in group.entries} == {f"the same name ({run[:8]})" for run in (whole, stopped)}
    other.publications.publish(again, "elsewhere")
    assert groups_of(other)[0].entries[0].marks == ("from a file",)


def test_publishing_naming_again_and_withdrawing(medfact: Callable[..., Any], store: Store, url: str, facts: str) -> None:
    run = asked(store, model="baseline:random", facts=facts)
    done = medfact("publish", run[:8], "--db", url)
    assert done.code == 0
    assert "as “a coin”" in done.err
    assert "facts come from a file of their own (many.csv)" in done.err
    assert medfact("publish", run, "--name", "a\n  fair   coin", "--db", url).code == 0
    (row,) = medfact("publish", "--db", url).rows
    assert (row["run"], row["name"]) == (run, "a fair coin")
    store.describe(run, name="something else", note=None)  # its owner cannot change what it is called there
    assert [one.name for one in store.publications.published()] == ["a fair coin"]
    store.delete(run)
    assert store.publications.published() == []
    store.restore(run)
    assert len(store.publications.published()) == 1
    assert medfact("publish", run, "--withdraw", "--db", url).code == 0
    assert store.publications.published() == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["RUN", "--withdraw"], "is not published"),
        (["--withdraw"], "No run is named"),
        (["--name", "x"], "A name is for one run"),
        (["ffffffff"], "ffffffff"),
    ],
)
def test_a_mistake_is_one_line(
    medfact: Callable[..., Any], store: Store, url: str, facts: str, arguments: list[str], says: str
) -> None:
    run = asked(store, model="baseline:random", facts=facts)
    done = medfact("publish", *[run if one == "RUN" else one for one in arguments], "--db", url)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert store.publications.published() == []


home = module_folder_fixture()


def published_in(visitor: Visitor) -> str:
    """The published runs, as their link opens them."""
    answer = visitor.http.post("/updates", json={"page": "runs", "address": "?of=published"}).json()
    return str(answer["fragments"]["runs"])


def test_a_visitor_sees_what_is_published_and_publishes_nothing(home: Path) -> None:
    store = Store(f"sqlite:///{home / 'medfact.db'}")
    shown = [asked(store, model=f"baseline:{name}", limit=20) for name in ("negation-cue", "random")]
    hidden = asked(store, model="baseline:always-true", limit=20)
    with serve_app(home, MEDFACT_PUBLIC="1") as address, Visitor(address) as visitor:
        assert visitor.fetch_page("runs")["fragments"]["whose"] == "", "no link where nothing is published"
        assert "No runs are published yet" in published_in(visitor)
        for name in ("publish", "withdraw", "save", "delete"):
            visitor.press_button(name, hidden, page_name="runs", fields={"name": "mine"})
        for path in ("/publish", f"/publish/{hidden}", f"/gallery/{hidden}"):
            assert visitor.http.post(path, json={"run": hidden}).status_code == 404
            assert visitor.http.put(path, json={"run": hidden}).status_code == 404
        assert store.publications.published() == []
        for run in shown:
            store.publications.publish(run, "<b>bold</b>" if run == shown[0] else "plain")
        after = published_in(visitor)
        assert set(re.findall(r'data-run="(\w+)"', after)) == set(shown)
        assert hidden not in after
        assert "&lt;b&gt;bold&lt;/b&gt;" in after
        assert "<b>bold" not in after
        assert "1 (shared)" in after
        assert "too few" not in after
        card = visitor.http.get(f"/download/{shown[0]}/card.svg")
        assert (card.status_code, card.headers["content-type"].partition(";")[0]) == (200, "image/svg+xml")
        words = visitor.http.get(f"/download/{','.join(shown)}/card.txt")
        assert "Not a measure of clinical competence." in words.text
        for path in (f"{shown[0][:8]}/card.svg", f"{'f' * 32}/card.svg", f"{','.join([*shown, hidden])}/card.svg"):
            assert visitor.http.get(f"/download/{path}").status_code == 404
        assert visitor.http.get(f"/download/{shown[0]}/card.png").status_code in {404, 422}


def test_a_gallery_that_is_put_together_holds_no_thread_for_long(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    visitor = Looking(Services(store, jobs, reports, Comparisons(store, reports)), "a" * 32, ("a" * 32,), "")
    monkeypatch.setattr(page, "WAIT_SECONDS", 0.1)
    looks: list[object] = []
    monkeypatch.setattr(page, "_published", lambda _: looks.append(None) or [])
    with page._alone.acquire(), pytest.raises(NotNow, match="The published runs are being compared"):
        page.published(visitor)
    assert looks == [], "who waits looks at nothing yet"
    assert "No runs are published yet" in page.published(visitor)[0]
    jobs.close()
