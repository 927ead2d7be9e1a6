"""What people have said is theirs to erase, on the page and on the command line; and there is only so much room for it."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import disable_rate_limits, module_folder_fixture, serve_app
from strangers import open_store, wait_for_run_end
from visitors import Visitor, visitor_fixture

from medfact.curation.checks import ACCEPTED
from medfact.facts import Fact
from medfact.reviews.verdicts import FALSE, TRUE
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Candidate, CurationDecision, PrototypeEdit, Store, Verdict
from medfact.store.contributions import DECISIONS, EDITS, FACT_BYTES, GAMES, KINDS, VERDICTS

ADA, BEN = "a" * 32, "b" * 32


home = module_folder_fixture()


@pytest.fixture(scope="module")
def public_url(home: Path) -> Iterator[str]:
    """A public server that counts no requests and keeps little of what is said."""
    with serve_app(home, **disable_rate_limits(home, visitor={"said_megabytes": 0.1})) as address:
        (run,) = (one.run for one in open_store(home).runs("demonstration"))
        wait_for_run_end(home, run)
        yield address
    assert "Traceback" not in (home / "log.txt").read_text()


visitor = visitor_fixture("public_url")


def judge(visitor: Visitor, comment: str, place: int = 0) -> dict[str, Any]:
    shown = visitor.fetch_page("review", reviewer="ada", place=place)["fragments"]["fact"]
    fact = re.search(r'data-timed="(\w+)"', shown)
    assert fact
    fields = {"verdict": "true", "comment": comment}
    return visitor.press_button("judge", fact[1], page_name="review", reviewer="ada", place=place, fields=fields)


def edit(visitor: Visitor, sentence: str) -> dict[str, Any]:
    seen = visitor.fetch_page("studio", relation="symptoms")["show"]
    show = {"relation": "symptoms", **seen, "s0": sentence}
    answer = visitor.http.post("/updates", json={"page": "studio", "show": show, "action": {"name": "save"}})
    return dict(answer.json())


def play(visitor: Visitor) -> dict[str, Any]:
    return visitor.press_button("game_done", "1", page_name="game", game=1)


def bytes_on_disk(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.glob("medfact.db*"))


# ------------------------------------------------------------------------- on the page


def test_a_visitor_erases_what_was_said_and_nobody_elses_goes(public_url: str, home: Path, visitor: Visitor) -> None:
    mark, sentence, theirs = (f"mark-{secrets.token_hex(6)}" for _ in range(3))
    judge(visitor, mark)
    edit(visitor, f"[X] has [Y], {sentence}.")
    play(visitor)
    visitor.press_button("reject", "abc:some tail", page_name="facts")
    with Visitor(public_url) as other:
        judge(other, theirs)
        own = open_store(home, visitor.owner)
        assert {one.queue for one in own.verdicts.log(owners=[visitor.owner])} == {"random", "game"}
        assert mark.encode() in bytes_on_disk(home)
        unsure = visitor.press_button("erase", VERDICTS, page_name="review")
        assert "Tick the box first" in unsure["fragments"]["said"]
        assert own.verdicts.log(owners=[visitor.owner])
        erased = visitor.press_button("erase", VERDICTS, page_name="review", fields={"sure": "yes"})
        assert "Your verdicts and comments are erased" in erased["fragments"]["said"]
        assert {one.queue for one in own.verdicts.log(owners=[visitor.owner])} == {"game"}
        assert mark.encode() not in bytes_on_disk(home), "nor is it in a file of the database"
        assert (
            "are erased"
            in visitor.press_button("erase", GAMES, page_name="game", game=1, fields={"sure": "yes"})["fragments"]["said"]
        )
        assert (
            "are erased"
            in visitor.press_button("erase", EDITS, page_name="studio", fields={"sure": "yes"})["fragments"]["said"]
        )
        assert (
            "are erased"
            in visitor.press_button("erase", DECISIONS, page_name="facts", fields={"sure": "yes"})["fragments"]["said"]
        )
        assert (
            own.verdicts.log(owners=[visitor.owner]) == own.prototype_edits.log("medfact") == own.decisions.on_partners() == []
        )
        assert theirs in str(open_store(home).verdicts.log(owners=[other.owner]))
    assert (
        "nothing of yours"
        in visitor.press_button("erase", EDITS, page_name="studio", fields={"sure": "yes"})["fragments"]["said"]
    )
    assert (
        "no such thing to erase"
        in visitor.press_button("erase", "runs", page_name="review", fields={"sure": "yes"})["fragments"]["said"]
    )
    told = json.dumps([visitor.fetch_page(page) for page in ("review", "studio", "facts", "evaluate")])
    assert mark not in told
    assert sentence not in told
    assert visitor.http.get("/download/reviews/verdicts.csv").status_code == 404


def test_nobody_without_a_cookie_erases_anything(public_url: str, home: Path) -> None:
    before = len(open_store(home).verdicts.log())
    with Visitor(public_url) as program:
        program.http.cookies.clear()
        assert (
            "needs a cookie"
            in program.press_button("erase", VERDICTS, page_name="review", fields={"sure": "yes"})["fragments"]["said"]
        )
    assert len(open_store(home).verdicts.log()) == before


def test_figures_do_not_count_what_is_erased(tmp_path: Path) -> None:
    """Not even where the last verdict has the number of an erased one."""
    with serve_app(tmp_path) as url, Visitor(url) as visitor:
        store = open_store(tmp_path)
        (run,) = (one.run for one in store.runs("demonstration"))
        wait_for_run_end(tmp_path, run)
        facts = list({item.statement.fact.fact_id for item in store.answers.asked(run)})
        own = store.of(visitor.owner)

        def figures() -> str:
            shown = str(visitor.fetch_settled_page(run=run)["fragments"]["tab"])
            return shown.partition("<h2>Under review</h2>")[2]

        own.verdicts.record([Verdict("ada", fact, TRUE) for fact in facts[:2]])
        assert "2 facts judged by 1 reviewer" in figures()
        visitor.press_button("erase", VERDICTS, page_name="review", fields={"sure": "yes"})
        assert "judged by" not in figures()
        own.verdicts.record([Verdict("ada", fact, TRUE) for fact in facts[:3]])
        assert "3 facts judged by 1 reviewer" in figures()
        assert "all facts, under the reviewers&#39; truth" in figures()
        assert "not yet: the facts drawn so far are of fewer than ten conditions" in figures()
        visitor.press_button("erase", VERDICTS, page_name="review", fields={"sure": "yes"})
        own.verdicts.record([Verdict(name, facts[0], TRUE) for name in ("ada", "ben", "eve")])
        assert "1 fact judged by 3 reviewers" in figures()


# ------------------------------------------------------------------------- room


def test_there_is_only_so_much_room_for_what_is_said(visitor: Visitor, home: Path) -> None:
    """Verdicts, edits, rejections and answers in the game: what does not fit is refused in a sentence, until some is erased."""
    full = "What you have said here takes 0.1 MB, which is the most on this server."

    def size() -> int:
        return open_store(home).contributions.bytes(visitor.owner)[visitor.owner]

    for place in range(12):
        if full in str(judge(visitor, "x" * 15_000, place)["fragments"]["said"]):
            break
    assert 60_000 < size() <= 100_000
    open_store(home, visitor.owner).prototype_edits.record(
        [PrototypeEdit("medfact", "symptoms", "none", "x" * (99_500 - size()))]
    )
    before = size()
    assert 99_000 < before <= 100_000
    for refused in (
        judge(visitor, "short", 11)["fragments"]["said"],
        edit(visitor, "[X] surely has [Y].")["fragments"]["said"],
        visitor.press_button("reject", "abc:" + "y" * 1_900, page_name="facts")["fragments"]["said"],
        play(visitor)["fragments"]["said"],
    ):
        assert full in str(refused)
    assert size() == before
    visitor.press_button("erase", VERDICTS, page_name="review", fields={"sure": "yes"})
    judge(visitor, "again")
    assert [one.comment for one in open_store(home).verdicts.log(owners=[visitor.owner])] == ["again"]


def test_long_names_are_no_way_to_more_room(visitor: Visitor) -> None:
    rows = "".join(f"{'disease ' * 110}{n},symptoms,{'sign ' * 190}{n}\n" for n in range(14))
    path = visitor.upload("long.csv", f"head,relation,tail\n{rows}".encode())
    visitor.press_button("take_file", path)
    shown = visitor.fetch_page("review", reviewer="ada", data="own")["fragments"]["fact"]
    fact = re.search(r'data-timed="(\w+)"', shown)
    assert fact
    said = visitor.press_button("judge", fact[1], page_name="review", reviewer="ada", data="own", fields={"verdict": "true"})
    assert "too long to be kept with a verdict" in said["fragments"]["said"]


def test_false_facts_of_a_file_count_as_pairs(public_url: str) -> None:
    """60 true facts with 40 false ones each are as many as 1,230 pairs, less what is kept aside, whatever is chosen."""
    for false, refused in ((40, True), (1, False)):
        rows = [f"disease {n},symptoms,sign {n},true\n" for n in range(60)]
        rows += [f"disease {n},symptoms,no sign {n} {k},false\n" for n in range(60) for k in range(false)]
        with Visitor(public_url) as visitor:
            path = visitor.upload("many.csv", f"head,relation,tail,positive\n{''.join(rows)}".encode())
            said = visitor.evaluate("baseline:random", source={"facts": path, "columns": []}, pairs=60)
            if refused:
                assert re.search(r"1,[12]\d\d true facts are chosen. Choose at most 1,000 on this server", str(said)), said
            else:
                assert isinstance(said, list), said


# ------------------------------------------------------------------------- in the database


def said(store: Store, owner: str, reviewer: str, fact: Fact, statement: Statement, comment: str = "a comment") -> None:
    own = store.of(owner)
    own.verdicts.record([Verdict(reviewer, fact.fact_id, TRUE, comment=comment)], [statement])
    own.verdicts.record([Verdict("visitor", fact.fact_id, FALSE, statement_id=statement.statement_id, queue="game")])
    own.prototype_edits.record([PrototypeEdit("medfact", "symptoms", "none", "[X] shows [Y].", reviewer)])
    own.decisions.reject(fact.fact_id, "tail", "true")
    own.decisions.decide_on_draft("0" * 32, "symptoms", True, {"none": "[X] shows [Y]."})


def a_statement(name: str) -> Statement:
    fact = Fact(head=f"disease {name}", relation="symptoms", tail=f"sign {name}", positive=True)
    return Statement(fact, "medfact", "none", f"Disease {name} shows sign {name}.", "prototype")


def test_each_kind_of_each_owner_is_erased_by_itself(fresh: Callable[[], str]) -> None:
    store = Store(fresh())
    one = a_statement("one")
    proposal = Candidate("disease one", "symptoms", "sign one", "Disease one shows sign one.")
    curation = store.of(BEN).curations.begin("wards", "notes.csv", [proposal], 2, {}).curation
    for owner in (ADA, BEN):
        said(store, owner, "ada" if owner == ADA else "ben", one.fact, one)
        store.of(owner).curations.record(curation, [CurationDecision("ada" if owner == ADA else "ben", 0, ACCEPTED)])
    assert [store.of(ADA).contributions.erase([kind]) for kind in KINDS] == [1, 1, 1, 2, 1]
    assert store.contributions.bytes(ADA) == {}
    assert len(store.verdicts.log()) == 2
    assert store.of(BEN).prototype_edits.log("medfact")
    assert store.of(BEN).decisions.on_partners()
    assert store.of(BEN).decisions.draft_decisions("0" * 32)
    assert store.verdicts.statements_of([one.fact.fact_id]), "somebody else has judged it"
    assert [one.reviewer for one in store.curations.log(curation)] == ["ben"]
    assert store.of(BEN).contributions.erase() == 6
    assert store.verdicts.statements_of([one.fact.fact_id]) == [], "it was kept because it was judged"


def test_what_a_run_asks_stays_whoever_judged_it(store: Store) -> None:
    run = start(RunSpec(model="baseline:random", limit=2, shots=0), store)
    statement = next(iter(store.answers.asked(run))).statement
    said(store, ADA, "ada", statement.fact, statement)
    store.of(ADA).contributions.erase()
    assert len(list(store.answers.asked(run))) == 32
    assert store.verdicts.statements_of([statement.fact.fact_id])


def test_bytes_are_counted_whatever_the_letters(fresh: Callable[[], str]) -> None:
    store = Store(fresh())
    one = a_statement("one")
    store.of(ADA).verdicts.record([Verdict("ada", one.fact.fact_id, TRUE, comment="ü" * 10_000)])
    assert 20_000 + FACT_BYTES < store.contributions.bytes(ADA)[ADA] < 21_000 + FACT_BYTES
    store.of(BEN).prototype_edits.record([PrototypeEdit("medfact", "symptoms", "none", "x" * 1_000)])
    assert 1_000 < store.contributions.bytes(BEN)[BEN] < 1_500
    assert set(store.contributions.bytes()) == {ADA, BEN}


def test_the_version_of_the_log_changes_with_every_change(store: Store) -> None:
    statements = [a_statement(name) for name in ("one", "two", "three")]
    versions = [store.verdicts.version()]
    for one in statements:
        store.of(ADA).verdicts.record([Verdict("ada", one.fact.fact_id, TRUE)])
        versions.append(store.verdicts.version())
    store.of(BEN).verdicts.record([Verdict("ben", statements[0].fact.fact_id, TRUE)])
    versions.append(store.verdicts.version())
    store.of(ADA).contributions.erase()
    versions.append(store.verdicts.version())
    assert len(set(versions)) == len(versions)


# ------------------------------------------------------------------------- on the command line


def test_the_command_line_erases_by_name_and_by_browser(store: Store, url: str, medfact: Any) -> None:
    one, two = a_statement("one"), a_statement("two")
    said(store, ADA, "Dr Ada", one.fact, one, "only hers")
    said(store, BEN, "Dr Ben", two.fact, two, "only his")
    rows = medfact("reviews", "--db", url).rows
    browser = next(row["browser"] for row in rows if row["reviewer"] == "Dr Ben")
    done = medfact("reviews", "--erase", "Dr Ada", "--db", url)
    assert (done.code, "2 rows erased of what Dr Ada said" in done.err) == (0, True)
    assert {row["reviewer"] for row in medfact("reviews", "--db", url).rows} == {"Dr Ben", "visitor"}
    assert medfact("reviews", "--erase", browser, "--db", url).code == 0
    assert {row["browser"] for row in medfact("reviews", "--db", url).rows} != {browser}
    assert store.of(BEN).prototype_edits.log("medfact") == []
    everybody = medfact("reviews", "--erase", "visitor", "--db", url)
    assert (everybody.code, "Everybody who plays is called 'visitor'" in everybody.err) == (2, True)
    for who in ("Dr Ada", browser, "nobody", ""):
        again = medfact("reviews", "--erase", who, "--db", url)
        if who:
            assert (again.code, "Nothing was said by" in again.err) == (2, True)
            assert len(again.err.strip().splitlines()) == 1
