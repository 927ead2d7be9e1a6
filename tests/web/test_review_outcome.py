"""The end of a packet: what it shows of labels, colleagues, models and scores, to whom; and the link to a colleague."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import segno
from recorded import complete_run

from medfact.reviews.invitations import MOST_OPEN, invitation_of, invitations, invite
from medfact.reviews.verdicts import CHOSEN, CONTESTED, RANDOM
from medfact.spec import RunSpec
from medfact.web.pages import Action, Message, View, Visitor
from medfact.web.pages.review import PAGE, ReviewShow
from medfact.web.pages.review_material import of_runs
from medfact.web.services import Services
from medfact.web.visitors import owners_reviewing

HERE = "https://facts.example.org/review/"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDFACT_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def cue(services: Services) -> str:
    """Ten pairs of a rule that says "true unless denied": it masters all true facts, and no false one."""
    return complete_run(RunSpec(model="baseline:negation-cue", limit=10, shots=0), services.store)


@pytest.fixture
def person(services: Services) -> Visitor:
    return Visitor(services, "browser", ("browser",), "")


def words(fragment: object) -> str:
    """The text of a fragment."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", str(fragment)))).replace(" ,", ",")


def press(visitor: Visitor, show: ReviewShow, button: str, about: str = "", /, **fields: str) -> tuple[ReviewShow, Message]:
    return PAGE.actions[button](visitor, show, Action(button, about, fields))


def look(visitor: Visitor, show: ReviewShow) -> View:
    return PAGE.view(visitor, show)


def shown(name: str, **fields: Any) -> ReviewShow:
    return ReviewShow.model_validate({"reviewer": name, **fields})


def review(visitor: Visitor, show: ReviewShow, verdicts: Sequence[str], button: str = "judge") -> View:
    """The page after these verdicts on the facts that come up, one after the other."""
    view = look(visitor, show)
    for verdict in verdicts:
        (fact,) = re.findall(r'data-timed="(\w+)"', str(view.fragments["fact"]))
        fields = {"button": verdict} if button == "all_fine" else {"verdict": verdict}
        view = look(visitor, press(visitor, view.show, button, fact, seconds="1", **fields)[0])  # type: ignore[arg-type]
    return view


def labels(visitor: Visitor, run: str) -> list[bool]:
    """Whether the facts of a run hold, in the order of the queue."""
    return [fact.positive for fact in of_runs(visitor, run).facts]


def said(*truths: bool) -> list[str]:
    return ["true" if truth else "false" for truth in truths]


def test_two_clinicians_and_a_careless_one(person: Visitor, cue: str) -> None:
    """A errs on fact 1 and B on facts 1 and 3 of the first ten; C presses "True, all 8 fine" ten times, a second each.

    Of fact 1 all three, or two of them, hold the other label; of fact 3 two do if it is false, else B alone. The rule masters a
    fact if and only if it is true, so that its score by the reviewers is the share of the 20 facts that they hold true.
    """
    label = labels(person, cue)
    ten = label[:10]
    a = [not ten[0], *ten[1:]]
    b = [not ten[0], ten[1], not ten[2], *ten[3:]]
    c = [True] * 10
    held = [2 * (x + y + z) > 3 for x, y, z in zip(a, b, c, strict=True)] + label[10:]
    wrong = sum(x != y for x, y in zip(held, label, strict=True))
    disputed = sum(len({x, y, z}) > 1 for x, y, z in zip(a, b, c, strict=True))
    first = words(review(person, shown("Dr A", run=cue), said(*a)).fragments["fact"])
    assert f"All sentences as labelled, of 10 facts: you 9, true unless denied {sum(ten)}" in first
    assert "You and the labels differ on 1: fact 1 " in first
    assert "Dr B" not in first
    second = words(review(person, shown("Dr B", run=cue), said(*b)).fragments["fact"])
    assert "of 10 facts: you 8," in second
    assert "You and the labels differ on 2: fact 1, fact 3 " in second
    assert "You and Dr A differ on 1 of 10 facts that both judged: fact 3 " in second
    last = words(review(person, shown("C", run=cue), said(*c), "all_fine").fragments["fact"])
    assert "10 facts of this packet reviewed: 10 true. It took 10 s." in last
    assert f"of 10 facts: you {sum(ten)}," in last
    for name, verdicts in (("Dr A", a), ("Dr B", b)):
        differ = [number for number, verdict in enumerate(verdicts, 1) if not verdict]
        told = ", ".join(f"fact {number}" for number in differ)
        assert f"You and {name} differ on {len(differ)} of 10 facts that both judged: {told} " in last
    score = re.findall(r"all answers right: ([\d.]+)% .*? of 20 facts as labelled, ([\d.]+)% .*? of 20 by", last)
    assert score == [("50.0", f"{100 * sum(held) / 20:.1f}")], "ten of the 20 facts are true as labelled"
    assert f"(Reviewers call {wrong} of 10 facts wrong and disagree about {disputed})" in last
    assert f'href="evaluate?run={cue}"' in str(look(person, shown("C", run=cue, place=10, ended=True)).fragments["fact"])


