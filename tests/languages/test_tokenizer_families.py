"""Answer words and P(True) in every language of medfact, with tokenizers of each family: trained here in a moment, so that they
are of the family and not the real ones (`test_published_tokenizers.py` has those), and the bundled one.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from taught_models import Lesson, expected_result, make_few_lessons, write_taught_model
from tokenizer_families import load_bundled_tokenizer, train_byte_fallback, train_byte_level
from transformers import PreTrainedTokenizerBase

from medfact.assets import ENGLISH, language_codes
from medfact.models import load_model

pytestmark = pytest.mark.model

FAMILIES: dict[str, Callable[[], PreTrainedTokenizerBase]] = {
    "bundled": load_bundled_tokenizer,
    "byte-level BPE of English, as GPT-2's": lambda: train_byte_level((ENGLISH,)),
    "byte-level BPE of all languages, as Qwen's": lambda: train_byte_level(language_codes()),
    "SentencePiece BPE with byte fallback, as Llama 2's": lambda: train_byte_fallback(prefixed=True),
}


def check(tokenizer: PreTrainedTokenizerBase, taught: list[Lesson], folder: Path) -> None:
    """A model that has learnt replies in every language by heart: they are read as what they say, and P(True) is that of
    plain forward passes. It is on the side of the reply wherever words that count make up most of what could stand there, and
    the words of demonstrations always do.
    """
    write_taught_model(folder, tokenizer, taught)
    completions = dict(load_model(f"hf:{folder}").complete([lesson.prompt for lesson in taught]))
    for place, lesson in enumerate(taught):
        completion, plain = completions[place], expected_result(folder, lesson)
        assert plain.text.strip().startswith(completion.text.strip()), lesson.reply
        assert completion.p_true == pytest.approx(plain.p_true, abs=1e-4), lesson.reply
        assert completion.p_mass == pytest.approx(plain.p_mass, abs=1e-4), lesson.reply
        assert lesson.prompt.reads(completion.text) is lesson.answer, lesson.reply
        assert plain.p_mass > 0.5 or not lesson.is_usual, lesson.reply
        assert plain.p_mass <= 0.5 or (plain.p_true > 0.5) is lesson.answer, lesson.reply


@pytest.mark.parametrize("family", FAMILIES)
def test_p_true_is_that_of_plain_forward_passes_in_every_language(family: str, tmp_path: Path) -> None:
    check(FAMILIES[family](), make_few_lessons(), tmp_path)
