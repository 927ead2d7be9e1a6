"""Greedy decoding of many prompts: as packs, which compute shared beginnings once, or each prompt whole.

Both ways end a reply at the same token and read P(True) at the same token.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, TypeVar

import torch
from transformers import DynamicCache, LogitsProcessorList, StoppingCriteriaList

from medfact.models.local.memory import sizes
from medfact.models.local.packing import Pack, in_blocks
from medfact.models.local.vocabulary import Vocabulary
from medfact.models.prompt import LENGTH, Completion, Prompt, answer_position, is_time_to_read, until

NOT_FINITE = (
    "the model's numbers are not finite (NaN or infinite): try another number format (--dtype float32 or bfloat16), or fetch "
    "its weights again"
)
"""Why a prompt fails to which a model has no answer."""


class Step(NamedTuple):
    """What the logits of a token say. true, false: probability of the True and of the False words. is_finite: whether they are
    numbers; else the likeliest token means nothing.
    """

    true: float
    false: float
    is_finite: bool


@dataclass
class Reply:
    """A reply decoded so far. true, false: probability of the True and of the False words at each token. is_finite: whether
    each of its tokens was chosen by numbers.
    """

    tokens: list[int] = field(default_factory=list)
    true: list[float] = field(default_factory=list)
    false: list[float] = field(default_factory=list)
    is_finite: bool = True

    def add(self, token: int, step: Step) -> None:
        self.tokens.append(token)
        self.true.append(step.true)
        self.false.append(step.false)
        self.is_finite = self.is_finite and step.is_finite


@dataclass(frozen=True)
class Decoder:
    """Decodes prompts alike. options: of `decoding_of`. opening: the beginning of the replies, if the prompts contain it."""

    model: Any
    vocabulary: Vocabulary
    options: Prompt
    pad: int
    opening: str = ""

    # -------------------------------------------------------------------------------- one reply

    def is_complete(self, reply: Reply) -> bool:
        """Whether a reply needs no further tokens."""
        return len(reply.tokens) == self.options.max_tokens or not reply.is_finite or self._is_whole(reply)

    def _is_whole(self, reply: Reply) -> bool:
        """Whether a reply has come to its end, so that its limit of tokens does not cut it."""
        if reply.tokens[-1] in self.vocabulary.ends or self._settled(reply):
            return True
        reads = is_time_to_read(len(reply.tokens), self.options.enough_tokens)
        text = self.vocabulary.text(reply.tokens) if self.options.stop or reads else ""
        if reads and self.options.reads(text) is not None:
            return True
        return len(until(self.options.stop, text)) < len(text)

    def _settled(self, reply: Reply) -> bool:
        """Whether the opening word already is the answer, so that no more of the reply is read."""
        needed = self.options.settled_after
        if needed is None or len(reply.tokens) < needed or reply.tokens[0] not in self.vocabulary.committed:
            return False
        return needed == 1 or self.vocabulary.settles(reply.tokens)

    def completion(self, reply: Reply) -> Completion:
        """A complete reply, with P(True) at its answer; a failure where it is not finite."""
        if not reply.is_finite:
            return Completion(None, failure=NOT_FINITE)
        if self._settled(reply):
            return with_mass(Completion(self.vocabulary.text(reply.tokens[:1])), reply.true[0], reply.false[0])
        text = self.text(reply)
        at = self.position(reply)
        completion = Completion(text) if at is None else with_mass(Completion(text), reply.true[at], reply.false[at])
        return completion if self._is_whole(reply) else replace(completion, cut=LENGTH)

    def text(self, reply: Reply) -> str:
        """The text of a reply, up to its stop."""
        tokens = reply.tokens[:-1] if reply.tokens[-1] in self.vocabulary.ends else reply.tokens
        return self.opening + until(self.options.stop, self.vocabulary.text(tokens))

    def position(self, reply: Reply) -> int | None:
        """The index of the token that gives a reply's answer; None if the reply only thinks."""
        before = [self.opening] if self.opening else []
        pieces = [*before, *self.vocabulary.pieces(reply.tokens)]
        at = answer_position(pieces, self.text(reply), self.options.place, self.options.choices)
        return None if at is None else at - len(before)

    # -------------------------------------------------------------------------------- packs

    def of_packs(self, group: Iterable[Sequence[Pack]]) -> Iterator[tuple[int, Reply]]:
        """The index of each prompt in the packs and its reply, as soon as it is complete. Packs of one sequence are computed
        side by side, and replies that need more tokens are continued together, those of the whole group.
        """
        row = PackedRow(self.model)
        open_: list[tuple[int, Reply]] = []
        rows: list[int] = []
        begun = 0
        for beside in group:
            replies = [(index, Reply()) for pack in beside for index, _ in pack.ends]
            self._extend(replies, row.begin(beside))
            for number, (index, reply) in enumerate(replies, begun):
                if self.is_complete(reply):
                    yield index, reply
                else:
                    open_.append((index, reply))
                    rows.append(number)
            begun += len(replies)
        while open_:
            self._extend(open_, row.advance(rows, [reply.tokens[-1] for _, reply in open_]))
            complete = [self.is_complete(reply) for _, reply in open_]
            yield from (pair for pair, is_complete in zip(open_, complete, strict=True) if is_complete)
            rows = [number for number, is_complete in enumerate(complete) if not is_complete]
            open_ = [open_[number] for number in rows]

    def _extend(self, replies: Sequence[tuple[int, Reply]], logits: Any) -> None:
        """Appends the likeliest token to each reply."""
        for (_, reply), token, step in zip(replies, logits.argmax(dim=-1).tolist(), self._steps(logits), strict=True):
            reply.add(token, step)

    # -------------------------------------------------------------------------------- whole prompts

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def of_whole(self, prompts: Sequence[Sequence[int]]) -> list[Reply]:
        """Replies to prompts computed whole, in one padded batch."""
        replies = [Reply() for _ in prompts]
        complete = [False] * len(prompts)
        steps: list[Step] = []

        def watch(_: Any, scores: Any) -> Any:
            nonlocal steps
            steps = self._steps(scores)
            return scores

        def stop(ids: Any, _: Any, **__: Any) -> Any:
            for row, (token, step) in enumerate(zip(ids[:, -1].tolist(), steps, strict=True)):
                if not complete[row]:
                    replies[row].add(token, step)
                    complete[row] = self.is_complete(replies[row])
            return torch.tensor(complete, device=ids.device)

        self.model.generate(
            **padded(prompts, self.pad, self.model),
            max_new_tokens=self.options.max_tokens,
            logits_processor=LogitsProcessorList([watch]),
            stopping_criteria=StoppingCriteriaList([stop]),
        )
        return replies

    # -------------------------------------------------------------------------------- probabilities

    def _steps(self, logits: Any) -> list[Step]:
        """What each row of logits (row, vocabulary) says."""
        probabilities = logits.float().softmax(dim=-1)
        true, false = (probabilities[:, self.vocabulary.tokens(words)].sum(dim=-1).tolist() for words in self.options.choices)
        return [*map(Step, true, false, are_finite(logits).tolist())]

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def forced(self, begun: Sequence[tuple[Sequence[int], Sequence[int]]], word: Sequence[int]) -> list[float]:
        """The probability that each prompt, with the beginning of its reply, continues with a word of several tokens: the
        product of their probabilities (teacher forcing). begun: tokens of each prompt, and of the beginning of its reply.
        """
        count = len(word)
        if self.model.config.is_encoder_decoder:
            start = self.model.generation_config.decoder_start_token_id
            encoded = padded([prompt for prompt, _ in begun], self.pad, self.model)
            replies = padded([[start, *reply, *word[:-1]] for _, reply in begun], self.pad, self.model)
            logits = self.model(**encoded, decoder_input_ids=replies["input_ids"]).logits
            last = [len(reply) + count for _, reply in begun]
            logits = torch.stack([row[end - count : end] for row, end in zip(logits, last, strict=True)])
        else:
            encoded = padded([[*prompt, *reply, *word] for prompt, reply in begun], self.pad, self.model)
            logits = logits_of_last(self.model, encoded, count + 1)[:, :-1]
        steps = torch.arange(count, device=logits.device)
        targets = torch.tensor(list(word), device=logits.device)
        return [math.exp(sum(logprobs)) for logprobs in logits.float().log_softmax(dim=-1)[:, steps, targets].tolist()]


