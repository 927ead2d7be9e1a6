"""Local models are looked at before anything heavy: what is wrong is one sentence; what fits is fetched, placed and told."""

import importlib.util
import json
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from small_hub import COMMIT, MockHub
from small_hub import hub as hub
from small_models import train_small_tokenizer, write_small_llama, write_small_model
from transformers import BertConfig, BertModel, Blip2Config, Blip2ForConditionalGeneration

from medfact.answers import make_prompt
from medfact.errors import Mistake, ModelError
from medfact.models import Placement, load_model, takes_messages
from medfact.models.local.memory import SMALLEST, sizes, tokens_together, working_memory
from medfact.models.local.placement import bytes_of, in_bytes

__all__ = ["hub"]

pytestmark = pytest.mark.model


def refusal(spec: str, placement: Placement | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        load_model(spec, placement=placement or Placement())
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    return str(caught.value)


# ------------------------------------------------------------------------- repositories


def test_a_repository_is_fetched_once_and_loaded(hub: MockHub, tmp_path: Path) -> None:
    hub.folders["lab/llama"] = write_small_llama(tmp_path / "llama", answer_weight=4.0)
    (hub.folders["lab/llama"] / "README.md").write_text("not needed")
    told: list[str] = []
    model = load_model("hf:lab/llama", tell=told.append)
    prompt = make_prompt("fever is a symptom of influenza.", (), chat=False)
    assert [completion.failure for _, completion in model.complete([prompt])] == [None]
    assert model.info["revision"] == COMMIT
    assert told[0] == "checking the model"
    assert told[-1] == "loading the weights"
    assert any(said.startswith("downloading the model:") for said in told)
    first = [file for method, _, file in hub.fetched if method == "GET"]
    assert sorted(set(first)) == sorted(first), "each file once"
    assert "model.safetensors" in first
    assert "README.md" not in first
    load_model("hf:lab/llama")
    assert [file for method, _, file in hub.fetched if method == "GET"] == first, "kept in the cache"
    assert takes_messages("hf:lab/llama") is False


def test_a_repository_that_was_fetched_is_found_without_the_hub(hub: MockHub, tmp_path: Path) -> None:
    hub.folders["lab/llama"] = write_small_llama(tmp_path / "llama")
    before = load_model("hf:lab/llama").info["revision"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        assert load_model("hf:lab/llama").info["revision"] == before


def test_no_such_repository(hub: MockHub) -> None:
    assert refusal("hf:lab/none").startswith("There is no model 'lab/none'")


def test_a_gated_repository(hub: MockHub, tmp_path: Path) -> None:
    hub.folders["lab/llama"] = write_small_llama(tmp_path / "llama")
    hub.gated.add("lab/llama")
    assert "is gated" in refusal("hf:lab/llama")
    assert "hf auth login" in refusal("hf:lab/llama")


def test_a_visitor_of_a_public_server_is_told_what_a_visitor_can_do(
    hub: MockHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    hub.folders["lab/llama"] = write_small_llama(tmp_path / "llama")
    hub.gated.add("lab/llama")
    refused = [refusal("hf:lab/none"), refusal("hf:lab/llama")]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for said in (*refused, refusal("hf:lab/other")):
        assert said.endswith("one of the offered models.")
        assert "folder" not in said
        assert "log in" not in said


def test_no_weights_and_weights_that_could_run_code(hub: MockHub, tmp_path: Path) -> None:
    folder = hub.folders["lab/llama"] = write_small_llama(tmp_path / "llama")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "--any-weights" in refusal("hf:lab/llama")
    assert "--any-weights" in refusal(f"hf:{folder}")
    (folder / "pytorch_model.bin").unlink()
    assert "it has no weights" in refusal("hf:lab/llama")
    assert "it has no weights" in refusal(f"hf:{folder}")
    assert not [file for _, _, file in hub.fetched if file != "config.json"], "nothing heavy was fetched"


def test_an_encoder_writes_nothing(hub: MockHub, tmp_path: Path) -> None:
    config = BertConfig(vocab_size=300, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    BertModel(config).save_pretrained(tmp_path / "bert")
    train_small_tokenizer().save_pretrained(tmp_path / "bert")
    hub.folders["lab/bert"] = tmp_path / "bert"
    for spec in ("hf:lab/bert", f"hf:{tmp_path / 'bert'}"):
        assert "generates no text (BertModel)" in refusal(spec)
    assert "model.safetensors" not in [file for _, _, file in hub.fetched]


def test_code_of_a_repository_is_not_run(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    own = {"model_type": "own", "auto_map": {"AutoModelForCausalLM": "own.Own"}, "architectures": ["Own"]}
    (folder / "config.json").write_text(json.dumps(config | own))
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    assert "--trust-code" in refusal(f"hf:{folder}")
    assert not (tmp_path / "ran").exists()


def test_a_hub_that_is_not_there(hub: MockHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{filename}")
    assert "could not be reached" in refusal("hf:lab/llama")


@pytest.mark.parametrize("name", ["", "a b/../c$", "a" * 300, "a\0b", "../..", "http://127.0.0.1/x"])
def test_a_name_that_is_none(hub: MockHub, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    with pytest.raises(Mistake) as caught:
        load_model(f"hf:{name}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [b"", b"\xff" * 40, struct.pack("<Q", 10) + b"{}        "])
def test_damaged_weights(tmp_path: Path, damage: bytes) -> None:
    folder = write_small_llama(tmp_path)
    (folder / "model.safetensors").write_bytes(damage)
    assert "contains no causal language model" in refusal(f"hf:{folder}")


def test_weights_that_are_missing_are_not_drawn_at_random(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert "1 of its weights are missing, such as model.layers.1.mlp.up_proj.weight" in refusal(f"hf:{folder}")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model_type": 3}', '{"model_type": "llama", "hidden_size": "wide"}'])
def test_damaged_settings(tmp_path: Path, text: str) -> None:
    folder = write_small_llama(tmp_path)
    (folder / "config.json").write_text(text)
    refusal(f"hf:{folder}")


# ------------------------------------------------------------------------- placement


def test_numbers_of_bytes() -> None:
    assert [bytes_of(text) for text in ("8GB", "1.5 g", "900MiB", "1000", "2tb")] == [
        8 * 10**9,
        1_500_000_000,
        900 * 2**20,
        1000,
        2 * 10**12,
    ]
    assert [in_bytes(size) for size in (5.24e9, 4.3e8, 10)] == ["5.2 GB", "430 MB", "1 MB"]
    for text in ("", "much", "-1GB", "0", "8 XB"):
        with pytest.raises(Mistake, match="not an amount of memory"):
            bytes_of(text)


def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"hf:{write_small_llama(tmp_path)}"
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "bitsandbytes" else found(name, *rest))
    assert "no device mps" in refusal(spec, Placement(device="mps"))
    assert "bitsandbytes" in refusal(spec, Placement(dtype="4bit"))
    with pytest.raises(Mistake, match="There is no dtype"):
        Placement(dtype="float8")
    with pytest.raises(Mistake, match="There is no device"):
        Placement(device="abacus")


def test_a_model_that_does_not_fit_is_not_loaded(tmp_path: Path) -> None:
    """Weights of 40 GB by the file's header; there are no such weights in it."""
    folder = write_small_llama(tmp_path)
    header = json.dumps({"w": {"dtype": "F32", "shape": [10**10], "data_offsets": [0, 4 * 10**10]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert "does not fit: it needs about 40." in refusal(f"hf:{folder}", Placement(memory=20 * 10**9))
    assert "(20.0 GB for the weights)" in refusal(f"hf:{folder}", Placement(memory=10 * 10**9, dtype="bfloat16"))


def test_fewer_tokens_together_where_memory_is_short() -> None:
    """Of a small Llama: as many tokens as fit beside the weights, by halves, and none where not even the smallest pack fits."""
    from transformers import LlamaConfig

    config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000)
    weights = 10**6
    for tokens in (2048, 1024, 512, SMALLEST):
        room = weights + working_memory(config, tokens, 4)
        assert tokens_together(config, weights, room, 4, 2048, "x") == tokens
    with pytest.raises(ModelError, match="does not fit"):
        tokens_together(config, weights, weights + working_memory(config, SMALLEST, 4) - 1, 4, 2048, "x")


ODD_SIZES: dict[str, tuple[str, dict[str, object]]] = {
    "a list": ("gemma3n_text", {"num_hidden_layers": 2, "intermediate_size": [8192, 16384]}),
    "none for most": ("xlnet", {}),
    "another in some layers": ("dots3_note_text", {}),
    "an encoder of texts beside the decoder": ("musicgen_melody", {}),
    "no attention": ("mamba", {}),
}


@pytest.mark.parametrize(("kind", "settings"), ODD_SIZES.values(), ids=ODD_SIZES)
def test_sizes_of_every_form_give_an_estimate(kind: str, settings: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    from transformers import AutoConfig

    config = AutoConfig.for_model(kind, **settings)
    assert working_memory(config, 64, 2) > 0
    assert sizes(config, "vocab_size")
    assert not caplog.records, "nothing was out of reach"


def test_the_largest_of_several_sizes_counts() -> None:
    from transformers import AutoConfig

    def of_layers(*inner: int) -> int:
        return working_memory(AutoConfig.for_model("gemma3n_text", num_hidden_layers=2, intermediate_size=[*inner]), 1, 2)

    assert of_layers(64, 4096) == of_layers(4096, 64) == of_layers(4096, 4096)
    assert of_layers(64, 4096) - of_layers(64, 64) == 2 * 4 * (4096 - 64), "bytes · 4 · inner size"


@pytest.mark.parametrize("none", [-1, 0, None, 1e30, float("inf"), "many", {}], ids=repr)
def test_no_limit_is_written_in_many_ways(none: object) -> None:
    class Config:
        max_position_embeddings = none

        def get_text_config(self) -> object:
            return self

    assert sizes(Config(), "max_position_embeddings") == []


def test_a_configuration_that_refuses_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Config:
        def get_text_config(self) -> object:
            raise ZeroDivisionError("of a repository's own code")

    assert working_memory(Config(), 64, 2) > 0
    assert "gives no hidden_size: of a repository's own code" in caplog.text


@pytest.mark.parametrize("positions", [-1, 0], ids=repr)
def test_a_model_without_a_limit_of_positions_answers(positions: int, tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": positions}))
    prompt = make_prompt("Fever is a symptom of influenza.", (), chat=False)
    ((_, done),) = load_model(f"hf:{folder}").complete([prompt])
    assert done.failure is None
    assert done.text


def test_the_reason_of_a_refused_configuration_is_said(tmp_path: Path) -> None:
    """transformers gives it on a second line."""
    folder = write_small_llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": "many"}))
    assert "'max_position_embeddings' expected int, got str" in refusal(f"hf:{folder}")


def test_loading_does_not_touch_other_threads(tmp_path: Path) -> None:
    """A model that was loaded in a thread answers in another one."""
    loaded = []
    folder = write_small_model(tmp_path, "qwen2")
    thread = threading.Thread(target=lambda: loaded.append(load_model(f"hf:{folder}")))
    thread.start()
    thread.join()
    prompts = [make_prompt(f"{word} is a symptom of gout.", (), chat=False) for word in ("fever", "pain")]
    assert sorted(place for place, _ in loaded[0].complete(prompts)) == [0, 1]


def test_a_model_that_wants_an_image_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """As BLIP-2 does: its forward pass takes pixel values, and no text without them."""
    config = Blip2Config(
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 28,
        },
        qformer_config={
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "encoder_hidden_size": 16,
        },
        text_config={
            "model_type": "opt",
            "vocab_size": 400,
            "hidden_size": 16,
            "ffn_dim": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "word_embed_proj_dim": 16,
        },
    )
    Blip2ForConditionalGeneration(config).save_pretrained(tmp_path / "blip")
    train_small_tokenizer().save_pretrained(tmp_path / "blip")
    assert "does not accept text alone" in refusal(f"hf:{tmp_path / 'blip'}")


def test_a_model_with_a_size_for_each_layer_is_evaluated(medfact: Callable[..., Any], url: str, tmp_path: Path) -> None:
    """As the published Gemma 3n."""
    write_small_model(
        tmp_path / "model", "gemma3n_text", hidden_size=48, intermediate_size=[96, 64], num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=12, sliding_window=80, hidden_size_per_layer_input=8,
        vocab_size_per_layer_input=420, num_kv_shared_layers=0, layer_types=["sliding_attention", "full_attention"],
        activation_sparsity_pattern=[0.0, 0.0], laurel_rank=4, altup_num_inputs=2,
    )  # fmt: skip
    outcome = medfact("run", "--model", f"hf:{tmp_path / 'model'}", "--limit", 1, "--shots", 0, "--db", url)
    (row,) = outcome.rows
    assert (row["state"], row["answered"], row["failed"]) == ("complete", 16, 0)
