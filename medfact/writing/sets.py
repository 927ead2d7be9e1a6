"""Sets of sentences about the same facts, asked side by side: what models wrote, its prototypes as they are, and one plain
sentence a fact (PretextTrans, Tables 3, 4 and 13).
"""

from __future__ import annotations

from collections.abc import Callable

from medfact.prototypes import ORIGIN
from medfact.runs.plan import plan
from medfact.spec import RunSpec
from medfact.store import Plan, Run, Store
from medfact.writing.runs import evaluation_plan, evaluation_spec, warned, writing_of

PROTOTYPES, ORIGINALS = "prototypes", ORIGIN
"""Names of the sets beside writings."""


def asked_set(
    name: str, beside: Run, model: str, store: Store, make_plan: Callable[[RunSpec], Plan] = plan
) -> tuple[RunSpec, Plan]:
    """What a model is asked of a set, still with the writer's settings.

    name: a writing's id, PROTOTYPES or ORIGINALS. beside: the writing about whose facts these two are. Raises MedfactError.
    """
    if name in (PROTOTYPES, ORIGINALS):
        spec = beside.spec.chosen(task=None, budget=None)
        spec = spec.chosen(pool=ORIGINALS) if name == ORIGINALS else spec
        return spec, make_plan(spec)
    first = writing_of(name, store)
    return evaluation_spec(first), warned(evaluation_plan(first.run, store), first, model)
