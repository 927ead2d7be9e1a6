"""The prototypes studio: sentences changed, added and signed off, kept as a log, and asked."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from app_builders import services as services
from writers import RELATION, TYPED_SENTENCES

from medfact.errors import Mistake
from medfact.limits import limits
from medfact.prototypes import load_pool
from medfact.prototypes.pool_files import read_pool
from medfact.reviews.studio import (
    FORMS,
    EditedRelation,
    asked_of,
    bases,
    edited,
    edited_pool,
    edits,
    filled,
    own_sentences,
    problems,
    relations_of,
)
from medfact.runs.plan import plan
from medfact.spec import RunSpec
from medfact.store import PrototypeEdit, Store
from medfact.web import downloads
from medfact.web.evaluate.form import Setup, keep_setup, kept_setup
from medfact.web.evaluate.spec import planned_runs, studio_text
from medfact.web.pages import Action, Message, View, Visitor
from medfact.web.pages.studio import PAGE as STUDIO
from medfact.web.pages.studio import StudioShow
from medfact.web.services import Services, _uploaded
from medfact.web.updates import act

BASE = load_pool("medfact")


def saved(store: Store, relation: str, before: dict[str, str], after: dict[str, str]) -> dict[str, EditedRelation]:
    store.prototype_edits.record(edits(BASE, relation, before, after))
    return edited(BASE, store.prototype_edits.log("medfact"))


def test_the_last_edit_counts_and_all_are_kept(store: Store) -> None:
    own = own_sentences(BASE, "symptoms")
    plain = "[Y] {is|are} an accepted symptom or sign of [X]."
    made = saved(store, "symptoms", own, {**own, "none": plain})["symptoms"]
    assert (made.sentences["none"], made.changed) == (plain, ("none",))
    store.prototype_edits.record([PrototypeEdit("medfact", "symptoms", "none", plain, "dora")])
    made = edited(BASE, store.prototype_edits.log("medfact"))["symptoms"]
    assert made.signed["none"][0] == "dora"
    after = {**made.sentences, "none": plain.replace("an accepted", "a known")}
    assert saved(store, "symptoms", dict(made.sentences), after)["symptoms"].signed == {}, "another sentence is not signed off"
    assert saved(store, "symptoms", after, own) == {}, "the pool's own stands again"
    assert [one.sentence for one in store.prototype_edits.log("medfact")] == [plain, plain, after["none"], ""]


def test_nobody_elses_pool_is_changed(store: Store) -> None:
    store.of("another").prototype_edits.record(edits(BASE, RELATION, {}, TYPED_SENTENCES))
    assert store.prototype_edits.log("medfact") == []
    assert store.of("another").prototype_edits.log("pretexttrans-disek") == []


@pytest.mark.parametrize(
    ("form", "text", "why"),
    [
        ("none", "It is used to relieve [X].", "[Y] occurs 0 times."),
        ("none", "[Y] and [Y] are used to relieve [X].", "[Y] occurs 2 times."),
        ("none", "[Y] should prevent [X].", "it says “should”: that is another claim."),
        ("dn", "[Y] is used to relieve [X].", "it says the same as the affirmed sentence."),
        ("dn", "[Y] is never used to relieve [X].", "it differs from the affirmed sentence by more than the negation."),
        ("ins", "[Y] is used to relieve [X]. It works.", "it is not one sentence with one full stop."),
        ("inv", TYPED_SENTENCES["none"], "it is the same as another of its sentences."),
        ("inv+ins", "", "the sentence is missing."),
    ],
)
def test_what_is_wrong_is_said_of_the_form_it_is_wrong_in(form: str, text: str, why: str) -> None:
    found = problems(BASE, EditedRelation(RELATION, {}, {**TYPED_SENTENCES, form: text}))
    assert found[form] == why
    assert set(found) <= {form, *(other for other in FORMS if other.startswith(form) or form == "none")}


def test_the_pools_own_sentences_are_not_found_fault_with() -> None:
    for name in bases():
        base = load_pool(name)
        for relation in base.relations:
            own = own_sentences(base, relation)
            assert problems(base, EditedRelation(relation, own, own)) == {}
    assert bases() == ["medfact", "pretexttrans-disek", "pretexttrans-medlama"]
    own = own_sentences(BASE, "symptoms")
    swapped = {
        form: text.replace("symptom or sign", "sign or symptom").replace("symptoms and signs", "signs and symptoms")
        for form, text in own.items()
    }
    assert problems(BASE, EditedRelation("symptoms", own, swapped)) == {}, "judged by the pool's own operators"
    half = {**swapped, "dn": own["dn"]}
    more = "it differs from the affirmed sentence by more than the negation."
    assert problems(BASE, EditedRelation("symptoms", own, half)) == {"dn": more}, "what it denies has changed"


def test_sentences_are_filled_as_the_pool_states_them() -> None:
    assert filled(BASE, TYPED_SENTENCES["none"], "gout", "allopurinol") == "Allopurinol is used to relieve gout."
    assert filled(BASE, "[Y] {is|are} seen in [X].", "gout", "papule") == "Papules are seen in gout."
    assert filled(BASE, "[Y] alone.", "gout", "tophi") == ""


def test_a_file_extends_the_pool_by_what_can_be_used(store: Store, tmp_path: Path) -> None:
    own = own_sentences(BASE, "symptoms")
    changed = {form: text.replace("symptom or sign", "sign or symptom") for form, text in own.items()}
    saved(store, "symptoms", own, changed)
    made = saved(store, RELATION, {}, TYPED_SENTENCES)
    with_half = saved(store, "half", {}, {**TYPED_SENTENCES, "dn": ""})
    assert problems(BASE, with_half["half"]) == {"dn": "the sentence is missing."}
    store.prototype_edits.record([PrototypeEdit("medfact", RELATION, "none", TYPED_SENTENCES["none"], "dora <b>")])
    made = edited(BASE, store.prototype_edits.log("medfact"))
    file = tmp_path / "studio.yaml"
    file.write_text(edited_pool(BASE, made), encoding="utf-8")
    assert set(read_pool(file).relations) == {"symptoms", RELATION}
    pool = load_pool(str(file))
    assert set(pool.relations) == {*BASE.relations, RELATION}
    assert pool.relations["symptoms"].sentences == changed
    assert pool.relations["symptoms"].strengths == BASE.relations["symptoms"].strengths
    assert pool.relations["symptoms"].aliases == BASE.relations["symptoms"].aliases
    assert "dora <b>" in file.read_text(encoding="utf-8")
    with pytest.raises(Mistake, match="Nothing is ready"):
        edited_pool(BASE, {"half": made["half"]})


def test_which_relations_can_be_edited() -> None:
    listed = relations_of(BASE, ["symptom", "is relieved by"], {"mine": EditedRelation("mine", {}, {})})
    assert listed[: len(BASE.relations)] == [(name, False) for name in BASE.relations]
    assert listed[len(BASE.relations) :] == [("mine", True), ("is relieved by", True)], "an alias is no new relation"
    spelled = relations_of(BASE, ["Is-relieved by", "is relieved by"], {RELATION: EditedRelation(RELATION, {}, {})})
    assert spelled[len(BASE.relations) :] == [(RELATION, True)], "as a pool file, which takes both for one name"


def test_a_new_relation_is_asked_from_the_exported_file(
    store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    """Fourteen facts of a relation that no pool knows: five heads are kept aside, nine pairs are asked in eight ways."""
    made = saved(store, RELATION, {}, TYPED_SENTENCES)
    file, facts = tmp_path / "studio.yaml", tmp_path / "facts.csv"
    file.write_text(edited_pool(BASE, made), encoding="utf-8")
    facts.write_text("head,relation,tail\n" + "".join(f"disease {n},{RELATION},remedy {n}\n" for n in range(14)))
    asked = ("--facts", facts, "--shots", 0, "--db", url)
    assert medfact("run", "--model", "baseline:always-true", *asked).code == 2, "without the file nothing can be stated"
    (run,) = medfact("run", "--model", "baseline:always-true", "--pool", file, *asked).rows
    assert (run["statements"], run["average_accuracy"]) == (9 * 2 * 8, 0.5)
    texts = {item.statement.text for item in store.answers.asked(run["run"])}
    assert any(
        text.startswith("Remedy ") and text.endswith(".") and " is not used to relieve disease " in text for text in texts
    )


def test_what_was_added_for_other_facts_stands_in_no_ones_way(store: Store, tmp_path: Path) -> None:
    """A run refuses a pool file with a new relation that its facts lack, so a file for these facts leaves it out."""
    own = own_sentences(BASE, "symptoms")
    changed = {form: text.replace("symptom or sign", "sign or symptom") for form, text in own.items()}
    saved(store, "symptoms", own, changed)
    made = saved(store, RELATION, {}, TYPED_SENTENCES)
    assert set(asked_of(made, ["Is-Relieved by"])) == {"symptoms", RELATION}
    assert set(asked_of(made, ["symptoms"])) == {"symptoms"}
    file = tmp_path / "studio.yaml"
    file.write_text(edited_pool(BASE, asked_of(made, ["symptoms"])), encoding="utf-8")
    texts = {item.statement.text for item in plan(RunSpec("m", pool=str(file), shots=0)).statements}
    assert any("a recognized sign or symptom of" in text for text in texts), "an edited relation is asked in its new words"
    assert not any("a recognized symptom or sign of" in text for text in texts)
    assert any("treat" in text for text in texts), "the pool that it extends states the rest"


def test_a_file_is_never_larger_than_one_that_is_read() -> None:
    long = {form: text.replace("relieve", "relieve " + "x" * 900) for form, text in TYPED_SENTENCES.items()}
    with pytest.raises(Mistake, match="more than a pool file may hold: 100 kB"):
        edited_pool(BASE, {f"r {number}": EditedRelation(f"r {number}", {}, long) for number in range(20)})


# ------------------------------------------------------------------------------------------------ the page


def visit(services: Services, show: StudioShow, owner: str = "dora", action: str = "", about: str = "") -> tuple[Any, View]:
    """What the page says of a button, and what it shows then."""
    visitor, said = Visitor(services, owner, (owner,), ""), Message()
    if action:
        show, said = act(visitor, STUDIO, show, Action(name=action, about=about))  # type: ignore[assignment]
    return said, STUDIO.view(visitor, show)


def begun(services: Services, owner: str = "dora", **sentences: str) -> StudioShow:
    """The page with the eight sentences typed of a relation that a visitor's file has."""
    rows = [f"disease {n},{name},remedy {n}\n" for n in range(14) for name in (RELATION, "occurs after")]
    file = services.uploads.put(owner, "mine.csv", io.BytesIO(f"head,relation,tail\n{''.join(rows)}".encode()))
    keep_setup(Visitor(services, owner, (owner,), ""), Setup(source={"facts": str(file), "columns": []}))
    typed = {f"s{number}": {**TYPED_SENTENCES, **sentences}[form] for number, form in enumerate(FORMS)}
    return StudioShow(data="own", relation=RELATION, of=f"medfact|{RELATION}", **typed)  # type: ignore[arg-type]


