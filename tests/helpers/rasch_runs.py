"""Runs of models that know a share of everything."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from scripted import Scripted, script

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import VARIANTS
from medfact.store import Store


def run_of(store: Store, file: Path, model: str, mistakes: set[tuple[str, str]], failing: Collection[str] = ()) -> str:
    """A run of a model that knows every fact but these, of which it believes the opposite. Facts by head and tail. failing:
    tails of facts of which the first call fails.
    """
    run = start(RunSpec(model=model, facts=str(file), shots=0), store)
    facts = {(item.statement.fact.head, item.statement.fact.tail or "") for item in store.answers.asked(run)}
    assert mistakes <= facts
    signs = {fact: ("-" if fact in mistakes else "+") * len(VARIANTS_OF) for fact in facts}
    signs |= {fact: f"!{of[1:]}" for fact, of in signs.items() if fact in mistakes and fact[1] in failing}
    list(answer(run, store, load=Scripted.of(run, store, script(signs, VARIANTS_OF)).load))
    return run


VARIANTS_OF = [key for key in VARIANTS if not key.startswith("S")][:8]
