"""Local language models: prompts in, completions out, what prompts share computed once where the architecture allows it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import torch

from medfact.models.decoding import Decoder, Row, next_token
from medfact.models.memory import LARGEST
from medfact.models.packing import Pack, packs
from medfact.models.prompt import Completion, Prompt
from medfact.models.vocabulary import How, Vocabulary, how

if TYPE_CHECKING:
    from medfact.models import ModelInfo

BATCH = 32
"""Prompts that are computed whole together, at most."""

LONG = 4
"""In a row of so many times its width, a layer looks along the row for as long as it does all else."""

TRIED = 1024
"""Tokens of the pack with which an architecture is tried: longer than local attention looks back."""


@dataclass
class LocalModel:
    """A language model on this machine, decoded greedily. `together`: tokens that are computed at once, at most."""

    spec: str
    model: Any
    tokenizer: Any
    info: ModelInfo
    together: int = LARGEST

    @property
    def chat(self) -> bool:
        return self.tokenizer.chat_template is not None

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The place of each prompt and its completion, similar prompts together. One longer than the model's context fails."""
        for asked, group in groupby(enumerate(prompts), lambda item: how(item[1])):
            places, alike = zip(*group, strict=True)
            for place, completion in self._alike(alike, asked):
                yield places[place], completion

    def _alike(self, prompts: Sequence[Prompt], asked: How) -> Iterator[tuple[int, Completion]]:
        """Completions of prompts that are decoded alike: as packs, or whole where the architecture does not allow that."""
        ids = self.tokenizer([self._text(prompt) for prompt in prompts], add_special_tokens=not asked.messages)["input_ids"]
        decoder = Decoder(self.model, self._vocabulary, asked, self.tokenizer.pad_token_id)
        packed: list[int] = []
        whole: list[int] = []
        for place, tokens in enumerate(ids):
            if len(tokens) + asked.max_tokens > self._context:
                failure = f"the prompt has {len(tokens)} tokens; the model takes {self._context}"
                yield place, Completion(None, failure=failure)
            else:
                (packed if self.packs_well and len(tokens) <= self._window else whole).append(place)
        for places, completions in self._decoded(decoder, ids, packed, whole):
            if self._vocabulary.splits(asked.choices):
                completions = self._forced(decoder, [ids[place] for place in places], completions)
            yield from zip(places, completions, strict=True)

    def _decoded(
        self, decoder: Decoder, ids: Sequence[Sequence[int]], packed: Sequence[int], whole: Sequence[int]
    ) -> Iterator[tuple[list[int], list[Completion]]]:
        """Places of prompts and their completions, as they come."""
        for group in self._groups([ids[place] for place in packed]):
            for at, completion in decoder.of_packs(group):
                yield [packed[at]], [completion]
        for batch in self._batches(sorted(whole, key=lambda place: len(ids[place])), ids):
            yield batch, decoder.of_whole([ids[place] for place in batch])

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

    def _batches(self, places: Sequence[int], ids: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Places, by length, in batches that hold what may be computed together."""
        batch: list[int] = []
        for place in places:
            if batch and (len(batch) == BATCH or (len(batch) + 1) * len(ids[place]) > self.together):
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _forced(self, decoder: Decoder, ids: Sequence[Sequence[int]], completions: Sequence[Completion]) -> list[Completion]:
        """Completions with P(True) by teacher forcing, right after the prompt, for words of several tokens."""
        space = "" if decoder.how.messages else " "
        sides = []
        for words in decoder.how.choices:
            word = self.tokenizer(space + words[0], add_special_tokens=False)["input_ids"]
            sides.append([p for first in range(0, len(ids), BATCH) for p in decoder.forced(ids[first : first + BATCH], word)])
        return [
            replace(completion, p_true=true / (true + false) if true + false else None, p_mass=true + false)
            for completion, true, false in zip(completions, *sides, strict=True)
        ]

    @cached_property
    def packs_well(self) -> bool:
        """Whether prompts read as one pack give what they give alone: some architectures see no tree, or only a part of the row
        back. The last one tried is short, and what it shares with the long ones before it lies a whole pack behind.
        """
        if self.model.config.is_encoder_decoder:
            return False
        words = self.tokenizer("true or false, or not true. ").input_ids
        length = min(TRIED // 3, self._context - 2)
        long = [[*words[:4], min(words), *(words[turn:] * TRIED)[: length - 5]] for turn in range(TRIED // length)]
        ids = [*long, [*words[:4], max(words), *words[:4]]]
        try:
            (pack,) = packs(ids, 2 * TRIED)
            row = Row(self.model)
            tried = [*row.begin(pack), *row.go_on(range(len(ids)), [words[0]] * len(ids))]
            places = [place for place, _ in pack.ends]
            alone = [next_token(self.model, [*ids[place], *words[:more]]) for more in (0, 1) for place in places]
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, NotImplementedError):
            return False  # each architecture refuses a mask, a position or a cache in its own way
        apart = (torch.stack(tried).softmax(dim=-1) - torch.stack(alone).softmax(dim=-1)).abs().max()
        return bool(apart < (1e-4 if self.model.dtype == torch.float32 else 2e-2))

    def _text(self, prompt: Prompt) -> str:
        if isinstance(prompt.content, str):
            return prompt.content
        return str(self.tokenizer.apply_chat_template(list(prompt.content), tokenize=False, add_generation_prompt=True))

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        ends = self.model.generation_config.eos_token_id
        return Vocabulary(self.tokenizer, [] if ends is None else [ends] if isinstance(ends, int) else ends)

    @cached_property
    def _context(self) -> int:
        return int(getattr(self.model.config.get_text_config(), "max_position_embeddings", 0) or 1 << 30)

    @cached_property
    def _window(self) -> int:
        """Tokens that every layer sees back; a longer prompt is computed whole, by the model's own masks."""
        return int(getattr(self.model.config.get_text_config(), "sliding_window", None) or 1 << 30)