def test_an_incomplete_relation_is_kept_and_not_used(services: Services) -> None:
    said, seen = visit(services, begun(services, dn="[Y] should prevent [X]."), action="save")
    assert (said.kind, said.text) == ("warn", "Saved, and not in use yet: 1 of 8 sentences are missing or break a rule.")
    assert "not yet: 1 problem" in seen.fragments["edited"]
    assert "./?studio=" not in seen.fragments["edited"]
    assert "is relieved by (added)" in seen.fragments["choice"]
    assert "Not saved yet" not in seen.fragments["relation"]
    said, _ = visit(
        services, begun(services, dn="[Y] should prevent [X].").model_copy(update={"reviewer": "d"}), "dora", "sign", "dn"
    )
    assert "This sentence cannot be used" in said.text
    with pytest.raises(Mistake, match="Nothing is ready"):
        studio_text(services, "dora", "medfact")


def test_another_visitor_sees_nothing_and_text_stays_text(services: Services) -> None:
    hostile = "<script>alert(1)</script> [Y] is used, {{ 7 * 7 }}, to prevent [X]."
    show = begun(services, none=hostile, dn=hostile.replace(" is ", " is not ")).model_copy(update={"reviewer": "<b>dora</b>"})
    assert visit(services, show, action="save")[0].kind == "good"
    said, seen = visit(services, show, action="sign", about="none")
    assert said.kind == "good"
    assert "<script>" not in seen.fragments["relation"]
    assert "<b>dora" not in seen.fragments["relation"]
    assert "{{ 7 * 7 }}" in seen.fragments["relation"]
    assert "Signed off" in seen.fragments["relation"]
    assert hostile in studio_text(services, "dora", "medfact")
    theirs = visit(services, StudioShow(relation=RELATION), "eve")[1].fragments
    assert "Signed off" not in theirs["relation"] + theirs["edited"]
    assert RELATION not in theirs["choice"] + theirs["edited"]
    assert "Nothing is ready" in downloads.edited_pool(services, "eve", "medfact", "").body.decode()