def are_finite(logits: Any) -> Any:
    """Whether the logits of each token (…, vocabulary) are numbers. A token that must not be said has −∞."""
    return logits.amax(dim=-1).isfinite()


def _name_of_cache(model: Any) -> str:
    """What a model calls the keys and values that it has computed: transformers 5.24 has begun to rename them."""
    return "cache" if "cache" in _parameters(type(model).forward) else "past_key_values"


class PackedRow:
    """Packs in a model: their cache so far, and which part of it each open prompt attends to."""

    def __init__(self, model: Any) -> None:
        self._model, self._name_of_cache = model, _name_of_cache(model)
        self._packs: list[tuple[DynamicCache, Any]] = []
        self._cache = DynamicCache()
        self._attention: Any = None
        self._depths: list[int] = []

    def begin(self, beside: Sequence[Pack]) -> Any:
        """Logits after each prompt of packs that are computed side by side: (prompt, vocabulary), in float32."""
        logits, packs = zip(*side_by_side(self._begun, beside), strict=True)
        self._packs += packs
        self._depths += [pack.depths[node] + 1 for pack in beside for _, node in pack.ends]
        return torch.cat(logits)

    def _begun(self, pack: Pack) -> tuple[Any, tuple[DynamicCache, Any]]:
        """Logits after each prompt of a pack, its cache, and what each prompt attends to: (prompt, token)."""
        attention = torch.from_numpy(pack.attention()).to(self._model.device)
        nodes = torch.tensor([node for _, node in pack.ends], device=attention.device)
        # with the model's configuration, sliding layers would drop what lies far back in the row, such as a prompt's beginning
        cache = DynamicCache()
        with in_blocks(attention):
            logits = self._forward(pack.tokens, pack.depths, attention, nodes, cache)
        return logits, (cache, attention[nodes])

    def advance(self, rows: Sequence[int], tokens: Sequence[int]) -> Any:
        """Logits after one more token of the prompts that are still open: (row, vocabulary). Others are dropped.

        rows: their numbers, at first among all prompts begun, later among the rows of the previous logits. tokens: one each.
        """
        if self._packs:
            self._join()
        own = torch.eye(len(rows), dtype=torch.bool, device=self._attention.device)
        self._attention = torch.cat([self._attention[list(rows)], own], dim=1)
        depths = [self._depths[row] for row in rows]
        self._depths = [depth + 1 for depth in depths]
        return self._forward(tokens, depths, self._attention, 0, self._cache)

    def _join(self) -> None:
        """Joins the packs into one row; each prompt attends only to its own pack."""
        self._attention = torch.block_diag(*(attention for _, attention in self._packs))
        for layer, parts in enumerate(zip(*(pack_cache.layers for pack_cache, _ in self._packs), strict=True)):
            keys, values = (torch.cat([getattr(part, side) for part in parts], dim=2) for side in ("keys", "values"))
            self._cache.update(keys, values, layer)
        self._packs = []

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _forward(self, tokens: Sequence[int], depths: Sequence[int], attention: Any, keep: Any, cache: DynamicCache) -> Any:
        device, dtype = self._model.device, self._model.dtype
        mask = torch.zeros(attention.shape, dtype=dtype, device=device).masked_fill_(~attention, torch.finfo(dtype).min)
        return (
            self._model(
                input_ids=torch.tensor([list(tokens)], device=device),
                attention_mask=mask[None, None],
                position_ids=torch.tensor([list(depths)], device=device),
                use_cache=True,
                logits_to_keep=keep,
                **{self._name_of_cache: cache},
            )
            .logits[0]
            .float()
        )


