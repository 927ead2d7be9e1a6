"""Local causal language models through transformers and accelerate.

Each prompt is read once; the next token's probabilities give the answer where it is committed at that position, and P(True).
Only where the first token is no answer word does greedy decoding go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from huggingface_hub.errors import HFValidationError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.utils import logging as transformers_logging

from medfact.errors import ModelError
from medfact.models.packing import Pack, packs
from medfact.models.prompt import Completion, Prompt
from medfact.models.revision import folder_revision

if TYPE_CHECKING:
    from medfact.models import ModelInfo

BATCH = 32
"""Prompts that are computed whole, or decoded on, together."""

PACK = 1024
"""Tokens of a pack, the followers of its prompts among them."""

COMMITTED = ("True", "False")
"""A first token that says one of these is the answer, unless the whole reply must be read."""

_NO_ANSWER = re.compile(r"\s*(?:or\b|/)|\w", re.IGNORECASE)
"""What follows a first token that is an echo of "True or False", or only part of a word ("Falsehood")."""

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()


class _How(NamedTuple):
    """What prompts have in common that are computed together."""

    messages: bool
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    stop: str
    max_tokens: int
    settled_after: int | None


def _how(prompt: Prompt) -> _How:
    messages = not isinstance(prompt.content, str)
    return _How(messages, prompt.choices, prompt.stop, prompt.max_tokens, prompt.settled_after)


class _Stops(StoppingCriteria):  # type: ignore[misc]
    """Ends a reply once it holds the stop text after some other text."""

    def __init__(self, tokenizer: Any, stop: str, length: int) -> None:
        self.tokenizer, self.stop, self.length = tokenizer, stop, length

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        if not self.stop:
            return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)
        texts = self.tokenizer.batch_decode(input_ids[:, self.length :], skip_special_tokens=True)
        return torch.tensor([len(_cut(text, self.stop)) < len(text) for text in texts], device=input_ids.device)


def _cut(text: str, stop: str) -> str:
    """The text up to where `stop` stands after something else than white space."""
    at = text.find(stop, len(text) - len(text.lstrip())) if stop else -1
    return text if at < 0 else text[:at]


def _completion(text: str, true: float, false: float) -> Completion:
    mass = true + false
    return Completion(text, true / mass if mass > 0 else None, mass)


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

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The place of each prompt and its completion, similar prompts together. One longer than the model's context fails."""
        for how, group in groupby(enumerate(prompts), lambda item: _how(item[1])):
            places, alike = zip(*group, strict=True)
            for place, completion in self._alike(alike, how):
                yield places[place], completion

    def _alike(self, prompts: Sequence[Prompt], how: _How) -> Iterator[tuple[int, Completion]]:
        """Completions of prompts that are asked alike: read as packs, or whole where the architecture does not allow that."""
        ids = self._encode([self._text(prompt) for prompt in prompts], how)["input_ids"]
        packed, whole = [], []
        for place, tokens in enumerate(ids):
            if len(tokens) + how.max_tokens > self._context:
                failure = f"the prompt has {len(tokens)} tokens; the model takes {self._context}"
                yield place, Completion(None, failure=failure)
            elif self.packs_well and len(tokens) <= self._window:
                packed.append(place)
            else:
                whole.append(place)
        followers = [] if how.settled_after == 1 else self._committed
        open_: list[int] = []
        for pack in packs([ids[place] for place in packed], PACK, followers):
            for at, done in self._of_pack(pack, followers, how):
                if done is None:
                    open_.append(packed[at])
                else:
                    yield packed[at], done
            while len(open_) >= BATCH:
                places, open_ = open_[:BATCH], open_[BATCH:]
                yield from zip(places, self._decoded([ids[place] for place in places], how), strict=True)
        if open_:
            yield from zip(open_, self._decoded([ids[place] for place in open_], how), strict=True)
        for start in range(0, len(whole), BATCH):
            places = whole[start : start + BATCH]
            yield from zip(places, self._of_whole([ids[place] for place in places], how), strict=True)

    def _encode(self, texts: list[str], how: _How) -> Any:
        """A chat template writes its own special tokens."""
        return self.tokenizer(texts, add_special_tokens=not how.messages)

    def _of_pack(self, pack: Pack, followers: Sequence[int], how: _How) -> Iterator[tuple[int, Completion | None]]:
        """What one forward pass over a pack settles; None for prompts whose replies must be decoded on."""
        logits, after = self._read(pack, len(followers))
        first = logits.argmax(dim=-1)
        texts = self.tokenizer.batch_decode(first[:, None], skip_special_tokens=True)
        committed = torch.isin(first, self._ids(COMMITTED)).tolist()
        true, false = (side.tolist() for side in self._masses(logits, how))
        for row, (place, _) in enumerate(pack.ends):
            token = int(first[row])
            looked_at = token in followers and self._settles(int(after[row, followers.index(token)]), how)
            settled = committed[row] and (how.settled_after == 1 or looked_at)
            yield place, _completion(texts[row], true[row], false[row]) if settled else None

    def _settles(self, token: int, how: _How) -> bool:
        """Whether an opening answer word is the answer when this token comes after it."""
        if token in self._ends:
            return True
        text = self.tokenizer.decode([token])
        if how.settled_after is None:
            return bool(how.stop) and text.startswith(how.stop)
        return _NO_ANSWER.match(text) is None

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _read(self, pack: Pack, followers: int) -> tuple[Any, Any]:
        """Logits after each prompt of a pack, (prompt, vocabulary), and the likeliest token after each of its followers."""
        device, nodes = self.model.device, [node for _, node in pack.ends]
        wanted = [*nodes, *(node for place, _ in pack.ends for node in pack.follows[place])]
        sees = torch.from_numpy(pack.sees()).to(device)
        mask = torch.zeros(sees.shape, dtype=self.model.dtype, device=device)
        mask.masked_fill_(~sees, torch.finfo(self.model.dtype).min)
        logits = self.model(
            input_ids=torch.tensor([pack.tokens], device=device),
            attention_mask=mask[None, None],
            position_ids=torch.tensor([pack.depths], device=device),
            logits_to_keep=torch.tensor(wanted, device=device),
            use_cache=False,
        ).logits[0]
        return logits[: len(nodes)].float(), logits[len(nodes) :].argmax(dim=-1).reshape(len(nodes), followers)

    @cached_property
    def packs_well(self) -> bool:
        """Whether prompts read as one pack give what they give alone: some architectures see no tree, or only a part of the row
        back. The last one tried is short, and what it shares with the long ones before it lies a whole pack behind.
        """
        words = self.tokenizer("true or false, or not true. ").input_ids
        length = min(PACK // 3, self._context - 1)
        long = [[*words[:4], min(words), *(words[turn:] * PACK)[: length - 5]] for turn in range(PACK // length)]
        ids = [*long, [*words[:4], max(words), *words[:4]]]
        try:
            (pack,) = packs(ids, 2 * PACK)
            together = self._read(pack, 0)[0].softmax(dim=-1)
            alone = torch.cat([self._next_token(self._padded([ids[place]])) for place, _ in pack.ends]).softmax(dim=-1)
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError, NotImplementedError):
            return False  # each architecture refuses a mask or a position in its own way
        return bool((together - alone).abs().max() < (1e-4 if self.model.dtype == torch.float32 else 2e-2))

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _of_whole(self, ids: Sequence[Sequence[int]], how: _How) -> list[Completion]:
        """Completions of prompts that are computed whole, in one padded batch."""
        if how.settled_after != 1:
            decoded: list[Completion] = self._decoded(ids, how)
            return decoded
        logits = self._next_token(self._padded(ids))
        first = logits.argmax(dim=-1)
        replies = self.tokenizer.batch_decode(first[:, None], skip_special_tokens=True)
        done = [_completion(*row) for row in zip(replies, *(m.tolist() for m in self._masses(logits, how)), strict=True)]
        open_ = (~torch.isin(first, self._ids(COMMITTED))).nonzero().flatten().tolist()
        for row, completion in zip(open_, self._decoded([ids[row] for row in open_], how) if open_ else [], strict=True):
            done[row] = completion
        return done

    def _padded(self, ids: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Token ids of a batch and its attention mask, padded on the left."""
        longest = max(map(len, ids))
        rows = [[self.tokenizer.pad_token_id] * (longest - len(tokens)) + list(tokens) for tokens in ids]
        seen = [[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in ids]
        device = self.model.device
        return {"input_ids": torch.tensor(rows, device=device), "attention_mask": torch.tensor(seen, device=device)}

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _next_token(self, encoded: dict[str, Any]) -> Any:
        """Logits of the token after each prompt, (batch, vocabulary), in float32."""
        positions = (encoded["attention_mask"].cumsum(dim=-1) - 1).clamp(min=0)
        return self.model(**encoded, position_ids=positions, logits_to_keep=1).logits[:, -1].float()

    def _masses(self, logits: Any, how: _How) -> tuple[Any, Any]:
        """Probability of the True words and of the False words, (batch,) each."""
        probabilities = logits.float().softmax(dim=-1)
        true, false = (probabilities[:, self._ids(words)].sum(dim=-1) for words in how.choices)
        return true, false

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def _decoded(self, ids: Sequence[Sequence[int]], how: _How) -> list[Completion]:
        """Plain greedy decoding. P(True) is read where the answer word is said: the first one, or the last where the whole
        reply counts; at the first token where none is.
        """
        encoded = self._padded(ids)
        length = encoded["input_ids"].shape[1]
        masses: list[tuple[Any, Any]] = []

        def watch(_: Any, scores: Any) -> Any:
            masses.append(self._masses(scores, how))
            return scores

        stops = _Stops(self.tokenizer, how.stop, length)
        tokens = self.model.generate(
            **encoded,
            max_new_tokens=how.max_tokens,
            logits_processor=LogitsProcessorList([watch]),
            stopping_criteria=StoppingCriteriaList([stops]),
        )[:, length:]
        true, false = (torch.stack(side, dim=1) for side in zip(*masses, strict=True))
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        over = torch.isin(tokens, self._ends).cumsum(dim=1) > 0
        said = torch.isin(tokens, self._ids(sum(how.choices, ()))) & ~over
        at = torch.where(said, steps, -1).amax(dim=1).clamp(min=0) if how.settled_after is None else said.int().argmax(dim=1)
        texts = self.tokenizer.batch_decode(torch.where(over, self.tokenizer.pad_token_id, tokens), skip_special_tokens=True)
        rows = torch.arange(len(texts), device=tokens.device)
        return [
            _completion(_cut(text, how.stop), t, f)
            for text, t, f in zip(texts, true[rows, at].tolist(), false[rows, at].tolist(), strict=True)
        ]

    @cached_property
    def _ends(self) -> Any:
        ends = self.model.generation_config.eos_token_id
        return torch.tensor([] if ends is None else ends, dtype=torch.long, device=self.model.device).reshape(-1)

    def _text(self, prompt: Prompt) -> str:
        if isinstance(prompt.content, str):
            return prompt.content
        return str(self.tokenizer.apply_chat_template(list(prompt.content), tokenize=False, add_generation_prompt=True))

    @cached_property
    def _context(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", 0) or 1 << 30)

    @cached_property
    def _window(self) -> int:
        """Tokens that every layer sees back; a longer prompt is computed whole, by the model's own masks."""
        return int(getattr(self.model.config.get_text_config(), "sliding_window", None) or 1 << 30)

    @cached_property
    def _committed(self) -> list[int]:
        """The tokens that say True or False in just this spelling, with a space before it or without."""
        return [token for token in self._ids(COMMITTED).tolist() if self.tokenizer.decode([token]).strip() in COMMITTED]

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
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    # Plain greedy decoding: what a repository sets for its chats (sampling, penalties) would change the answers.
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=ends, pad_token_id=tokenizer.pad_token_id)
    model.eval()
    decoding = {"greedy": True, "dtype": str(model.dtype).removeprefix("torch.")}
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
