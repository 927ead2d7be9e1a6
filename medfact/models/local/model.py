"""Local language models: prompts in, completions out. Shared beginnings are computed once if the architecture allows it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Any, TypeVar

import torch

from medfact.errors import ModelError, first_line
from medfact.models.local.chat import ChatFormat
from medfact.models.local.decoding import Decoder, PackedRow, Reply, are_finite, first_steps, next_tokens, threads_of, with_mass
from medfact.models.local.memory import LARGEST, UNLIMITED, sizes
from medfact.models.local.packing import Pack, packs
from medfact.models.local.vocabulary import Vocabulary, hold_beginnings, need_forcing
from medfact.models.prompt import (
    LENGTH,
    REPLY_TOKENS,
    THINKING_STEP,
    Completion,
    Prompt,
    decoding_of,
    is_cut_in_thinking,
)
from medfact.models.providers import ModelInfo
from medfact.models.thinking import opened_by, shows_thinking

_Item = TypeVar("_Item")

BATCH_PROMPTS = 32
"""Most prompts computed whole in one batch."""

LONG_WIDTHS = 4
"""In a row of this many times the hidden size, attention costs a layer as much as everything else."""

TEST_PACK_TOKENS = 1024
"""Length of the pack that tests an architecture: longer than local attention reaches."""

TEST_PADDING_TOKENS, TEST_PADDING_STEPS = (6, 300), 3
"""Lengths of the two prompts that test padding, and the number of reply tokens compared."""

TOLERANCES = {"float32": 1e-4, "float16": 0.02, "bfloat16": 0.1, "8bit": 0.15, "4bit": 0.1}
"""Largest relative difference of logits that agree. Rounding moves those of SmolLM2 by up to 0.000003, 0.003, 0.03, 0.1 and
0.02; an architecture that ignores the mask, by 0.2 and more (`tests/models/test_half_precision.py`).
"""

LEAST_LOG_PROBABILITY = -40.0
"""A token with this natural log-probability or less is never said, and does not count when logits are compared."""

SHORT_REPLY_TOKENS = 16
"""Tokens of a short sentence, which answers."""

MIN_THINKING_TOKENS = 256
"""Tokens that the context must leave for thinking and answer."""

CONTEXT_CHARACTERS = 40
"""Characters of a text that may change how a tokenizer splits what follows."""

REFUSALS = (TypeError, ValueError, RuntimeError, IndexError, KeyError, AttributeError, AssertionError)
"""What architectures raise if they do not accept a mask, positions or a cache."""


@dataclass
class LocalModel:
    """A language model on this machine, decoded greedily.

    together: most tokens computed at once. chat_format: how messages become text. max_tokens: most tokens in a reply; None
    takes the prompt's own limit. thinking_tokens: the limit of a chat's reply as it was raised for thinking.
    """

    spec: str
    model: Any
    tokenizer: Any
    info: ModelInfo
    together: int = LARGEST
    chat_format: ChatFormat = field(default_factory=ChatFormat)
    max_tokens: int | None = None
    thinking_tokens: int = 0

    @property
    def chat(self) -> bool:
        return self.tokenizer.chat_template is not None

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion, similar prompts together. A prompt longer than the context fails."""
        for options, group in groupby(enumerate(prompts), lambda item: self._options(item[1])):
            indices, alike = zip(*group, strict=True)
            for index, completion in self._alike(alike, options):
                yield indices[index], completion

    def _options(self, prompt: Prompt) -> Prompt:
        options = decoding_of(prompt)
        if self.chat_format.thinking and options.is_chat:  # the answer follows the thinking
            options = replace(options, settled_after=None, max_tokens=self.chat_format.max_tokens)
        if options.is_chat:
            options = replace(options, max_tokens=max(options.max_tokens, self.thinking_tokens))
        return replace(options, max_tokens=self.max_tokens, enough_tokens=None) if self.max_tokens else options

    def _alike(self, prompts: Sequence[Prompt], options: Prompt) -> Iterator[tuple[int, Completion]]:
        """Completions of prompts with the same options. Where the context ends earlier, replies are shorter."""
        texts = [
            prompt.content if isinstance(prompt.content, str) else self.chat_format.text(self.tokenizer, prompt.content)
            for prompt in prompts
        ]
        ids = self.tokenizer(texts, add_special_tokens=not options.is_chat)["input_ids"]
        by_limit: defaultdict[int, list[int]] = defaultdict(list)
        for index, tokens in enumerate(ids):
            limit = shared_limit(options.max_tokens, self._context - len(tokens))
            if limit >= self._min_reply_tokens(options):
                by_limit[limit].append(index)
            else:
                failure = f"the prompt has {len(tokens)} tokens, but the model accepts {self._context}"
                yield index, Completion(None, failure=failure)
        cut: list[int] = []
        for limit, indices in by_limit.items():
            for index, done in self._completions({index: (texts[index], ids[index]) for index in indices}, options, limit):
                if self._needs_room(done, options, limit, self._context - len(ids[index])):
                    cut.append(index)
                else:
                    yield index, done
        if cut:
            self.thinking_tokens = self._longer(options)
            longer = replace(options, max_tokens=self.thinking_tokens)
            yield from ((cut[place], done) for place, done in self._alike([prompts[index] for index in cut], longer))

    def _needs_room(self, done: Completion, options: Prompt, limit: int, left: int) -> bool:
        """Whether thinking took all of a reply, and a longer one is allowed and fits. Nothing is read of such a reply."""
        if self.max_tokens or not options.is_chat or done.cut != LENGTH or not is_cut_in_thinking(done.text or ""):
            return False
        return shows_thinking(done.text or "") and shared_limit(self._longer(options), left) > limit

    def _longer(self, options: Prompt) -> int:
        """The next limit of a reply that thinks, which then holds for all that follow."""
        return max(options.max_tokens, min(options.max_tokens * THINKING_STEP, self.chat_format.max_tokens))

    def _completions(
        self, prompts: dict[int, tuple[str, Sequence[int]]], options: Prompt, limit: int
    ) -> Iterator[tuple[int, Completion]]:
        """Completions of prompts, given as index → (text, tokens), with replies of at most `limit` tokens."""
        first_text, _ = next(iter(prompts.values()))
        opening = opened_by(first_text) if options.is_chat else ""
        options = replace(options, max_tokens=limit)
        decoder = Decoder(self.model, self._vocabulary, options, self.tokenizer.pad_token_id, opening)
        answers = self._vocabulary.following(first_text[-CONTEXT_CHARACTERS:], options.answers)
        for group in self._replies(decoder, [(index, tokens) for index, (_, tokens) in prompts.items()]):
            if need_forcing(answers) or hold_beginnings(options.choices, options.answers):
                replies = list(group)
                completions = self._forced(decoder, [(*prompts[index], reply) for index, reply in replies], answers)
                yield from zip((index for index, _ in replies), completions, strict=True)
            else:
                yield from ((index, decoder.completion(reply)) for index, reply in group)

    def _min_reply_tokens(self, options: Prompt) -> int:
        """Tokens that the context must leave for a reply: enough for an opening word if that can be the answer, else for a
        short sentence.
        """
        if self.chat_format.thinking and options.is_chat and self.max_tokens is None:
            return min(MIN_THINKING_TOKENS, options.max_tokens)
        return min(options.settled_after or SHORT_REPLY_TOKENS, options.max_tokens)

    def _replies(self, decoder: Decoder, prompts: Sequence[tuple[int, Sequence[int]]]) -> Iterator[Iterable[tuple[int, Reply]]]:
        """Groups of (index, reply), one after the other as they are computed.

        A NaN spreads through attention to the whole batch, so each of its prompts is computed again alone.
        """
        # How far back every layer attends; a longer prompt is computed whole, with the model's own masks.
        window = min(sizes(self.model.config, "sliding_window"), default=UNLIMITED)
        longest = window - decoder.options.max_tokens + 1 if self.packs_well else 0
        packed = [item for item in prompts if len(item[1]) <= longest]
        whole = [item for item in prompts if len(item[1]) > longest]

        def alone(item: tuple[int, Sequence[int]], reply: Reply) -> tuple[int, Reply]:
            return item[0], reply if reply.is_finite else decoder.of_whole([item[1]])[0]

        for group in self._groups([tokens for _, tokens in packed]):
            yield (alone(packed[at], reply) for at, reply in decoder.of_packs(group))
        whole.sort(key=lambda item: len(item[1]))
        for batch in _grouped(
            whole, lambda batch: len(batch) <= self._batch_size and len(batch) * len(batch[-1][1]) <= self.together
        ):
            replies = decoder.of_whole([tokens for _, tokens in batch])
            yield map(alone, batch, replies) if len(batch) > 1 else [(batch[0][0], replies[0])]

    def _groups(self, ids: Sequence[Sequence[int]]) -> Iterator[list[list[Pack]]]:
        """Packs to continue together. Those of an inner list are about as long as each other, and are computed side by side.

        These come in a seeded shuffle, so that the first answers represent all kinds of prompts.
        """
        width = max(sizes(self.model.config, "hidden_size"), default=LARGEST)
        threads = threads_of(self.model)
        by_length = sorted(packs(ids, self.together, LONG_WIDTHS * width), key=lambda pack: len(pack.tokens))
        shuffled = list(_grouped(by_length, lambda beside: len(beside) <= threads and _tokens(beside) <= self.together))
        random.Random(len(shuffled)).shuffle(shuffled)
        return _grouped(shuffled, lambda group: _tokens(chain(*group)) <= self.together)

    @property
    def _batch_size(self) -> int:
        return BATCH_PROMPTS if self.pads_well else 1

    def _forced(
        self,
        decoder: Decoder,
        begun: Sequence[tuple[str, Sequence[int], Reply]],
        answers: tuple[list[int], list[int]],
    ) -> list[Completion]:
        """Completions with P(True) by teacher forcing, for answers of several tokens: at the reply's own answer, else right
        after the prompt. begun: each prompt's text and tokens, and its reply. answers: their tokens after a prompt.

        Where beginnings of words are read too, they count there, and a word is forced only if its first token is none of them.
        """
        counted = self._beginnings(decoder.options)
        completions = [decoder.completion(reply) for _, _, reply in begun]
        sums: dict[int, list[float]] = {}
        alike: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, Any]]] = defaultdict(list)
        for number, (text, tokens, reply) in enumerate(begun):
            position = decoder.position(reply)
            if not reply.is_finite or position is None:
                continue
            before, (true, false) = self._answers_in_reply(decoder, text, tokens, reply, position) or ([], answers)
            sums[number] = [reply.true[len(before)], reply.false[len(before)]] if any(counted) else [0.0, 0.0]
            alike[tuple(true), tuple(false)].append((number, (tokens, before)))
        for words, members in alike.items():
            for first in range(0, len(members), self._batch_size):
                numbers, rows = zip(*members[first : first + self._batch_size], strict=True)
                for side, word in enumerate(words):
                    if word[0] not in counted[side]:
                        for number, probability in zip(numbers, decoder.forced(rows, word), strict=True):
                            sums[number][side] += probability
        for number, (p_true, p_false) in sums.items():
            completions[number] = with_mass(completions[number], p_true, p_false)
        return completions

    def _beginnings(self, options: Prompt) -> tuple[frozenset[int], frozenset[int]]:
        """The tokens that count for True and for False where beginnings of words do; else none."""
        if not hold_beginnings(options.choices, options.answers):
            return frozenset(), frozenset()
        true, false = (frozenset(self._vocabulary.tokens(words)) for words in options.choices)
        return true, false

    def _answers_in_reply(
        self, decoder: Decoder, text: str, tokens: Sequence[int], reply: Reply, position: int
    ) -> tuple[list[int], tuple[list[int], list[int]]] | None:
        """The tokens of a reply before its answer, and the tokens of both answers there, as they would be written; None if it
        gives no answer. text, tokens: the prompt's. position: of the token where the answer begins.

        Where one of them is cut apart from the space before it, and the other is not, that space decides already.
        """
        reply_text = decoder.text(reply)
        at = decoder.options.place(reply_text)
        if at is None:
            return None
        whole = self._vocabulary.written(reply.tokens, tokens)
        at += len(whole) - len(self._vocabulary.text(reply.tokens)) - len(decoder.opening)

        def from_token(place: int) -> tuple[list[int], tuple[list[int], list[int]]]:
            before = self._vocabulary.written(reply.tokens[:place], tokens)
            true, false = (whole[len(before) : at] + answer.split()[-1] for answer in decoder.options.answers)
            context = (text + decoder.opening + before)[-CONTEXT_CHARACTERS:]
            return reply.tokens[:place], self._vocabulary.following(context, (true, false))

        if position and self._vocabulary.pieces(reply.tokens[: position + 1])[position - 1] == " ":
            before, (true, false) = from_token(position - 1)
            if (true[0] == reply.tokens[position - 1]) != (false[0] == reply.tokens[position - 1]):
                return before, (true, false)
        return from_token(position)

    @cached_property
    def packs_well(self) -> bool:
        """Whether prompts in a pack give the same results as alone: some architectures ignore the mask, or attend only to
        a part of the row. The last test prompt is short, and its shared beginning lies a whole pack back; it and the long one
        before it are compared.
        """
        if self.model.config.is_encoder_decoder:
            return False
        words = self._some_tokens
        length = min(TEST_PACK_TOKENS // 3, self._context - 2)
        count = TEST_PACK_TOKENS // length
        long = [[*words[:4], min(words), *(words[turn:] * TEST_PACK_TOKENS)[: length - 5]] for turn in range(count)]
        ids = [*long, [*words[:4], max(words), *words[:4]]]
        try:
            (pack,) = packs(ids, 2 * TEST_PACK_TOKENS)
            row = PackedRow(self.model)
            last = [len(ids) - 2, len(ids) - 1]
            packed = [*row.begin([pack])[last], *row.advance(last, [words[0]] * 2)]
            alone = [next_tokens(self.model, [*ids[pack.ends[end][0]], words[0]], 2) for end in last]
        except REFUSALS:
            return False
        return self._same(torch.stack(packed), torch.stack(alone, dim=1).flatten(0, 1))

    @cached_property
    def pads_well(self) -> bool:
        """Whether prompts in one padded batch get the same replies as alone: some architectures ignore the mask."""
        longest = self._context - TEST_PADDING_STEPS
        ids = [(self._some_tokens * length)[: min(length, longest)] for length in TEST_PADDING_TOKENS]
        pad = self.tokenizer.pad_token_id
        try:
            together = first_steps(self.model, ids, pad, TEST_PADDING_STEPS)
            alone = torch.cat([first_steps(self.model, [one], pad, TEST_PADDING_STEPS) for one in ids])
        except REFUSALS:
            return False
        for step in range(TEST_PADDING_STEPS):
            if not self._same(together[:, step], alone[:, step]):
                return False
            if (together[:, step].argmax(dim=-1) != alone[:, step].argmax(dim=-1)).any():
                return True  # two tokens were almost equally likely, so what follows differs anyway
        return True

    @cached_property
    def is_finite(self) -> bool:
        """Whether the model computes numbers: damaged weights, or too narrow a number format, give NaN for every text."""
        logits = first_steps(self.model, [self._some_tokens], self.tokenizer.pad_token_id, 1)
        return bool(are_finite(logits).all())

    def check_text(self) -> None:
        """Raises ModelError if the model does not accept text alone, like some that read images, or cannot be computed in its
        number format.
        """
        try:
            first_steps(self.model, [self._some_tokens[:4]], self.tokenizer.pad_token_id, 1)
        except REFUSALS as error:
            dtype = self.info["decoding"]["dtype"]
            raise ModelError(
                f"The model {self.spec!r} does not accept text alone, or not in {dtype} ({first_line(error)}).",
                "Use a model that answers without an image, or leave --dtype out.",
            ) from error

    def _same(self, one: Any, other: Any) -> bool:
        """Whether two sets of logits agree, within the precision of the number format."""
        return bool((relative_difference(one, other) <= TOLERANCES[self.info["decoding"]["dtype"]]).all())

    @property
    def _some_tokens(self) -> list[int]:
        return list(self.tokenizer("true or false, or not true. ").input_ids)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        ends = self.model.generation_config.eos_token_id
        return Vocabulary(self.tokenizer, [] if ends is None else [ends] if isinstance(ends, int) else ends)

    @cached_property
    def _context(self) -> int:
        return min(sizes(self.model.config, "max_position_embeddings"), default=UNLIMITED)


def shared_limit(most: int, left: int) -> int:
    """The limit of a reply where the context leaves so many tokens. There are few limits: only prompts that share one are
    computed together. Thinking gets all that is left.
    """
    if left >= most or left <= SHORT_REPLY_TOKENS or most > REPLY_TOKENS:
        return min(most, left)
    return SHORT_REPLY_TOKENS << (left // SHORT_REPLY_TOKENS).bit_length() - 1


def relative_difference(one: Any, other: Any) -> Any:
    """How much two sets of logits (row, vocabulary) differ, as a share of how much those of the other set differ from each
    other; one number for each row. Taken between log-probabilities, of the tokens that can be said: some models give others
    a logit of −10³⁸.
    """
    one, other = (logits.float().log_softmax(dim=-1).clamp(min=LEAST_LOG_PROBABILITY) for logits in (one, other))
    possible = (one > LEAST_LOG_PROBABILITY) | (other > LEAST_LOG_PROBABILITY)
    mean = (other * possible).sum(dim=-1, keepdim=True) / possible.sum(dim=-1, keepdim=True)
    return (one - other).norm(dim=-1) / ((other - mean) * possible).norm(dim=-1)


def _tokens(many: Iterable[Pack]) -> int:
    return sum(len(pack.tokens) for pack in many)


def _grouped(items: Iterable[_Item], fits: Callable[[list[_Item]], bool]) -> Iterator[list[_Item]]:
    """Consecutive items in groups that fit, or of one item that does not."""
    group: list[_Item] = []
    for item in items:
        if group and not fits([*group, item]):
            yield group
            group = []
        group.append(item)
    if group:
        yield group
