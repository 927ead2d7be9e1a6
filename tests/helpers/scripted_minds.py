"""Models whose answers follow a rule that is written down: for verdicts that are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scripted import UNREADABLE, ScriptedModel, statement_key

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import VARIANTS
from medfact.store import Asked, Store

MindAnswer = tuple[bool | None, float | None]
"""An answer, None for a reply that cannot be read, and its P(True)."""

Mind = Callable[[int, bool, str, np.random.Generator], MindAnswer]
"""(number of the fact, whether it holds, variant, randomness) → what the model says. Facts of one kind have numbers from 0."""


def is_negated(variant: str) -> bool:
    return VARIANTS[variant].negated


def informed(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return positive != is_negated(variant), None


def constant(word: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return word, None


def believes_all(truth: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return truth != is_negated(variant), None


def blind(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return positive, None


def contrary(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return positive == is_negated(variant), None


def misled_by(part: str, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Right where the variant lacks this part, wrong where it has it."""
    return (positive != is_negated(variant)) != (part in variant.split("+")), None


def coin(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
    return bool(randomness.random() < 0.5), None


def unreadable(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    return None, None


def on_first_facts(share: float, this: Mind, rest: Mind = informed) -> Mind:
    """This for the first share of the true and of the false facts, of a hundred each; the rest of the facts otherwise."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (this if number % 10 < 10 * share else rest)(number, positive, variant, randomness)

    return mind


def on_false_facts(share: float, this: Mind, rest: Mind = informed) -> Mind:
    """This for a share of the false facts."""
    part = on_first_facts(share, this, rest)

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (rest if positive else part)(number, positive, variant, randomness)

    return mind


def on_true_facts(share: float, this: Mind) -> Mind:
    """This for a share of the true facts."""
    part = on_first_facts(share, this)

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (part if positive else informed)(number, positive, variant, randomness)

    return mind


def sometimes_unreadable(share: float, mind_of_others: Mind) -> Mind:
    """One reply in so many cannot be read, each by itself."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (None, None) if randomness.random() < share else mind_of_others(number, positive, variant, randomness)

    return mind


def confident(right: float, stated: float, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Believes the truth of so many facts and the opposite of the others, with this probability on the side it takes."""
    is_right = number % 20 < round(20 * right)
    truth = (positive if is_right else not positive) != is_negated(variant)
    return truth, stated if truth else 1 - stated


def noisy(noise: float, mind_of_others: Mind) -> Mind:
    """One answer in so many is turned, each by itself."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        says, p = mind_of_others(number, positive, variant, randomness)
        return says != bool(randomness.random() < noise), p

    return mind


MINDS: Mapping[str, Mind] = {
    "flips a coin": coin,
    "always true": partial(constant, True),
    "always false": partial(constant, False),
    "takes all for true": partial(believes_all, True),
    "takes all for false": partial(believes_all, False),
    "half for true": on_false_facts(0.5, partial(believes_all, True)),
    "word matcher": partial(confident, 0.65, 1.0),
    "parrot of false": on_first_facts(0.2, partial(constant, False)),
    "parrot of true": on_first_facts(0.4, partial(constant, True)),
    "blind": blind,
    "noisily blind": noisy(0.1, blind),
    "blind now and then": on_first_facts(0.2, blind),
    "contrary": contrary,
    "one direction": partial(misled_by, "inv"),
    "one direction at times": on_first_facts(0.3, partial(misled_by, "inv")),
    "in general": partial(misled_by, "ins"),
    "calibrated 95": partial(confident, 0.95, 0.95),
    "calibrated 80": partial(confident, 0.8, 0.8),
    "calibrated 60": partial(confident, 0.6, 0.6),
    "too sure": partial(confident, 0.6, 0.97),
    "surer still": partial(confident, 0.55, 0.99),
    "a little too sure": partial(confident, 0.8, 0.83),
    "not sure enough": partial(confident, 0.95, 0.6),
    "knows all": informed,
    "errs now and then": noisy(0.05, informed),
    "mute at times": on_first_facts(0.3, unreadable),
    "mute": on_first_facts(0.8, unreadable),
    "true to false facts": on_false_facts(1.0, partial(constant, True)),
    "false to true facts": on_true_facts(1.0, partial(constant, False)),
    "true to some true facts": on_true_facts(0.4, blind),
    "mostly true": noisy(0.1, partial(constant, True)),
    "coin with gaps": sometimes_unreadable(0.33, coin),
    "knows with gaps": sometimes_unreadable(0.33, informed),
    "takes most for true": on_false_facts(0.8, partial(believes_all, True)),
    "mixed": on_first_facts(0.3, blind, on_first_facts(0.5, partial(constant, False))),
}


def run_mind(store: Store, name: str, **settings: object) -> str:
    """A run of a model of this name on so many pairs of a bundled set."""
    run = start(RunSpec(**{"model": name.replace(" ", "-"), "limit": 60, "shots": 0, **settings}), store)  # type: ignore[arg-type]
    items = store.answers.asked(run)
    randomness = np.random.default_rng(7)
    place = {
        fact_id: number
        for positive in (True, False)
        for number, fact_id in enumerate(
            dict.fromkeys(item.statement.fact.fact_id for item in items if item.statement.fact.positive is positive)
        )
    }

    def said(item: Asked) -> MindAnswer:
        fact = item.statement.fact
        return MINDS[name](place[fact.fact_id], fact.positive, item.statement.variant, randomness)

    replies = {statement_key(item): (item.statement.label, *said(item)) for item in items}
    signs = {key: UNREADABLE if says is None else "-+"[says is label] for key, (label, says, _) in replies.items()}
    p_true = {key: p for key, (_, _, p) in replies.items() if p is not None}
    model = ScriptedModel.for_run(run, store, signs, p_true=p_true, p_mass=dict.fromkeys(p_true, 1.0))
    list(answer(run, store, load=model.load))
    return run
