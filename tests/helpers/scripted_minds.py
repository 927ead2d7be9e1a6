"""Minds: rules by which a scripted model answers, for verdicts that are worked out by hand."""

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
"""(answer, P(True)). The answer is None for an unreadable reply; P(True) is None if the model gives none."""

Mind = Callable[[int, bool, str, np.random.Generator], MindAnswer]
"""(number, positive, variant, randomness) → the answer to a statement.

number: of the fact; true and false facts are numbered from 0 each. positive: True for a true fact. variant: such as "inv+neg".
"""


def is_negated(variant: str) -> bool:
    """Returns True if the statements of a variant negate their fact."""
    return VARIANTS[variant].negated


def informed(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that answers every statement right."""
    return positive != is_negated(variant), None


def constant(word: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that gives every statement the same answer, `word`: True or False."""
    return word, None


def believes_all(truth: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that answers as if all facts were true, or all false. truth: True or False."""
    return truth != is_negated(variant), None


def blind(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that answers as if no statement were negated."""
    return positive, None


def contrary(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that answers every statement wrong."""
    return positive == is_negated(variant), None


def misled_by(part: str, number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that answers wrong if the variant has a part, such as "inv" in "inv+neg", and otherwise right."""
    return (positive != is_negated(variant)) != (part in variant.split("+")), None


def coin(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
    """Mind that answers True or False at random, with probability ½."""
    return bool(randomness.random() < 0.5), None


def unreadable(number: int, positive: bool, variant: str, _: np.random.Generator) -> MindAnswer:
    """Mind that gives no readable reply."""
    return None, None


def on_first_facts(share: float, mind: Mind, other_mind: Mind = informed) -> Mind:
    """Returns a mind that follows `mind` on the first facts of every ten, as many as the share says; else `other_mind`.

    share: from 0 to 1, in tenths. True and false facts are counted separately.
    """

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (mind if number % 10 < 10 * share else other_mind)(number, positive, variant, randomness)

    return combined


def _by_truth(on_true: Mind, on_false: Mind) -> Mind:
    """Returns a mind that follows one mind on true facts, and another on false facts."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (on_true if positive else on_false)(number, positive, variant, randomness)

    return combined


def on_false_facts(share: float, mind: Mind, other_mind: Mind = informed) -> Mind:
    """Returns a mind that follows `mind` on a share of the false facts, and `other_mind` on all other facts."""
    return _by_truth(other_mind, on_first_facts(share, mind, other_mind))


def on_true_facts(share: float, mind: Mind) -> Mind:
    """Returns a mind that follows `mind` on a share of the true facts, and answers right on all other facts."""
    return _by_truth(on_first_facts(share, mind), informed)


def sometimes_unreadable(share: float, mind: Mind) -> Mind:
    """Returns a mind whose replies are unreadable with a probability, the share, and otherwise those of `mind`."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        return (None, None) if randomness.random() < share else mind(number, positive, variant, randomness)

    return combined


def confident(
    accuracy: float, p_answer: float, number: int, positive: bool, variant: str, _: np.random.Generator
) -> MindAnswer:
    """Mind that takes the first facts of every 20 as they are, and the others for the opposite, in all their statements.

    accuracy: share of facts that it takes as they are. p_answer: probability that it gives each of its answers.
    """
    is_right = number % 20 < round(20 * accuracy)
    answer = (positive if is_right else not positive) != is_negated(variant)
    return answer, p_answer if answer else 1 - p_answer


def noisy(noise: float, mind: Mind) -> Mind:
    """Returns a mind that gives the opposite answer of `mind` with a probability, the noise. P(True) stays as it is."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> MindAnswer:
        answer, p = mind(number, positive, variant, randomness)
        return answer != bool(randomness.random() < noise), p

    return combined


MINDS: Mapping[str, Mind] = {  # by name
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
    """Executes a run with a mind on 60 pairs of facts, and returns its id. name: key of MINDS. settings: fields of the spec."""
    run = start(RunSpec(**{"model": name.replace(" ", "-"), "limit": 60, "shots": 0, **settings}), store)  # type: ignore[arg-type]
    items = store.answers.asked(run)
    randomness = np.random.default_rng(7)
    numbers = {
        fact_id: number
        for positive in (True, False)
        for number, fact_id in enumerate(
            dict.fromkeys(item.statement.fact.fact_id for item in items if item.statement.fact.positive is positive)
        )
    }

    def answer_of(item: Asked) -> MindAnswer:
        fact = item.statement.fact
        return MINDS[name](numbers[fact.fact_id], fact.positive, item.statement.variant, randomness)

    replies = {statement_key(item): (item.statement.label, *answer_of(item)) for item in items}
    signs = {key: UNREADABLE if answered is None else "-+"[answered is label] for key, (label, answered, _) in replies.items()}
    p_true = {key: p for key, (_, _, p) in replies.items() if p is not None}
    model = ScriptedModel.for_run(run, store, signs, p_true=p_true, p_mass=dict.fromkeys(p_true, 1.0))
    list(answer(run, store, load=model.load))
    return run
