"""The costs of a run at a service: an estimate before it, a budget while it runs, a bill afterwards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from medfact.answers.prompts import LLM_EVAL, LLM_EVAL_STATEMENTS, TEMPLATES
from medfact.datasets import Collection, load
from medfact.errors import Mistake
from medfact.languages import CAN_BE_ASKED
from medfact.models import LENGTH, provider_of, service_of, takes_messages
from medfact.models.pressure import ROUNDS, kinds_asked, most_pushes, pushes
from medfact.models.prompt import CONTENT_FILTER, Prompt
from medfact.models.services.policy import host_of
from medfact.models.services.prices import Price, dated, estimate, tokens_in
from medfact.models.services.replies import TOKENS_ESTIMATED
from medfact.runs.checks import check_budget
from medfact.runs.corpus import corpus_of
from medfact.runs.plan import plan
from medfact.runs.prompts import prompt_of, states
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.store import Asked, Plan, Run, Store
from medfact.words import say

_PASSAGES_MEASURED = 1_000
"""Passages whose length stands for that of all."""

_REPLY_TOKENS = 4
"""Estimate of a reply: an answer word, its full stop, and the end. Models that think use many more."""


def costs(spec: RunSpec, collection: Collection | None = None, planned: Plan | None = None) -> dict[str, Any]:
    """An estimate before a run is asked: statements, tokens, USD, and all of it as a sentence (`said`).

    `usd` is None if the price is not known or nothing is paid. planned: the run's plan, if it exists already.
    """
    planned = planned or plan(spec, collection)
    provider = provider_of(spec.model)
    chat = provider.is_remote and takes_messages(spec.model, service=spec.service)
    prompts = (prompt_of(item, planned.demonstrations, spec, chat=chat) for item in planned.statements)
    tokens = sum(map(_entering, prompts)) + _passage_tokens(planned, spec, collection)
    times = max(spec.service.repeats, 1)
    count, entering = len(planned.statements), tokens * times
    leaving = sum(_reply_tokens(item, spec) for item in planned.statements) * times * (2 if states(spec) else 1)
    entering, leaving = entering + _entering_pushes(spec, count, entering), leaving * (1 + most_pushes(spec.pressure, 1))
    price = _price(spec, spec.batch)
    usd = estimate(1, entering, leaving, price) if price else None
    in_language = [note for note in planned.notes if CAN_BE_ASKED in note]
    return {
        "model": spec.model,
        "statements": count,
        "prompt_tokens": entering,
        "completion_tokens": leaving,
        "usd": None if usd is None else _rounded(usd),
        **_pushes_of(spec, count),
        "said": " ".join([_describe_estimate(spec, count, entering + leaving, usd, price), *in_language]),
    }


def _pushes_of(spec: RunSpec, count: int) -> dict[str, Any]:
    """The calls for each kind of push and each round, at most; nothing of a run without pressure."""
    rounds = {str(turn): count for turn in range(1, ROUNDS + 1)}
    return {"pushes": dict.fromkeys(kinds_asked(spec.pressure), rounds)} if spec.pressure else {}


def _entering_pushes(spec: RunSpec, count: int, entering: int) -> int:
    """Estimate of what is sent for pushes: each sends the conversation so far. entering: what is sent for the statements."""
    said = [[tokens_in(push.text) + _REPLY_TOKENS for push in pushes()[kind]] for kind in kinds_asked(spec.pressure)]
    turns = sum(sum(accumulate(rounds)) for rounds in said)
    return entering * most_pushes(spec.pressure, 1) + count * turns * (2 if states(spec) else 1)


def _entering(prompt: Prompt) -> int:
    """Estimate of what is sent for a prompt: itself, and in a second turn all of it once more."""
    return tokens_in(prompt.content) + (tokens_in(prompt.content) + tokens_in(prompt.second) + _REPLY_TOKENS) * bool(
        prompt.second
    )


def _price(spec: RunSpec, batched: bool) -> Price | None:
    """What a run's model costs: less in a batch, where its service says so."""
    price = provider_of(spec.model).price_of(spec.model)
    return price.in_batch() if price and batched else price


def _passage_tokens(planned: Plan, spec: RunSpec, collection: Collection | None) -> int:
    """Estimate of the passages that are still to be retrieved: as many as may be, each as long as those of the corpus are."""
    missing = sum(item.passages is None for item in planned.statements)
    if spec.retrieval == NO_RETRIEVAL or not missing:
        return 0
    texts = corpus_of(spec, collection or load(spec)).texts[:_PASSAGES_MEASURED]
    return round(missing * spec.passages * sum(map(tokens_in, texts)) / max(len(texts), 1))


