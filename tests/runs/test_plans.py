"""What visitors and several models ask alike is planned once; what differs is planned anew."""

from medfact.datasets.pairing import NOTHING_DECIDED, PartnerDecisions
from medfact.facts import name_key
from medfact.runs.start import start_planned
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.evaluate.spec import planned

SOURCE = {"dataset": "clinical-core"}
SPEC = RunSpec(model="baseline:random", limit=10, shots=0)


def test_models_share_a_plan_and_other_questions_do_not(store: Store) -> None:
    plan = planned(SPEC, SOURCE, NOTHING_DECIDED)
    assert planned(RunSpec(model="baseline:always-true", limit=10, shots=0, budget=1.0), SOURCE, NOTHING_DECIDED) is plan
    assert len(planned(RunSpec(model="baseline:random", limit=20, shots=0), SOURCE, NOTHING_DECIDED).statements) == 2 * len(
        plan.statements
    )
    assert (
        planned(RunSpec(model="baseline:random", limit=10, shots=0, seed=1), SOURCE, NOTHING_DECIDED).statements
        != plan.statements
    )
    one, other = (start_planned(RunSpec(model=model, limit=10, shots=0), plan, store) for model in ("baseline:random", "x"))
    assert [item.statement for item in store.answers.asked(one)] == [item.statement for item in store.answers.asked(other)]
    assert (store.run(one).model, store.run(other).model) == ("baseline:random", "x")


def test_a_rejected_partner_is_in_no_plan_of_its_visitor() -> None:
    plan = planned(SPEC, SOURCE, NOTHING_DECIDED)
    negative = next(item.statement.fact for item in plan.statements if not item.statement.fact.positive)
    barred = PartnerDecisions(frozenset({(name_key(negative.head), name_key(str(negative.tail)))}))
    tails = {
        item.statement.fact.tail
        for item in planned(SPEC, SOURCE, barred).statements
        if item.statement.fact.negative_of == negative.negative_of
    }
    assert negative.tail not in tails
    assert len(tails) == 1
    assert planned(SPEC, SOURCE, NOTHING_DECIDED) is plan
