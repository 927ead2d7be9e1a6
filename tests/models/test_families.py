"""Fifteen families of architectures as very small random models: replies and P(True) are those of one prompt at a time."""

from pathlib import Path

import pytest
from model_families import FAMILIES, IMAGE_TEXT, complete_prompts, make_model
from naive import (
    FIVE_SHOTS,
    STATEMENT_TREE,
    decode_greedily,
    expected_completion,
    load_reference,
    make_short_prompt,
    matches_reference,
    tokenize_prompt,
    word_probability,
)
from small_models import torch_threads, write_small_model
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from medfact.models import load_model
from medfact.models.local import decoding, packing

pytestmark = pytest.mark.model

PACKED = {"Llama", "Qwen3", "Gemma 2", "Phi", "GPT-2", "GPT-NeoX"}
"""Families whose prompts are computed together in a row."""

ONE_AT_A_TIME = {"RWKV", "MiniMax"}
"""Families whose padded batches give other answers."""


@pytest.mark.parametrize(
    ("family", "chat"),
    [
        *((family, False) for family in (*FAMILIES, IMAGE_TEXT)),
        ("Llama", True),
        ("RWKV", True),
        ("T5", True),
        (IMAGE_TEXT, True),
    ],
)
def test_replies_and_p_true_are_those_of_one_prompt_at_a_time(
    family: str, chat: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "BLOCK_TOKENS", 16)
    monkeypatch.setattr(decoding, "LEAST_WIDTH", 1)
    folder = make_model(family, tmp_path, chat=chat)
    model = load_model(f"hf:{folder}")
    assert any("one at a time" in note for note in model.info.get("notes", ())) == (family in ONE_AT_A_TIME)
    assert model.packs_well or family not in PACKED  # type: ignore[attr-defined]
    prompts = [make_short_prompt(text, shots, chat=model.chat) for shots in ((), FIVE_SHOTS) for text in STATEMENT_TREE]
    prompts += [
        make_short_prompt(text, FIVE_SHOTS, chat=model.chat, question="mkj", reading="last-word")
        for text in STATEMENT_TREE[::5]
    ]
    monkeypatch.setattr(model, "together", 400)
    with torch_threads(2):
        completions = complete_prompts(model, prompts)
    compared = 0
    for prompt, completion in zip(prompts, completions, strict=True):
        steps = decode_greedily(folder, prompt)
        if not steps:  # the reply ends before it begins
            assert completion.text == ""
            continue
        text, p_true, mass = expected_completion(prompt, steps)
        assert completion.p_true == pytest.approx(p_true, abs=1e-4)
        assert completion.p_mass == pytest.approx(mass, abs=1e-4)
        assert matches_reference(prompt, completion, text)
        compared += 1
    assert compared >= len(prompts) // 2


# ------------------------------------------------------------------------------------------ vocabularies


def without_true(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """A vocabulary that has "true", "false" and " False" as tokens of their own, but of "True" only the letters."""
    tokenizer.add_tokens(
        [AddedToken(word, normalized=False) for word in (" true", "true", " false", "false", " False", "False")]
    )
    return tokenizer


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "chat"])
@pytest.mark.parametrize("vocabulary", ["without True", "letters"])
def test_an_answer_word_without_a_token_of_its_own_is_forced(vocabulary: str, chat: bool, tmp_path: Path) -> None:
    """Where "True" has no token, "true" must not be compared with "False": both words are forced, as they would be written,
    where the reply says its answer, else right after the prompt.
    """
    change = without_true if vocabulary == "without True" else None
    folder = write_small_model(tmp_path, "llama", chat=chat, without_merges=True, change_tokenizer=change)
    tokenizer, _ = load_reference(folder)
    model = load_model(f"hf:{folder}")

    def answers(before: str) -> list[list[int]]:
        return [tokenizer(before + word, add_special_tokens=False).input_ids for word in ("True", "False")]

    space = "" if model.chat else " "
    assert [*map(len, answers(space))] == [4 + len(space), 1 if vocabulary == "without True" else 5 + len(space)]
    prompts = [make_short_prompt(text, shots, chat=model.chat) for shots in ((), FIVE_SHOTS) for text in STATEMENT_TREE[:4]]
    for prompt, completion in zip(prompts, complete_prompts(model, prompts), strict=True):
        steps = decode_greedily(folder, prompt)
        text = steps[-1].so_far.partition(prompt.stop or "\x00")[0]
        read_at = prompt.place(text)
        number, before = 0, space
        if read_at is not None:
            number = next(number for number, step in enumerate(steps) if len(step.so_far) > read_at)
            before = text[len(steps[number - 1].so_far) if number else 0 : read_at]
        said = [step.token_id for step in steps[:number]]
        true, false = (word_probability(folder, tokenize_prompt(folder, prompt), said, word) for word in answers(before))
        assert completion.p_true == pytest.approx(true / (true + false), abs=1e-4)
        assert completion.p_mass == pytest.approx(true + false, rel=1e-3)