def _reply_tokens(item: Asked, spec: RunSpec) -> int:
    """Estimate of a reply: an answer, a sentence as long as its prototype or triplet, or eight of them."""
    if not spec.writes:
        return _REPLY_TOKENS
    return tokens_in(item.statement.text) * (LLM_EVAL_STATEMENTS if spec.task in (LLM_EVAL, TEMPLATES) else 1)


def _describe_estimate(spec: RunSpec, count: int, tokens: int, usd: float | None, price: Price | None) -> str:
    texts, provider = say("costs.texts" if spec.writes else "costs.statements"), provider_of(spec.model)
    if spec.pressure and not spec.writes:
        most, kinds = most_pushes(spec.pressure, count), ", ".join(kinds_asked(spec.pressure))
        texts = say("costs.pushed", most=most, kinds=kinds, count=count, rounds=ROUNDS)
    if not provider.is_paid:
        service = provider.service_of(spec.service)
        where = say("costs.there", host=host_of(service)) if service else say("costs.here")
        return say("costs.free", count=count, texts=texts, where=where)
    slots = {"count": count, "texts": texts, "tokens": tokens}
    if usd is None or price is None:
        return say("costs.unknown", **slots, model=spec.model)
    slots |= {"usd": dollars(usd), "share": _describe_share(spec.batch, price.batch), "date": dated(price.as_of)}
    return say("costs.known", **slots, input=price.input, output=price.output)


def _describe_share(batch: bool, share: float) -> str:
    """The list price, or what of it the calls of a batch cost."""
    if not batch:
        return say("costs.list_price")
    part = {0.5: "half", 1.0: "full"}.get(share, "part")
    return say(f"costs.batch.{part}", share=share)


def dollars(usd: float) -> str:
    """A sum in words. A small one keeps two digits that say something: $0.0012, and never $0.00."""
    if not 0 < usd < 0.1:
        return f"${usd:,.2f}"
    return "$" + f"{usd:.{1 - math.floor(math.log10(usd))}f}".rstrip("0")


def _rounded(usd: float) -> float:
    return round(usd, 2) if usd >= 0.01 else float(f"{usd:.2g}")


def bill_of(record: Run, store: Store) -> dict[str, Any] | None:
    """The bill of a run at a service: tokens as it counted them or as estimated, USD (None if the price or the tokens are not
    known), seconds of its calls, reused answers, and the service's own names. None for a model on this machine.
    """
    service = service_of(record.model, record.spec.service)
    if service is None:
        return None
    calls = store.answers.service_calls(record.run)
    entering, leaving = (sum(getattr(call, name) or 0 for call in calls) for name in ("prompt_tokens", "completion_tokens"))
    uncounted = sum(map(_is_uncounted, calls))
    provider, price = provider_of(record.model), _price(record.spec, record.spec.batch)
    paid = estimate(1, entering, leaving, price) if price and not uncounted else None
    return {
        "host": host_of(service),
        "models": sorted({call.served_model for call in calls if call.served_model}),
        "upstreams": dict(Counter(call.upstream for call in calls if call.upstream).most_common()),
        "fingerprints": sorted({call.fingerprint for call in calls if call.fingerprint}),
        "prompt_tokens": entering,
        "completion_tokens": leaving,
        "reasoning_tokens": _thinking(calls),
        "uncounted": uncounted,
        "estimated": TOKENS_ESTIMATED in record.notes,
        "usd": paid if provider.is_paid else 0.0,
        "price_of": price.as_of if price else None,
        **({"batch": price.batch if price else None} if record.spec.batch else {}),
        "calls": sum(call.attempts or 0 for call in calls),
        "reused": sum(call.attempts == 0 for call in calls),
        "seconds": _percentiles([call.seconds for call in calls if call.attempts and call.seconds is not None]),
        "cut": sum(call.cut == LENGTH for call in calls),
        "bounded": _bounded([call.p_high - call.p_low for call in calls if None not in (call.p_low, call.p_high)]),
    }


def _thinking(calls: Sequence[Any]) -> int | None:
    """The tokens of thinking; None where the service does not count them apart."""
    known = [call.reasoning_tokens for call in calls if call.reasoning_tokens is not None]
    return sum(known) if known else None


def _is_uncounted(call: Any) -> bool:
    """Returns True if the tokens of a call are unknown: the file of a run may leave them out."""
    has_reply = call.failure is None and call.cut != CONTENT_FILTER
    return bool(has_reply and call.attempts and not call.prompt_tokens)


