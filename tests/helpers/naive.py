"""Reference for local models: one prompt at a time, without cache, padding or packs, by forward passes of the whole text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSeq2SeqLM, AutoTokenizer

from medfact import answers
from medfact.answers import CHOICES, Demonstration
from medfact.models import Completion, Prompt

TEXTS = ["fever is a symptom of influenza.", "Symptoms of asthma do not include wheezing, coughing at night or dyspnea.", "x"]
SHOTS = (Demonstration("cough is a symptom of gout.", False), Demonstration("pain is a symptom of gout.", True))
FIVE_SHOTS = (
    *SHOTS,
    Demonstration("wheezing is a symptom of asthma.", True),
    Demonstration("fever is a symptom of gout.", False),
    Demonstration("rash is a symptom of measles.", True),
)
STATEMENT_TREE = [  # a tree of depth three: beginning, form, end
    f"{begin} {form} {end}."
    for begin in ("fever", "fever and pain")
    for form in ("is a symptom of", "is no symptom of")
    for end in ("gout", "influenza", "influenza and gout")
]


MAX_TOKENS = 24
"""Maximum length of a reply in tokens. A random model never stops by itself, and this reference is slow."""


def make_short_prompt(statement: str, demonstrations: Sequence[Demonstration], **options: Any) -> Prompt:
    """Returns the prompt of `medfact.answers.make_prompt`, with replies of at most MAX_TOKENS. options: of that function."""
    return replace(answers.make_prompt(statement, demonstrations, **options), max_tokens=MAX_TOKENS)


@dataclass
class Step:
    """A step of greedy decoding."""

    so_far: str  # the reply with this token
    word: str  # text of the token, stripped and in lower case
    token_id: int
    p_true_words: float  # probability that a True word is the token
    p_false_words: float  # and that a False word is


@cache
def load_reference(folder: Path) -> tuple[Any, Any]:
    """Loads the model of a folder with transformers, and returns its tokenizer and the model."""
    config = AutoConfig.from_pretrained(folder)
    takes_images = config.architectures[0].endswith("ForConditionalGeneration")
    auto = (
        AutoModelForSeq2SeqLM
        if config.is_encoder_decoder
        else AutoModelForImageTextToText
        if takes_images
        else AutoModelForCausalLM
    )
    return AutoTokenizer.from_pretrained(folder), auto.from_pretrained(folder).eval()


def tokenize_prompt(folder: Path, prompt: Prompt) -> list[int]:
    """Returns the token ids of a prompt. folder: the model's."""
    tokenizer, _ = load_reference(folder)
    if isinstance(prompt.content, str):
        return list(tokenizer(prompt.content)["input_ids"])
    text = tokenizer.apply_chat_template(list(prompt.content), tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def probabilities_along(folder: Path, prompt_ids: list[int], reply_ids: list[int]) -> Any:
    """Returns the probabilities of the next token after the prompt and after each token of the reply, in one forward pass.

    Shape: (tokens of the reply + 1, vocabulary). prompt_ids, reply_ids: token ids.
    """
    _, model = load_reference(folder)
    with torch.inference_mode():
        if model.config.is_encoder_decoder:
            decoder_ids = torch.tensor([[model.config.decoder_start_token_id, *reply_ids]])
            logits = model(input_ids=torch.tensor([prompt_ids]), decoder_input_ids=decoder_ids, use_cache=False).logits
        else:
            logits = model(torch.tensor([[*prompt_ids, *reply_ids]]), use_cache=False).logits
    return logits[0, -len(reply_ids) - 1 :].softmax(dim=-1)


def next_probabilities(folder: Path, prompt_ids: list[int], reply_ids: list[int]) -> Any:
    """Returns the probabilities of the token after a prompt and the beginning of a reply. Shape: (vocabulary,)."""
    return probabilities_along(folder, prompt_ids, reply_ids)[-1]


def generate_reply(folder: Path, prompt_ids: list[int], max_tokens: int) -> list[int]:
    """Returns the token ids of the greedy reply that transformers generates.

    `decode_greedily` uses it only as a guess, which saves forward passes and decides nothing.
    """
    _, model = load_reference(folder)
    prompt = torch.tensor([prompt_ids])
    with torch.inference_mode():
        generated = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=max_tokens)[
            0
        ].tolist()
    return list(generated[1 if model.config.is_encoder_decoder else len(prompt_ids) :])


