"""The costs of a run at a service: an estimate before it, a budget while it runs, a bill afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfact.answers.instructions import EIGHT, LLM_EVAL, TEMPLATES
from medfact.datasets import Collection, load
from medfact.errors import Mistake
from medfact.models import LENGTH, is_service, takes_messages
from medfact.models.services.policy import hosts_of
from medfact.models.services.prices import PRICES, Price, estimate, price_of, tokens_in
from medfact.runs.corpus import corpus_of
from medfact.runs.plan import plan
from medfact.runs.prompts import prompt_of
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.store import Plan, Planned, Run, Store

_PASSAGES_MEASURED = 1_000
"""Passages whose length stands for that of all."""

_REPLY_TOKENS = 4
"""Estimate of a reply: an answer word, its full stop, and the end. Models that think use many more."""


def costs(spec: RunSpec, collection: Collection | None = None, planned: Plan | None = None) -> dict[str, Any]:
    """An estimate before a run is asked: statements, tokens, USD, and all of it as a sentence (`said`).

    `usd` is None if the price is not known or nothing is paid. planned: the run's plan, if it exists already.
    """
    planned = planned or plan(spec, collection)
    chat = is_service(spec.model) and takes_messages(spec.model, service=spec.service)
    prompts = (prompt_of(item, planned.demonstrations, spec, chat=chat) for item in planned.statements)
    tokens = sum(tokens_in(prompt.content) for prompt in prompts) + _passage_tokens(planned, spec, collection)
    times = max(spec.service.repeats, 1)
    count, entering = len(planned.statements), tokens * times
    leaving = sum(_reply_tokens(item, spec) for item in planned.statements) * times
    price = price_of(spec.model) if is_service(spec.model) else None
    usd = estimate(1, entering, leaving, price) if price else None
    return {
        "model": spec.model,
        "statements": count,
        "prompt_tokens": entering,
        "completion_tokens": leaving,
        "usd": None if usd is None else round(usd, 2),
        "said": _in_words(spec, count, entering + leaving, usd, price),
    }


def _passage_tokens(planned: Plan, spec: RunSpec, collection: Collection | None) -> int:
    """Estimate of the passages that are still to be retrieved: as many as may be, each as long as those of the corpus are."""
    missing = sum(item.passages is None for item in planned.statements)
    if spec.retrieval == NO_RETRIEVAL or not missing:
        return 0
    texts = corpus_of(spec, collection or load(spec)).texts[:_PASSAGES_MEASURED]
    return round(missing * spec.passages * sum(map(tokens_in, texts)) / max(len(texts), 1))


def _reply_tokens(item: Planned, spec: RunSpec) -> int:
    """Estimate of a reply: an answer, a sentence as long as its prototype or triplet, or eight of them."""
    if spec.task is None:
        return _REPLY_TOKENS
    return tokens_in(item.statement.text) * (EIGHT if spec.task in (LLM_EVAL, TEMPLATES) else 1)


def _in_words(spec: RunSpec, count: int, tokens: int, usd: float | None, price: Price | None) -> str:
    what = "statements" if spec.task is None else "texts to write"
    if not is_service(spec.model):
        return f"{count:,} {what} on this machine: nothing to pay."
    begin = f"{count:,} {what}, about {tokens:,} tokens"
    if usd is None or price is None:
        return f"{begin}; the price of {spec.model} is not known: add it to {PRICES.name}."
    return (
        f"{begin}: about ${usd:,.2f} at the list price of {price.as_of} (${price.input:g} and ${price.output:g} a million "
        "tokens in and out). Models that think before they answer cost more."
    )


def bill_of(record: Run, store: Store) -> dict[str, Any] | None:
    """The bill of a run at a service: tokens as it counted them, USD (None if the price is not known), seconds of its calls,
    reused answers, and the service's own names. None for a model on this machine.
    """
    if not is_service(record.model):
        return None
    calls = store.service_calls(record.run)
    entering, leaving = (sum(getattr(call, name) or 0 for call in calls) for name in ("prompt_tokens", "completion_tokens"))
    price = price_of(record.model)
    return {
        "host": ", ".join(hosts_of(record.spec.service)),
        "models": sorted({call.served_model for call in calls if call.served_model}),
        "fingerprints": sorted({call.fingerprint for call in calls if call.fingerprint}),
        "prompt_tokens": entering,
        "completion_tokens": leaving,
        "usd": estimate(1, entering, leaving, price) if price else None,
        "price_of": price.as_of if price else None,
        "calls": sum(call.attempts or 0 for call in calls),
        "reused": sum(call.attempts == 0 for call in calls),
        "seconds": _percentiles([call.seconds for call in calls if call.attempts and call.seconds is not None]),
        "cut": sum(call.cut == LENGTH for call in calls),
        "bounded": _bounded([call.p_high - call.p_low for call in calls if None not in (call.p_low, call.p_high)]),
    }


def _percentiles(seconds: Sequence[float]) -> dict[str, float] | None:
    if not seconds:
        return None
    return dict(zip(("median", "p95", "p99"), np.percentile(seconds, (50, 95, 99)).tolist(), strict=True))


def _bounded(widths: Sequence[float]) -> dict[str, float] | None:
    return {"n": len(widths), "mean_width": sum(widths) / len(widths), "widest": max(widths)} if widths else None


def bill_in_words(bill: dict[str, Any]) -> list[str]:
    """A bill as sentences."""
    usd = "price not known" if bill["usd"] is None else f"${bill['usd']:,.2f} at the list price of {bill['price_of']}"
    names = ", ".join(bill["models"]) or "no name"
    sentences = [
        f"{bill['host']}, which calls the model {names}: {bill['prompt_tokens']:,} tokens in and {bill['completion_tokens']:,} "
        f"out, {usd}; {bill['calls']:,} calls."
    ]
    if bill["seconds"]:
        median, p95, p99 = bill["seconds"].values()
        sentences.append(f"Seconds a call: {median:.2f} in the middle, {p95:.2f} for 19 of 20, {p99:.2f} for 99 of 100.")
    if bill["reused"]:
        sentences.append(f"{bill['reused']:,} answers were taken from identical prompts asked before, and cost nothing.")
    if bill["cut"]:
        sentences.append(
            f"{bill['cut']:,} replies were cut off for their length: those that open with True or False are read, the others "
            "are unreadable (--max-tokens allows longer ones)."
        )
    if bill["bounded"]:
        bounded = bill["bounded"]
        sentences.append(
            f"The service shows only some alternatives: P(True) of {bounded['n']:,} statements is known within bounds, "
            f"{bounded['mean_width']:.3f} apart on average and {bounded['widest']:.3f} at most."
        )
    return sentences


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
        if not self.empty:
            return None
        return f"The budget of ${self.limit:,.2f} is spent. Resume with a larger one to go on."

    def pay(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Adds the price of tokens."""
        if self.price is not None:
            self.spent += estimate(1, prompt_tokens, completion_tokens, self.price)


def purse_of(record: Run, store: Store, budget: float | None = None) -> Purse:
    """The purse of a run, with its costs so far. budget: replaces that of its spec.

    Raises Mistake if there is a budget and the price is not known.
    """
    if not is_service(record.model):
        return Purse(None, None)
    limit = record.spec.budget if budget is None else budget
    price = price_of(record.model)
    if price is None and limit is not None:
        raise Mistake(
            f"The price of {record.model!r} is not known, so a budget cannot be kept.",
            f"Add it to {PRICES.name}, or leave the budget out.",
        )
    return Purse(price, limit, estimate(1, *store.tokens_used(record.run), price) if price else 0.0)