def _percentiles(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    return dict(zip(("median", "p95", "p99"), np.percentile(seconds, (50, 95, 99)).tolist(), strict=True))


def _bounded(widths: Sequence[float]) -> dict[str, float] | None:
    return {"n": len(widths), "mean_width": sum(widths) / len(widths), "widest": max(widths)} if widths else None


MOST_UPSTREAMS = 6  # hosts that are named


def _describe_upstreams(upstreams: Mapping[str, int]) -> str:
    """The hosts behind a router with the number of their answers: "DeepInfra (90) and Together (70) answers"."""
    shown = [f"{name} ({count:,})" for name, count in list(upstreams.items())[:MOST_UPSTREAMS]]
    more = len(upstreams) - len(shown)
    return say("costs.upstreams", hosts=" and ".join(shown) + (f" and {more:,} more" if more else ""))


def note_on_upstreams(record: Run, store: Store) -> str | None:
    """A note where a router passed the calls of a run on to several hosts."""
    if not provider_of(record.model).is_remote:
        return None
    upstreams = Counter(call.upstream for call in store.answers.service_calls(record.run) if call.upstream)
    if len(upstreams) < 2:
        return None
    return say("costs.several_hosts", upstreams=_describe_upstreams(dict(upstreams.most_common())))


def describe_bill(bill: dict[str, Any]) -> list[str]:
    """A bill as sentences."""
    names, tokens, price = ", ".join(bill["models"]) or "no name", _describe_tokens(bill), _describe_price(bill)
    sentences = [say("costs.bill", host=bill["host"], names=names, tokens=tokens, price=price, calls=bill["calls"])]
    if bill["seconds"]:
        sentences.append(say("costs.latency", **bill["seconds"]))
    if bill["upstreams"]:
        sentences.append(say("costs.answered_by", upstreams=_describe_upstreams(bill["upstreams"])))
    if bill["reused"]:
        sentences.append(say("costs.reused", count=bill["reused"]))
    if bill["bounded"]:
        sentences.append(say("costs.bounded", **bill["bounded"]))
    return sentences


def describe_cut(count: int) -> list[str]:
    """States in a sentence how many replies their limit of tokens cut off; empty if there are none."""
    return [say("costs.cut", count=count, replies="reply was" if count == 1 else "replies were")] if count else []


def _describe_tokens(bill: dict[str, Any]) -> str:
    if bill["uncounted"]:
        return say("costs.uncounted", count=bill["uncounted"])
    thinking = say("costs.thinking", count=bill["reasoning_tokens"]) if bill.get("reasoning_tokens") else ""
    tokens = say("costs.tokens", prompt=bill["prompt_tokens"], completion=bill["completion_tokens"], thinking=thinking)
    return say("costs.estimated", tokens=tokens) if bill["estimated"] else tokens


def _describe_price(bill: dict[str, Any]) -> str:
    if bill["usd"] is None:
        return say("costs.no_price" if bill["price_of"] is None else "costs.no_cost")
    if bill["price_of"] is None:
        return "free"
    share = _describe_share("batch" in bill, bill.get("batch") or 1.0)
    return say("costs.paid", usd=dollars(bill["usd"]), share=share, date=dated(bill["price_of"]))


@dataclass
class Purse:
    """What a run has cost so far, in USD, and its limit, if it has one."""

    price: Price | None
    limit: float | None
    spent: float = 0.0

    @property
    def empty(self) -> bool:
        return self.limit is not None and self.spent >= self.limit

    @property
    def reason(self) -> str | None:
        if self.limit is None or not self.empty:
            return None
        return say("costs.budget_spent", limit=dollars(self.limit))

    def pay(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Adds the price of tokens."""
        if self.price is not None:
            self.spent += estimate(1, prompt_tokens, completion_tokens, self.price)


def purse_of(record: Run, store: Store, budget: float | None = None) -> Purse:
    """The purse of a run, with its costs so far. budget: replaces that of its spec.

    Raises Mistake if there is a budget that cannot be kept.
    """
    provider = provider_of(record.model)
    if not provider.is_paid:
        return Purse(None, None)
    limit = record.spec.budget if budget is None else budget
    check_budget(record.model, limit)
    price = _price(record.spec, record.spec.is_batched)
    return Purse(price, limit, estimate(1, *store.answers.tokens_used(record.run), price) if price else 0.0)


def check_batch(purse: Purse, prompts: Sequence[Prompt], repeats: int) -> None:
    """Raises Mistake where a batch would cost more than the budget has left: it cannot be stopped midway."""
    if purse.limit is None or purse.price is None:
        return
    times = max(repeats, 1)
    entering = times * sum(tokens_in(prompt.content) for prompt in prompts)
    usd = estimate(1, entering, times * len(prompts) * _REPLY_TOKENS, purse.price)
    if purse.spent + usd > purse.limit:
        raise Mistake(
            f"The batch would cost about {dollars(usd)}, and of the budget {dollars(max(purse.limit - purse.spent, 0))} are "
            "left. A batch cannot be stopped midway.",
            "Resume with a larger --budget, or ask fewer facts in a new run.",
        )