def test_edited_sentences_are_asked_of_whatever_facts_are_chosen(services: Services) -> None:
    visit(services, begun(services), action="save")
    own = own_sentences(BASE, "symptoms")
    changed = {form: text.replace("symptom or sign", "sign or symptom") for form, text in own.items()}
    services.store.of("dora").prototype_edits.record(edits(BASE, "symptoms", own, changed))
    for data, statements in (("own", 14 * 2 * 8), ("clinical-core", 60 * 2 * 8)):
        (run,) = planned_runs(services, "dora", Setup(studio=f"medfact:{data}"), ())  # type: ignore[call-arg]
        assert len(run[1].statements) == statements, data
        assert (RELATION in run[1].pool_text) == (data == "own")
        text = downloads.edited_pool(services, "dora", "medfact", data).body.decode()
        assert (RELATION in yaml.safe_load(text)["relations"]) == (data == "own")
    assert set(yaml.safe_load(studio_text(services, "dora", "medfact"))["relations"]) == {RELATION, "symptoms"}


def test_many_rounds_of_editing_keep_the_file_of_facts(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    show = begun(services)
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")  # where few files of a visitor are kept
    for number in range(int(limits().visitor.files) + 2):
        visit(services, show.model_copy(update={"s0": f"[Y] is {number}.", "s4": f"[Y] is not {number}."}), action="save")
        words = {"s0": f"[Y] is used {number} times to prevent [X].", "s4": f"[Y] is not used {number} times to prevent [X]."}
        visit(services, show.model_copy(update=words), action="save")
        assert planned_runs(services, "dora", Setup(studio="medfact:own"), ())  # type: ignore[call-arg]


def test_what_was_typed_of_another_relation_is_not_lost(services: Services) -> None:
    seen = visit(services, begun(services).model_copy(update={"relation": "symptoms"}))[1]
    assert f"What you typed of “{RELATION}” is not saved" in seen.fragments["relation"]
    assert TYPED_SENTENCES["none"] in seen.fragments["relation"]
    again = visit(services, StudioShow.model_validate(seen.show.model_dump()))[1]
    assert "is not saved" not in again.fragments["relation"]
    other = visit(services, begun(services).model_copy(update={"data": "clinical-core"}))[1]
    assert TYPED_SENTENCES["none"] in other.fragments["relation"], "other facts do not take it away"


def test_why_the_pool_leaves_a_relation_out(services: Services) -> None:
    seen = visit(services, begun(services).model_copy(update={"relation": "occurs after", "of": ""}))[1]
    assert "The method leaves this relation out on purpose. Almost any illness" in seen.fragments["relation"]


def test_facts_that_are_gone_leave_the_choice(services: Services) -> None:
    show = begun(services)
    Path(str(kept_setup(services, "dora").source["facts"])).unlink()  # type: ignore[index]
    _uploaded.cache.clear()  # type: ignore[attr-defined]
    seen = visit(services, show)[1]
    assert "Upload it again" in seen.fragments["relation"]
    assert "clinical-core" in seen.fragments["choice"]
