"""Small models that learn given replies in each language by heart, and their expected results by plain forward passes.

The reference finds tokens without medfact: by the bytes that the tokenizer's file has for each.
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
from small_models import save_model
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, set_seed
from transformers.convert_slow_tokenizer import bytes_to_unicode

from medfact.answers import CHOICES, FORMATS, QuestionFormat, make_prompt
from medfact.assets import ENGLISH, language_codes
from medfact.languages import load_language
from medfact.models import Prompt

IGNORED = -100
"""The label of a position that the loss ignores."""

LEARNING_RATE, MIN_PROBABILITY, MAX_STEPS = 0.01, 0.8, 600
"""Learning rate; probability of each token at which training stops; maximum number of steps."""


@dataclass(frozen=True)
class Lesson:
    """A prompt and the reply that a model learns."""

    language: str  # code, such as "es"
    prompt: Prompt
    reply: str
    answer: bool  # that the reply means
    is_usual: bool  # the reply is written as in a demonstration; in English, with a space before it


def make_lessons() -> list[Lesson]:
    """Returns lessons in all languages, for True and for False.

    The replies are the word of its demonstrations, with and without a space before it, and up to two other words.
    """
    return [lesson for code in language_codes() for lesson in _lessons_in(code)]


def make_few_lessons() -> list[Lesson]:
    """Returns two lessons in each language. Replies: True after a space; False without one, except in English."""
    return [
        lesson
        for lesson in make_lessons()
        if lesson.is_usual and (lesson.answer or lesson.language == ENGLISH or not lesson.reply.startswith(" "))
        if not lesson.answer or lesson.reply.startswith(" ")
    ]


def _lessons_in(code: str) -> Iterable[Lesson]:
    """Yields the lessons in a language, as `make_lessons` describes them."""
    question: QuestionFormat = FORMATS["paper"] if code == ENGLISH else load_language(code).asking.format
    probable = CHOICES if code == ENGLISH else load_language(code).asking.probable
    for answer, usual, words in zip((True, False), question.words, probable, strict=True):
        others = [word for word in (words[1], words[-1]) if word != usual]
        for reply in (f" {usual}.", f"{usual}.", *(f" {word}." for word in dict.fromkeys(others))):
            prompt = make_prompt(f"{answer:d}{reply.strip()}{len(reply)}.", (), chat=False, question=question)
            is_usual = reply == f" {usual}." or (reply == f"{usual}." and code != ENGLISH)
            yield Lesson(code, prompt, reply, answer, is_usual)


def write_taught_model(folder: Path, tokenizer: PreTrainedTokenizerBase, lessons: Sequence[Lesson]) -> Path:
    """Trains a small Llama until it knows the lessons, writes it with its tokenizer to a folder, and returns the folder."""
    set_seed(0)
    end = tokenizer.eos_token_id
    common = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 1024}
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, tie_word_embeddings=True, initializer_range=0.1,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=end, pad_token_id=end, **common,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    tokens, labels = _training_batch(tokenizer, lessons)
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
    return save_model(folder, model, tokenizer)


def _training_batch(tokenizer: PreTrainedTokenizerBase, lessons: Sequence[Lesson]) -> tuple[Any, Any]:
    """Returns the token ids of prompts with their replies, and the label of each position: the next token, or IGNORED.

    Both have shape (lesson, token).
    """
    end = tokenizer.eos_token_id
    prompts = [list(tokenizer(lesson.prompt.content)["input_ids"]) for lesson in lessons]
    replies = [
        _tokens_of_word(tokenizer, lesson.prompt.content, tokens, lesson.reply)
        for lesson, tokens in zip(lessons, prompts, strict=True)
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
    """Result of a plain forward pass."""

    text: str  # the whole reply
    p_true: float  # probability of True, divided by p_mass
    p_mass: float  # sum of the probabilities of True and False


@cache
def _bytes_of_tokens(folder: Path) -> list[bytes]:
    """Returns, by token id, the bytes that each token stands for in the tokenizer's file; b"" for a special token."""
    tokenizer, _ = load_reference(folder)
    special, tokens = set(tokenizer.all_special_ids), tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    write = _byte_of_fallback if "<0x41>" in tokenizer.get_vocab() else _bytes_of_signs
    return [b"" if token in special else write(text) for token, text in enumerate(tokens)]


