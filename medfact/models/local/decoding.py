"""Greedy decoding of many prompts: as packs, where what they share is computed once, or each of them whole.

Both ways end a reply at the same token, and read P(True) at the same one.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from transformers import DynamicCache, LogitsProcessorList, StoppingCriteriaList

from medfact.models.local.packing import Pack
from medfact.models.local.vocabulary import How, Vocabulary
from medfact.models.prompt import Completion, answer_position, until


@dataclass
class Reply:
    """A reply as far as it is decoded. true, false: probability of the True and of the False words at each token."""

    tokens: list[int] = field(default_factory=list)
    true: list[float] = field(default_factory=list)
    false: list[float] = field(default_factory=list)

    def add(self, token: int, true: float, false: float) -> None:
        self.tokens.append(token)
        self.true.append(true)
        self.false.append(false)


@dataclass(frozen=True)
class Decoder:
    """Decodes prompts that are asked alike with one model. `opening` is what the prompts say already of their replies."""

    model: Any
    vocabulary: Vocabulary
    how: How
    pad: int
    opening: str = ""

    # -------------------------------------------------------------------------------- what a reply says

    def over(self, reply: Reply) -> bool:
        """Whether a reply needs no further token."""
        if reply.tokens[-1] in self.vocabulary.ends or len(reply.tokens) == self.how.max_tokens or self._settled(reply):
            return True
        text = self.vocabulary.text(reply.tokens) if self.how.stop else ""
        return len(until(self.how.stop, text)) < len(text)

    def _settled(self, reply: Reply) -> bool:
        """Whether the opening answer word is the answer already: no more of the reply is read."""
        if len(reply.tokens) != self.how.settled_after or reply.tokens[0] not in self.vocabulary.committed:
            return False
        return len(reply.tokens) == 1 or self.vocabulary.settles(reply.tokens)

    def completion(self, reply: Reply) -> Completion:
        """A reply that is over, with P(True) where its answer is said."""
        if self._settled(reply):
            return _completion(self.vocabulary.text(reply.tokens[:1]), reply.true[0], reply.false[0])
        text = self.text(reply)
        at = self.position(reply)
        if at is None:
            return Completion(text)
        return _completion(text, reply.true[at], reply.false[at])

    def text(self, reply: Reply) -> str:
        """What a reply says, before what stops it."""
        tokens = reply.tokens[:-1] if reply.tokens[-1] in self.vocabulary.ends else reply.tokens
        return self.opening + until(self.how.stop, self.vocabulary.text(tokens))

    def position(self, reply: Reply) -> int | None:
        """At which of its tokens a reply says its answer; None where it only thinks."""
        before = [self.opening] if self.opening else []
        pieces = [*before, *self.vocabulary.pieces(reply.tokens)]
        at = answer_position(pieces, self.text(reply), self.how.place, self.how.choices)
        return None if at is None else at - len(before)

    # -------------------------------------------------------------------------------- packs

    def of_packs(self, group: Iterable[Pack]) -> Iterator[tuple[int, Reply]]:
        """The places of the packs' prompts and their replies, as they are over. Each is computed by itself; replies that need
        more tokens are decoded on together.
        """
        row = Row(self.model)
        open_: list[tuple[int, Reply]] = []
        rows: list[int] = []
        begun = 0
        for pack in group:
            replies = [(place, Reply()) for place, _ in pack.ends]
            self._say(replies, row.begin(pack))
            for number, (place, reply) in enumerate(replies, begun):
                if self.over(reply):
                    yield place, reply
                else:
                    open_.append((place, reply))
                    rows.append(number)
            begun += len(replies)
        while open_:
            self._say(open_, row.go_on(rows, [reply.tokens[-1] for _, reply in open_]))
            over = [self.over(reply) for _, reply in open_]
            yield from (one for one, done in zip(open_, over, strict=True) if done)
            rows = [number for number, done in enumerate(over) if not done]
            open_ = [open_[number] for number in rows]

    def _say(self, replies: Sequence[tuple[int, Reply]], logits: Any) -> None:
        """Adds the likeliest token to each reply."""
        for (_, reply), token, *masses in zip(replies, logits.argmax(dim=-1).tolist(), *self._masses(logits), strict=True):
            reply.add(token, *masses)

    # -------------------------------------------------------------------------------- whole prompts

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def of_whole(self, prompts: Sequence[Sequence[int]]) -> list[Reply]:
        """Replies to prompts that are computed whole, in one padded batch."""
        replies = [Reply() for _ in prompts]
        over = [False] * len(prompts)
        masses: tuple[list[float], list[float]] = ([], [])

        def watch(_: Any, scores: Any) -> Any:
            nonlocal masses
            masses = self._masses(scores)
            return scores

        def stop(ids: Any, _: Any, **__: Any) -> Any:
            for row, (token, true, false) in enumerate(zip(ids[:, -1].tolist(), *masses, strict=True)):
                if not over[row]:
                    replies[row].add(token, true, false)
                    over[row] = self.over(replies[row])
            return torch.tensor(over, device=ids.device)

        self.model.generate(
            **padded(prompts, self.pad, self.model),
            max_new_tokens=self.how.max_tokens,
            logits_processor=LogitsProcessorList([watch]),
            stopping_criteria=StoppingCriteriaList([stop]),
        )
        return replies

    # -------------------------------------------------------------------------------- probabilities

    def _masses(self, logits: Any) -> tuple[list[float], list[float]]:
        """Probability of the True words and of the False words, one each per row of logits (row, vocabulary)."""
        probabilities = logits.float().softmax(dim=-1)
        true, false = (probabilities[:, self.vocabulary.tokens(words)].sum(dim=-1).tolist() for words in self.how.choices)
        return true, false

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def forced(self, begun: Sequence[tuple[Sequence[int], Sequence[int]]], word: Sequence[int]) -> list[float]:
        """Probability that each prompt, and what of its reply was said already, goes on with a word of several tokens: the
        product of theirs (teacher forcing).
        """
        count = len(word)
        if self.model.config.is_encoder_decoder:
            start = self.model.generation_config.decoder_start_token_id
            encoded = padded([prompt for prompt, _ in begun], self.pad, self.model)
            replies = right_padded([[start, *said, *word[:-1]] for _, said in begun], self.pad, self.model)
            logits = self.model(**encoded, decoder_input_ids=replies).logits
            last = [len(said) + count for _, said in begun]
            logits = torch.stack([row[end - count : end] for row, end in zip(logits, last, strict=True)])
        else:
            encoded = padded([[*prompt, *said, *word] for prompt, said in begun], self.pad, self.model)
            logits = logits_of_last(self.model, encoded, count + 1)[:, :-1]
        steps = torch.arange(count, device=logits.device)
        wanted = torch.tensor(list(word), device=logits.device)
        return [math.exp(sum(word)) for word in logits.float().log_softmax(dim=-1)[:, steps, wanted].tolist()]


class Row:
    """Packs in a model: what has been computed of them, and which of it each open prompt sees."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._apart: list[tuple[DynamicCache, Any]] = []
        self._cache = DynamicCache()
        self._seen: Any = None
        self._depths: list[int] = []

    def begin(self, pack: Pack) -> Any:
        """Logits after each prompt of a pack that is computed by itself: (prompt, vocabulary), in float32."""
        nodes = [node for _, node in pack.ends]
        sees = torch.from_numpy(pack.sees()).to(self._model.device)
        # Without the model's settings no layer forgets what lies far back in the row: a prompt's own beginning may.
        cache = DynamicCache()
        logits = self._forward(pack.tokens, pack.depths, sees, torch.tensor(nodes, device=sees.device), cache)
        self._apart.append((cache, sees[nodes]))
        self._depths += [pack.depths[node] + 1 for node in nodes]
        return logits

    def go_on(self, rows: Sequence[int], tokens: Sequence[int]) -> Any:
        """Logits after one more token of those prompts that are still open: (row, vocabulary). Others are left behind.

        rows: their numbers among all prompts that were begun, and later among the rows of the logits before. tokens: one each.
        """
        if self._apart:
            self._join()
        own = torch.eye(len(rows), dtype=torch.bool, device=self._seen.device)
        self._seen = torch.cat([self._seen[list(rows)], own], dim=1)
        depths = [self._depths[row] for row in rows]
        self._depths = [depth + 1 for depth in depths]
        return self._forward(tokens, depths, self._seen, 0, self._cache)

    def _join(self) -> None:
        """Makes one row of the packs; a prompt sees its own pack alone."""
        self._seen = torch.block_diag(*(seen for _, seen in self._apart))
        for layer, parts in enumerate(zip(*(kept.layers for kept, _ in self._apart), strict=True)):
            keys, values = (torch.cat([getattr(part, side) for part in parts], dim=2) for side in ("keys", "values"))
            self._cache.update(keys, values, layer)
        self._apart = []

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _forward(self, tokens: Sequence[int], depths: Sequence[int], sees: Any, keep: Any, cache: DynamicCache) -> Any:
        device, dtype = self._model.device, self._model.dtype
        mask = torch.zeros(sees.shape, dtype=dtype, device=device).masked_fill_(~sees, torch.finfo(dtype).min)
        return (
            self._model(
                input_ids=torch.tensor([list(tokens)], device=device),
                attention_mask=mask[None, None],
                position_ids=torch.tensor([list(depths)], device=device),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=keep,
            )
            .logits[0]
            .float()
        )


