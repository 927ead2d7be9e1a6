"""What bundled sets know keeps pairs from being drawn as false in the same relation and in close ones, and in no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from medfact.datasets import bundled_names, load, load_bundled
from medfact.datasets.bundled_knowledge import with_bundled_knowledge
from medfact.datasets.close_relations import keeps_from_false
from medfact.datasets.collection import Collection
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import draw_negatives
from medfact.prototypes import load_pool, orient_facts, pool_names
from medfact.spec import RunSpec

OWN = load_pool("medfact")

TREATS = (
    ("bupropion", "major depressive disorder"),
    ("levetiracetam", "epilepsy"),
    ("salbutamol", "asthma"),
    ("nadolol", "hypertension"),
    ("methotrexate", "psoriasis"),
    ("infliximab", "Crohn disease"),
)
CONTRAINDICATED = {("bupropion", "epilepsy"), ("nadolol", "asthma")}
"""In `safety-core`; no set says that the drug treats the condition."""

ALSO_TREATED = {("infliximab", "psoriasis"), ("methotrexate", "Crohn disease")}
"""In `clinical-core`, as treatments, and not in the table."""


def table(path: Path, relation: str, pairs: Sequence[tuple[str, str]]) -> RunSpec:
    rows = "".join(f"{head},{relation},{tail}\n" for head, tail in pairs)
    path.write_text(f"head,relation,tail\n{rows}", encoding="utf-8")
    return RunSpec("", facts=str(path))


def turned(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(tail, head) for head, tail in pairs]


def drawn(spec: RunSpec) -> set[frozenset[str]]:
    """All false pairs of thirty draws, whichever end they begin with."""
    collection = orient_facts(load(spec), OWN)
    return {
        frozenset((negative.head, negative.tail or ""))
        for seed in range(30)
        for fact in collection.facts
        for negative in draw_negatives(fact, collection.known, 9, seed)
    }


def ends(pairs: set[tuple[str, str]]) -> set[frozenset[str]]:
    return set(map(frozenset, pairs))


@pytest.mark.parametrize(
    ("relation", "pairs"),
    [
        ("may treat", TREATS),
        ("treats", TREATS),
        ("treated by", turned(TREATS)),
        ("therapeutic drugs", turned(TREATS)),
    ],
)
def test_a_contraindicated_drug_may_be_a_false_treatment(
    relation: str, pairs: Sequence[tuple[str, str]], tmp_path: Path
) -> None:
    found = drawn(table(tmp_path / "mine.csv", relation, pairs))
    assert ends(CONTRAINDICATED) <= found
    assert not found & ends(ALSO_TREATED)


def test_what_is_contraindicated_or_treated_is_drawn_as_no_false_contraindication(tmp_path: Path) -> None:
    """Bupropion could be denied of asthma, epilepsy and gout, and so on."""
    pairs = [
        ("bupropion", "angle-closure glaucoma"),
        ("levetiracetam", "asthma"),
        ("nadolol", "epilepsy"),
        ("salbutamol", "gout"),
    ]
    found = drawn(table(tmp_path / "mine.csv", "contraindicated in", pairs))
    assert frozenset(("bupropion", "gout")) in found
    assert not found & ends(CONTRAINDICATED), "safety-core says so"
    assert not found & ends({("levetiracetam", "epilepsy"), ("salbutamol", "asthma")}), "they treat it: too close to tell"


def test_each_relation_of_one_table_has_its_own(tmp_path: Path) -> None:
    spec = table(tmp_path / "mine.csv", "may treat", TREATS)
    with Path(str(spec.facts)).open("a", encoding="utf-8") as file:
        file.writelines(
            f"{drug},contraindicated in,{condition}\n" for drug, condition in (("bupropion", "gout"), ("x", "epilepsy"))
        )
    known = load(spec).known
    pairs = {one.relation: one.pairs for one in known.external_knowledge}
    assert ("bupropion", "epilepsy") in pairs["contraindicated in"]
    assert ("bupropion", "epilepsy") not in pairs["may treat"]
    assert ("infliximab", "psoriasis") in pairs["may treat"]
    epilepsy = known.entity("epilepsy")
    assert epilepsy in known.linked("bupropion", "contraindicated in")
    assert epilepsy not in known.linked("bupropion", "may treat")
    assert epilepsy not in known.linked("bupropion")


def test_a_relation_whose_name_nobody_knows_is_kept_from_all_that_is_known(tmp_path: Path) -> None:
    known = load(table(tmp_path / "mine.csv", "is helped with", TREATS)).known
    assert {pair for one in known.external_knowledge for pair in one.pairs} >= CONTRAINDICATED | ALSO_TREATED


def test_a_table_that_says_what_it_means_stays_the_same_object(tmp_path: Path) -> None:
    collection = load(table(tmp_path / "mine.csv", "may treat", TREATS))
    assert orient_facts(collection, OWN) is collection
    treated = load(table(tmp_path / "other.csv", "treated by", turned(TREATS)))
    close = orient_facts(treated, OWN)
    assert close is orient_facts(treated, OWN)
    (kept,), (before,) = close.known.external_knowledge, treated.known.external_knowledge
    assert len(kept.pairs) < len(before.pairs), "as “treated by” it was kept from contraindications, too"
    assert close.fingerprint() == treated.fingerprint()


def test_every_relation_of_the_pools_and_the_sets_is_placed() -> None:
    names = {name for pool in pool_names() for name in load_pool(pool).relations}
    names |= {fact.relation for name in bundled_names() for fact in load_bundled(name).facts}
    assert len(names) >= 30
    assert not [name for name in names if keeps_from_false("contraindicated in", name) and keeps_from_false("symptoms", name)
                and keeps_from_false("gene encodes gene product", name)]  # fmt: skip
    assert all(keeps_from_false(name, name) for name in names)


def test_which_is_close_to_which() -> None:
    assert keeps_from_false("may treat", "contraindicated in")
    assert not keeps_from_false("contraindicated in", "may treat")
    assert not keeps_from_false("Contraindicated_in", "therapeutic drugs")
    assert keeps_from_false("symptoms", "disease may have finding")
    assert keeps_from_false("risk factors", "caused by")
    assert not keeps_from_false("affected sites", "symptoms")
    assert keeps_from_false("", "may treat"), "known without a relation"


def test_names_of_everyday_count_in_their_relation_alone() -> None:
    """“Heart attack” is *myocardial infarction*, and chest pain its symptom in `clinical-core`."""
    facts = (Fact("heart attack", "symptoms", "fever"), Fact("flu", "symptoms", "chest pain"))
    known = with_bundled_knowledge(_collection(facts)).known
    assert {("heart attack", "chest pain"), ("flu", "fever")} <= {*known.external_knowledge[0].pairs}
    sites = tuple(Fact(fact.head, "affected sites", fact.tail) for fact in facts)
    assert ("flu", "fever") not in with_bundled_knowledge(_collection(sites)).known.external_knowledge[0].pairs


def _collection(facts: tuple[Fact, ...]) -> Collection:
    return Collection("mine", facts, KnowledgeBase(facts))
