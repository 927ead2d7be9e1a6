"""Whether a service's answers depend on what else it computes: the same prompts in two orders and at two loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medfact.errors import Mistake
from medfact.metrics.uncertainty import wilson
from medfact.models import Completion, Model, Prompt, load_model, provider_of
from medfact.models.services.prices import estimate, tokens_in
from medfact.runs.costs import dollars
from medfact.runs.plan import plan
from medfact.runs.prompts import prompt_of
from medfact.spec import RunSpec

PROMPTS = 32
"""Asked in each of the four rounds."""

SAME = 1e-6
"""How far probabilities may differ that only rounding tells apart."""

_REPLY_TOKENS = 4

ALONE, ALONE_BACKWARDS, TOGETHER, TOGETHER_BACKWARDS = range(4)
"""The rounds: one call at a time or all at once, in order or in reverse."""

_BY_LOAD = ((ALONE, TOGETHER), (ALONE_BACKWARDS, TOGETHER_BACKWARDS))
_BY_ORDER = ((ALONE, ALONE_BACKWARDS), (TOGETHER, TOGETHER_BACKWARDS))


@dataclass(frozen=True)
class Difference:
    """How many of n answers differ between rounds, how many of n_p probabilities, and the largest such difference."""

    answers: int
    n: int
    probabilities: int
    n_p: int
    largest: float | None

    def in_words(self) -> str:
        low, high = wilson(self.answers / self.n, self.n)
        answers = f"{self.answers} of {self.n} answers differ (95% interval {low:.0%} to {high:.0%})"
        if self.largest is None:
            return f"{answers}; there are no probabilities"
        return f"{answers}, and {self.probabilities} of {self.n_p} probabilities, by {self.largest:.2g} at most"


def prompts_of_check(spec: RunSpec) -> list[Prompt]:
    """The prompts: one statement each of as many bundled facts. Raises Mistake where own facts or a batch are asked for."""
    if spec.facts or spec.corpus or spec.batch:
        raise Mistake("The check asks bundled facts, call by call.", "Leave out --facts, --corpus and --batch.")
    if not provider_of(spec.model).is_remote:
        raise Mistake(f"The check is for a model behind a service, and {spec.model} is none.", "Leave out --check-service.")
    planned = plan(replace(spec, limit=PROMPTS, per_relation=None))
    one_each = {item.statement.fact.fact_id: item for item in reversed(planned.statements)}
    chat = spec.service.shots_as_turns
    return [prompt_of(item, planned.demonstrations, spec, chat=chat) for item in list(one_each.values())[:PROMPTS]]


def cost_of_check(spec: RunSpec, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """What the check would cost, in calls and USD (None where the price is not known)."""
    times = 4 * max(spec.service.repeats, 1)
    price = provider_of(spec.model).price_of(spec.model)
    entering = times * sum(tokens_in(prompt.content) for prompt in prompts)
    usd = estimate(1, entering, times * len(prompts) * _REPLY_TOKENS, price) if price else None
    return {"model": spec.model, "calls": times * len(prompts), "usd": usd}


def check_service(
    spec: RunSpec, prompts: Sequence[Prompt], key: str | None, load: Callable[..., Model] = load_model
) -> dict[str, Any]:
    """Asks the prompts four times; what depends on load and what on order. Raises Mistake where the budget is too small."""
    cost = cost_of_check(spec, prompts)
    if spec.budget is not None and cost["usd"] is not None and cost["usd"] > spec.budget:
        raise Mistake(f"The check would cost about {dollars(cost['usd'])}, more than the budget.", "Give a larger --budget.")
    rounds = [_asked(spec, prompts, key, at_once, load) for at_once in (1, len(prompts))]
    backwards = [_asked(spec, prompts[::-1], key, at_once, load)[::-1] for at_once in (1, len(prompts))]
    four = [rounds[0], backwards[0], rounds[1], backwards[1]]
    served = [reply.served for replies in four for reply in replies if reply.served]
    price = provider_of(spec.model).price_of(spec.model)
    tokens = [sum(getattr(one, name) or 0 for one in served) for name in ("prompt_tokens", "completion_tokens")]
    row = {
        "model": spec.model,
        "prompts": len(prompts),
        "calls": sum(one.attempts for one in served),
        "failed": sum(reply.failure is not None for replies in four for reply in replies),
        "usd": estimate(1, tokens[0], tokens[1], price) if price else None,
    }
    found = {name: _difference(prompts, four, pairs) for name, pairs in (("load", _BY_LOAD), ("order", _BY_ORDER))}
    alone = _difference(prompts, four, ((ALONE, ALONE_BACKWARDS),))
    return {**row, **{name: vars(one) for name, one in found.items()}, "said": _in_words(found, alone)}


def _asked(
    spec: RunSpec, prompts: Sequence[Prompt], key: str | None, at_once: int, load: Callable[..., Model]
) -> list[Completion]:
    """The completion of each prompt, with so many calls at once."""
    model: Any = load(spec.model, service=replace(spec.service, key=key, in_flight=at_once, fresh=True))
    try:
        completions = dict(model.complete(prompts))
    finally:
        model.close()
    return [completions[index] for index in range(len(prompts))]


def _difference(
    prompts: Sequence[Prompt], rounds: Sequence[Sequence[Completion]], pairs: Sequence[tuple[int, int]]
) -> Difference:
    answers = n = 0
    furthest = []
    for index, prompt in enumerate(prompts):
        both = [(rounds[one][index], rounds[other][index]) for one, other in pairs]
        if any(reply.text is None for pair in both for reply in pair):
            continue
        n += 1
        answers += any(prompt.reads(one.text or "") != prompt.reads(other.text or "") for one, other in both)
        apart = [abs(one.p_true - other.p_true) for one, other in both if one.p_true is not None and other.p_true is not None]
        furthest += [max(apart)] if apart else []
    return Difference(answers, n, sum(far > SAME for far in furthest), len(furthest), max(furthest, default=None))


def _in_words(found: dict[str, Difference], alone: Difference) -> str:
    if not all(one.n for one in (*found.values(), alone)):
        return "The service answered too little to compare."
    load, order = found["load"].in_words(), found["order"].in_words()
    told = f"One call at a time against all at once: {load}. In reverse order: {order}."
    if alone.answers or alone.probabilities:
        return f"{told} Replies differ with one call at a time, too: the service does not repeat itself, whatever its company."
    if any(one.answers or one.probabilities for one in found.values()):
        return f"{told} Replies depend on what else the service computes: compare models at the same load, or --in-flight 1."
    return f"{told} Nothing here depends on order or load."