def padded(prompts: Sequence[Sequence[int]], pad: int, model: Any) -> dict[str, Any]:
    """Token ids of a batch and its attention mask, padded on the left; on the right for an encoder, whose positions count from
    the left whatever the mask.
    """
    longest = max(map(len, prompts))
    right = model.config.is_encoder_decoder

    def filled(tokens: Sequence[int], value: int) -> list[int]:
        rest = [value] * (longest - len(tokens))
        return [*tokens, *rest] if right else [*rest, *tokens]

    rows = [filled(tokens, pad) for tokens in prompts]
    seen = [filled([1] * len(tokens), 0) for tokens in prompts]
    return {
        "input_ids": torch.tensor(rows, device=model.device),
        "attention_mask": torch.tensor(seen, device=model.device),
    }


def right_padded(rows: Sequence[Sequence[int]], pad: int, model: Any) -> Any:
    """Token ids of a batch for a decoder that sees no further than each token: (row, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=model.device)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def next_token(model: Any, tokens: Sequence[int]) -> Any:
    """Logits of the token after one prompt that is computed alone: (vocabulary,), in float32."""
    return logits_of_last(model, padded([tokens], 0, model), 1)[0, -1].float()


def logits_of_last(model: Any, encoded: dict[str, Any], count: int) -> Any:
    """Logits at the last tokens of each prompt of a batch: (prompt, count, vocabulary). Some models give no fewer than all."""
    taken = _parameters(type(model).forward)
    options = _positions(encoded) if "position_ids" in taken else {}
    if "logits_to_keep" in taken:
        options["logits_to_keep"] = count
    return model(**encoded, **options).logits[:, -count:]


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def first_steps(model: Any, prompts: Sequence[Sequence[int]], pad: int, count: int) -> Any:
    """Logits of the first tokens of each prompt's greedy reply, in one padded batch: (prompt, count, vocabulary)."""
    made = model.generate(
        **padded(prompts, pad, model),
        max_new_tokens=count,
        min_new_tokens=count,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return torch.stack(made.logits, dim=1).float()


def _positions(encoded: dict[str, Any]) -> dict[str, Any]:
    return {"position_ids": (encoded["attention_mask"].cumsum(dim=-1) - 1).clamp(min=0)}


def _completion(text: str, true: float, false: float) -> Completion:
    mass = true + false
    return Completion(text, true / mass if mass > 0 else None, mass)
