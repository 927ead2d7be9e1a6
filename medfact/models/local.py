"""Local causal language models through transformers and accelerate.

Each prompt is read once; the next token's probabilities give the answer where it is committed at that position, and P(True).
Only where the first token is no answer word does greedy decoding go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub.errors import HFValidationError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from medfact.errors import ModelError
from medfact.models.prompt import Completion, Prompt
from medfact.models.revision import folder_revision

if TYPE_CHECKING:
    from medfact.models import ModelInfo

BATCH = 32
COMMITTED = ("True", "False")
"""A first token that says one of these is the answer; nothing after it can change how the reply is read."""

MAX_NEW_TOKENS = 16
"""Tokens that an answer may take when it is not committed in the first one."""

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()


@dataclass
class LocalModel:
    """A causal language model on this machine, decoded greedily."""

    spec: str
    model: Any
    tokenizer: Any
    info: ModelInfo

    @property
    def chat(self) -> bool:
        return self.tokenizer.chat_template is not None

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[Completion]:
        """One completion for each prompt, in order, a batch at a time. A prompt longer than the model's context fails."""
        for start in range(0, len(prompts), BATCH):
            batch = prompts[start : start + BATCH]
            texts = [self._text(prompt) for prompt in batch]
            lengths = [len(ids) for ids in self._encode(texts)["input_ids"]]
            fits = [length + MAX_NEW_TOKENS <= self._context for length in lengths]
            done = iter(self._batch([t for t, fit in zip(texts, fits, strict=True) if fit], batch[0].choices))
            for fit, length in zip(fits, lengths, strict=True):
                too_long = f"the prompt has {length} tokens; the model takes {self._context}"
                yield next(done) if fit else Completion(None, failure=too_long)

    def _encode(self, texts: list[str], **options: Any) -> Any:
        """A chat template writes its own special tokens."""
        return self.tokenizer(texts, add_special_tokens=not self.chat, **options)

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _batch(self, texts: list[str], choices: tuple[tuple[str, ...], tuple[str, ...]]) -> list[Completion]:
        if not texts:
            return []
        encoded = self._encode(texts, return_tensors="pt", padding=True).to(self.model.device)
        encoded = {name: encoded[name] for name in ("input_ids", "attention_mask")}
        logits = self._next_token(encoded)
        probabilities = logits.softmax(dim=-1)
        true, false = (probabilities[:, self._ids(words)].sum(dim=-1) for words in choices)
        mass = true + false
        first = logits.argmax(dim=-1)
        committed = torch.isin(first, self._ids(COMMITTED))
        replies = self.tokenizer.batch_decode(first[:, None], skip_special_tokens=True)
        if not bool(committed.all()):
            self._continue(encoded, ~committed, replies)
        p_true = torch.where(mass > 0, true / mass, torch.nan).tolist()
        return [Completion(reply, None if p != p else p, m) for reply, p, m in zip(replies, p_true, mass.tolist(), strict=True)]

    def _next_token(self, encoded: Any) -> Any:
        """Logits of the token after each prompt, (batch, vocabulary), in float32."""
        positions = (encoded["attention_mask"].cumsum(dim=-1) - 1).clamp(min=0)
        return self.model(**encoded, position_ids=positions, logits_to_keep=1).logits[:, -1].float()

    def _continue(self, encoded: Any, rows: Any, texts: list[str]) -> None:
        """Decodes the given rows greedily and puts what they say into `texts`."""
        length = encoded["input_ids"].shape[1]
        tokens = self.model.generate(
            input_ids=encoded["input_ids"][rows],
            attention_mask=encoded["attention_mask"][rows],
            max_new_tokens=MAX_NEW_TOKENS,
            do_sample=False,
            pad_token_id=self.tokenizer.pad_token_id,
        )
        replies = self.tokenizer.batch_decode(tokens[:, length:], skip_special_tokens=True)
        for index, reply in zip(rows.nonzero().flatten().tolist(), replies, strict=True):
            texts[index] = reply

    def _text(self, prompt: Prompt) -> str:
        if isinstance(prompt.content, str):
            return prompt.content
        return str(self.tokenizer.apply_chat_template(list(prompt.content), tokenize=False, add_generation_prompt=True))

    @cached_property
    def _context(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", 0) or 1 << 30)

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """Text of a token, without white space and in lower case → the tokens that say it."""
        words: dict[str, list[int]] = {}
        for token in range(len(self.tokenizer)):
            words.setdefault(self.tokenizer.decode([token]).strip().lower(), []).append(token)
        return words

    def _ids(self, choices: tuple[str, ...]) -> Any:
        found = [token for word in choices for token in self._words.get(word.lower(), [])]
        return torch.tensor(found, dtype=torch.long, device=self.model.device)


def load_local(spec: str, source: str) -> LocalModel:
    """Loads a causal language model from a folder or a Hugging Face repository, in float32 on a CPU.

    Raises ModelError, saying what to do, when there is none, it is gated, or it is no causal language model.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        gpu = torch.cuda.is_available()
        model = AutoModelForCausalLM.from_pretrained(
            source,
            dtype=torch.bfloat16 if gpu and torch.cuda.is_bf16_supported() else torch.float32,
            device_map="auto" if gpu else None,
            use_safetensors=True,
        )
    except (OSError, ValueError, KeyError, HFValidationError) as error:
        raise _not_loaded(source, error) from error
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.decode([0])
    model.eval()
    decoding = {"greedy": True, "max_new_tokens": MAX_NEW_TOKENS, "dtype": str(model.dtype).removeprefix("torch.")}
    return LocalModel(spec, model, tokenizer, {"revision": _revision(source, model), "decoding": decoding})


def has_chat_template(source: str) -> bool:
    """Whether a model's tokenizer has a chat template; loads the tokenizer alone."""
    try:
        AutoConfig.from_pretrained(source)
        return AutoTokenizer.from_pretrained(source).chat_template is not None
    except (OSError, ValueError, KeyError, HFValidationError) as error:
        raise _not_loaded(source, error) from error


def _not_loaded(source: str, error: Exception) -> ModelError:
    text = str(error)
    if _is_folder(source):
        return ModelError(
            f"The folder {source!r} holds no causal language model that can be loaded ({text.splitlines()[0][:160]}).",
            "It needs config.json, the tokenizer's files and safetensors weights.",
        )
    if "gated" in text.lower():
        return ModelError(
            f"The repository {source!r} is gated.", "Ask its owners for access, then log in with `hf auth login`."
        )
    return ModelError(
        f"The model {source!r} cannot be loaded: no such folder, and the repository was not found or not reached.",
        "Check the name and the network, or give the path of a folder.",
    )


def _is_folder(source: str) -> bool:
    try:
        return Path(source).is_dir()
    except OSError:  # a name too long to be a path
        return False


def _revision(source: str, model: Any) -> str:
    """The repository's commit, or a hash of a folder's files."""
    commit = getattr(model.config, "_commit_hash", None)
    return str(commit) if commit else folder_revision(Path(source))