def test_false_facts_bear_their_mark_with_the_true_one_beside_and_its_source(person: Visitor, cue: str) -> None:
    end = str(review(person, shown("A", run=cue), ["cannot"] * 10).fragments["fact"])
    facts = of_runs(person, cue).facts
    true = {fact.fact_id: fact for fact in facts}
    for number, fact in enumerate(facts[:10], 1):
        row = words(re.findall(rf'<li data-key="row-{number}">(.*?)</li>', end, re.DOTALL)[0])
        partner = true[fact.negative_of or fact.fact_id]
        assert row.startswith(f" {'true' if fact.positive else 'FALSE (test statement)'} {fact.head}")
        assert f"true {partner.head} — {partner.relation} → {partner.tail}" in row
        assert f"Source: {partner.source}" in row
        assert "You: cannot judge" in row
        assert "unlike the label" not in row, "who passes does not differ"
    assert "of 10 facts: you 0" in words(end)


def test_labels_wait_until_every_fact_of_the_packet_is_judged(person: Visitor, cue: str) -> None:
    opened = review(person, shown("A", run=cue), ["true"] * 9)
    early = look(person, opened.show.model_copy(update={"place": 10, "ended": True}))
    assert "shown once you have judged every fact" in words(early.fragments["fact"])
    assert "mf-badge" not in str(early.fragments["fact"])
    assert '"place": 9, "ended": false' in str(early.fragments["fact"]), "leads to the tenth"


def test_unreadable_answers_are_wrong_and_facts_with_failed_calls_are_left_out(person: Visitor, cue: str) -> None:
    """Of the true facts of the packet, the first has an unreadable answer and the second a failed call."""
    store, facts = person.services.store, of_runs(person, cue).facts[:10]
    one, two = [fact.fact_id for fact in facts if fact.positive][:2]
    items = {item.statement.fact.fact_id: item for item in store.answers.asked(cue)}
    for fact_id, failure in ((one, None), (two, "timeout")):
        made = items[fact_id].answer
        assert made is not None
        changed = replace(made, answer=None, p_true=None, failure=failure)
        with store.database.writing() as connection:
            connection.exec_driver_sql(
                "update answers set answer = null, failure = ? where run = ? and position = ?",
                (changed.failure, cue, items[fact_id].position),
            )
    end = words(review(person, shown("A", run=cue), ["true"] * 10).fragments["fact"])
    true = sum(fact.positive for fact in facts)
    assert f"of 10 facts: you {true}, true unless denied {true - 2} of 9 " in end


# ------------------------------------------------------------------------------------------------ the button of one key


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "Say first whether the fact is true"),
        ({"verdict": "nonsense"}, "You ticked another verdict"),
        ({"button": "true", "verdict": "false"}, "You ticked another verdict"),
        ({"verdict": "false"}, "You ticked another verdict"),
        ({"button": "true", "of-x": "unclear"}, "marked a sentence"),
        ({"button": "true", "wording-x": "Better."}, "marked a sentence"),
    ],
    ids=str,
)
def test_all_fine_saves_no_verdict_that_was_not_given(person: Visitor, cue: str, fields: dict[str, str], why: str) -> None:
    fact = of_runs(person, cue).facts[0].fact_id
    with pytest.raises(Exception, match=why):
        press(person, shown("A", run=cue), "all_fine", fact, **fields)
    assert person.services.store.verdicts.log() == []


