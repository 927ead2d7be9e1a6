"""Local models that are broken: what they cannot compute is never an answer, and what is wrong with them is said soon."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from naive import SHOTS, TEXTS
from recorded import complete_run
from safetensors.torch import load_file, save_file
from small_facts import StubModel
from small_hub import MockHub
from small_hub import hub as hub
from small_models import write_inference_model, write_small_llama, write_small_model
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

from medfact.answers import make_prompt
from medfact.errors import ModelError
from medfact.models import Completion, Placement, load_model
from medfact.models.entailment import load_entailment
from medfact.models.local.repository import downloaded, inspect_source
from medfact.runs.events import Failed, Noted
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store

__all__ = ["hub"]

pytestmark = pytest.mark.model

NAN, INFINITE = float("nan"), float("inf")


def broken(folder: Path, name: str, value: float, row: int | slice = slice(None)) -> Path:
    """The model, with these numbers in a tensor, or in a row of it."""
    file = folder / "model.safetensors"
    tensors = load_file(file)
    (found,) = [key for key in tensors if key.endswith(name)]
    tensors[found][row] = value
    save_file(tensors, file, metadata={"format": "pt"})
    return folder


def prompts_of(chat: bool = False) -> list[Any]:
    return [make_prompt(text, shots, chat=chat) for shots in ((), SHOTS) for text in TEXTS]


def completed(spec: str, prompts: Sequence[Any]) -> list[Completion]:
    return [completion for _, completion in sorted(load_model(spec).complete(prompts), key=lambda item: item[0])]


def is_failure(completion: Completion) -> bool:
    """Whether it says nothing but why it failed, and what to do."""
    nothing = (completion.text, completion.p_true, completion.p_mass) == (None, None, None)
    return nothing and "--dtype" in (completion.failure or "")


# ------------------------------------------------------------------------------------------------ numbers that are none

HEADS: dict[str, Callable[[Path], Path]] = {
    "all NaN": lambda folder: broken(folder, "lm_head.weight", NAN),
    "one token NaN": lambda folder: broken(folder, "lm_head.weight", NAN, 7),
    "infinite": lambda folder: broken(folder, "lm_head.weight", INFINITE),
    "one token infinite": lambda folder: broken(folder, "lm_head.weight", INFINITE, 7),
    "a layer within": lambda folder: broken(folder, "layers.1.mlp.down_proj.weight", NAN),
}


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_what_is_no_number_is_a_failure_and_never_an_answer(head: Callable[[Path], Path], chat: bool, tmp_path: Path) -> None:
    folder = head(write_small_llama(tmp_path / "model", context=2048, chat=chat))
    assert all(map(is_failure, completed(f"hf:{folder}", prompts_of(chat))))


@pytest.mark.parametrize("kind", ["gpt2", "mamba", "t5", "bart"])
def test_models_that_are_asked_whole_too(kind: str, tmp_path: Path) -> None:
    folder = write_small_model(tmp_path / "model", kind)
    loader = AutoModelForSeq2SeqLM if kind in ("t5", "bart") else AutoModelForCausalLM
    model = loader.from_pretrained(folder)
    if kind == "bart":
        model.final_logits_bias[:] = NAN
    else:
        model.config.tie_word_embeddings = False
        model.lm_head.weight = torch.nn.Parameter(torch.full_like(model.lm_head.weight, NAN))
    model.save_pretrained(folder)
    found = completed(f"hf:{folder}", prompts_of()[: len(TEXTS)])
    assert all(map(is_failure, found))


def test_a_prompt_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    """One word has no numbers. Prompts that are computed together with one that holds it are answered as they are alone."""
    folder = write_small_llama(tmp_path / "model", context=2048, answer_weight=1.8)
    prompts = prompts_of()
    whole = completed(f"hf:{folder}", prompts)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (token,) = tokenizer(" influenza", add_special_tokens=False).input_ids[-1:]
    broken(folder, "embed_tokens.weight", NAN, token)
    said = [tokenizer(completion.text or "", add_special_tokens=False).input_ids for completion in whole]
    holds = [token in (*tokenizer(prompt.content).input_ids, *reply) for prompt, reply in zip(prompts, said, strict=True)]
    found = completed(f"hf:{folder}", prompts)
    assert 0 < sum(holds) < len(prompts)
    assert [is_failure(completion) for completion in found] == holds
    for before, after, is_held in zip(whole, found, holds, strict=True):
        assert is_held or after.text == before.text
        assert is_held or after.p_true == pytest.approx(before.p_true, abs=1e-4)


def test_a_run_of_such_a_model_ends_with_failures_and_a_hint(medfact: Callable[..., Any], tmp_path: Path, url: str) -> None:
    folder = broken(write_small_llama(tmp_path / "model", context=2048), "lm_head.weight", NAN)
    done = medfact("run", "--db", url, "--model", f"hf:{folder}", "--limit", 2, "--shots", 0)
    assert done.code == 3
    assert "--dtype" in done.err
    rows = medfact("answers", "--db", url, done.rows[0]["run"]).rows
    assert len(rows) == 32
    assert {(row["answer"], row["p_true"], row["p_mass"], row["raw"]) for row in rows} == {(None, None, None, None)}
    report = medfact("report", "--db", url, done.rows[0]["run"], "--json")
    assert json.loads(report.out, parse_constant=pytest.fail)["failed"] == 32
    notes = Store(url).run(done.rows[0]["run"]).notes
    assert any("not finite" in note for note in notes)
    assert not any("cannot share" in note or "cannot batch" in note for note in notes), "the architecture is not to blame"


def test_an_encoder_that_computes_no_numbers_answers_nothing(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """Nothing is like NaN, and so nothing would be true."""

    class Broken:
        def encode(self, texts: list[str], **_: Any) -> Any:
            return np.full((len(texts), 4), NAN, dtype=np.float32)

    monkeypatch.setattr("medfact.models.words_alone.sentence_encoder", lambda name: Broken())
    run = start(RunSpec(model="baseline:embedding", limit=2, shots=0), store)
    (failed,) = [event for event in answer(run, store) if isinstance(event, Failed)]
    assert "not finite" in failed.error.public
    assert store.run(run).state == "failed"


def test_a_model_for_inference_that_computes_no_numbers_lets_nothing_pass(tmp_path: Path) -> None:
    folder = broken(write_inference_model(tmp_path / "nli", "entailment"), "classifier.weight", NAN)
    with pytest.raises(ModelError, match="computes no numbers"):
        load_entailment(f"hf:{folder}")("Gout hurts.", "It hurts.")


# ------------------------------------------------------------------------------------------------ one token for all prompts


def asked(
    store: Store, reply: Callable[[Any], Any], model: str = "baseline:random", limit: int = 3
) -> tuple[list[str], list[str]]:
    """The notes of a run whose model replies so, and what was told while it went on."""
    run = start(RunSpec(model=model, limit=limit, shots=0), store)
    answerer = StubModel(reply)
    told = [event.note for event in answer(run, store, load=answerer.load) if isinstance(event, Noted)]
    return list(store.run(run).notes), told


@pytest.mark.parametrize("text", ["!" * 16, "! ! ! ! !", "the the the the", "\n\n\n", "", "!", "<0x00><0x00><0x00>"])
def test_one_token_for_every_prompt_is_noticed_at_once(text: str, store: Store) -> None:
    notes, told = asked(store, lambda prompt: text)
    (note,) = [note for note in notes if note.startswith("The first ")]
    assert "whatever was asked" in note
    assert note in told


def test_tokens_of_different_number_too(store: Store) -> None:
    notes, _ = asked(store, lambda prompt: "!" * (3 + len(prompt.statement) % 5))
    assert any("say nothing but “!”" in note for note in notes)


@pytest.mark.parametrize(
    "reply",
    [
        lambda prompt: "True",
        lambda prompt: "False",
        lambda prompt: "I cannot answer that.",
        lambda prompt: "!!!!" if "not" in prompt.statement else "True",
        lambda prompt: "!!!!" if "not" in prompt.statement else "????",
        lambda prompt: Completion(None, failure="it is away"),
        lambda prompt: Completion("", cut="content_filter"),
    ],
)
def test_other_replies_are_not(reply: Callable[[Any], Any], store: Store) -> None:
    notes, _ = asked(store, reply)
    assert not any(note.startswith("The first ") for note in notes)


def test_a_model_on_this_machine_that_says_one_token_is_told_of_its_number_format(store: Store, tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path / "model", context=2048)
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.lm_head.weight.data[:] = 0  # all logits are the same: the first token is taken
    model.save_pretrained(folder)
    run = complete_run(RunSpec(model=f"hf:{folder}", limit=2, shots=0), store)
    (note,) = [note for note in store.run(run).notes if note.startswith("The first ")]
    assert "--dtype" in note


# ------------------------------------------------------------------------------------------------ tokenizer and embedding


@pytest.fixture
def larger(tmp_path: Path) -> Path:
    folder = write_small_llama(tmp_path / "larger", context=2048)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["influenza", "symptom", "disease", "fever", "recognized"])
    tokenizer.save_pretrained(folder)
    return folder


def test_a_tokenizer_larger_than_the_embedding_is_one_sentence(larger: Path, medfact: Callable[..., Any], url: str) -> None:
    tokens = len(AutoTokenizer.from_pretrained(larger))
    size = json.loads((larger / "config.json").read_text())["vocab_size"]
    assert tokens > size
    done = medfact("run", "--db", url, "--model", f"hf:{larger}", "--limit", 1, "--shots", 0)
    assert done.code == 2
    assert f"has {tokens} tokens, and the model embeds {size}:" in done.err
    assert "Traceback" not in done.err


def test_it_is_said_before_the_weights_are_fetched(larger: Path, hub: MockHub) -> None:
    hub.folders["lab/larger"] = larger
    with pytest.raises(ModelError, match="and the model embeds"):
        load_model("hf:lab/larger")
    assert not [file for _, _, file in hub.fetched if file.endswith(".safetensors")]


@pytest.mark.parametrize("template", ["<turn>{{ messages[-1]['content'] }}", "{{ bos_token }}{{ messages[-1]['content'] }}"])
def test_special_tokens_of_a_chat_template_too(template: str, tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path / "model", context=2048)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"bos_token": "<turn>"})
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelError, match=r"and the model embeds .* such as .<turn>."):
        load_model(f"hf:{folder}")


@pytest.mark.parametrize("name", ["pad_token", "eos_token", "unk_token", "additional_special_tokens"])
def test_a_special_token_that_no_prompt_has_may_lie_beyond(name: str, tmp_path: Path) -> None:
    """As many who trained a model further have published it, or as transformers adds it to a GGUF file's."""
    folder = write_small_llama(tmp_path / "model", context=2048, answer_weight=1.8)
    before = completed(f"hf:{folder}", prompts_of())
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({name: ["<more>"] if name.endswith("s") else "<more>"})
    tokenizer.save_pretrained(folder)
    model = load_model(f"hf:{folder}")
    assert [one.text for _, one in sorted(model.complete(prompts_of()), key=lambda item: item[0])] == [
        one.text for one in before
    ]


