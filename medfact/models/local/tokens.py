"""Whether a model can compute the tokens that its tokenizer makes of prompts."""

from __future__ import annotations

from typing import Any

from medfact.errors import ModelError


def check_tokens(tokenizer: Any, config: Any, name: str) -> None:
    """Raises ModelError if the tokenizer may make tokens of a prompt that the model does not embed. Gives a tokenizer that pads
    with none, or with such a token, another one.
    """
    size = getattr(config.get_text_config(), "vocab_size", None) or len(tokenizer)
    used = [token for token, number in tokenizer.get_vocab().items() if number >= size and _is_used(tokenizer, token, number)]
    if used:
        raise ModelError(
            f"The tokenizer of {name!r} has {len(tokenizer)} tokens, and the model embeds {size}: it cannot read the others, "
            f"such as {min(used)!r}.",
            "Take the tokenizer that the model was trained with, or resize the model's embedding to it and save both.",
        )
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id >= size:
        ends = tokenizer.eos_token_id
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0 if ends is None or ends >= size else ends)


def _is_used(tokenizer: Any, token: str, number: int) -> bool:
    """Whether a token may stand in a prompt: any word may; a special one, if the tokenizer or the chat template puts it there.

    Many tokenizers have special tokens that are used in training alone, or by nothing.
    """
    added = tokenizer.added_tokens_decoder.get(number)
    if added is None or not added.special or number in tokenizer("true or false").input_ids:
        return True
    template = str(tokenizer.chat_template or "")
    named = {tokenizer.bos_token: "bos_token", tokenizer.eos_token: "eos_token"}.get(token, token)
    return token in template or named in template
