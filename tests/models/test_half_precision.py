"""Models in bfloat16 and float16: logits that are not rounded, and the same judgement of an architecture as in float32."""

from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import dispatch_model
from accelerate.hooks import remove_hook_from_submodules
from model_families import FAMILIES, IMAGE_TEXT, complete_prompts, make_model, record_differences
from naive import FIVE_SHOTS, STATEMENT_TREE, make_short_prompt
from small_models import write_small_llama, write_small_model
from transformers import AutoModelForCausalLM

from medfact.models import load_model
from medfact.models.local import loading
from medfact.models.local.loading import compute_logits_exactly
from medfact.models.local.model import relative_difference
from medfact.models.local.placement import Placement

pytestmark = pytest.mark.model

HALF = ["bfloat16", "float16"]


class _HeadAlone(torch.nn.Module):
    """As much of a model as an output layer needs."""

    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__()
        self.head = torch.nn.Linear(len(rows[0]), len(rows), bias=False, dtype=torch.bfloat16)
        self.head.weight.data = torch.tensor(rows, dtype=torch.bfloat16)

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.head


def test_two_logits_that_bfloat16_cannot_tell_apart() -> None:
    """16 + 4 = 20, and 16 + 4 + 1/16 = 20.0625. From 16 to 32, bfloat16 knows every eighth: both are 20, and the first wins."""
    model = _HeadAlone([[1, 1, 0], [1, 1, 1]])
    hidden = torch.tensor([[16, 4, 1 / 16]], dtype=torch.bfloat16)
    assert model.head(hidden).tolist() == [[20, 20]]
    assert compute_logits_exactly(model)
    assert model.head(hidden).tolist() == [[20, 20.0625]]
    assert model.head.weight.dtype == torch.bfloat16, "the weights stay as they are"


def _hidden_and_logits(model: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """What goes into the output layer, and what the model makes of it."""
    seen: list[torch.Tensor] = []
    hook = model.get_output_embeddings().register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[5, 6, 7, 8]])).logits
    hook.remove()
    return seen[0].float(), logits