def test_the_verdict_is_in_the_label_of_the_button(person: Visitor, cue: str) -> None:
    fragment = str(look(person, shown("A", run=cue)).fragments["fact"])
    (button,) = re.findall(r"<button[^>]*data-key=\"all-fine\".*?</button>", fragment)
    assert words(button) == " True, all 8 fine a "
    assert "&#34;button&#34;: &#34;true&#34;" in button


# ------------------------------------------------------------------------------------------------ the queue's own order


def test_only_the_next_fact_of_the_random_queue_counts_as_random(person: Visitor, cue: str) -> None:
    """In order, skipped to, taken back to the order, by a search, and by dispute."""
    facts = [fact.fact_id for fact in of_runs(person, cue).facts]
    show = shown("A", run=cue)
    for at in (0, 3, 1, 2, 4):
        press(person, show.model_copy(update={"place": at}), "judge", facts[at], verdict="true")
    skipped = words(look(person, show.model_copy(update={"place": 7, "within": ""})).fragments["fact"])
    assert "You chose this fact: the queue goes on with fact 6." in skipped
    assert "hold only for facts in the random queue's own order" in skipped
    in_order = words(look(person, show.model_copy(update={"place": 5})).fragments["fact"])
    assert "You chose this fact" not in in_order
    head = of_runs(person, cue).facts[5].head
    searched = words(look(person, show.model_copy(update={"search": head})).fragments["fact"])
    assert "You chose this fact. The intervals" in searched
    press(person, show.model_copy(update={"search": head}), "judge", facts[5], verdict="true")
    press(person, show.model_copy(update={"queue": CONTESTED}), "judge", facts[6], verdict="true")
    log = person.services.store.verdicts.log()
    assert [one.queue for one in log] == [RANDOM, CHOSEN, RANDOM, RANDOM, RANDOM, CHOSEN, CONTESTED]
    end = words(review(person, show.model_copy(update={"place": 7}), ["true"] * 3).fragments["fact"])
    assert "3 facts of this packet were chosen. The intervals of label reliability" in end


# ------------------------------------------------------------------------------------------------ a colleague


def token_of(show: ReviewShow) -> str:
    return show.asked.partition("invited=")[2]


def test_a_colleague_is_asked_about_what_is_in_dispute_filled_up_from_the_queue(person: Visitor, cue: str) -> None:
    """A and B differ on fact 2, and A differs from the label of fact 5: two in dispute, and the first eight others."""
    label = labels(person, cue)
    a = [*label[:4], not label[4]]
    review(person, shown("A", run=cue), said(*a))
    review(person, shown("B", run=cue), said(label[0], not label[1]))
    show, _ = press(person, shown("A", run=cue), "ask", here=HERE, name="Dr C")
    link = f"{HERE}{invitations()[-1].address}"
    assert show.asked == link
    fragment = str(look(person, show.model_copy(update={"asking": True})).fragments["fact"])
    assert "10 facts: 2 in dispute, 8 from the queue." in words(fragment)
    assert str(segno.make_qr(link).svg_inline(scale=5, dark="#000", light="#fff")) in fragment
    assert 'role="img" aria-label="QR code of the link to 10 facts for Dr C"' in fragment
    made = invitation_of(token_of(show))
    assert (made.disputed, made.owner, made.name) == (2, f"asked-{made.id}", "Dr C")
    assert set(made.chosen) == {fact.fact_id for fact in of_runs(person, cue).facts[:10]}
    assert link.count("?") == 1
    for secret in (cue, "browser", "Dr"):
        assert secret not in link


