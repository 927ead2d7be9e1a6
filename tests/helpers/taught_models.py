"""Small models that are taught what to reply in each language, and what a run must report of it by plain forward passes.

The reference uses none of medfact's ways to find tokens: a token is the bytes that its tokenizer's file says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
from naive import load_reference, tokenize_prompt
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, set_seed
from transformers.convert_slow_tokenizer import bytes_to_unicode

from medfact.answers import CHOICES, FORMATS, QuestionFormat, make_prompt
from medfact.assets import ENGLISH, language_codes
from medfact.languages import load_language
from medfact.models import Prompt

IGNORED = -100
"""The label of a position that the loss leaves out."""

LEARNING_RATE, MIN_PROBABILITY, MAX_STEPS = 0.01, 0.8, 600
"""Lessons are repeated until each of their tokens has a probability above this, at most so often."""


@dataclass(frozen=True)
class Lesson:
    """A prompt in a language, the reply that is taught, its answer, and whether it is written as in a demonstration. (In
    another language the space does not matter; in English a word without it may be several tokens where the answer is one.)
    """

    code: str
    prompt: Prompt
    reply: str
    answer: bool
    usual: bool


def make_lessons() -> list[Lesson]:
    """In each language of medfact: the answers of its demonstrations, with the space before them and without, and other
    answer words, each after a statement of its own.
    """
    return [lesson for code in language_codes() for lesson in _lessons_in(code)]


def make_few_lessons() -> list[Lesson]:
    """Two in each language: an answer to a true statement, and one to a false statement, which has no space before it."""
    return [
        lesson
        for lesson in make_lessons()
        if lesson.usual and (lesson.answer or lesson.code == ENGLISH or not lesson.reply.startswith(" "))
        if not lesson.answer or lesson.reply.startswith(" ")
    ]


def _lessons_in(code: str) -> Iterable[Lesson]:
    question: QuestionFormat = FORMATS["paper"] if code == ENGLISH else load_language(code).asking.format
    probable = CHOICES if code == ENGLISH else load_language(code).asking.probable
    for answer, usual, words in zip((True, False), question.words, probable, strict=True):
        others = [word for word in (words[1], words[-1]) if word != usual]
        for reply in (f" {usual}.", f"{usual}.", *(f" {word}." for word in dict.fromkeys(others))):
            prompt = make_prompt(f"{answer:d}{reply.strip()}{len(reply)}.", (), chat=False, question=question)
            is_usual = reply == f" {usual}." or (reply == f"{usual}." and code != ENGLISH)
            yield Lesson(code, prompt, reply, answer, is_usual)


def write_taught_model(folder: Path, tokenizer: PreTrainedTokenizerBase, taught: Sequence[Lesson]) -> Path:
    """Writes a small Llama that has learnt the replies by heart, with its tokenizer, to a folder, and returns the folder."""
    set_seed(0)
    end = tokenizer.eos_token_id
    common = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 1024}
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, tie_word_embeddings=True, initializer_range=0.1,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=end, pad_token_id=end, **common,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    tokens, labels = _training_batch(tokenizer, taught)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)
    counted = labels != IGNORED
    for _ in range(MAX_STEPS):
        states = model.model(input_ids=tokens).last_hidden_state[counted]
        logits = model.lm_head(states)
        loss = cross_entropy(logits, labels[counted])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if float(logits.detach().softmax(dim=-1).gather(1, labels[counted][:, None]).min()) > MIN_PROBABILITY:
            break
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _training_batch(tokenizer: PreTrainedTokenizerBase, taught: Sequence[Lesson]) -> tuple[Any, Any]:
    """Prompts with their replies, and the tokens that are to follow each: (lesson, token)."""
    end = tokenizer.eos_token_id
    prompts = [list(tokenizer(lesson.prompt.content)["input_ids"]) for lesson in taught]
    replies = [
        _tokens_of_word(tokenizer, lesson.prompt.content, tokens, lesson.reply)
        for lesson, tokens in zip(taught, prompts, strict=True)
    ]
    whole = [[*prompt, *reply, end] for prompt, reply in zip(prompts, replies, strict=True)]
    longest = max(map(len, whole))
    tokens = torch.tensor([row + [end] * (longest - len(row)) for row in whole])
    labels = torch.full_like(tokens, IGNORED)
    for place, (row, prompt) in enumerate(zip(whole, prompts, strict=True)):
        labels[place, len(prompt) : len(row)] = tokens[place, len(prompt) : len(row)]
    return tokens[:, :-1], labels[:, 1:]


# ------------------------------------------------------------------------------------------------------ the reference


@dataclass(frozen=True)
class ExpectedResult:
    """Result of a plain forward pass: the whole reply, P(True) and the mass of the answers."""

    text: str
    p_true: float
    p_mass: float


@cache
def _bytes_of_tokens(folder: Path) -> list[bytes]:
    """Bytes of each token, by its tokenizer's file; none if it is special."""
    tokenizer, _ = load_reference(folder)
    special, tokens = set(tokenizer.all_special_ids), tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    write = _byte_of_fallback if "<0x41>" in tokenizer.get_vocab() else _bytes_of_signs
    return [b"" if token in special else write(text) for token, text in enumerate(tokens)]


