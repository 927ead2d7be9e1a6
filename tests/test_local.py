"""Local models: P(True) and replies against whole-prompt forward passes, one prompt at a time, of the same weights."""

from pathlib import Path

import pytest
import torch
from small_models import small_llama
from transformers import AutoModelForCausalLM, AutoTokenizer

from medfact.answers import CHOICES, Demonstration, make_prompt
from medfact.errors import MedfactError
from medfact.models import Prompt, load_model, takes_messages
from medfact.models.local import MAX_NEW_TOKENS

pytestmark = pytest.mark.model

TEXTS = ["fever is a symptom of influenza.", "Symptoms of asthma do not include wheezing, coughing at night or dyspnea.", "x"]
SHOTS = (Demonstration("cough is a symptom of gout.", False), Demonstration("pain is a symptom of gout.", True))


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "chat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_llama(tmp_path_factory.mktemp("model"), chat=request.param)


def reference(folder: Path, prompt: Prompt) -> tuple[str, float, float]:
    """Greedy reply, P(True) and mass of one prompt, by a forward pass over the whole prompt without padding."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
    if isinstance(prompt.content, str):
        ids = tokenizer(prompt.content, return_tensors="pt")["input_ids"]
    else:
        text = tokenizer.apply_chat_template(list(prompt.content), tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.inference_mode():
        probabilities = model(ids).logits[0, -1].softmax(dim=-1)
        new = model.generate(ids, max_new_tokens=MAX_NEW_TOKENS, do_sample=False, pad_token_id=tokenizer.pad_token_id)
    mass = [0.0, 0.0]
    for token, probability in enumerate(probabilities.tolist()):
        said = tokenizer.decode([token]).strip().lower()
        for side, words in enumerate(CHOICES):
            mass[side] += probability if said in {word.lower() for word in words} else 0.0
    return tokenizer.decode(new[0, ids.shape[1] :], skip_special_tokens=True), mass[0] / sum(mass), sum(mass)


def test_batches_with_padding_equal_one_prompt_at_a_time(folder: Path) -> None:
    model = load_model(f"hf:{folder}")
    prompts = [make_prompt(text, shots, chat=model.chat) for text in TEXTS for shots in ((), SHOTS)]
    for prompt, completion in zip(prompts, model.complete(prompts), strict=True):
        text, p_true, mass = reference(folder, prompt)
        assert completion.p_true == pytest.approx(p_true, abs=1e-4)
        assert completion.p_mass == pytest.approx(mass, abs=1e-4)
        assert completion.text is not None
        assert text.startswith(completion.text.rstrip())


def test_chat_template_decides_the_shape_of_prompts(folder: Path) -> None:
    chat = AutoTokenizer.from_pretrained(folder).chat_template is not None
    assert takes_messages(f"hf:{folder}") == chat == load_model(f"hf:{folder}").chat


def test_prompt_longer_than_the_context_fails_alone(tmp_path: Path) -> None:
    model = load_model(f"hf:{small_llama(tmp_path, context=128)}")
    long = make_prompt("fever " * 200, (), chat=False)
    short = make_prompt("fever is a symptom of influenza.", (), chat=False)
    first, second, third = model.complete([short, long, short])
    assert (first.failure, third.failure) == (None, None)
    assert second.text is None
    assert "128" in (second.failure or "")


def test_revision_changes_with_the_weights(tmp_path: Path) -> None:
    one = load_model(f"hf:{small_llama(tmp_path / 'a', seed=0)}").info["revision"]
    same = load_model(f"hf:{small_llama(tmp_path / 'b', seed=0)}").info["revision"]
    other = load_model(f"hf:{small_llama(tmp_path / 'c', seed=1)}").info["revision"]
    assert one == same != other


@pytest.mark.parametrize("kind", ["missing", "empty folder", "no weights", "nonsense name", "long name"])
def test_model_that_cannot_be_loaded_is_one_sentence(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    name = {"missing": "nobody/nothing-at-all", "nonsense name": "a b/../c$", "long name": "a" * 300}.get(kind, str(tmp_path))
    if kind == "no weights":
        small_llama(tmp_path)
        (tmp_path / "model.safetensors").unlink()
    with pytest.raises(MedfactError) as caught:
        load_model(f"hf:{name}")
    assert "\n" not in str(caught.value)
    assert caught.value.hint
