"""Models whose answers follow a rule, for verdicts that are worked out by hand."""

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

RuleAnswer = tuple[bool | None, float | None]
"""An answer, None for an unreadable reply, and its P(True)."""

AnswerRule = Callable[[int, bool, str, np.random.Generator], RuleAnswer]
"""(number of the fact, True for a true fact, variant, randomness) → answer.

The true facts are numbered from 0, and so are the false ones.
"""


def is_negated(variant: str) -> bool:
    """Returns True if the statements of a variant negate their fact."""
    return VARIANTS[variant].negated


def informed(number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers every statement right."""
    return positive != is_negated(variant), None


def constant(word: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers every statement with `word`."""
    return word, None


def believes_all(truth: bool, number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers as if all facts were true, or all false."""
    return truth != is_negated(variant), None


def blind(number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers as if no statement were negated."""
    return positive, None


def contrary(number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers every statement wrong."""
    return positive == is_negated(variant), None


def misled_by(part: str, number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Answers right if the variant lacks a part, such as "inv", and wrong if it has it."""
    return (positive != is_negated(variant)) != (part in variant.split("+")), None


def coin(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> RuleAnswer:
    """Answers True or False at random."""
    return bool(randomness.random() < 0.5), None


def unreadable(number: int, positive: bool, variant: str, _: np.random.Generator) -> RuleAnswer:
    """Gives no readable reply."""
    return None, None


def on_first_facts(share: float, rule: AnswerRule, other_rule: AnswerRule = informed) -> AnswerRule:
    """Returns a rule that follows `rule` on the first share of every ten facts of a kind, `other_rule` on the others."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> RuleAnswer:
        return (rule if number % 10 < 10 * share else other_rule)(number, positive, variant, randomness)

    return combined


def _by_truth(on_true: AnswerRule, on_false: AnswerRule) -> AnswerRule:
    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> RuleAnswer:
        return (on_true if positive else on_false)(number, positive, variant, randomness)

    return combined


def on_false_facts(share: float, rule: AnswerRule, other_rule: AnswerRule = informed) -> AnswerRule:
    """Returns a rule that follows `rule` on a share of the false facts, and `other_rule` on all other facts."""
    return _by_truth(other_rule, on_first_facts(share, rule, other_rule))


def on_true_facts(share: float, rule: AnswerRule) -> AnswerRule:
    """Returns a rule that follows `rule` on a share of the true facts, and is informed of all other facts."""
    return _by_truth(on_first_facts(share, rule), informed)


def sometimes_unreadable(share: float, rule: AnswerRule) -> AnswerRule:
    """Returns a rule whose replies are unreadable with this probability."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> RuleAnswer:
        return (None, None) if randomness.random() < share else rule(number, positive, variant, randomness)

    return combined


def confident(
    accuracy: float, p_answer: float, number: int, positive: bool, variant: str, _: np.random.Generator
) -> RuleAnswer:
    """Takes the first facts of every 20 as they are, and the others for the opposite, in all their statements.

    accuracy: share of facts that are taken as they are. p_answer: probability of each answer that is given.
    """
    is_right = number % 20 < round(20 * accuracy)
    answer = (positive if is_right else not positive) != is_negated(variant)
    return answer, p_answer if answer else 1 - p_answer


def noisy(noise: float, rule: AnswerRule) -> AnswerRule:
    """Returns a rule whose answers are inverted with this probability."""

    def combined(number: int, positive: bool, variant: str, randomness: np.random.Generator) -> RuleAnswer:
        answer, p = rule(number, positive, variant, randomness)
        return answer != bool(randomness.random() < noise), p

    return combined


MINDS: Mapping[str, AnswerRule] = {
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
    """Executes a run with a rule of MINDS on 60 pairs, and returns its id. settings: other fields of the spec."""
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

    def answer_of(item: Asked) -> RuleAnswer:
        fact = item.statement.fact
        return MINDS[name](numbers[fact.fact_id], fact.positive, item.statement.variant, randomness)

    replies = {statement_key(item): (item.statement.label, *answer_of(item)) for item in items}
    signs = {key: UNREADABLE if answered is None else "-+"[answered is label] for key, (label, answered, _) in replies.items()}
    p_true = {key: p for key, (_, _, p) in replies.items() if p is not None}
    model = ScriptedModel.for_run(run, store, signs, p_true=p_true, p_mass=dict.fromkeys(p_true, 1.0))
    list(answer(run, store, load=model.load))
    return run
