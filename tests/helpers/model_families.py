"""Small models of many architectures, and their completions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_models import write_image_text_model, write_small_model

from medfact.models import Completion, Model, Prompt
from medfact.models.local.model import relative_difference

GROUPED_ATTENTION = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
"""Settings of a small model whose heads share keys and values."""


FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("llama", {"bos": True}),
    "Qwen3": ("qwen3", {}),
    "Gemma 2": ("gemma2", {"bos": True}),
    "Gemma 3": ("gemma3_text", {**GROUPED_ATTENTION, "head_dim": 12, "sliding_window": 4096}),
    "Mistral with a short window": ("mistral", {"sliding_window": 80}),
    "GPT-2": ("gpt2", {"n_positions": 1024}),
    "Phi": ("phi", {"padding_side": "right"}),
    "GPT-NeoX": ("gpt_neox", {}),
    "OPT": (
        "opt",
        {
            "hidden_size": 48,
            "ffn_dim": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "word_embed_proj_dim": 48,
            "max_position_embeddings": 1024,
        },
    ),
    "Bloom": ("bloom", {"hidden_size": 48, "n_layer": 2, "n_head": 4}),
    "Mamba": ("mamba", {}),
    "RWKV": ("rwkv", {"hidden_size": 48, "attention_hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}),
    "MiniMax": (
        "minimax",
        {
            **GROUPED_ATTENTION,
            "num_hidden_layers": 3,
            "layer_types": ["linear_attention", "full_attention", "linear_attention"],
            "head_dim": 12,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
        },
    ),
    "T5": ("t5", {}),
}
"""Family → its architecture in transformers, and settings in addition to those of `small_models`."""


IMAGE_TEXT = "Qwen 2.5 VL"
"""A further family, for `make_model`, that also reads images."""


def make_model(family: str, folder: Path, *, chat: bool) -> Path:
    """Writes a small random model with its tokenizer to a folder, and returns the folder.

    family: a key of FAMILIES, or IMAGE_TEXT. chat: True for a chat template.
    """
    if family == IMAGE_TEXT:
        return write_image_text_model(folder, chat=chat)
    kind, settings = FAMILIES[family]
    return write_small_model(folder, kind, chat=chat, **settings)


def complete_prompts(model: Model, prompts: list[Prompt]) -> list[Completion]:
    """Returns the completions of prompts, in the order of the prompts."""
    completions = dict(model.complete(prompts))
    return [completions[index] for index in range(len(prompts))]


def record_differences(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Returns a list that grows by a number each time a local model compares its logits with others.

    The number is the largest relative difference of that comparison. Recording ends with the test.
    """
    largest: list[float] = []

    def note_difference(logits: Any, other: Any) -> Any:
        differences = relative_difference(logits, other)
        largest.append(float(differences.max()))
        return differences

    monkeypatch.setattr("medfact.models.local.model.relative_difference", note_difference)
    return largest