@cache
def load_vocabulary(folder: Path) -> tuple[list[str], Any, Any]:
    """Returns the vocabulary as words, stripped and in lower case, and two masks of it: the True words and the False words."""
    tokenizer, model = load_reference(folder)
    words = [tokenizer.decode([token]).strip().lower() for token in range(model.config.get_text_config().vocab_size)]
    true, false = (torch.tensor([word in {w.lower() for w in side} for word in words]) for side in CHOICES)
    return words, true, false


def word_probability(folder: Path, prompt_ids: list[int], reply_ids: list[int], word_ids: list[int]) -> float:
    """Returns the probability that a prompt and the beginning of a reply continue with a word.

    All are token ids. The probability is the product over the tokens of the word, with a forward pass for each.
    """
    probability = 1.0
    for index, token in enumerate(word_ids):
        probability *= float(next_probabilities(folder, prompt_ids, [*reply_ids, *word_ids[:index]])[token])
    return probability


def decode_greedily(folder: Path, prompt: Prompt) -> list[Step]:
    """Decodes one prompt greedily to the end of the reply, its stop or its limit; returns the step of each token.

    A pass of the whole text along a guessed reply gives the probabilities at every token up to the first that was not guessed.
    """
    tokenizer, _ = load_reference(folder)
    words, true, false = load_vocabulary(folder)
    ids, reply = tokenize_prompt(folder, prompt), list[int]()
    guess = generate_reply(folder, ids, prompt.max_tokens)
    along = probabilities_along(folder, ids, guess)
    steps: list[Step] = []
    while len(steps) < prompt.max_tokens:
        is_guessed = reply == guess[: len(reply)]
        probabilities = along[len(reply)] if is_guessed else next_probabilities(folder, ids, reply)
        token = int(probabilities.argmax())
        if token == tokenizer.eos_token_id:
            break
        reply.append(token)
        so_far = tokenizer.decode(reply, skip_special_tokens=True)
        steps.append(Step(so_far, words[token], token, float(probabilities[true].sum()), float(probabilities[false].sum())))
        if prompt.stop and prompt.stop in so_far.lstrip():
            break
        is_continued = isinstance(prompt.content, str) and prompt.enough_tokens == len(steps)
        if is_continued and prompt.reads(so_far) is not None:
            break
    return steps


def expected_completion(prompt: Prompt, steps: list[Step]) -> tuple[str, float, float]:
    """Returns the reply before the stop, P(True), and the mass: the probability of all answer words at the deciding token.

    That token is the opening True or False if it settles the answer, else the parsed word, else the first answer word, else
    the first token.
    """
    text = steps[-1].so_far
    if prompt.stop and prompt.stop in text.lstrip():
        text = text[: len(text) - len(text.lstrip()) + text.lstrip().index(prompt.stop)]
    words = {word.lower() for words in CHOICES for word in words}
    read_at = prompt.place(text)
    after = steps[1].so_far[len(steps[0].so_far) :] if len(steps) > 1 else ""
    following = "" if prompt.settled_after == 1 else after
    if prompt.settled_after and steps[0].word in {"true", "false"} and not re.match(r"\w|\s*(or\b|/)", following):
        at = steps[0]
    elif read_at is not None:
        at = next(step for step in steps if len(step.so_far) > read_at)
    else:
        at = next((step for step in steps if step.word in words), steps[0])
    p_mass = at.p_true_words + at.p_false_words
    return text, at.p_true_words / p_mass, p_mass


def matches_reference(prompt: Prompt, completion: Completion, text: str) -> bool:
    """Returns True if a completion is the reference reply, or its beginning if the prompt's opening settles the answer.

    text: the reference reply.
    """
    assert completion.text is not None
    return text.startswith(completion.text) if prompt.settled_after else text == completion.text
