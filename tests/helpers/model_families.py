"""Small models of many architectures, and how they complete prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_models import small_image_text_model, small_model

from medfact.models import Completion, Model, Prompt
from medfact.models.local.model import relative_difference

GROUPED = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("llama", {"bos": True}),
    "Qwen3": ("qwen3", {}),
    "Gemma 2": ("gemma2", {"bos": True}),
    "Gemma 3": ("gemma3_text", {**GROUPED, "head_dim": 12, "sliding_window": 4096}),
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
            **GROUPED,
            "num_hidden_layers": 3,
            "layer_types": ["linear_attention", "full_attention", "linear_attention"],
            "head_dim": 12,
            "num_local_experts": 2,
            "num_experts_per_tok": 1,
        },
    ),
    "T5": ("t5", {}),
}
"""Family → transformers' name of it, and settings beside those of `small_models`."""


IMAGE_TEXT = "Qwen 2.5 VL"


def made(family: str, folder: Path, *, chat: bool) -> Path:
    if family == IMAGE_TEXT:
        return small_image_text_model(folder, chat=chat)
    kind, settings = FAMILIES[family]
    return small_model(folder, kind, chat=chat, **settings)


def completed(model: Model, prompts: list[Prompt]) -> list[Completion]:
    got = dict(model.complete(prompts))
    return [got[place] for place in range(len(prompts))]


def noted_differences(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The largest relative difference of each comparison from now on."""
    noted: list[float] = []

    def noting(logits: Any, other: Any) -> Any:
        differences = relative_difference(logits, other)
        noted.append(float(differences.max()))
        return differences

    monkeypatch.setattr("medfact.models.local.model.relative_difference", noting)
    return noted
