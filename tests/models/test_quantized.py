"""Models in 8 and 4 bits, with the real bitsandbytes, on a processor."""

from pathlib import Path
from typing import Any

import pytest
import torch
from model_families import complete_prompts, record_differences
from naive import FIVE_SHOTS, STATEMENT_TREE, make_short_prompt
from small_models import write_small_model

from medfact.models import Placement, load_model

pytest.importorskip(
    "bitsandbytes", reason="bitsandbytes is not installed: pip install --no-deps -r tests/requirements/quantized.txt"
)

pytestmark = pytest.mark.model

ROUND = {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 2, "num_key_value_heads": 2}
"""Sizes that its kernels accept."""


@pytest.mark.parametrize("dtype", ["8bit", "4bit"])
def test_a_model_whose_weights_are_rounded(dtype: str, tmp_path: Path) -> None:
    """Weights are a half or a quarter of float16's bytes, logits are not rounded, prompts are packed, and the run says so."""
    folder = write_small_model(tmp_path, "llama", **ROUND)
    model: Any = load_model(f"hf:{folder}", placement=Placement(dtype=dtype, device="cpu"))
    weight = model.model.model.layers[0].mlp.up_proj.weight
    assert weight.element_size() == 1
    assert weight.numel() == 128 * 256 // {"8bit": 1, "4bit": 2}[dtype]
    assert model.model.get_output_embeddings().weight.dtype == torch.bfloat16
    assert model.info["decoding"] == {"greedy": True, "dtype": dtype, "logits": "float32"}
    assert model.info["notes"] == (
        f"The weights are rounded to {dtype[0]} bits, so answers may differ from those of the whole model.",
    )
    assert model.packs_well
    assert model.pads_well
    answered = complete_prompts(model, [make_short_prompt(text, FIVE_SHOTS, chat=False) for text in STATEMENT_TREE[:6]])
    assert all(one.failure is None and 0 < one.p_true < 1 for one in answered)


@pytest.mark.parametrize("dtype", ["8bit", "4bit"])
def test_local_attention_is_not_packed_with_rounded_weights_either(
    tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = record_differences(monkeypatch)
    settings = {"hidden_size": 128, "intermediate_size": 256, "num_layers": 2, "num_heads": 4, "window_size": 256}
    folder = write_small_model(tmp_path, "gpt_neo", attention_types=[[["global", "local"], 1]], **settings)
    model: Any = load_model(f"hf:{folder}", placement=Placement(dtype=dtype, device="cpu"))
    assert not model.packs_well
    assert 0.15 < differences[0] < 1, "it was computed, and compared"
