"""The prototypes studio: sentences changed, added and signed off, kept as a log, and asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medfact.errors import Mistake
from medfact.prototypes import load_pool
from medfact.prototypes.pool_files import read_pool
from medfact.reviews.studio import (
    FORMS,
    EditedRelation,
    bases,
    edited,
    edited_pool,
    edits,
    filled,
    own_sentences,
    problems,
    relations_of,
)
from medfact.store import PrototypeEdit, Store

BASE = load_pool("medfact")
NEW = dict(
    zip(
        FORMS,
        (
            "[Y] is used to prevent [X].",
            "[X] is prevented with [Y].",
            "In patients at risk, [Y] is used to prevent [X].",
            "[X] is one of the conditions for which [Y] is used as prevention.",
            "[Y] is not used to prevent [X].",
            "[X] is not prevented with [Y].",
            "In patients at risk, [Y] is not used to prevent [X].",
            "[X] is not one of the conditions for which [Y] is used as prevention.",
        ),
        strict=True,
    )
)
RELATION = "is prevented by"


def saved(store: Store, relation: str, before: dict[str, str], after: dict[str, str]) -> dict[str, EditedRelation]:
    store.record_prototype_edits(edits(BASE, relation, before, after))
    return edited(BASE, store.prototype_edits("medfact"))


def test_the_last_edit_counts_and_all_are_kept(store: Store) -> None:
    own = own_sentences(BASE, "symptoms")
    plain = "[Y] {is|are} an accepted symptom or sign of [X]."
    made = saved(store, "symptoms", own, {**own, "none": plain})["symptoms"]
    assert (made.sentences["none"], made.changed) == (plain, ("none",))
    store.record_prototype_edits([PrototypeEdit("medfact", "symptoms", "none", plain, "dora")])
    made = edited(BASE, store.prototype_edits("medfact"))["symptoms"]
    assert made.signed["none"][0] == "dora"
    after = {**made.sentences, "none": plain.replace("an accepted", "a known")}
    assert saved(store, "symptoms", dict(made.sentences), after)["symptoms"].signed == {}, "another sentence is not signed off"
    assert saved(store, "symptoms", after, own) == {}, "the pool's own stands again"
    assert [one.sentence for one in store.prototype_edits("medfact")] == [plain, plain, after["none"], ""]


def test_nobody_elses_pool_is_changed(store: Store) -> None:
    store.of("another").record_prototype_edits(edits(BASE, RELATION, {}, NEW))
    assert store.prototype_edits("medfact") == []
    assert store.of("another").prototype_edits("pretexttrans-disek") == []


@pytest.mark.parametrize(
    ("form", "text", "why"),
    [
        ("none", "It is used to prevent [X].", "[Y] occurs 0 times."),
        ("none", "[Y] and [Y] are used to prevent [X].", "[Y] occurs 2 times."),
        ("none", "[Y] should prevent [X].", "it says “should”: that is another claim."),
        ("dn", "[Y] is used to prevent [X].", "it says the same as the affirmed sentence."),
        ("dn", "[Y] is never used to prevent [X].", "it differs from the affirmed sentence by more than the negation."),
        ("ins", "[Y] is used to prevent [X]. It works.", "it is not one sentence with one full stop."),
        ("inv", NEW["none"], "it is the same as another of its sentences."),
        ("inv+ins", "", "the sentence is missing."),
    ],
)
def test_what_is_wrong_is_said_of_the_form_it_is_wrong_in(form: str, text: str, why: str) -> None:
    found = problems(BASE, EditedRelation(RELATION, {}, {**NEW, form: text}))
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
    assert filled(BASE, NEW["none"], "gout", "allopurinol") == "Allopurinol is used to prevent gout."
    assert filled(BASE, "[Y] {is|are} seen in [X].", "gout", "papule") == "Papules are seen in gout."
    assert filled(BASE, "[Y] alone.", "gout", "tophi") == ""


def test_a_file_extends_the_pool_by_what_can_be_used(store: Store, tmp_path: Path) -> None:
    own = own_sentences(BASE, "symptoms")
    changed = {form: text.replace("symptom or sign", "sign or symptom") for form, text in own.items()}
    saved(store, "symptoms", own, changed)
    made = saved(store, RELATION, {}, NEW)
    with_half = saved(store, "half", {}, {**NEW, "dn": ""})
    assert problems(BASE, with_half["half"]) == {"dn": "the sentence is missing."}
    store.record_prototype_edits([PrototypeEdit("medfact", RELATION, "none", NEW["none"], "dora <b>")])
    made = edited(BASE, store.prototype_edits("medfact"))
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
    listed = relations_of(BASE, ["symptom", "is prevented by"], {"mine": EditedRelation("mine", {}, {})})
    assert listed[: len(BASE.relations)] == [(name, False) for name in BASE.relations]
    assert listed[len(BASE.relations) :] == [("mine", True), ("is prevented by", True)], "an alias is no new relation"
    spelled = relations_of(BASE, ["Is-prevented by", "is prevented by"], {RELATION: EditedRelation(RELATION, {}, {})})
    assert spelled[len(BASE.relations) :] == [(RELATION, True)], "as a pool file, which takes both for one name"


def test_a_new_relation_is_asked_from_the_exported_file(
    store: Store, url: str, medfact: Callable[..., Any], tmp_path: Path
) -> None:
    """Fourteen facts of a relation that no pool knows: five heads are kept aside, nine pairs are asked in eight ways."""
    made = saved(store, RELATION, {}, NEW)
    file, facts = tmp_path / "studio.yaml", tmp_path / "facts.csv"
    file.write_text(edited_pool(BASE, made), encoding="utf-8")
    facts.write_text("head,relation,tail\n" + "".join(f"disease {n},{RELATION},remedy {n}\n" for n in range(14)))
    asked = ("--facts", facts, "--shots", 0, "--db", url)
    assert medfact("run", "--model", "baseline:always-true", *asked).code == 2, "without the file nothing can be stated"
    (run,) = medfact("run", "--model", "baseline:always-true", "--pool", file, *asked).rows
    assert (run["statements"], run["average_accuracy"]) == (9 * 2 * 8, 0.5)
    texts = {item.statement.text for item in store.asked(run["run"])}
    assert any(
        text.startswith("Remedy ") and text.endswith(".") and " is not used to prevent disease " in text for text in texts
    )
