"""Local models: P(True) and replies against whole-prompt forward passes, one prompt at a time, of the same weights."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from naive import SHOTS, STATEMENT_TREE, TEXTS, decode_greedily, expected_completion, make_short_prompt, matches_reference
from psutil import Process
from small_models import write_small_llama, write_small_model
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from medfact.answers import read_answer
from medfact.models import Completion, Model, Placement, Prompt, load_model
from medfact.models.local.memory import working_memory

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "chat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_llama(tmp_path_factory.mktemp("model"), chat=request.param, answer_weight=1.8)


def completed(model: Model, prompts: Sequence[Prompt]) -> list[Completion]:
    """The completions of prompts in the order of the prompts; each comes once."""
    made = list(model.complete(prompts))
    assert sorted(place for place, _ in made) == list(range(len(prompts)))
    return [completion for _, completion in sorted(made, key=lambda item: item[0])]


@pytest.mark.parametrize(("question", "reading"), [("paper", "committed"), ("code", "keyword"), ("mkj", "last-word")])
def test_batches_with_padding_equal_one_prompt_at_a_time(folder: Path, question: str, reading: str) -> None:
    model = load_model(f"hf:{folder}")
    prompts = [
        make_short_prompt(text, shots, chat=model.chat, question=question, reading=reading)
        for shots in ((), SHOTS)
        for text in TEXTS
    ]
    for prompt, completion in zip(prompts, completed(model, prompts), strict=True):
        text, p_true, mass = expected_completion(prompt, decode_greedily(folder, prompt))
        assert completion.p_true == pytest.approx(p_true, abs=1e-4)
        assert completion.p_mass == pytest.approx(mass, abs=1e-4)
        assert matches_reference(prompt, completion, text)


def test_an_answer_of_one_token_is_read_as_the_whole_greedy_reply(folder: Path) -> None:
    """Replies that were cut off after an opening True or False say what the whole greedy reply says. (A random model may glue
    letters to the word, as in "Falsehood"; after demonstrations nothing looks at that.)
    """
    model = load_model(f"hf:{folder}")
    prompts = [
        make_short_prompt(f"{word} is a symptom of {number}.", shots, chat=model.chat)
        for shots in ((), SHOTS)
        for number, word in enumerate(["fever", "pain", "cough", "rash", "gout"] * 4)
    ]
    cut = 0
    for prompt, completion in zip(prompts, completed(model, prompts), strict=True):
        whole, _, _ = expected_completion(prompt, decode_greedily(folder, prompt))
        assert completion.text is not None
        cut += completion.text != whole
        if not re.match(r"\s*(?:true|false)\w", whole, re.IGNORECASE):
            assert read_answer(completion.text) is read_answer(whole), whole
    assert cut >= 2


def test_prompt_longer_than_the_context_fails_alone(tmp_path: Path) -> None:
    model = load_model(f"hf:{write_small_llama(tmp_path, context=128)}")
    long = make_short_prompt("fever " * 200, (), chat=False)
    short = make_short_prompt("fever is a symptom of influenza.", (), chat=False)
    first, second, third = completed(model, [short, long, short])
    assert (first.failure, third.failure) == (None, None)
    assert second.text is None
    assert "128" in (second.failure or "")


def test_revision_changes_with_the_weights(tmp_path: Path) -> None:
    one = load_model(f"hf:{write_small_llama(tmp_path / 'a', seed=0)}").info["revision"]
    same = load_model(f"hf:{write_small_llama(tmp_path / 'b', seed=0)}").info["revision"]
    other = load_model(f"hf:{write_small_llama(tmp_path / 'c', seed=1)}").info["revision"]
    assert one == same != other


# ------------------------------------------------------------------------- packs


def test_half_the_memory_changes_nothing_but_the_speed(tmp_path: Path) -> None:
    """As much as the process has taken, and what 512 or 256 tokens take beside the weights."""
    folder = write_small_llama(tmp_path, answer_weight=1.8)
    config = load_model(f"hf:{folder}").model.config
    prompts = [make_short_prompt(text, SHOTS, chat=False, reading="keyword") for text in STATEMENT_TREE]
    made = []
    for tokens in (512, 256):
        beside = (working_memory(config, tokens, 4) + working_memory(config, 2 * tokens, 4)) // 2
        memory = Process().memory_info().rss + (folder / "model.safetensors").stat().st_size + beside
        model = load_model(f"hf:{folder}", placement=Placement(memory=memory))
        assert model.together == tokens
        made.append(completed(model, prompts))
    for one, other in zip(*made, strict=True):
        assert one.text == other.text
        assert one.p_true == pytest.approx(other.p_true, abs=1e-5)


@pytest.mark.parametrize("window", [64, 256, 900])
def test_local_attention_that_looks_back_along_the_row_is_not_packed(tmp_path: Path, window: int) -> None:
    """GPT-Neo's local layers count tokens of the row, not of the prompt; in a pack another prompt's would stand between."""
    settings = {
        "hidden_size": 48,
        "num_layers": 2,
        "num_heads": 4,
        "window_size": window,
        "attention_types": [[["global", "local"], 1]],
    }
    folder = write_small_model(tmp_path, "gpt_neo", **settings)
    model = load_model(f"hf:{folder}")
    assert not model.packs_well
    prompts = [make_short_prompt(text, SHOTS, chat=False) for text in STATEMENT_TREE[:4]]
    for prompt, completion in zip(prompts, completed(model, prompts), strict=True):
        _, p_true, _ = expected_completion(prompt, decode_greedily(folder, prompt))
        assert completion.p_true == pytest.approx(p_true, abs=1e-4)


def test_a_prompt_longer_than_the_sliding_window_is_computed_whole(tmp_path: Path) -> None:
    """Gemma 2's sliding layers see 24 tokens back; longer prompts keep the model's own masks."""
    folder = write_small_model(tmp_path, "gemma2", sliding_window=24)
    model = load_model(f"hf:{folder}")
    prompts = [make_short_prompt(text, SHOTS, chat=False) for text in STATEMENT_TREE[:4]]
    for prompt, completion in zip(prompts, completed(model, prompts), strict=True):
        _, p_true, _ = expected_completion(prompt, decode_greedily(folder, prompt))
        assert completion.p_true == pytest.approx(p_true, abs=1e-4)


# ------------------------------------------------------------------------- words of several tokens, encoder and decoder


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_words_of_several_tokens_are_forced_in_a_decoder(kind: str, tmp_path: Path) -> None:
    """The tokenizer knows letters alone. `test_families.py` has a T5 whose words are tokens."""
    folder = write_small_model(tmp_path, kind, without_merges=True)
    model = load_model(f"hf:{folder}")
    assert "computed whole" in model.info["notes"][0]
    tokenizer, plain = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder)
    prompts = [make_short_prompt(text, SHOTS[:n], chat=False) for n, text in enumerate(STATEMENT_TREE[:3])]
    words = [tokenizer(word, add_special_tokens=False).input_ids for word in (" True", " False")]
    for prompt, completion in zip(prompts, completed(model, prompts), strict=True):
        ids = tokenizer(prompt.content, return_tensors="pt").input_ids

        def probability(word: list[int], ids: torch.Tensor = ids) -> float:
            with torch.inference_mode():
                logits = plain(input_ids=ids, decoder_input_ids=torch.tensor([[0, *word[:-1]]])).logits
            return float(logits[0].softmax(dim=-1)[range(len(word)), word].prod())

        true, false = map(probability, words)
        assert completion.p_mass == pytest.approx(true + false, rel=1e-3)
        assert completion.p_true == pytest.approx(true / (true + false), abs=1e-4)
