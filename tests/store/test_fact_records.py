"""How facts are recorded: as each run describes them, and as reviewers were shown them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
import sqlalchemy as sql
from browser import serve_app
from databases import begin_transaction
from visitors import Visitor
from waiting import wait_until

from medfact.datasets import load_bundled
from medfact.exchange.rows import fact_rows
from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.reviews.transfer import rows_of
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Asked, Plan, Store, Verdict
from medfact.store.schema import record_id

FACT = Fact(
    "influenza", "symptoms", "fever", head_type="Disease", source="textbook", source_id="p. 3", strength="a", specialty="é"
)
FALSE = replace(FACT.negative("rash", "S9", 1), difficulty="near")
LONE = Fact("gout", "symptoms", "pain").negative("cough", None, 1)
READY = Fact("aspirin", "may treat", "pain", source_id="entry 7").with_ready_sentence("Aspirin may treat pain.")


def stated(*facts: Fact) -> tuple[Statement, ...]:
    return tuple(replace(load_pool("medfact"), ready={READY.fact_id: "Aspirin may treat pain."}).statements(facts))


def test_a_record_is_of_every_column_and_columns_can_be_added() -> None:
    values = {one.name: getattr(FALSE, one.name) for one in fields(Fact)}
    assert record_id(values) == record_id({**values, "added_later": None}) == "81c015cb6fcb5caaf25a0bbeb7aed2ca"
    others = {name: record_id({**values, name: 7 if name == "k" else not value if name == "positive" else f"{value}!"})
              for name, value in values.items()}  # fmt: skip
    assert len({record_id(values), *others.values()}) == 1 + len(values)


def a_run_of(store: Store, *facts: Fact) -> str:
    planned = tuple(Asked(one, "") for one in stated(*facts))
    return store.start_run(RunSpec("m"), Plan("f.csv", "f00d", "medfact", 0, planned, {}), {})


def test_verdicts_name_the_facts_as_their_reviewer_was_shown_them(either_url: str) -> None:
    """A stranger's run says "RETRACTED" of the same fact; who judged it there sees that, and nobody else does."""
    store = Store(either_url)
    theirs, here = replace(FALSE, tail="RETRACTED"), store.of("visitor")
    a_run_of(here, FACT, FALSE)
    a_run_of(store.of("stranger"), FACT, theirs)
    here.verdicts.record([Verdict("ada", FALSE.fact_id, "false")], stated(FALSE))
    store.of("stranger").verdicts.record([Verdict("eve", theirs.fact_id, "true")], stated(theirs))
    log = store.verdicts.log()
    for viewer, owners in ((here, ["visitor"]), (store.of("stranger"), ["stranger"]), (store, [])):
        own = [one for one in log if not owners or one.owner in owners]
        rows = rows_of(own, viewer.verdicts.statements_of({FALSE.fact_id}), viewer.verdicts.facts_shown(own))
        assert [row["tail"] for row in rows] == [{"visitor": "rash", "stranger": "RETRACTED"}[one.owner] for one in own]
    assert {one.fact.tail for one in here.verdicts.statements_of([FALSE.fact_id])} == {"rash"}


def test_a_verdict_out_of_a_table_is_on_the_fact_as_ones_own_runs_name_it(either_url: str) -> None:
    store = Store(either_url)
    a_run_of(store.of("stranger"), FACT, replace(FALSE, tail="RETRACTED"))
    here = store.of("visitor")
    here.verdicts.record([Verdict("ada", FALSE.fact_id, "false")])
    assert here.verdicts.log()[0].record == ""
    a_run_of(here, FACT, FALSE)
    here.verdicts.record([Verdict("ada", FALSE.fact_id, "depends")])
    assert here.verdicts.facts_shown(here.verdicts.log()[1:]).popitem()[1] == FALSE
    rows = list(
        rows_of(
            here.verdicts.log(), here.verdicts.statements_of({FALSE.fact_id}), here.verdicts.facts_shown(here.verdicts.log())
        )
    )
    assert [row["tail"] for row in rows] == ["rash", "rash"]