def test_the_colleague_sees_these_facts_alone_and_only_who_asked_sees_the_verdicts(person: Visitor, cue: str) -> None:
    label = labels(person, cue)
    review(person, shown("A", run=cue), said(*label[:10]))
    show, _ = press(person, shown("A", run=cue), "ask", here=HERE)
    phone = Visitor(person.services, "phone", ("phone",), "")
    opened = look(phone, ReviewShow.model_validate({"invited": token_of(show), "run": "x", "checking": True, "asking": True}))
    assert "Your name or initials" in words(opened.fragments["fact"]), "which the colleague types"
    assert "mf-badge" not in str(opened.fragments["fact"])
    end = review(phone, opened.show.model_copy(update={"reviewer": "Dr C"}), said(not label[0], *label[1:10]))  # type: ignore[arg-type]
    text = words(end.fragments["fact"])
    assert "All sentences as labelled, of 10 facts: you 9 " in text, "no model"
    assert "You and" not in text.replace("You and the labels", "")
    assert "Ask a colleague" not in text
    assert cue not in str(end)
    log = [one for one in person.services.store.verdicts.log() if one.reviewer == "Dr C"]
    assert {(one.queue, one.blind) for one in log} == {(CHOSEN, True)}
    mine = words(look(person, shown("A", run=cue, place=10, ended=True)).fragments["fact"])
    assert "You and Dr C differ on 1 of 10 facts that both judged: fact 1 " in mine
    review(phone, shown("E", run=cue), said(*label[:10]))
    theirs = words(look(phone, shown("E", run=cue, place=10, ended=True)).fragments["fact"])
    assert "You and A agree on 10 facts that both judged" in theirs
    assert "Dr C" not in theirs, "another visitor did not ask"
    first = of_runs(person, cue).facts[0].fact_id
    with pytest.raises(Exception, match="No link can be made from here"):
        press(phone, ReviewShow(invited=token_of(show), reviewer="Dr C"), "ask", first, here=HERE)


def test_whom_the_host_invited_is_shown_to_nobody(person: Visitor, cue: str) -> None:
    label = labels(person, cue)
    made = invite("Dr H", cue, "", 10, 1)
    guest = Visitor(person.services, "phone", ("phone",), "")
    review(guest, ReviewShow.model_validate({"invited": made.address.partition("=")[2]}), said(*label[:10]))
    mine = words(review(person, shown("A", run=cue), said(*label[:10])).fragments["fact"])
    assert "Dr H" not in mine
    assert "other reviewer" not in words(look(person, shown("A", run=cue, place=0)).fragments["fact"])


@pytest.mark.parametrize(
    "here",
    ["", "javascript:alert(1)//", "https://a b/", "https://x.org/?run=1/", "//x.org/", "https://x.org/<b>/", "https://x.org"],
)
def test_a_link_begins_with_the_address_of_a_server_alone(person: Visitor, cue: str, here: str) -> None:
    with pytest.raises(Exception, match="No link can be made from here"):
        press(person, shown("A", run=cue), "ask", here=here)
    assert invitations() == []


def test_a_visitors_own_file_is_opened_to_nobody(person: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.web.pages.review.data_sets", lambda _: [("own", "your file")])
    with pytest.raises(Exception, match="A link opens no file of yours"):
        press(person, shown("A", data="own"), "ask", here=HERE)


def test_on_a_public_server_links_are_few_and_count_for_who_asked(
    person: Visitor, cue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    neighbours = person.services.neighbours
    for owner in ("browser", "other"):
        neighbours.note(owner, "192.0.2.1")
    for number in range(MOST_OPEN):
        owner = ("browser", "other")[number % 2]
        press(replace(person, owner=owner, owners=(owner,)), shown("A", run=cue), "ask", here=HERE)
    with pytest.raises(Exception, match="20 links to colleagues are open at your network address"):
        press(person, shown("A", run=cue), "ask", here=HERE)
    monkeypatch.setattr("medfact.web.visitors.owners_seen_by", lambda _: ("browser",))
    monkeypatch.setattr("medfact.web.visitors.user_of", lambda _: "")
    assert owners_reviewing(None) == ("browser", *(one.owner for one in invitations() if one.by == "browser"))
    away = replace(person, owner="away", owners=("away",))
    neighbours.note("away", "192.0.2.9")
    assert press(away, shown("A", run=cue), "ask", here=HERE)[0].asked, "another address"