def _byte_of_fallback(text: str) -> bytes:
    return bytes([int(text[3:5], 16)]) if text.startswith("<0x") else text.replace("▁", " ").encode()


def _bytes_of_signs(text: str) -> bytes:
    """Byte-level tokenizers have a character in their file for each byte."""
    return bytes(_CODES[sign] for sign in text if sign in _CODES)


_CODES = {sign: code for code, sign in bytes_to_unicode().items()}


@cache
def _tokens_by_word(folder: Path) -> dict[str, list[int]]:
    """Word, stripped and in lower case → the tokens that write it; parts of characters write none."""
    words: dict[str, list[int]] = {}
    for token, written in enumerate(_bytes_of_tokens(folder)):
        words.setdefault(written.decode(errors="replace").strip().lower(), []).append(token)
    return words


def expected_result(folder: Path, lesson: Lesson) -> ExpectedResult:
    """The reply that a model was taught, which must be its greedy one, and P(True) where its word begins.

    In English, if both answers of a demonstration are one token: the sum over the tokens that are one of the side's words.
    Else the probability of the demonstration's word, all its tokens. In another language: the sum over the tokens that are
    one of the side's words or their beginnings, and beside it the demonstration's word, unless its first token is in that sum.

    Where one of the words is cut apart from the space before it, and the other is not, the space is the place.
    """
    tokenizer, _ = load_reference(folder)
    prompt_tokens = tokenize_prompt(folder, lesson.prompt)
    reply_tokens = _reply_tokens(folder, lesson.prompt, "", [], lesson.reply)
    at_each = _probabilities(folder, prompt_tokens, reply_tokens)
    assert at_each.argmax(dim=-1).tolist() == [*reply_tokens, tokenizer.eos_token_id], f"{lesson.reply!r} was not learnt"
    reply = lesson.reply
    at = lesson.prompt.place(reply)
    assert at is not None, reply
    begin = len(reply[:at].encode())
    ends = accumulate(len(_bytes_of_tokens(folder)[token]) for token in reply_tokens)
    position = next(number for number, end in enumerate(ends) if end > begin)
    sides = [
        [token for word in side for token in _tokens_by_word(folder).get(word.lower(), [])] for side in lesson.prompt.choices
    ]
    after = [_reply_tokens(folder, lesson.prompt, "", [], answer) for answer in lesson.prompt.answers]
    before, so_far, words = reply[:at], reply_tokens[:position], [answer.strip() for answer in lesson.prompt.answers]
    spaced = [_reply_tokens(folder, lesson.prompt, "", [], f" {word}")[0] for word in words]
    if so_far and before == " " and (spaced[0] == so_far[0]) != (spaced[1] == so_far[0]):
        position, before, so_far, words = 0, "", [], [f" {word}" for word in words]
    sums = [float(at_each[position, side].sum()) for side in sides]
    if lesson.code == ENGLISH and _are_single(*after):
        return ExpectedResult(reply, sums[0] / sum(sums), sum(sums))
    cut = [_reply_tokens(folder, lesson.prompt, before, so_far, word) for word in words]
    true, false = (_product(folder, [*prompt_tokens, *so_far], word) for word in cut)
    if lesson.code != ENGLISH:
        true, false = (
            counted if word[0] in side else counted + all_of_it
            for counted, word, side, all_of_it in zip(sums, cut, sides, (true, false), strict=True)
        )
    return ExpectedResult(reply, true / (true + false), true + false)


def _are_single(first: list[int], other: list[int]) -> bool:
    """True if two answers are a token each after their common beginning."""
    common = next(place for place, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1])
    return len(first) == len(other) == common + 1


def _probabilities(folder: Path, prompt_tokens: list[int], reply_tokens: list[int]) -> Any:
    """The model's probabilities of each token of a reply and of the one after it, in one forward pass of the whole text:
    (tokens + 1, vocabulary).
    """
    _, model = load_reference(folder)
    with torch.inference_mode():
        return (
            model(torch.tensor([[*prompt_tokens, *reply_tokens]]), use_cache=False)
            .logits[0, len(prompt_tokens) - 1 :]
            .softmax(dim=-1)
        )


def _product(folder: Path, prompt_tokens: list[int], word: list[int]) -> float:
    """The probability that a text goes on with a word: the product of those of its tokens."""
    at_each = _probabilities(folder, prompt_tokens, word)
    return math.prod(float(at_each[place, token]) for place, token in enumerate(word))


def _reply_tokens(folder: Path, prompt: Prompt, before: str, reply_tokens: list[int], word: str) -> list[int]:
    """The tokens of a word as it is written after a prompt and what was said before it."""
    tokenizer, _ = load_reference(folder)
    return _tokens_of_word(
        tokenizer, f"{prompt.content}{before}", [*tokenizer(prompt.content)["input_ids"], *reply_tokens], word
    )


def _tokens_of_word(tokenizer: PreTrainedTokenizerBase, text: str, tokens: list[int], word: str) -> list[int]:
    """The tokens of a word after a text of these tokens; by itself where it would be joined with the sign before it, as ".F" is
    a token of Llama 3.
    """
    whole = list(tokenizer(f"{text}{word}")["input_ids"])
    return whole[len(tokens) :] if whole[: len(tokens)] == tokens else tokenizer(word, add_special_tokens=False)["input_ids"]