def _byte_of_fallback(text: str) -> bytes:
    """Returns the bytes of a token of SentencePiece, in which "<0x41>" stands for a byte, and "▁" for a space."""
    return bytes([int(text[3:5], 16)]) if text.startswith("<0x") else text.replace("▁", " ").encode()


def _bytes_of_signs(text: str) -> bytes:
    """Returns the bytes of a token of a byte-level tokenizer, whose file has a character for each byte."""
    return bytes(_CODES[sign] for sign in text if sign in _CODES)


_CODES = {sign: code for code, sign in bytes_to_unicode().items()}
"""Character in the file of a byte-level tokenizer → its byte."""


@cache
def _tokens_by_word(folder: Path) -> dict[str, list[int]]:
    """Returns word, stripped and in lower case → ids of the tokens that are this whole word."""
    words: dict[str, list[int]] = {}
    for token, written in enumerate(_bytes_of_tokens(folder)):
        words.setdefault(written.decode(errors="replace").strip().lower(), []).append(token)
    return words


def expected_result(folder: Path, lesson: Lesson) -> ExpectedResult:
    """Asserts that a model's greedy reply is that of the lesson; returns it with P(True), measured where its answer begins.

    P(True) is the share of True in the probabilities of both answers. The answer's word is that of the demonstrations.

    - English, if both words are one token each: the answer's probability is the sum over all tokens that are a word for it.
    - English otherwise: the probability of the whole word, the product over its tokens.
    - Other languages: the sum, plus the probability of the whole word, unless the sum includes the word's first token.

    If a token joins only one of the two words with the space before it, P(True) is measured at the space.
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
    if lesson.language == ENGLISH and _are_single(*after):
        return ExpectedResult(reply, sums[0] / sum(sums), sum(sums))
    cut = [_reply_tokens(folder, lesson.prompt, before, so_far, word) for word in words]
    true, false = (_product(folder, [*prompt_tokens, *so_far], word) for word in cut)
    if lesson.language != ENGLISH:
        true, false = (
            side_sum if word[0] in side else side_sum + word_probability
            for side_sum, word, side, word_probability in zip(sums, cut, sides, (true, false), strict=True)
        )
    return ExpectedResult(reply, true / (true + false), true + false)


def _are_single(first: list[int], other: list[int]) -> bool:
    """Returns True if two lists of token ids have one token each after their common beginning."""
    common = next(place for place, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1])
    return len(first) == len(other) == common + 1


def _probabilities(folder: Path, prompt_tokens: list[int], reply_tokens: list[int]) -> Any:
    """Returns the probabilities of each token of a reply and of the token after it, in one forward pass of the whole text.

    Shape: (tokens + 1, vocabulary).
    """
    _, model = load_reference(folder)
    with torch.inference_mode():
        return (
            model(torch.tensor([[*prompt_tokens, *reply_tokens]]), use_cache=False)
            .logits[0, len(prompt_tokens) - 1 :]
            .softmax(dim=-1)
        )


def _product(folder: Path, prompt_tokens: list[int], word: list[int]) -> float:
    """Returns the probability that a text continues with a word: the product over its tokens. Both are token ids."""
    at_each = _probabilities(folder, prompt_tokens, word)
    return math.prod(float(at_each[place, token]) for place, token in enumerate(word))


def _reply_tokens(folder: Path, prompt: Prompt, before: str, reply_tokens: list[int], word: str) -> list[int]:
    """Returns the token ids of a word after a prompt and the beginning of a reply. before, reply_tokens: that beginning."""
    tokenizer, _ = load_reference(folder)
    return _tokens_of_word(
        tokenizer, f"{prompt.content}{before}", [*tokenizer(prompt.content)["input_ids"], *reply_tokens], word
    )


def _tokens_of_word(tokenizer: PreTrainedTokenizerBase, text: str, tokens: list[int], word: str) -> list[int]:
    """Returns the token ids of a word after a text. tokens: the token ids of the text.

    If a token would join it with the character before, as ".F" of Llama 3, it returns those of the word without the text.
    """
    whole = list(tokenizer(f"{text}{word}")["input_ids"])
    return whole[len(tokens) :] if whole[: len(tokens)] == tokens else tokenizer(word, add_special_tokens=False)["input_ids"]