def test_facts_that_no_run_and_no_verdict_needs_are_erased(either_url: str) -> None:
    store = Store(either_url)
    first, second = a_run_of(store, FACT, FALSE), a_run_of(store, replace(FACT, source="another edition"), FALSE)
    store.disk.erase([first])
    assert [fact.source for fact in store.answers.facts(second)] == ["another edition", None]
    with begin_transaction(either_url) as connection:
        assert sorted(connection.execute(sql.text("SELECT source FROM facts")).scalars(), key=str) == [None, "another edition"]
    store.disk.erase([second])
    with begin_transaction(either_url) as connection:
        for table in ("facts", "run_facts", "statements"):
            assert connection.execute(sql.text(f"SELECT count(*) FROM {table}")).scalar() == 0


def test_the_year_of_a_source_is_among_the_rows_of_facts() -> None:
    rows = list(fact_rows([replace(FACT, as_of="2024"), FALSE]))
    assert [row["as_of"] for row in rows] == ["2024", None]
    assert "as_of" not in next(fact_rows([FACT, FALSE]))


# ------------------------------------------------------------------------- strangers on one server

FORGED = "RETRACTED"


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_app(tmp_path_factory.mktemp("laptop")) as address:
        yield address


def forged_table() -> bytes:
    """The bundled facts with their own names and identifiers, and so their own ids, and forged descriptions."""
    columns = ("head", "relation", "tail", "head_type", "tail_type", "head_id", "tail_id", "strength")
    rows = [[getattr(fact, name) or "" for name in columns] for fact in load_bundled("clinical-core").facts]
    text = io.StringIO()
    csv.writer(text).writerows(
        [[*columns, "source", "source_id", "specialty"], *([*row, FORGED, FORGED, FORGED] for row in rows)]
    )
    return text.getvalue().encode()


def told_of(visitor: Visitor, run: str) -> str:
    """All that pages and files say of a run."""
    told = gzip.decompress(visitor.http.get(f"/export/{run}").content).decode()
    told += json.dumps(visitor.fetch_page(run=run, tab="facts", fact=0)) + json.dumps(
        visitor.fetch_page("review", run=run, data="run")
    )
    return told + visitor.http.get(f"/download/{run}/report.html").text


def ended(visitor: Visitor, run: str) -> str:
    wait_until(lambda: "complete" in str(visitor.fetch_page("runs")["fragments"]["runs"]))
    return run


def test_a_strangers_table_changes_nothing_in_others_runs(laptop: str) -> None:
    """The stranger is first: until now, whoever came first described the facts for all."""
    with Visitor(laptop) as stranger, Visitor(laptop) as visitor:
        path = stranger.upload("facts.csv", forged_table())
        [theirs] = stranger.evaluate("baseline:random", source={"facts": path, "columns": []}, pairs=150)
        assert FORGED in told_of(stranger, ended(stranger, theirs))
        [own] = visitor.evaluate("baseline:random", pairs=150)  # more than the demonstration, which was here before
        assert FORGED not in told_of(visitor, ended(visitor, own))


def test_a_strangers_file_changes_nothing_in_others_runs(laptop: str) -> None:
    """Negatives with the ids of real ones, under a forged head: alone, with their facts, and with forged descriptions alone."""
    with Visitor(laptop) as stranger, Visitor(laptop) as visitor:
        [own] = visitor.evaluate("baseline:random", seed=7)
        before = told_of(visitor, ended(visitor, own))
        lines = [json.loads(line) for line in gzip.decompress(visitor.http.get(f"/export/{own}").content).splitlines()]
        said = {}
        for name, columns in {"head": {"head": FORGED}, "source": {"source": FORGED, "specialty": FORGED}}.items():
            forged = json.loads(json.dumps(lines).replace(own, own[::-1]))
            for line in forged:
                if "statement" in line and not line["statement"]["positive"]:
                    line["statement"] |= columns
            data = gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in forged))
            said[name] = str(
                stranger.press_button("bring", stranger.upload("run.gz", data), page_name="runs")["fragments"]["said"]
            )
        assert "is no negative of its fact" in said["head"]
        assert "Imported" in said["source"]
        assert FORGED in told_of(stranger, own[::-1])
        assert FORGED not in told_of(visitor, own)
        assert gzip.decompress(visitor.http.get(f"/export/{own}").content).decode() in before
        [later] = visitor.evaluate("baseline:random", seed=7)
        assert FORGED not in told_of(visitor, ended(visitor, later))
