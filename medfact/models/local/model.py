"""Local language models: prompts in, completions out, what prompts share computed once where the architecture allows it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch

from medfact.errors import ModelError
from medfact.models.local.chat import Chat
from medfact.models.local.decoding import Decoder, Reply, Row, first_steps, next_token
from medfact.models.local.memory import LARGEST
from medfact.models.local.packing import Pack, packs
from medfact.models.local.vocabulary import How, Vocabulary, how, splits
from medfact.models.prompt import Completion, Prompt

if TYPE_CHECKING:
    from medfact.models import ModelInfo

BATCH = 32
"""Prompts that are computed whole together, at most."""

LONG = 4
"""In a row of so many times its width, a layer looks along the row for as long as it does all else."""

TRIED = 1024
"""Tokens of the pack with which an architecture is tried: longer than local attention looks back."""

PADDED_TOKENS, PADDED_STEPS = (6, 300), 3
"""Tokens of the two prompts with which padding is tried, and tokens of their replies that are compared."""

ROOM_TO_THINK = 256
"""Tokens of the context that must be left for thoughts and answer."""

BEFORE = 40
"""Characters of a text that may change how a tokenizer cuts what follows it."""

REFUSALS = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError)
"""What architectures raise, each in its own way, where they cannot take a mask, a position or a cache."""


@dataclass
class LocalModel:
    """A language model on this machine, decoded greedily.

    together: tokens that are computed at once, at most. talk: how it is spoken to as a chat model. max_tokens: tokens of a
    reply; None takes what the prompt says.
    """

    spec: str
    model: Any
    tokenizer: Any
    info: ModelInfo
    together: int = LARGEST
    talk: Chat = field(default_factory=Chat)
    max_tokens: int | None = None

    @property
    def chat(self) -> bool:
        return self.tokenizer.chat_template is not None

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The place of each prompt and its completion, similar prompts together. One longer than the model's context fails."""
        for asked, group in groupby(enumerate(prompts), lambda item: self._how(item[1])):
            places, alike = zip(*group, strict=True)
            for place, completion in self._alike(alike, asked):
                yield places[place], completion

    def _how(self, prompt: Prompt) -> How:
        asked = how(prompt)
        if self.talk.thinking and asked.messages:  # the answer comes after the thoughts
            asked = asked._replace(settled_after=None, max_tokens=self.talk.max_tokens)
        return asked._replace(max_tokens=self.max_tokens) if self.max_tokens else asked

    def _alike(self, prompts: Sequence[Prompt], asked: How) -> Iterator[tuple[int, Completion]]:
        """Completions of prompts that are decoded alike, as packs or whole; shorter replies where the context ends earlier."""
        texts = [self._text(prompt) for prompt in prompts]
        ids = self.tokenizer(texts, add_special_tokens=not asked.messages)["input_ids"]
        rooms: defaultdict[int, list[int]] = defaultdict(list)
        for place, tokens in enumerate(ids):
            room = min(asked.max_tokens, self._context - len(tokens))
            if room >= self._least(asked):
                rooms[room].append(place)
            else:
                failure = f"the prompt has {len(tokens)} tokens; the model takes {self._context}"
                yield place, Completion(None, failure=failure)
        for room, chosen in rooms.items():
            decoder = Decoder(
                self.model,
                self._vocabulary,
                asked._replace(max_tokens=room),
                self.tokenizer.pad_token_id,
                self.talk.opened_thought(texts[chosen[0]]) if asked.messages else "",
            )
            sides = self._vocabulary.following(texts[chosen[0]][-BEFORE:], asked.answers)
            for places, replies in self._decoded(decoder, [(place, ids[place]) for place in chosen], not splits(sides)):
                completions = [decoder.completion(reply) for reply in replies]
                if splits(sides):
                    begun = [(texts[place], ids[place], reply) for place, reply in zip(places, replies, strict=True)]
                    completions = self._forced(decoder, begun, sides, completions)
                yield from zip(places, completions, strict=True)

    def _least(self, asked: How) -> int:
        """Tokens for which there must be room in the context: where an opening word can settle it, for that."""
        if self.talk.thinking and asked.messages and self.max_tokens is None:
            return min(ROOM_TO_THINK, asked.max_tokens)
        return min(asked.settled_after or asked.max_tokens, asked.max_tokens)

    def _decoded(
        self, decoder: Decoder, prompts: Sequence[tuple[int, Sequence[int]]], at_once: bool
    ) -> Iterator[tuple[list[int], list[Reply]]]:
        """Places of prompts and their replies. at_once: each as it comes; else those of several packs together."""
        longest = self._window - decoder.how.max_tokens + 1
        packed = [item for item in prompts if self.packs_well and len(item[1]) <= longest]
        whole = [item for item in prompts if not (self.packs_well and len(item[1]) <= longest)]
        for group in self._groups([tokens for _, tokens in packed]):
            replies = decoder.of_packs(group)
            if at_once:
                yield from (([packed[at][0]], [reply]) for at, reply in replies)
            else:
                numbers, all_ = zip(*replies, strict=True)
                yield [packed[at][0] for at in numbers], list(all_)
        for batch in self._batches(sorted(whole, key=lambda item: len(item[1]))):
            yield [place for place, _ in batch], decoder.of_whole([tokens for _, tokens in batch])

    def _groups(self, ids: Sequence[Sequence[int]]) -> Iterator[list[Pack]]:
        """Packs that are decoded on together, in a seeded shuffle, so that the first answers speak for all kinds of prompts."""
        width = getattr(self.model.config.get_text_config(), "hidden_size", None) or LARGEST
        made = list(packs(ids, self.together, LONG * width))
        random.Random(len(made)).shuffle(made)
        group: list[Pack] = []
        for pack in made:
            if group and sum(len(one.tokens) for one in (*group, pack)) > self.together:
                yield group
                group = []
            group.append(pack)
        if group:
            yield group

    def _batches(self, prompts: Sequence[tuple[int, Sequence[int]]]) -> Iterator[list[tuple[int, Sequence[int]]]]:
        """Prompts, sorted by length, in batches that hold what may be computed together."""
        batch: list[tuple[int, Sequence[int]]] = []
        for item in prompts:
            if batch and (len(batch) == self._batch or (len(batch) + 1) * len(item[1]) > self.together):
                yield batch
                batch = []
            batch.append(item)
        if batch:
            yield batch

    @property
    def _batch(self) -> int:
        return BATCH if self.pads_well else 1

    def _forced(
        self,
        decoder: Decoder,
        begun: Sequence[tuple[str, Sequence[int], Reply]],
        sides: tuple[list[int], list[int]],
        completions: Sequence[Completion],
    ) -> list[Completion]:
        """Completions with P(True) by teacher forcing, for words of several tokens: where the reply says its answer, else right
        after the prompt. begun: each prompt's text, its tokens, and the reply. sides: the answers' tokens after a prompt.
        """
        alike: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, Any]]] = defaultdict(list)
        for number, (text, tokens, reply) in enumerate(begun):
            said, (true, false) = self._answers_there(decoder, text, reply) or ([], sides)
            alike[tuple(true), tuple(false)].append((number, (tokens, said)))
        made = list(completions)
        for words, members in alike.items():
            for first in range(0, len(members), self._batch):
                numbers, rows = zip(*members[first : first + self._batch], strict=True)
                for number, true, false in zip(numbers, *(decoder.forced(rows, word) for word in words), strict=True):
                    mass = true + false
                    made[number] = replace(made[number], p_true=true / mass if mass else None, p_mass=mass)
        return made

    def _answers_there(self, decoder: Decoder, text: str, reply: Reply) -> tuple[list[int], tuple[list[int], list[int]]] | None:
        """The tokens of a reply before its answer, and those of both answers there; None where it says none."""
        said = decoder.text(reply)
        at, number = decoder.how.place(said), decoder.position(reply)
        if at is None or number is None:
            return None
        before = decoder.opening + self._vocabulary.text(reply.tokens[:number])
        true, false = (said[len(before) : at] + answer.split()[-1] for answer in decoder.how.answers)
        return reply.tokens[:number], self._vocabulary.following((text + before)[-BEFORE:], (true, false))

    @cached_property
    def packs_well(self) -> bool:
        """Whether prompts read as one pack give what they give alone: some architectures see no tree, or only a part of the row
        back. The last one tried is short, and what it shares with the long ones before it lies a whole pack behind.
        """
        if self.model.config.is_encoder_decoder:
            return False
        words = self._some_tokens
        length = min(TRIED // 3, self._context - 2)
        long = [[*words[:4], min(words), *(words[turn:] * TRIED)[: length - 5]] for turn in range(TRIED // length)]
        ids = [*long, [*words[:4], max(words), *words[:4]]]
        try:
            (pack,) = packs(ids, 2 * TRIED)
            row = Row(self.model)
            tried = [*row.begin(pack), *row.go_on(range(len(ids)), [words[0]] * len(ids))]
            places = [place for place, _ in pack.ends]
            alone = [next_token(self.model, [*ids[place], *words[:more]]) for more in (0, 1) for place in places]
        except REFUSALS:
            return False
        return self._same(torch.stack(tried), torch.stack(alone))

    @cached_property
    def pads_well(self) -> bool:
        """Whether prompts in one padded batch get the replies that they get alone: some architectures do not see the mask."""
        ids = [(self._some_tokens * length)[: min(length, self._context - PADDED_STEPS)] for length in PADDED_TOKENS]
        pad = self.tokenizer.pad_token_id
        try:
            together = first_steps(self.model, ids, pad, PADDED_STEPS)
            alone = torch.cat([first_steps(self.model, [one], pad, PADDED_STEPS) for one in ids])
        except REFUSALS:
            return False
        for step in range(PADDED_STEPS):
            if not self._same(together[:, step], alone[:, step]):
                return False
            if (together[:, step].argmax(dim=-1) != alone[:, step].argmax(dim=-1)).any():
                return True  # two tokens were nearly as likely; what follows has other words before it
        return True

    def check_text(self) -> None:
        """Raises ModelError where the model cannot be asked in text alone, as some cannot that see images."""
        try:
            first_steps(self.model, [self._some_tokens[:4]], self.tokenizer.pad_token_id, 1)
        except REFUSALS as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
            raise ModelError(
                f"The model {self.spec!r} cannot be asked in text alone ({reason}).",
                "Use a language model, or one of both kinds.",
            ) from error

    def _same(self, one: Any, other: Any) -> bool:
        """Whether two sets of logits say the same, as far as the number format allows."""
        apart = (one.softmax(dim=-1) - other.softmax(dim=-1)).abs().max()
        return bool(apart < (1e-4 if self.model.dtype == torch.float32 else 2e-2))

    @property
    def _some_tokens(self) -> list[int]:
        return list(self.tokenizer("true or false, or not true. ").input_ids)

    def _text(self, prompt: Prompt) -> str:
        return prompt.content if isinstance(prompt.content, str) else self.talk.text(self.tokenizer, prompt.content)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        ends = self.model.generation_config.eos_token_id
        return Vocabulary(self.tokenizer, [] if ends is None else [ends] if isinstance(ends, int) else ends)

    @cached_property
    def _context(self) -> int:
        return int(getattr(self.model.config.get_text_config(), "max_position_embeddings", 0) or 1 << 30)

    @cached_property
    def _window(self) -> int:
        """Tokens that every layer sees back; a longer text is computed whole, by the model's own masks."""
        return int(getattr(self.model.config.get_text_config(), "sliding_window", None) or 1 << 30)