# ------------------------------------------------------------------------------------------------ the same weights twice


def sharded(folder: Path) -> Path:
    """The model in several files with an index."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="100KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    return folder


BESIDE = [
    "consolidated.safetensors",
    "consolidated-00001-of-00001.safetensors",
    "model.fp16.safetensors",
    "adapter_model.safetensors",
]


@pytest.mark.parametrize("is_sharded", [False, True], ids=["one file", "several files"])
def test_weights_under_a_second_name_count_once_and_are_not_fetched(is_sharded: bool, hub: MockHub, tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path / "model", context=2048)
    whole = shutil.copy(folder / "model.safetensors", tmp_path / "whole.safetensors")
    folder = sharded(folder) if is_sharded else folder
    plain = inspect_source(folder, Placement())
    for name in [*BESIDE, "pytorch_model.bin"]:
        shutil.copy(whole, folder / name)
    (folder / "original").mkdir()
    shutil.copy(whole, folder / "original" / "consolidated.safetensors")
    for any_weights in (False, True):
        found = inspect_source(folder, Placement(any_weights=any_weights))
        assert (found.parameters, found.stored_bytes) == (plain.parameters, plain.stored_bytes)
    shutil.rmtree(folder / "original")
    hub.folders["lab/model"] = folder
    of_hub = inspect_source("lab/model", Placement(any_weights=True))
    assert of_hub.stored_bytes == plain.stored_bytes
    downloaded(of_hub, lambda _: None)
    fetched = {file for method, _, file in hub.fetched if method == "GET" and file.endswith((".safetensors", ".bin"))}
    assert fetched == {file.name for file in folder.glob("model*.safetensors")} - set(BESIDE)
    assert load_model("hf:lab/model").info["decoding"]["dtype"] == "float32"


def test_pickled_weights_are_counted_once_where_there_are_no_others(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path / "model")
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    shutil.copy(folder / "pytorch_model.bin", folder / "training.pt")
    weights.unlink()
    found = inspect_source(folder, Placement(any_weights=True))
    assert found.stored_bytes == (folder / "pytorch_model.bin").stat().st_size
    with pytest.raises(ModelError, match="not in safetensors format"):
        inspect_source(folder, Placement())


def test_weights_under_other_names_alone_are_said_to_be_so(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "consolidated.safetensors")
    with pytest.raises(ModelError, match=r"consolidated\.safetensors"):
        inspect_source(folder, Placement())


def test_a_damaged_index_is_one_sentence(tmp_path: Path) -> None:
    folder = sharded(write_small_llama(tmp_path / "model"))
    for text in ("{", "[]", '{"weight_map": 3}', '{"weight_map": {"a": "../../x.safetensors"}}'):
        (folder / "model.safetensors.index.json").write_text(text)
        with pytest.raises(ModelError) as refused:
            load_model(f"hf:{folder}")
        assert "\n" not in str(refused.value)
