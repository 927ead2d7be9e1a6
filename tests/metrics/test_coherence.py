"""Whether a model agrees with itself, worked by hand, against plain loops, and for models of known habits."""

from __future__ import annotations

import numpy as np
import pytest
from records import RIGHT, make_records

from medfact.metrics import Records
from medfact.metrics.coherence import INSTANTIATION, INVERSION, NEGATION, SelfAgreement, self_agreement
from medfact.statements import IMPLICATIONS


def agreement_of(*facts: tuple[str, str, str, str]) -> SelfAgreement:
    found = self_agreement(make_records(*facts))
    assert found is not None
    return found


def test_a_statement_and_its_partners_by_hand() -> None:
    # the order of the variants: none, inv, ins, inv+ins, and the same denied
    found = agreement_of(("a", "gout", "x", "TTFFTF?F"), ("b'", "flu", "y", "TF..FF.."))
    # a: none T/T no, inv T/F yes, ins F/? not counted, inv+ins F/F no; b: none T/F yes, inv F/F no
    assert (found.by_implication[NEGATION].share.value, found.by_implication[NEGATION].share.n) == (pytest.approx(2 / 5), 5)
    # a: T/T yes, F/F yes, denied T/F no, ?/F not counted; b: T/F no, denied F/F yes
    assert (found.by_implication[INVERSION].share.value, found.by_implication[INVERSION].share.n) == (pytest.approx(3 / 5), 5)
    # a: none–ins T/F no, inv–inv+ins T/F no, denied T/? not counted, F/F yes
    assert (found.by_implication[INSTANTIATION].share.value, found.by_implication[INSTANTIATION].share.n) == (
        pytest.approx(1 / 3),
        3,
    )
    assert (found.affirms_both.value, found.denies_both.value) == (pytest.approx(1 / 5), pytest.approx(2 / 5))
    assert found.affirms_both.low is None  # two heads are too few to say


def test_who_says_true_to_everything_agrees_with_every_inversion_as_independent_answers_would() -> None:
    facts = [(f"{sign}{n}", f"head {n}", "x", "T" * 8) for n in range(12) for sign in ("a", "b'")]
    found = agreement_of(*facts)
    assert {name: one.share.value for name, one in found.by_implication.items()} == {
        NEGATION: 0,
        INVERSION: 1,
        INSTANTIATION: 1,
    }
    assert {name: one.independent for name, one in found.by_implication.items()} == {
        NEGATION: 0,
        INVERSION: 1,
        INSTANTIATION: 1,
    }
    assert found.affirms_both.low > 0.5


def test_a_model_that_is_right_agrees_with_itself_on_true_and_on_false_facts() -> None:
    found = agreement_of(("a", "gout", "x", RIGHT), ("b'", "flu", "y", "FFFFTTTT"))
    assert all(one.share.value == 1 for one in found.by_implication.values())
    # true and false facts apart, each answer is certain, so that independent answers agree as well
    assert all(one.independent == 1 for one in found.by_implication.values())


def test_nothing_readable_is_nothing() -> None:
    assert self_agreement(make_records(("a", "gout", "x", "????????"))) is None
    assert self_agreement(make_records(("a", "gout", "x", "T......."))) is None


@pytest.mark.parametrize("seed", range(5))
def test_shares_equal_those_of_plain_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    facts = [
        (
            f"a{n}" if random.random() < 0.5 else f"a{n}'",
            f"head {n // 3}",
            f"tail {n % 7}",
            "".join(random.choice(list("TF?."), 8)),
        )
        for n in range(60)
    ]
    records = make_records(*facts)
    found = self_agreement(records)
    for name, step in ((NEGATION, "dn"), (INVERSION, "inv"), (INSTANTIATION, "ins")):
        couples = list(_couples_by_loops(records, step))
        agreeing = sum((a != b) if name == NEGATION else (a == b) for a, b in couples)
        one = found.by_implication[name].share
        assert one.n == len(couples)
        assert one.value == pytest.approx(agreeing / len(couples))
        assert one.low < agreeing / len(couples) < one.high


def _couples_by_loops(records: Records, step: str):  # type: ignore[no-untyped-def]
    names = [records.variants.names[code] for code in records.variants.code]
    answers = {(fact, name): answer for fact, name, answer in zip(records.fact, names, records.answer, strict=True)}
    for fact, name in answers:
        other = "+".join(sorted({*name.split("+"), step} - {"none"}, key=["inv", "ins", "dn"].index))
        if step not in name.split("+") and other in IMPLICATIONS and (fact, other) in answers:
            a, b = answers[fact, name], answers[fact, other]
            if a >= 0 and b >= 0:
                yield a, b
