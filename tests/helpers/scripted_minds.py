"""Models whose answers follow a rule that is written down: for verdicts that are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from scripted import UNREADABLE, Scripted, key_of

from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import VARIANTS
from medfact.store import Asked, Store

Says = tuple[bool | None, float | None]
"""An answer, None for a reply that cannot be read, and its P(True)."""

Mind = Callable[[int, bool, str, np.random.Generator], Says]
"""(number of the fact, whether it holds, variant, randomness) → what the model says. Facts of one kind have numbers from 0."""


def denied(variant: str) -> bool:
    return VARIANTS[variant].negated


def knows(number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return positive != denied(variant), None


def always(word: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return word, None


def takes_for(truth: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return truth != denied(variant), None


def blind(number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return positive, None


def opposite(number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return positive == denied(variant), None


def one_way(part: str, number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    """Right where the variant lacks this part, wrong where it has it."""
    return (positive != denied(variant)) != (part in variant.split("+")), None


def coin(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
    return bool(randomness.random() < 0.5), None


def silent(number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    return None, None


def first(share: float, this: Mind, rest: Mind = knows) -> Mind:
    """This for the first share of the true and of the false facts, of a hundred each; the rest of the facts otherwise."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
        return (this if number % 10 < 10 * share else rest)(number, positive, variant, randomness)

    return mind


def false_ones(share: float, this: Mind, rest: Mind = knows) -> Mind:
    """This for a share of the false facts."""
    part = first(share, this, rest)

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
        return (rest if positive else part)(number, positive, variant, randomness)

    return mind


def true_ones(share: float, this: Mind) -> Mind:
    """This for a share of the true facts."""
    part = first(share, this)

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
        return (part if positive else knows)(number, positive, variant, randomness)

    return mind


def silent_at_times(share: float, mind_of_others: Mind) -> Mind:
    """One reply in so many cannot be read, each by itself."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
        return (None, None) if randomness.random() < share else mind_of_others(number, positive, variant, randomness)

    return mind


def sure(right: float, stated: float, number: int, positive: bool, variant: str, _: np.random.Generator) -> Says:
    """Believes the truth of so many facts and the opposite of the others, with this probability on the side it takes."""
    is_right = number % 20 < round(20 * right)
    truth = (positive if is_right else not positive) != denied(variant)
    return truth, stated if truth else 1 - stated


def noisy(noise: float, mind_of_others: Mind) -> Mind:
    """One answer in so many is turned, each by itself."""

    def mind(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> Says:
        says, p = mind_of_others(number, positive, variant, randomness)
        return says != bool(randomness.random() < noise), p

    return mind


MINDS: Mapping[str, Mind] = {
    "flips a coin": coin,
    "always true": partial(always, True),
    "always false": partial(always, False),
    "takes all for true": partial(takes_for, True),
    "takes all for false": partial(takes_for, False),
    "half for true": false_ones(0.5, partial(takes_for, True)),
    "word matcher": partial(sure, 0.65, 1.0),
    "parrot of false": first(0.2, partial(always, False)),
    "parrot of true": first(0.4, partial(always, True)),
    "blind": blind,
    "noisily blind": noisy(0.1, blind),
    "blind now and then": first(0.2, blind),
    "contrary": opposite,
    "one direction": partial(one_way, "inv"),
    "one direction at times": first(0.3, partial(one_way, "inv")),
    "in general": partial(one_way, "ins"),
    "calibrated 95": partial(sure, 0.95, 0.95),
    "calibrated 80": partial(sure, 0.8, 0.8),
    "calibrated 60": partial(sure, 0.6, 0.6),
    "too sure": partial(sure, 0.6, 0.97),
    "surer still": partial(sure, 0.55, 0.99),
    "a little too sure": partial(sure, 0.8, 0.83),
    "not sure enough": partial(sure, 0.95, 0.6),
    "knows all": knows,
    "errs now and then": noisy(0.05, knows),
    "mute at times": first(0.3, silent),
    "mute": first(0.8, silent),
    "true to false facts": false_ones(1.0, partial(always, True)),
    "false to true facts": true_ones(1.0, partial(always, False)),
    "true to some true facts": true_ones(0.4, blind),
    "mostly true": noisy(0.1, partial(always, True)),
    "coin with gaps": silent_at_times(0.33, coin),
    "knows with gaps": silent_at_times(0.33, knows),
    "takes most for true": false_ones(0.8, partial(takes_for, True)),
    "mixed": first(0.3, blind, first(0.5, partial(always, False))),
}


def run_of(store: Store, name: str, **settings: object) -> str:
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

    def said(item: Asked) -> Says:
        fact = item.statement.fact
        return MINDS[name](place[fact.fact_id], fact.positive, item.statement.variant, randomness)

    replies = {key_of(item): (item.statement.label, *said(item)) for item in items}
    signs = {key: UNREADABLE if says is None else "-+"[says is label] for key, (label, says, _) in replies.items()}
    p_true = {key: p for key, (_, _, p) in replies.items() if p is not None}
    model = Scripted.of(run, store, signs, p_true=p_true, p_mass=dict.fromkeys(p_true, 1.0))
    list(answer(run, store, load=model.load))
    return run