def padded(prompts: Sequence[Sequence[int]], pad: int, model: Any) -> dict[str, Any]:
    """Token ids of a batch and its attention mask, padded on the left; on the right for an encoder, whose positions always
    count from the left.
    """
    longest = max(map(len, prompts))
    right = model.config.is_encoder_decoder

    def filled(tokens: Sequence[int], value: int) -> list[int]:
        rest = [value] * (longest - len(tokens))
        return [*tokens, *rest] if right else [*rest, *tokens]

    rows = [filled(tokens, pad) for tokens in prompts]
    mask = [filled([1] * len(tokens), 0) for tokens in prompts]
    return {
        "input_ids": torch.tensor(rows, device=model.device),
        "attention_mask": torch.tensor(mask, device=model.device),
    }


@torch.inference_mode()  # type: ignore[untyped-decorator]
def next_tokens(model: Any, tokens: Sequence[int], count: int) -> Any:
    """Logits after each of the last `count` tokens of one prompt, computed alone: (count, vocabulary), in float32."""
    return logits_of_last(model, padded([tokens], 0, model), count)[0].float()


def logits_of_last(model: Any, encoded: dict[str, Any], count: int) -> Any:
    """Logits at the last tokens of each prompt of a batch: (prompt, count, vocabulary). Some models always return all."""
    accepted = _parameters(type(model).forward)
    options: dict[str, Any] = {}
    if "position_ids" in accepted:
        options["position_ids"] = (encoded["attention_mask"].cumsum(dim=-1) - 1).clamp(min=0)
    if "logits_to_keep" in accepted:
        options["logits_to_keep"] = count
    return model(**encoded, **options).logits[:, -count:]


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def first_steps(model: Any, prompts: Sequence[Sequence[int]], pad: int, count: int) -> Any:
    """Logits of the first tokens of each greedy reply, in one padded batch: (prompt, count, vocabulary)."""
    generated = model.generate(
        **padded(prompts, pad, model),
        max_new_tokens=count,
        min_new_tokens=count,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return torch.stack(generated.logits, dim=1).float()


def with_mass(completion: Completion, true: float, false: float) -> Completion:
    """The completion with P(True), from the probabilities of the True and of the False words; a failure where they are none."""
    mass = true + false
    if not math.isfinite(mass):
        return Completion(None, failure=NOT_FINITE)
    return replace(completion, p_true=true / mass if mass > 0 else None, p_mass=mass)


# ---------------------------------------------------------------------------------------------------------- two threads

# Two cores that share every matrix wait for each other, longer where other threads run too. Two that multiply matrices of their
# own do not (`benchmarks/README.md`).

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


LEAST_WIDTH = 512
"""Hidden size from which threads save time. In narrower models they wait for Python more than cores do for each other."""

KNOWN_PARTS = ("torch.nn.", "transformers.models.", "transformers.activations")
"""The modules whose classes keep nothing from one computation to the next. Code from a repository and quantized layers may."""

CHANGING_POSITIONS = ("dynamic", "longrope")
"""Kinds of rotary position encodings that a model makes anew for a longer prompt."""


def threads_of(model: Any) -> int:
    """How many threads compute with a model at once: two with a wide model on a CPU of several cores, if computing changes
    nothing in it.
    """
    parts = list(model.modules())
    kinds = " ".join(str(getattr(part, "rope_type", "")) for part in parts)
    is_fixed = all(type(part).__module__.startswith(KNOWN_PARTS) for part in parts)
    is_fixed = is_fixed and not any(kind in kinds for kind in CHANGING_POSITIONS)
    is_wide = max(sizes(model.config, "hidden_size"), default=0) >= LEAST_WIDTH
    return 2 if is_fixed and is_wide and model.device.type == "cpu" and torch.get_num_threads() > 1 else 1


def side_by_side(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """The result of each item, each computed in a thread of its own; one item alone has all cores."""
    if len(items) == 1:
        return [work(items[0])]
    cores = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(len(items), "model", torch.set_num_threads, (cores // len(items),)) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(cores)  # what a thread sets would hold for all that begin later