@pytest.mark.parametrize("kind", ["llama", "phi", "gemma2"], ids=["untied", "with a bias", "capped"])
def test_the_output_layer_of_a_model(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary of 420 tokens in parts of 100 or less."""
    monkeypatch.setattr(loading, "MAX_FLOAT32_WEIGHTS", 100 * 48)
    model: Any = AutoModelForCausalLM.from_pretrained(write_small_model(tmp_path, kind), dtype=torch.bfloat16).eval()
    if kind == "phi":
        torch.nn.init.normal_(model.lm_head.bias)
    assert compute_logits_exactly(model)
    hidden, logits = _hidden_and_logits(model)
    bias = 0 if model.lm_head.bias is None else model.lm_head.bias.double()
    wanted = hidden.double() @ model.lm_head.weight.double().T + bias
    if kind == "gemma2":
        cap = model.config.final_logit_softcapping
        wanted = cap * torch.tanh(wanted / cap)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits.double(), wanted, rtol=1e-5, atol=1e-5)


def test_an_output_layer_on_the_disk(tmp_path: Path) -> None:
    """accelerate fetches its weights for each computation, and puts them back."""
    folder = write_small_llama(tmp_path / "model")
    plain, parted = (AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval() for _ in range(2))
    places = {"model": "cpu", "lm_head": "disk"}
    parted = dispatch_model(parted, places, main_device="cpu", offload_dir=str(tmp_path / "disk"), force_hooks=True)
    assert parted.lm_head.weight.device.type == "meta"
    for model in (plain, parted):
        assert compute_logits_exactly(model)
    (_, logits), (_, of_parted) = _hidden_and_logits(plain), _hidden_and_logits(parted)
    assert of_parted.dtype == torch.float32
    torch.testing.assert_close(of_parted, logits, rtol=0, atol=0)
    assert parted.lm_head.weight.device.type == "meta"
    remove_hook_from_submodules(parted)


def test_a_model_without_an_output_layer_of_its_own_stays_as_it_is() -> None:
    model = _HeadAlone([[1, 1, 0]])
    model.head = torch.nn.Identity()  # type: ignore[assignment]
    assert not compute_logits_exactly(model)
    assert "forward" not in vars(model.head)


@pytest.mark.parametrize("family", [*FAMILIES, IMAGE_TEXT])
def test_an_architecture_is_judged_as_in_float32(family: str, tmp_path: Path) -> None:
    """Whether it can be packed, and padded: rounding is no reason against it, and must not hide that it ignores the mask."""
    folder = make_model(family, tmp_path / "model", chat=False)
    precise = load_model(f"hf:{folder}", placement=Placement(dtype="float32"))
    assert precise.info["decoding"].get("logits") is None
    assert not any("Computed in" in note for note in precise.info["notes"])
    for dtype in HALF:
        half = load_model(f"hf:{folder}", placement=Placement(dtype=dtype))
        assert (half.packs_well, half.pads_well) == (precise.packs_well, precise.pads_well)  # type: ignore[attr-defined]
        assert half.info["decoding"]["logits"] == "float32"
        assert f"Computed in {dtype}" in half.info["notes"][0]
        completions = complete_prompts(half, [make_short_prompt(text, FIVE_SHOTS, chat=False) for text in STATEMENT_TREE[:6]])
        assert all(completion.failure is None and 0 < (completion.p_mass or 0) < 1 for completion in completions)


@pytest.mark.parametrize(("window", "dtype"), [(64, "bfloat16"), (900, "float16")])
def test_local_attention_is_not_packed_in_half_precision_either(
    tmp_path: Path, window: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    differences = record_differences(monkeypatch)
    settings = {"hidden_size": 48, "num_layers": 2, "num_heads": 4, "window_size": window}
    folder = write_small_model(tmp_path, "gpt_neo", attention_types=[[["global", "local"], 1]], **settings)
    model: Any = load_model(f"hf:{folder}", placement=Placement(dtype=dtype))
    assert not model.packs_well
    assert 0.15 < differences[0] < 1, "it was computed, and compared"


# ------------------------------------------------------------------------------------------- how much logits differ


def test_a_difference_is_a_share_of_the_spread() -> None:
    """Probabilities ½, ¼, ¼ against ¼, ¼, ½. In units of ln 2, the logs are −1, −2, −2 and −2, −2, −1: they differ by 1, 0, −1,
    √2 in all. The second ones differ from their mean −5/3 by −1/3, −1/3 and 2/3: √(6/9) in all. √2 / √(2/3) = √3.
    """
    one, other = (
        torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]).log(),
        torch.tensor([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]).log(),
    )
    assert relative_difference(one, other).tolist() == pytest.approx([3**0.5, 0])
    assert relative_difference(one + 7, other).tolist() == pytest.approx([3**0.5, 0], abs=1e-6), (
        "a constant changes no probability"
    )


@pytest.mark.parametrize("never", [-float("inf"), torch.finfo(torch.float32).min, -1e30, -1e4])
def test_tokens_that_are_never_said_do_not_count(never: float) -> None:
    """Some models, like Chameleon, give the tokens of images the least number that there is."""
    torch.manual_seed(0)
    one, other = torch.randn(2, 420), torch.randn(2, 420)
    apart = relative_difference(one, other)
    nearly = relative_difference(one + 0.001 * torch.randn(2, 420), one)
    assert (apart > 1).all()
    assert (nearly < 0.002).all()
    pad = torch.full((2, 64), never)
    one, other = torch.cat([one, pad], dim=1), torch.cat([other, pad], dim=1)
    torch.testing.assert_close(relative_difference(one, other), apart)
    assert relative_difference(one, one).tolist() == [0, 0]
